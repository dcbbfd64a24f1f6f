"""Preparation of rows shared by the metrics: weights, class codes, positive rows, bound metrics."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.types import FloatArray

_Metric = TypeVar("_Metric")
_Rows = tuple[npt.NDArray[Any], npt.NDArray[Any], FloatArray | None]


def drawn_rows(
    truth: npt.NDArray[Any],
    prediction: npt.NDArray[Any],
    weight: npt.NDArray[Any] | None,
) -> _Rows:
    """Return the rows with positive weight: a class whose rows all have weight 0 does not occur.

    The weight is float64, as scikit-learn expects, or None if every row counts once.
    """
    if weight is None:
        return truth, prediction, None
    drawn = np.asarray(weight) > 0
    if drawn.all():
        return truth, prediction, np.asarray(weight, dtype=np.float64)
    return truth[drawn], prediction[drawn], np.asarray(weight[drawn], dtype=np.float64)


def is_constant(values: npt.NDArray[Any]) -> bool:
    """Return whether all values are equal; True if there are none.

    >>> is_constant(np.array([1.0, 1.0])), is_constant(np.array([1.0, 2.0]))
    (True, False)
    """
    return values.size == 0 or bool((values == values[0]).all())


def as_codes(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return class codes as integers; they may be stored as floats."""
    return np.ascontiguousarray(values, dtype=np.int64)


def floats(values: npt.NDArray[Any]) -> FloatArray:
    """Return values as float64 without gaps, as kernels read them."""
    return np.ascontiguousarray(values, dtype=np.float64)


def as_matrix(rows: list[FloatArray]) -> FloatArray:
    """Stack m rows to ``(m, n)``; a single row, as in the release of a score, is not copied."""
    return rows[0][np.newaxis] if len(rows) == 1 else np.stack(rows)


def positive_rows(metric: str, truth: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return where the truth is the positive class (code 1 of two classes).

    Raises
    ------
    MetricError
        If there are more than two classes.
    """
    if truth.size and truth.max() > 1:
        raise MetricError(
            f"The metric {metric!r} is defined for two classes, and the solution has more. "
            f"Choose one that has an average over classes, such as roc_auc or f1(average=macro)."
        )
    return np.asarray(truth == 1)


def bound_copy(metric: _Metric, **members: Any) -> _Metric:
    """Return a copy of a frozen metric with members that depend on the rows or on their labels.

    >>> from arena_metrics.classification import QuadraticWeightedKappa
    >>> bound_copy(QuadraticWeightedKappa(), _values=(0.0, 2.0))._values
    (0.0, 2.0)
    """
    changed = copy.copy(metric)
    for name, value in members.items():
        object.__setattr__(changed, name, value)
    return changed
