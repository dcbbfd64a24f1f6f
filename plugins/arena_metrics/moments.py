"""Metrics that are a smooth function of several means over the rows: R squared and Pearson."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, MetricTraits, PredictionKind, WeightArray
from arena_metrics.rows import constant, drawn_rows

__all__ = ["FunctionOfMeans", "Pearson", "RSquared"]

_ILL_CONDITIONED = 1e-3
"""A variance below this part of the mean square has lost digits, and is computed again."""
_LEAST_EXPONENT = -1000
_Features = tuple[FloatArray, ...]


class FunctionOfMeans(ABC):
    """A metric that is ``of_means`` of the weighted means of some features of the rows.

    A subclass gives the features, ``(n,)`` or ``(m, n)`` each, and their function. Resampling is
    then one matrix product per feature, of truth and predictions that are centred and scaled.
    """

    name: ClassVar[str]
    greater_is_better: ClassVar[bool] = True
    prediction: ClassVar[PredictionKind] = PredictionKind.VALUE

    @property
    def traits(self) -> MetricTraits:
        """What the metric declares."""
        return MetricTraits(score_range=(-np.inf, 1.0))

    @abstractmethod
    def features(self, truth: FloatArray, predictions: FloatArray) -> _Features:
        """Return q features, ``(n,)`` of the truth or ``(m, n)``; m * n * q * 8 bytes at most."""

    @abstractmethod
    def of_means(self, means: Any) -> Any:
        """Return the score of q means, elementwise."""

    @abstractmethod
    def conditions(self, means: Any) -> FloatArray:
        """Return the least variance as a part of its mean square, elementwise."""

    @abstractmethod
    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission."""

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of weights; NaN where undefined.

        Holds ``8 * n * B`` bytes for the weights beside the features. Where the drawn rows have
        a variance that vanishes beside their mean, their score is computed from the rows.
        """
        floats = weights.astype(np.float64)
        totals = floats.sum(axis=0)
        shape = (len(predictions), weights.shape[1])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            means = [f @ floats / totals for f in self.features(*_centred(truth, predictions))]
            stacked = np.stack([np.broadcast_to(mean, shape) for mean in means])
            scores: FloatArray = self.of_means(stacked)
            doubtful = ~(self.conditions(stacked) > _ILL_CONDITIONED)
        for j, b in np.argwhere(doubtful):
            scores[j, b] = self.score(truth, predictions[j], weights[:, b])
        return scores

    @abstractmethod
    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values; NaN where undefined."""


def _centred(
    truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
) -> tuple[FloatArray, FloatArray]:
    """Move both to the truth's median and scale: squares then lose no digits, nor overflow."""
    centre = np.median(truth)
    scale = _magnitude(truth - centre)
    return (truth - centre) / scale, (predictions - centre) / scale


def _magnitude(values: FloatArray) -> Any:
    """Return the largest magnitude along the last axis, or 1 where all are 0."""
    largest = np.abs(values).max(axis=-1, initial=0.0, keepdims=True)
    return np.where(largest > 0, largest, 1.0)


def _standardised(values: npt.NDArray[Any]) -> tuple[FloatArray, Any]:
    """Return values of mean 0 and variance 1 along the last axis, and their standard deviation.

    NaN where they are all equal. Nothing overflows.
    """
    largest = np.abs(values).max(axis=-1, initial=0.0, keepdims=True)
    # By a power of two no digit is lost; sums and squares then stay far from overflow.
    shrinking = 2.0 ** -np.maximum(np.frexp(largest)[1], _LEAST_EXPONENT)
    centred = values * shrinking
    centred -= centred.mean(axis=-1, keepdims=True)
    centred -= centred.mean(axis=-1, keepdims=True)  # what the first mean lost by rounding
    deviation = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True))
    deviation[np.ptp(values, axis=-1, keepdims=True) == 0] = np.nan
    centred /= deviation
    return centred, deviation / shrinking


def _variance(mean: Any, mean_square: Any) -> Any:
    return mean_square - mean * mean


@dataclass(frozen=True)
class RSquared(FunctionOfMeans):
    """Share of the target's variance that is explained: 1 - mean squared error / variance.

    NaN if the target is constant, where scikit-learn returns 0 or 1 unless told otherwise.

    Examples
    --------
    >>> RSquared().score(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    0.5
    """

    name = "r2"

    def features(self, truth: FloatArray, predictions: FloatArray) -> _Features:
        """Return y, y squared and the squared errors."""
        with np.errstate(over="ignore"):
            return truth, truth**2, np.square(predictions - truth)

    def of_means(self, means: Any) -> Any:
        """Return 1 - error / variance."""
        return 1.0 - means[2] / _variance(means[0], means[1])

    def conditions(self, means: Any) -> FloatArray:
        """Return the variance of the truth as a part of its mean square."""
        return np.asarray(_variance(means[0], means[1]) / means[1])

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values; NaN if the target is constant."""
        standardised, deviation = _standardised(truth)
        with np.errstate(over="ignore"):
            unexplained = np.square((predictions - truth) / deviation)
        values = unexplained.mean(axis=1, keepdims=True) * np.square(standardised)
        values -= unexplained
        return np.asarray(values)

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission; NaN if the target is constant."""
        from sklearn.metrics import r2_score

        truth, prediction, weight = drawn_rows(truth, prediction, weight)
        if constant(truth):
            return np.nan
        with np.errstate(over="ignore"):
            return float(r2_score(truth, prediction, sample_weight=weight))


@dataclass(frozen=True)
class Pearson(FunctionOfMeans):
    """Pearson's correlation of predictions and targets; NaN if either is constant.

    Examples
    --------
    >>> round(Pearson().score(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 5.0])), 6)
    0.866025
    """

    name = "pearson"

    def features(self, truth: FloatArray, predictions: FloatArray) -> _Features:
        """Return y, y squared, f, f squared and their product, f centred at its own median."""
        centred = predictions - np.median(predictions, axis=1, keepdims=True)
        centred /= _magnitude(centred)
        return truth, truth**2, centred, centred**2, centred * truth

    def of_means(self, means: Any) -> Any:
        """Return the covariance over the root of the variances."""
        covariance = means[4] - means[0] * means[2]
        deviation = np.sqrt(_variance(means[0], means[1]))
        return covariance / deviation / np.sqrt(_variance(means[2], means[3]))

    def conditions(self, means: Any) -> FloatArray:
        """Return the lesser of the two variances as a part of its mean square."""
        of_truth = _variance(means[0], means[1]) / means[1]
        return np.asarray(np.minimum(of_truth, _variance(means[2], means[3]) / means[3]))

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values; NaN if either side is constant."""
        true, predicted = _standardised(truth)[0], _standardised(predictions)[0]
        values = true * predicted
        half = 0.5 * values.mean(axis=1, keepdims=True)
        values -= half * (np.square(true) + np.square(predicted))
        return np.asarray(values)

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission; NaN if either side is constant."""
        truth, prediction, weight = drawn_rows(truth, prediction, weight)
        if constant(truth) or constant(prediction):
            return np.nan
        pair = np.stack([truth, prediction])
        pair = pair - np.median(pair, axis=1, keepdims=True)
        covariance = np.cov(pair / _magnitude(pair), ddof=0, aweights=weight)
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
        return float(np.clip(correlation, -1.0, 1.0))
