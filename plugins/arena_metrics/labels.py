"""Metrics of predicted labels beyond accuracy: functions of the confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, MetricTraits, WeightArray
from arena_metrics.confusion import FunctionOfConfusion
from arena_metrics.parameters import require_choice
from arena_metrics.rows import positive_rows

__all__ = ["F1", "BalancedAccuracy", "Matthews", "QuadraticWeightedKappa"]


def _diagonal(matrix: Any) -> Any:
    """Return the ``(n_classes, ...)`` diagonal, classes first."""
    return np.moveaxis(np.diagonal(matrix), -1, 0)


def _mean_where(values: Any, counted: Any, weight: Any = 1.0) -> Any:
    """Return the weighted mean over the classes that count; NaN if none does."""
    weights = np.where(counted, weight, 0.0)
    return (np.where(counted, values, 0.0) * weights).sum(axis=0) / weights.sum(axis=0)


@dataclass(frozen=True)
class BalancedAccuracy(FunctionOfConfusion):
    """The mean over the true classes of the share of their rows that was found.

    Examples
    --------
    >>> BalancedAccuracy().score(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    0.5
    """

    name = "balanced_accuracy"

    def of_confusion(self, matrix: Any) -> Any:
        """Return the mean recall of the classes that have rows."""
        rows = matrix.sum(axis=1)
        return _mean_where(_diagonal(matrix) / rows, rows.real > 0)

    def _library_score(
        self,
        truth: npt.NDArray[np.int64],
        prediction: npt.NDArray[np.int64],
        weight: FloatArray | None,
    ) -> float:
        from sklearn.metrics import recall_score

        score: float = recall_score(
            truth, prediction, labels=np.unique(truth), average="macro", sample_weight=weight
        )
        return score


@dataclass(frozen=True)
class F1(FunctionOfConfusion):
    """Harmonic mean of precision and recall: 2 TP / (2 TP + FP + FN).

    Parameters
    ----------
    average
        ``binary``: of the positive class of two. With more classes: ``macro``, the mean over the
        classes that occur in truth or predictions; ``weighted``, that mean weighted by true rows;
        ``micro``, from the totals, which is the accuracy.

    Notes
    -----
    ``binary`` is undefined (NaN) where the positive class neither occurs nor is predicted. The
    default is not chosen by the number of classes: a resample that happens to lack the third
    class must not change the metric.

    Examples
    --------
    >>> F1().score(np.array([0, 1, 1]), np.array([1, 1, 0]))
    0.5
    >>> round(F1(average="macro").score(np.array([0, 1, 2, 2]), np.array([0, 1, 1, 2])), 6)
    0.777778
    """

    average: str = "binary"

    name = "f1"

    def __post_init__(self) -> None:
        choices = ("binary", "macro", "micro", "weighted")
        require_choice(self.name, "average", self.average, choices)

    @property
    def traits(self) -> MetricTraits:
        """``binary`` is for two classes."""
        classes = 2 if self.average == "binary" else None
        return MetricTraits(score_range=(0.0, 1.0), max_classes=classes)

    def of_confusion(self, matrix: Any) -> Any:
        """Return the F1 of the positive class, or its average over the classes."""
        hits, rows = _diagonal(matrix), matrix.sum(axis=1)
        doubled = rows + matrix.sum(axis=0)
        if self.average == "binary":
            return 2.0 * hits[1] / doubled[1]
        if self.average == "micro":
            return 2.0 * hits.sum(axis=0) / doubled.sum(axis=0)
        weight = rows if self.average == "weighted" else 1.0
        return _mean_where(2.0 * hits / doubled, doubled.real > 0, weight)

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of weights; NaN where undefined.

        Raises
        ------
        MetricError
            If there are more than two classes and the average is ``binary``.
        """
        self._check(truth)
        return super().resample(truth, predictions, weights)

    def _check(self, truth: npt.NDArray[Any]) -> None:
        if self.average == "binary":
            positive_rows(self.name, truth)

    def _library_score(
        self,
        truth: npt.NDArray[np.int64],
        prediction: npt.NDArray[np.int64],
        weight: FloatArray | None,
    ) -> float:
        from sklearn.metrics import f1_score

        self._check(truth)
        score: float = f1_score(
            truth, prediction, average=self.average, sample_weight=weight, zero_division=np.nan
        )
        return score


@dataclass(frozen=True)
class Matthews(FunctionOfConfusion):
    """Matthews' correlation coefficient, for two or more classes (Gorodkin 2004).

    0 where truth or predictions are all of one class, the convention of scikit-learn.

    Examples
    --------
    >>> Matthews().score(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0])).__round__(6)
    0.57735
    """

    name = "mcc"

    def of_confusion(self, matrix: Any) -> Any:
        """Return the covariance of truth and predictions over the root of their variances."""
        true, predicted = matrix.sum(axis=1), matrix.sum(axis=0)
        total = true.sum(axis=0)
        covariance = _diagonal(matrix).sum(axis=0) * total - (true * predicted).sum(axis=0)
        spread = (total**2 - (true**2).sum(axis=0)) * (total**2 - (predicted**2).sum(axis=0))
        return np.where(spread.real > 0, covariance / np.sqrt(spread), 0.0)

    def _library_score(
        self,
        truth: npt.NDArray[np.int64],
        prediction: npt.NDArray[np.int64],
        weight: FloatArray | None,
    ) -> float:
        from sklearn.metrics import matthews_corrcoef

        if np.unique(truth).size < 2 or np.unique(prediction).size < 2:
            return 0.0
        score: float = matthews_corrcoef(truth, prediction, sample_weight=weight)
        return score


@dataclass(frozen=True)
class QuadraticWeightedKappa(FunctionOfConfusion):
    """Cohen's kappa with disagreements weighted by the squared distance of the classes (1968).

    The distance is that of the places of the labels in sorted order, counting those that do not
    occur. NaN if truth and predictions are all of one and the same class.

    Examples
    --------
    >>> QuadraticWeightedKappa().score(np.array([0, 1, 2]), np.array([0, 2, 2])).__round__(6)
    0.8
    """

    name = "quadratic_weighted_kappa"

    def of_confusion(self, matrix: Any) -> Any:
        """Return 1 - observed disagreement / that of independent labels."""
        places = np.arange(len(matrix), dtype=np.float64)
        distance = np.square(np.subtract.outer(places, places))
        true, predicted = matrix.sum(axis=1), matrix.sum(axis=0)
        expected = np.einsum("ij,i...,j...->...", distance, true, predicted)
        observed = np.einsum("ij,ij...->...", distance, matrix)
        return 1.0 - observed * true.sum(axis=0) / expected

    def _library_score(
        self,
        truth: npt.NDArray[np.int64],
        prediction: npt.NDArray[np.int64],
        weight: FloatArray | None,
    ) -> float:
        from sklearn.metrics import cohen_kappa_score

        if np.unique(np.r_[truth, prediction]).size < 2:
            return np.nan
        labels = np.arange(max(truth.max(), prediction.max()) + 1)
        score: float = cohen_kappa_score(
            truth, prediction, labels=labels, weights="quadratic", sample_weight=weight
        )
        return score
