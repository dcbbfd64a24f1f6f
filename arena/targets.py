"""Several targets: the score is the mean of the scores of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.interfaces import (
    HasInfluenceValues,
    HasResample,
    HasRowValues,
    Metric,
    traits_of,
)
from arena.resampling import influence_values, resample_block
from arena.types import FloatArray, MetricTraits, PredictionKind, WeightArray

__all__ = ["mean_over_targets"]


def mean_over_targets(metric: Metric, n_targets: int) -> Metric:
    """Return a metric of ``(n, n_targets)`` truth and predictions: the mean over the targets.

    With one target it is the metric itself. What the metric can do, its mean can do too.

    Raises
    ------
    ValueError
        If there is no target.
    """
    if n_targets < 1:
        raise ValueError("A metric needs at least one target.")
    if n_targets == 1:
        return metric
    if not isinstance(metric, HasResample | HasRowValues):
        return _MeanOverTargets(metric)
    if isinstance(metric, HasRowValues | HasInfluenceValues):
        return _InfluencedMeanOverTargets(metric)
    return _ResampledMeanOverTargets(metric)


@dataclass(frozen=True, slots=True)
class _MeanOverTargets:
    metric: Metric

    @property
    def name(self) -> str:
        return self.metric.name

    @property
    def greater_is_better(self) -> bool:
        return self.metric.greater_is_better

    @property
    def prediction(self) -> PredictionKind:
        return self.metric.prediction

    @property
    def traits(self) -> MetricTraits:
        return traits_of(self.metric)

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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
