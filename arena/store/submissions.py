"""Writes the records of submissions to the tables and reads them back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

import duckdb

from arena.store.incoming import Incoming, json_of
from arena.store.journal import JournalEntry
from arena.store.statements import execute
from arena.store.timestamps import as_stored
from arena.types import Fault, SubmissionRecord
from arena.utils.collection import collection_paused
from arena.utils.strict_json import parse_json

_ROWS, _KEYS = 2_000, 500
_COLUMNS = "submission, team, file, sha256, status, received, faults, late, phase"
SubmissionName = tuple[str, str, str]
"""Team, phase and key of a submission."""
_Name = tuple[str, str, str | int]
"""Team, phase and key of a submission, or its position if it has no key."""


def insert_records(
    cursor: duckdb.DuckDBPyConnection,
    incoming: Sequence[Incoming],
    absent: Collection[SubmissionName] = (),
) -> list[tuple[SubmissionRecord, bool]]:
    """Append records, inside a transaction; return each, and whether it is new.

    ``absent``: the names that were looked for in the transaction and not found.
    """
    # Without a key, a submission equals no other one.
    names = [
        (entry.team, entry.phase, entry.idempotency_key or position)
        for position, entry in enumerate(incoming)
    ]
    sought = [(team, phase, key) for team, phase, key in names if isinstance(key, str)]
    records: dict[_Name, SubmissionRecord] = {}
    records |= find_submissions(cursor, [name for name in sought if name not in absent]).items()
    new: dict[_Name, Incoming] = {}
    for name, submission in zip(names, incoming, strict=True):
        if name not in records:
            new.setdefault(name, submission)
    records |= zip(new, _append(cursor, list(new.values())), strict=True)
    # Of several equal ones, the first is the new one.
    return [(records[name], new.pop(name, None) is not None) for name in names]


def _append(
    cursor: duckdb.DuckDBPyConnection, incoming: Sequence[Incoming]
) -> list[SubmissionRecord]:
    """Append records under the next numbers, in order."""
    if not incoming:
        return []
    cells = [
        (
            submission.team,
            submission.file,
            submission.sha256,
            submission.idempotency_key,
            submission.status,
            as_stored(submission.received),
            json_of(submission.faults),
            submission.late,
            submission.phase,
        )
        for submission in incoming
    ]
    last = "(SELECT coalesce(max(submission), 0) FROM submissions)"
    if len(cells) == 1:  # DuckDB plans values in a third of the time
        rows = execute(
            cursor,
            f"INSERT INTO submissions VALUES ({last} + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?) "  # noqa: S608
            f"RETURNING {_COLUMNS}",
            cells[0],
        ).fetchall()
    else:
        rows = execute(
            cursor,
            f"INSERT INTO submissions SELECT {last} + unnest(range(1, ? + 1)), "
            "unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), "
            "unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::TIMESTAMP[]), "
            "unnest(?::VARCHAR[]), unnest(?::BOOLEAN[]), unnest(?::VARCHAR[]) "
            f"RETURNING {_COLUMNS}",
            [len(cells), *map(list, zip(*cells, strict=True))],
        ).fetchall()
    return [_record(row) for row in sorted(rows)]


def insert_lost(cursor: duckdb.DuckDBPyConnection, entry: JournalEntry) -> None:
    """Enter a lost submission under its number again, if that is free, as one to submit again."""
    fault = Fault("lost", "The submission was stored and then lost: send it again.")
    received = as_stored(datetime.fromisoformat(entry.received))
    row = [entry.submission, entry.team, entry.file, entry.sha256, None, "refused", received]
    execute(
        cursor,
        "INSERT INTO submissions VALUES (?, ?, ?, ?, ?, ?, ?, ?, false, '') ON CONFLICT DO NOTHING",
        [*row, json_of([fault])],
    )


def find_submissions(
    cursor: duckdb.DuckDBPyConnection, names: Sequence[SubmissionName]
) -> dict[SubmissionName, SubmissionRecord]:
    """Return the submissions of these teams under one of these keys."""
    records: dict[SubmissionName, SubmissionRecord] = {}
    for start in range(0, len(names), _KEYS):
        some = names[start : start + _KEYS]
        # With both conditions at once, DuckDB would read the whole table and not the index of keys.
        # Without the second, all teams that sent the same file would be read.
        marks = ", ".join("?" * len(some))
        query = (
            "WITH same_key AS MATERIALIZED ("  # noqa: S608
            f"SELECT key, {_COLUMNS} FROM submissions WHERE key IN ({marks})) "
            f"FROM same_key WHERE team IN ({marks})"
        )
        teams, _, keys = zip(*some, strict=True)
        for key, *row in execute(cursor, query, [*keys, *teams]).fetchall():
            record = _record(row)
            records[record.team, record.phase, key] = record
    return records


@collection_paused()
def select_records(
    cursor: duckdb.DuckDBPyConnection,
    team: str | None = None,
    numbers: Collection[int] | None = None,
    phase: str | None = None,
) -> tuple[SubmissionRecord, ...]:
    """Return every record, or those of a team, a phase or with certain ids, in the order of ids."""
    names = {"team": team, "phase": phase}
    chosen: list[tuple[str, Any]] = [
        (f"{column} = ?", name) for column, name in names.items() if name is not None
    ]
    if numbers is not None:
        # No other number fits the column.
        storable = sorted(number for number in numbers if abs(number) < 2**31)
        chosen.append(("submission IN (SELECT unnest(?::INTEGER[]))", storable))
    where = f"WHERE {' AND '.join(condition for condition, _ in chosen)}" if chosen else ""
    query = f"SELECT {_COLUMNS} FROM submissions {where} ORDER BY submission"  # noqa: S608
    rows = execute(cursor, query, [record_ids for _, record_ids in chosen])
    records: list[SubmissionRecord] = []
    while some := rows.fetchmany(_ROWS):
        records += map(_record, some)
    return tuple(records)


def _record(row: Sequence[Any]) -> SubmissionRecord:
    submission, team, file, sha256, status, received, faults, late, phase = row
    return SubmissionRecord(
        submission=submission,
        team=team,
        file=file,
        sha256=sha256,
        status=status,
        received=received.replace(tzinfo=UTC).isoformat(),
        faults=tuple(Fault(**fault) for fault in parse_json(faults)) if faults != "[]" else (),
        late=late,
        phase=phase,
    )
