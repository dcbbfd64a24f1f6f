"""Regression metrics that are a mean over the rows, or the square root of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, MetricTraits
from arena_metrics.parameters import require_inside
from arena_metrics.pointwise import Pointwise

_LOWEST_LOG = float(np.nextafter(-1.0, 0.0))


@dataclass(frozen=True)
class MeanAbsoluteError(Pointwise):
    """Mean absolute error, in the unit of the target.

    Examples
    --------
    >>> MeanAbsoluteError().score(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    1.0
    """

    name = "mae"

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return absolute errors."""
        return np.asarray(np.abs(predictions - truth))


@dataclass(frozen=True)
class MeanSquaredError(Pointwise):
    """Mean squared error, in the square of the target's unit.

    Examples
    --------
    >>> MeanSquaredError().score(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    2.0
    """

    name = "mse"

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return squared errors."""
        return np.asarray(np.square(predictions - truth))


@dataclass(frozen=True)
class RootMeanSquaredError(MeanSquaredError):
    """Root mean squared error, in the unit of the target.

    Examples
    --------
    >>> RootMeanSquaredError().score(np.array([1.0, 2.0]), np.array([4.0, 6.0])).__round__(6)
    3.535534
    """

    name = "rmse"

    def from_mean(self, mean: FloatArray) -> FloatArray:
        """Return the root."""
        return np.asarray(np.sqrt(mean))


@dataclass(frozen=True)
class RootMeanSquaredLogError(Pointwise):
    """Root mean squared logarithmic error: RMSE of log(1 + value), a measure of relative error.

    Defined for values above -1, as in scikit-learn; on Kaggle, targets are at least 0.

    Examples
    --------
    >>> round(RootMeanSquaredLogError().score(np.array([1.0, 2.0]), np.array([1.0, 5.0])), 6)
    0.490129
    """

    name = "rmsle"

    @property
    def traits(self) -> MetricTraits:
        """Predictions and targets must be above -1."""
        above = (_LOWEST_LOG, 1e100)
        return MetricTraits(prediction_range=above, truth_range=above, score_range=(0.0, np.inf))

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return squared differences of log(1 + value)."""
        return np.asarray(np.square(np.log1p(predictions) - np.log1p(truth)))

    def from_mean(self, mean: FloatArray) -> FloatArray:
        """Return the root."""
        return np.asarray(np.sqrt(mean))


@dataclass(frozen=True)
class MeanAbsolutePercentageError(Pointwise):
    """Mean absolute percentage error |f - y| / |y|, as a fraction.

    As in scikit-learn, a target of 0 is replaced by 2.2e-16, so one such row dominates the score.

    Examples
    --------
    >>> MeanAbsolutePercentageError().score(np.array([2.0, 4.0]), np.array([1.0, 5.0]))
    0.375
    """

    name = "mape"

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return absolute errors as fractions of the target."""
        floor = np.maximum(np.abs(truth), np.finfo(np.float64).eps)
        return np.asarray(np.abs(predictions - truth) / floor)


@dataclass(frozen=True)
class SymmetricMeanAbsolutePercentageError(Pointwise):
    """Mean of 2 |f - y| / (|y| + |f|), between 0 and 2; a row where both are 0 counts 0.

    The definition of the M3 competition (Makridakis and Hibon 2000), as a fraction. Platforms that
    report a percentage show 100 times this value.

    Examples
    --------
    >>> SymmetricMeanAbsolutePercentageError().score(np.array([1.0, 0.0]), np.array([3.0, 0.0]))
    0.5
    """

    name = "smape"

    @property
    def traits(self) -> MetricTraits:
        """Row values are at most 2."""
        return MetricTraits(row_range=(0.0, 2.0))

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return twice the absolute error over the sum of the absolute values."""
        return symmetric_percentage_errors(truth, predictions)


@dataclass(frozen=True)
class QuantileLoss(Pointwise):
    """Pinball loss, minimised by the alpha quantile of the target (Koenker and Bassett 1978).

    Parameters
    ----------
    alpha
        The quantile, between 0 and 1. At 0.5 the loss is half the absolute error.

    Examples
    --------
    >>> QuantileLoss(alpha=0.9).score(np.array([1.0, 1.0]), np.array([0.0, 2.0]))
    0.5
    """

    alpha: float = 0.5

    name = "quantile_loss"

    def __post_init__(self) -> None:
        require_inside(self.name, "alpha", value=self.alpha, low=0, high=1)

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return alpha times an underestimate, or 1 - alpha times an overestimate."""
        return pinball_losses(truth - predictions, self.alpha)


def symmetric_percentage_errors(truth: npt.NDArray[Any], forecast: npt.NDArray[Any]) -> FloatArray:
    """Return 2 |f - y| / (|y| + |f|), elementwise; 0 where both are 0."""
    scale = np.abs(forecast) + np.abs(truth)
    error = np.abs(forecast - truth)
    return np.asarray(2.0 * np.divide(error, scale, out=np.zeros_like(scale), where=scale > 0))


def pinball_losses(residual: npt.NDArray[Any], level: float | FloatArray) -> FloatArray:
    """Return the losses of quantiles of these levels whose target is larger by the residual."""
    return np.asarray(np.maximum(level * residual, (level - 1.0) * residual))
