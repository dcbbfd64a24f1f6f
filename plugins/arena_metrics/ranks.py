"""Where the rows of one submission lie in their order: what influence values are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray

__all__ = ["Ranking"]


class Ranking:
    """The order of ``(n,)`` values, with ties; means over the rows below or above each row.

    The kernel h(a, b) is 1 if a < b, 1/2 if a = b, and 0 otherwise. With weights, means are
    weighted.

    Examples
    --------
    >>> ranking = Ranking(np.array([0.3, 0.1, 0.3]))
    >>> ranking.below(np.ones(3)).round(3)
    array([0.667, 0.167, 0.667])
    """

    def __init__(self, values: npt.NDArray[Any], weight: FloatArray | None = None) -> None:
        self._places = np.unique(values, return_inverse=True)[1].reshape(-1)
        self._weight = np.ones(len(values)) if weight is None else weight
        self._total = self._weight.sum()

    def _sums(self, values: npt.NDArray[Any]) -> tuple[FloatArray, FloatArray]:
        """Return the weighted sum of each group of ties, and that of it and all below."""
        of_group: FloatArray = np.asarray(
            np.bincount(self._places, weights=values * self._weight), dtype=np.float64
        )
        return of_group, np.cumsum(of_group)

    def below(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return ``(n,)``: at row i the mean over the rows j of ``h(j, i) * values[j]``."""
        of_group, through = self._sums(values)
        return np.asarray(((through - 0.5 * of_group) / self._total)[self._places])

    def above(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return ``(n,)``: at row i the mean over the rows j of ``h(i, j) * values[j]``."""
        of_group, through = self._sums(values)
        return np.asarray(((through[-1] - through + 0.5 * of_group) / self._total)[self._places])

    def up_to(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return ``(n,)``: at row i the mean over the rows not above it, its ties whole."""
        return np.asarray((self._sums(values)[1] / self._total)[self._places])

    def from_here(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return ``(n,)``: at row i the mean over the rows not below it, its ties whole."""
        of_group, through = self._sums(values)
        return np.asarray(((through[-1] - through + of_group) / self._total)[self._places])

    def midranks(self) -> FloatArray:
        """Return ``(n,)`` midranks as shares of the total weight, less 1/2; of mean zero."""
        return self.below(np.ones(len(self._places))) - 0.5
