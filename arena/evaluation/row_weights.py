"""Rows of unequal weight: a metric under the weights of a column of the solution.

Under counts c of the rows, as in a resample, the score is that of the weights ``w c``. For a mean
over rows this is the ratio ``sum(w c v) / sum(w c)``: a resample draws rows with their weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.evaluation.multi_target import has_gaps, mean_over_targets, metric_of_each_target
from arena.evaluation.scores import slope_of_score, weighted_means
from arena.evaluation.wrapped_metric import WrappedMetric
from arena.interfaces import (
    HasRowValues,
    Metric,
    NeedsRowContext,
    PreparesSubmissions,
    faults_of_predictions,
    traits_of,
)
from arena.types import (
    ROW_WEIGHTS,
    CompetitionInfo,
    Fault,
    FloatArray,
    MetricTraits,
    RowContext,
    WeightArray,
)


def metric_on_rows_of(metric: Metric, scored: Metric, n_targets: int) -> Metric:
    """Return a metric on the rows that another one scores: with their weights and targets.

    Raises
    ------
    MetricError
        If the metric needs more than the truth of each row, or takes no row weights.
    """
    if isinstance(metric, NeedsRowContext):
        raise MetricError(f"{metric.name} needs more than the truth of each row.")
    if has_gaps(scored):
        raise MetricError(f"{metric.name} is not computed where targets lack values.")
    weights = row_weights_of(scored)
    if weights is not None:
        if not traits_of(metric).row_weights:
            raise MetricError(f"{metric.name} takes no row weights, and the rows have weights.")
        metric = replace(weighted(metric), weights=weights)
    return mean_over_targets(metric, n_targets)


def weighted(metric: Metric) -> _WeightedMetric:
    """Return a metric under row weights, which it takes from the rows that it is bound to."""
    return (WeightedMean if isinstance(metric, HasRowValues) else _WeightedMetric)(metric)


def row_weights_of(metric: Metric) -> FloatArray | None:
    """Return the ``(n,)`` weights of the rows that a metric is bound to; None: all count alike."""
    single = metric_of_each_target(metric)  # all targets of a row have its weight
    return single.weights if isinstance(single, _WeightedMetric) else None


def weighted_row_metric(metric: Metric) -> Metric | None:
    """Return the pointwise metric of which a score is that of the weighted mean; None: none is."""
    return metric.metric if isinstance(metric, WeightedMean) else None


@dataclass(frozen=True, eq=False)
class _WeightedMetric(WrappedMetric):
    """A metric that can only be called as a whole: row weights times counts are its weights."""

    weights: FloatArray | None = None
    """``(n,)``; None: not bound to rows."""

    @property
    def name(self) -> str:
        """Not that of the metric: what is known about that one does not hold for weighted rows."""
        return f"weighted {self.metric.name}"

    def for_rows(self, context: RowContext) -> Metric:
        """Return the metric with the weights of these rows."""
        weights = context.extra.get(ROW_WEIGHTS)
        if weights is None or not (weights > 0).any():
            raise MetricError("No row of the split has a weight above 0. Check the weights.")
        inner = self.metric
        bound = inner.for_rows(context) if isinstance(inner, NeedsRowContext) else inner
        return replace(self, metric=bound, weights=np.asarray(weights, dtype=np.float64))

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        weights = self._bound() if weight is None else self._bound() * weight
        return self.metric.score(truth, prediction, weights) if weights.any() else float("nan")

    def prepare(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
    ) -> Callable[[npt.NDArray[Any]], float]:
        if not isinstance(self.metric, PreparesSubmissions):
            return partial(self.score, truth, prediction)
        return _ScaledScorer(self.metric.prepare(truth, prediction), self._bound())

    def faults(
        self, predictions: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        return faults_of_predictions(self.metric, predictions, competition)

    def _bound(self) -> FloatArray:
        if self.weights is None:
            raise MetricError(f"{self.name} needs the weights of the rows: call for_rows first.")
        return self.weights


@dataclass(frozen=True, slots=True, eq=False)
class _ScaledScorer:
    """A prepared submission under row weights."""

    scorer: Callable[[npt.NDArray[Any]], float]
    weights: FloatArray

    def __call__(self, counts: npt.NDArray[Any]) -> float:
        return self.scorer(self.weights * counts)


@dataclass(frozen=True, eq=False)
class WeightedMean(_WeightedMetric):
    """A pointwise metric: the score is a function of the weighted mean of the row values."""

    @property
    def traits(self) -> MetricTraits:
        """The score keeps its range; there are no row values to have one."""
        traits = traits_of(self.metric)
        if traits.row_range is None or not isinstance(self.metric, HasRowValues):
            return traits
        ends = np.sort(self.metric.from_mean(np.asarray(traits.row_range, dtype=np.float64)))
        low, high = traits.score_range
        score_range = max(low, float(ends[0])), min(high, float(ends[1]))
        return replace(traits, row_range=None, score_range=score_range)

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of counts."""
        metric: Any = self.metric
        means = weighted_means(
            metric, truth, block=predictions, weights=weights, of_rows=self._bound()
        )
        scores: FloatArray = metric.from_mean(means)
        return scores

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return those of the ratio ``sum(w v) / sum(w)``, times the slope of the score."""
        metric: Any = self.metric
        weights = self._bound() / self._bound().mean()
        values: FloatArray = metric.row_values(truth, predictions)
        means = (values @ weights / len(weights))[:, np.newaxis]
        return np.asarray((values - means) * weights * slope_of_score(metric, means))
