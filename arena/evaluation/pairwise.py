"""Scores from comparisons in pairs: each on the cases for which both algorithms have a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.interfaces import BaseMetric
from arena.types import FloatArray, MetricTraits, PredictionKind, WeightArray


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseSkill(BaseMetric):
    """The mean comparison of an algorithm with all algorithms, on what both have.

    With ``ratios`` the geometric mean of the ratios of mean losses: the relative skill of forecast
    hubs (Cramer et al. 2022), below 1 for less than usual losses. Else the mean difference of mean
    values. The comparison of an algorithm with itself is 1, or 0.

    Examples
    --------
    >>> values = np.array([[1.0, 2.0, np.nan], [2.0, 4.0, 1.0]])
    >>> metric = PairwiseSkill("relative skill", False, values, ratios=True)
    >>> [metric.score(np.zeros(3), row).__round__(6) for row in values]
    [0.707107, 1.414214]
    """

    name: str
    greater_is_better: bool
    values: FloatArray
    """``(m, n)`` values of all algorithms; NaN where missing."""
    ratios: bool

    @property
    def prediction(self) -> PredictionKind:
        """Numbers."""
        return PredictionKind.VALUE

    @property
    def traits(self) -> MetricTraits:
        """Ratios are not negative."""
        return MetricTraits(score_range=(0.0 if self.ratios else -np.inf, np.inf))

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the comparison of one algorithm; NaN if it shares no case with another one."""
        weights = np.ones(len(truth)) if weight is None else np.asarray(weight, dtype=np.float64)
        return float(self._compared(prediction, weights[:, np.newaxis])[0])

    def resample(
        self,
        truth: npt.NDArray[Any],  # noqa: ARG002 - the values are given
        predictions: npt.NDArray[Any],
        weights: WeightArray,
    ) -> FloatArray:
        """Return ``(m, B)`` comparisons under each column of weights."""
        counts = weights.astype(np.float64)
        return np.stack([self._compared(values, counts) for values in predictions])

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return ``(m, n)`` first-order effects of each case on the comparisons."""
        return np.stack([self._influence(values, len(truth)) for values in predictions])

    def _influence(self, predictions: FloatArray, n: int) -> FloatArray:
        """Return ``(n,)`` influence values of one comparison."""
        shared, first, second = self._shared(predictions)
        sizes = np.maximum(shared.sum(axis=1, keepdims=True), 1.0)
        moved = np.zeros_like(shared)
        for part, sign in ((first, 1.0), (second, -1.0)):
            mean = part.sum(axis=1, keepdims=True) / sizes
            with np.errstate(divide="ignore", invalid="ignore"):
                scale = sizes * mean if self.ratios else sizes
                moved += sign * (part - shared * mean) / scale
        values = n * moved[shared.any(axis=1)].mean(axis=0)
        if self.ratios:
            values *= self._compared(predictions, np.ones((n, 1)))[0]
        return np.asarray(values - values.mean())

    def _shared(self, values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return ``(m, n)`` whether both have a value, and both values, 0 where one has none."""
        shared = np.isfinite(self.values) & np.isfinite(values)
        return (
            shared.astype(np.float64),
            np.where(shared, values, 0.0),
            np.where(shared, self.values, 0.0),
        )

    def _compared(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """Return ``(B,)`` comparisons of one algorithm with all."""
        shared, first, second = (part @ weights for part in self._shared(values))
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.log(first) - np.log(second) if self.ratios else (first - second) / shared
            counted = shared > 0
            mean = np.where(counted, each, 0.0).sum(axis=0) / counted.sum(axis=0)
        return np.asarray(np.exp(mean) if self.ratios else mean)


def coverage_of(values: FloatArray) -> FloatArray:
    """Return the share of the cases for which each of m algorithms has a value.

    >>> coverage_of(np.array([[1.0, np.nan], [1.0, 2.0]])).tolist()
    [0.5, 1.0]
    """
    return np.asarray(np.isfinite(values).mean(axis=1))
