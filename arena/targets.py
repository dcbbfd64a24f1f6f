"""Several targets: the score is the mean of the scores of each, unless a metric takes them all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.interfaces import (
    ChecksPredictions,
    HasInfluenceValues,
    HasResample,
    HasRowValues,
    Metric,
    NeedsRowContext,
    traits_of,
)
from arena.resampling import influence_values, resample_block
from arena.types import (
    CompetitionInfo,
    Fault,
    FloatArray,
    MetricTraits,
    PredictionKind,
    RowContext,
    WeightArray,
)

__all__ = ["mean_over_targets"]


def mean_over_targets(metric: Metric, n_targets: int) -> Metric:
    """Return a metric of ``(n, n_targets)`` truth and predictions: the mean over the targets.

    With one target, and where the metric takes all targets at once, it is the metric itself. What
    the metric can do, its mean can do too.

    Raises
    ------
    ValueError
        If there is no target.
    """
    if n_targets < 1:
        raise ValueError("A metric needs at least one target.")
    if n_targets == 1 or traits_of(metric).joint_targets:
        return metric
    plain, bindable = _MEANS[_ability(metric)]
    return (bindable if isinstance(metric, NeedsRowContext) else plain)(metric)


def _ability(metric: Metric) -> str:
    if not isinstance(metric, HasResample | HasRowValues):
        return "score"
    return "influence" if isinstance(metric, HasRowValues | HasInfluenceValues) else "resample"


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

    def faults(
        self, predictions: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        if not isinstance(self.metric, ChecksPredictions):
            return
        for target, column in enumerate(competition.columns):
            own = replace(competition, columns=(column,))
            yield from self.metric.faults(predictions[:, [target]], own)


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


@dataclass(frozen=True, slots=True)
class _BoundMeanOverTargets(_MeanOverTargets):
    def for_rows(self, context: RowContext) -> Metric:
        return _bound_mean(self, context)


@dataclass(frozen=True, slots=True)
class _BoundResampledMeanOverTargets(_ResampledMeanOverTargets):
    def for_rows(self, context: RowContext) -> Metric:
        return _bound_mean(self, context)


@dataclass(frozen=True, slots=True)
class _BoundInfluencedMeanOverTargets(_InfluencedMeanOverTargets):
    def for_rows(self, context: RowContext) -> Metric:
        return _bound_mean(self, context)


def _bound_mean(mean: _MeanOverTargets, context: RowContext) -> Metric:
    bound = mean.metric.for_rows(context) if isinstance(mean.metric, NeedsRowContext) else None
    return mean_over_targets(bound or mean.metric, len(context.targets))


_MEANS: dict[str, tuple[type[_MeanOverTargets], type[_MeanOverTargets]]] = {
    "score": (_MeanOverTargets, _BoundMeanOverTargets),
    "resample": (_ResampledMeanOverTargets, _BoundResampledMeanOverTargets),
    "influence": (_InfluencedMeanOverTargets, _BoundInfluencedMeanOverTargets),
}
"""What the metric can do -> its mean, without and with a need to know the rows."""
