"""Small preparations that the metrics share: rows with weight, codes, positives."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.types import FloatArray

__all__ = ["as_codes", "as_matrix", "constant", "drawn_rows", "positive_rows"]

_Rows = tuple[npt.NDArray[Any], npt.NDArray[Any], FloatArray | None]


def drawn_rows(
    truth: npt.NDArray[Any],
    prediction: npt.NDArray[Any],
    weight: npt.NDArray[Any] | None,
) -> _Rows:
    """Return the rows of positive weight: a row of weight 0 must not count as a class seen.

    The weight is float64, as scikit-learn wants it, or None if every row counts once.
    """
    if weight is None:
        return truth, prediction, None
    drawn = np.asarray(weight) > 0
    if drawn.all():
        return truth, prediction, np.asarray(weight, dtype=np.float64)
    return truth[drawn], prediction[drawn], np.asarray(weight[drawn], dtype=np.float64)


def constant(values: npt.NDArray[Any]) -> bool:
    """Return whether there is no row, or all rows are equal.

    >>> constant(np.array([1.0, 1.0])), constant(np.array([1.0, 2.0]))
    (True, False)
    """
    return values.size == 0 or bool((values == values[0]).all())


def as_codes(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return class codes as integers, wherever they were stored as floats."""
    return np.ascontiguousarray(values, dtype=np.int64)


def as_matrix(rows: list[FloatArray]) -> FloatArray:
    """Return ``(m, n)`` of m rows; a single one, as a release asks for, is not copied."""
    return rows[0][np.newaxis] if len(rows) == 1 else np.stack(rows)


def positive_rows(metric: str, truth: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return where the truth is the positive class, code 1 of two.

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
