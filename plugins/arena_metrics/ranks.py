"""Ranks, ties and cumulative sums of one submission: the building blocks of influence values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from arena.evaluation.shared_weights import derived_once
from arena.types import FloatArray

_Made = TypeVar("_Made")


def sort_with_ties(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """Return the ascending order of ``(n,)`` finite values, and where each group of ties begins.

    The row index replaces the low bits of each float, read as an integer, so that plain integers
    are sorted: half the time of ``numpy.argsort``. If the overwritten bits matter, a stable
    ``argsort`` of the nearly sorted values corrects the order.

    >>> order, first = sort_with_ties(np.array([0.3, -0.1, 0.3, -0.0]))
    >>> order.tolist(), first.tolist()
    ([1, 3, 0, 2], [True, True, True, False])
    """
    floats = np.ascontiguousarray(values, dtype=np.float64)
    n = len(floats)
    row_bits = np.int64((1 << (n - 1).bit_length()) - 1)
    keys = (floats + 0.0).view(np.int64)  # turns -0.0 into 0.0
    keys &= ~row_bits
    if keys.min(initial=0) < 0:
        # Negative floats sort like integers once all bits except the sign are inverted.
        keys ^= (keys >> 63) & (np.iinfo(np.int64).max & ~row_bits)
    order = np.arange(n)
    order |= keys
    order.sort()
    # Allocating fresh memory would dominate the run time, so arrays are reused.
    apart = np.subtract(order[1:], order[:-1], out=keys[1:])
    order &= row_bits
    if (apart > row_bits).all():  # the values differ in the bits that were kept
        return order.astype(np.int32), np.ones(n, np.bool_)
    ordered = np.take(floats, order, out=keys.view(np.float64), mode="clip")
    if (ordered[1:] < ordered[:-1]).any():
        correction = np.argsort(ordered, kind="stable")  # fast, as it is nearly sorted
        order, ordered = order[correction], ordered[correction]
    first = np.ones(n, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return order.astype(np.int32), first


class Ranking:
    """The order of ``(n,)`` values with ties, and sums over the rows below each row.

    The kernel h(a, b) is 1 if a < b, 1/2 if a = b, and 0 otherwise. If weights are given, means
    are weighted. Uses 4 bytes per row, or 12 with ties; the order of shared values is kept.

    Examples
    --------
    >>> ranking = Ranking(np.array([0.3, 0.1, 0.3]))
    >>> ranking.kernel_means(np.ones(3)).round(3)
    array([0.667, 0.167, 0.667])
    """

    def __init__(self, values: npt.NDArray[Any], weight: FloatArray | None = None) -> None:
        self.order, first = derived_once(values, sort_with_ties)
        """``(n,)``: the rows in ascending order of their values."""
        self._edges = None if first.all() else np.append(np.flatnonzero(first), len(first))
        self._weight = weight
        self._total = float(len(first) if weight is None else weight.sum())

    def sums_below(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the sum below each position, its ties excluded.

        ``sums`` are ``(n + 1,)`` cumulative sums in rank order, starting with 0.
        """
        return self._at_places(self._ends(sums)[:-1])

    def sums_through(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the sum up to each position, its ties included."""
        return self._at_places(self._ends(sums)[1:])

    def doubled_sums(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return twice the sum below each position, ties counted half."""
        ends = self._ends(sums)
        return self._at_places(ends[:-1] + ends[1:])

    def doubled_kernel_sums(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return ``(n,)``: for row i twice the sum over rows j of ``h(j, i) * values[j]``.

        Written without :func:`cumulative_sums` and :meth:`to_row_order` to allocate one array only.
        """
        sums = np.empty(len(values) + 1, values.dtype)
        sums[0] = 0
        np.take(values, self.order, out=sums[1:], mode="clip")
        np.cumsum(sums, out=sums)
        sums[:-1][self.order] = self.doubled_sums(sums)
        return sums[:-1]

    def to_row_order(self, in_order: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return ``(n,)`` values, given in rank order, in row order."""
        values = np.empty_like(in_order)
        values[self.order] = in_order
        return values

    def to_rank_order(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return ``(n,)`` values, given in row order, in rank order."""
        return values.take(self.order, mode="clip")

    def kernel_means(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return ``(n,)``: for row i the mean over rows j of ``h(j, i) * values[j]``."""
        twice = self.doubled_kernel_sums(values if self._weight is None else values * self._weight)
        twice *= 0.5 / self._total
        return twice

    def midranks(self) -> FloatArray:
        """Return ``(n,)`` midranks as fractions of the total weight, minus 1/2; their mean is 0."""
        if self._weight is not None:
            return self.kernel_means(np.ones(len(self.order))) - 0.5
        return self.to_row_order(self.integer_midranks() * (0.5 / len(self.order)))

    def integer_midranks(self) -> npt.NDArray[np.int64]:
        """Return the unweighted :meth:`midranks` times 2n, which are integers, in rank order."""
        n = len(self.order)
        if self._edges is None:
            return np.arange(1 - n, n, 2)
        return self._at_places(self._edges[:-1] + self._edges[1:] - n)

    def tie_shares(self) -> FloatArray | None:
        """Return ``(n,)``: the fraction of rows tied with each row; None if there are no ties."""
        if self._edges is None:
            return None
        return self.to_row_order(self._at_places(np.diff(self._edges) / len(self.order)))

    def _ends(self, sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return sums if self._edges is None else sums[self._edges]

    def _at_places(self, of_groups: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return of_groups if self._edges is None else np.repeat(of_groups, np.diff(self._edges))


class CachedLast(Generic[_Made]):
    """Cache for the last result of a function of an array.

    A public board releases scores one at a time with the same truth, so what depends on the truth
    alone is computed once. Values are compared, not array identities, so an array that was changed
    in place is recomputed.

    Examples
    --------
    >>> largest, values = CachedLast(np.max), np.array([1.0, 2.0])
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
        """Return the result for these values."""
        last = self._last
        if last is None or not np.array_equal(last[0], values):
            last = self._last = (values.copy(), self._make(values))
        return last[1]


def cumulative_sums(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the ``(n + 1,)`` sums of the first 0, 1, ..., n values; booleans are counted.

    >>> cumulative_sums(np.array([True, False, True]))
    array([0, 1, 1, 2], dtype=int32)
    """
    sums = np.empty(len(values) + 1, np.int32 if values.dtype == bool else values.dtype)
    sums[0] = 0
    np.cumsum(values, out=sums[1:])
    return sums
