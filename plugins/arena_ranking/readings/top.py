"""What the pictures of the first teams are drawn from, read while the predictions are at hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arena.charts.ranges import MOST_TEAMS
from arena.interfaces import HasRowValues, Study
from arena.leaderboard import best_first
from arena.resampling import round_significant
from arena.types import FloatArray, IntArray
from arena_ranking.differences import sum_by_unit
from arena_ranking.evidence import PairwiseEvidence
from arena_ranking.readings.tasks import TaskScores, task_scores

__all__ = ["TopOfBoard", "case_values", "top_of_board"]

_MOST_VALUES = 10_000_000
_BLOCK_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, eq=False)
class TopOfBoard:
    """The first t submissions of a board, case by case where the metric allows."""

    positions: IntArray
    """``(t,)`` positions in the study, best first."""
    values: FloatArray | None
    """``(t, n)`` values of n cases, rows or clusters; None: the metric is no mean of row values,
    or one of them is not finite."""
    values_greater_is_better: bool
    """The direction of the values: a score need not rise with their mean."""
    standard_errors: FloatArray
    """``(t, t)`` of the differences between their scores, floored; a pair with 0 is tied."""
    n_cases: int
    """The number of rows, or of clusters."""
    clustered: bool
    """Whether a case is a cluster."""
    tasks: TaskScores | None
    """Their scores in each task, where there are several."""
    source: str
    """What the standard errors come from: see :class:`~arena_ranking.evidence.PairwiseEvidence`."""


def top_of_board(
    study: Study,
    evidence: PairwiseEvidence,
    standard_errors: FloatArray,
    rng: np.random.Generator,
    *,
    workers: int = 1,
) -> TopOfBoard:
    """Keep what the pictures of the first 50 teams need, after the predictions are out of reach.

    Parameters
    ----------
    study
        The board.
    evidence
        What it says about its pairs.
    standard_errors
        ``(m, m)`` of the differences, floored; a pair with 0 is tied.
    rng
        Draws the resamples within tasks, if there are any; else nothing is drawn.
    workers
        Threads.

    Returns
    -------
    A :class:`TopOfBoard`. Memory: at most 10 million values, 80 MB: of more than 200,000 cases,
    the values of fewer teams are kept, but of five at least.
    """
    larger = study.metric.greater_is_better
    order = best_first(round_significant(study.scores), greater_is_better=larger)
    affordable = max(_MOST_VALUES // max(1, evidence.n_units), 5)
    positions = order[: min(MOST_TEAMS, affordable)]
    values = case_values(study, positions)
    return TopOfBoard(
        positions=positions,
        values=values,
        values_greater_is_better=larger == (values is None or _rises(study, values)),
        standard_errors=standard_errors[np.ix_(positions, positions)],
        n_cases=evidence.n_units,
        clustered=study.clusters is not None,
        tasks=_task_scores(study, positions, rng, workers),
        source=evidence.source,
    )


def _task_scores(
    study: Study, positions: IntArray, rng: np.random.Generator, workers: int
) -> TaskScores | None:
    if study.tasks is None:
        return None
    return task_scores(study, positions, int(rng.integers(2**32)), workers=workers)


def _rises(study: Study, values: FloatArray) -> bool:
    """Return whether the score rises with the mean of the row values."""
    means = values.mean(axis=1)
    ends = np.array([means.min(), means.max()])
    if not isinstance(study.metric, HasRowValues):
        return True
    low, high = study.metric.from_mean(ends)
    return bool(high >= low)


def case_values(study: Study, positions: IntArray) -> FloatArray | None:
    """Return ``(t, n)`` row values, or their means over each cluster, of chosen submissions.

    None if the metric has none, or if one of them is not finite.
    """
    metric, clusters = study.metric, study.clusters
    if not isinstance(metric, HasRowValues):
        return None
    size = max(1, _BLOCK_BYTES // (8 * max(1, len(study.truth))))
    parts = []
    for _, block in study.predictions.subset(positions).blocks(size):
        values = metric.row_values(study.truth, block)
        if clusters is not None:
            rows = np.bincount(np.unique(clusters, return_inverse=True)[1])
            values = sum_by_unit(values, clusters) / rows
        parts.append(values)
    values = np.concatenate(parts)
    return values if np.isfinite(values).all() else None
