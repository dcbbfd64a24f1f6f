"""Where a competition is kept: one DuckDB file, held by one process."""

from __future__ import annotations

from arena.store.database import SCHEMA_VERSION
from arena.store.records import Incoming
from arena.store.store import Store
from arena.store.stored_predictions import StoredPredictions

__all__ = ["SCHEMA_VERSION", "Incoming", "Store", "StoredPredictions"]
