"""Reads predictions from DuckDB in blocks, in the order in which they were appended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from arena.errors import StoreError, StoreFormatError
from arena.store.database import Database
from arena.store.text_codes import select_texts
from arena.types import FloatArray, IntArray, PredictionKind, Solution

__all__ = [
    "StoredPredictions",
    "incomplete_predictions",
    "select_predictions",
    "stored_and_incomplete",
]

_BATCH_ROWS = 2**20
_MOST_RUNS = 64


@dataclass(frozen=True, slots=True, eq=False)
class StoredPredictions:
    """Predictions of chosen submissions and rows, as :class:`arena.interfaces.PredictionBlocks`.

    Nothing is kept between blocks. A block of k submissions takes ``8 * k * n_rows * n_columns``
    bytes, and as much again while rows are selected from it. Texts also take about 50 bytes each
    and one per character; equal texts of a submission share one object. Every block is a new
    array.
    """

    database: Database
    submissions: IntArray
    """``(m,)`` ids of accepted submissions."""
    n_columns: int
    rows: IntArray | None
    """``(n,)`` positions of the chosen rows; None: all."""
    n_rows: int
    """The number of stored rows."""
    kind: PredictionKind
    """The type of the stored cells: numbers, label codes or text codes."""

    @property
    def n_submissions(self) -> int:
        """The number m of submissions."""
        return len(self.submissions)

    def blocks(self, size: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield ``(start, predictions)``, at most ``size`` submissions each, in order.

        ``predictions`` is ``(k, n)``, or ``(k, n, n_columns)`` for more than one column; float64,
        intp for labels, or objects that are str.

        Raises
        ------
        StoreFormatError
            If the cells of a submission are incomplete or out of order.
        """
        for start in range(0, self.n_submissions, size):
            yield start, self._block(self.submissions[start : start + size])

    def subset(self, submissions: IntArray) -> StoredPredictions:
        """Return the predictions of the submissions at these positions, in this order."""
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
        if self.kind is PredictionKind.TEXT:
            return self._texts(block)
        return block.astype(np.intp) if self.kind is PredictionKind.LABEL else block

    def _texts(self, codes: FloatArray) -> npt.NDArray[np.object_]:
        texts = np.empty(codes.shape, dtype=object)
        with self.database.reading() as cursor:
            for at in range(len(codes)):
                texts[at] = select_texts(cursor, codes[at])
        return texts

    def _read(self, submissions: IntArray) -> FloatArray:
        """Return the cells of submissions in ascending order, one after another.

        DuckDB guarantees an order only with a sort, which takes ten times as long as reading. So
        the order of the rows is checked, and they are sorted only if it is wrong or if the ids are
        too scattered for a plain filter.
        """
        runs = _runs(submissions)
        values = None
        if len(runs) <= _MOST_RUNS:
            values = self._read_in_order(_query(runs), submissions)
        if values is None:
            values = self._read_in_order(_sorted_query(submissions), submissions)
        if values is None:
            raise StoreFormatError(
                f"The predictions in '{self.database.path}' are incomplete or out of order: "
                "the file is damaged. Restore a backup, or import the submission files into a new "
                "database."
            )
        return values

    def _read_in_order(self, query: str, submissions: IntArray) -> FloatArray | None:
        """Return the cells of a query; None if they are incomplete or out of order."""
        cells = self.n_rows * self.n_columns
        values = np.empty(len(submissions) * cells)
        positions = np.arange(cells, dtype=np.int32)
        numbers = submissions.astype(np.int32)  # as stored: another type would be converted
        filled = 0
        with self.database.reading() as cursor:
            for batch in cursor.sql(query).to_arrow_reader(_BATCH_ROWS):
                ids, places, read = (np.from_dlpack(column) for column in batch.columns)
                if filled + len(read) > len(values):
                    return None
                values[filled : filled + len(read)] = read
                done = 0
                while done < len(read):
                    at, first = divmod(filled, cells)
                    rest = len(read) - done
                    many = rest // cells if first == 0 else 0  # submissions that are whole
                    width = cells if many else min(cells - first, rest)
                    stop = done + max(1, many) * width
                    own = numbers[at : at + max(1, many), np.newaxis]
                    expected = positions[first : first + width]
                    if not (ids[done:stop].reshape(-1, width) == own).all():
                        return None
                    if not (places[done:stop].reshape(-1, width) == expected).all():
                        return None
                    filled += stop - done
                    done = stop
        return values if filled == len(values) else None


def select_predictions(
    database: Database,
    solution: Solution,
    submissions: Sequence[int] | IntArray,
    rows: IntArray | npt.NDArray[np.bool_] | None,
) -> StoredPredictions:
    """Return the predictions of accepted submissions, ``(m,)`` ids, at rows of the solution."""
    ids = np.asarray(submissions, dtype=np.intp)
    with database.reading() as cursor:
        query = (
            "SELECT submission FROM submissions "
            "WHERE status = 'accepted' AND submission BETWEEN ? AND ?"
        )
        bounds = [int(ids.min()), int(ids.max())] if len(ids) else [0, 0]
        accepted = cursor.execute(query, bounds).fetchnumpy()["submission"]
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
        kind=solution.kind,
    )


def incomplete_predictions(cursor: duckdb.DuckDBPyConnection) -> list[int]:
    """Return the accepted submissions that lack exactly one cell at each position from 0 on.

    Each must have as many as the longest one.
    """
    return stored_and_incomplete(cursor, None)[1]


def stored_and_incomplete(
    cursor: duckdb.DuckDBPyConnection, cells: int | None, first: int = 0
) -> tuple[set[int], list[int]]:
    """Return the submissions with predictions, and the accepted ones that are incomplete.

    Parameters
    ----------
    cells
        The number of cells of each; None: as many as the longest one.
    first
        Only submissions from this one on are looked at.
    """
    query = """
        WITH cells AS (
            SELECT submission, count(*) AS n, min(position) AS low, max(position) AS high,
                sum(position::BIGINT) AS total
            FROM predictions WHERE submission >= $first GROUP BY submission
        )
        SELECT submission, n IS NOT NULL, coalesce(status = 'accepted', false) AND NOT coalesce(
            low = 0 AND high = n - 1 AND total = n * (n - 1) // 2
            AND n = coalesce($cells,
                (SELECT max(n) FROM cells SEMI JOIN submissions USING (submission))), false)
        FROM submissions FULL JOIN cells USING (submission)
        WHERE submission >= $first ORDER BY submission
    """
    rows = cursor.execute(query, {"cells": cells, "first": first}).fetchall()
    return (
        {number for number, has_some, _ in rows if has_some},
        [number for number, _, lacks_some in rows if lacks_some],
    )


def _runs(submissions: IntArray) -> list[tuple[int, int]]:
    """Return the first and last of every run of consecutive ids.

    >>> _runs(np.array([2, 3, 5, 8, 9]))
    [(2, 3), (5, 5), (8, 9)]
    """
    breaks = np.flatnonzero(np.diff(submissions) > 1)
    firsts = submissions[np.concatenate([[0], breaks + 1])]
    lasts = submissions[np.concatenate([breaks, [len(submissions) - 1]])]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


# Only integers are inserted into the queries. A list of ids after IN becomes a join, whose rows
# come in any order; comparisons are a filter, whose rows come in the order of insertion.


def _query(runs: Sequence[tuple[int, int]]) -> str:
    chosen = " OR ".join(f"submission BETWEEN {first} AND {last}" for first, last in runs)
    return f"SELECT submission, position, value FROM predictions WHERE {chosen}"  # noqa: S608


def _sorted_query(submissions: IntArray) -> str:
    ids = ", ".join(map(str, submissions.tolist()))
    columns = "submission, position, value"
    query = f"SELECT {columns} FROM predictions WHERE submission IN ({ids})"  # noqa: S608
    return f"{query} ORDER BY submission, position"
