"""Compiled searches over all thresholds of a detector, under many weightings of the same rows.

As for the AUC, each submission is sorted once. Its rows are accepted from the largest prediction
down, and the resamples are the inner, vectorised loop. A threshold follows each group of equal
predictions. Counts are compared as float64: exact, and vectorisable.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, WeightArray
from arena_metrics.kernels.compilation import compiled, prefetch_row
from arena_metrics.kernels.rank_sums import column_sums, sorted_rows

_AHEAD = 16
"""How many rows ahead to prefetch: sorted rows are scattered in memory."""
_ROWS_AT_ONCE = 64


def _sums_of_classes(positive: npt.NDArray[np.bool_], weights: WeightArray) -> FloatArray:
    sums = np.stack([column_sums(weights[rows]) for rows in (positive, ~positive)])
    return sums.astype(np.float64)


@compiled
def _accept(
    order: npt.NDArray[np.int32],
    i: int,
    positive: npt.NDArray[np.bool_],
    weights: WeightArray,
    counts: npt.NDArray[np.generic],
) -> None:
    """Add row ``order[i]`` to the ``counts`` (2, B) of accepted positive and negative rows."""
    row = order[i]
    prefetch_row(weights, order[max(i - _AHEAD, 0)])
    of_class = counts[0] if positive[row] else counts[1]
    for b in range(len(of_class)):
        of_class[b] += weights[row, b]


@compiled
def _crossing_pass(
    order: npt.NDArray[np.int32],
    first: npt.NDArray[np.bool_],
    positive: npt.NDArray[np.bool_],
    weights: WeightArray,
    totals: npt.NDArray[np.float64],
    counts: npt.NDArray[np.float64],
) -> None:
    """Write ``counts`` (2, 2, B), initially 0: those before and at the crossing, of each class.

    As long as no resample crosses, many rows are accepted at once; then one threshold at a time.
    """
    n, n_resamples = weights.shape
    group = np.empty((2, n_resamples), np.int32)
    positives, negatives = totals[0], totals[1]
    hits_before, alarms_before = counts[0, 0], counts[0, 1]
    hits, alarms = counts[1, 0], counts[1, 1]
    stop, size, n_open = n, _ROWS_AT_ONCE, n_resamples
    while stop and n_open:
        start = max(stop - size, 0)
        while not first[start]:
            start -= 1
        group[:] = 0
        for i in range(stop - 1, start - 1, -1):
            _accept(order, i, positive, weights, group)
        if size > 1:
            n_open = 0
            for b in range(n_resamples):
                missed = positives[b] - hits[b] - group[0, b]
                n_open += (alarms[b] + group[1, b]) * positives[b] < missed * negatives[b]
            if n_open < n_resamples:
                size, n_open = 1, n_resamples
                continue
        n_open = 0
        for b in range(n_resamples):
            missed = positives[b] - hits[b]
            is_open = alarms[b] * positives[b] < missed * negatives[b]
            hits_before[b] = hits[b] if is_open else hits_before[b]
            alarms_before[b] = alarms[b] if is_open else alarms_before[b]
            hits[b] += np.float64(group[0, b]) if is_open else 0.0
            alarms[b] += np.float64(group[1, b]) if is_open else 0.0
            n_open += is_open
        stop = start


def crossing_shares(
    predictions: npt.NDArray[np.float64],
    positive: npt.NDArray[np.bool_],
    weights: WeightArray,
) -> FloatArray:
    """Return ``(m, 2, 2, B)`` shares of positive and of negative rows that are accepted.

    They are those before and at the first threshold at which the share of the negative rows is at
    least that of the positive ones that are not accepted; NaN where a class has no weight.
    """
    counts = np.zeros((len(predictions), 2, 2, weights.shape[1]))
    totals = _sums_of_classes(positive, weights)
    for of_submission, (order, first) in zip(counts, sorted_rows(predictions), strict=True):
        _crossing_pass(order, first, positive, weights, totals, of_submission)
    with np.errstate(invalid="ignore"):
        counts /= totals
    return counts


@compiled
def _cost_pass(
    order: npt.NDArray[np.int32],
    first: npt.NDArray[np.bool_],
    positive: npt.NDArray[np.bool_],
    weights: WeightArray,
    costs: npt.NDArray[np.float64],
    least: npt.NDArray[np.float64],
) -> None:
    """Lower ``least`` (B,), initially 0, to the least sum of ``costs`` (2, B) of accepted rows."""
    n, n_resamples = weights.shape
    counts = np.zeros((2, n_resamples), np.float64)
    for i in range(n - 1, -1, -1):
        _accept(order, i, positive, weights, counts)
        if first[i]:
            for b in range(n_resamples):
                cost = counts[0, b] * costs[0, b] + counts[1, b] * costs[1, b]
                least[b] = cost if cost < least[b] else least[b]


def least_costs(
    predictions: npt.NDArray[np.float64],
    positive: npt.NDArray[np.bool_],
    weights: WeightArray,
    *,
    miss: float,
    alarm: float,
) -> FloatArray:
    """Return the ``(m, B)`` least costs over all thresholds; NaN where a class has no weight.

    The cost is ``miss`` times the share of the positive rows that are not accepted, and ``alarm``
    times the share of the negative rows that are.
    """
    least = np.zeros((len(predictions), weights.shape[1]))
    totals = _sums_of_classes(positive, weights)
    costs = np.array([[-miss], [alarm]]) / np.maximum(totals, 1.0)
    for of_submission, (order, first) in zip(least, sorted_rows(predictions), strict=True):
        _cost_pass(order, first, positive, weights, costs, of_submission)
    return np.where((totals > 0).all(axis=0), miss + least, np.nan)
