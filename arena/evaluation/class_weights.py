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


def class_weights(
    metric: Metric, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
) -> FloatArray | None:
    """Return ``(n,)`` changes of a score of labels per row, from the metric itself.

    All rows of a class get the right label, and then that of the next class; each row has an equal
    share of the difference of the two scores. In the balanced accuracy of K classes, the share of a
    row in a class of r rows is ``1 / (K r)``: a wrong row of a rare class costs much, and the few
    rows that the class has may not show one.

    Parameters
    ----------
    metric
        Bound to the rows, if it needs that.
    truth
        ``(n,)`` codes.
    prediction
        ``(n,)`` codes: a typical submission, which keeps its predictions of the other classes.

    Returns
    -------
    None for predictions other than labels, where more than ``4e6`` of them would be scored, and
    where the metric fails on them.

    Examples
    --------
    >>> from arena.plugin.manager import PluginManager
    >>> balanced = PluginManager().metrics.resolve("balanced_accuracy")
    >>> truth = np.array([0, 0, 1, 1, 1, 1, 2, 2])
    >>> class_weights(balanced, truth, np.zeros(8, dtype=int)).round(3)[[0, 2, 6]].tolist()
    [0.167, 0.083, 0.167]
    """
    codes, of_row, sizes = np.unique(truth, return_inverse=True, return_counts=True)
    k = len(codes)
    if metric.prediction is not PredictionKind.LABEL or 2 * k * len(truth) > _MOST_VALUES:
        return None
    changed = np.tile(prediction, (2, k, 1))
    for at in range(k):
        changed[:, at, of_row == at] = codes[[[at], [(at + 1) % k]]]
    failures: list[tuple[int, ScoringError]] = []
    submissions = ArrayPredictions(changed.reshape(2 * k, -1))
    try:
        scores = full_scores(metric, truth, submissions, failures=failures)
    except UNDEFINED:
        return None
    if not np.isfinite(scores).all():
        return None
    right, wrong = scores.reshape(2, k)
    return np.asarray((np.abs(right - wrong) / sizes)[of_row])
