"""Encodes guessed labels as submissions, and computes the scores to expect from guesses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.interfaces import Metric, Participation
from arena.types import IntArray, PredictionKind
from arena_competitors.scoring import scorer

_CONFIDENCE = 0.75
"""The probability given to a guessed label: moderate, so that a wrong guess is not too costly."""
_PROBABILITIES = (PredictionKind.PROBABILITY, PredictionKind.CLASS_PROBABILITIES)


def takes_numbers(participation: Participation) -> bool:
    """Return whether a submission holds numbers for a target of numbers."""
    is_text = participation.metric.prediction is PredictionKind.TEXT
    return participation.n_classes is None and not is_text


def needs_classes(attack: str, participation: Participation) -> int:
    """Return the number of classes.

    Raises
    ------
    UsageError
        If the metric takes numbers or texts.
    """
    if participation.n_classes is None or participation.metric.prediction is PredictionKind.TEXT:
        raise UsageError(
            f"{attack} guesses labels, but {participation.metric.name} has no labels: use a metric "
            f"of classes, such as accuracy."
        )
    return participation.n_classes


def encode(codes: IntArray, metric: Metric, n_classes: int) -> npt.NDArray[Any]:
    """Return guessed codes ``(n,)`` as a submission of the metric's kind.

    Labels stay codes; a probability is 0.75 for the guessed class; a score is 1 for it.

    >>> from arena_metrics.pointwise import LogLoss
    >>> encode(np.array([0, 1]), LogLoss(), 2)
    array([0.25, 0.75])
    """
    if metric.prediction is PredictionKind.LABEL:
        return codes
    guessed = _CONFIDENCE if metric.prediction in _PROBABILITIES else 1.0
    others = (1.0 - guessed) / (n_classes - 1)
    if n_classes == 2:
        return np.where(codes == 1, guessed, others)
    prediction = np.full((len(codes), n_classes), others)
    prediction[np.arange(len(codes)), codes] = guessed
    return prediction


def random_codes(participation: Participation, rng: np.random.Generator) -> IntArray:
    """Return ``(n_rows,)`` codes, uniform over the classes."""
    n_rows, n_classes = participation.n_rows, participation.n_classes or 2
    if n_classes == 2:  # eight rows to a byte
        bits = np.unpackbits(rng.integers(0, 256, n_rows // 8 + 1, dtype=np.uint8))
        return bits[:n_rows].astype(np.intp)
    return rng.integers(0, n_classes, n_rows)


def right_and_wrong(metric: Metric, n_classes: int) -> tuple[float, float]:
    """Return the scores of a submission that is always right and of one that is always wrong.

    >>> from arena_metrics.pointwise import Accuracy
    >>> right_and_wrong(Accuracy(), 3)
    (1.0, 0.0)
    """
    truth = np.repeat(np.arange(n_classes), 2)
    guesses = (truth, (truth + 1) % n_classes)
    score = scorer(metric)
    right, wrong = (score(truth, encode(codes, metric, n_classes)) for codes in guesses)
    return right, wrong


def chance_score(metric: Metric, n_classes: int) -> float:
    """Return the expected score of a random guess.

    >>> from arena_metrics.pointwise import Accuracy
    >>> chance_score(Accuracy(), 4)
    0.25
    """
    right, wrong = right_and_wrong(metric, n_classes)
    return right / n_classes + wrong * (1 - 1 / n_classes)


def is_better(score: float, other: float, metric: Metric) -> bool:
    """Return whether a score is better than another, in the metric's direction."""
    return score > other if metric.greater_is_better else score < other
