"""Scores of tables that have one value per algorithm and case, and no predictions.

The "prediction" for a case is its value. A mean is a pointwise metric, so that everything that is
computed from row values applies to it; a median is resampled exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from arena.evaluation.medians import weighted_medians
from arena.interfaces import BaseMetric, PointwiseMetric
from arena.types import FloatArray, MetricTraits, PredictionKind, WeightArray


@dataclass(frozen=True, slots=True)
class _CaseMetric(BaseMetric):
    """An average of the values of the cases, one per algorithm and case."""

    name: str
    greater_is_better: bool
    value_range: tuple[float, float] = (-np.inf, np.inf)
    """The range of a value; an end may be infinite."""

    @property
    def prediction(self) -> PredictionKind:
        """Numbers."""
        return PredictionKind.VALUE

    @property
    def traits(self) -> MetricTraits:
        """The range of the values is that of the score."""
        return MetricTraits(score_range=self.value_range)


@dataclass(frozen=True, slots=True)
class MeanOfCases(_CaseMetric, PointwiseMetric):
    """The mean of the values of the cases.

    Examples
    --------
    >>> MeanOfCases("mean Dice", True, (0.0, 1.0)).score(np.zeros(2), np.array([0.5, 1.0]))
    0.75
    """

    @property
    def traits(self) -> MetricTraits:
        """The range of the values is also that of the rows."""
        return MetricTraits(row_range=self.value_range, score_range=self.value_range)

    def row_values(
        self,
        truth: npt.NDArray[Any],  # noqa: ARG002 - the values are given
        predictions: npt.NDArray[Any],
    ) -> FloatArray:
        """Return the values."""
        return predictions


@dataclass(frozen=True, slots=True)
class MedianOfCases(_CaseMetric):
    """The median of the values of the cases; of an even number, the mean of the middle two.

    Examples
    --------
    >>> MedianOfCases("median Dice", True).score(np.zeros(3), np.array([0.5, 1.0, 0.0]))
    0.5
    """

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the median; NaN if no case has a weight."""
        values = prediction if weight is None else np.repeat(prediction, weight)
        return float(np.median(values)) if len(truth) and len(values) else float("nan")

    def resample(
        self,
        truth: npt.NDArray[Any],  # noqa: ARG002 - the values are given
        predictions: npt.NDArray[Any],
        weights: WeightArray,
    ) -> FloatArray:
        """Return ``(m, B)`` medians."""
        return weighted_medians(predictions, weights)

    def case_values(
        self,
        truth: npt.NDArray[Any],  # noqa: ARG002 - the values are given
        predictions: npt.NDArray[Any],
    ) -> FloatArray:
        """Return the values."""
        return predictions


def ranks_within_cases(
    values: FloatArray, *, greater_is_better: bool, ties: Literal["average", "min"] = "average"
) -> FloatArray:
    """Return ``(m, n)`` ranks of m algorithms within each of n cases.

    ``ties`` is ``average``, as in Friedman's test and critical-difference diagrams, or ``min``.

    >>> values = np.array([[0.9, 0.5], [0.8, 0.5], [0.1, 0.7]])
    >>> ranks_within_cases(values, greater_is_better=True).tolist()
    [[1.0, 2.5], [2.0, 2.5], [3.0, 1.0]]
    """
    from scipy.stats import rankdata

    signed = -values if greater_is_better else values
    return np.asarray(rankdata(signed, method=ties, axis=0), dtype=np.float64)
