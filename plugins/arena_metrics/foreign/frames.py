"""Rows as the data frames that foreign metrics expect, and bootstrap draws of these rows."""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from arena.types import IntArray, RowContext
from arena.utils.counts import repeated
from arena.utils.lazy import pc

if TYPE_CHECKING:
    import pandas as pd

_FEW_COLUMNS = 8


def as_frame(names: Sequence[str], columns: Sequence[Any]) -> pd.DataFrame:
    """Return text columns with the dtypes that ``pandas.read_csv`` infers.

    >>> as_frame(["a", "b"], [["1", "2"], ["x", ""]]).dtypes.astype(str).to_dict()["a"]
    'int64'
    """
    import pandas as pd

    table = pa.table(
        {str(number): pa.array(column, pa.string()) for number, column in enumerate(columns)}
    )
    if not len(table):
        return pd.DataFrame({name: pd.Series(dtype=object) for name in names})
    buffer = io.BytesIO()
    csv.write_csv(table, buffer, csv.WriteOptions(include_header=False))
    buffer.seek(0)
    frame = pd.read_csv(buffer, header=None, skip_blank_lines=False, low_memory=False)
    frame.columns = pd.Index(list(names))
    return frame


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """A solution and a submission with the same n ids, in the same order.

    Every draw is a pair of copies that a metric may modify. The dtypes are inferred once, from all
    rows.
    """

    solution: pd.DataFrame
    submission: pd.DataFrame
    id_column: str
    ids: Any
    """``pyarrow.StringArray`` of the n ids."""
    known: pd.Series[Any]
    """The n ids with the dtype of the frames."""
    sizes: tuple[IntArray, IntArray]
    """``(n,)`` rows of each id in the solution and in the submission."""
    free: npt.NDArray[Any] | None
    """If ids are numbers: 2n numbers that are not ids, for ids drawn more than once."""
    _texts: list[Any] = field(default_factory=list)
    """If ids are texts: one array of the n ids, of those of their second copies, …, as far as they
    were drawn."""
    _tables: list[_Table] = field(default_factory=list)
    """Solution and submission, once rows were drawn."""

    @classmethod
    def of(
        cls,
        context: RowContext,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        rows: str = "one",
    ) -> Self:
        """Return the frames of ``(n,)`` or ``(n, n_columns)`` texts.

        With ``rows="any"`` the texts are lists, as of :attr:`~arena.types.MetricTraits.rows`.
        """
        ids = as_frame([context.id_column], [context.ids])
        if ids[context.id_column].nunique() < len(ids):
            # As numbers, the distinct ids 7 and 007 would be equal.
            ids[context.id_column] = context.ids.to_pylist()
        known_ids = ids[context.id_column]
        frames, sizes = [], []
        for names, values in ((context.targets, truth), (context.columns, prediction)):
            columns: list[Any] = _columns(values)
            size = np.ones(len(known_ids), dtype=np.intp)
            if rows == "any":
                from arena.intake import rows_of_cells

                unfolded = [rows_of_cells(column.tolist()) for column in columns]
                columns = [list(itertools.chain.from_iterable(lists)) for lists, _ in unfolded]
                size = np.array(unfolded[0][1], dtype=np.intp)
            frame = as_frame(names, columns)
            # The ids of a solution of ids alone are also its target.
            frame = frame.drop(columns=context.id_column, errors="ignore")
            row_ids = known_ids.take(np.repeat(np.arange(len(known_ids)), size)).reset_index(
                drop=True
            )
            frame.insert(0, context.id_column, row_ids, allow_duplicates=True)
            frames.append(frame)
            sizes.append(size)
        free = _free_numbers(known_ids)
        return cls(
            solution=frames[0],
            submission=frames[1],
            id_column=context.id_column,
            ids=context.ids,
            known=known_ids,
            sizes=(sizes[0], sizes[1]),
            free=free,
        )

    def draw(self, weight: npt.NDArray[Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return solution and submission with the rows of each id repeated ``weight`` times.

        Ids stay unique: each further copy of an id becomes an unused number, or the id with the
        suffix ``#2``, ``#3``, ….
        """
        if (weight == 1).all():
            return self.solution.copy(), self.submission.copy()
        drawn, again, counts = self.drawn(weight)
        ids = self._ids(drawn, again, counts) if len(again) else None
        if not self._tables:
            self._tables.extend(map(_Table.of, (self.solution, self.submission)))
        frames = []
        for table, size in zip(self._tables, self.sizes, strict=True):
            rows, drawn_ids = drawn, ids
            if (size != 1).any():
                each = size[drawn]
                start = np.repeat((np.cumsum(size) - size)[drawn], each)
                rows = start + np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
                drawn_ids = None if ids is None else ids[np.repeat(np.arange(len(drawn)), each)]
            frames.append(table.take(rows, drawn_ids))
        return frames[0], frames[1]

    @staticmethod
    def drawn(weight: npt.NDArray[Any]) -> tuple[IntArray, IntArray, IntArray]:
        """Return the drawn rows, the positions of all copies but the first, and the n counts."""
        counts = weight.astype(np.intp)
        rows = repeated(counts)
        return rows, 1 + np.flatnonzero(rows[1:] == rows[:-1]), counts

    def has_free(self, number: int) -> bool:
        """Return whether so many further copies get unused numbers as ids."""
        return self.free is not None and number <= len(self.free)

    def _ids(self, rows: IntArray, again: IntArray, counts: IntArray) -> Any:
        """Return the id of each drawn row."""
        import pandas as pd

        known_ids = self.known
        if self.free is not None and self.has_free(len(again)):
            drawn_ids = known_ids.to_numpy().take(rows)
            drawn_ids[again] = self.free[: len(again)]
            return drawn_ids
        copies, positions = self.copies(rows, counts)
        texts = copies.take(pa.array(positions))
        if isinstance(known_ids.dtype, pd.StringDtype):
            return pd.array(texts, dtype=known_ids.dtype)
        return texts.to_numpy(zero_copy_only=False)

    def copies(self, rows: IntArray, counts: IntArray) -> tuple[Any, IntArray]:
        """Return the ids of all copies as texts, and where those of the drawn rows are in it.

        A longer array begins with what a shorter one held.
        """
        known_ids = self.known
        n_copies = int(counts.max())
        if not self._texts or len(self._texts[0]) < n_copies * len(known_ids):
            separator = _separator(self.ids)
            suffixes = [f"{separator}{copy + 1}" if copy else "" for copy in range(n_copies)]
            parts = [pc.binary_join_element_wise(self.ids, suffix, "") for suffix in suffixes]
            # Converted once to what pandas holds.
            self._texts[:] = [pa.concat_arrays(parts).cast(pa.large_string())]
        copy = np.arange(len(rows)) - (np.cumsum(counts) - counts).take(rows)
        return self._texts[0], rows + len(known_ids) * copy


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A frame whose rows are drawn, the first column of which is the ids."""

    frame: pd.DataFrame
    columns: tuple[Any, ...] | None
    """The arrays of the other columns if they are few: taking rows of arrays, and making a frame of
    these, takes half the time of taking rows of a frame."""

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Self:
        others = [frame.iloc[:, number] for number in range(1, frame.shape[1])]
        # Of an array of objects pandas would infer another dtype if the drawn ones permit it.
        if len(others) > _FEW_COLUMNS or any(column.dtype == object for column in others):
            return cls(frame, None)
        arrays = (
            column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array
            for column in others
        )
        return cls(frame, tuple(arrays))

    def take(self, rows: IntArray, ids: Any) -> pd.DataFrame:
        """Return a copy of these rows, with other ids unless they are None."""
        import pandas as pd

        if ids is not None and self.columns is not None:
            arrays = [ids, *(column.take(rows) for column in self.columns)]
            frame = pd.DataFrame(dict(enumerate(arrays)))
            frame.columns = self.frame.columns
            return frame
        frame = (self.frame if ids is None else self.frame.iloc[:, 1:]).take(rows)
        frame.index = pd.RangeIndex(len(frame))
        if ids is not None:
            frame.insert(0, self.frame.columns[0], ids, allow_duplicates=True)
        return frame


def _columns(values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    return [values] if values.ndim == 1 else list(values.T)


def _separator(ids: Any) -> str:
    """Return a run of ``#`` that occurs in no id."""
    separator = "#"
    while pc.any(pc.match_substring(ids, separator)).as_py():
        separator += "#"
    return separator


def _free_numbers(ids: pd.Series[Any]) -> npt.NDArray[Any] | None:
    """Return 2n numbers that are not ids; None if ids are not numbers."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if not is_numeric_dtype(ids) or is_bool_dtype(ids):
        return None
    return np.setdiff1d(np.arange(3 * len(ids)), ids.to_numpy())[: 2 * len(ids)]
