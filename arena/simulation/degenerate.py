"""Finds boards on which a ranking has no meaning: ties, and nothing better than a constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import score_under_weights
from arena.interfaces import HasResample, HasRowValues, Metric
from arena.types import FloatArray, PredictionKind, WeightArray
from arena.utils.text import plural

_SHARE_TIED = 0.5
_MOST_LABELS = 20


def best_constant_score(
    metric: Metric,
    truth: npt.NDArray[Any],
    n_classes: int | None,
    *,
    kind: PredictionKind | None = None,
    weights: WeightArray | None = None,
) -> float | None:
    """Return the best score of a submission that predicts the same for every row.

    Labels: each of the labels; probabilities: the class frequencies; numbers: the mean and the
    median.

    Parameters
    ----------
    metric
        Bound to the rows if it needs that.
    truth
        ``(n,)`` codes or numbers.
    n_classes
        None: the target is a number.
    kind
        What is submitted; None: the metric's own kind.
    weights
        ``(n, 1)`` weights of the rows; None: each counts once.

    Returns
    -------
    None for several targets, texts, many labels, and metrics that can only be called as a whole.

    Examples
    --------
    >>> from arena_metrics.pointwise import Accuracy
    >>> best_constant_score(Accuracy(), np.array([0, 1, 1, 1]), 2)
    0.75
    """
    kind = kind or metric.prediction
    if truth.ndim != 1 or not isinstance(metric, HasRowValues | HasResample):
        return None
    weights = np.ones((len(truth), 1), dtype=np.uint8) if weights is None else weights
    constants: list[npt.NDArray[Any]]
    if n_classes is None:
        if kind is not PredictionKind.VALUE:
            return None
        constants = [np.full(len(truth), value) for value in (truth.mean(), np.median(truth))]
    else:
        counts = np.bincount(truth.astype(np.intp), weights[:, 0], minlength=n_classes)
        frequencies = counts / counts.sum()
        if kind is PredictionKind.LABEL and n_classes <= _MOST_LABELS:
            constants = [np.full(len(truth), code, dtype=np.intp) for code in range(n_classes)]
        elif kind in (PredictionKind.PROBABILITY, PredictionKind.SCORE) and n_classes == 2:
            constants = [np.full(len(truth), frequencies[1])]
        elif kind is PredictionKind.CLASS_PROBABILITIES:
            constant = frequencies if n_classes > 2 else frequencies[1]
            constants = [np.broadcast_to(constant, (len(truth), *np.shape(constant))).copy()]
        else:
            return None
    scores = score_under_weights(metric, truth, ArrayPredictions(np.stack(constants)), weights)
    finite = scores[np.isfinite(scores)]
    if not len(finite):
        return None
    return float(finite.max() if metric.greater_is_better else finite.min())


def degenerate_board(
    scores: FloatArray, constant: float | None, *, greater_is_better: bool
) -> str | None:
    """Return why a ranking of these scores has no meaning, as a sentence; None: it has one.

    Parameters
    ----------
    scores
        ``(m,)``.
    constant
        See :func:`best_constant_score`.

    Examples
    --------
    >>> degenerate_board(np.array([0.0, 0.0, 0.0]), None, greater_is_better=True)
    '3 of 3 submissions share the best score, 0.'
    >>> degenerate_board(np.array([0.7, 0.6]), 0.8, greater_is_better=True)
    'No submission scores better than a constant prediction (0.7 against 0.8).'
    >>> degenerate_board(np.array([0.9, 0.6]), 0.8, greater_is_better=True) is None
    True
    """
    best = float(scores.max() if greater_is_better else scores.min())
    if constant is not None and not (best > constant if greater_is_better else best < constant):
        return (
            f"No submission scores better than a constant prediction ({best:.4g} against "
            f"{constant:.4g})."
        )
    tied = int((scores == best).sum())
    if tied >= max(2, _SHARE_TIED * len(scores)):
        return f"{tied:,} of {plural(len(scores), 'submission')} share the best score, {best:.4g}."
    return None
