"""Binds a metric to the rows that it scores, if it needs their ids, groups or column names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.evaluation.clusters import time_blocks
from arena.interfaces import Metric, NeedsRowContext
from arena.types import ROW_TIMES, IntArray, RowContext, Solution
from arena.utils.lazy import pa


class BoundMetric:
    """A metric that is bound to each part of a solution on first use, and cached."""

    def __init__(self, metric: Metric, solution: Solution) -> None:
        self._metric = metric
        self._solution = solution
        self._bound: dict[bytes, Metric] = {}

    def for_rows(self, rows: npt.NDArray[np.bool_]) -> Metric:
        """Return the metric for the rows of a mask ``(n,)``; see :func:`bind`."""
        if not isinstance(self._metric, NeedsRowContext):
            return self._metric
        part = rows.tobytes()
        if part not in self._bound:
            self._bound[part] = bind(self._metric, self._solution, rows)
        return self._bound[part]


def bind(metric: Metric, solution: Solution, rows: npt.NDArray[np.bool_]) -> Metric:
    """Return the metric bound to selected rows of a solution, or unchanged if it needs no binding.

    Raises
    ------
    MetricError
        If the metric needs something that the rows do not have.
    TypeError
        If the bound metric has no ``for_rows``, which the interface requires.
    """
    if not isinstance(metric, NeedsRowContext) or not rows.any():
        return metric
    bound = metric.for_rows(context_of(solution, rows))
    if not isinstance(bound, NeedsRowContext):
        raise TypeError(f"for_rows of {metric.name} returned a metric without for_rows")
    return bound


def context_of(solution: Solution, rows: npt.NDArray[np.bool_]) -> RowContext:
    """Return the row context of selected rows.

    >>> from arena.types import PredictionKind, Target
    >>> solution = Solution("id", (Target("y", None),), ("y",), PredictionKind.VALUE,
    ...     pa.array(["a", "b", "c"]), np.zeros(3), np.ones(3, np.uint8), "",
    ...     clusters=np.array([4, 7, 7]))
    >>> context = context_of(solution, np.array([False, True, True]))
    >>> context.ids.to_pylist(), context.clusters
    (['b', 'c'], array([0, 0]))
    """
    return RowContext(
        id_column=solution.id_column,
        ids=solution.ids.take(pa.array(np.flatnonzero(rows))),
        targets=tuple(target.name for target in solution.targets),
        columns=solution.columns,
        clusters=clusters_of(solution, rows),
        extra={name: values[rows] for name, values in solution.extra.items()},
        classes=solution.targets[0].classes if len(solution.targets) == 1 else None,
        tasks=None if solution.tasks is None else solution.tasks[rows],
        task_names=solution.task_names,
    )


def part_of_context(context: RowContext, rows: IntArray, task: str | None = None) -> RowContext:
    """Return the context of some of the rows, or of those of a task."""
    clusters = context.clusters
    if clusters is not None:
        codes: Any = np.unique(clusters[rows], return_inverse=True)[1]
        clusters = np.asarray(codes, dtype=np.intp)
    part = replace(
        context,
        ids=context.ids.take(pa.array(rows)),
        clusters=clusters,
        extra={name: values[rows] for name, values in context.extra.items()},
        tasks=None if context.tasks is None else context.tasks[rows],
    )
    if task is None:
        return part
    return replace(part, tasks=np.zeros(len(rows), dtype=np.intp), task_names=(task,))


def sampled_groups(solution: Solution, rows: npt.NDArray[np.bool_]) -> IntArray | None:
    """Return codes from 0 of what is drawn independently: groups, or blocks of time; None: rows."""
    if ROW_TIMES in solution.extra:
        return time_blocks(solution.extra[ROW_TIMES][rows])
    return clusters_of(solution, rows)


def clusters_of(solution: Solution, rows: npt.NDArray[np.bool_]) -> IntArray | None:
    """Return the codes of the groups of selected rows, renumbered from 0."""
    if solution.clusters is None:
        return None
    codes: Any = np.unique(solution.clusters[rows], return_inverse=True)[1]
    return np.asarray(codes, dtype=np.intp)
