"""Where a competition is kept: one DuckDB file, held by one process."""

from __future__ import annotations

from arena.store.database import SCHEMA_VERSION
from arena.store.events import Event
from arena.store.records import Incoming
from arena.store.releases import ReleaseRecord, ScoreRecord
from arena.store.store import Store
from arena.store.stored_predictions import StoredPredictions
from arena.store.transaction import Transaction

__all__ = [
    "SCHEMA_VERSION",
    "Event",
    "Incoming",
    "ReleaseRecord",
    "ScoreRecord",
    "Store",
    "StoredPredictions",
    "Transaction",
]
