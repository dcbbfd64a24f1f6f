"""Compression of many classifiers to a few success probabilities with weights.

The distribution of the maximum requires sums over classifiers of a smooth function of their success
probability: of log F, or of 1 - F. Two reductions make this cheap. Classifiers so far below the
best that they cannot overtake it are excluded. For many classifiers, the function is interpolated
between Chebyshev points of narrow panels, so that the sum over classifiers becomes a sum over
points with fixed weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from arena.types import FloatArray
from arena_sota.binomials import reach

_PANEL = 6.0
"""Width of a panel in standard deviations of a score."""
_MISSED = 1e-12
_POINTS = 20
"""Points per panel: log F is then interpolated to about 1e-10."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightedThetas:
    """Success probabilities and their weights."""

    theta: FloatArray
    """``(q,)`` in [0, 1]."""
    weight: FloatArray
    """``(q,)``; weights of interpolation points may be negative."""

    @property
    def top(self) -> float:
        """The largest probability."""
        return float(self.theta.max())


def _deviation(theta: float, n_rows: int) -> float:
    """Return the standard deviation of a score, at least one row."""
    return max(float(np.sqrt(theta * (1 - theta) / n_rows)), 1 / n_rows)


def _least_relevant(top: float, n_rows: int) -> float:
    """Return the probability below which a classifier cannot overtake one with probability ``top``.

    Excluding a classifier changes F by at most the probability that it overtakes, bounded with
    :func:`~arena_sota.binomials.reach` for the difference of two counts, whose steps are up to 2.
    """
    grid = np.linspace(0.0, top, 2_000)
    variances = n_rows * (grid * (1 - grid) + top * (1 - top))
    possible = grid[(top - grid) * n_rows <= 2 * reach(variances / 4)]
    return float(possible.min() - top / 1_999)


def condense(theta: FloatArray, n_rows: int, draws: int | None = None) -> WeightedThetas:
    """Return points and weights that represent these success probabilities.

    ``sum_j f(theta_j)`` is ``weight @ f(points)`` for f such as log F of a score on n rows. Up to
    20 distinct values in a panel are taken as they are; equal ones are counted.

    Parameters
    ----------
    theta
        ``(k,)`` in [0, 1].
    n_rows
        The number n of rows.
    draws
        How many are drawn with replacement; None: each occurs once. The best may not be drawn, so
        more of the others matter.

    Examples
    --------
    >>> some = condense(np.array([0.9, 0.9, 0.8, 0.1]), 1_000)
    >>> some.theta.tolist(), some.weight.tolist()
    ([0.9, 0.8], [2.0, 1.0])
    """
    values, counts = np.unique(theta, return_counts=True)
    relevant = values >= _least_relevant(_sure_to_be_reached(theta, draws), n_rows)
    values, weights = values[relevant], counts[relevant].astype(np.float64)
    parts = [_condense_panel(values[inside], weights[inside]) for inside in _panels(values, n_rows)]
    return WeightedThetas(
        np.concatenate([part.theta for part in parts]),
        np.concatenate([part.weight for part in parts]),
    )


def _sure_to_be_reached(theta: FloatArray, draws: int | None) -> float:
    """Return a value that the best of the draws exceeds almost surely."""
    enough = 1 if draws is None else math.ceil(len(theta) * (1 - _MISSED ** (1 / draws)))
    return float(np.partition(theta, len(theta) - enough)[len(theta) - enough])


def _edges(top: float, bottom: float, n_rows: int) -> Iterator[tuple[float, float]]:
    """Yield the panels in descending order; near 1 they narrow with the standard deviation."""
    high = top
    while high >= bottom:
        width = min(_PANEL * _deviation(high, n_rows), max((1 - high) / 2, 1 / n_rows))
        yield high - width, high
        high -= width


def _panels(values: FloatArray, n_rows: int) -> Iterator[slice]:
    """Yield the values of each non-empty panel."""
    last = len(values)
    while last:
        high = float(values[last - 1])
        low, _ = next(_edges(high, high, n_rows))
        first = int(np.searchsorted(values, low, side="left"))
        yield slice(first, last)
        last = first


def _condense_panel(values: FloatArray, weights: FloatArray) -> WeightedThetas:
    if len(values) <= _POINTS:
        return WeightedThetas(values[::-1], weights[::-1])
    angles = (2 * np.arange(_POINTS) + 1) * np.pi / (2 * _POINTS)
    middle, half = (values[-1] + values[0]) / 2, (values[-1] - values[0]) / 2
    points = middle + half * np.cos(angles) / np.cos(angles[0])  # the outermost at the ends
    return WeightedThetas(points, weights @ _interpolation(values, points, angles))


def _interpolation(values: FloatArray, points: FloatArray, angles: FloatArray) -> FloatArray:
    """Return the interpolation matrix from values at the points to values at ``values``."""
    barycentric = np.sin(angles) * (-1.0) ** np.arange(len(points))
    apart = values[:, np.newaxis] - points
    hits = apart == 0
    apart[hits] = 1.0
    terms = barycentric / apart
    matrix = terms / terms.sum(axis=1, keepdims=True)
    exact = hits.any(axis=1)
    matrix[exact] = hits[exact]
    return np.asarray(matrix)


def quadrature(
    density: Callable[[FloatArray], FloatArray],
    low: float,
    high: float,
    n_rows: int,
    surely: float | None = None,
) -> WeightedThetas:
    """Return points and weights that represent a distribution of success probabilities.

    ``weight @ f(points)`` is the integral of f times the density over that part of ``[low, high]``
    from which a classifier can become the best, ``surely`` being what the best of those drawn is
    sure to reach (None: ``high``); the density must be smooth there.

    Examples
    --------
    >>> some = quadrature(lambda theta: np.full(len(theta), 2.0), 0.2, 0.7, 100)
    >>> round(float(some.weight.sum()), 9)
    1.0
    """
    bottom = max(low, _least_relevant(high if surely is None else surely, n_rows))
    nodes, factors = np.polynomial.legendre.leggauss(_POINTS)
    thetas, weights = [], []
    for start, end in _edges(high, bottom, n_rows):
        half = (end - max(start, bottom)) / 2
        if half > 0:
            thetas.append(end - half + half * nodes)
            weights.append(half * factors)
    points = np.concatenate(thetas)
    return WeightedThetas(points, np.concatenate(weights) * density(points))
