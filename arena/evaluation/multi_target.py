"""Several targets: the score is the mean over targets, unless the metric has joint targets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.evaluation.predictions import MappedPredictions
from arena.evaluation.scores import influence_values, resample_block
from arena.evaluation.wrapped_metric import WrappedMetric
from arena.interfaces import (
    HasInfluenceValues,
    HasResample,
    HasRowValues,
    Metric,
    NeedsRowContext,
    PredictionBlocks,
    faults_of_predictions,
    traits_of,
)
from arena.types import (
    CompetitionInfo,
    Fault,
    FloatArray,
    RowContext,
    WeightArray,
)


def mean_over_targets(metric: Metric, n_targets: int) -> Metric:
    """Return the mean of a metric over targets, for ``(n, n_targets)`` truth and predictions.

    With one target, and for a metric with joint targets, this is the metric itself. The mean has
    the same fast methods for resampling as the metric.

    Raises
    ------
    ValueError
        If there is no target.
    """
    if n_targets < 1:
        raise ValueError("A metric needs at least one target.")
    if n_targets == 1 or traits_of(metric).joint_targets:
        return metric
    if not isinstance(metric, HasResample | HasRowValues):
        plain, bindable = _MeanOverTargets, _Bindable
    elif isinstance(metric, HasRowValues | HasInfluenceValues):
        plain, bindable = _InfluencedMeanOverTargets, _BindableInfluencedMean
    else:
        plain, bindable = _ResampledMeanOverTargets, _BindableResampledMean
    return (bindable if isinstance(metric, NeedsRowContext) else plain)(metric)


def metric_of_each_target(metric: Metric) -> Metric:
    """Return the metric that :func:`mean_over_targets` averages, or the metric itself."""
    return metric.metric if isinstance(metric, _MeanOverTargets) else metric


def predictions_of_target(predictions: PredictionBlocks, target: int) -> PredictionBlocks:
    """Return the ``(m, n)`` predictions of one of several targets, of ``(m, n, n_targets)``."""
    return MappedPredictions(predictions, partial(_column, target=target))


def _column(block: npt.NDArray[Any], *, target: int) -> npt.NDArray[Any]:
    return np.ascontiguousarray(block[:, :, target])


def target_column(metric: Metric, target: str) -> str:
    """Return the name of the column of a board with the scores of one of several targets."""
    return f"{metric.name} of {target}"


@dataclass(frozen=True)
class _MeanOverTargets(WrappedMetric):
    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        scores = [
            self.metric.score(truth[:, target], prediction[:, target], weight)
            for target in range(truth.shape[1])
        ]
        return float(np.mean(scores))

    def faults(
        self, predictions: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        for target, column in enumerate(competition.columns):
            own = replace(competition, columns=(column,))
            yield from faults_of_predictions(self.metric, predictions[:, [target]], own)


@dataclass(frozen=True)
class _ResampledMeanOverTargets(_MeanOverTargets):
    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        scores = [
            resample_block(
                self.metric,
                truth[:, target],
                np.ascontiguousarray(predictions[:, :, target]),
                weights,
            )
            for target in range(truth.shape[1])
        ]
        mean: FloatArray = np.mean(scores, axis=0)
        return mean


@dataclass(frozen=True)
class _InfluencedMeanOverTargets(_ResampledMeanOverTargets):
    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        values = [
            influence_values(
                self.metric, truth[:, target], np.ascontiguousarray(predictions[:, :, target])
            )
            for target in range(truth.shape[1])
        ]
        mean: FloatArray = np.mean([one for one in values if one is not None], axis=0)
        return mean


class _Bindable(_MeanOverTargets):
    def for_rows(self, context: RowContext) -> Metric:
        bound = self.metric.for_rows(context) if isinstance(self.metric, NeedsRowContext) else None
        return mean_over_targets(bound or self.metric, len(context.targets))


class _BindableResampledMean(_Bindable, _ResampledMeanOverTargets):
    pass


class _BindableInfluencedMean(_Bindable, _InfluencedMeanOverTargets):
    pass
