"""The rows of a competition, with its own labels, for attacks before its launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import InputError
from arena.interfaces import Metric, NeedsRowContext
from arena.types import PredictionKind, Solution, Usage
from arena_competitors.rows import Rows, constant_prediction

__all__ = ["competition_rows"]


def competition_rows(solution: Solution, metric: Metric) -> Rows:
    """Return the public rows of a solution to be attacked, and its private rows to judge by.

    The baseline is a submission that knows nothing, as ``sample_submission.csv`` is one. Where
    the true score is asked for, the private rows stand for it.

    Raises
    ------
    InputError
        If there are several targets, too few public or private rows, or the metric must know more
        of the rows than their truth.
    """
    if len(solution.targets) != 1:
        raise InputError("Attacks are run on solutions with one target; this one has several.")
    if isinstance(metric, NeedsRowContext) or metric.prediction is PredictionKind.TEXT:
        raise InputError(f"There is no attack on {metric.name}: it must know more of the rows.")
    public, private = (_positions(solution, usage) for usage in (Usage.PUBLIC, Usage.PRIVATE))
    if len(public) < 2 or len(private) < 2:
        raise InputError(
            "An attack needs at least two public rows to be led by, and two private ones to be "
            "judged by."
        )
    classes = solution.targets[0].classes
    n_classes = None if classes is None else len(classes)
    truth: npt.NDArray[Any] = solution.truth.reshape(solution.n_rows)
    return Rows(
        metric=metric,
        n_classes=n_classes,
        n_rows=solution.n_rows,
        public=public,
        public_truth=truth[public],
        hidden=private,
        hidden_truth=truth[private],
        baseline=constant_prediction(
            metric, solution.n_rows, n_classes, mean=_mean(truth[public], n_classes)
        ),
    )


def _positions(solution: Solution, usage: Usage) -> npt.NDArray[np.intp]:
    return np.flatnonzero(solution.usage == np.uint8(usage))


def _mean(truth: npt.NDArray[Any], n_classes: int | None) -> float:
    return 0.0 if n_classes else float(truth.mean())
