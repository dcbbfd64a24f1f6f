"""Predictions that stand in memory, handed out in blocks as those of a store are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from arena.types import IntArray

__all__ = ["ArrayPredictions", "cell_bytes"]

_TEXT_BYTES = 60
"""What an empty text takes in memory, and the pointer to it."""
_CELLS_LOOKED_AT = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class ArrayPredictions:
    """An array as :class:`arena.interfaces.PredictionBlocks`; holds no copy of it.

    Examples
    --------
    >>> import numpy as np
    >>> predictions = ArrayPredictions(np.arange(6.0).reshape(3, 2))
    >>> [(start, block.shape) for start, block in predictions.blocks(2)]
    [(0, (2, 2)), (2, (1, 2))]
    """

    values: npt.NDArray[Any]
    """``(m, n)``, or ``(m, n, n_columns)``."""

    @property
    def n_submissions(self) -> int:
        """The number m of submissions."""
        return len(self.values)

    def blocks(self, size: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield ``(start, predictions)``: views of at most ``size`` submissions, in order."""
        for start in range(0, len(self.values), size):
            yield start, self.values[start : start + size]

    def subset(self, submissions: IntArray) -> ArrayPredictions:
        """Return a copy of the submissions at these positions, in this order."""
        return ArrayPredictions(self.values[submissions])


def cell_bytes(values: npt.NDArray[Any]) -> int:
    """Return about how many bytes a cell takes: 8 for a number, 60 and its length for a text.

    The length is the mean of a thousand cells.

    >>> import numpy as np
    >>> cell_bytes(np.zeros(3)), cell_bytes(np.array(["a", "bcd"], dtype=object))
    (8, 62)
    """
    if values.dtype != object:
        return 8
    cells = values.reshape(-1)[:: max(1, values.size // _CELLS_LOOKED_AT)]
    return _TEXT_BYTES + sum(map(len, cells)) // max(1, len(cells))
