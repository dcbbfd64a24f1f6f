"""Rows as the data frames that other people's metrics expect, and draws of these rows."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from arena.types import IntArray, RowContext

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Frames", "as_frame"]


def as_frame(names: Sequence[str], columns: Sequence[Any]) -> pd.DataFrame:
    """Return columns of texts as ``pandas.read_csv`` would read them from a file.

    >>> as_frame(["a", "b"], [["1", "2"], ["x", ""]]).dtypes.astype(str).to_dict()["a"]
    'int64'
    """
    import pandas as pd

    table = pa.table({str(at): pa.array(column, pa.string()) for at, column in enumerate(columns)})
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
    """A solution and a submission of the same n rows, in the same order.

    Every draw is a pair of copies, which a metric may change as it likes. The dtypes are inferred
    once, from all rows.
    """

    solution: pd.DataFrame
    submission: pd.DataFrame
    id_column: str
    ids: Any
    """``pyarrow.StringArray`` of the n ids as texts."""
    free: npt.NDArray[Any] | None
    """Where ids are numbers: 2n that are none of them, for rows that are drawn again."""

    @classmethod
    def of(cls, context: RowContext, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> Self:
        """Return the frames of ``(n,)`` or ``(n, n_columns)`` texts."""
        ids = as_frame([context.id_column], [context.ids])
        if ids[context.id_column].nunique() < len(ids):
            # 7 and 007 are two ids, but one number.
            ids[context.id_column] = context.ids.to_pylist()
        solution = as_frame(context.targets, _columns(truth))
        submission = as_frame(context.columns, _columns(prediction))
        for frame in (solution, submission):
            frame.insert(0, context.id_column, ids[context.id_column], allow_duplicates=True)
        free = _free_numbers(solution.iloc[:, 0])
        return cls(solution, submission, context.id_column, context.ids, free)

    def draw(self, weight: npt.NDArray[Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return solution and submission with each row as often as it was drawn.

        A row that is drawn again gets an id of its own, so that ids stay unique: a number that
        is no id, or the id with ``#2``, ``#3``, ….
        """
        import pandas as pd

        if (weight == 1).all():
            return self.solution.copy(), self.submission.copy()
        counts = weight.astype(np.intp)
        rows = np.repeat(np.arange(len(counts)), counts)
        first = np.repeat(np.cumsum(counts) - counts, counts)
        copies = np.arange(len(rows)) - first
        frames = self.solution.take(rows), self.submission.take(rows)
        ids = self._ids(rows, copies) if copies.any() else None
        for frame in frames:
            frame.index = pd.RangeIndex(len(rows))
            if ids is not None:
                frame.isetitem(0, ids)
        return frames

    def _ids(self, rows: IntArray, copies: IntArray) -> Any:
        import pandas as pd

        known = self.solution.iloc[:, 0]
        again = np.flatnonzero(copies)
        if self.free is not None and len(again) <= len(self.free):
            drawn = known.to_numpy()[rows]
            drawn[again] = self.free[: len(again)]
            return drawn
        separator = _separator(self.ids)
        suffixes = [f"{separator}{copy + 1}" if copy else "" for copy in range(copies.max() + 1)]
        texts = pc.binary_join_element_wise(
            self.ids.take(pa.array(rows)), pa.array(suffixes).take(pa.array(copies)), ""
        )
        if isinstance(known.dtype, pd.StringDtype):
            return pd.array(texts, dtype=known.dtype)
        return texts.to_numpy(zero_copy_only=False)


def _columns(values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    return [values] if values.ndim == 1 else list(values.T)


def _separator(ids: Any) -> str:
    """Return a text that stands in no id."""
    separator = "#"
    while pc.any(pc.match_substring(ids, separator)).as_py():
        separator += "#"
    return separator


def _free_numbers(ids: pd.Series[Any]) -> npt.NDArray[Any] | None:
    """Return 2n numbers that are no id; None if ids are no numbers."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if not is_numeric_dtype(ids) or is_bool_dtype(ids):
        return None
    return np.setdiff1d(np.arange(3 * len(ids)), ids.to_numpy())[: 2 * len(ids)]
