"""The store of one competition: its solution, the submissions, and what they predict."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from arena.errors import StoreError
from arena.store.database import Database
from arena.store.records import Incoming, insert_predictions, insert_record, now, select_records
from arena.store.solutions import fingerprint, insert_solution, select_solution
from arena.store.stored_predictions import StoredPredictions
from arena.types import Fault, FloatArray, IntArray, PredictionKind, Solution, SubmissionRecord

__all__ = ["Store"]

_SOLUTION = 1


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
        self._solution: Solution | None = None

    @classmethod
    def open(cls, path: Path | None = None, *, create: bool = True) -> Self:
        """Open a store, made first if need be; without a path, one that is gone once closed.

        Raises
        ------
        StoreBusyError
            If another process holds the file.
        StoreFormatError
            If it is no database of arena, damaged, or of another version.
        StoreError
            If it cannot be read or written, or is not there and not to be made.
        """
        if path is not None:
            return cls(Database(path, create=create))
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-"))
            return cls(Database(Path(folder) / "arena.duckdb"), stack.pop_all())

    def close(self) -> None:
        """Write everything out and let go of the file."""
        self._database.close()
        if self._folder is not None:
            self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The DuckDB file."""
        return self._database.path

    # -- the solution --------------------------------------------------------------------------

    def put_solution(self, solution: Solution, metric: str | None = None) -> None:
        """Store the solution; to put an equal one again is nothing.

        Raises
        ------
        StoreError
            If the store holds another one.
        """
        with self._database.writing() as cursor:
            query = "SELECT fingerprint FROM solutions WHERE solution = ?"
            found = cursor.execute(query, [_SOLUTION]).fetchall()
            if not found:
                insert_solution(cursor, _SOLUTION, solution, metric, now())
            elif found[0][0] != fingerprint(solution):
                raise StoreError(
                    f"The database '{self.path}' holds another solution, or the same one read "
                    "for another kind of prediction: choose another file with --db."
                )
        self._solution = solution

    def solution(self) -> Solution:
        """Return the solution; it is read once and then held.

        Raises
        ------
        StoreError
            If none was put.
        """
        if self._solution is None:
            with self._database.reading() as cursor:
                self._solution = select_solution(cursor, _SOLUTION)
        if self._solution is None:
            raise StoreError(f"The database '{self.path}' holds no solution: put one first.")
        return self._solution

    # -- submissions ---------------------------------------------------------------------------

    def add_submission(
        self,
        team: str,
        file: str,
        sha256: str,
        values: FloatArray | None,
        faults: Sequence[Fault] = (),
        key: str | None = None,
        received: datetime | None = None,
    ) -> SubmissionRecord:
        """Store one submission; see :meth:`add_submissions`."""
        incoming = Incoming(team, file, sha256, values, tuple(faults), key, received)
        return self.add_submissions([incoming])[0]

    def add_submissions(self, incoming: Sequence[Incoming]) -> list[SubmissionRecord]:
        """Store submissions in one transaction and return their records, in order.

        All of them are stored, or none. Submissions with faults or without values are rejected,
        and leave their record only. One that was stored before, by team and key, is not stored
        again: its first record is returned. From four submissions of 100,000 rows on, DuckDB
        writes past its log, which takes half the time; 16 at a time keep a commit under 0.2 s.

        Raises
        ------
        ValueError
            If the shape of values is not that of the solution, or a value is not finite.
        StoreError
            If the file cannot be written; then nothing of this call is stored.
        """
        solution = self.solution()
        for one in incoming:
            _check(one, solution)
        with self._database.writing() as cursor:
            records = [insert_record(cursor, one) for one in incoming]
            fresh = {
                record.submission: one.values
                for (record, is_new), one in zip(records, incoming, strict=True)
                if is_new and record.status == "accepted" and one.values is not None
            }
            if fresh:
                insert_predictions(cursor, fresh)
        return [record for record, _ in records]

    def submissions(self) -> tuple[SubmissionRecord, ...]:
        """Return every submission, accepted or rejected, in the order of their ids."""
        with self._database.reading() as cursor:
            return select_records(cursor)

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
            If a submission is not there, or was rejected.
        """
        solution = self.solution()
        ids = np.asarray(submissions, dtype=np.intp)
        with self._database.reading() as cursor:
            query = "SELECT submission FROM submissions WHERE status = 'accepted'"
            accepted = cursor.execute(query).fetchnumpy()["submission"]
        strangers = ids[~np.isin(ids, accepted)]
        if len(strangers):
            raise StoreError(
                f"Submission {strangers[0]} was rejected or is not in '{self.path}': "
                "it has no predictions."
            )
        chosen = None if rows is None else np.arange(solution.n_rows)[rows]
        everything = chosen is None or np.array_equal(chosen, np.arange(solution.n_rows))
        return StoredPredictions(
            database=self._database,
            submissions=ids,
            n_columns=len(solution.columns),
            rows=None if everything else chosen,
            n_rows=solution.n_rows,
            labels=solution.kind is PredictionKind.LABEL,
        )


def _check(incoming: Incoming, solution: Solution) -> None:
    if incoming.values is None or incoming.faults:
        return
    expected = (solution.n_rows, len(solution.columns))
    if incoming.values.shape != expected:
        message = f"values have shape {incoming.values.shape}, and the solution needs {expected}"
        raise ValueError(message)
    if not np.isfinite(incoming.values).all():
        raise ValueError("values must be finite")
