"""Digests of the tables in the events, under ``facts`` in the payload.

A transaction notes what it writes; the next appended event records its digests::

    meta          name -> digest of the value
    solutions     number -> labels, usage, row, tables: digests of its parts
    submissions   [numbers, digest of the rows]
    predictions   number -> digest of the cells
    objects       number -> name of the object with the cells, where they are kept as objects
    releases      [numbers, digest of the rows]
    results       [numbers, digest of the rows]
    scores        revision -> [numbers of submissions, digest of the rows]
    places        [team, day, submissions counted]

``numbers`` are written as ``1-5,7``. Every digest is made with the key of the database
(:mod:`arena.store.digests`), and from the content of the tables, so that :mod:`arena.store.audit`
can recompute it in the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

import duckdb
import numpy.typing as npt

from arena.store.digests import keyed_digest, predictions_digest, rows_digest
from arena.store.keepers import CellForm, Keeper
from arena.store.quotas import select_places
from arena.store.row_counts import RowCounts
from arena.store.solutions import select_solution, solution_digests, tables_digest
from arena.store.statements import execute
from arena.types import PredictionKind
from arena.utils.collection import collection_paused
from arena.utils.strict_json import parse_json

RECORD_KEY = "record_key"
"""The name of the key among the values of ``meta``."""
RECORDS_AGAIN = frozenset({"upgrade", "repair"})
"""The kinds of events that may record digests of everything that is stored at that time."""
NUMBERED_BY: Mapping[str, str] = {
    "submissions": "submission",
    "releases": "release",
    "scores": "submission",
    "results": "version",
}
"""A table whose rows are recorded by their numbers -> the column that has them."""
UNBOUND_META = frozenset({"application", "schema_version"})
"""The values that are checked whenever the database is opened."""


@dataclass(slots=True, eq=False)
class Facts:
    """What was written and is not yet recorded by an event."""

    meta: set[str] = field(default_factory=set)
    solutions: set[int] = field(default_factory=set)
    submissions: set[int] = field(default_factory=set)
    predictions: dict[int, npt.NDArray[Any] | None] = field(default_factory=dict)
    """The cells of a submission; None: read from the database when needed."""
    releases: set[int] = field(default_factory=set)
    results: set[int] = field(default_factory=set)
    scores: dict[int, set[int]] = field(default_factory=dict)
    places: set[tuple[str, str]] = field(default_factory=set)

    def take_over(self, others: Facts) -> None:
        """Add the facts of another transaction, without their cells."""
        self.meta |= others.meta
        self.solutions |= others.solutions
        self.submissions |= others.submissions
        self.predictions |= {
            prediction: None
            for prediction in others.predictions
            if prediction not in self.predictions
        }
        self.releases |= others.releases
        self.results |= others.results
        for revision, numbers in others.scores.items():
            self.scores.setdefault(revision, set()).update(numbers)
        self.places |= others.places

    def digests(
        self, cursor: duckdb.DuckDBPyConnection, keeper: Keeper, key: bytes
    ) -> dict[str, Any]:
        """Return the digests as JSON, inside the writing transaction; empty without facts.

        Parameters
        ----------
        cursor
            A cursor of the database.
        keeper
            Where predictions are kept.
        key
            The key of the digests.
        """
        rows = {
            "submissions": self.submissions,
            "releases": self.releases,
            "results": self.results,
        }
        digests: dict[str, Any] = {
            "meta": {name: meta_digest(cursor, key, name) for name in self.meta},
            "solutions": {
                str(solution): solution_facts(cursor, key, solution) for solution in self.solutions
            },
            **{
                name: [numbers_text(numbers), _digest_of_rows(cursor, key, name, numbers)]
                for name, numbers in rows.items()
                if numbers
            },
            "predictions": {
                str(number): predictions_digest(
                    key, _cells(cursor, keeper, number) if values is None else values
                )
                for number, values in self.predictions.items()
            },
            "objects": {
                str(number): name
                for number, name in keeper.object_names(cursor, [*self.predictions]).items()
            },
            "scores": {
                str(revision): [
                    numbers_text(numbers),
                    _digest_of_rows(
                        cursor, key, table="scores", numbers=numbers, revision=revision
                    ),
                ]
                for revision, numbers in self.scores.items()
                if numbers
            },
            "places": [
                [team, day, used[day]]
                for team, places in groupby(sorted(self.places), itemgetter(0))
                for used in [select_places(cursor, team)]
                for _, day in places
                if day in used
            ],
        }
        return {name: value for name, value in digests.items() if value}


def all_facts(cursor: duckdb.DuckDBPyConnection) -> Facts:
    """Return the facts of everything in a database, to record them in one event."""

    def rows(query: str) -> list[tuple[Any, ...]]:
        return execute(cursor, query).fetchall()

    scores: dict[int, set[int]] = {}
    for revision, number in rows("SELECT revision, submission FROM scores"):
        scores.setdefault(revision, set()).add(number)
    accepted = rows("SELECT submission FROM submissions WHERE status = 'accepted'")
    return Facts(
        meta={name for (name,) in rows("SELECT name FROM meta")}
        - {"application", "schema_version"},
        solutions={number for (number,) in rows("SELECT solution FROM solutions")},
        submissions={number for (number,) in rows("SELECT submission FROM submissions")},
        predictions={number: None for (number,) in accepted},
        releases={number for (number,) in rows("SELECT release FROM releases")},
        results={number for (number,) in rows("SELECT version FROM results")},
        scores=scores,
        places=set(rows("SELECT team, day FROM places")),
    )


@collection_paused()
def select_prediction_digests(cursor: duckdb.DuckDBPyConnection) -> dict[int, str]:
    """Return the digest of the predictions of each submission, as last recorded."""
    # A record that was changed outside arena may hold anything: an audit reports it.
    query = """
        WITH recorded AS (
            SELECT sequence, unnest(map_entries(TRY_CAST(
                json_extract(payload, '$.facts.predictions') AS MAP(VARCHAR, VARCHAR)))) AS one
            FROM events WHERE json_valid(payload)
        )
        SELECT TRY_CAST(one.key AS INTEGER) AS submission, arg_max(one.value, sequence)
        FROM recorded GROUP BY submission HAVING submission IS NOT NULL
    """
    return dict(execute(cursor, query).fetchall())


def record_key(cursor: duckdb.DuckDBPyConnection) -> bytes:
    """Return the key of the digests; empty if there is none."""
    rows = execute(cursor, "SELECT value FROM meta WHERE name = ?", [RECORD_KEY]).fetchall()
    return next((value.encode() for (value,) in rows), b"")


def meta_digest(cursor: duckdb.DuckDBPyConnection, key: bytes, name: str) -> str | None:
    """Return the digest of a value of ``meta``; None if there is no such value."""
    rows = execute(cursor, "SELECT value FROM meta WHERE name = ?", [name]).fetchall()
    if not rows:
        return None
    # All rows: a table that was written again without its key can hold a name twice.
    content = "".join(value for (value,) in rows).encode()
    # The key cannot authenticate itself.
    return hashlib.sha256(content).hexdigest() if name == RECORD_KEY else keyed_digest(key, content)


def meta_is_recorded(cursor: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Return whether a value of ``meta`` is the recorded one; also if there is no such value.

    Reads the payloads of all events, for values that change seldom.
    """
    stored_digest = meta_digest(cursor, record_key(cursor), name)
    if stored_digest is None:
        return True
    query = "SELECT kind, payload FROM events WHERE contains(payload, ?) ORDER BY sequence"
    recorded = None
    for kind, payload in execute(cursor, query, [f'"{name}":']).fetchall():
        digest = facts_of(parse_json(payload)).get("meta", {}).get(name)
        if digest is not None and (recorded is None or kind not in RECORDS_AGAIN):
            recorded = digest
    return recorded is None or stored_digest == recorded


def solution_facts(
    cursor: duckdb.DuckDBPyConnection, key: bytes, number: int
) -> dict[str, str] | None:
    """Return the digests of a stored solution; None if it is missing."""
    solution = select_solution(cursor, number)
    if solution is None:
        return None
    rows = execute(cursor, "SELECT * FROM solutions WHERE solution = ?", [number]).fetchall()
    return {
        **solution_digests(solution, key),
        "row": rows_digest(key, [recorded_cells("solutions", row) for row in rows]),
        "tables": tables_digest(cursor, number, key),
    }


def _digest_of_rows(
    cursor: duckdb.DuckDBPyConnection,
    key: bytes,
    table: str,
    numbers: Collection[int],
    revision: int | None = None,
) -> str:
    column = NUMBERED_BY[table]
    bounds = [min(numbers), max(numbers)]
    query = f"SELECT * FROM {table} WHERE {column} BETWEEN ? AND ?"  # noqa: S608
    if revision is not None:
        query, bounds = f"{query} AND revision = ?", [*bounds, revision]
    number_of = itemgetter(0 if revision is None else 1)
    # Sorted here: a query with an order takes half as long again, and most are of one row.
    rows = sorted(execute(cursor, query, bounds).fetchall(), key=number_of)
    return rows_digest(
        key, (recorded_cells(table, row) for row in rows if number_of(row) in numbers)
    )


def recorded_cells(table: str, row: Sequence[Any]) -> Sequence[Any]:
    """Return the cells of a row that its digest covers.

    The last columns of some tables came later. A digest covers their cells only where they differ
    from what every row was taken to be before, so that earlier digests stay valid.

    >>> recorded_cells("releases", (1, 3, 0.5, 3)), recorded_cells("releases", (1, 3, 0.5, 2))
    ((1, 3, 0.5), (1, 3, 0.5, 2))
    """
    added = {"submissions": (False, ""), "releases": row[1:2], "solutions": (None,)}
    for value in reversed(added.get(table, ())):
        if row[-1] != value:
            break
        row = row[:-1]
    return row


def _cells(cursor: duckdb.DuckDBPyConnection, keeper: Keeper, number: int) -> npt.NDArray[Any]:
    query = "SELECT n_rows, columns, kind FROM solutions ORDER BY solution DESC LIMIT 1"
    ((n_rows, columns, kind),) = execute(cursor, query).fetchall()
    row_counts = RowCounts.select(cursor, n_rows)
    (n_rows,) = row_counts.of([number]).tolist()
    form = CellForm(n_rows, len(parse_json(columns)), PredictionKind(kind))
    return keeper.cells(cursor, number, form)


def numbers_text(numbers: Iterable[int]) -> str:
    """Return numbers as text, with runs shortened.

    >>> numbers_text({5, 1, 2, 3, 9, 8})
    '1-3,5,8-9'
    """
    runs = []
    for _, run in groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0]):
        run_numbers = [number for _, number in run]
        runs.append(
            f"{run_numbers[0]}-{run_numbers[-1]}" if len(run_numbers) > 1 else f"{run_numbers[0]}"
        )
    return ",".join(runs)


def numbers_of(text: str) -> Iterator[int]:
    """Yield the numbers of such a text.

    >>> list(numbers_of("1-3,5"))
    [1, 2, 3, 5]
    """
    if text.isdecimal():
        yield int(text)
        return
    for run in text.split(","):
        first, _, last = run.partition("-")
        yield from range(int(first), int(last or first) + 1)


def facts_of(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the facts in the payload of an event."""
    facts = payload.get("facts")
    return facts if isinstance(facts, dict) else {}
