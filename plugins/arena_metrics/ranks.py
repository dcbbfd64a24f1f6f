"""Where the rows of one submission lie in their order: what influence values are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray

__all__ = ["MadeOfLast", "Ranking", "ascending", "running_sums"]

_Made = TypeVar("_Made")


def ascending(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the order of ``(n,)`` finite values, and where a group of ties begins in it.

    The row is put into the last bits of each float, read as an integer, so that plain integers
    are sorted: half the time of ``numpy.argsort``. Where the bits lost mattered, that mends it.

    >>> order, first = ascending(np.array([0.3, -0.1, 0.3, -0.0]))
    >>> order.tolist(), first.tolist()
    ([1, 3, 0, 2], [True, True, True, False])
    """
    floats = np.ascontiguousarray(values, dtype=np.float64)
    n = len(floats)
    row_bits = np.int64((1 << (n - 1).bit_length()) - 1)
    keys = (floats + 0.0).view(np.int64)  # of the two zeros there is one left
    keys &= ~row_bits
    if keys.min(initial=0) < 0:
        # As integers they have the order of the floats once a negative one has all bits but its
        # sign turned.
        keys ^= (keys >> 63) & (np.iinfo(np.int64).max & ~row_bits)
    order = np.arange(n)
    order |= keys
    order.sort()
    # Where memory is fresh, that is what takes the time: what is done with is used again.
    apart = np.subtract(order[1:], order[:-1], out=keys[1:])
    order &= row_bits
    if (apart > row_bits).all():  # they differ in bits that were not lost
        return order, np.ones(n, np.bool_)
    ordered = np.take(floats, order, out=keys.view(np.float64), mode="clip")
    if (ordered[1:] < ordered[:-1]).any():
        mended = np.argsort(ordered, kind="stable")  # nearly in order: one pass and a bit
        order, ordered = order[mended], ordered[mended]
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
        return self._at_places(self._ends(sums)[:-1])

    def through(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the same with its ties."""
        return self._at_places(self._ends(sums)[1:])

    def astride(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the two added up: twice the sum below each place, its ties counted half."""
        ends = self._ends(sums)
        return self._at_places(ends[:-1] + ends[1:])

    def twice_below(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return ``(n,)``: at row i twice the sum over the rows j of ``h(j, i) * values[j]``."""
        sums = np.empty(len(values) + 1, values.dtype)
        sums[0] = 0
        np.take(values, self.order, out=sums[1:], mode="clip")
        np.cumsum(sums, out=sums)
        sums[:-1][self.order] = self.astride(sums)
        return sums[:-1]

    def by_row(self, in_order: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return ``(n,)`` values in the order of the rows."""
        values = np.empty_like(in_order)
        values[self.order] = in_order
        return values

    def in_order(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return ``(n,)`` values of the rows in the order of the ranking."""
        return values.take(self.order, mode="clip")

    def below(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return ``(n,)``: at row i the mean over the rows j of ``h(j, i) * values[j]``."""
        twice = self.twice_below(values if self._weight is None else values * self._weight)
        twice *= 0.5 / self._total
        return twice

    def midranks(self) -> FloatArray:
        """Return ``(n,)`` midranks as shares of the total weight, less 1/2; of mean zero."""
        if self._weight is not None:
            return self.below(np.ones(len(self.order))) - 0.5
        return self.by_row(self.whole_midranks() * (0.5 / len(self.order)))

    def whole_midranks(self) -> npt.NDArray[np.int64]:
        """Return at each place its midrank without weights, as above but times 2n: an integer."""
        n = len(self.order)
        if self._edges is None:
            return np.arange(1 - n, n, 2)
        return self._at_places(self._edges[:-1] + self._edges[1:] - n)

    def shares_of_ties(self) -> FloatArray | None:
        """Return ``(n,)``: the share of the rows that is tied with each; None: no row is."""
        if self._edges is None:
            return None
        return self.by_row(self._at_places(np.diff(self._edges) / len(self.order)))

    def _ends(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return sums if self._edges is None else sums[self._edges]

    def _at_places(self, of_groups: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return of_groups if self._edges is None else np.repeat(of_groups, np.diff(self._edges))


class MadeOfLast(Generic[_Made]):
    """Keeps what was made of the last values that it was asked for, and the values.

    Releases come one by one, each with the same truth: what is made of that is made once. The
    values are compared, not their array, so that a change in place is seen.

    Examples
    --------
    >>> largest, values = MadeOfLast(np.max), np.array([1.0, 2.0])
    >>> largest(values), largest(values)
    (np.float64(2.0), np.float64(2.0))
    >>> values[0] = 3.0
    >>> largest(values)
    np.float64(3.0)
    """

    def __init__(self, make: Callable[[npt.NDArray[Any]], _Made]) -> None:
        self._make = make
        self._last: tuple[npt.NDArray[Any], _Made] | None = None

    def __call__(self, values: npt.NDArray[Any]) -> _Made:
        """Return what is made of the values."""
        last = self._last
        if last is None or not np.array_equal(last[0], values):
            last = self._last = (values.copy(), self._make(values))
        return last[1]


def running_sums(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return ``(n + 1,)`` sums of the first 0, 1, ... n values; booleans are counted.

    >>> running_sums(np.array([True, False, True]))
    array([0, 1, 1, 2], dtype=int32)
    """
    sums = np.empty(len(values) + 1, np.int32 if values.dtype == bool else values.dtype)
    sums[0] = 0
    np.cumsum(values, out=sums[1:])
    return sums
