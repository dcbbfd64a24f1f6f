"""Sign tests of all pairs of medians, which hold for every distribution.

If the median of a submission j is not larger than that of k, there is a number t between them: at
most half of the values of j are above t, at least half of those of k are t or more, and no more of
the first kind than of the second. A sign test of each of the three statements needs no assumption
on the values. The number t is not known: of the tests at all values the weakest counts, as in the
intervals of Woodruff (1952). A bootstrap of medians fails where few values lie near the median.

The tests of the first two statements depend on one submission each. With those of the pairs they
are ``m (m - 1) + 2 m`` for all claims about m submissions.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import betainc, ndtr, ndtri, stdtrit

from arena.evaluation.case_metrics import MedianOfCases
from arena.evaluation.row_weights import row_weights_of
from arena.evaluation.sampling_units import SamplingUnits
from arena.interfaces import Metric, Study
from arena.types import FloatArray, IntArray
from arena_ranking.evidence import PairwiseEvidence
from arena_ranking.small_samples import PooledShapes, normal_equivalents

_MOST = 7.0
"""A normal value that decides every pair."""
_CELLS = 2**21


def compares_medians(metric: Metric) -> bool:
    """Return whether the scores are medians of cases of equal weight."""
    return isinstance(metric, MedianOfCases) and row_weights_of(metric) is None


def evidence_on_medians(
    evidence: PairwiseEvidence, study: Study, medians: FloatArray
) -> PairwiseEvidence:
    """Return the evidence with standard errors of sign tests instead of those of resamples."""
    values = np.concatenate([block for _, block in study.predictions.blocks(len(medians))])
    sign = 1.0 if study.metric.greater_is_better else -1.0
    sampling = SamplingUnits.of(len(study.truth), study.clusters)
    errors = errors_of_median_differences(sign * values, sign * medians, sampling)
    shapes = PooledShapes(len(medians), max(sampling.n_units - 1, 1))
    return replace(evidence, standard_errors=errors, shapes=shapes, source="sign tests")


def errors_of_median_differences(
    values: FloatArray, medians: FloatArray, sampling: SamplingUnits
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
    ordered = np.sort(values, axis=1)
    for j, k in zip(*np.nonzero(medians[:, np.newaxis] > medians), strict=True):
        lead = _least_lead(values[[j, k]], ordered[[j, k]], sampling)
        if lead > 0:
            statistic = -stdtrit(most_degrees, ndtr(-lead))
            errors[j, k] = errors[k, j] = (medians[j] - medians[k]) / statistic
    return errors


def _least_lead(values: FloatArray, ordered: FloatArray, sampling: SamplingUnits) -> float:
    """Return the normal value of the weakest test, over all t, that the first median is larger."""
    t = np.unique(ordered)
    step = len(t) if sampling.clusters is None else max(1, _CELLS // sampling.n)
    leads = [_leads_at(t[i : i + step], values, ordered, sampling) for i in range(0, len(t), step)]
    return float(np.concatenate(leads).min())


def _leads_at(
    t: FloatArray, values: FloatArray, ordered: FloatArray, sampling: SamplingUnits
) -> FloatArray:
    """Return the largest normal value of the three tests at each t."""
    n, (first, second) = sampling.n, values
    above = n - np.searchsorted(ordered[0], t, side="right")
    below = np.searchsorted(ordered[1], t, side="left")
    larger = second < first
    only_first = np.searchsorted(np.sort(second[larger]), t, side="left")
    only_first -= np.searchsorted(np.sort(first[larger]), t, side="right")
    only_second = n - below - above + only_first
    counts = np.stack([[above, n - above], [below, n - below], [only_first, only_second]])
    leads = _sign_tests(counts[:, 0], counts[:, 1])
    if sampling.clusters is not None:
        is_above, is_below = first > t[:, np.newaxis], second < t[:, np.newaxis]
        signs = np.stack([is_above, is_below, is_above.astype(np.int8) + is_below])
        shifts = [sampling.moved(sampling.means(part))[1] for part in signs.astype(np.float64)]
        variances = np.square([sampling.standard_errors(part) for part in shifts])
        shares = counts / n
        of_rows = shares.sum(axis=1) - np.square(shares[:, 0] - shares[:, 1])
        of_rows *= np.array([[0.25], [0.25], [1.0]]) / n
        effects = np.full_like(variances, sampling.another * n / sampling.n_units)
        np.divide(variances, of_rows, out=effects, where=of_rows > 1e-9 / n)
        statistics = (leads / np.sqrt(np.maximum(effects, 1.0))).ravel()
        degrees = np.full(leads.size, min(sampling.n_units - 1, sampling.most_degrees))
        leads = normal_equivalents(statistics, degrees).reshape(leads.shape)
    return np.asarray(np.minimum(leads.max(axis=0), _MOST))


def _sign_tests(positive: IntArray, negative: IntArray) -> FloatArray:
    """Return the normal values of so many positive signs, and zeros without one."""
    tail = np.where(positive > 0, betainc(np.maximum(positive, 1), negative + 1, 0.5), 1.0)
    return np.maximum(-ndtri(tail), 0.0)
