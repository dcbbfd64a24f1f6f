"""The best possible score in metrics other than the error rate.

The labels are treated as draws with the soft labels' probabilities; the predictor knows these but
no label. Log loss, Brier score and accuracy are exact expectations; the areas are those of the
expected labels. Beyond Ishida et al. (2023).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.evaluation.standard_errors import standard_error_of_mean
from arena.types import FloatArray
from arena_bayes_error.checks import as_rows, check_shares, check_unit
from arena_bayes_error.estimators import row_floor
from arena_bayes_error.sampling import group_codes


@dataclass(frozen=True, slots=True)
class MetricFloor:
    """The best expected score of a metric."""

    metric: str
    """The metric."""
    value: float
    """In the units of the metric."""
    standard_error: float | None
    """Standard error of the value over rows or groups; None if it is not a mean over rows."""


def best_score(
    metric: str,
    labels: npt.ArrayLike,
    labels_per_row: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
) -> MetricFloor:
    """Return the best expected score of a metric that :data:`METRIC_FLOORS` knows.

    Parameters
    ----------
    metric
        ``accuracy``, ``log_loss`` (natural logarithm), ``brier``, ``roc_auc`` or
        ``average_precision``; the last two for two classes only.
    labels
        ``(n,)`` probabilities of the positive class, or ``(n, n_classes)``. Some three arrays of
        their size are held.
    labels_per_row
        ``(n,)`` or one number, if the soft labels are proportions of m labels: c(1 - c) of a
        proportion is too small by the factor (m - 1)/m, and the Brier score is corrected for it.
        Only for ``brier``: no unbiased estimate is known for the other metrics.
    clusters
        ``(n,)`` the group of each row, if groups were sampled instead of rows.

    Raises
    ------
    UsageError
        If the metric is not supported, or the shapes do not fit.
    InputError
        If values are not probabilities; the message lists the rows.

    Examples
    --------
    >>> best_score("brier", [0.5, 1.0]).value, best_score("roc_auc", [0.5, 1.0]).value
    (0.125, 1.0)
    """
    checked_labels = _checked(labels)
    if labels_per_row is not None and metric != "brier":
        raise UsageError(f"The best possible {metric} is not available for shares of few labels.")
    if metric in _MEANS:
        rows = _MEANS[metric](checked_labels)
        if labels_per_row is not None:
            rows = rows * _of_few_labels(labels_per_row)
        error = standard_error_of_mean(rows, group_codes(clusters, len(rows)))
        value = float(rows.mean())
        score = 1 - value if metric == "accuracy" else value
        return MetricFloor(metric, score, error if np.isfinite(error) else None)
    if metric not in _RANKINGS:
        raise UsageError(
            f"The best possible score is available for {', '.join(METRIC_FLOORS)}, not {metric}."
        )
    if checked_labels.ndim == 2 and checked_labels.shape[1] > 2:
        raise UsageError(f"The best possible {metric} is available for two classes only.")
    positive = checked_labels[:, 1] if checked_labels.ndim == 2 else checked_labels
    return MetricFloor(metric, _RANKINGS[metric](positive), None)


def _checked(labels: npt.ArrayLike) -> FloatArray:
    array = as_rows(labels, "soft labels", (1, 2))
    if array.ndim == 2:
        check_shares(array, None)
    else:
        check_unit(array, "soft label", "It is the probability of the positive class.", None)
    return np.asarray(array, dtype=np.float64)


def _of_few_labels(labels_per_row: npt.ArrayLike) -> FloatArray:
    """Return the correction factor of c(1 - c) for a proportion of m labels."""
    m = np.asarray(labels_per_row, dtype=np.float64)
    if m.min() < 2:
        raise UsageError("The Brier score needs at least two labels in each row.")
    return np.asarray(m / (m - 1))


def error_against_soft_labels(
    predicted: npt.NDArray[np.intp], labels: npt.NDArray[np.float64]
) -> FloatArray:
    """Return the probability that each predicted class is wrong, ``(n,)``.

    Its mean is the error against the soft labels in closed form, which Ishida et al. (2023)
    approximate by sampling labels 20 times. It is not below the floor in any row.

    Parameters
    ----------
    predicted
        ``(n,)`` codes of classes; of two, 1 is the positive one.
    labels
        ``(n,)`` or ``(n, n_classes)`` soft labels.

    Examples
    --------
    >>> error_against_soft_labels(np.array([1, 0]), np.array([0.75, 0.75])).tolist()
    [0.25, 0.75]
    """
    if labels.ndim == 1:
        return np.where(predicted == 1, 1 - labels, labels)
    return np.asarray(1 - labels[np.arange(len(labels)), predicted])


def _entropy(labels: FloatArray) -> FloatArray:
    from scipy.special import entr

    classes = np.column_stack([1 - labels, labels]) if labels.ndim == 1 else labels
    return np.asarray(entr(classes).sum(axis=1))


def _variance(labels: FloatArray) -> FloatArray:
    """Return c(1-c) of two classes, and of several the sum of it over the classes."""
    if labels.ndim == 2 and labels.shape[1] == 2:
        labels = labels[:, 1]
    each = labels * (1 - labels)
    return each if each.ndim == 1 else np.asarray(each.sum(axis=1))


def _roc_auc(labels: FloatArray) -> float:
    """Return sum c_i (1 - c_j) [c_i > c_j, half for ties] / sum c_i (1 - c_j), over i != j."""
    from sklearn.metrics import roc_auc_score

    positive, negative = float(labels.sum()), float((1 - labels).sum())
    within_classes = float((labels * (1 - labels)).sum())
    truth, scores, weights = _weighted(labels)
    area = float(roc_auc_score(truth, scores, sample_weight=weights))
    return (area * positive * negative - within_classes / 2) / (
        positive * negative - within_classes
    )


def _average_precision(labels: FloatArray) -> float:
    from sklearn.metrics import average_precision_score

    truth, scores, weights = _weighted(labels)
    return float(average_precision_score(truth, scores, sample_weight=weights))


def _weighted(labels: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return each row twice: positive with weight c, negative with weight 1 - c."""
    if not 0 < float(labels.mean()) < 1:
        raise UsageError(
            "A ranking metric needs some rows that may be positive and some that may not."
        )
    truth = np.repeat([1.0, 0.0], len(labels))
    return truth, np.tile(labels, 2), np.concatenate([labels, 1 - labels])


_MEANS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "accuracy": row_floor,
    "log_loss": _entropy,
    "brier": _variance,
}
_RANKINGS: Mapping[str, Callable[[FloatArray], float]] = {
    "roc_auc": _roc_auc,
    "average_precision": _average_precision,
}
METRIC_FLOORS = (*_MEANS, *_RANKINGS)
"""The metrics whose best expected score is known."""
PROPER_SCORES = ("log_loss", "brier")
"""Those of them whose best prediction is the soft label itself, row by row."""
RANKINGS = tuple(_RANKINGS)
"""Those of them that depend on the order of the rows only."""
