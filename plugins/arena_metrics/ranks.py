"""Where the rows of one submission lie in their order: what influence values are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray

__all__ = ["Ranking", "ascending", "running_sums"]


def ascending(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the order of ``(n,)`` finite values, and where a group of ties begins in it.

    The row is put into the last bits of each float, read as an integer, so that plain integers
    are sorted: half the time of ``numpy.argsort``. Where the bits lost mattered, that is called.

    >>> order, first = ascending(np.array([0.3, -0.1, 0.3, -0.0]))
    >>> order.tolist(), first.tolist()
    ([1, 3, 0, 2], [True, True, True, False])
    """
    floats = np.ascontiguousarray(values, dtype=np.float64)
    n = len(floats)
    row_bits = np.int64((1 << (n - 1).bit_length()) - 1)
    # As integers they have the order of the floats once a negative one has all bits but its sign
    # turned.
    order = floats.view(np.int64) >> 63
    order &= np.iinfo(np.int64).max
    order ^= floats.view(np.int64)
    order &= ~row_bits
    order |= np.arange(n)
    order.sort()
    order &= row_bits
    ordered = floats[order]
    if (ordered[1:] < ordered[:-1]).any():
        order = np.argsort(floats)
        ordered = floats[order]
    first = np.ones(n, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return order, first


class Ranking:
    """The order of ``(n,)`` values, with ties; means over the rows below or above each row.

    The kernel h(a, b) is 1 if a < b, 1/2 if a = b, and 0 otherwise. With weights, means are
    weighted. It holds 8 bytes per row, or 16 where values are tied.

    Examples
    --------
    >>> ranking = Ranking(np.array([0.3, 0.1, 0.3]))
    >>> ranking.below(np.ones(3)).round(3)
    array([0.667, 0.167, 0.667])
    """

    def __init__(self, values: npt.NDArray[Any], weight: FloatArray | None = None) -> None:
        self.order, first = ascending(values)
        """``(n,)``: the rows in ascending order of their values."""
        self._edges = None if first.all() else np.append(np.flatnonzero(first), len(first))
        self._weight = weight
        self._total = float(len(first) if weight is None else weight.sum())

    def before(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return at each place the sum below its ties, of ``(n + 1,)`` running sums from 0."""
        return self._at_edges(sums, slice(None, -1))

    def through(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the same with its ties."""
        return self._at_edges(sums, slice(1, None))

    def _at_edges(self, sums: npt.NDArray[Any], side: slice) -> npt.NDArray[Any]:
        if self._edges is None:
            return sums[side]
        return np.repeat(sums[self._edges[side]], np.diff(self._edges))

    def by_row(self, in_order: FloatArray) -> FloatArray:
        """Return ``(n,)`` values in the order of the rows."""
        values = np.empty_like(in_order)
        values[self.order] = in_order
        return values

    def _twice_below(self, values: npt.NDArray[Any]) -> tuple[FloatArray, float]:
        """Return at each place twice the sum of the values below it, ties halved, and the total.

        In as few arrays as there can be: where memory is fresh, that is what takes the time.
        """
        weighted = values if self._weight is None else values * self._weight
        sums = np.zeros(len(self.order) + 1)
        np.take(weighted, self.order, out=sums[1:], mode="clip")
        np.cumsum(sums, out=sums)
        return self.before(sums) + self.through(sums), float(sums[-1])

    def below(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return ``(n,)``: at row i the mean over the rows j of ``h(j, i) * values[j]``."""
        twice, _ = self._twice_below(values)
        twice *= 0.5 / self._total
        return self.by_row(twice)

    def above(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return ``(n,)``: at row i the mean over the rows j of ``h(i, j) * values[j]``."""
        twice, total = self._twice_below(values)
        np.subtract(2.0 * total, twice, out=twice)
        twice *= 0.5 / self._total
        return self.by_row(twice)

    def midranks(self) -> FloatArray:
        """Return ``(n,)`` midranks as shares of the total weight, less 1/2; of mean zero."""
        if self._weight is not None:
            return self.below(np.ones(len(self.order))) - 0.5
        n = len(self.order)
        places = np.arange(n + 1, dtype=np.float64)
        twice = self.before(places) + self.through(places)
        twice -= n
        twice *= 0.5 / n
        return self.by_row(twice)


def running_sums(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return ``(n + 1,)`` sums of the first 0, 1, ... n values; booleans are counted.

    >>> running_sums(np.array([True, False, True]))
    array([0, 1, 1, 2], dtype=int32)
    """
    sums = np.zeros(len(values) + 1, np.int32 if values.dtype == bool else np.float64)
    np.cumsum(values, out=sums[1:])
    return sums
