"""Corrects critical values when few units carry the information.

A difference divided by its standard error follows a normal distribution only when many units (rows,
or groups of rows) contribute. With few units, or with a few that dominate, it approximately follows
a t distribution. Its degrees of freedom come from the kurtosis of the units: the sample variance of
U units has variance ``sigma^4 (kappa - 1) / U`` (Cramér 1946, section 27.4), which gives the
degrees of freedom of a chi-square with the same relative variance (Satterthwaite 1946).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtr

from arena.types import FloatArray, IntArray
from arena.utils.parallel import run_tasks

BONFERRONI_BELOW = 50
"""With fewer units than this the bootstrap's critical value is less reliable than Bonferroni's."""

PRODUCTS = 5e9
"""The most multiplications for the shapes of all pairs, a second or two of one processor."""
_FEWEST_UNITS = 2_000
"""Shapes are estimated from at least so many units, also of many submissions."""
_CANCELLED = 1e-9
"""Where a sum of fourth powers is so small beside its terms, it is computed directly."""
_PAIRS_AT_ONCE = 2**22
_ROWS_AT_ONCE, _COLUMNS_AT_ONCE = 128, 512
_POOLED_PAIRS = 2_000
SKEWNESS_FACTOR = 2.0
"""The skewness of a sample is smaller than that of its distribution if the tail is long: with 1.5
the best of 30 teams was left out too often where its losses are uniform and others lognormal."""
_FEWEST_DEGREES = 0.5
"""With so few degrees of freedom, t values have no normal equivalent."""
_NEVER_DECISIVE, _ALWAYS_DECISIVE = 0.25, 10.0


def sign_test_units(comparisons: int, level: float) -> float:
    """Return how many units a sign test needs to decide one of several one-sided comparisons.

    ``log2(comparisons / alpha)``: if all of U units agree, the one-sided p-value is ``2^-U``. For
    the ``m (m - 1)`` ordered pairs of a board this is ``1 + log2(m (m - 1) / (2 alpha))``. No test
    that allows for any symmetric distribution of the differences can decide a pair on fewer
    differing units.

    >>> round(sign_test_units(2 * 1, 0.95), 2), round(sign_test_units(30 * 29, 0.95), 2)
    (5.32, 14.09)
    """
    return float(np.log2(max(comparisons, 1) / (1 - level)))


@dataclass(frozen=True, slots=True, eq=False)
class HalfMatrix:
    """A symmetric or antisymmetric ``(m, m)`` matrix, stored in one half of another one.

    Two of them share one array: with 10,000 submissions it takes 400 MB.

    Examples
    --------
    >>> stored = np.array([[9.0, 5.0], [-2.0, 9.0]], dtype=np.float32)
    >>> symmetric, antisymmetric = HalfMatrix(stored), HalfMatrix(stored, antisymmetric=True)
    >>> j, k = np.array([0, 1, 1]), np.array([1, 0, 1])
    >>> symmetric[j, k].tolist(), antisymmetric[j, k].tolist()
    ([5.0, 5.0, 9.0], [2.0, -2.0, 0.0])
    """

    stored: npt.NDArray[np.float32]
    """``(m, m)``: a symmetric matrix on and above the diagonal, an antisymmetric one below it."""
    antisymmetric: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        m = len(self.stored)
        return m, m

    def __getitem__(self, pairs: tuple[Any, Any]) -> Any:
        """Return the elements at rows and columns, two arrays or numbers."""
        smaller, larger = np.minimum(*pairs), np.maximum(*pairs)
        if not self.antisymmetric:
            return self.stored[smaller, larger]
        return self.stored[larger, smaller] * np.sign(np.subtract(*pairs)).astype(np.float32)


Pairwise: TypeAlias = npt.NDArray[np.floating[Any]] | HalfMatrix
"""A number for each pair of submissions, found by their positions."""


@dataclass(frozen=True, slots=True, eq=False)
class DifferenceShapes:
    """Kurtosis and skewness of the units' differences of each pair of submissions."""

    stored: npt.NDArray[np.float32]
    """``(m, m)``, of which both are a half."""

    @property
    def degrees_of_freedom(self) -> HalfMatrix:
        """``(m, m)`` degrees of freedom: ``min(U - 1, 2 U / (kurtosis - 1))``."""
        return HalfMatrix(self.stored)

    @property
    def skewness(self) -> HalfMatrix:
        """``(m, m)`` skewness of v_j - v_k over the square root of U; antisymmetric."""
        return HalfMatrix(self.stored, antisymmetric=True)

    def subset(self, positions: IntArray) -> DifferenceShapes:
        """Return those of the submissions at some positions, which may repeat."""
        shapes = np.empty((len(positions), len(positions)), dtype=np.float32)
        for row, j in enumerate(positions.tolist()):
            shapes[row, :row] = self.skewness[j, positions[:row]]
            shapes[row, row:] = self.degrees_of_freedom[j, positions[row:]]
        return DifferenceShapes(shapes)

    def limited(self, most: float) -> DifferenceShapes:
        """Return them with at most so many degrees of freedom, in the same memory."""
        for j, row_shapes in enumerate(self.stored):
            np.minimum(row_shapes[j:], most, out=row_shapes[j:])
        return self


@dataclass(frozen=True, slots=True, eq=False)
class PooledShapes:
    """One number of degrees of freedom for all pairs of submissions, and no skewness."""

    m: int
    degrees: float

    @property
    def degrees_of_freedom(self) -> FloatArray:
        """``(m, m)``, which takes no memory."""
        return np.broadcast_to(self.degrees, (self.m, self.m))

    @property
    def skewness(self) -> FloatArray:
        """``(m, m)`` of 0."""
        return np.broadcast_to(0.0, (self.m, self.m))

    def subset(self, positions: IntArray) -> PooledShapes:
        """Return those of the submissions at some positions."""
        return PooledShapes(len(positions), self.degrees)

    def limited(self, most: float) -> PooledShapes:
        """Return them with at most so many degrees of freedom."""
        return PooledShapes(self.m, min(self.degrees, most))


@dataclass(frozen=True, slots=True, eq=False)
class UsedUnits:
    """The values of the units from which kurtosis and skewness are estimated."""

    values: FloatArray
    """``(m, u)``; the mean over the submissions is subtracted from each unit."""
    weights: FloatArray
    """``(u,)`` how many units each one stands for."""
    n_units: int
    """The number U of all units."""

    @classmethod
    def of(cls, values: FloatArray) -> UsedUnits:
        """Return a copy of the part of ``(m, U)`` values that is used."""
        m, n_units = values.shape
        chosen, weights = used_units(values, max(_FEWEST_UNITS, int(PRODUCTS / max(m, 1) ** 2)))
        part = values[:, chosen]
        part -= part.mean(axis=0)  # no difference changes
        return cls(part, weights, n_units)


def difference_shapes(values: FloatArray | UsedUnits, *, workers: int = 1) -> DifferenceShapes:
    """Return kurtosis and skewness of the units' differences of all pairs.

    The sums of third and fourth powers of all pairs take three products of ``(m, U)`` matrices.
    Where U is large they are estimated from a part of the units, which always holds those with
    the largest values.

    Parameters
    ----------
    values
        ``(m, U)`` of mean zero, as for
        :func:`~arena_ranking.differences.standard_errors_from_values`; or the part of them that is
        used, which is overwritten, so that the caller need not hold the others.
    workers
        Threads.

    Returns
    -------
    A :class:`DifferenceShapes`; U - 1 degrees of freedom and skewness 0 where two submissions do
    not differ. Memory: four copies of the part of the values that is used (three if it is all of
    them), the result, and 5 MB per worker.

    Examples
    --------
    >>> rows = np.array([[1.0, 0, 0, 0, 0, 0], [0.0, 0, 0, 0, 0, 0]])
    >>> centred = rows - rows.mean(axis=1, keepdims=True)
    >>> shapes = difference_shapes(centred)  # one row out of six differs
    >>> [round(float(matrix[0, 1]), 2) for matrix in (shapes.degrees_of_freedom, shapes.skewness)]
    [3.75, 0.73]
    """
    m = len(values.values if isinstance(values, UsedUnits) else values)
    n_units = values.n_units if isinstance(values, UsedUnits) else values.shape[1]
    powers = None
    if n_units >= 3:
        powers = _Powers.of(values if isinstance(values, UsedUnits) else UsedUnits.of(values))
    shapes = np.empty((m, m), dtype=np.float32)
    if powers is None:
        shapes[:] = np.triu(np.full((m, m), max(n_units - 1, 0), dtype=np.float32))
        return DifferenceShapes(shapes)
    blocks = (
        (powers, shapes, start, other)
        for start in range(0, m, _ROWS_AT_ONCE)
        for other in range(start, m, _COLUMNS_AT_ONCE)
    )
    for _ in run_tasks(_fill_shapes, blocks, workers=workers):
        pass
    np.fill_diagonal(shapes, n_units - 1)
    return DifferenceShapes(shapes)


@dataclass(frozen=True, slots=True, eq=False)
class _Powers:
    """The ``(m, u)`` values v of the units used, their powers, and sums over the units."""

    first: FloatArray
    square: FloatArray
    weighted_square: FloatArray
    weighted_cube: FloatArray
    sums: tuple[FloatArray, FloatArray, FloatArray]
    """``(m,)`` weighted sums of the second, third and fourth powers."""
    weights: FloatArray
    whole: bool
    """Whether all weights are 1."""
    n_units: int

    @classmethod
    def of(cls, used: UsedUnits) -> _Powers | None:
        """Return the powers of the values over the largest one; None if all are 0."""
        part, weights = used.values, used.weights
        scale = max(float(part.max(initial=0.0)), -float(part.min(initial=0.0)))
        if scale == 0:
            return None
        part /= scale
        square = part * part
        whole = bool((weights == 1).all())
        weighted_square = square if whole else square * weights
        sums = (
            weighted_square @ np.ones(len(weights)),
            np.einsum("ju,ju->j", weighted_square, part),
            np.einsum("ju,ju->j", weighted_square, square),
        )
        cube = weighted_square * part
        return cls(part, square, weighted_square, cube, sums, weights, whole, used.n_units)


def _fill_shapes(powers: _Powers, shapes: npt.NDArray[np.float32], start: int, other: int) -> None:
    """Fill a block of rows and columns, on the diagonal or above it, and its mirror image.

    The block has the degrees of freedom, and the mirror image the skewness.

    In place, on blocks that stay in the cache.
    """
    rows, columns = slice(start, start + _ROWS_AT_ONCE), slice(other, other + _COLUMNS_AT_ONCE)
    v, others, weights = powers.first, powers.first[columns], powers.weights
    squares, cubes, fourths = (
        (sums[rows, np.newaxis], sums[columns]) for sums in powers.sums
    )  # of j, and of k
    second = (v[rows] if powers.whole else v[rows] * weights) @ others.T
    second *= 2
    np.subtract(squares[0] + squares[1], second, out=second)
    third = powers.weighted_square[rows] @ others.T  # sum v_j^2 v_k
    third -= v[rows] @ powers.weighted_square[columns].T
    third *= -3
    third += cubes[0] - cubes[1]
    fourth = powers.weighted_cube[rows] @ others.T  # sum v_j^3 v_k
    fourth += v[rows] @ powers.weighted_cube[columns].T
    fourth *= -4
    both = powers.weighted_square[rows] @ powers.square[columns].T
    both *= 6
    fourth += both
    np.add(fourths[0], fourths[1], out=both)
    fourth += both
    both *= _CANCELLED
    cancelled = np.triu(fourth <= both, k=1 + start - other)
    first_of_pair, second_of_pair = np.nonzero(cancelled)
    step = max(1, _PAIRS_AT_ONCE // len(weights))
    for begin in range(0, len(first_of_pair), step):
        j, k = first_of_pair[begin : begin + step], second_of_pair[begin : begin + step]
        difference = v[start + j] - v[other + k]
        power = difference * difference
        second[j, k] = power @ weights
        third[j, k] = (power * difference) @ weights
        fourth[j, k] = (power * power) @ weights
    # kappa = U sum d^4 / (sum d^2)^2, and 2 U / (kappa - 1):
    n_units, spread, positive = powers.n_units, np.square(second, out=both), second > 0
    excess = np.multiply(fourth, n_units, out=fourth)
    excess -= spread
    spread *= 2 * n_units
    degrees = np.full(second.shape, float(n_units - 1))
    np.divide(spread, excess, out=degrees, where=(excess > 0) & positive)
    np.minimum(degrees, n_units - 1, out=degrees)
    np.abs(second, out=second)
    cubed = np.sqrt(second, out=spread)
    cubed *= second
    skewness = np.divide(third, cubed, out=np.zeros(second.shape), where=positive)
    size = len(second)
    if start == other:  # the square on the diagonal has a half of both
        square = -skewness[:, :size].T
        upper = np.triu_indices(size)
        square[upper] = degrees[upper]
        shapes[rows, start : start + size] = square
        degrees, skewness = degrees[:, size:], skewness[:, size:]
        columns = slice(start + size, columns.stop)
    shapes[rows, columns] = degrees
    shapes[columns, rows] = -skewness.T


def used_units(values: FloatArray, most: int) -> tuple[IntArray, FloatArray]:
    """Return positions and weights of units: the largest ones, and a sample of the others."""
    n_units = values.shape[1]
    if n_units <= most:
        return np.arange(n_units), np.ones(n_units)
    size = np.zeros(n_units)
    for row in values:
        squares = row * row
        size += squares * squares
    order = np.argsort(-size, kind="stable")
    largest, others = order[: most // 2], order[most // 2 :]
    sampled = others[np.linspace(0, len(others) - 1, most - len(largest)).astype(np.intp)]
    weights = np.concatenate([
        np.ones(len(largest)), np.full(len(sampled), len(others) / len(sampled))
    ])  # fmt: skip
    return np.concatenate([largest, sampled]), weights


def pooled_degrees_of_freedom(resampled: FloatArray, n_units: int) -> float:
    """Return one number of degrees of freedom for all pairs, from jointly resampled scores.

    Where there are no row or influence values: the excess kurtosis of a resampled mean difference
    is that of the units divided by U. A single pair is too noisy (its standard error is ``sqrt(24 /
    B)``), so the median over up to 2,000 pairs is used for all.

    Parameters
    ----------
    resampled
        ``(m, B)`` finite.
    n_units
        The number U of rows, or of clusters.
    """
    m = len(resampled)
    if m < 2 or n_units < 3:
        return float(max(n_units - 1, 0))
    pairs = m * (m - 1) // 2
    pair_positions = np.linspace(0, pairs - 1, min(pairs, _POOLED_PAIRS)).astype(np.intp)
    excesses = []
    for j, k in zip(*_pairs_at(pair_positions, m), strict=True):
        moved = resampled[j] - resampled[k]
        moved = moved - moved.mean()
        variance = float(np.mean(moved**2))
        if variance > 0:
            excesses.append(float(np.mean(moved**4)) / variance**2 - 3)
    excess = max(float(np.median(excesses)), 0.0) if excesses else 0.0
    return float(min(n_units - 1, 2 / (excess + 2 / n_units)))


def _pairs_at(positions: IntArray, m: int) -> tuple[IntArray, IntArray]:
    """Return the pairs j < k at some positions of ``np.triu_indices(m, k=1)``, without all pairs.

    >>> [positions.tolist() for positions in _pairs_at(np.array([0, 1, 2]), 3)]
    [[0, 0, 1], [1, 2, 2]]
    """
    starts = np.concatenate([[0], np.cumsum(np.arange(m - 1, 0, -1))])  # of the rows
    first = np.searchsorted(starts, positions, side="right") - 1
    return first, positions - starts[first] + first + 1


def normal_equivalents(statistics: FloatArray, degrees_of_freedom: FloatArray) -> FloatArray:
    """Return the normal values with the same tail probabilities as t statistics.

    ``Phi^-1(T_df(t))``: a statistic exceeds the t quantile at the probability of a normal critical
    value c if and only if its normal equivalent exceeds c. Below 0.25 and above 10, where no
    decision at a usual level falls, it is Wallace's (1959) lower bound, which takes less time:
    ``sqrt((1 - 1 / (2 df)) df log(1 + t^2 / df))``.

    Parameters
    ----------
    statistics
        Positive; with infinite degrees of freedom they stay as they are.
    degrees_of_freedom
        Of the same shape; up to 0.5 nothing can be said, and the result is 0.

    Examples
    --------
    >>> normal_equivalents(np.array([2.776445, 1.96]), np.array([4.0, np.inf])).round(2).tolist()
    [1.96, 1.96]
    """
    equivalents = statistics.copy()
    equivalents[degrees_of_freedom <= _FEWEST_DEGREES] = 0.0
    pairs_used = np.flatnonzero((equivalents > 0) & np.isfinite(degrees_of_freedom))
    t, df = equivalents[pairs_used], degrees_of_freedom[pairs_used]
    bound = np.sqrt((df - 0.5) * np.log1p(t * t / df))
    decisive = (bound > _NEVER_DECISIVE) & (bound < _ALWAYS_DECISIVE)
    bound[decisive] = -ndtri(stdtr(df[decisive], -t[decisive]))
    equivalents[pairs_used] = bound
    return equivalents


def normal_bounds(
    statistics: FloatArray, degrees_of_freedom: npt.NDArray[np.floating[Any]]
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds of :func:`normal_equivalents`, with the same arguments.

    ``sqrt(df log(1 + t^2 / df))`` is the upper bound of Wallace (1959), and the lower one is this
    times ``sqrt(1 - 1 / (2 df))``: with 100 degrees of freedom they differ by 0.25%.

    Examples
    --------
    >>> low, high = normal_bounds(np.array([2.776445]), np.array([4.0]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([1.939], [2.073])
    """
    df = np.asarray(degrees_of_freedom, dtype=np.float64)
    unchanged = ~np.isfinite(df) | (statistics <= 0)
    safe = np.where(unchanged, 1.0, np.maximum(df, _FEWEST_DEGREES))
    growth = np.log1p(statistics * statistics / safe)
    low, high = np.sqrt((safe - _FEWEST_DEGREES) * growth), np.sqrt(safe * growth)
    high[df <= _FEWEST_DEGREES] = 0.0
    low[unchanged] = high[unchanged] = statistics[unchanged]
    return low, high


def without_skewness(statistics: FloatArray, skewness: FloatArray) -> FloatArray:
    """Return the statistics of a mean as they would be if its units were not skewed.

    Hall's (1992) monotone cubic transformation. If the differences against a claim are rare and
    large, a sample with too few of them has too large a mean and too small a standard error.
    Skewness in favour of a claim changes nothing.

    Parameters
    ----------
    statistics
        Studentised means, positive.
    skewness
        Skewness of the units, divided by the square root of their number.

    Returns
    -------
    The smaller of the transformed values and ``statistics``.

    Examples
    --------
    >>> without_skewness(np.full(3, 2.4), np.array([0.2, 0.0, -0.2])).round(2).tolist()
    [2.4, 2.4, 2.0]
    """
    slope = np.minimum(skewness, 0.0) / 3
    # The inverse of the transformation, written so that a slope of 0 needs no case of its own.
    transformed = (
        statistics * (1 + slope * statistics + np.square(slope * statistics) / 3) + slope / 2
    )
    return np.minimum(statistics, transformed)
