"""Which boards are of algorithms over tasks or cases, and the values that they compare."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from arena.evaluation.case_metrics import MeanOfCases, MedianOfCases
from arena.evaluation.combined_metric import CombinedMetric
from arena.interfaces import Study
from arena.types import FloatArray, IntArray
from arena_ranking.challenger.top import case_values, rises_with_values

MOST_VALUES = 1_000_000
"""Of the algorithms that are compared; then an analysis takes a few seconds."""


def has_tasks(study: Study) -> bool:
    """Return whether the rows belong to several tasks."""
    return study.tasks is not None and len(np.unique(study.tasks)) > 1


def has_cases(study: Study) -> bool:
    """Return whether the board was made from a value per algorithm and case."""
    return isinstance(study.metric, MeanOfCases | MedianOfCases)


def larger_is_better(study: Study, values: FloatArray) -> bool:
    """Return the direction of values of rows, which can differ from that of the score."""
    return rises_with_values(study, values) == study.metric.greater_is_better


def values_of_cases(study: Study, positions: IntArray) -> tuple[FloatArray, bool] | None:
    """Return ``(t, n)`` values of rows, and whether larger ones are better.

    None: the metric has none, one is not finite, or metrics or directions are combined.
    """
    study, metric = replace(study, clusters=None), study.metric
    if not isinstance(metric, CombinedMetric):
        values = case_values(study, positions)
        return None if values is None else (values, larger_is_better(study, values))
    if metric.tasks is None or len(metric.columns) > 1:
        return None
    together, directions = np.empty((len(positions), len(study.truth))), set()
    for part in metric.parts:
        of_part = replace(
            study,
            metric=part.metric,
            truth=part.of_rows(study.truth),
            predictions=part.of_predictions(study.predictions),
        )
        values = case_values(of_part, positions)
        if values is None:
            return None
        together[:, slice(None) if part.rows is None else part.rows] = values
        directions.add(larger_is_better(of_part, values))
    return (together, directions.pop()) if len(directions) == 1 else None
