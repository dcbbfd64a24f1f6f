"""The Bayes error of a leaderboard, the headroom above it, and submissions below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.evaluation.best_score import MOST_DRAWS, CorrectedBest, Draws, corrected_best_on
from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.score_intervals import errors_of_means
from arena.evaluation.standard_errors import standard_error_of_mean
from arena.interfaces import HasRowValues, Study
from arena.types import FloatArray, IntArray, PredictionKind, WeightArray
from arena_bayes_error.best_scores import (
    METRIC_FLOORS,
    PROPER_SCORES,
    RANKINGS,
    MetricFloor,
    best_score,
    error_against_soft_labels,
)
from arena_bayes_error.estimate import BayesErrorEstimate, Options
from arena_bayes_error.estimators import from_soft_labels, row_floor
from arena_bayes_error.floor_check import (
    FloorCheck,
    LabelCheck,
    check_against_floor,
    check_labels,
)

_BLOCK = 64
BYTES_OF_DRAWS = 500_000_000
"""Of the weights of draws that are held together, each as one byte, as a mask and in float32."""


@dataclass(frozen=True, slots=True, eq=False)
class BoardErrors:
    """The error rates of m submissions, and which of them are implausibly low."""

    against_labels: FloatArray
    """``(m,)`` error rate against the labels."""
    against_soft: FloatArray
    """``(m,)`` expected error rate against the soft labels, in closed form."""
    headroom: CorrectedBest
    """Headroom of the best submission: its error against the soft labels minus the floor."""
    check: FloorCheck
    """Of the errors against the labels."""


@dataclass(frozen=True, slots=True, eq=False)
class BoardFloor:
    """The consequences of the soft labels for a leaderboard."""

    floor: BayesErrorEstimate
    """The lowest error rate on rows like the ranked ones."""
    metric: MetricFloor | None
    """The best expected score in the board's metric, if it is known."""
    labels: LabelCheck
    """Whether the labels fit the soft labels."""
    errors: BoardErrors | None
    """None if predictions are scores without a threshold instead of classes."""


def floor_of_study(study: Study, rng: np.random.Generator) -> BoardFloor | None:
    """Return the floor of a board, or None where it has no soft labels.

    Holds ``(m, n)`` float32, 240 MB for 3,000 submissions of 20,000 rows.
    """
    if study.soft_labels is None:
        return None
    options = Options(level=study.level, rng=rng)
    if study.clusters is not None:
        options["clusters"] = study.clusters
    floor = from_soft_labels(study.soft_labels, **options)
    labels = check_labels(study.truth, study.soft_labels, study.clusters)
    return BoardFloor(floor, metric_floor(study), labels, _errors(study, rng))


def metric_floor(study: Study) -> MetricFloor | None:
    """Return the best expected score in the board's metric; None where it is not known.

    A proper score is computed by the metric itself, with the soft labels as predictions, so that
    its parameters (such as a clip) are included.
    """
    soft, metric = study.soft_labels, study.metric
    if soft is None or metric.name not in METRIC_FLOORS:
        return None
    if metric.name in PROPER_SCORES and isinstance(metric, HasRowValues):
        values = _expected_values(metric, soft)
        error = standard_error_of_mean(values, study.clusters)
        return MetricFloor(metric.name, float(values.mean()), error)
    several = soft.ndim == 2 and soft.shape[1] > 2
    if metric.name in RANKINGS and (several or not 0 < float(_positive(soft).mean()) < 1):
        return None
    return best_score(metric.name, soft, clusters=study.clusters)


def _expected_values(metric: HasRowValues, soft: FloatArray) -> FloatArray:
    """Return ``(n,)`` row values of the soft labels themselves, expected over the labels."""
    two = soft.ndim == 1 or soft.shape[1] == 2
    predictions = _positive(soft) if two else soft
    chances = np.column_stack([1 - predictions, predictions]) if two else soft
    values = np.zeros(len(soft))
    for code, chance in enumerate(chances.T):
        values += chance * metric.row_values(np.full(len(soft), code), predictions[None])[0]
    return values


def _positive(soft: FloatArray) -> FloatArray:
    return soft if soft.ndim == 1 else np.ascontiguousarray(soft[:, 1])


def predicted_classes(
    kind: PredictionKind, predictions: npt.NDArray[np.float64]
) -> IntArray | None:
    """Return ``(k, n)`` codes of the classes that k submissions predict; None if they do not.

    A probability of 1/2 or more is the positive class; of several classes, the likeliest.

    >>> predicted_classes(PredictionKind.PROBABILITY, np.array([[0.5, 0.4]]))
    array([[1, 0]])
    """
    if kind is PredictionKind.LABEL:
        return predictions.astype(np.intp)
    if kind not in {PredictionKind.PROBABILITY, PredictionKind.CLASS_PROBABILITIES}:
        return None
    if predictions.ndim == 3:
        return np.asarray(predictions.argmax(axis=2))
    return (predictions >= 0.5).astype(np.intp)


def _errors(study: Study, rng: np.random.Generator) -> BoardErrors | None:
    soft = study.soft_labels
    m, n = len(study.scores), len(study.truth)
    if soft is None:
        return None
    floors = row_floor(soft)
    above = np.empty((m, n), dtype=np.float32)
    wrong = np.empty(m, dtype=np.intp)
    for start, block in study.predictions.blocks(_BLOCK):
        classes = predicted_classes(study.metric.prediction, block)
        if classes is None:
            return None
        for position, class_labels in enumerate(classes, start=start):
            wrong[position] = (class_labels != study.truth).sum()
            above[position] = error_against_soft_labels(class_labels, soft) - floors
    return BoardErrors(
        against_labels=wrong / n,
        against_soft=above.mean(axis=1, dtype=np.float64) + float(floors.mean()),
        headroom=headroom_of(study, above, rng),
        check=check_against_floor(wrong, floors, clusters=study.clusters),
    )


def headroom_of(
    study: Study, above: npt.NDArray[np.float32], rng: np.random.Generator
) -> CorrectedBest:
    """Return the smallest mean difference to the floor, corrected for selection.

    The draws of the rows are made, scored and forgotten in parts of 500 MB; a bit for each row and
    draw of those on which a winner is selected is kept. Sums in single precision differ from one
    part to another in the ninth digit.
    """
    m, n = above.shape
    resamples, seed = max(study.resampled.shape[1], 2), int(rng.integers(2**62))
    at_once = max(1, BYTES_OF_DRAWS // (6 * n))
    resampled = np.empty((m, resamples))

    def score_under(weights: npt.NDArray[Any], submissions: IntArray) -> FloatArray:
        counts = weights.astype(np.float32)
        rows = above if len(submissions) == m else above[submissions]
        with np.errstate(invalid="ignore", divide="ignore"):
            means = (rows @ counts) / counts.sum(axis=0)
        return np.asarray(means, dtype=np.float64)

    def parts() -> Iterator[tuple[WeightArray, npt.NDArray[np.bool_]]]:
        """Score the submissions on every draw, and yield those on which a winner is selected."""
        for first in range(0, resamples, at_once):
            count = min(at_once, resamples - first)
            weights = draw_resamples(n, count, seed, clusters=study.clusters, first=first).weights
            resampled[:, first : first + count] = score_under(weights, np.arange(m))
            if first < MOST_DRAWS:
                chosen_on = weights[:, : MOST_DRAWS - first]
                del weights
                yield chosen_on, chosen_on == 0
                del chosen_on

    draws = Draws.of(m, score_under, parts(), packed=at_once < resamples)
    corrected_best = corrected_best_on(
        errors_of_means(above, (0.0, 1.0), study.clusters),
        resampled,
        draws,
        greater_is_better=False,
        level=study.level,
    )
    # No row is below the floor; values below 0 are rounding errors.
    return replace(corrected_best, estimate=float(np.maximum(corrected_best.estimate, 0.0)) + 0.0)
