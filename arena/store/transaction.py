"""What can be done to a store in one transaction: all of it is stored, or nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from arena.predictions import cell_bytes
from arena.store.database import Database
from arena.store.events import Event, insert_event
from arena.store.places import change_place, select_place
from arena.store.records import Incoming, find_record, insert_predictions, insert_record
from arena.store.releases import (
    ReleaseRecord,
    ScoreRecord,
    TeamRelease,
    insert_release,
    select_releases_since,
    select_state,
    upsert_scores,
)
from arena.store.solutions import no_solution, put_solution
from arena.types import PredictionKind, Release, Solution, SubmissionRecord

__all__ = ["Transaction"]


class Transaction:
    """Given by :meth:`arena.store.Store.transaction`; of no use after it.

    Times are the caller's, and None is now. What is read here shows what this transaction wrote;
    the methods of the store do not show it until it has ended.
    """

    def __init__(self, database: Database, cursor: duckdb.DuckDBPyConnection) -> None:
        self._database = database
        self._cursor = cursor
        self._new: dict[int, SubmissionRecord] = {}
        self._events: list[Event] = []

    # -- limits --------------------------------------------------------------------------------

    def take_place(self, team: str, day: date | None, allowed: int | None) -> bool:
        """Take one of the places that a team has on a day (None: in total); False: none is left.

        Without a limit (``allowed`` is None) it is counted all the same.
        """
        return change_place(self._cursor, team, day, 1, allowed)

    def return_place(self, team: str, day: date | None) -> None:
        """Give back a place that was taken."""
        change_place(self._cursor, team, day, -1, None)

    def places_used(self, team: str, day: date | None) -> int:
        """Return how many places a team has used on a day, or in total."""
        return select_place(self._cursor, team, day)

    # -- submissions ---------------------------------------------------------------------------

    def find_submission(self, team: str, key: str) -> SubmissionRecord | None:
        """Return the submission of a team that has this key, if there is one.

        A refused submission is not found: it may be sent again.
        """
        return find_record(self._cursor, team, key)

    def add_submission(self, incoming: Incoming) -> SubmissionRecord:
        """Store one submission; see :meth:`add_submissions`."""
        return self.add_submissions([incoming])[0]

    def add_submissions(self, incoming: Sequence[Incoming]) -> list[SubmissionRecord]:
        """Store submissions and return their records, in order.

        Those that are refused, have faults or have no values leave their record only. One that
        was stored before, by team and key, is not stored again: its first record is returned.
        From four submissions of 100,000 rows on, DuckDB writes past its log, which takes half
        the time; 16 at a time keep a commit under 0.2 s.

        Raises
        ------
        ValueError
            If the shape of values is not that of the solution, or a value is not finite, or is a
            number where texts are predicted.
        StoreError
            If there is no solution, or the disk has no room.
        """
        shape, kind = self._shape_and_kind()
        for one in incoming:
            _check(one, shape, kind)
        stored = [insert_record(self._cursor, one) for one in incoming]
        self._new |= {record.submission: record for record, is_new in stored if is_new}
        fresh = {
            record.submission: one.values
            for (record, is_new), one in zip(stored, incoming, strict=True)
            if is_new and record.status == "accepted" and one.values is not None
        }
        if fresh:
            cells = [(8 + cell_bytes(values)) * values.size for values in fresh.values()]
            self._database.require_space(sum(cells))
            insert_predictions(self._cursor, fresh)
        return [record for record, _ in stored]

    # -- releases and scores -------------------------------------------------------------------

    def mechanism_state(self, instance: str, epoch: int = 1) -> Mapping[str, Any]:
        """Return the state in which the last release left an instance; empty at first."""
        return select_state(self._cursor, instance, epoch)

    def releases_since(self, epoch: int, revision: int, after: int = 0) -> list[TeamRelease]:
        """Return the releases of an epoch whose number is above one, with scores of a revision."""
        return select_releases_since(self._cursor, epoch, revision, after)

    def add_release(
        self,
        submission: int,
        instance: str,
        epoch: int,
        release: Release,
        time: datetime | None = None,
    ) -> ReleaseRecord:
        """Append what is shown for a submission, and the state that follows; once per epoch.

        Raises
        ------
        ValueError
            If the submission was released in this epoch before.
        """
        return insert_release(self._cursor, submission, instance, epoch, release, time)

    def put_scores(
        self, revision: int, submission: int, public: float | None, private: float | None
    ) -> None:
        """Put the scores of a submission in a revision, in the place of those that were there."""
        self.put_all_scores(revision, [ScoreRecord(submission, public, private)])

    def put_all_scores(self, revision: int, scores: Sequence[ScoreRecord]) -> None:
        """Put the scores of different submissions, as a rescore has them, in one go."""
        upsert_scores(self._cursor, revision, scores)

    # -- the record ----------------------------------------------------------------------------

    def append_event(
        self,
        kind: str,
        actor: str,
        payload: Mapping[str, Any],
        time: datetime | None = None,
    ) -> Event:
        """Append an event to the record; ``payload`` is JSON without NaN or infinities.

        Raises
        ------
        ValueError, TypeError
            If the payload is no such JSON.
        """
        event = insert_event(self._cursor, kind, actor, payload, time)
        self._events.append(event)
        return event

    # -- settings and solutions ----------------------------------------------------------------

    def put_meta(self, name: str, value: str) -> None:
        """Put a value under a name, in the place of the one that was there."""
        if name in {"application", "schema_version", "identity"}:
            raise ValueError(f"{name} belongs to the store")
        self._cursor.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [name, value])

    def put_solution(
        self,
        solution: Solution,
        metric: str | None = None,
        number: int = 1,
        time: datetime | None = None,
    ) -> None:
        """Store a solution; see :meth:`arena.store.Store.put_solution`."""
        cells = cell_bytes(solution.truth) * solution.truth.size
        self._database.require_space(56 * solution.n_rows + cells)
        put_solution(self._cursor, number, solution, metric, time, self._database.path)

    def _shape_and_kind(self) -> tuple[tuple[int, int], PredictionKind]:
        query = "SELECT n_rows, columns, kind FROM solutions ORDER BY solution DESC LIMIT 1"
        found = self._cursor.execute(query).fetchall()
        if not found:
            raise no_solution(self._database.path)
        n_rows, columns, kind = found[0]
        return (n_rows, len(json.loads(columns))), PredictionKind(kind)

    def acknowledge(self) -> None:
        """Write the journal, after the commit."""
        if self._database.journal is not None:
            self._database.journal.append(self._new.values(), self._events)


def _check(incoming: Incoming, shape: tuple[int, int], kind: PredictionKind) -> None:
    values: npt.NDArray[Any] | None = incoming.values
    if incoming.status != "accepted" or values is None:
        return
    if values.shape != shape:
        message = f"values have shape {values.shape}, and the solution needs {shape}"
        raise ValueError(message)
    if (values.dtype == object) != (kind is PredictionKind.TEXT):
        raise ValueError(f"values are {values.dtype}, and the solution asks for {kind}")
    if values.dtype != object and not np.isfinite(values).all():
        raise ValueError("values must be finite")
