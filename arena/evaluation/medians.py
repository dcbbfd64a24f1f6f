"""Medians of values that count several times, as in bootstrap samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena.types import FloatArray, IntArray, WeightArray
from arena.utils.compilation import compiled
from arena.utils.parallel import run_tasks


def weighted_medians(data: FloatArray, weights: WeightArray, *, workers: int = 1) -> FloatArray:
    """Return ``(m, B)`` medians of ``(m, n)`` data in which case i counts ``weights[i, b]`` times.

    The median of an even number is the mean of the middle two.

    >>> weighted_medians(np.array([[1.0, 2.0, 4.0]]), np.array([[1, 0], [1, 1], [0, 2]], np.uint8))
    array([[1.5, 4. ]])
    """
    by_resample = np.ascontiguousarray(weights.T)
    totals = by_resample.sum(axis=1, dtype=np.int64)
    tasks = ((row, by_resample, totals) for row in data)
    return np.array(list(run_tasks(_medians_of_row, tasks, workers=workers)))


def _medians_of_row(row: FloatArray, weights: WeightArray, totals: IntArray) -> FloatArray:
    medians = np.empty(len(weights))
    compiled(_walk_to_the_middle)(np.argsort(row), row, weights, totals, medians)
    return medians


def _walk_to_the_middle(order: Any, row: Any, weights: Any, totals: Any, medians: Any) -> None:
    """Add up the weights in the order of the values until half of them is reached."""
    for b in range(len(weights)):
        total, passed, i = totals[b], 0, 0
        while passed <= (total - 1) // 2:
            passed += weights[b, order[i]]
            i += 1
        lower = row[order[i - 1]]
        while passed <= total // 2:
            passed += weights[b, order[i]]
            i += 1
        medians[b] = (lower + row[order[i - 1]]) / 2
