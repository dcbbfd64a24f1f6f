"""The store of one competition: its solutions, the submissions, what was shown, what happened."""

from __future__ import annotations

import contextlib
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from arena.errors import StoreBusyError
from arena.store.database import Database
from arena.store.events import Event, first_broken, select_events
from arena.store.places import select_place
from arena.store.records import Incoming, select_records
from arena.store.releases import ReleaseRecord, ScoreRecord, select_releases, select_scores
from arena.store.solutions import no_solution, select_solution
from arena.store.stored_predictions import StoredPredictions, select_predictions
from arena.store.transaction import Transaction
from arena.types import Fault, IntArray, Solution, SubmissionRecord

__all__ = ["Store"]

_RETRY_SECONDS = 0.1
_SECONDS_FOR_A_NAME = 1.0


class Store:
    """The DuckDB file of a competition. A context manager; safe to use from several threads.

    One process holds the file at a time. Whatever a method stored is whole, or not there at all,
    whenever the process ends. DuckDB keeps at most 1 GB in memory.

    Examples
    --------
    >>> with Store.open() as store:
    ...     store.submissions()
    ()
    """

    def __init__(self, database: Database, folder: contextlib.ExitStack | None = None) -> None:
        self._database = database
        self._folder = folder
        self._solutions: dict[int, Solution] = {}

    @classmethod
    def open(
        cls,
        path: Path | None = None,
        *,
        create: bool = True,
        wait: float = 0.0,
        read_only: bool = False,
    ) -> Self:
        """Open a store, made first if need be; without a path, one that is gone once closed.

        While another process holds the file, try again for ``wait`` seconds. With ``read_only``
        nothing is written, and several processes may look at once.

        Raises
        ------
        StoreBusyError
            If another process still holds the file; the message has its PID.
        StoreFormatError
            If it is no database of arena, damaged, or of another version, or lacks a submission
            that was acknowledged.
        StoreError
            If it cannot be read or written, is not there and not to be made, or the disk is full.
        """
        if path is not None:
            return cls(_open_patiently(path, create, wait, read_only))
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-"))
            return cls(Database(Path(folder) / "arena.duckdb", journaled=False), stack.pop_all())

    def close(self) -> None:
        """Write everything out and let go of the file."""
        self._database.close()
        if self._folder is not None:
            self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The DuckDB file."""
        return self._database.path

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Give a transaction, alone: all of it is stored when the block ends, or nothing.

        Whoever is told of it after the block is told of something that is on the disk.

        Raises
        ------
        StoreError
            If it could not be written.
        RuntimeError
            If this thread is inside a transaction.

        Examples
        --------
        >>> with Store.open() as store:
        ...     with store.transaction() as transaction:
        ...         places = [transaction.take_place("team", None, allowed=1) for _ in range(2)]
        ...     used = store.places_used("team", None)
        >>> places, used
        ([True, False], 1)
        """
        with self._database.exclusively():
            with self._database.transaction() as cursor:
                transaction = Transaction(self._database, cursor)
                yield transaction
            transaction.acknowledge()

    # -- solutions and settings ----------------------------------------------------------------

    def put_solution(self, solution: Solution, metric: str | None = None, number: int = 1) -> None:
        """Store a solution; to put an equal one again is nothing.

        A corrected solution is the next number; it has the same rows, columns and labels.

        Raises
        ------
        StoreError
            If the store holds another one under this number, or of other rows.
        ValueError
            If a number is left out.
        """
        with self.transaction() as transaction:
            transaction.put_solution(solution, metric, number)
        self._solutions.setdefault(number, solution)

    def solution(self, number: int | None = None) -> Solution:
        """Return a solution, the latest if no number is given; each is read once and then held.

        Raises
        ------
        StoreError
            If none was put.
        """
        with self._database.reading() as cursor:
            if number is None:
                query = "SELECT coalesce(max(solution), 0) FROM solutions"
                ((number,),) = cursor.execute(query).fetchall()
            found = self._solutions.get(number) or select_solution(cursor, number)
        if found is None:
            raise no_solution(self.path)
        return self._solutions.setdefault(number, found)

    def meta(self, name: str) -> str | None:
        """Return the value that was put under a name, or None."""
        with self._database.reading() as cursor:
            rows = cursor.execute("SELECT value FROM meta WHERE name = ?", [name]).fetchall()
        return rows[0][0] if rows else None

    # -- submissions ---------------------------------------------------------------------------

    def add_submission(
        self,
        team: str,
        file: str,
        sha256: str,
        values: npt.NDArray[Any] | None,
        faults: Sequence[Fault] = (),
        key: str | None = None,
        received: datetime | None = None,
    ) -> SubmissionRecord:
        """Store one submission; see :meth:`add_submissions`."""
        incoming = Incoming(team, file, sha256, values, tuple(faults), key, received)
        return self.add_submissions([incoming])[0]

    def add_submissions(self, incoming: Sequence[Incoming]) -> list[SubmissionRecord]:
        """Store submissions in one transaction; see :meth:`Transaction.add_submissions`."""
        with self.transaction() as transaction:
            return transaction.add_submissions(incoming)

    def submissions(self, team: str | None = None) -> tuple[SubmissionRecord, ...]:
        """Return every submission, or those of a team, of any status, in the order of ids."""
        with self._database.reading() as cursor:
            return select_records(cursor, team)

    def teams(self) -> tuple[str, ...]:
        """Return the teams that sent a submission, of any status, in the order of names."""
        with self._database.reading() as cursor:
            query = "SELECT DISTINCT team FROM submissions ORDER BY team"
            return tuple(team for (team,) in cursor.execute(query).fetchall())

    def places_used(self, team: str, day: date | None) -> int:
        """Return how many places of its limit a team has used on a day, or in total."""
        with self._database.reading() as cursor:
            return select_place(cursor, team, day)

    def predictions(
        self,
        submissions: Sequence[int] | IntArray,
        rows: IntArray | npt.NDArray[np.bool_] | None = None,
    ) -> StoredPredictions:
        """Return the predictions of accepted submissions, to be read in blocks.

        Parameters
        ----------
        submissions
            ``(m,)`` ids.
        rows
            Positions of rows of the solution, or a mask ``(n_rows,)``; None: all rows.

        Raises
        ------
        StoreError
            If a submission is not there, or was not accepted.
        """
        return select_predictions(self._database, self.solution(), submissions, rows)

    # -- what was shown, and what happened -----------------------------------------------------

    def releases(self, epoch: int | None = None) -> tuple[ReleaseRecord, ...]:
        """Return what was shown, in all or in an epoch, in the order in which it was."""
        with self._database.reading() as cursor:
            return select_releases(cursor, epoch)

    def scores(self, revision: int) -> tuple[ScoreRecord, ...]:
        """Return the scores of a revision, in the order of submissions."""
        with self._database.reading() as cursor:
            return select_scores(cursor, revision)

    def events(self, kind: str | None = None) -> tuple[Event, ...]:
        """Return the record, or its events of a kind, in order."""
        with self._database.reading() as cursor:
            return select_events(cursor, kind)

    def verify_events(self) -> str | None:
        """Return a sentence that names the first broken event of the record, or None.

        The journal beside the database is compared too: without it, events that were cut off
        at the end could not be noticed.
        """
        events = self.events()
        return first_broken(events) or self._cut_off(events)

    def _cut_off(self, events: Sequence[Event]) -> str | None:
        hashes = {event.sequence: event.hash for event in events}
        journal = self._database.journal
        for sequence, digest in journal.read().events if journal else ():
            if hashes.get(sequence) != digest:
                state = "is missing" if sequence not in hashes else "was replaced by another"
                return f"The record is broken: event {sequence} is in the journal and {state}."
        return None


def _open_patiently(path: Path, create: bool, wait: float, read_only: bool) -> Database:
    until = time.monotonic() + wait
    while True:
        try:
            return Database(path, create=create, read_only=read_only)
        except StoreBusyError as error:
            # Without a PID it was let go of while DuckDB looked who holds it.
            patience = 0.0 if "(PID " in str(error) else _SECONDS_FOR_A_NAME
            if time.monotonic() >= until + patience:
                raise
        time.sleep(_RETRY_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311 # so that all do not meet again
