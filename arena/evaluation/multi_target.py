"""Several targets: the score is the mean over targets, unless the metric has joint targets.

Where rows lack the values of some targets, the score of each target is that of the rows which have
its value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.evaluation.binding import part_of_context
from arena.evaluation.black_box import scorer_of
from arena.evaluation.predictions import MappedPredictions
from arena.evaluation.scores import (
    influence_values,
    is_black_box,
    mean_correction,
    resample_block,
)
from arena.evaluation.shared_weights import weights_on
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
    KNOWN_TARGET,
    CompetitionInfo,
    Fault,
    FloatArray,
    IntArray,
    RowContext,
    WeightArray,
)


def mean_over_targets(metric: Metric, n_targets: int, *, gaps: bool = False) -> Metric:
    """Return the mean of a metric over targets, for ``(n, n_targets)`` truth and predictions.

    With one target, and for a metric with joint targets, this is the metric itself. The mean has
    the same fast methods for resampling as the metric. With ``gaps`` it takes the rows of each
    target from the rows that it is bound to.

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
        plain, bindable = _MeanOverTargets, _BindableMean
    elif isinstance(metric, HasRowValues | HasInfluenceValues):
        plain, bindable = _InfluencedMeanOverTargets, _BindableInfluencedMean
    else:
        plain, bindable = _ResampledMeanOverTargets, _BindableResampledMean
    return (bindable if gaps or isinstance(metric, NeedsRowContext) else plain)(metric)


def metric_of_each_target(metric: Metric) -> Metric:
    """Return the metric that :func:`mean_over_targets` averages, or the metric itself."""
    return metric.metric if isinstance(metric, _MeanOverTargets) else metric


def has_gaps(metric: Metric) -> bool:
    """Return whether a metric is a mean over targets of which some lack values."""
    return isinstance(metric, _MeanOverTargets) and bool(metric.bound)


@dataclass(frozen=True, slots=True, eq=False)
class TargetPart:
    """One of several targets."""

    position: int
    metric: Metric
    """Bound to the rows of the target, if it needs that."""
    rows: IntArray | None = None
    """The positions of the rows that have a value; None: all."""

    def of_truth(self, truth: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the truth of the target, of ``(n, n_targets)``."""
        target_truth = truth[:, self.position]
        return target_truth if self.rows is None else target_truth[self.rows]

    def of_block(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the predictions of the target, of ``(m, n, n_targets)``."""
        target_block = block[:, :, self.position]
        return np.ascontiguousarray(
            target_block if self.rows is None else target_block[:, self.rows]
        )

    def of_predictions(self, predictions: PredictionBlocks) -> PredictionBlocks:
        """Return the predictions of the target."""
        return MappedPredictions(predictions, self.of_block)


def target_parts(metric: Metric, n_targets: int) -> tuple[TargetPart, ...]:
    """Return the targets of a mean over targets."""
    if isinstance(metric, _MeanOverTargets) and metric.bound:
        return metric.bound
    single = metric_of_each_target(metric)
    return tuple(TargetPart(position, single) for position in range(n_targets))


def target_column(metric: Metric, target: str) -> str:
    """Return the name of the column of a board with the scores of one of several targets."""
    return f"{metric.name} of {target}"


@dataclass(frozen=True, eq=False)
class _MeanOverTargets(WrappedMetric):
    bound: tuple[TargetPart, ...] = ()
    """The targets, if some lack values."""

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        scores = [
            _score_of_target(part, truth, prediction, weight)
            for part in target_parts(self, truth.shape[1])
        ]
        return float(np.mean(scores))

    def faults(
        self, predictions: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        for target, column in enumerate(competition.columns):
            one_target = replace(competition, columns=(column,))
            yield from faults_of_predictions(self.metric, predictions[:, [target]], one_target)


def _score_of_target(
    part: TargetPart,
    truth: npt.NDArray[Any],
    prediction: npt.NDArray[Any],
    weight: npt.NDArray[Any] | None,
) -> float:
    metric, target_truth = part.metric, part.of_truth(truth)
    predicted = part.of_block(prediction[np.newaxis])[0]
    if weight is None or part.rows is None:
        return metric.score(target_truth, predicted, weight)
    counts = weight[part.rows]
    if not counts.any():
        return float("nan")
    if is_black_box(metric):
        return scorer_of(metric, target_truth, predicted)(counts)
    return metric.score(target_truth, predicted, counts)


@dataclass(frozen=True, eq=False)
class _ResampledMeanOverTargets(_MeanOverTargets):
    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        scores = [
            resample_block(
                part.metric,
                part.of_truth(truth),
                part.of_block(predictions),
                weights_on(part.rows, weights),
            )
            for part in target_parts(self, truth.shape[1])
        ]
        mean: FloatArray = np.mean(scores, axis=0)
        return mean


@dataclass(frozen=True, eq=False)
class _InfluencedMeanOverTargets(_ResampledMeanOverTargets):
    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        m, n = predictions.shape[:2]
        values = np.zeros((m, n))
        parts = target_parts(self, truth.shape[1])
        for part in parts:
            influences = influence_values(
                part.metric, part.of_truth(truth), part.of_block(predictions)
            )
            if influences is None:
                continue
            rows, count = slice(None) if part.rows is None else part.rows, influences.shape[1]
            # In a mean of fewer rows each has n / count times the effect.
            scale = n / count * mean_correction(count, n) / len(parts)
            values[:, rows] += influences * scale
        return values


class _BindableMean(_MeanOverTargets):
    def for_rows(self, context: RowContext) -> Metric:
        """Return the mean on these rows.

        Raises
        ------
        MetricError
            If a target has no value in them.
        """
        masks = [context.extra.get(KNOWN_TARGET + name) for name in context.targets]
        if all(mask is None for mask in masks):
            inner = self.metric
            bound = inner.for_rows(context) if isinstance(inner, NeedsRowContext) else inner
            return mean_over_targets(bound, len(context.targets))
        parts = []
        for position, (name, mask) in enumerate(zip(context.targets, masks, strict=True)):
            rows = np.flatnonzero(np.ones(len(context.ids)) if mask is None else mask)
            if not len(rows):
                raise MetricError(f"The target {name!r} has no value in these rows.")
            metric = self.metric
            if isinstance(metric, NeedsRowContext):
                metric = metric.for_rows(part_of_context(context, rows))
            parts.append(TargetPart(position, metric, rows))
        return replace(self, bound=tuple(parts))


class _BindableResampledMean(_BindableMean, _ResampledMeanOverTargets):
    pass


class _BindableInfluencedMean(_BindableMean, _InfluencedMeanOverTargets):
    pass
