"""Reads the predictions of chosen submissions in blocks, wherever they are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import StoreError
from arena.store.database import Database
from arena.store.keepers import CellForm, CellReader
from arena.store.row_counts import RowCounts
from arena.store.statements import execute
from arena.types import IntArray, PredictionKind, Solution

_MANY_CELLS = 2 * 10**6
"""Whose reading takes longer than starting threads for it."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredPredictions:
    """Predictions of chosen submissions and rows, as :class:`arena.interfaces.PredictionBlocks`.

    Nothing is kept between blocks. A block of k submissions takes ``8 * k * n_rows * n_columns``
    bytes, and as much again while rows are selected from it. Texts also take about 50 bytes each
    and one per character; equal texts of a submission share one object. Every block is a new
    array.
    """

    reader: CellReader
    submissions: IntArray
    """``(m,)`` ids of accepted submissions."""
    form: CellForm
    rows: IntArray | None
    """``(n,)`` positions of the chosen rows; None: all."""

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
            If the cells of a submission are missing, incomplete, out of order or were changed.
        StoreError
            If they cannot be read.
        """
        for start in range(0, self.n_submissions, size):
            yield start, self._block(self.submissions[start : start + size])

    def subset(self, submissions: IntArray) -> StoredPredictions:
        """Return the predictions of the submissions at these positions, in this order."""
        return replace(self, submissions=self.submissions[submissions])

    def for_workers(self) -> StoredPredictions | None:
        """Return what other machines can read themselves; None: they must be sent the blocks."""
        reader = self.reader.for_workers()
        return None if reader is None else replace(self, reader=reader)

    def _block(self, submissions: IntArray) -> npt.NDArray[Any]:
        stored, positions = np.unique(submissions, return_inverse=True)
        block = self.reader.read(stored, self.rows)
        if not np.array_equal(stored, submissions):
            block = block[positions]
        if self.form.n_columns == 1:
            block = block[:, :, 0]
        return block.astype(np.intp) if self.form.kind is PredictionKind.LABEL else block


def select_predictions(
    database: Database,
    solution: Solution,
    submissions: Sequence[int] | IntArray,
    rows: IntArray | npt.NDArray[np.bool_] | None,
) -> StoredPredictions:
    """Return the predictions of accepted submissions, ``(m,)`` ids, at rows of the solution."""
    ids = np.asarray(submissions, dtype=np.intp)
    form = CellForm.of(solution)
    with database.reading() as cursor:
        query = (
            "SELECT submission FROM submissions "
            "WHERE status = 'accepted' AND submission BETWEEN ? AND ?"
        )
        bounds = [int(ids.min()), int(ids.max())] if len(ids) else [0, 0]
        accepted = execute(cursor, query, bounds).fetchnumpy()["submission"]
        strangers = ids[~np.isin(ids, accepted)]
        if len(strangers):
            raise StoreError(
                f"Submission {strangers[0]} was not accepted or is not in '{database.path}': "
                "it has no predictions."
            )
        row_counts = RowCounts.select(cursor, form.n_rows)
        reader = row_counts.reader(database.keeper, cursor, ids, form)
    if len(ids) * form.n_rows * form.n_columns >= _MANY_CELLS:
        database.use_all_processors()
    everything = np.arange(solution.n_rows)
    chosen = everything if rows is None else everything[rows]
    return StoredPredictions(
        reader=reader,
        submissions=ids,
        form=form,
        rows=None if np.array_equal(chosen, everything) else chosen,
    )
