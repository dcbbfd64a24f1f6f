"""The variance of a mean over cases whose answers were repeated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arena.evaluation.standard_errors import standard_error_of_mean
from arena.types import FloatArray, IntArray
from arena.utils.tabular import Tabular


@dataclass(frozen=True, slots=True, eq=False)
class RepeatVariance(Tabular):
    """How much of the variance of each algorithm's mean is due to repeated answers.

    ``Var = (between + within / K) / n`` for n cases with K answers each (Miller 2024, *Adding Error
    Bars to Evals*, section 3.1).
    """

    between: FloatArray
    """``(m,)`` variance between cases of the expected value of an answer, at least 0."""
    within: FloatArray
    """``(m,)`` mean variance of the answers to one case; NaN if no case has two answers."""
    answers: FloatArray
    """``(m,)`` the harmonic mean K of the number of answers per case."""
    standard_error: FloatArray
    """``(m,)`` of the mean over the cases, clustered if there are clusters."""


def repeat_variance(
    values: FloatArray, within: FloatArray, repeats: IntArray, clusters: IntArray | None = None
) -> RepeatVariance:
    """Return the components of the variance of m means over n cases.

    The variance of the means of the answers estimates ``between + within / K``; what the answers
    to one case vary is subtracted from it.

    Parameters
    ----------
    values
        ``(m, n)`` means of the answers to each case.
    within
        ``(m, n)`` variances of the answers (divisor K - 1), NaN with fewer than two.
    repeats
        ``(m, n)`` numbers of answers, at least 1.
    clusters
        ``(n,)`` codes from 0.

    Examples
    --------
    Two cases, each answered twice:

    >>> found = repeat_variance(np.array([[0.5, 1.0]]), np.array([[0.5, 0.0]]), np.full((1, 2), 2))
    >>> found.between.tolist(), found.within.tolist(), found.answers.tolist()
    ([0.0], [0.25], [2.0])
    """
    n = values.shape[1]
    has_repeats = ~np.isnan(within)
    counts = has_repeats.sum(axis=1)
    sums = np.where(has_repeats, within, 0.0).sum(axis=1)
    means = np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0)
    answers = 1 / (1 / np.maximum(repeats, 1)).mean(axis=1)
    total = values.var(axis=1, ddof=1) if n > 1 else np.full(len(values), np.nan)
    between = np.maximum(total - np.nan_to_num(means) / answers, 0.0)
    errors = np.array([standard_error_of_mean(row, clusters) for row in values])
    return RepeatVariance(between, means, answers, errors)
