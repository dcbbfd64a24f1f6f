"""The storage of a competition: one DuckDB file, opened by one process at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.utils.lazy import lazy_exports

if TYPE_CHECKING:
    from arena.store.database import SCHEMA_VERSION
    from arena.store.derived import Standing
    from arena.store.events import Event
    from arena.store.holders import RANK, Holder, Holders
    from arena.store.incoming import Incoming
    from arena.store.journal import Scoring
    from arena.store.releases import ReleaseRecord, ScoreRecord
    from arena.store.store import Store
    from arena.store.stored_predictions import StoredPredictions
    from arena.store.transaction import Transaction

__all__ = [
    "RANK",
    "SCHEMA_VERSION",
    "Event",
    "Holder",
    "Holders",
    "Incoming",
    "ReleaseRecord",
    "ScoreRecord",
    "Scoring",
    "Standing",
    "Store",
    "StoredPredictions",
    "Transaction",
]

__getattr__, __dir__ = lazy_exports(__name__, __file__)
