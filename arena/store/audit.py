"""Audits the tables: recomputes each digest of :mod:`arena.store.facts` from them."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import duckdb
import numpy as np

from arena.errors import ArenaError, ObjectError, StoreFormatError
from arena.evaluation.predictions import block_size
from arena.evaluation.similar import Comparison
from arena.store.database import Database
from arena.store.derived import changed_tables
from arena.store.digests import (
    first_positions,
    keyed_digest,
    predictions_digest,
    row_line,
)
from arena.store.events import PROGRAM_RECEIVED, Event, each_event
from arena.store.facts import (
    NUMBERED_BY,
    RECORD_KEY,
    RECORDS_AGAIN,
    UNBOUND_META,
    facts_of,
    meta_digest,
    numbers_of,
    record_key,
    recorded_cells,
    solution_facts,
)
from arena.store.row_counts import RowCounts
from arena.store.solutions import select_solution
from arena.store.stored_predictions import select_predictions
from arena.store.timestamps import as_text
from arena.types import PredictionKind, Solution
from arena.utils.text import shorten

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
        SELECT solution FROM solution_rows UNION ALL SELECT solution FROM labels
        UNION ALL SELECT solution FROM solution_extra
        UNION ALL SELECT solution FROM solution_soft_labels
        EXCEPT SELECT solution FROM solutions
    """,
    "groups of rows with a negative number": "SELECT 1 FROM solution_rows WHERE cluster < 0",
}
"""Rows that no event can record -> a query that returns a row if there are any."""
_ORPHANS_OF_TEXTS = {
    "texts that belong to no submission or solution": """
        WITH used AS (
            SELECT max(value) - min(value) + 1 AS n FROM predictions GROUP BY submission
            UNION ALL
            SELECT max(value) - min(value) + 1 FROM labels GROUP BY solution, target
        )
        SELECT 1 WHERE (SELECT count(*) FROM texts) <> (SELECT coalesce(sum(n), 0) FROM used)
    """,
    "codes of texts that are not whole numbers": """
        SELECT 1 WHERE EXISTS (FROM predictions WHERE value <> trunc(value))
            OR EXISTS (FROM labels WHERE value <> trunc(value))
    """,
}
"""The same, where texts are predicted: each reads every cell."""


_WIDENED = 8
"""The version that added the last column of releases."""
_OF_REVISION = 2**40
"""A row of a revision has the key ``revision * _OF_REVISION + number``."""
_WRITTEN_ONCE = frozenset({RECORD_KEY, "identity", "seed"})
"""The values of ``meta`` that arena never changes."""


@dataclass(frozen=True, slots=True, eq=False)
class _Bound:
    """Rows of a table with one digest in an event."""

    sequence: int
    """Of the event."""
    first: int
    last: int
    n_rows: int
    digest: str


def _bounds(row_bounds: _Bound | tuple[_Bound, ...]) -> tuple[_Bound, ...]:
    return row_bounds if isinstance(row_bounds, tuple) else (row_bounds,)


@dataclass(slots=True, eq=False)
class Recorded:
    """The digests in the events, without the events themselves.

    Of what arena writes once the first digest counts, and of settings the last one. An event that
    records what is stored already (:data:`~arena.store.facts.RECORDS_AGAIN`) replaces none:
    otherwise a change from outside would be on record after an upgrade.
    """

    meta: dict[str, tuple[int, Any]] = field(default_factory=dict)
    """A name -> the sequence of the event that recorded it, and what it recorded."""
    solutions: dict[str, tuple[int, Any]] = field(default_factory=dict)
    predictions: dict[int, tuple[int, Any]] = field(default_factory=dict)
    objects: dict[int, tuple[int, Any]] = field(default_factory=dict)
    places: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    jumps: list[str] = field(default_factory=list)
    """A sentence on each count of submissions that does not follow from the one before."""
    rows: dict[str, dict[int, _Bound | tuple[_Bound, ...]]] = field(
        default_factory=lambda: {table: {} for table in NUMBERED_BY}
    )
    """A table -> the key of a row -> the digests that include the row; no tuple for one."""
    widened: int = 0
    """The sequence of the event of the upgrade that added columns; 0: there was none."""

    def add(self, event: Event) -> None:
        """Add the digests of the next event."""
        facts, sequence = facts_of(event.payload), event.sequence
        again = event.kind in RECORDS_AGAIN
        if event.kind == "upgrade" and event.payload.get("before", 0) < _WIDENED:
            self.widened = sequence
        for name, value in facts.get("meta", {}).items():
            if name not in self.meta or not (again or name in _WRITTEN_ONCE):
                self.meta[name] = (sequence, value)
        for name, value in facts.get("solutions", {}).items():
            self.solutions.setdefault(name, (sequence, value))
        for name, value in facts.get("predictions", {}).items():
            self.predictions.setdefault(int(name), (sequence, value))
        for name, value in facts.get("objects", {}).items():
            self.objects.setdefault(int(name), (sequence, value))
        for team, day, used in facts.get("places", ()):
            self._add_count(event, team, day, used)
        for table, by_row in self.rows.items():
            own = facts.get(table)
            revisions = own if isinstance(own, dict) else {"0": own} if own else {}
            for revision, (text, digest) in revisions.items():
                numbers = set(numbers_of(text))
                if numbers:
                    bound = _Bound(
                        sequence,
                        min(numbers),
                        last=max(numbers),
                        n_rows=len(numbers),
                        digest=digest,
                    )
                    of_revision = int(revision) * _OF_REVISION
                    for number in numbers:
                        row = of_revision + number
                        by_row[row] = (*_bounds(by_row[row]), bound) if row in by_row else bound

    def _add_count(self, event: Event, team: str, day: str, used: int) -> None:
        """Add a count of submissions, which grows by one for each.

        A program is counted when it is received; what is recorded of it later can only return that.
        """
        before, counted = self.places.get((team, day), (0, 0))
        returns = "program" in event.payload and event.kind != PROGRAM_RECEIVED
        if event.kind not in RECORDS_AGAIN:
            if used != counted + (-1 if returns else 1):
                self.jumps.append(
                    f"The count of submissions of {_of(team, day)} was changed before event "
                    f"{event.sequence} ({shorten(event.kind)}, {event.time[:19]}): that event "
                    f"recorded {used}, and "
                    + (f"event {before} {counted}." if before else "none was recorded before.")
                )
        elif before:
            return
        self.places[team, day] = (event.sequence, used)


def differences(
    database: Database,
    recorded: Recorded,
    since: int = 0,
    outside: bool = True,
    compare: Comparison | None = None,
) -> Iterator[str]:
    """Yield a sentence on each difference between the tables and the events.

    A value recorded several times, such as a setting, is compared as :class:`Recorded` says.
    Reads every prediction once, in blocks of 16 MB.

    Parameters
    ----------
    recorded
        The digests of all events.
    since
        Compare the content of submissions, predictions, releases and scores only if an event after
        this one recorded it. Everything else is compared as a whole: which submissions, releases
        and scores there are, and the smaller tables.
    outside
        Whether to read predictions that are kept outside the database; if not, only their names are
        compared.
    compare
        Every prediction that is read is added to it.
    """
    with database.reading() as cursor:
        key = record_key(cursor)
        recorded_key = recorded.meta.get(RECORD_KEY)
        if recorded_key is None:
            yield "The record has no digests of the stored data: no event has their key."
            return
        if meta_digest(cursor, key, RECORD_KEY) != recorded_key[1]:
            yield f"The key of the record ({RECORD_KEY} in meta) was changed: restore a backup."
            return
        yield from _of_meta(cursor, key, recorded.meta)
        yield from _of_solutions(cursor, key, recorded.solutions)
        yield from _of_rows(cursor, key, table="submissions", recorded=recorded, since=since)
        yield from _of_objects(cursor, recorded.objects)
        yield from _of_predictions(
            database,
            cursor,
            key=key,
            bound=recorded.predictions,
            since=since,
            contents=outside,
            compare=compare,
        )
        yield from database.keeper.misplaced(cursor)
        for table in ("releases", "scores", "results"):
            yield from _of_rows(cursor, key, table=table, recorded=recorded, since=since)
        yield from recorded.jumps
        yield from _of_places(cursor, recorded.places)
        for table in changed_tables(cursor):
            yield (
                f"The table {table}, which is derived from the history, does not follow from it. "
                "The public board may have been shown wrong. To compute it again, run arena repair."
            )
        texts = not since and bool(cursor.execute("SELECT 1 FROM texts LIMIT 1").fetchall())
        for what, query in (_ORPHANS | (_ORPHANS_OF_TEXTS if texts else {})).items():
            if cursor.execute(query).fetchall():
                yield f"The database contains {what}."


def _event(cursor: duckdb.DuckDBPyConnection, sequence: int) -> Event:
    return next(each_event(cursor, after=sequence - 1))


def _named(cursor: duckdb.DuckDBPyConnection, sequence: int) -> str:
    event = _event(cursor, sequence)
    return f"event {event.sequence} ({shorten(event.kind)}, {event.time[:19]})"


def _of_meta(
    cursor: duckdb.DuckDBPyConnection, key: bytes, bound: Mapping[str, tuple[int, Any]]
) -> Iterator[str]:
    for name, (event, digest) in sorted(bound.items()):
        stored_digest = meta_digest(cursor, key, name)
        if stored_digest != digest:
            state = "is missing" if stored_digest is None else "was changed"
            yield f"The value '{name}' in meta {state}: {_named(cursor, event)} recorded it."
    stored = {name for (name,) in cursor.execute("SELECT name FROM meta").fetchall()}
    for name in sorted(stored - bound.keys() - UNBOUND_META):
        yield f"The value '{shorten(name)}' in meta is not in the record."


def _of_solutions(
    cursor: duckdb.DuckDBPyConnection, key: bytes, bound: Mapping[str, tuple[int, Any]]
) -> Iterator[str]:
    for number, (event, digests) in sorted(bound.items()):
        try:
            facts = solution_facts(cursor, key, int(number))
        except _UNREADABLE:
            yield f"Solution {number} cannot be read: its rows were changed or are missing."
            continue
        if facts is None:
            yield f"Solution {number} is missing: {_named(cursor, event)} recorded it."
            continue
        for part, sentence in _SOLUTION_PARTS.items():
            if facts[part] != digests.get(part):
                what = sentence.format(number)
                yield f"{what[0].upper()}{what[1:]}: {_named(cursor, event)} recorded others."
                break
    stored = {str(n) for (n,) in cursor.execute("SELECT solution FROM solutions").fetchall()}
    for number in sorted(stored - bound.keys()):
        yield f"Solution {number} is not in the record."


def _of_rows(
    cursor: duckdb.DuckDBPyConnection,
    key: bytes,
    table: str,
    recorded: Recorded,
    since: int,
) -> Iterator[str]:
    """Compare a table whose rows are numbered; scores are numbered within a revision."""
    by_row, column = recorded.rows[table], NUMBERED_BY[table]
    order = f"revision, {column}" if table == "scores" else column
    with cursor.cursor() as reading:  # the events that a difference names are read meanwhile
        result = reading.execute(f"SELECT * FROM {table} ORDER BY {order}")  # noqa: S608
        names = [name for name, *_ in result.description or ()]
        numbered = names.index(column)
        revised = names.index("revision") if "revision" in names else None
        computed: dict[_Bound, hmac.HMAC] = {}
        while rows := result.fetchmany(_ROWS):
            for row in rows:
                revision = 0 if revised is None else row[revised]
                bounds = _bounds(by_row.pop(revision * _OF_REVISION + row[numbered], ()))
                changed = None
                for bound in bounds:
                    if bound.sequence <= since:
                        continue
                    older = table == "releases" and bound.sequence < recorded.widened
                    line = row_line(row[:-1] if older else recorded_cells(table, row))
                    if bound.n_rows > 1:
                        digest = computed.get(bound) or hmac.new(key, digestmod="sha256")
                        digest.update(line)
                        computed[bound] = digest
                    elif changed is None and keyed_digest(key, line) != bound.digest:
                        changed = bound
                if bounds and changed is None:
                    continue
                values = dict(zip(names, row, strict=True))
                named = _row_name(table, values)
                if changed is None:
                    yield f"{named} is not in the record."
                else:
                    change = _change(cursor, table, values, _event(cursor, changed.sequence))
                    yield f"{named} was changed: {change}"
    for row_key, owned in sorted(by_row.items(), key=lambda item: item[0]):
        bound = _bounds(owned)[0]
        revision, number = divmod(row_key, _OF_REVISION)
        named = _row_name(table, {"revision": revision, column: number})
        yield f"{named} is missing: {_named(cursor, bound.sequence)} recorded it."
    incomplete = {bound for owned in by_row.values() for bound in _bounds(owned)}
    for bound, digest in computed.items():
        if digest.hexdigest() != bound.digest and bound not in incomplete:
            yield (
                f"One of the {table} of {column} {bound.first} to {bound.last} was changed: "
                f"{_named(cursor, bound.sequence)} recorded others."
            )


def _row_name(table: str, values: Mapping[str, Any]) -> str:
    if table == "submissions":
        return f"Submission {values['submission']}"
    if table == "results":
        return f"Result {values['version']}"
    if table == "releases":
        of = f" (submission {values['submission']})" if "submission" in values else ""
        return f"Release {values['release']}{of}"
    return f"Revision {values['revision']} of the scores of submission {values['submission']}"


def _change(
    cursor: duckdb.DuckDBPyConnection, table: str, values: Mapping[str, Any], event: Event
) -> str:
    """Describe which column differs, if the event has its value in plain text."""
    columns = {"submissions": ("team", "file", "sha256", "status"), "releases": ()}.get(table, ())
    recorded, named = {**event.payload}, _named(cursor, event.sequence)
    recorded["team"] = recorded.get("stored_as", recorded.get("team"))  # of a renamed team
    for name in columns:
        if recorded.get(name) not in (None, values[name]):
            present, before = (
                shorten(json.dumps(value)) for value in (values[name], recorded[name])
            )
            return f"{name} is {present}, and {named} recorded {before}."
    if table == "submissions" and isinstance(values["received"], datetime):
        received = as_text(values["received"])
        if event.kind == "submission" and received != event.time:
            return f"received is {received[:19]}, and {named} recorded it."
    return f"it is not what {named} recorded."


def _of_objects(
    cursor: duckdb.DuckDBPyConnection, bound: Mapping[int, tuple[int, Any]]
) -> Iterator[str]:
    """Compare which object the database names for each submission."""
    named = dict(cursor.execute("SELECT submission, name FROM objects").fetchall())
    for number, (event, name) in sorted(bound.items()):
        object_found = named.get(number)
        if object_found != name:
            state = "is not named" if object_found is None else f"is named {object_found}"
            yield (
                f"The object with the predictions of submission {number} {state} in the database: "
                f"{_named(cursor, event)} recorded {name}."
            )


def _of_predictions(
    database: Database,
    cursor: duckdb.DuckDBPyConnection,
    key: bytes,
    bound: Mapping[int, tuple[int, Any]],
    since: int,
    contents: bool,
    compare: Comparison | None,
) -> Iterator[str]:
    later = {number for number, (sequence, _) in bound.items() if sequence > since}
    if since and not later:
        return
    solution = select_solution_or_none(cursor)
    if solution is None:
        return
    try:
        row_counts = RowCounts.select(cursor, solution.n_rows)
    except StoreFormatError:
        return  # a value in meta was changed, which has its own sentence
    first = min(later) if since else 0
    cells = row_counts.cells(len(solution.columns))
    stored, broken = database.keeper.stored_and_incomplete(cursor, cells, first)
    for number in broken:
        if number in later:
            yield f"The predictions of submission {number} are incomplete."
    for number in sorted(stored - bound.keys()):
        yield f"The predictions of submission {number} are not in the record."
    if contents or not database.keeper.outside:
        unbroken = {number: bound[number] for number in later - set(broken)}
        yield from _of_contents(
            database, cursor, key=key, bound=unbroken, solution=solution, compare=compare
        )


def _of_contents(
    database: Database,
    cursor: duckdb.DuckDBPyConnection,
    key: bytes,
    bound: Mapping[int, tuple[int, Any]],
    solution: Solution,
    compare: Comparison | None,
) -> Iterator[str]:
    """Read predictions, in blocks of 16 MB, and compare their digests."""
    cells = solution.n_rows * len(solution.columns)
    row_counts = RowCounts.select(cursor, solution.n_rows)
    accepted = cursor.execute("SELECT submission, team FROM submissions WHERE status = 'accepted'")
    team_of = {number: team for number, team in accepted.fetchall() if number in bound}
    numbers = np.array(sorted(team_of), dtype=np.intp)
    predictions = select_predictions(database, solution, numbers, None)
    if solution.kind is not PredictionKind.TEXT:
        predictions = replace(
            predictions, form=replace(predictions.form, kind=PredictionKind.VALUE)
        )
    if compare is not None:
        first = first_positions(str(bound[number][1]) for number in numbers.tolist())
        teams = [team_of[number] for number in numbers.tolist()]
        compare.begin(solution.kind, numbers.tolist(), first, teams)
    for start, block in _blocks(predictions, len(numbers), block_size(cells)):
        if compare is not None and isinstance(block, np.ndarray):
            compare.add(np.arange(start, start + len(block)), block)
        n_rows = row_counts.of(numbers[start : start + len(block)]).tolist()
        for position, values in enumerate(block):
            event, digest = bound[int(numbers[start + position])]
            if isinstance(values, ObjectError):
                yield str(values)
            elif values is None or predictions_digest(key, values[: n_rows[position]]) != digest:
                yield (
                    f"The predictions of submission {numbers[start + position]} were changed: "
                    f"{_named(cursor, event)} recorded others."
                )


def _blocks(predictions: Any, n: int, size: int) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield blocks of cells; if a block fails, submissions one by one.

    For cells that cannot be read None, or an error that names their object.
    """
    for start in range(0, n, size):
        chosen = np.arange(start, min(start + size, n))
        try:
            yield start, next(predictions.subset(chosen).blocks(size))[1]
        except StoreFormatError:
            for position in chosen.tolist():
                try:
                    yield position, next(predictions.subset(np.array([position])).blocks(1))[1]
                except ObjectError as error:
                    yield position, [error]
                except StoreFormatError:
                    yield position, [None]


def select_solution_or_none(cursor: duckdb.DuckDBPyConnection) -> Any:
    """Return the last solution; None if it is missing or cannot be read."""
    ((number,),) = cursor.execute("SELECT coalesce(max(solution), 0) FROM solutions").fetchall()
    try:
        return select_solution(cursor, number)
    except _UNREADABLE:
        return None


def _of_places(
    cursor: duckdb.DuckDBPyConnection, recorded: Mapping[tuple[str, str], tuple[int, int]]
) -> Iterator[str]:
    bound = dict(recorded)
    rows = cursor.execute("SELECT team, day, used FROM places ORDER BY team, day").fetchall()
    for team, day, used in rows:
        event, counted = bound.pop((team, day), (0, 0))
        if used != counted:
            which = f"{_named(cursor, event)} recorded" if event else "the record has"
            yield f"The count of submissions of {_of(team, day)} is {used}, and {which} {counted}."
    for (team, day), (event, counted) in bound.items():
        yield (
            f"The count of submissions of {_of(team, day)} is missing, and "
            f"{_named(cursor, event)} recorded {counted}."
        )


def _of(team: str, day: str) -> str:
    return f"the team {shorten(team)} ({day if day == 'total' else f'on {shorten(day)}'})"
