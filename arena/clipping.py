"""A metric whose row values, or else its scores, are moved into bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.interfaces import (
    HasInfluenceValues,
    HasRowValues,
    Metric,
    NeedsRowContext,
    traits_of,
)
from arena.types import FloatArray, MetricTraits, PredictionKind, RowContext

__all__ = ["clip_values", "conceivable_scores"]


def clip_values(metric: Metric, bounds: tuple[float, float] | None) -> Metric:
    """Return a metric of one target with its values moved into bounds; None: the metric itself.

    Of a pointwise metric every row value is moved before the mean is taken, so that no row can
    move a score far. Of another one the score itself is moved; its influence values stay.
    """
    if bounds is None:
        return metric
    if isinstance(metric, HasRowValues):
        return _ClippedRows(metric, bounds)
    return (_ClippedInfluence if isinstance(metric, HasInfluenceValues) else _ClippedScore)(
        metric, bounds
    )


def conceivable_scores(metric: Metric) -> tuple[float, float] | None:
    """Return the range that every score of a metric lies in; None if it is not bounded."""
    traits = traits_of(metric)
    if np.isfinite(traits.score_range).all():
        return traits.score_range
    if traits.row_range is None or not np.isfinite(traits.row_range).all():
        return None
    return _score_range(metric, traits.row_range)


def _score_range(metric: object, row_range: tuple[float, float]) -> tuple[float, float]:
    ends = np.array(row_range, dtype=np.float64)
    scores = metric.from_mean(ends) if isinstance(metric, HasRowValues) else ends
    return float(scores.min()), float(scores.max())


@dataclass(frozen=True, slots=True)
class _Clipped:
    metric: Any
    bounds: tuple[float, float]

    @property
    def name(self) -> str:
        name: str = self.metric.name
        return name

    @property
    def greater_is_better(self) -> bool:
        better: bool = self.metric.greater_is_better
        return better

    @property
    def prediction(self) -> PredictionKind:
        kind: PredictionKind = self.metric.prediction
        return kind

    def for_rows(self, context: RowContext) -> Metric:
        """Return the same of the metric for these rows."""
        bindable = isinstance(self.metric, NeedsRowContext)
        return clip_values(self.metric.for_rows(context) if bindable else self.metric, self.bounds)


@dataclass(frozen=True, slots=True)
class _ClippedRows(_Clipped):
    @property
    def traits(self) -> MetricTraits:
        scores = _score_range(self.metric, self.bounds)
        return replace(traits_of(self.metric), row_range=self.bounds, score_range=scores)

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        return np.asarray(np.clip(self.metric.row_values(truth, predictions), *self.bounds))

    def from_mean(self, mean: FloatArray) -> FloatArray:
        score: FloatArray = self.metric.from_mean(mean)
        return score

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        values = self.row_values(truth, prediction[np.newaxis])[0]
        return float(self.from_mean(np.array([np.average(values, weights=weight)]))[0])


@dataclass(frozen=True, slots=True)
class _ClippedScore(_Clipped):
    @property
    def traits(self) -> MetricTraits:
        return replace(traits_of(self.metric), score_range=self.bounds)

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        return float(np.clip(self.metric.score(truth, prediction, weight), *self.bounds))


@dataclass(frozen=True, slots=True)
class _ClippedInfluence(_ClippedScore):
    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        values: FloatArray = self.metric.influence_values(truth, predictions)
        return values
