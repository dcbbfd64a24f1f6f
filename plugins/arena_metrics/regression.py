"""Metrics of numbers that are a mean over the rows, or the root of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, MetricTraits
from arena_metrics.parameters import require_inside
from arena_metrics.pointwise import Pointwise

__all__ = [
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredError",
    "QuantileLoss",
    "RootMeanSquaredError",
    "RootMeanSquaredLogError",
    "SymmetricMeanAbsolutePercentageError",
]

_LOWEST_LOG = float(np.nextafter(-1.0, 0.0))


class _Regression(Pointwise):
    """A pointwise metric that scikit-learn has under the name ``_function``."""

    _function: ClassVar[str]

    def _library_score(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any], weight: FloatArray | None
    ) -> float:
        from sklearn import metrics

        score: float = getattr(metrics, self._function)(truth, prediction, sample_weight=weight)
        return score


@dataclass(frozen=True)
class MeanAbsoluteError(_Regression):
    """Mean absolute error, in the unit of the target.

    Examples
    --------
    >>> MeanAbsoluteError().score(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    1.0
    """

    name = "mae"
    _function = "mean_absolute_error"

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return absolute errors."""
        return np.asarray(np.abs(predictions - truth))


@dataclass(frozen=True)
class MeanSquaredError(_Regression):
    """Mean squared error, in the square of the target's unit.

    Examples
    --------
    >>> MeanSquaredError().score(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    2.0
    """

    name = "mse"
    _function = "mean_squared_error"

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return squared errors."""
        return np.asarray(np.square(predictions - truth))


@dataclass(frozen=True)
class RootMeanSquaredError(MeanSquaredError):
    """Root of the mean squared error, in the unit of the target.

    Examples
    --------
    >>> RootMeanSquaredError().score(np.array([1.0, 2.0]), np.array([4.0, 6.0])).__round__(6)
    3.535534
    """

    name = "rmse"
    _function = "root_mean_squared_error"

    def from_mean(self, mean: FloatArray) -> FloatArray:
        """Return the root."""
        return np.asarray(np.sqrt(mean))


@dataclass(frozen=True)
class RootMeanSquaredLogError(_Regression):
    """Root of the mean squared difference of log(1 + value): relative errors, large values tamed.

    Defined for values above -1, as in scikit-learn; Kaggle's competitions have targets from 0.

    Examples
    --------
    >>> round(RootMeanSquaredLogError().score(np.array([1.0, 2.0]), np.array([1.0, 5.0])), 6)
    0.490129
    """

    name = "rmsle"
    _function = "root_mean_squared_log_error"

    @property
    def traits(self) -> MetricTraits:
        """Values and targets above -1."""
        above = (_LOWEST_LOG, np.inf)
        return MetricTraits(prediction_range=above, truth_range=above)

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return squared differences of log(1 + value)."""
        return np.asarray(np.square(np.log1p(predictions) - np.log1p(truth)))

    def from_mean(self, mean: FloatArray) -> FloatArray:
        """Return the root."""
        return np.asarray(np.sqrt(mean))


@dataclass(frozen=True)
class MeanAbsolutePercentageError(_Regression):
    """Mean of |f - y| / |y|, a fraction and not a percentage.

    As in scikit-learn a target of 0 is taken as 2.2e-16, so one such row drowns all others.

    Examples
    --------
    >>> MeanAbsolutePercentageError().score(np.array([2.0, 4.0]), np.array([1.0, 5.0]))
    0.375
    """

    name = "mape"
    _function = "mean_absolute_percentage_error"

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return absolute errors as fractions of the target."""
        floor = np.maximum(np.abs(truth), np.finfo(np.float64).eps)
        return np.asarray(np.abs(predictions - truth) / floor)


@dataclass(frozen=True)
class SymmetricMeanAbsolutePercentageError(Pointwise):
    """Mean of 2 |f - y| / (|y| + |f|), between 0 and 2; a row where both are 0 counts 0.

    The definition of the M3 competition (Makridakis and Hibon 2000) as a fraction; sites that
    show it as a percentage show 100 times this.

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
        """Return twice the absolute error as a fraction of the sum of the magnitudes."""
        scale = np.abs(predictions) + np.abs(truth)
        error = np.abs(predictions - truth)
        return np.asarray(2.0 * np.divide(error, scale, out=np.zeros_like(scale), where=scale > 0))

    def _library_score(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any], weight: FloatArray | None
    ) -> float:
        values = self.row_values(truth, prediction[np.newaxis])[0]
        return float(np.average(values, weights=weight))


@dataclass(frozen=True)
class QuantileLoss(_Regression):
    """Pinball loss: least for the alpha quantile of the target (Koenker and Bassett 1978).

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
        require_inside(self.name, "alpha", self.alpha, 0, 1)

    @np.errstate(over="ignore")
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return alpha times what is missing, or 1 - alpha times what is too much."""
        missing = truth - predictions
        return np.asarray(np.maximum(self.alpha * missing, (self.alpha - 1.0) * missing))

    def _library_score(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any], weight: FloatArray | None
    ) -> float:
        from sklearn.metrics import mean_pinball_loss

        score: float = mean_pinball_loss(truth, prediction, sample_weight=weight, alpha=self.alpha)
        return score
