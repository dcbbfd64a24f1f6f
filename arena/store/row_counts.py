"""How many rows the predictions of each submission have, where rows were added to a solution.

Rows are added at the end, and stored predictions never change: those of earlier submissions are
shorter. They are read with their last row repeated, so that every cell is valid for the metric; no
score depends on these cells, because rows are added to phases without submissions only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import duckdb
import numpy as np
import numpy.typing as npt

from arena.errors import StoreFormatError
from arena.store.keepers import CellCounts, CellForm, CellReader, Keeper
from arena.store.statements import execute
from arena.types import IntArray
from arena.utils.strict_json import parse_json

ROW_COUNTS = "row_counts"
"""The name in ``meta``, where rows were added, of a list of ``[first submission, rows]``."""

_MOST = 2**62


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The number of rows of each submission.

    >>> RowCounts((0, 5), (100, 120)).of([4, 5, 9]).tolist()
    [100, 120, 120]
    """

    firsts: tuple[int, ...]
    """The first submission of each number of rows, ascending."""
    counts: tuple[int, ...]

    @classmethod
    def select(cls, cursor: duckdb.DuckDBPyConnection, n_rows: int) -> Self:
        """Read them; ``n_rows``: of every submission, where no row was added.

        Raises
        ------
        StoreFormatError
            If the stored value was changed from outside.
        """
        text = _stored(cursor)
        if text is None:
            return cls((0,), (n_rows,))
        try:
            row_counts = cls(*zip(*parse_json(text), strict=True))
        except (TypeError, ValueError):
            row_counts = cls((), ())
        if not row_counts.are_possible():
            raise StoreFormatError(
                f"The value '{ROW_COUNTS}' in meta, which is how many rows the submissions have, "
                "was changed: restore a backup."
            )
        return row_counts

    def are_possible(self) -> bool:
        """Return whether arena can have made them: both are ascending whole numbers.

        >>> RowCounts((0, 5), (100, 100)).are_possible(), RowCounts((0,), (0,)).are_possible()
        (False, False)
        """
        least = ((self.firsts, 0), (self.counts, 1))
        return bool(self.counts) and all(
            all(type(number) is int and low <= number < _MOST for number in numbers)
            and all(before < after for before, after in pairwise(numbers))
            for numbers, low in least
        )

    def grown(self, first: int, n_rows: int) -> RowCounts:
        """Return them with another number of rows from a submission on."""
        earlier = [pair for pair in zip(self.firsts, self.counts, strict=True) if pair[0] < first]
        firsts, counts = zip(*earlier, (first, n_rows), strict=True)
        return RowCounts(firsts, counts)

    def to_text(self) -> str:
        """Return them as they are stored."""
        return json.dumps(list(zip(self.firsts, self.counts, strict=True)))

    def of(self, submissions: Sequence[int] | IntArray) -> IntArray:
        """Return ``(m,)`` the number of rows of each submission."""
        periods = np.searchsorted(self.firsts, np.asarray(submissions), side="right") - 1
        return np.array(self.counts, dtype=np.intp)[np.maximum(periods, 0)]

    def cells(self, n_columns: int) -> CellCounts:
        """Return the function that gives the number of cells of submissions."""
        return lambda submissions: self.of(submissions) * n_columns

    def reader(
        self,
        keeper: Keeper,
        cursor: duckdb.DuckDBPyConnection,
        submissions: IntArray,
        form: CellForm,
    ) -> CellReader:
        """Return a reader of submissions that gives each the rows of the latest solution."""
        counts = self.of(submissions)
        if (counts == form.n_rows).all():
            return keeper.reader(cursor, submissions, form)
        readers = {
            count: keeper.reader(cursor, submissions[counts == count], form.with_rows(count))
            for count in np.unique(counts).tolist()
        }
        return LengtheningReader(self, readers, form.n_rows)


@dataclass(frozen=True, slots=True, eq=False)
class LengtheningReader:
    """Repeats the last row of shorter submissions, as a :class:`arena.store.keepers.CellReader`."""

    row_counts: RowCounts
    readers: Mapping[int, CellReader]
    """A number of rows -> the reader of submissions that have as many."""
    n_rows: int

    def for_workers(self) -> LengtheningReader | None:
        """Return one whose readers other machines can use, or None."""
        readers = {count: reader.for_workers() for count, reader in self.readers.items()}
        usable = {count: reader for count, reader in readers.items() if reader is not None}
        if len(usable) < len(readers):
            return None
        return LengtheningReader(self.row_counts, usable, self.n_rows)

    def read(self, submissions: IntArray, rows: IntArray | None) -> npt.NDArray[Any]:
        """Return the cells of submissions at these rows."""
        chosen = np.arange(self.n_rows) if rows is None else rows
        counts = self.row_counts.of(submissions)  # ascending, as the submissions are
        blocks = [
            self.readers[count].read(submissions[counts == count], np.minimum(chosen, count - 1))
            for count in np.unique(counts).tolist()
        ]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def incomplete_predictions(keeper: Keeper, cursor: duckdb.DuckDBPyConnection) -> list[int]:
    """Return the accepted submissions that lack predictions."""
    cells = None
    if _stored(cursor) is not None:
        query = "SELECT n_rows, columns FROM solutions ORDER BY solution DESC LIMIT 1"
        ((n_rows, columns),) = execute(cursor, query).fetchall()
        cells = RowCounts.select(cursor, n_rows).cells(len(parse_json(columns)))
    return keeper.stored_and_incomplete(cursor, cells, first=1)[1]


def _stored(cursor: duckdb.DuckDBPyConnection) -> str | None:
    """Return the stored value; None: no row was added."""
    query = "SELECT value FROM meta WHERE name = ?"
    return next((value for (value,) in execute(cursor, query, [ROW_COUNTS]).fetchall()), None)
