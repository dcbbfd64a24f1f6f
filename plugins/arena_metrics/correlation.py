"""Metrics that are smooth functions of several means over the rows: R squared and Pearson."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, MetricTraits, PredictionKind, WeightArray
from arena_metrics.rows import drawn_rows, is_constant

_ILL_CONDITIONED = 1e-3
"""A variance below this fraction of the mean square has lost digits and is recomputed."""
_LEAST_EXPONENT = -1000
_LARGEST_ERROR = 1e70
"""In units of the scale of the truth; sums of its squares can be squared without overflow."""
_Features = tuple[FloatArray, ...]


class FunctionOfMeans(ABC):
    """A metric computed by :meth:`from_means` from the weighted means of features of the rows.

    A subclass defines the features, ``(n,)`` or ``(m, n)`` each. Resampling is then one matrix
    product per feature of the centred and scaled truth and predictions.
    """

    name: ClassVar[str]
    greater_is_better: ClassVar[bool] = True
    prediction: ClassVar[PredictionKind] = PredictionKind.VALUE

    @property
    def traits(self) -> MetricTraits:
        """The traits of the metric."""
        return MetricTraits(score_range=(-np.inf, 1.0))

    @abstractmethod
    def features(self, truth: FloatArray, predictions: FloatArray) -> _Features:
        """Return q features of shape ``(n,)`` or ``(m, n)``; at most ``8 * m * n * q`` bytes."""

    @abstractmethod
    def from_means(self, means: Any) -> Any:
        """Return the score given the q means, elementwise."""

    @abstractmethod
    def relative_variance(self, means: Any) -> FloatArray:
        """Return the smallest ratio of a variance to its mean square, elementwise."""

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

        Uses ``8 * n * B`` bytes for the weights in addition to the features. Where cancellation
        would lose digits of a variance, the score is recomputed from the drawn rows.
        """
        floats = weights.astype(np.float64)
        totals = floats.sum(axis=0)
        shape = (len(predictions), weights.shape[1])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            means = [f @ floats / totals for f in self.features(*_centred(truth, predictions))]
            stacked = np.stack([np.broadcast_to(mean, shape) for mean in means])
            scores: FloatArray = self.from_means(stacked)
            inaccurate = ~(self.relative_variance(stacked) > _ILL_CONDITIONED)
        for j, b in np.argwhere(inaccurate):
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
    """Centre and scale both by the truth, so that squares neither overflow nor lose digits."""
    centre = np.median(truth)
    scale = _magnitude(truth - centre)
    return (truth - centre) / scale, (predictions - centre) / scale


def _magnitude(values: FloatArray) -> Any:
    """Return the largest absolute value along the last axis, or 1 where all are 0."""
    largest = np.abs(values).max(axis=-1, initial=0.0, keepdims=True)
    return np.where(largest > 0, largest, 1.0)


def _standardised(values: npt.NDArray[Any]) -> tuple[FloatArray, Any]:
    """Return values with mean 0 and variance 1 along the last axis, and the standard deviation.

    NaN where all values are equal. Nothing overflows.
    """
    # Scaling by a power of two is exact; sums and squares then stay far from overflow.
    shrinking = 2.0 ** -np.maximum(np.frexp(_magnitude(values))[1], _LEAST_EXPONENT)
    centred = values * shrinking
    centred -= centred.mean(axis=-1, keepdims=True)
    centred -= centred.mean(axis=-1, keepdims=True)  # removes the rounding error of the first mean
    deviation = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True))
    deviation[np.ptp(values, axis=-1, keepdims=True) == 0] = np.nan
    centred /= deviation
    return centred, deviation / shrinking


def _squared_errors(truth: FloatArray, predictions: FloatArray, unit: Any) -> FloatArray:
    """Return squared errors in the given unit, clipped so that their sum does not overflow."""
    with np.errstate(over="ignore"):
        errors = np.clip((predictions - truth) / unit, -_LARGEST_ERROR, _LARGEST_ERROR)
    return np.asarray(np.square(errors, out=errors))


def _variance(mean: Any, mean_square: Any) -> Any:
    return mean_square - mean * mean


@dataclass(frozen=True)
class RSquared(FunctionOfMeans):
    """Coefficient of determination: 1 - mean squared error / variance of the target.

    NaN if the target is constant (scikit-learn returns 0 or 1 by default).

    Examples
    --------
    >>> RSquared().score(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    0.5
    """

    name = "r2"

    def features(self, truth: FloatArray, predictions: FloatArray) -> _Features:
        """Return the truth, its square and the squared errors."""
        return truth, truth**2, _squared_errors(truth, predictions, 1.0)

    def from_means(self, means: Any) -> Any:
        """Return 1 - mean squared error / variance."""
        return 1.0 - means[2] / _variance(means[0], means[1])

    def relative_variance(self, means: Any) -> FloatArray:
        """Return the variance of the truth relative to its mean square."""
        return np.asarray(_variance(means[0], means[1]) / means[1])

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values; NaN if the target is constant."""
        standardised, deviation = _standardised(truth)
        unexplained = _squared_errors(truth, predictions, deviation)
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
        truth, prediction, weight = drawn_rows(truth, prediction, weight)
        if is_constant(truth):
            return np.nan
        with np.errstate(over="ignore"):
            true, predicted = _centred(truth, prediction)
        error = np.average(_squared_errors(true, predicted, 1.0), weights=weight)
        centred = true - np.average(true, weights=weight)
        return float(1.0 - error / np.average(np.square(centred), weights=weight))


@dataclass(frozen=True)
class Pearson(FunctionOfMeans):
    """Pearson correlation of predictions and targets; NaN if either is constant.

    Examples
    --------
    >>> round(Pearson().score(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 5.0])), 6)
    0.866025
    """

    name = "pearson"

    @property
    def traits(self) -> MetricTraits:
        """The traits of the metric: a correlation lies in [-1, 1]."""
        return MetricTraits(score_range=(-1.0, 1.0))

    def features(self, truth: FloatArray, predictions: FloatArray) -> _Features:
        """Return truth, centred predictions, their squares and their product."""
        centred = predictions - np.median(predictions, axis=1, keepdims=True)
        centred /= _magnitude(centred)
        return truth, truth**2, centred, centred**2, centred * truth

    def from_means(self, means: Any) -> Any:
        """Return the covariance over the product of the standard deviations."""
        covariance = means[4] - means[0] * means[2]
        deviation = np.sqrt(_variance(means[0], means[1]))
        return covariance / deviation / np.sqrt(_variance(means[2], means[3]))

    def relative_variance(self, means: Any) -> FloatArray:
        """Return the smaller of the two variances relative to their mean squares."""
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
        if is_constant(truth) or is_constant(prediction):
            return np.nan
        pair = np.stack([truth, prediction])
        pair = pair - np.median(pair, axis=1, keepdims=True)
        covariance = np.cov(pair / _magnitude(pair), ddof=0, aweights=weight)
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
        return float(np.clip(correlation, -1.0, 1.0))
