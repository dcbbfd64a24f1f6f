"""Upgrades a database of an older arena to the current version of the tables."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb

from arena.errors import StoreFormatError
from arena.store.database import SCHEMA_VERSION, Database, table_statements
from arena.store.derived import rebuild
from arena.store.digests import document_digest
from arena.store.facts import RECORD_KEY
from arena.store.transaction import Transaction
from arena.utils.strict_json import parse_json


def _add_facts(cursor: duckdb.DuckDBPyConnection) -> None:
    """Add the submission of each event as a column, and the key of digests in events."""
    cursor.execute("""
        ALTER TABLE events ADD COLUMN submission INTEGER;
        UPDATE events SET submission = (payload->>'$.submission')::INTEGER
            WHERE json_type(payload, '$.submission') IN ('UBIGINT', 'BIGINT');
    """)
    cursor.execute("INSERT INTO meta VALUES (?, ?)", [RECORD_KEY, secrets.token_hex(32)])


def _replace_derived_tables(cursor: duckdb.DuckDBPyConnection) -> None:
    """Replace the tables that are derived from the history, also those of an older version."""
    statements = table_statements()
    derived = statements[statements.index("-- Derived from") :]
    for table in re.findall(r"CREATE TABLE (\w+)", derived):
        cursor.execute(f"DROP TABLE IF EXISTS {table}")
    cursor.execute(derived)
    rebuild(cursor)


def _table_statement(table: str) -> str:
    """Return the statement that creates a table of the current version."""
    statements = table_statements()
    (statement,) = re.findall(rf"CREATE TABLE {table} \(.*?\);", statements, re.DOTALL)
    return str(statement)


def _add_objects(cursor: duckdb.DuckDBPyConnection) -> None:
    """Add the table of objects, in which no submission of an older version is."""
    cursor.execute(_table_statement("objects"))


def _drop_positions(cursor: duckdb.DuckDBPyConnection) -> None:
    """Replace the column of positions by the order of the rows."""
    misplaced = """
        SELECT submission FROM predictions GROUP BY submission
        HAVING min(rowid - position) <> max(rowid - position) ORDER BY submission LIMIT 1
    """
    for (submission,) in cursor.execute(misplaced).fetchall():
        raise StoreFormatError(
            f"The predictions of submission {submission} are out of order: the file is damaged. "
            "Restore a backup. Nothing was changed."
        )
    cursor.execute("ALTER TABLE predictions RENAME TO older_predictions")
    cursor.execute(_table_statement("predictions"))
    # Without a sort, the rows are copied in their order.
    cursor.execute("INSERT INTO predictions SELECT submission, value FROM older_predictions")
    cursor.execute("DROP TABLE older_predictions")


def _add_sources(cursor: duckdb.DuckDBPyConnection) -> None:
    """Add to each release whose score it is, and the results and counts of weeks.

    A Ladder keeps the submission with the score that it repeats in its state; Thresholdout repeats
    an answer exactly, noise included. Any other release is the submission's own.
    """
    _copy_to_current(cursor, "submissions", "*, false AS late")
    source = """
        CASE WHEN improved THEN submission
            WHEN json_exists(state, '$.bar')
                THEN coalesce((state->>'$.submission')::INTEGER, submission)
            WHEN json_exists(state, '$.threshold') THEN min(submission) OVER (
                PARTITION BY epoch, score,
                    (SELECT team FROM submissions AS s WHERE s.submission = older.submission))
            ELSE submission END AS source
    """
    _copy_to_current(cursor, "releases", f"*, {source}")
    cursor.execute(_table_statement("results"))
    _add_result(cursor)
    cursor.execute("""
        INSERT INTO places SELECT team, strftime(day::DATE, '%G-W%V'), sum(used)::INTEGER
        FROM places WHERE day <> 'total' GROUP BY ALL
    """)


def _copy_to_current(cursor: duckdb.DuckDBPyConnection, table: str, columns: str = "*") -> None:
    """Replace a table whose rows are numbered by its current form, with the rows of the older one.

    Columns that ``columns`` does not select have the default values of the current form.
    """
    if table == "submissions":  # DuckDB renames no table with an index
        cursor.execute("DROP INDEX IF EXISTS submissions_key")
    cursor.execute(f"ALTER TABLE {table} RENAME TO older")
    cursor.execute(_table_statement(table))
    number = table.removesuffix("s")
    cursor.execute(f"INSERT INTO {table} BY NAME SELECT {columns} FROM older ORDER BY {number}")  # noqa: S608
    cursor.execute("DROP TABLE older")


def _add_phases(cursor: duckdb.DuckDBPyConnection) -> None:
    """Give every submission the nameless phase, and solutions the names of their sets of rows."""
    for table in ("submissions", "solutions"):
        _copy_to_current(cursor, table)


def _name_labels(cursor: duckdb.DuckDBPyConnection) -> None:
    """Call the table of labels by its name, and put the task of each row into that of rows."""
    cursor.execute("ALTER TABLE truth RENAME TO older")
    cursor.execute(_table_statement("labels"))
    cursor.execute("INSERT INTO labels SELECT * FROM older ORDER BY solution, target, position")
    cursor.execute("DROP TABLE older")
    cursor.execute("ALTER TABLE solution_rows RENAME TO older")
    cursor.execute(_table_statement("solution_rows"))
    cursor.execute("""
        INSERT INTO solution_rows SELECT older.*, task
        FROM older LEFT JOIN solution_tasks USING (solution, position) ORDER BY solution, position
    """)
    cursor.execute("DROP TABLE older; DROP TABLE solution_tasks")


def _add_result(cursor: duckdb.DuckDBPyConnection) -> None:
    """Add the private board that is public, if there is one, as the first version."""
    rows = cursor.execute("""
        SELECT value, time, payload->>'$.sha256'
        FROM meta, events WHERE name = 'final_result' AND kind = 'private board published'
            AND NOT json_exists(payload, '$.version')
        ORDER BY sequence DESC LIMIT 1
    """).fetchall()
    for text, time, sha256 in rows:
        if document_digest(parse_json(text)) == sha256:
            cursor.execute("INSERT INTO results VALUES (1, ?, ?)", [text, time])


_STEPS: Mapping[int, Callable[[duckdb.DuckDBPyConnection], None]] = {
    2: _add_facts,
    5: _add_objects,
    6: _drop_positions,
    7: _add_sources,
    8: _add_phases,
    9: _name_labels,
}
"""A version -> the function that upgrades its tables to the next one, inside a transaction.

Those that are missing changed only the derived tables, which every upgrade replaces.
"""


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """The result of an upgrade."""

    sentence: str
    """The report for the organiser."""
    before: int
    """The version of its tables before."""
    after: int
    """The version of its tables now."""


def upgrade(
    path: Path,
    *,
    actor: str = "host",
    time: datetime | None = None,
    change: Callable[[Transaction, Mapping[str, str]], None] | None = None,
) -> UpgradeReport:
    """Upgrade a database in one recorded transaction; one of the current version is not changed.

    Stored data is not changed, and its digests are recorded. An older arena cannot open the
    database afterwards.

    Parameters
    ----------
    change
        Takes the transaction and the values that are stored by name, and replaces those whose
        meaning the store does not know, on record.

    Raises
    ------
    StoreBusyError
        If another process has it open.
    StoreFormatError
        If it was written by a newer arena or by one that is too old, is damaged, or is not a
        database of arena.
    StoreError
        If it does not exist, or cannot be written.

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
    # Lost data is reported when the database is opened next.
    database = Database(path, create=False, checked=False, older=True)
    try:
        with database.exclusively():
            before = database.version
            if before == SCHEMA_VERSION:
                sentence = f"The database '{path}' is up to date: nothing was changed."
                return UpgradeReport(sentence, before, SCHEMA_VERSION)
            # The predictions are copied; require_space asks for three times as much.
            database.require_space(path.stat().st_size // 3)
            with database.transaction() as cursor:
                for version in range(before, SCHEMA_VERSION):
                    if version in _STEPS:
                        _STEPS[version](cursor)
                _replace_derived_tables(cursor)
                query = "UPDATE meta SET value = ? WHERE name = 'schema_version'"
                cursor.execute(query, [str(SCHEMA_VERSION)])
                transaction = Transaction(database, cursor)
                if change is not None:
                    query = "SELECT name, value FROM meta"
                    change(transaction, dict(cursor.execute(query).fetchall()))
                transaction.bind_everything()
                payload = {"before": before, "after": SCHEMA_VERSION}
                transaction.append_event("upgrade", actor, payload, time)
            transaction.acknowledge()
    finally:
        database.close()
    sentence = (
        f"The tables of the database '{path}' were upgraded from version {before} to "
        f"{SCHEMA_VERSION}; stored data was not changed."
    )
    return UpgradeReport(sentence, before, SCHEMA_VERSION)
