"""Compiled sums over ordered pairs of rows, for the concordance index.

Pairs are counted as a merge sort counts inversions. Times are split in halves again and again: each
pair of different times is separated once, where one row is in the earlier half of a node and the
other in its later half. The rows of a node are passed in the order of their ranks, with all
weightings as the inner, vectorised loop. Sums of counts are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arena.evaluation.shared_weights import derived_once
from arena_metrics.kernels.compilation import compiled, prefetch_row
from arena_metrics.kernels.sorting import RowSorter

_AHEAD = 8
_COMPARE = 0
"""A step that compares its row with the sum. Others add once or twice; below 0 they set the sum."""


def concordance_sums(ranks: Any, times: Any, weights: Any, selected: Any) -> Any:
    """Return ``(n, B)``: for row i twice the weight of the rows j with ``times[j] < times[i]``.

    Rows with equal rank count half, rows with a higher rank not at all. 0 for rows that are not
    selected. ``n log n`` steps, each for all weightings.
    """
    sums = np.zeros(weights.shape)
    _pass_all(ranks, times, weights, selected, sums)
    return sums


def concordance_totals(ranks: Any, times: Any, weights: Any, selected: Any) -> Any:
    """Return the ``(B,)`` weighted totals of :func:`concordance_sums`."""
    totals = np.zeros(weights.shape[1])
    _pass_all(ranks, times, weights, selected, totals)
    return totals


def _pass_all(ranks: Any, times: Any, weights: Any, selected: Any, sums: Any) -> None:
    below = np.empty(weights.shape[1], derived_once(weights, _dtype_of_products))
    weights = np.ascontiguousarray(weights)
    sorter = RowSorter(len(ranks))
    sorter.sort(-times.astype(np.float64))
    latest_first = sorter.order.copy()
    sorter.sort(ranks[latest_first].astype(np.float64))
    order = latest_first[sorter.order]
    times = (times - times.min(initial=0)).astype(np.int32)
    rows, steps = np.empty(2 * len(ranks), np.int32), np.empty(2 * len(ranks), np.int8)
    n_steps = _plan_ties(order, ranks, times, selected, rows, steps)
    _pass_through(rows[:n_steps], steps[:n_steps], weights, below, sums)
    halves = np.empty_like(order)
    for level in reversed(range(int(times.max(initial=0)).bit_length())):
        n_steps = _plan_level(order, times, selected, level, halves, rows, steps)
        _pass_through(rows[:n_steps], steps[:n_steps], weights, below, sums)
        order, halves = halves, order


def _dtype_of_products(weights: Any) -> Any:
    """Return int32, which is faster, if it holds twice the product of a count and a sum."""
    is_count = weights.dtype.kind == "u"
    holds = is_count and 2 * len(weights) * int(weights.max(initial=0)) ** 2 < 2**31
    return np.int32 if holds else np.float64


@compiled
def _plan_ties(order: Any, ranks: Any, times: Any, selected: Any, rows: Any, steps: Any) -> int:
    """Write the steps of pairs of equal rank, and their rows; return their number.

    Of equal ranks the latest row comes first in ``order``.
    """
    count, opening, stop = 0, 0, len(order)
    while stop > 0:
        rank, time = ranks[order[stop - 1]], times[order[stop - 1]]
        if stop == len(order) or ranks[order[stop]] != rank:
            while count > opening and steps[count - 1] != _COMPARE:
                count -= 1
            opening = count
        start = stop
        while start > 0 and ranks[order[start - 1]] == rank and times[order[start - 1]] == time:
            start -= 1
            if count > opening and selected[order[start]]:
                rows[count], steps[count] = order[start], _COMPARE
                count += 1
        for i in range(start, stop):
            rows[count], steps[count] = order[i], 1 if count > opening else -1
            count += 1
        stop = start
    while count > opening and steps[count - 1] != _COMPARE:
        count -= 1
    return count


@compiled
def _plan_level(
    order: Any, times: Any, selected: Any, level: int, halves: Any, rows: Any, steps: Any
) -> int:
    """Write the steps of a level and their rows, and the order of the next level to ``halves``.

    ``order`` holds one node after the other, each in the order of ranks. Of equal ranks the latest
    row comes first, so that ties are not counted here.
    """
    n, count, start = len(order), 0, 0
    while start < n:
        node = times[order[start]] >> (level + 1)
        stop = middle = start
        while stop < n and times[order[stop]] >> (level + 1) == node:
            middle += 1 - ((times[order[stop]] >> level) & 1)
            stop += 1
        opening, earlier, later = count, start, middle
        for i in range(start, stop):
            row = order[i]
            is_later = (times[row] >> level) & 1
            halves[later if is_later else earlier] = row
            later += is_later
            earlier += 1 - is_later
            is_open = count > opening
            rows[count] = row
            steps[count] = _COMPARE if is_later else (2 if is_open else -2)
            count += (is_open & selected[row]) if is_later else 1
        while count > opening and steps[count - 1] != _COMPARE:
            count -= 1
        start = stop
    return count


@compiled
def _pass_through(rows: Any, steps: Any, weights: Any, below: Any, sums: Any) -> None:
    """Add to the sums of each row, or to the totals over all rows if there is one dimension."""
    number = below.dtype.type
    for i in range(len(rows)):
        row, step = rows[i], steps[i]
        prefetch_row(weights, rows[min(i + _AHEAD, len(rows) - 1)])
        if step == _COMPARE:
            for b in range(len(below)):
                if sums.ndim == 1:
                    sums[b] += np.float64(below[b] * number(weights[row, b]))
                else:
                    sums[row, b] += below[b]
        elif step > 0:
            for b in range(len(below)):
                below[b] += number(step) * number(weights[row, b])
        else:
            for b in range(len(below)):
                below[b] = number(-step) * number(weights[row, b])
