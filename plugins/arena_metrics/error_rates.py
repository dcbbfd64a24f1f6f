"""Error rates of detection at a threshold: equal error rate and minimum detection cost."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.interfaces import BaseMetric
from arena.types import FloatArray, MetricTraits, PredictionKind
from arena_metrics.parameters import require_inside
from arena_metrics.rows import positive_rows

_TOGETHER = 16
"""Columns of weights whose sums fit into a processor's cache."""


@dataclass(frozen=True)
class _ErrorRatesMetric(BaseMetric):
    """A metric of the rates of misses and false alarms at every threshold."""

    greater_is_better: ClassVar[bool] = False
    prediction: ClassVar[PredictionKind] = PredictionKind.SCORE
    name: ClassVar[str]

    @property
    def traits(self) -> MetricTraits:
        """Undefined unless both classes occur."""
        return MetricTraits(score_range=(0.0, 1.0), needs_every_class=True, max_classes=2)

    @abstractmethod
    def _of_rates(self, misses: FloatArray, alarms: FloatArray) -> FloatArray:
        """Return ``(B,)`` scores of ``(t, B)`` rates, the first of which accepts no row."""

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission; NaN unless both classes occur."""
        weights = np.ones(len(truth)) if weight is None else np.asarray(weight, dtype=np.float64)
        return float(self.resample(truth, prediction[np.newaxis], weights[:, np.newaxis])[0, 0])

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of weights."""
        positive = positive_rows(self.name, truth)
        resampled = np.empty((len(predictions), weights.shape[1]))
        with np.errstate(invalid="ignore", divide="ignore"):
            for scores, row in zip(predictions, resampled, strict=True):
                order = np.argsort(-scores, kind="stable")
                last = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
                in_order = positive[order]
                classes = [
                    (order[of_class], np.append(0, np.cumsum(of_class)[last]))
                    for of_class in (in_order, ~in_order)
                ]
                for start in range(0, weights.shape[1], _TOGETHER):
                    columns = slice(start, start + _TOGETHER)
                    hits, alarms = (
                        _totals(weights[rows, columns])[accepted] for rows, accepted in classes
                    )
                    row[columns] = self._of_rates(1.0 - hits / hits[-1], alarms / alarms[-1])
        return resampled


def _totals(weights: npt.NDArray[Any]) -> FloatArray:
    """Return ``(n + 1, B)``: the sums of the first 0 to n of ``(n, B)`` weights."""
    totals = np.zeros((len(weights) + 1, weights.shape[1]))
    np.cumsum(weights, axis=0, out=totals[1:])
    return totals


@dataclass(frozen=True)
class EqualErrorRate(_ErrorRatesMetric):
    """Equal error rate: where misses and false alarms are equally frequent, smaller is better.

    The rates are interpolated between thresholds, as scikit-learn's ROC curve with a root finder
    does; scorers that take the nearest threshold differ by at most half a step.

    Examples
    --------
    >>> EqualErrorRate().score(np.array([0, 0, 1, 1]), np.array([0.1, 0.6, 0.4, 0.9]))
    0.5
    """

    name = "eer"

    def _of_rates(self, misses: FloatArray, alarms: FloatArray) -> FloatArray:
        crossing = np.argmax(alarms >= misses, axis=0)[np.newaxis]
        before = np.maximum(crossing - 1, 0)
        low, high = (
            [np.take_along_axis(rates, threshold, axis=0)[0] for rates in (misses, alarms)]
            for threshold in (before, crossing)
        )
        gap, next_gap = low[0] - low[1], high[0] - high[1]
        share = np.where(gap == next_gap, 0.0, gap / (gap - next_gap))
        return np.asarray(low[1] + share * (high[1] - low[1]))


@dataclass(frozen=True)
class MinimumDetectionCost(_ErrorRatesMetric):
    """Normalised minimum detection cost of speaker recognition (NIST SRE), smaller is better.

    The lowest cost over thresholds, over the cost of the better of accepting all and none.

    Parameters
    ----------
    p_target
        The prior probability of a target (a positive row).
    c_miss, c_alarm
        The costs of a miss and of a false alarm, above 0.

    Examples
    --------
    >>> metric = MinimumDetectionCost(p_target=0.5)
    >>> metric.score(np.array([0, 0, 1, 1]), np.array([0.1, 0.6, 0.4, 0.9]))
    0.5
    """

    p_target: float = 0.01
    c_miss: float = 1.0
    c_alarm: float = 1.0

    name = "min_dcf"

    def __post_init__(self) -> None:
        require_inside(self.name, "p_target", value=self.p_target, low=0, high=1)
        for parameter in ("c_miss", "c_alarm"):
            require_inside(self.name, parameter, value=getattr(self, parameter), low=0, high=np.inf)

    def _of_rates(self, misses: FloatArray, alarms: FloatArray) -> FloatArray:
        miss, alarm = self.c_miss * self.p_target, self.c_alarm * (1.0 - self.p_target)
        costs = miss * misses + alarm * alarms
        return np.asarray(costs.min(axis=0) / min(miss, alarm))
