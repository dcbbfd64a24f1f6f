"""Scores within each task, for competitions whose rows belong to several tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.combined_metric import tasks_of
from arena.evaluation.ranks import minimum_ranks
from arena.evaluation.scores import score_under_weights
from arena.interfaces import HasResample, HasRowValues, Study
from arena.types import FloatArray, IntArray, WeightArray
from arena_ranking.challenger.agreement import RankAgreement, kendall_tau_of_resamples

_MOST_RESAMPLES = 500
_FEWEST_RESAMPLES = 50
_MOST_STEPS = 5e9


@dataclass(frozen=True, slots=True, eq=False)
class TaskScores:
    """The scores of t submissions in each of T tasks."""

    names: tuple[str, ...]
    """Names of the T tasks in which every submission has a score."""
    n_rows: IntArray
    """``(T,)`` rows of each task."""
    scores: FloatArray
    """``(t, T)`` natural sign."""
    resampled: tuple[FloatArray, ...]
    """For each task ``(t, B)`` scores of the joint resamples of its rows in which all scores are
    defined. B is 0 for a metric that can only be called as a whole."""
    left_out: tuple[str, ...]
    """Tasks in which a score is not defined, such as an AUC where one class does not occur."""
    greater_is_better: bool
    """The direction of the scores."""

    @property
    def ranks(self) -> IntArray:
        """``(t, T)`` minimum ranks within each task."""
        return minimum_ranks(self.scores, greater_is_better=self.greater_is_better)

    def agreements(self, level: float) -> dict[str, RankAgreement]:
        """Return, for each task that was resampled, Kendall's tau of its ranking."""
        drawn = zip(self.names, self.scores.T, self.resampled, strict=True)
        return {
            name: kendall_tau_of_resamples(
                scores, resampled, level, greater_is_better=self.greater_is_better
            )
            for name, scores, resampled in drawn
            if resampled.shape[1]
        }


def task_scores(
    study: Study, positions: IntArray, seed: int, *, workers: int = 1
) -> TaskScores | None:
    """Score selected submissions in every task with rows; None if there are fewer than two tasks.

    Rows are resampled within the tasks, or by whole clusters if there are any; at most 500 times,
    and fewer if there are many rows and tasks.

    Parameters
    ----------
    study
        A board with :attr:`~arena.interfaces.Study.tasks`.
    positions
        ``(t,)`` positions of the submissions.
    seed
        Seed of the resamples.
    workers
        Threads.

    Returns
    -------
    A :class:`TaskScores`. Memory: the ``(n, B)`` weights twice, one byte each.
    """
    if study.tasks is None or tasks_of(study.metric) is not None:  # then tasks are columns
        return None
    present, n_rows = np.unique(study.tasks, return_counts=True)
    if len(present) < 2:
        return None
    predictions = study.predictions.subset(positions)
    drawn = _draw(study, len(positions), n_tasks=len(present), seed=seed, workers=workers)
    parts = [
        score_under_weights(study.metric, study.truth, predictions, weights, workers=workers)
        for weights in _weights_of_tasks(study.tasks, present, drawn)
    ]
    defined = [bool(np.isfinite(part[:, 0]).all()) for part in parts]
    kept_parts = [part for part, is_defined in zip(parts, defined, strict=True) if is_defined]
    names = [study.task_names[task] for task in present]
    return TaskScores(
        names=tuple(name for name, is_defined in zip(names, defined, strict=True) if is_defined),
        n_rows=n_rows[np.array(defined, dtype=bool)].astype(np.intp),
        scores=np.stack([part[:, 0] for part in kept_parts], axis=1)
        if kept_parts
        else np.empty((len(positions), 0)),
        resampled=tuple(
            part[:, 1:][:, np.isfinite(part[:, 1:]).all(axis=0)] for part in kept_parts
        ),
        left_out=tuple(
            name for name, is_defined in zip(names, defined, strict=True) if not is_defined
        ),
        greater_is_better=study.metric.greater_is_better,
    )


def _draw(study: Study, t: int, n_tasks: int, seed: int, workers: int) -> WeightArray:
    """Return ``(n, 1 + B)`` weights: all rows once, and B resamples of them."""
    n = len(study.truth)
    once = np.ones((n, 1), dtype=np.uint8)
    if not isinstance(study.metric, HasResample | HasRowValues):
        return once
    affordable = int(_MOST_STEPS / (n * t * n_tasks))
    n_resamples = min(study.resampled.shape[1], _MOST_RESAMPLES, max(_FEWEST_RESAMPLES, affordable))
    within = {"strata": study.tasks} if study.clusters is None else {"clusters": study.clusters}
    drawn = draw_resamples(n, n_resamples, seed, **within, workers=workers).weights
    return np.concatenate([once, drawn], axis=1)


def _weights_of_tasks(
    tasks: IntArray, present: IntArray, drawn: WeightArray
) -> Iterator[WeightArray]:
    """Yield the weights of each task, 0 outside it; resamples without its rows are dropped."""
    for task in present:
        weights = drawn * (tasks == task)[:, np.newaxis]
        yield weights[:, weights.any(axis=0)]
