"""Sign tests of all pairs of medians, which hold for every distribution.

If the median of a submission j is not larger than that of k, there is a number t between them: at
most half of the values of j are above t, at least half of those of k are t or more, and no more of
the first kind than of the second. A sign test of each of the three statements needs no assumption
on the values. The number t is not known: of the tests at all values the weakest counts, as in the
intervals of Woodruff (1952). A bootstrap of medians fails where few values lie near the median.

The tests of the first two statements depend on one submission each: for all claims about m
submissions they are ``2 m``, and those of the pairs are ``m (m - 1)``. Near the medians those of
the pairs decide, so the others share a small part of the error probability (:data:`SINGLES`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import betainc, ndtr, ndtri, stdtrit

from arena.evaluation.sampling_units import SamplingUnits
from arena.interfaces import Study
from arena.types import FloatArray, IntArray
from arena_ranking.evidence import PairwiseEvidence
from arena_ranking.small_samples import PooledShapes, normal_equivalents

SINGLES = 0.2
"""The part of the error probability for the tests of single submissions."""
_MOST = 7.0
"""A normal value that decides every pair."""


def evidence_on_medians(
    evidence: PairwiseEvidence, study: Study, medians: FloatArray, *, n_candidates: int
) -> PairwiseEvidence:
    """Return the evidence with standard errors of sign tests instead of those of resamples.

    All decisions hold at once if each p-value is compared with the error probability over the
    ordered pairs of the candidates, of which the study may hold a part.
    """
    values = np.concatenate([block for _, block in study.predictions.blocks(len(medians))])
    sign = 1.0 if study.metric.greater_is_better else -1.0
    sampling = SamplingUnits.of(len(study.truth), study.clusters)
    # alpha / (m (m - 1)) over what each test of a pair, and of a single submission, may use of it
    factors = 1 / (1 - SINGLES), 2 / (SINGLES * max(n_candidates - 1, 1))
    errors = errors_of_median_differences(sign * values, sign * medians, sampling, factors=factors)
    shapes = PooledShapes(len(medians), max(sampling.n_units - 1, 1))
    return replace(evidence, standard_errors=errors, shapes=shapes, source="sign tests")


def errors_of_median_differences(
    values: FloatArray,
    medians: FloatArray,
    sampling: SamplingUnits,
    *,
    factors: tuple[float, float] = (1.0, 1.0),
) -> FloatArray:
    """Return the standard errors with which t statistics have the p-values of the sign tests.

    The t statistic of a pair is the difference of the medians over its standard error, with one
    degree of freedom less than there are units.

    Parameters
    ----------
    values
        ``(m, n)`` of which a larger one is better.
    medians
        ``(m,)`` of the values.
    sampling
        What is drawn independently. With groups of rows, a test statistic is divided by the square
        root of its design effect, and has the degrees of freedom of the groups.
    factors
        By which the p-values of tests of pairs, and of single submissions, are multiplied.

    Returns
    -------
    ``(m, m)``, symmetric; infinity for a pair of which nothing is known.

    Examples
    --------
    >>> values, medians = np.stack([np.arange(9.0) + 20, np.arange(9.0)]), np.array([24.0, 4.0])
    >>> errors = errors_of_median_differences(values, medians, SamplingUnits.of(9, None))
    >>> float(errors[0, 1].round(2))  # all nine are larger: p = 1 / 512, t = 4.01
    4.99
    """
    m, most_degrees = len(values), max(sampling.n_units - 1, 1)
    errors = np.full((m, m), np.inf)
    of_pair, of_single = factors
    of_one = [_SingleTests.of(row, sampling, of_single) for row in values]
    for j, k in zip(*np.nonzero(medians[:, np.newaxis] > medians), strict=True):
        lead = _least_lead(of_one[j], of_one[k], sampling, of_pair)
        if lead > 0:
            statistic = -stdtrit(most_degrees, ndtr(-lead))
            errors[j, k] = errors[k, j] = (medians[j] - medians[k]) / statistic
    return errors


@dataclass(frozen=True, slots=True, eq=False)
class _SingleTests:
    """The tests of one submission, of which a pair has two."""

    values: FloatArray
    """``(n,)``."""
    ordered: FloatArray
    """``(n,)`` ascending."""
    leads_above: FloatArray
    """``(n + 1,)`` by the number of values that are larger than t."""
    leads_below: FloatArray
    """``(n + 1,)`` by the number of values that are smaller than t."""
    lowest: float
    """Below this t, the number of larger values decides."""
    highest: float
    """Above this t, the number of smaller values decides."""

    @classmethod
    def of(cls, values: FloatArray, sampling: SamplingUnits, factor: float) -> _SingleTests:
        n, order = sampling.n, np.argsort(values, kind="stable")
        numbers, ordered = np.arange(n + 1), values[order]
        above = below = _sign_tests(numbers, n - numbers)
        if sampling.clusters is not None:
            of_rows = 0.25 * _variance_of_signs(numbers, n - numbers, n)
            steps, none = np.ones(n, dtype=np.intp), np.zeros(sampling.n_units)
            above, below = (
                _within_groups(
                    leads, _variances(sampling, rows, steps, start=none), of_rows, sampling
                )
                for leads, rows in ((above, order[::-1]), (below, order))
            )
        above, below = (_with_p_values_times(factor, leads) for leads in (above, below))
        most_above = int(np.flatnonzero(above < _MOST).max())
        most_below = int(np.flatnonzero(below < _MOST).max())
        return cls(
            values=values,
            ordered=ordered,
            leads_above=above,
            leads_below=below,
            lowest=ordered[n - most_above - 1] if most_above < n else -np.inf,
            highest=ordered[most_below] if most_below < n else np.inf,
        )


def _least_lead(
    first: _SingleTests, second: _SingleTests, sampling: SamplingUnits, factor: float
) -> float:
    """Return the normal value of the weakest test, over all t, that the first median is larger.

    While t grows, the values of the first submission leave those above t, and the values of the
    second one join those below t: at each t, two counts say which have. The test of the pair is
    computed only where those of the single submissions can be weaker than what is known.
    """
    low, high = first.lowest, second.highest
    t = np.unique(np.concatenate([_between(part.ordered, low, high) for part in (first, second)]))
    if not len(t):
        return _MOST
    left = np.searchsorted(first.ordered, t, side="right")
    joined = np.searchsorted(second.ordered, t, side="left")
    single = np.maximum(first.leads_above[sampling.n - left], second.leads_below[joined])

    def weakest(places: IntArray) -> float:
        leads = _leads_of_pair(
            first.values,
            second.values,
            t=t[places],
            left=left[places],
            joined=joined[places],
            sampling=sampling,
        )
        leads = _with_p_values_times(factor, leads)
        return float(np.maximum(single[places], leads).min())

    bound = min(weakest(single.argmin(axis=0, keepdims=True)), _MOST)
    weaker = np.flatnonzero(single < bound)
    return min(weakest(weaker), bound) if len(weaker) else bound


def _between(ordered: FloatArray, low: float, high: float) -> FloatArray:
    return ordered[np.searchsorted(ordered, low) : np.searchsorted(ordered, high, side="right")]


def _leads_of_pair(
    first: FloatArray,
    second: FloatArray,
    t: FloatArray,
    left: IntArray,
    joined: IntArray,
    sampling: SamplingUnits,
) -> FloatArray:
    """Return the normal values of the tests that more rows have only the first value above t.

    Parameters
    ----------
    first, second
        ``(n,)`` values.
    t
        ``(T,)`` ascending.
    left, joined
        ``(T,)`` how many values of the first are not above t, and of the second are below it.
    """
    n, larger = sampling.n, second < first
    only_first = _count_below(second[larger], t, side="left")
    only_first -= _count_below(first[larger], t, side="right")
    only_second = left - joined + only_first
    leads = _sign_tests(only_first, only_second)
    if sampling.clusters is None:
        return leads
    is_second = np.repeat([False, True], n)
    # At equal values those of the first leave before those of the second join.
    order = np.lexsort((is_second, np.concatenate([first, second])))
    sizes = np.bincount(sampling.clusters).astype(np.float64)
    steps = np.where(is_second[order], 1, -1)
    variances = _variances(sampling, order % n, steps, start=sizes)[left + joined]
    of_rows = _variance_of_signs(only_first, only_second, n)
    return _within_groups(leads, variances, of_rows, sampling)


def _count_below(values: FloatArray, t: FloatArray, *, side: Literal["left", "right"]) -> IntArray:
    """Return ``(T,)`` how many values are below each t, or at it too (``right``)."""
    is_within = (values >= t[0]) & (values <= t[-1])
    counts = np.searchsorted(np.sort(values[is_within]), t, side=side)
    return np.asarray(counts + np.count_nonzero(values < t[0]))


def _variance_of_signs(positive: IntArray, negative: IntArray, n: int) -> FloatArray:
    """Return the variances of means of n signs, of which so many are positive and negative."""
    shares = (positive + negative) / n
    return np.asarray((shares - np.square((positive - negative) / n)) / n)


def _variances(
    sampling: SamplingUnits, rows: IntArray, steps: IntArray, *, start: FloatArray
) -> FloatArray:
    """Return the variances of a mean over groups while values of rows change one by one.

    Parameters
    ----------
    rows, steps
        ``(c,)`` the row of each change, and by how much it changes the sum of its group.
    start
        ``(U,)`` sums of the groups before.

    Returns
    -------
    ``(c + 1,)`` before each change and after the last.
    """
    n, n_units = sampling.n, sampling.n_units
    units = np.asarray(sampling.clusters)[rows]
    by_unit = np.argsort(units, kind="stable")
    total = np.cumsum(steps[by_unit])
    firsts = np.unique(units[by_unit], return_index=True)[1]
    before_unit = np.concatenate([[0], total[firsts[1:] - 1]])
    lengths = np.diff([*firsts, len(rows)])
    sums = np.empty(len(rows))
    sums[by_unit] = total - steps[by_unit] - np.repeat(before_unit, lengths)
    sums += start[units]
    factors = np.ones(n_units) if sampling.leverage is None else np.square(sampling.leverage)

    def after(first: Any, changes: Any) -> FloatArray:
        return np.asarray(first + np.concatenate([[0.0], np.cumsum(changes)]))

    squares = after(factors @ np.square(start), factors[units] * (2 * sums * steps + 1))
    products = after(
        factors @ (start * sampling.sizes), factors[units] * sampling.sizes[units] * steps
    )
    means = after(start.sum(), steps) / n
    share = n_units / n
    shifts = share**2 * squares - 2 * share * means * products
    shifts += np.square(means) * (factors @ np.square(sampling.sizes))
    return np.asarray(shifts / max(n_units - 1, 1) / n_units)


def _within_groups(
    leads: FloatArray, variances: FloatArray, of_rows: FloatArray, sampling: SamplingUnits
) -> FloatArray:
    """Return normal values of tests whose statistics are divided by the roots of design effects."""
    n = sampling.n
    effects = np.full(len(leads), sampling.another * n / sampling.n_units)
    np.divide(variances, of_rows, out=effects, where=of_rows > 1e-9 / n)
    statistics = leads / np.sqrt(np.maximum(effects, 1.0))
    degrees = np.full(len(leads), min(sampling.n_units - 1, sampling.most_degrees))
    return normal_equivalents(statistics, degrees)


def _with_p_values_times(factor: float, leads: FloatArray) -> FloatArray:
    """Return the normal values of p-values that are so many times as large."""
    return np.asarray(np.maximum(-ndtri(np.minimum(factor * ndtr(-leads), 1.0)), 0.0))


def _sign_tests(positive: IntArray, negative: IntArray) -> FloatArray:
    """Return the normal values of so many positive signs, and zeros without one."""
    tail = np.where(positive > 0, betainc(np.maximum(positive, 1), negative + 1, 0.5), 1.0)
    return np.maximum(-ndtri(tail), 0.0)
