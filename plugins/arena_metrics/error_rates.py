"""Error rates of detection at a threshold: equal error rate and minimum detection cost."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.interfaces import BaseMetric
from arena.types import FloatArray, MetricTraits, PredictionKind, WeightArray
from arena_metrics.kernels import interpreted
from arena_metrics.kernels.engine import KernelEngine, choose_engine
from arena_metrics.parameters import require_inside
from arena_metrics.rows import floats, positive_rows

_Rows: TypeAlias = tuple[FloatArray, npt.NDArray[np.bool_], npt.NDArray[Any]]
"""``(m, n)`` predictions, ``(n,)`` whether a row is positive, and ``(n, B)`` weights."""


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
    def _under(self, kernels: KernelEngine, rows: _Rows) -> FloatArray:
        """Return ``(m, B)`` scores, by the compiled kernels or by plain numpy."""

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission; NaN unless both classes occur."""
        weights = np.ones(len(truth)) if weight is None else np.asarray(weight, dtype=np.float64)
        positive = positive_rows(self.name, truth)
        rows = floats(prediction[np.newaxis]), positive, weights[:, np.newaxis]
        return float(self._under(interpreted, rows)[0, 0])

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of weights; NaN unless both classes occur."""
        kernels = choose_engine(predictions.size * weights.shape[1])
        positive = positive_rows(self.name, truth)
        return self._under(kernels, (floats(predictions), positive, weights))


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

    def _under(self, kernels: KernelEngine, rows: _Rows) -> FloatArray:
        hits, alarms = np.moveaxis(kernels.crossing_shares(*rows), 2, 0)
        before, there = np.moveaxis(1.0 - hits - alarms, 1, 0)
        share = np.divide(before, before - there, out=np.zeros_like(before), where=before != there)
        return np.asarray(alarms[:, 0] + share * (alarms[:, 1] - alarms[:, 0]))


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

    def _under(self, kernels: KernelEngine, rows: _Rows) -> FloatArray:
        miss, alarm = self.c_miss * self.p_target, self.c_alarm * (1.0 - self.p_target)
        least = kernels.least_costs(*rows, miss=miss, alarm=alarm)
        return least / min(miss, alarm)
