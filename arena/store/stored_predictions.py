"""Predictions out of DuckDB in blocks, in the order in which they were appended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import StoreError, StoreFormatError
from arena.store.database import Database
from arena.types import FloatArray, IntArray, PredictionKind, Solution

__all__ = ["StoredPredictions", "select_predictions"]

_BATCH_ROWS = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class StoredPredictions:
    """Predictions of chosen submissions and rows, as :class:`arena.interfaces.PredictionBlocks`.

    Nothing is held between blocks; a block of k submissions takes ``8 * k * n_rows * n_columns``
    bytes, and as much again while rows are chosen from it. Every block is an array of its own.
    """

    database: Database
    submissions: IntArray
    """``(m,)`` ids of accepted submissions."""
    n_columns: int
    rows: IntArray | None
    """``(n,)`` positions of the chosen rows; None: all."""
    n_rows: int
    """The number of rows that are stored."""
    labels: bool
    """Whether predictions are codes of labels."""

    @property
    def n_submissions(self) -> int:
        """The number m of submissions."""
        return len(self.submissions)

    def blocks(self, size: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield ``(start, predictions)``, at most ``size`` submissions each, in order.

        ``predictions`` is ``(k, n)``, or ``(k, n, n_columns)`` for more than one column; float64,
        or intp for labels.

        Raises
        ------
        StoreFormatError
            If a submission is not stored whole and in order.
        """
        for start in range(0, self.n_submissions, size):
            yield start, self._block(self.submissions[start : start + size])

    def subset(self, submissions: IntArray) -> StoredPredictions:
        """Return the same for the submissions at these positions, in this order."""
        return replace(self, submissions=self.submissions[submissions])

    def _block(self, submissions: IntArray) -> npt.NDArray[Any]:
        stored, at = np.unique(submissions, return_inverse=True)
        block = self._read(stored).reshape(len(stored), self.n_rows, self.n_columns)
        if not np.array_equal(stored, submissions):
            block = block[at]
        if self.rows is not None:
            block = block[:, self.rows]
        if self.n_columns == 1:
            block = block[:, :, 0]
        return block.astype(np.intp) if self.labels else block

    def _read(self, submissions: IntArray) -> FloatArray:
        """Return the cells of submissions in ascending order, one after another."""
        cells = self.n_rows * self.n_columns
        values = np.empty(len(submissions) * cells)
        positions = np.arange(cells, dtype=np.int32)
        numbers = submissions.astype(np.int32)  # as stored: another type would be converted
        filled = 0
        with self.database.reading() as cursor:
            reader = cursor.sql(_query(submissions)).to_arrow_reader(_BATCH_ROWS)
            for batch in reader:
                ids, places, read = (np.from_dlpack(column) for column in batch.columns)
                if filled + len(read) > len(values):
                    raise self._damaged()
                values[filled : filled + len(read)] = read
                done = 0
                while done < len(read):
                    at, first = divmod(filled, cells)
                    part = slice(done, done + min(cells - first, len(read) - done))
                    expected = positions[first : first + part.stop - part.start]
                    whole = (ids[part] == numbers[at]).all()
                    if not whole or not np.array_equal(places[part], expected):
                        raise self._damaged()
                    filled += part.stop - part.start
                    done = part.stop
        if filled != len(values):
            raise self._damaged()
        return values

    def _damaged(self) -> StoreFormatError:
        return StoreFormatError(
            f"The predictions in '{self.database.path}' are incomplete or out of order: "
            "the file is damaged. Take in the submission files anew, into another database."
        )


def select_predictions(
    database: Database,
    solution: Solution,
    submissions: Sequence[int] | IntArray,
    rows: IntArray | npt.NDArray[np.bool_] | None,
) -> StoredPredictions:
    """Return the predictions of accepted submissions, ``(m,)`` ids, at rows of the solution."""
    ids = np.asarray(submissions, dtype=np.intp)
    with database.reading() as cursor:
        query = "SELECT submission FROM submissions WHERE status = 'accepted'"
        accepted = cursor.execute(query).fetchnumpy()["submission"]
    strangers = ids[~np.isin(ids, accepted)]
    if len(strangers):
        raise StoreError(
            f"Submission {strangers[0]} was not accepted or is not in '{database.path}': "
            "it has no predictions."
        )
    everything = np.arange(solution.n_rows)
    chosen = everything if rows is None else everything[rows]
    return StoredPredictions(
        database=database,
        submissions=ids,
        n_columns=len(solution.columns),
        rows=None if np.array_equal(chosen, everything) else chosen,
        n_rows=solution.n_rows,
        labels=solution.kind is PredictionKind.LABEL,
    )


def _query(submissions: IntArray) -> str:
    """Return the query for these ids; its text holds integers only."""
    first, last = int(submissions[0]), int(submissions[-1])
    chosen = f"BETWEEN {first} AND {last}"
    if last - first + 1 != len(submissions):
        chosen = f"IN ({', '.join(map(str, submissions.tolist()))})"
    return f"SELECT submission, position, value FROM predictions WHERE submission {chosen}"  # noqa: S608
