"""Detects boards whose best area under the ROC curve is far below that of random predictions."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from arena.types import Solution

_AREAS = ("roc_auc", "sklearn:roc_auc_score")
_GUESSING, _FAR = 0.5, 4.0
"""The area of random predictions, and the distance that counts as far, in standard errors."""


def may_be_reversed(metric: str, best: float | None) -> bool:
    """Return whether the best score is an area below that of random predictions.

    Only then :func:`reversed_board` needs the rows.

    >>> may_be_reversed("roc_auc", 0.4), may_be_reversed("roc_auc", 0.6)
    (True, False)
    """
    return best is not None and best < _GUESSING and metric.partition("(")[0] in _AREAS


def reversed_board(
    metric: str, best: float | None, solution: Solution, rows: npt.NDArray[np.bool_]
) -> str | None:
    """Return a warning if the best area under the ROC curve is far below 0.5, or None.

    The standard error is that of random predictions, sqrt((a + b + 1) / (12 a b)) for a positive
    and b negative rows.

    Parameters
    ----------
    metric
        The specification of the metric.
    best
        The best score on these rows.
    rows
        ``(n,)`` mask.
    """
    target = solution.targets[0]
    binary = len(solution.targets) == 1 and target.classes and len(target.classes) == 2
    if best is None or not binary or not may_be_reversed(metric, best):
        return None
    positive = int((solution.truth[rows] == 1).sum())
    negative = int(rows.sum()) - positive
    if not positive or not negative:
        return None
    error = math.sqrt((positive + negative + 1) / (12 * positive * negative))
    if best >= _GUESSING - _FAR * error:
        return None
    classes = target.classes or ()
    return (
        f"Flipped? The best score is {best:.3f}, but random predictions have 0.5. The teams may "
        f"have predicted {classes[0]}: column {solution.columns[0]} is P({classes[1]}), unless "
        f"--positive selects the other class."
    )
