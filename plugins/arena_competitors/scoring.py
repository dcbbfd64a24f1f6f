"""Scores single submissions thousands of times on the metric's fastest path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.interfaces import HasResample, HasRowValues, Metric

ScoreOf: TypeAlias = Callable[[npt.NDArray[Any], npt.NDArray[Any]], float]


def scorer(metric: Metric) -> ScoreOf:
    """Return a function of truth and prediction, ``(n,)`` each or with columns, to the score.

    Scores are rounded to 12 significant digits, as on the host.

    >>> from arena_metrics.pointwise import Accuracy
    >>> scorer(Accuracy())(np.array([0, 1, 1]), np.array([0, 1, 0]))
    0.666666666667
    """
    exact = _exact_scorer(metric)
    return lambda truth, prediction: _rounded(exact(truth, prediction))


def _rounded(score: float) -> float:
    return float(f"{score:.12g}")


def _exact_scorer(metric: Metric) -> ScoreOf:
    if isinstance(metric, HasRowValues):
        pointwise = metric
        return lambda truth, prediction: _from_mean(
            pointwise, float(pointwise.row_values(truth, prediction[np.newaxis]).mean())
        )
    if isinstance(metric, HasResample):
        weighted = metric
        return lambda truth, prediction: float(
            weighted.resample(
                truth, prediction[np.newaxis], np.ones((len(truth), 1), dtype=np.uint8)
            )[0, 0]
        )
    return lambda truth, prediction: float(metric.score(truth, prediction))


def _from_mean(metric: HasRowValues, mean: float) -> float:
    return float(metric.from_mean(np.array([mean]))[0])


def expected_score(
    metric: Metric, n_classes: int | None, n_rows: int
) -> Callable[[npt.NDArray[Any]], float] | None:
    """Return a function from a prediction to its expected score under random labels.

    Exact for a metric that is a mean over rows; otherwise, or without classes, None.

    >>> from arena_metrics.pointwise import Accuracy
    >>> expected = expected_score(Accuracy(), 4, 100)
    >>> expected(np.zeros(100, dtype=int)) if expected else None
    0.25
    """
    if n_classes is None or not isinstance(metric, HasRowValues):
        return None
    pointwise = metric
    every_label = [np.full(n_rows, label) for label in range(n_classes)]

    def expected(prediction: npt.NDArray[Any]) -> float:
        block = prediction[np.newaxis]
        means = [float(pointwise.row_values(truth, block).mean()) for truth in every_label]
        return _rounded(_from_mean(pointwise, sum(means) / len(means)))

    return expected
