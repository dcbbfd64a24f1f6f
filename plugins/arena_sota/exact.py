"""The distribution function of the largest of many scores, without simulation.

Given the number K of rows with Y0 = 1, the classifiers are independent and each has
X_j = Bin(K, p1_j) + Bin(n - K, p0_j) successes. So F(x) = sum_K P(K) prod_j F_j(x | K), and for
random success probabilities F(x) = sum_K P(K) (mean_theta F(x | K, theta))^m.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from arena.types import FloatArray
from arena_sota.binomials import binomial_pmf, convolve_rows, likely_counts
from arena_sota.dependence import conditional_probabilities
from arena_sota.ensemble import WeightedThetas

_NEGLIGIBLE = 1e-12
_CERTAIN = 1e-17
_STEP = 0.7
"""First step between the values of K that are summed over, in standard deviations of K."""
SETTLED = 1e-4
"""The step between values of K is halved until no probability changes by more: the remaining error
is about the square of this change."""


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """n rows, m classifiers, and how they depend on each other."""

    n_rows: int
    classifiers: WeightedThetas
    """Their weights sum to the number of included classifiers or, if random, to their share."""
    size: int
    """The number m of classifiers."""
    random: bool
    """Whether the success probabilities are drawn at random each time."""
    rho0: float
    theta0: float
    correct0: int | None
    """The number of rows with Y0 = 1, if it is fixed."""


@dataclass(slots=True, eq=False)
class _Sum:
    """A weighted sum of distribution functions on 0 … n, each 0, then given, then 1."""

    inner: FloatArray
    ones_from: FloatArray
    weight: float = 0.0

    @classmethod
    def empty(cls, n_rows: int) -> _Sum:
        return cls(np.zeros(n_rows + 1), np.zeros(n_rows + 2))

    def add(self, weight: float, start: int, values: FloatArray) -> None:
        end = start + len(values)
        self.inner[start:end] += weight * values
        self.ones_from[end] += weight
        self.weight += weight

    def plus(self, other: _Sum) -> _Sum:
        return _Sum(
            self.inner + other.inner, self.ones_from + other.ones_from, self.weight + other.weight
        )

    def mean(self) -> FloatArray:
        total = self.inner + np.cumsum(self.ones_from[:-1])
        return np.minimum(np.maximum.accumulate(total / self.weight), 1.0)


def cumulative(model: Model, settled: float = SETTLED) -> FloatArray:
    """Return ``(n + 1,)``: the probability that no classifier has more than x successes.

    The absolute error is below 1e-8. Memory: some arrays of n + 1, and of the points times the
    counts that are likely.

    Parameters
    ----------
    model
        The classifiers and their dependence.
    settled
        See :data:`SETTLED`. Infinite if only the mean is needed: its errors cancel, while single
        probabilities are off by up to 0.01.

    Examples
    --------
    >>> two = WeightedThetas(np.array([0.5]), np.array([2.0]))
    >>> cumulative(Model(2, two, 2, False, 0.0, 0.5, None)).round(4).tolist()
    [0.0625, 0.5625, 1.0]
    """
    if model.rho0 == 0 or model.correct0 is not None:
        n_correct = model.n_rows if model.correct0 is None else model.correct0
        return _summed(model, [(n_correct, 1.0)]).mean()
    low, high = likely_counts(model.n_rows, np.array([model.theta0]), 1e-14)
    deviation = np.sqrt(model.n_rows * model.theta0 * (1 - model.theta0))
    (chances,) = binomial_pmf(model.n_rows, np.array([model.theta0]), low, high)
    step = 2 ** max(int(np.log2(max(_STEP * deviation, 1))), 0)
    every = _summed(model, _every(chances, low, 0, step))
    while step > 1 and np.isfinite(settled):
        step //= 2
        between = _summed(model, _every(chances, low, step, 2 * step))
        coarse, every = every, every.plus(between)
        if np.abs(coarse.mean() - every.mean()).max() < settled:
            break
    return every.mean()


def _every(chances: FloatArray, low: int, first: int, step: int) -> list[tuple[int, float]]:
    """Return every so many counts, the lowest being ``low``, with their probabilities."""
    positions = np.arange(first, len(chances), step)
    return list(zip((low + positions).tolist(), chances[positions].tolist(), strict=True))


def _summed(model: Model, given: Iterable[tuple[int, float]]) -> _Sum:
    total = _Sum.empty(model.n_rows)
    for count, weight in given:
        start, values = _given(model, count)
        total.add(weight, start, values)
    return total


def _given(model: Model, correct0: int) -> tuple[int, FloatArray]:
    """Return the first count, and F of the maximum from there on, given K."""
    theta = model.classifiers.theta
    right, wrong = conditional_probabilities(theta, model.rho0, model.theta0)
    first = likely_counts(correct0, right)
    second = likely_counts(model.n_rows - correct0, wrong)
    pmf = convolve_rows(
        binomial_pmf(correct0, right, *first),
        binomial_pmf(model.n_rows - correct0, wrong, *second),
    )
    above = np.zeros_like(pmf)
    above[:, :-1] = np.cumsum(pmf[:, :0:-1], axis=1)[:, ::-1]
    if model.random:
        below = np.repeat(model.classifiers.weight.sum(), first[0] + second[0])
        return 0, _power(model, np.concatenate([below, model.classifiers.weight @ above]))
    start, values = _product(model, pmf, above)
    return first[0] + second[0] + start, values


def _power(model: Model, above: FloatArray) -> FloatArray:
    """Return F of the best of m, each above a count with these chances; who is left out is not."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(model.size * np.log1p(-np.clip(above, 0.0, 1.0))))


def _product(model: Model, pmf: FloatArray, above: FloatArray) -> tuple[int, FloatArray]:
    """Return the product from the first count on at which it can be noticed."""
    best = int(np.argmax(model.classifiers.theta))
    start = int(np.argmax(np.cumsum(pmf[best]) > _NEGLIGIBLE))
    end = max(start + 1, int(np.count_nonzero(above[best] > _CERTAIN)))
    below = np.cumsum(pmf[:, :end], axis=1)[:, start:]
    above = above[:, start:end]
    logs = np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), np.log(below))
    return start, np.exp(np.minimum(model.classifiers.weight @ logs, 0.0))
