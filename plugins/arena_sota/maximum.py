"""The sample maximum: the distribution of the best of m scores on n rows, and its bias.

Sources: Møllersen and Holsbø, *Accounting for multiplicity in machine learning benchmark
performance*, sections 3 and 4 (there called the sample maximum estimator). The dependent cases,
which the authors simulate, are computed exactly here; see :mod:`arena_sota.exact`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.types import FloatArray, IntArray
from arena.utils.representation import short_repr
from arena.utils.text import plural
from arena_sota.checks import (
    check_numbers,
    check_theta0,
    no_classifier_message,
    success_probabilities,
)
from arena_sota.dependence import bounds, inside_bounds
from arena_sota.distribution import BestScoreDistribution
from arena_sota.ensemble import WeightedThetas, condense, quadrature
from arena_sota.exact import SETTLED, Model, cumulative

_INVISIBLE = 1e-13
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class SampleMaximum(BestScoreDistribution):
    """The distribution of the best of m observed scores, which are proportions of n rows."""

    __repr__ = short_repr

    n_rows: int
    """Number of rows behind each score."""
    n_classifiers: int
    """Number of classifiers."""
    counts: IntArray
    """``(k,)`` consecutive numbers of correct rows; the probability of all others is negligible."""
    cumulative: FloatArray
    """``(k,)`` the probability that no classifier has more correct rows."""
    theta_sota: float
    """The expected success probability of the best classifier (Eq. 1)."""
    left_out: float
    """Classifiers outside the bounds of rho0 and theta0, which count as never the best. Of random
    classifiers, the expected number."""

    @property
    def scores(self) -> FloatArray:
        """``(k,)`` the counts as scores."""
        return self.counts / self.n_rows

    @property
    def probabilities(self) -> FloatArray:
        """``(k,)`` the probability of each count."""
        return np.diff(self.cumulative, prepend=0.0)

    @property
    def mean(self) -> float:
        """The expected best score."""
        return float(self.scores @ self.probabilities / self.probabilities.sum())

    @property
    def std(self) -> float:
        """The standard deviation of the best score."""
        centred = (self.scores - self.mean) ** 2
        return float(np.sqrt(centred @ self.probabilities / self.probabilities.sum()))

    def cdf(self, score: float) -> float:
        """Return the probability that the best score is at most ``score``."""
        count = np.floor(score * self.n_rows + _ROUNDING)
        position = int(np.searchsorted(self.counts, count, side="right")) - 1
        return float(self.cumulative[position]) if position >= 0 else 0.0

    def sf(self, score: float) -> float:
        """Return the probability that the best score is above ``score``."""
        return 1.0 - self.cdf(score)

    def at_least(self, score: float) -> float:
        """Return the probability that the best score is ``score`` or higher."""
        count = np.ceil(score * self.n_rows - _ROUNDING)
        position = int(np.searchsorted(self.counts, count, side="left")) - 1
        return 1.0 - float(self.cumulative[position]) if position >= 0 else 1.0

    def pmf(self, score: float) -> float:
        """Return the probability that the best score is ``score``; 0 if no count gives it."""
        count = score * self.n_rows
        position = round(count) - int(self.counts[0])
        near = abs(count - round(count)) <= _ROUNDING * max(1.0, count)
        return (
            float(self.probabilities[position])
            if near and 0 <= position < len(self.counts)
            else 0.0
        )

    def quantile(self, share: float) -> float:
        """Return the smallest score that the best one does not exceed with this probability.

        Raises
        ------
        UsageError
            If the share is not in [0, 1].
        """
        if not 0 <= share <= 1:
            raise UsageError(f"The probability of a quantile must be in [0, 1], not {share:g}.")
        position = min(
            int(np.searchsorted(self.cumulative, share, side="left")), len(self.counts) - 1
        )
        return float(self.scores[position])


def sample_maximum(
    n_rows: int,
    theta: npt.ArrayLike | Any,
    n_classifiers: int | None = None,
    *,
    random: bool = False,
    rho0: float = 0.0,
    theta0: float | None = None,
    correct0: int | None = None,
) -> SampleMaximum:
    """Return the exact distribution of the best of m observed scores.

    Parameters
    ----------
    n_rows
        The number n of rows.
    theta
        Success probabilities in [0, 1]: one that all m classifiers share (S0 Eq. 2), ``(m,)``
        different ones (Eq. 4), or a frozen continuous distribution of ``scipy.stats`` on an
        interval within [0, 1], from which each classifier's is drawn, smooth inside it.
    n_classifiers
        The number m, if ``theta`` does not determine it.
    random
        Whether the m probabilities are drawn with replacement from the array ``theta``: the exact
        bootstrap distribution.
    rho0
        Correlation of each classifier with the common cause, in [0, 1); 0: independent (Eq. 6, 7).
    theta0
        The probability that the common cause makes a row easy, in (0, 1); None: the largest of
        ``theta``.
    correct0
        How many rows are easy, if that is known; None: binomial.

    Raises
    ------
    UsageError
        If an argument is out of range, or rho0 and theta0 allow no classifier; the message names
        the largest rho0 that does.

    Examples
    --------
    >>> best = sample_maximum(3_000, 0.9, 1_000)
    >>> round(best.mean, 4), round(best.std, 6), round(best.quantile(0.975), 4)
    (0.9173, 0.001817, 0.9213)
    >>> round(sample_maximum(3_000, 0.9, 1_000, rho0=0.6, theta0=0.9).mean, 4)
    0.914
    >>> coins = sample_maximum(20, 0.5, 1_000)
    >>> round(coins.at_least(18 / 20), 4)
    0.1823
    """
    check_numbers(n_rows, n_classifiers, rho0=rho0, theta0=theta0, correct0=correct0)
    if hasattr(theta, "ppf"):
        return _of_distribution(
            n_rows, theta, n_classifiers=n_classifiers, rho0=rho0, theta0=theta0, correct0=correct0
        )
    values = success_probabilities(theta)
    size = _size(values, n_classifiers, random)
    return maximum_of_values(
        n_rows, values, size, random=random, rho0=rho0, theta0=theta0, correct0=correct0
    )


def maximum_of_values(
    n_rows: int,
    values: FloatArray,
    size: int,
    *,
    random: bool,
    rho0: float,
    theta0: float | None = None,
    correct0: int | None = None,
    settled: float = SETTLED,
) -> SampleMaximum:
    """Return the distribution for checked ``(k,)`` probabilities, each of size/k classifiers.

    Raises
    ------
    UsageError
        If no classifier is possible.
    """
    theta0 = float(values.max()) if theta0 is None else theta0
    check_theta0(rho0, theta0)
    inside = inside_bounds(values, rho0, theta0)
    if not inside.any():
        raise UsageError(no_classifier_message(values, rho0, theta0))
    weighted = condense(values[inside], n_rows, _draws_inside(inside, size) if random else None)
    scale = (1.0 if random else float(size)) / len(values)
    model = Model(
        n_rows=n_rows,
        classifiers=WeightedThetas(weighted.theta, weighted.weight * scale),
        size=size,
        random=random,
        rho0=rho0,
        theta0=theta0,
        correct0=correct0,
    )
    best = _expected_best(values, size) if random else float(values.max())
    left_out = float((~inside).sum() * (size / len(values)))
    return _result(cumulative(model, settled), model, best, left_out)


def _result(values: FloatArray, model: Model, theta_sota: float, left_out: float) -> SampleMaximum:
    """Return the result for ``(n + 1,)`` probabilities, its negligible ends cut off."""
    first = int(np.searchsorted(values, _INVISIBLE, side="right"))
    last = min(int(np.searchsorted(values, 1 - _INVISIBLE, side="left")), model.n_rows)
    cut = values[first : last + 1].copy()
    cut[-1] = 1.0
    counts = np.arange(first, last + 1)
    return SampleMaximum(
        model.n_rows,
        model.size,
        counts=counts,
        cumulative=cut,
        theta_sota=theta_sota,
        left_out=left_out,
    )


def _of_distribution(
    n_rows: int,
    theta: Any,
    n_classifiers: int | None,
    rho0: float,
    theta0: float | None,
    correct0: int | None,
) -> SampleMaximum:
    low, high = (float(end) for end in theta.support())
    if not (n_classifiers and low >= -_ROUNDING and high <= 1 + _ROUNDING):
        raise UsageError(
            "A distribution of success probabilities must lie within [0, 1] and needs the number "
            "of classifiers that are drawn from it."
        )
    best = _expected_largest(theta, n_classifiers)
    theta0 = best if theta0 is None else theta0
    check_theta0(rho0, theta0)
    least, most = bounds(rho0, theta0)
    if most <= low or least >= high:
        raise UsageError(no_classifier_message(np.array([low, high]), rho0, theta0))
    surely = float(theta.ppf(1e-12 ** (1 / n_classifiers) * theta.cdf(most)))
    start, end = max(low, least, 0.0), min(high, most, 1.0)
    weighted = quadrature(theta.pdf, start, high=end, n_rows=n_rows, surely=surely)
    model = Model(
        n_rows=n_rows,
        classifiers=weighted,
        size=n_classifiers,
        random=True,
        rho0=rho0,
        theta0=theta0,
        correct0=correct0,
    )
    outside = n_classifiers * float(1 - theta.cdf(most) + theta.cdf(least))
    return _result(cumulative(model), model, best, outside if outside > _ROUNDING else 0.0)


def _expected_largest(theta: Any, size: int) -> float:
    """Return the mean of the largest of m draws; (m b + a) / (m + 1) for a uniform on (a, b)."""
    from scipy.integrate import quad

    def survival(value: float) -> float:
        return float(-np.expm1(size * np.log(max(float(theta.cdf(value)), 1e-300))))

    low, high = (float(end) for end in theta.support())
    shares = np.exp(np.log([1e-6, 1 - 1e-6]) / size)  # nearly all of the largest lies between
    ends = [low, *theta.ppf(shares).tolist(), high]
    return low + sum(quad(survival, *part, limit=200)[0] for part in pairwise(ends))


def _draws_inside(inside: npt.NDArray[np.bool_], size: int) -> int:
    """Return a number of draws that almost surely fall inside the bounds."""
    expected = size * inside.mean()
    return max(int(expected - 7 * np.sqrt(expected)), 1) if not inside.all() else size


def _expected_best(values: FloatArray, size: int) -> float:
    """Return the mean of the largest of m draws with replacement."""
    levels, counts = np.unique(values, return_counts=True)
    below = (np.cumsum(counts) / len(values)) ** size
    return float(levels @ np.diff(below, prepend=0.0))


def _size(values: FloatArray, n_classifiers: int | None, random: bool) -> int:
    if random or len(values) == 1:
        return n_classifiers or len(values)
    if n_classifiers not in (None, len(values)):
        raise UsageError(
            f"{len(values):,} success probabilities are given for "
            f"{plural(n_classifiers, 'classifier')}. "
            f"Give one for all, one for each, or draw them at random."
        )
    return len(values)
