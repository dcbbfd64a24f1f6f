"""Bounds of the mean of independent units that lie in a known range (Gaffke 2005).

To bound a mean from below, one unit with the worst possible value is added to the sample, and all
units get random weights with a flat Dirichlet distribution: the bound is a quantile of the weighted
mean. Of zeros and ones it is the bound of Clopper and Pearson (1934). It needs no large sample and
no assumption on the distribution, so that it also holds where failures are too rare to be in the
sample. That it holds for every distribution is proved for zeros and ones and supported for all
others by the numerical studies of Learned-Miller and Thomas (2019) and Phan, Thomas and
Learned-Miller (2021).

The quantile is computed by a saddlepoint approximation: a weighted mean lies below t where a sum of
independent exponential variables, each times ``value - t``, is negative, and the logarithm of the
moment generating function of that sum is ``-sum(log(1 - s (value - t)))``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri

from arena.types import FloatArray, IntArray

_KEPT = 128
"""Values at either end of a sample that are kept one by one."""
_BINS = 256
_LEAST_WIDTH, _NOISE = 1e-300, 1e-12
_CELLS = 2**20
"""Of a block of submissions whose bounds are found together."""


def _are_ends(values: FloatArray, ends: FloatArray) -> bool:
    """Return whether all ``(m, U)`` values are one of the ``(m, 2)`` ends of their row."""
    return bool(((values == ends[:, :1]) | (values == ends[:, 1:])).all())


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The values of U units of m submissions, whose mean is the score; equal ones are counted."""

    values: FloatArray
    """``(m, K)``."""
    counts: FloatArray
    """``(m, K)`` units with each value; they sum to U in each row."""

    @classmethod
    def of(cls, values: FloatArray) -> Units:
        """Return the units of ``(m, U)`` values, in little memory.

        The 128 largest and smallest values are kept; of many others the means of 256 bins.

        >>> right = Units.of(np.array([[0.0, 1.0, 1.0]]))
        >>> right.values.tolist(), right.counts.tolist()
        ([[0.0, 1.0]], [[1.0, 2.0]])
        """
        m, n_units = values.shape
        ends = np.stack([values.min(axis=1), values.max(axis=1)], axis=1)
        if _are_ends(values[:, :_KEPT], ends) and _are_ends(values, ends):
            largest = values == ends[:, 1:]
            count = largest.sum(axis=1).astype(np.float64)
            return cls(ends, np.stack([n_units - count, count], axis=1))
        if n_units <= 2 * _KEPT + _BINS:
            return cls(values, np.ones_like(values))
        parted = np.partition(values, (_KEPT, n_units - _KEPT - 1), axis=1)
        middle = parted[:, _KEPT : n_units - _KEPT]
        low = middle[:, :1]
        width = np.maximum(middle[:, -1:] - low, _LEAST_WIDTH)
        above = middle - low
        above *= _BINS / width
        bins = above.astype(np.intp)
        np.minimum(bins, _BINS - 1, out=bins)
        bins += _BINS * np.arange(m)[:, np.newaxis]
        flat = bins.ravel()
        counts = np.bincount(flat, minlength=m * _BINS).reshape(m, _BINS).astype(np.float64)
        sums = np.bincount(flat, middle.ravel(), m * _BINS).reshape(m, _BINS)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), low)
        single = np.ones((m, _KEPT))
        return cls(
            np.concatenate([parted[:, :_KEPT], means, parted[:, n_units - _KEPT :]], axis=1),
            np.concatenate([single, counts, single], axis=1),
        )

    @classmethod
    def joined(cls, blocks: Sequence[Units]) -> Units:
        """Return the units of the submissions of several blocks."""
        width = max(block.values.shape[1] for block in blocks)
        pads = [((0, 0), (0, width - block.values.shape[1])) for block in blocks]
        return cls(
            np.concatenate([
                np.pad(block.values, pad, mode="edge")
                for block, pad in zip(blocks, pads, strict=True)
            ]),
            np.concatenate([
                np.pad(block.counts, pad) for block, pad in zip(blocks, pads, strict=True)
            ]),
        )  # fmt: skip

    @property
    def largest(self) -> FloatArray:
        """``(m,)`` largest values."""
        return np.asarray(self.values.max(axis=1))

    @property
    def smallest(self) -> FloatArray:
        """``(m,)`` smallest values."""
        return np.asarray(self.values.min(axis=1))

    def negated(self) -> Units:
        """Return the units with the opposite sign."""
        return Units(-self.values, self.counts)

    def subset(self, submissions: IntArray) -> Units:
        """Return the units of some submissions."""
        return Units(self.values[submissions], self.counts[submissions])


def lower_bounds(units: Units, worst: FloatArray, tail: FloatArray) -> FloatArray:
    """Return ``(m,)`` lower bounds of means of independent units.

    Parameters
    ----------
    units
        A sample of m submissions.
    worst
        ``(m,)`` the smallest value that a unit can have, or that of the sample if this is less.
    tail
        ``(m,)`` the probability, at most, with which a true mean lies below its bound; below 0.5.

    Examples
    --------
    Nine of ten rows correct, as by Clopper and Pearson (0.555), and values near 0.9 of which none
    failed:

    >>> right = Units.of(np.array([[1.0] * 9 + [0.0]]))
    >>> lower_bounds(right, np.zeros(1), np.full(1, 0.025)).round(2).tolist()
    [0.55]
    >>> near = Units.of(np.full((1, 100), 0.9))
    >>> lower_bounds(near, np.zeros(1), np.full(1, 0.025)).round(3).tolist()
    [0.867]
    """
    counts, top, worst = units.counts, units.largest, np.minimum(worst, units.smallest)
    noise = _NOISE * (top - worst)  # of values that were moved by their mean and back
    at_top = units.values >= (top - noise)[:, np.newaxis]
    two = (at_top | (units.values <= (worst + noise)[:, np.newaxis])).all(axis=1)
    right, total = np.where(at_top, counts, 0.0).sum(axis=1), counts.sum(axis=1)
    bounds = worst + (top - worst) * betaincinv(right, total - right + 1, tail)
    others = np.flatnonzero(~two)
    step = max(1, _CELLS // units.values.shape[1])
    for start in range(0, len(others), step):
        rows = others[start : start + step]
        values = np.concatenate([worst[rows, np.newaxis], units.values[rows]], axis=1)
        counts = np.concatenate([np.ones((len(values), 1)), units.counts[rows]], axis=1)
        bounds[rows] = _bounds_of(values, counts, worst[rows], -ndtri(tail[rows]))
    return bounds


def upper_bounds(units: Units, worst: FloatArray, tail: FloatArray) -> FloatArray:
    """Return ``(m,)`` upper bounds; ``worst`` holds the largest values that a unit can have.

    >>> none = Units.of(np.zeros((1, 30)))
    >>> upper_bounds(none, np.full(1, 1.0), np.full(1, 0.025)).round(3).tolist()
    [0.116]
    """
    return -lower_bounds(units.negated(), -worst, tail)


def both_bounds(
    units: Units, worst: FloatArray, tails: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return ``(m,)`` lower and ``(m,)`` upper bounds; of few submissions in half of the time.

    ``worst`` and ``tails`` are ``(2, m)``, of the lower bounds and of the upper ones.

    >>> right = Units.of(np.array([[1.0] * 9 + [0.0]]))
    >>> ends = both_bounds(right, np.array([[0.0], [1.0]]), np.full((2, 1), 0.025))
    >>> [float(end.round(4)[0]) for end in ends]
    [0.555, 0.9975]
    """
    both = Units.joined([units, units.negated()])
    low, high = lower_bounds(both, np.concatenate([worst[0], -worst[1]]), tails.ravel()).reshape(
        2, -1
    )
    return low, -high


def _bounds_of(
    values: FloatArray, counts: FloatArray, worst: FloatArray, critical: FloatArray
) -> FloatArray:
    """Solve for the weighted mean whose normal equivalent is the critical value.

    A pole k below all values gives the saddlepoint of the weighted mean t in closed form: weights
    in proportion to ``1 / (value - k)``. It is searched on a logarithmic scale.
    """
    total = counts.sum(axis=1)
    spread = values.max(axis=1) - worst
    bounds = worst.copy()
    open_rows = np.flatnonzero(spread > 0)
    if not len(open_rows):
        return bounds

    above = values - worst[:, np.newaxis]  # so that nothing is lost next to the worst value

    def mean_and_distance(pole: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        gap = spread[rows] * np.exp(pole)
        distance = above[rows] + gap[:, np.newaxis]
        step = total[rows] / (counts[rows] / distance).sum(axis=1)
        return step - gap, distance / step[:, np.newaxis]

    def excess(pole: FloatArray, which: FloatArray) -> FloatArray:
        rows = which.astype(np.intp)
        _, relative = mean_and_distance(pole, rows)
        counts_of_rows = counts[rows]
        root = np.sqrt(2 * np.maximum((counts_of_rows * np.log(relative)).sum(axis=1), 0.0))
        slope = np.sqrt((counts_of_rows * np.square(1 - 1 / relative)).sum(axis=1))
        root, slope = np.maximum(root, 1e-12), np.maximum(slope, 1e-12)
        return np.asarray(root + np.log(slope / root) / root - critical[rows])

    lowest, highest = np.full(len(open_rows), -40.0), np.log(100 * np.sqrt(total[open_rows]))
    which = open_rows.astype(np.float64)
    # Where even the mean is further than the critical value, the mean is the bound.
    beyond = excess(highest, which) >= 0
    from scipy.optimize.elementwise import find_root  # imports half of scipy: 0.2 s

    pole_root = find_root(
        excess,
        (lowest[~beyond], highest[~beyond]),
        args=(which[~beyond],),
        tolerances={"xatol": 1e-9, "xrtol": 0.0, "fatol": 1e-9, "frtol": 0.0},
    )
    pole = highest.copy()
    pole[~beyond] = pole_root.x
    bounds[open_rows] += mean_and_distance(pole, open_rows)[0]
    return bounds
