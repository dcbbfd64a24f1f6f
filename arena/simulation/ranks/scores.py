"""The true and the competition scores of every model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arena.errors import MetricError
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import round_significant, score_under_weights
from arena.interfaces import HasResample, HasRowValues, Metric, traits_of
from arena.simulation.data import Population, World
from arena.simulation.degenerate import best_constant_score
from arena.simulation.ranks.draws import Draws, draw_tests, whole_population
from arena.simulation.ranks.model_cache import ModelsFolder
from arena.simulation.ranks.submission import Shape, bound_to, shape_for
from arena.types import FloatArray
from arena.utils.parallel import NoProgress, Progress, run_tasks


@dataclass(frozen=True, slots=True, eq=False)
class ModelScores:
    """Scores in the metric's natural sign."""

    true: FloatArray
    """``(M,)`` on the population: the limit of an infinite test."""
    competition: Mapping[int, FloatArray]
    """``(M, C)`` on C tests, by their number of rows."""
    greater_is_better: bool
    """Whether a larger score is better."""
    constant: float | None = None
    """The best score of a constant prediction on the population; None: not known."""

    def part(self, models: slice) -> ModelScores:
        """Return the scores of some of the models."""
        competition_scores = {rows: scores[models] for rows, scores in self.competition.items()}
        return replace(self, true=self.true[models], competition=competition_scores)


@dataclass(frozen=True, slots=True, eq=False)
class _Scoring:
    """A metric on some draws."""

    metric: Metric
    draws: Draws

    def of(self, shape: Shape, raw: Any) -> FloatArray:
        """Return ``(C,)`` scores of one model."""
        predictions = shape.submission(raw[self.draws.rows])
        block = ArrayPredictions(predictions[np.newaxis])
        weights = self.draws.weights
        scores = score_under_weights(self.metric, self.draws.target, block, weights)
        return np.asarray(scores[0])


def population_for(metric: Metric, population: Population) -> Population:
    """Return the population as this metric can score it.

    A metric without row weights cannot use probabilities in hundredths: for it the labels that were
    drawn once are the truth.
    """
    if isinstance(metric, HasResample | HasRowValues):
        return population
    return replace(population, chance=None)


def classes_needed(metric: Metric, n_classes: int | None) -> int | None:
    """Return how many classes a test must contain; None: any number."""
    return n_classes if traits_of(metric).needs_every_class else None


def score_models(
    world: World,
    metric: Metric,
    folder: ModelsFolder,
    count: int,
    test_rows: Sequence[int],
    tests: int,
    *,
    seed: int,
    workers: int = 1,
    progress: Progress | None = None,
) -> ModelScores:
    """Score the models 0 … count-1 on the population and on C tests of each size.

    Holds the counts of every test, and per worker the predictions of one model for them.

    Raises
    ------
    MetricError
        If the metric cannot score these models, or not on every test.
    UsageError
        If the population is smaller than a test.
    """
    progress = progress or NoProgress()
    shape = shape_for(metric, world.rows.n_classes)
    population = population_for(metric, world.population)
    needed = classes_needed(metric, world.rows.n_classes)
    draws = [
        whole_population(population),
        *(draw_tests(population, rows, tests, seed, n_classes=needed) for rows in test_rows),
    ]
    scorings = [_Scoring(bound_to(metric, len(draw.rows), world.classes), draw) for draw in draws]
    progress.start("Scoring models", count)
    tasks = ((scorings, shape, folder, number) for number in range(count))
    scores = [np.empty((count, draw.weights.shape[1])) for draw in draws]
    for number, model_scores in enumerate(run_tasks(_score, tasks, workers=workers)):
        for kept_scores, values in zip(scores, model_scores, strict=True):
            kept_scores[number] = values
        progress.advance()
    for kept_scores in scores:
        _check(metric, kept_scores)
    true, *competition = map(round_significant, scores)
    by_rows = dict(zip(test_rows, competition, strict=True))
    constant = best_constant_score(
        scorings[0].metric,
        draws[0].target,
        world.rows.n_classes,
        kind=shape.kind,
        weights=draws[0].weights,
    )
    return ModelScores(true[:, 0], by_rows, metric.greater_is_better, constant)


def _score(
    scorings: list[_Scoring], shape: Shape, folder: ModelsFolder, number: int
) -> list[FloatArray]:
    raw = np.asarray(folder.get(number))
    return [scoring.of(shape, raw) for scoring in scorings]


def _check(metric: Metric, scores: FloatArray) -> None:
    if not np.isfinite(scores).all():
        raise MetricError(
            f"{metric.name} has no finite value for some model on some test. Use more rows "
            f"with --test-rows, or another metric."
        )
