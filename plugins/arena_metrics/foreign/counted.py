"""Foreign metrics that count each case: ``combine`` makes a score of sums of the counts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, ScoringError
from arena.types import FloatArray
from arena_metrics.foreign.failures import failed
from arena_metrics.foreign.kinds import Request
from arena_metrics.foreign.metric import ForeignMetric, Scorer, returned

CASE_STATISTICS, COMBINE = "case_statistics", "combine"
"""The functions of such a metric."""


class CountedMetric(ForeignMetric):
    """A foreign metric that counts the cases of a submission once for all resamples."""

    def prepare(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
    ) -> Callable[[npt.NDArray[Any]], float]:
        """Return the score of a submission as a function of its row counts."""
        return _CountingScorer(self.request, self.call_on(truth, prediction))

    def counter(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
    ) -> Callable[[], FloatArray]:
        """Return a function that returns the ``(n_cases, s)`` counts of a submission."""
        scorer = _CountingScorer(self.request, self.call_on(truth, prediction))
        return partial(scorer.counts, np.ones(len(truth), dtype=np.intp))

    def combine(self, sums: FloatArray) -> FloatArray:
        """Return what the function of the file returns.

        Raises
        ------
        MetricError
            If it fails, or does not return one score for each sum.
        """
        try:
            return _combined(self.request, sums)
        except ScoringError as error:  # these sums are of no submission that could be set apart
            raise MetricError(str(error)) from error


@dataclass(frozen=True, slots=True, eq=False)
class _CountingScorer(Scorer):
    """The score of one submission by the counts of its cases."""

    def __call__(self, weight: npt.NDArray[Any]) -> float:
        """Return the score of the sums; they are passed several times, as resamples are.

        One more time than there are counts: a function that takes rows for counts is noticed.
        """
        sums = self.counts(weight).sum(axis=0)
        repeated = np.tile(sums, (len(sums) + 1, 1))
        return float(_combined(self.request, repeated)[0])

    def counts(self, weight: npt.NDArray[Any]) -> FloatArray:
        """Return the ``(n_cases, s)`` counts of the drawn rows.

        Raises
        ------
        ScoringError
            If the metric refuses the submission, fails on it, or returns no counts.
        """
        call = partial(self.call, weight=weight)
        counted = returned(self.request, self.request.source, call)
        counts = _as_array(counted)
        if counts is None or counts.ndim != 2 or not counts.size or not np.isfinite(counts).all():
            raise failed(
                f"{self.request.name} must return an array of finite numbers with a row for each "
                "case and a column for each count."
            )
        return counts


def _combined(request: Request, sums: FloatArray) -> FloatArray:
    """Return the scores of sums by the function of the file, as numbers.

    Raises
    ------
    ScoringError
        If it fails.
    MetricError
        If it does not return one score for each sum.
    """
    source = replace(request.source, function=COMBINE)
    combined_scores = returned(request, source, lambda combine: combine(sums))
    scores = _as_array(combined_scores)
    if scores is None or scores.shape != sums.shape[:-1]:
        raise MetricError(
            f"{COMBINE} of {request.source.shown} must return an array with a score for each row "
            "of sums: it gets many rows at once, and sums[..., 0] is the sum of the first count."
        )
    return scores


def _as_array(returned_value: Any) -> FloatArray | None:
    """Return what a function returned as numbers; None: they are none."""
    with contextlib.suppress(TypeError, ValueError):
        return np.asarray(returned_value, dtype=np.float64)
    return None
