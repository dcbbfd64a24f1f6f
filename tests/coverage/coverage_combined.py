"""Boards that are ranked by a combination of tasks or metrics, with their true scores.

Equal submissions, specialists that are equal in the mean only, orders that oppose each other, and
tasks of which few decide: near ties are where a combination of ranks, or the worst of many scores,
goes wrong by resampling alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import special
from scipy.stats import rankdata

from arena.evaluation.combination_parts import Combination
from arena.evaluation.combinations import combined_metric, combined_metric_of_tasks
from arena.evaluation.combined_metric import CombinedMetric
from arena.evaluation.pairwise import PairwiseSkill
from arena.plugin.manager import PluginManager
from arena.types import PredictionKind
from coverage_boards import Array, Board, Cell, MetricOfBoard, Rng, even_groups

__all__ = ["CELLS"]

_METRICS = PluginManager().metrics
KIND = "combined scores"


def by_task(how: str, *names: str, weights: Mapping[str, float] = {}) -> CombinedMetric:
    """Return the combination of metrics on each task."""
    metrics = {name: _METRICS.resolve(name) for name in names}
    return combined_metric(metrics, Combination(how, weights), by_task=True)


def of_metrics(how: str, *names: str) -> CombinedMetric:
    """Return the combination of metrics on all rows."""
    return combined_metric({name: _METRICS.resolve(name) for name in names}, Combination(how))


def of_tasks(how: str, *names: str) -> MetricOfBoard:
    """Return the combination of tasks, each by a metric of its own."""
    metrics = {f"task {code}": (name, _METRICS.resolve(name)) for code, name in enumerate(names)}
    return MetricOfBoard(
        PredictionKind.LABEL,
        lambda _, solution: combined_metric_of_tasks(metrics, Combination(how), solution),
    )


def in_pairs(*, ratios: bool) -> MetricOfBoard:
    """Return the comparison of each algorithm with all on the cases that both have."""
    return MetricOfBoard(
        PredictionKind.VALUE,
        lambda board, _: PairwiseSkill(
            "pairwise", greater_is_better=not ratios, values=board.predictions, ratios=ratios
        ),
    )


TRUE: dict[str, Callable[[Array], Array]] = {
    "mean": lambda scores: scores.mean(axis=1),
    "geometric": lambda scores: np.exp(np.log(scores).mean(axis=1)),
    "worst": lambda scores: scores.min(axis=1),
    "mean_rank": lambda scores: rankdata(-scores, axis=0).mean(axis=1),
}
"""The combination of ``(m, T)`` true scores, larger being better."""


def tasks_of_labels(
    how: str,
    accuracies: Array,
    sizes: Array,
    *,
    clusters: int = 0,
    coefficients: tuple[int, ...] = (),
) -> Callable[[Rng], Board]:
    """Draw labels that are right with a probability per team and task.

    ``clusters`` groups of rows have a difficulty of their own, and rows in all tasks. The score of
    the tasks ``coefficients`` is Matthews' correlation, which is ``2 a - 1`` at an accuracy a.
    """
    m, n = len(accuracies), int(np.sum(sizes))
    tasks = np.repeat(np.arange(len(sizes)), sizes)
    of_tasks = accuracies.copy()
    of_tasks[:, list(coefficients)] = 2 * of_tasks[:, list(coefficients)] - 1
    # Sums of the same numbers in another order must be equal.
    true = np.round(TRUE[how](of_tasks), 12)

    def draw(rng: Rng) -> Board:
        own, latent = 0.5, np.sqrt(0.5) * rng.normal(size=n) + np.zeros((m, 1))
        codes = rng.permutation(even_groups(n, clusters)) if clusters else None
        if codes is not None:
            latent += np.sqrt(own / 2) * rng.normal(size=(m, clusters))[:, codes]
            own /= 2
        latent += np.sqrt(own) * rng.normal(size=(m, n))
        right = latent < special.ndtri(accuracies)[:, tasks]
        truth = (rng.random(n) < 0.5).astype(np.intp)
        return Board(truth, np.where(right, truth, 1 - truth), true, codes, tasks=tasks)

    return draw


def tasks_of_scores(m: int, sizes: Array, positives: int) -> Callable[[Rng], Board]:
    """Draw scores of equal AUC in every task, which has so many positive rows."""
    tasks = np.repeat(np.arange(len(sizes)), sizes)
    truth = np.concatenate([np.arange(size) < positives for size in sizes]).astype(np.intp)

    def draw(rng: Rng) -> Board:
        common = rng.normal(size=len(truth))
        scores = 1.5 * truth + np.sqrt(0.5) * (common + rng.normal(size=(m, len(truth))))
        return Board(truth, scores, np.full(m, special.ndtr(1.5 / np.sqrt(2))), tasks=tasks)

    return draw


def probabilities(m: int, n: int) -> Callable[[Rng], Board]:
    """Draw probabilities of equal submissions; only the order of their scores is known."""

    def draw(rng: Rng) -> Board:
        truth = (rng.random(n) < 0.5).astype(np.intp)
        noise = rng.normal(size=n) + rng.normal(size=(m, n))
        return Board(truth, special.expit(2 * truth - 1 + noise), np.ones(m))

    return draw


def missing_values(
    m: int, n: int, share: float, *, hard: bool = False, ratios: bool = False
) -> Callable[[Rng], Board]:
    """Draw values or losses of equal algorithms of which each lacks a share of the cases.

    ``hard``: cases that are hard for all are missing four times as often.
    """

    def draw(rng: Rng) -> Board:
        difficulty = rng.normal(size=n)
        values = difficulty + rng.normal(size=(m, n))
        odds = np.where(difficulty > 0, 1.6, 0.4) if hard else 1.0
        values[rng.random((m, n)) < share * odds] = np.nan
        true = 1.0 if ratios else 0.0
        return Board(np.zeros(n), np.exp(values) if ratios else values, np.full(m, true))

    return draw


def equal(m: int, n_tasks: int, accuracy: float = 0.8) -> Array:
    """Return the same accuracy everywhere."""
    return np.full((m, n_tasks), accuracy)


def specialists(m: int, n_tasks: int, gap: float) -> Array:
    """Return accuracies with the same mean: each of the first teams leads in a task of its own."""
    chances = equal(m, n_tasks)
    for j in range(min(m, n_tasks)):
        chances[j] -= gap / (n_tasks - 1)
        chances[j, j] = 0.8 + gap
    return chances


def opposed(m: int, n_tasks: int, gap: float) -> Array:
    """Return accuracies in opposite orders in every second task."""
    order = np.linspace(-gap, gap, m)[:, np.newaxis]
    return 0.8 + order * np.where(np.arange(n_tasks) % 2, 1, -1)


def minority(m: int, n_tasks: int, gap: float) -> Array:
    """Return accuracies of which the first team's are the best by a hair in most tasks only."""
    chances = equal(m, n_tasks)
    few = (n_tasks - 1) // 2
    chances[0, few:] += 0.0005
    chances[0, :few] -= gap
    return chances


def flat_and_uneven(m: int, n_tasks: int) -> Array:
    """Return accuracies of which the first team's are the same everywhere.

    The others' worst one is a little below it, and the rest far better.
    """
    chances = equal(m, n_tasks)
    chances[1:] = 0.95
    chances[1:, 0] = 0.799
    return chances


def _cell(name: str, metric: Any, draw: Callable[[Rng], Board], **more: Any) -> Cell:
    return Cell(name, metric, draw, kind=KIND, resamples=500, **more)


def _of_labels(name: str, how: str, accuracies: Array, sizes: Array, **more: Any) -> Cell:
    return _cell(
        f"{how.replace('_', ' ')} of tasks, {name}",
        by_task(how, "accuracy"),
        tasks_of_labels(how, accuracies, sizes, **more),
    )


_EVEN, _UNEVEN, _MANY = np.full(3, 300), np.array([30, 80, 400]), np.full(20, 50)

CELLS: tuple[Cell, ...] = (
    _of_labels("3 x 300, m=8", "mean", equal(8, 3), _EVEN),
    _of_labels("30, 80 and 400 rows, m=8", "mean", equal(8, 3), _UNEVEN),
    _of_labels("5, 200 and 200 rows, m=8", "mean", equal(8, 3), np.array([5, 200, 200])),
    _of_labels("30, 80 and 400 rows, specialists, m=8", "mean", specialists(8, 3, 0.1), _UNEVEN),
    _of_labels("20 x 50, m=20", "mean", equal(20, 20), _MANY),
    _of_labels("3 x 300 of 60 shared groups, m=8", "mean", equal(8, 3), _EVEN, clusters=60),
    _of_labels("30, 80, 400, 60 shared groups, m=8", "mean", equal(8, 3), _UNEVEN, clusters=60),
    _of_labels("accuracy .99, 3 x 100, m=8", "mean", equal(8, 3, 0.99), np.full(3, 100)),
    _of_labels("30, 80 and 400 rows, m=8", "geometric", equal(8, 3), _UNEVEN),
    _of_labels("20 x 50, m=20", "geometric", equal(20, 20), _MANY),
    _cell("mean AUC of 3 tasks with 10 of 200 positive, m=8", by_task("mean", "roc_auc"),
          tasks_of_scores(8, np.full(3, 200), 10)),
    _cell("mean AUC of tasks of 60, 200 and 600, m=8", by_task("mean", "roc_auc"),
          tasks_of_scores(8, np.array([60, 200, 600]), 20)),
    _cell("mean of log loss and Brier, n=300, m=8", of_metrics("mean", "log_loss", "brier"),
          probabilities(8, 300), order_only=True),
    _cell("mean of AUC and accuracy, n=300, m=8", of_metrics("mean", "roc_auc", "accuracy"),
          probabilities(8, 300), order_only=True),
    _cell("mean rank of AUC and log loss, n=300, m=8",
          of_metrics("mean_rank", "roc_auc", "log_loss"), probabilities(8, 300), order_only=True),
    _of_labels("3 x 300, m=8", "worst", equal(8, 3), _EVEN),
    _of_labels("20 x 50, m=20", "worst", equal(20, 20), _MANY),
    _of_labels("20 x 200, flat against uneven, m=5", "worst", flat_and_uneven(5, 20),
               np.full(20, 200)),
    _of_labels("30, 80 and 400 rows, specialists, m=8", "worst", specialists(8, 3, 0.1), _UNEVEN),
    _of_labels("3 x 300, m=8", "mean_rank", equal(8, 3), _EVEN),
    _of_labels("3 x 300, specialists, m=8", "mean_rank", specialists(8, 3, 0.1), _EVEN),
    _of_labels("4 x 250, opposed, m=20", "mean_rank", opposed(20, 4, 0.06), np.full(4, 250)),
    _of_labels("5 x 200, two groups, m=20", "mean_rank",
               np.where(np.arange(20) < 10, 0.9, 0.7)[:, np.newaxis] + np.zeros((20, 5)),
               np.full(5, 200)),
    _of_labels("20 x 200, ahead by a hair in 11, m=2", "mean_rank", minority(2, 20, 0.06),
               np.full(20, 200)),
    _of_labels("9 x 200, ahead by a hair in 5, m=10", "mean_rank", minority(10, 9, 0.1),
               np.full(9, 200)),
    *(
        _cell(f"{how.replace('_', ' ')} of accuracy and MCC of tasks, 30, 80 and 400 rows, m=8",
              of_tasks(how, "accuracy", "accuracy", "mcc"),
              tasks_of_labels(how, equal(8, 3), _UNEVEN, coefficients=(2,)))
        for how in ("mean", "geometric", "worst", "mean_rank")
    ),
    _cell("pairwise differences, 20 % missing, n=100, m=8", in_pairs(ratios=False),
          missing_values(8, 100, 0.2)),
    _cell("pairwise differences, hard cases missing, n=50, m=8", in_pairs(ratios=False),
          missing_values(8, 50, 0.3, hard=True)),
    _cell("pairwise ratios, hard cases missing, n=200, m=8", in_pairs(ratios=True),
          missing_values(8, 200, 0.3, hard=True, ratios=True)),
)  # fmt: skip
