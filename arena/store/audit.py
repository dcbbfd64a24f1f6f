"""Audits the tables: recomputes each digest of :mod:`arena.store.facts` from them."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import duckdb
import numpy as np

from arena.errors import ArenaError, StoreFormatError
from arena.evaluation.predictions import block_size
from arena.store.database import Database
from arena.store.derived import changed_tables
from arena.store.digests import keyed_digest, predictions_digest, row_line
from arena.store.events import Event
from arena.store.facts import (
    RECORD_KEY,
    UNBOUND_META,
    facts_of,
    meta_digest,
    numbers_of,
    record_key,
    solution_facts,
)
from arena.store.solutions import select_solution
from arena.store.stored_predictions import select_predictions, stored_and_incomplete
from arena.store.timestamps import as_text
from arena.types import PredictionKind
from arena.utils.text import printable

__all__ = ["differences"]

_UNREADABLE = (ArenaError, BufferError, LookupError, RuntimeError, TypeError, ValueError, Warning)
"""The errors that reading a solution raises if its tables were changed."""
_ROWS = 10_000
_SOLUTION_PARTS = {
    "labels": "the labels, ids, groups or tasks of solution {0} were changed",
    "usage": "the usage of rows of solution {0} was changed",
    "row": "the file, columns, metric or time of solution {0} was changed",
    "tables": "positions, codes or groups of rows of solution {0} were changed",
}
_ORPHANS = {
    "rows of a solution that is not in the record": """
        SELECT solution FROM solution_rows UNION ALL SELECT solution FROM truth
        UNION ALL SELECT solution FROM solution_extra UNION ALL SELECT solution FROM solution_tasks
        UNION ALL SELECT solution FROM solution_soft_labels
        EXCEPT SELECT solution FROM solutions
    """,
}
"""Rows that no event can record -> a query that returns a row if there are any."""
_ORPHANS_OF_TEXTS = {
    "texts that belong to no submission or solution": """
        WITH used AS (
            SELECT max(value) - min(value) + 1 AS n FROM predictions GROUP BY submission
            UNION ALL
            SELECT max(value) - min(value) + 1 FROM truth GROUP BY solution, target
        )
        SELECT 1 WHERE (SELECT count(*) FROM texts) <> (SELECT coalesce(sum(n), 0) FROM used)
    """,
    "codes of texts that are not whole numbers": """
        SELECT 1 WHERE EXISTS (FROM predictions WHERE value <> trunc(value))
            OR EXISTS (FROM truth WHERE value <> trunc(value))
    """,
}
"""The same, where texts are predicted: each reads every cell."""


@dataclass(frozen=True, slots=True, eq=False)
class _Bound:
    """Rows of a table with one digest in an event."""

    event: Event
    numbers: frozenset[int]
    digest: str


def differences(database: Database, events: Sequence[Event]) -> Iterator[str]:
    """Yield a sentence on each difference between the tables and the events.

    A value recorded several times, such as a setting, is compared with its last event.
    Reads every prediction once, in blocks of 16 MB.

    Parameters
    ----------
    events
        All events, in order.
    """
    with database.reading() as cursor:
        key = record_key(cursor)
        kept = _last(events, "meta").get(RECORD_KEY)
        if kept is None:
            yield "The record has no digests of the stored data: no event has their key."
            return
        if meta_digest(cursor, key, RECORD_KEY) != kept[1]:
            yield f"The key of the record ({RECORD_KEY} in meta) was changed: restore a backup."
            return
        yield from _of_meta(cursor, key, events)
        yield from _of_solutions(cursor, key, events)
        yield from _of_rows(cursor, key, "submissions", "submission", events)
        yield from _of_predictions(database, cursor, key, events)
        yield from _of_rows(cursor, key, "releases", "release", events)
        yield from _of_rows(cursor, key, "scores", "submission", events)
        yield from _of_places(cursor, events)
        for table in changed_tables(cursor):
            yield (
                f"The table {table}, which is derived from the history, does not follow from it. "
                "The public board may have been shown wrong. To compute it again, run arena repair."
            )
        texts = bool(cursor.execute("SELECT 1 FROM texts LIMIT 1").fetchall())
        for what, query in (_ORPHANS | (_ORPHANS_OF_TEXTS if texts else {})).items():
            if cursor.execute(query).fetchall():
                yield f"The database contains {what}."


def _last(events: Sequence[Event], table: str) -> dict[str, tuple[Event, Any]]:
    """Return the last event that recorded each value of a table, with its digest."""
    return {
        name: (event, value)
        for event in events
        for name, value in facts_of(event.payload).get(table, {}).items()
    }


def _named(event: Event) -> str:
    return f"event {event.sequence} ({event.kind}, {event.time[:19]})"


def _of_meta(
    cursor: duckdb.DuckDBPyConnection, key: bytes, events: Sequence[Event]
) -> Iterator[str]:
    bound = _last(events, "meta")
    for name, (event, digest) in sorted(bound.items()):
        found = meta_digest(cursor, key, name)
        if found != digest:
            state = "is missing" if found is None else "was changed"
            yield f"The value '{name}' in meta {state}: {_named(event)} recorded it."
    stored = {name for (name,) in cursor.execute("SELECT name FROM meta").fetchall()}
    for name in sorted(stored - bound.keys() - UNBOUND_META):
        yield f"The value '{name}' in meta is not in the record."


def _of_solutions(
    cursor: duckdb.DuckDBPyConnection, key: bytes, events: Sequence[Event]
) -> Iterator[str]:
    bound = _last(events, "solutions")
    for number, (event, digests) in sorted(bound.items()):
        try:
            found = solution_facts(cursor, key, int(number))
        except _UNREADABLE:
            yield f"Solution {number} cannot be read: its rows were changed or are missing."
            continue
        if found is None:
            yield f"Solution {number} is missing: {_named(event)} recorded it."
            continue
        for part, sentence in _SOLUTION_PARTS.items():
            if found[part] != digests.get(part):
                what = sentence.format(number)
                yield f"{what[0].upper()}{what[1:]}: {_named(event)} recorded others."
                break
    stored = {str(n) for (n,) in cursor.execute("SELECT solution FROM solutions").fetchall()}
    for number in sorted(stored - bound.keys()):
        yield f"Solution {number} is not in the record."


def _of_rows(
    cursor: duckdb.DuckDBPyConnection,
    key: bytes,
    table: str,
    column: str,
    events: Sequence[Event],
) -> Iterator[str]:
    """Compare a table whose rows are numbered; scores are numbered within a revision."""
    by_row: dict[tuple[int, int], _Bound] = {}
    for event in events:
        facts = facts_of(event.payload).get(table)
        revisions = facts if isinstance(facts, dict) else {"0": facts} if facts else {}
        for revision, (text, digest) in revisions.items():
            bound = _Bound(event, frozenset(numbers_of(text)), digest)
            of_revision = int(revision)
            for number in bound.numbers:
                by_row[of_revision, number] = bound
    order = f"revision, {column}" if table == "scores" else column
    result = cursor.execute(f"SELECT * FROM {table} ORDER BY {order}")  # noqa: S608
    names = [name for name, *_ in result.description or ()]
    numbered = names.index(column)
    revised = names.index("revision") if "revision" in names else None
    computed: dict[_Bound, hmac.HMAC] = {}
    while rows := result.fetchmany(_ROWS):
        for row in rows:
            own = by_row.pop((0 if revised is None else row[revised], row[numbered]), None)
            if own is not None and len(own.numbers) > 1:
                digest = computed.get(own) or hmac.new(key, digestmod="sha256")
                digest.update(row_line(row))
                computed[own] = digest
                continue
            if own is not None and keyed_digest(key, row_line(row)) == own.digest:
                continue
            values = dict(zip(names, row, strict=True))
            if own is None:
                yield f"{_row_name(table, values)} is not in the record."
            else:
                yield f"{_row_name(table, values)} was changed: {_change(table, values, own.event)}"
    for (revision, number), own in sorted(by_row.items(), key=lambda item: item[0]):
        values = {"revision": revision, column: number}
        yield f"{_row_name(table, values)} is missing: {_named(own.event)} recorded it."
    incomplete = set(by_row.values())
    for own, digest in computed.items():
        if digest.hexdigest() != own.digest and own not in incomplete:
            first, last = min(own.numbers), max(own.numbers)
            yield (
                f"One of the {table} of {column} {first} to {last} was changed: "
                f"{_named(own.event)} recorded others."
            )


def _row_name(table: str, values: Mapping[str, Any]) -> str:
    if table == "submissions":
        return f"Submission {values['submission']}"
    if table == "releases":
        of = f" (submission {values['submission']})" if "submission" in values else ""
        return f"Release {values['release']}{of}"
    return f"The scores of submission {values['submission']} in revision {values['revision']}"


def _change(table: str, values: Mapping[str, Any], event: Event) -> str:
    """Describe which column differs, if the event has its value in plain text."""
    told = {"submissions": ("team", "file", "sha256", "status"), "releases": ()}.get(table, ())
    recorded = {**event.payload}
    recorded["team"] = recorded.get("stored_as", recorded.get("team"))  # of a renamed team
    for name in told:
        if recorded.get(name) not in (None, values[name]):
            return (
                f"{name} is {json.dumps(values[name])}, and {_named(event)} recorded "
                f"{json.dumps(recorded[name])}."
            )
    if table == "submissions" and isinstance(values["received"], datetime):
        received = as_text(values["received"])
        if event.kind == "submission" and received != event.time:
            return f"received is {received[:19]}, and {_named(event)} recorded it."
    return f"it is not what {_named(event)} recorded."


def _of_predictions(
    database: Database, cursor: duckdb.DuckDBPyConnection, key: bytes, events: Sequence[Event]
) -> Iterator[str]:
    bound = {int(name): value for name, value in _last(events, "predictions").items()}
    solution = select_solution_or_none(cursor)
    if solution is None:
        return
    cells = solution.n_rows * len(solution.columns)
    stored, broken = stored_and_incomplete(cursor, cells)
    for number in broken:
        if number in bound:
            yield f"The predictions of submission {number} are incomplete."
    for number in sorted(stored - bound.keys()):
        yield f"The predictions of submission {number} are not in the record."
    accepted = cursor.execute("SELECT submission FROM submissions WHERE status = 'accepted'")
    readable = {number for (number,) in accepted.fetchall()} & bound.keys() - set(broken)
    numbers = np.array(sorted(readable), dtype=np.intp)
    predictions = select_predictions(database, solution, numbers, None)
    if solution.kind is not PredictionKind.TEXT:
        predictions = replace(predictions, kind=PredictionKind.VALUE)
    for start, block in _blocks(predictions, len(numbers), block_size(cells)):
        for at, values in enumerate(block):
            event, digest = bound[int(numbers[start + at])]
            if values is None or predictions_digest(key, values) != digest:
                yield (
                    f"The predictions of submission {numbers[start + at]} were changed: "
                    f"{_named(event)} recorded others."
                )


def _blocks(predictions: Any, n: int, size: int) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield blocks of cells; if a block fails, submissions one by one, None if unreadable."""
    for start in range(0, n, size):
        chosen = np.arange(start, min(start + size, n))
        try:
            yield start, next(predictions.subset(chosen).blocks(size))[1]
        except StoreFormatError:
            for at in chosen.tolist():
                try:
                    yield at, next(predictions.subset(np.array([at])).blocks(1))[1]
                except StoreFormatError:
                    yield at, [None]


def select_solution_or_none(cursor: duckdb.DuckDBPyConnection) -> Any:
    """Return the last solution; None if it is missing or cannot be read."""
    ((number,),) = cursor.execute("SELECT coalesce(max(solution), 0) FROM solutions").fetchall()
    try:
        return select_solution(cursor, number)
    except _UNREADABLE:
        return None


def _of_places(cursor: duckdb.DuckDBPyConnection, events: Sequence[Event]) -> Iterator[str]:
    bound = {
        (team, day): (event, used)
        for event in events
        for team, day, used in facts_of(event.payload).get("places", ())
    }
    rows = cursor.execute("SELECT team, day, used FROM places ORDER BY team, day").fetchall()
    for team, day, used in rows:
        event, recorded = bound.pop((team, day), (None, 0))
        if used != recorded:
            which = f"{_named(event)} recorded" if event else "the record has"
            yield f"The count of submissions of {_of(team, day)} is {used}, and {which} {recorded}."
    for (team, day), (event, recorded) in bound.items():
        yield (
            f"The count of submissions of {_of(team, day)} is missing, and {_named(event)} "
            f"recorded {recorded}."
        )


def _of(team: str, day: str) -> str:
    return f"the team {printable(team)} ({day if day == 'total' else f'on {day}'})"
