"""Plain numpy versions of the compiled kernels, for small inputs: they do not import numba.

Counts equal those of the kernels exactly, sums to the last digit or two. At most 32 MB of sorted
weights are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.evaluation.shared_weights import derived_once
from arena.types import FloatArray, IntArray, WeightArray
from arena_metrics.kernels.text_cells import average_precisions, check_runs, overlaps
from arena_metrics.ranks import sort_with_ties

__all__ = [
    "average_precisions",
    "category_counts",
    "centred_midranks",
    "check_runs",
    "concordance_sums",
    "concordance_totals",
    "concordant_pairs",
    "crossing_shares",
    "least_costs",
    "log_losses",
    "overlaps",
    "rank_sums",
    "weighted_average_precision",
]

_STRIP_ELEMENTS = 4 * 2**20


def _strips(weights: WeightArray) -> Iterator[slice]:
    """Yield slices of resamples, so that the sorted weights of each slice stay small."""
    width = max(1, _STRIP_ELEMENTS // max(1, len(weights)))
    for start in range(0, weights.shape[1], width):
        yield slice(start, start + width)


def _sorted(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the stable ascending order, and where each group of equal values begins."""
    order, first = derived_once(values, sort_with_ties)
    return order, np.flatnonzero(first)


def _last(sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the total of each column, added row by row as the kernels do."""
    return np.asarray(np.cumsum(sums, axis=0)[-1])


def concordant_pairs(
    predictions: npt.NDArray[np.float64],
    positive: npt.NDArray[np.bool_],
    weights: WeightArray,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return twice the concordant pairs, ``(m, B)``, and the number of pairs, ``(B,)``."""
    doubled = np.empty((len(predictions), weights.shape[1]), np.int64)
    for prediction, result in zip(predictions, doubled, strict=True):
        order, starts = _sorted(prediction)
        for strip in _strips(weights):
            drawn = weights[order, strip].astype(np.int64)
            of_class = positive[order][:, np.newaxis]
            negatives = np.add.reduceat(drawn * ~of_class, starts, axis=0)
            positives = np.add.reduceat(drawn * of_class, starts, axis=0)
            below = 2 * np.cumsum(negatives, axis=0) - negatives
            result[strip] = (positives * below).sum(axis=0)
    of_positives, of_negatives = (
        weights[rows].sum(axis=0, dtype=np.int64) for rows in (positive, ~positive)
    )
    return doubled, of_positives * of_negatives


def weighted_average_precision(
    predictions: npt.NDArray[np.float64],
    positive: npt.NDArray[np.bool_],
    weights: WeightArray,
) -> FloatArray:
    """Return the ``(m, B)`` average precisions; NaN where no positive row has weight.

    The average precision is the weighted mean over the positive rows of the precision among the
    rows with at least their prediction.
    """
    scores = np.empty((len(predictions), weights.shape[1]))
    for prediction, result in zip(predictions, scores, strict=True):
        order, starts = _sorted(prediction)
        for strip in _strips(weights):
            drawn = weights[order, strip].astype(np.int64)
            group = np.add.reduceat(drawn * positive[order][:, np.newaxis], starts, axis=0)[::-1]
            seen = np.cumsum(np.add.reduceat(drawn, starts, axis=0)[::-1], axis=0)
            hits = np.cumsum(group, axis=0)
            with np.errstate(invalid="ignore"):
                result[strip] = _last(group * hits / np.maximum(seen, 1)) / hits[-1]
    return scores


def _accepted(
    predictions: npt.NDArray[np.float64],
    positive: npt.NDArray[np.bool_],
    weights: npt.NDArray[Any],
) -> Iterator[tuple[int, slice, FloatArray]]:
    """Yield a submission, a strip, and ``(2, t + 1, width)`` weights of accepted rows.

    They are those of positive and of negative rows, with no row accepted and at t thresholds.
    """
    for position, prediction in enumerate(predictions):
        order, starts = _sorted(prediction)
        for strip in _strips(weights):
            drawn = weights[order, strip].astype(np.float64)
            accepted = np.zeros((2, len(starts) + 1, drawn.shape[1]))
            for rows, of_class in zip((positive, ~positive), accepted, strict=True):
                groups = np.add.reduceat(drawn * rows[order][:, np.newaxis], starts, axis=0)
                np.cumsum(groups[::-1], axis=0, out=of_class[1:])
            yield position, strip, accepted


def crossing_shares(
    predictions: npt.NDArray[np.float64],
    positive: npt.NDArray[np.bool_],
    weights: npt.NDArray[Any],
) -> FloatArray:
    """Return ``(m, 2, 2, B)`` shares of positive and of negative rows that are accepted.

    They are those before and at the first threshold at which the share of the negative rows is at
    least that of the positive ones that are not accepted; NaN where a class has no weight.
    """
    shares = np.empty((len(predictions), 2, 2, weights.shape[1]))
    for position, strip, accepted in _accepted(predictions, positive, weights):
        hits, alarms = accepted
        crossed = alarms * hits[-1] >= (hits[-1] - hits) * alarms[-1]
        crossing = crossed.argmax(axis=0)
        for side, threshold in enumerate((np.maximum(crossing - 1, 0), crossing)):
            there = np.take_along_axis(accepted, threshold[np.newaxis, np.newaxis], axis=1)
            with np.errstate(invalid="ignore"):
                shares[position, side, :, strip] = there[:, 0] / accepted[:, -1]
    return shares


def least_costs(
    predictions: npt.NDArray[np.float64],
    positive: npt.NDArray[np.bool_],
    weights: npt.NDArray[Any],
    *,
    miss: float,
    alarm: float,
) -> FloatArray:
    """Return the ``(m, B)`` least costs over all thresholds; NaN where a class has no weight.

    The cost is ``miss`` times the share of the positive rows that are not accepted, and ``alarm``
    times the share of the negative rows that are.
    """
    least = np.empty((len(predictions), weights.shape[1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        for position, strip, (hits, alarms) in _accepted(predictions, positive, weights):
            costs = hits * (-miss / hits[-1]) + alarms * (alarm / alarms[-1])
            least[position, strip] = miss + costs.min(axis=0)
    return least


def _group_midranks(drawn: npt.NDArray[np.int64], starts: npt.NDArray[Any]) -> Any:
    """Return the weight of each group of ties, and its doubled, centred midrank."""
    groups = np.add.reduceat(drawn, starts, axis=0)
    through = np.cumsum(groups, axis=0)
    return groups, 2 * through - groups - through[-1]


def centred_midranks(
    values: npt.NDArray[np.float64], weights: WeightArray
) -> npt.NDArray[np.int32]:
    """Return ``(n, B)``: twice the weighted midrank of each row, minus its mean."""
    order, starts = _sorted(values)
    ranks = np.empty(weights.shape, np.int32)
    sizes = np.diff(np.r_[starts, len(values)])
    for strip in _strips(weights):
        _, of_groups = _group_midranks(weights[order, strip].astype(np.int64), starts)
        ranks[order, strip] = np.repeat(of_groups, sizes, axis=0)
    return ranks


def rank_sums(
    predictions: npt.NDArray[np.float64],
    response: npt.NDArray[np.float64] | npt.NDArray[np.int32],
    weights: WeightArray,
) -> tuple[FloatArray, FloatArray]:
    """Return ``(m, B)`` weighted sums of rank times response, and of squared ranks."""
    products = np.empty((len(predictions), weights.shape[1]))
    squares = np.empty_like(products)
    values: npt.NDArray[Any] = np.broadcast_to(response.reshape(len(response), -1), weights.shape)
    for j, prediction in enumerate(predictions):
        order, starts = _sorted(prediction)
        for strip in _strips(weights):
            drawn = weights[order, strip].astype(np.int64)
            groups, ranks = _group_midranks(drawn, starts)
            responses = np.add.reduceat(drawn * values[order, strip], starts, axis=0)
            products[j, strip] = _last(responses * ranks)
            squares[j, strip] = _last(groups * np.square(ranks, dtype=np.float64))
    return products, squares


def category_counts(
    codes: npt.NDArray[np.int64], n_categories: int, weights: WeightArray
) -> npt.NDArray[np.int64]:
    """Return ``(m, n_categories, B)``: the total weight of each category of ``(m, n)`` codes."""
    counts = np.zeros((len(codes), n_categories, weights.shape[1]), np.int64)
    for code, result in zip(codes, counts, strict=True):
        order, starts = _sorted(code)
        for strip in _strips(weights):
            drawn = weights[order, strip].astype(np.int64)
            result[code[order[starts]], strip] = np.add.reduceat(drawn, starts, axis=0)
    return counts


def log_losses(
    probabilities: npt.NDArray[np.float64], positive: npt.NDArray[np.bool_], clip: float
) -> FloatArray:
    """Return ``(m, n)``: minus the logarithm of the clipped probability of the true class."""
    chosen = np.abs(probabilities - ~positive)
    losses: FloatArray = -np.log(np.clip(chosen, clip, 1.0 - clip, out=chosen))
    return losses


def concordance_sums(
    ranks: IntArray, times: IntArray, weights: FloatArray, selected: npt.NDArray[np.bool_]
) -> FloatArray:
    """Return ``(n, B)``: for row i twice the weight of the rows j with ``times[j] < times[i]``.

    Rows with equal rank count half, rows with a higher rank not at all. 0 for rows that are not
    selected. Compares all pairs of rows, in blocks of 4 million.
    """
    sums = np.zeros(weights.shape)
    step = max(1, _STRIP_ELEMENTS // max(1, len(ranks)))
    for start in range(0, len(ranks), step):
        rows = start + np.flatnonzero(selected[start : start + step])
        row_ranks = ranks[rows, np.newaxis]
        doubled = (ranks < row_ranks).astype(np.float64) + (ranks <= row_ranks)
        sums[rows] = (doubled * (times < times[rows, np.newaxis])) @ weights
    return sums


def concordance_totals(
    ranks: IntArray, times: IntArray, weights: npt.NDArray[Any], selected: npt.NDArray[np.bool_]
) -> FloatArray:
    """Return the ``(B,)`` weighted totals of :func:`concordance_sums`."""
    totals = np.empty(weights.shape[1])
    for strip in _strips(weights):
        drawn = weights[:, strip].astype(np.float64)
        sums = concordance_sums(ranks, times, drawn, selected)
        totals[strip] = np.einsum("nb,nb->b", drawn, sums)
    return totals
