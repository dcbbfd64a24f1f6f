"""Brings the tables of a database that an older arena wrote to what this one reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from arena.store.database import SCHEMA_VERSION, Database
from arena.store.events import insert_event

__all__ = ["UpgradeReport", "upgrade"]

_STEPS: Mapping[int, str] = {
    1: """
        CREATE TABLE solution_extra (
            solution INTEGER NOT NULL,
            name VARCHAR NOT NULL,
            position INTEGER NOT NULL,
            value DOUBLE NOT NULL
        );
        CREATE TABLE solution_tasks (
            solution INTEGER NOT NULL,
            position INTEGER NOT NULL,
            task VARCHAR NOT NULL
        );
        CREATE TABLE solution_soft_labels (
            solution INTEGER NOT NULL,
            class INTEGER NOT NULL,
            position INTEGER NOT NULL,
            value DOUBLE NOT NULL
        );
        CREATE TABLE texts (code BIGINT NOT NULL, text VARCHAR NOT NULL);
    """,
}
"""A version -> what makes it the next one."""


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """What was done to a database."""

    sentence: str
    """For the organiser."""
    before: int
    """The version of its tables as it was."""
    after: int
    """As it is now."""


def upgrade(path: Path, *, actor: str = "host", time: datetime | None = None) -> UpgradeReport:
    """Upgrade a database in one transaction, on record; nothing is done to one of this version.

    What was stored is not changed, and an older arena cannot open the database any more.

    Raises
    ------
    StoreBusyError
        If another process holds it.
    StoreFormatError
        If it was written by a newer arena, is damaged, or none of arena.
    StoreError
        If it is not there, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from arena.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "competition.duckdb"
    ...     Store.open(path).close()
    ...     report = upgrade(path)
    >>> report.before == report.after
    True
    """
    # A loss is told, and mended, when the database is opened next.
    database = Database(path, create=False, checked=False, older=True)
    try:
        before = _upgrade(database, actor, time)
    finally:
        database.close()
    sentence = f"The database '{path}' has the tables of this arena: nothing was done."
    if before != SCHEMA_VERSION:
        sentence = (
            f"The tables of the database '{path}' were brought from version {before} to "
            f"{SCHEMA_VERSION}; all that was stored is as it was."
        )
    return UpgradeReport(sentence, before, SCHEMA_VERSION)


def _upgrade(database: Database, actor: str, time: datetime | None) -> int:
    with database.exclusively():
        with database.transaction() as cursor:
            query = "SELECT value FROM meta WHERE name = 'schema_version'"
            before = int(cursor.execute(query).fetchall()[0][0])
            if before == SCHEMA_VERSION:
                return before
            for version in range(before, SCHEMA_VERSION):
                cursor.execute(_STEPS[version])
            change = "UPDATE meta SET value = ? WHERE name = 'schema_version'"
            cursor.execute(change, [str(SCHEMA_VERSION)])
            payload = {"before": before, "after": SCHEMA_VERSION}
            event = insert_event(cursor, "upgrade", actor, payload, time)
        if database.journal:
            database.journal.append([], [event])
    return before
