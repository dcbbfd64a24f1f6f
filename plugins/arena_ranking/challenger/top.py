"""Keeps the values of the first teams that the charts need, while the predictions are in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arena.charts.ranges import MOST_TEAMS
from arena.evaluation.ranks import best_first
from arena.evaluation.scores import round_significant
from arena.interfaces import HasCaseValues, HasRowValues, Study
from arena.types import FloatArray, IntArray
from arena_ranking.challenger.tasks import TaskScores, task_scores
from arena_ranking.differences import sum_by_unit

_MOST_VALUES = 10_000_000
_BLOCK_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, eq=False)
class TopOfBoard:
    """The first t submissions of a board, case by case where the metric allows."""

    positions: IntArray
    """``(t,)`` positions in the study, best first."""
    values: FloatArray | None
    """``(t, n)`` values of n cases (rows or clusters). None: the metric has no values of rows, or
    a value is not finite."""
    values_greater_is_better: bool
    """The direction of the values, which can differ from that of the score."""
    standard_errors: FloatArray
    """``(t, t)`` standard errors of the score differences, floored; a pair with 0 is tied."""
    n_cases: int
    """The number of rows, or of clusters."""
    clustered: bool
    """Whether a case is a cluster."""
    tasks: TaskScores | None
    """Their scores in each task, if there are several tasks."""
    source: str
    """Source of the standard errors; see :class:`~arena_ranking.evidence.PairwiseEvidence`."""


def top_positions(study: Study, n_units: int) -> IntArray:
    """Return the positions of the teams that the charts show, best first.

    ``n_units`` is the number of rows, or of clusters. At most 10 million values are kept, 80 MB:
    with more than 200,000 of them there are fewer than 50 teams, but at least five.
    """
    larger = study.metric.greater_is_better
    order = best_first(round_significant(study.scores), greater_is_better=larger)
    affordable = max(_MOST_VALUES // max(1, n_units), 5)
    return order[: min(MOST_TEAMS, affordable)]


def top_of_board(
    study: Study,
    standard_errors: FloatArray,
    n_units: int,
    source: str,
    rng: np.random.Generator,
    *,
    workers: int = 1,
) -> TopOfBoard:
    """Keep what the charts of the first teams need, so that predictions can be discarded.

    Parameters
    ----------
    study
        The board.
    standard_errors
        ``(t, t)`` of the differences between the t teams of :func:`top_positions`, floored; a pair
        with 0 is tied.
    n_units
        The number of rows, or of clusters.
    source
        Of the standard errors.
    rng
        Draws the resamples within tasks; unused if there are no tasks.
    workers
        Threads.
    """
    larger = study.metric.greater_is_better
    positions = top_positions(study, n_units)
    values = case_values(study, positions)
    return TopOfBoard(
        positions=positions,
        values=values,
        values_greater_is_better=larger == (values is None or rises_with_values(study, values)),
        standard_errors=standard_errors,
        n_cases=n_units,
        clustered=study.clusters is not None,
        tasks=None
        if study.tasks is None
        else task_scores(study, positions, int(rng.integers(2**32)), workers=workers),
        source=source,
    )


def rises_with_values(study: Study, values: FloatArray) -> bool:
    """Return whether the score rises with the mean of the row values."""
    means = values.mean(axis=1)
    ends = np.array([means.min(), means.max()])
    if not isinstance(study.metric, HasRowValues):
        return True
    low, high = study.metric.from_mean(ends)
    return bool(high >= low)


def case_values(study: Study, positions: IntArray) -> FloatArray | None:
    """Return ``(t, n)`` row values of selected submissions, or their means over each cluster.

    None if the metric has no values of rows, or if one of them is not finite.
    """
    metric, clusters = study.metric, study.clusters
    if isinstance(metric, HasRowValues):
        values_of = metric.row_values
    elif isinstance(metric, HasCaseValues):
        values_of = metric.case_values
    else:
        return None
    size = max(1, _BLOCK_BYTES // (8 * max(1, len(study.truth))))
    parts = []
    for _, block in study.predictions.subset(positions).blocks(size):
        values = values_of(study.truth, block)
        if clusters is not None:
            rows = np.bincount(np.unique(clusters, return_inverse=True)[1])
            values = sum_by_unit(values, clusters) / rows
        parts.append(values)
    values = np.concatenate(parts)
    return values if np.isfinite(values).all() else None
