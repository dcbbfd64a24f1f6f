"""How much a row of each class can change a score of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import ScoringError
from arena.evaluation.black_box import UNDEFINED
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores
from arena.interfaces import Metric
from arena.types import FloatArray, PredictionKind

_MOST_VALUES = 4e6


def class_weights(metric: Metric, truth: npt.NDArray[Any]) -> FloatArray | None:
    """Return ``(n,)`` changes of a score per row of each class, from the metric itself.

    All rows are right, and then those of a class get the label of the next class; each of them has
    an equal share of the difference of the two scores. In the balanced accuracy of K classes, the
    share of a row in a class of r rows is ``1 / (K r)``: a wrong row of a rare class costs much,
    and the few rows that the class has may not show one.

    Parameters
    ----------
    metric
        Bound to the rows, if it needs that.
    truth
        ``(n,)`` codes.

    Returns
    -------
    None for predictions other than labels and class probabilities, where more than ``4e6`` of them
    would be scored, and where the metric fails on them.

    Examples
    --------
    >>> from arena.plugin.manager import PluginManager
    >>> balanced = PluginManager().metrics.resolve("balanced_accuracy")
    >>> truth = np.array([0, 0, 1, 1, 1, 1, 2, 2])
    >>> class_weights(balanced, truth).round(3)[[0, 2, 6]].tolist()
    [0.167, 0.083, 0.167]
    """
    codes, of_row, sizes = np.unique(truth, return_inverse=True, return_counts=True)
    k = len(codes)
    probable = metric.prediction in (PredictionKind.CLASS_PROBABILITIES, PredictionKind.SCORE)
    width = int(codes[-1]) + 1 if probable and k > 2 else 1
    if not (probable or metric.prediction is PredictionKind.LABEL):
        return None
    if (k + 1) * len(truth) * width > _MOST_VALUES:
        return None
    changed = np.tile(truth, (k + 1, 1))
    for code in range(k):
        changed[code, of_row == code] = codes[(code + 1) % k]
    predictions = np.eye(width)[changed] if width > 1 else changed
    failures: list[tuple[int, ScoringError]] = []
    try:
        scores = full_scores(metric, truth, ArrayPredictions(predictions), failures=failures)
    except UNDEFINED:
        return None
    if not np.isfinite(scores).all():
        return None
    return np.asarray((np.abs(scores[-1] - scores[:-1]) / sizes)[of_row])
