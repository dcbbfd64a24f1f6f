"""Metrics of predicted labels beyond accuracy: functions of the confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from arena.intake.cells import merge_equal_numbers
from arena.types import MetricTraits
from arena_metrics.confusion import FunctionOfConfusion
from arena_metrics.parameters import require_choice
from arena_metrics.rows import bound_copy, positive_rows


def _diagonal(matrix: Any) -> Any:
    """Return the ``(n_classes, ...)`` diagonal, classes first."""
    return np.moveaxis(np.diagonal(matrix), -1, 0)


def _mean_where(values: Any, counted: Any, weight: Any = 1.0) -> Any:
    """Return the weighted mean over the classes in ``counted``; NaN if there are none."""
    weights = np.where(counted, weight, 0.0)
    return (np.where(counted, values, 0.0) * weights).sum(axis=0) / weights.sum(axis=0)


@dataclass(frozen=True)
class BalancedAccuracy(FunctionOfConfusion):
    """Balanced accuracy: the mean recall of the classes that occur in the truth.

    Examples
    --------
    >>> BalancedAccuracy().score(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    0.5
    """

    name = "balanced_accuracy"

    @property
    def traits(self) -> MetricTraits:
        """A mean of recalls."""
        return MetricTraits(score_range=(0.0, 1.0))

    def from_confusion(self, matrix: Any) -> Any:
        """Return the mean recall of the classes that have rows."""
        rows = matrix.sum(axis=1)
        return _mean_where(_diagonal(matrix) / rows, rows.real > 0)


@dataclass(frozen=True)
class F1(FunctionOfConfusion):
    """Harmonic mean of precision and recall: 2 TP / (2 TP + FP + FN).

    Parameters
    ----------
    average
        ``binary``: F1 of the positive class, for two classes. For more classes: ``macro``, the
        mean over the classes that occur in truth or predictions; ``weighted``, the mean weighted
        by the number of true rows; ``micro``, from the total counts, which equals the accuracy.

    Notes
    -----
    ``binary`` is undefined (NaN) if the positive class neither occurs nor is predicted. The
    average does not depend on the number of classes found: a bootstrap draw without the third
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
        """``binary`` requires two classes."""
        classes = 2 if self.average == "binary" else None
        return MetricTraits(
            score_range=(0.0, 1.0), max_classes=classes, for_more_classes="f1(average=macro)"
        )

    def from_confusion(self, matrix: Any) -> Any:
        """Return the F1 of the positive class, or its average over the classes.

        Raises
        ------
        MetricError
            If there are more than two classes and the average is ``binary``.
        """
        if self.average == "binary":
            positive_rows(self.name, np.arange(len(matrix)))
        hits, rows = _diagonal(matrix), matrix.sum(axis=1)
        doubled = rows + matrix.sum(axis=0)
        if self.average == "binary":
            return 2.0 * hits[1] / doubled[1]
        if self.average == "micro":
            return 2.0 * hits.sum(axis=0) / doubled.sum(axis=0)
        weight = rows if self.average == "weighted" else 1.0
        return _mean_where(2.0 * hits / doubled, doubled.real > 0, weight)


@dataclass(frozen=True)
class Matthews(FunctionOfConfusion):
    """Matthews' correlation coefficient, for two or more classes (Gorodkin 2004).

    0 if truth or predictions contain one class only, as in scikit-learn.

    Examples
    --------
    >>> Matthews().score(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0])).__round__(6)
    0.57735
    """

    name = "mcc"

    def from_confusion(self, matrix: Any) -> Any:
        """Return the covariance of truth and predictions over the square root of the variances."""
        true, predicted = matrix.sum(axis=1), matrix.sum(axis=0)
        total = true.sum(axis=0)
        covariance = _diagonal(matrix).sum(axis=0) * total - (true * predicted).sum(axis=0)
        spread = (total**2 - (true**2).sum(axis=0)) * (total**2 - (predicted**2).sum(axis=0))
        return np.where(spread.real > 0, covariance / np.sqrt(spread), 0.0)


@dataclass(frozen=True)
class QuadraticWeightedKappa(FunctionOfConfusion):
    """Cohen's kappa with disagreements weighted by the squared distance of the classes.

    Cohen (1968). Distances are differences of the labels if these are numbers, else of their
    positions among the declared labels. NaN if truth and predictions all have the same class.

    Examples
    --------
    >>> QuadraticWeightedKappa().score(np.array([0, 1, 2]), np.array([0, 2, 2])).__round__(6)
    0.8
    >>> metric = QuadraticWeightedKappa().for_classes(("0", "2", "10"))
    >>> metric.score(np.array([0, 1, 2]), np.array([0, 2, 2])).__round__(6)
    0.555556
    """

    _values: tuple[float, ...] = field(default=(), init=False, repr=False)
    """The value of each class; empty: its code."""

    name = "quadratic_weighted_kappa"

    @property
    def traits(self) -> MetricTraits:
        """The order of the labels counts."""
        return replace(super().traits, ordered_classes=True)

    def for_classes(self, classes: Sequence[str]) -> QuadraticWeightedKappa:
        """Return the metric with the distances of these labels."""
        numbers = merge_equal_numbers(classes)
        values = range(len(classes)) if numbers is None else (numbers[name] for name in classes)
        return bound_copy(self, _values=tuple(map(float, values)))

    def from_confusion(self, matrix: Any) -> Any:
        """Return 1 - observed disagreement / disagreement expected under independence."""
        values = np.array(self._values[: len(matrix)] or range(len(matrix)), dtype=np.float64)
        distance = np.square(np.subtract.outer(values, values))
        true, predicted = matrix.sum(axis=1), matrix.sum(axis=0)
        expected = np.einsum("ij,i...,j...->...", distance, true, predicted)
        observed = np.einsum("ij,ij...->...", distance, matrix)
        return 1.0 - observed * true.sum(axis=0) / expected
