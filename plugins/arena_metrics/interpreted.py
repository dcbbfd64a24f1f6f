"""The same procedures as the compiled kernels, in plain numpy: for small jobs, without numba.

Whatever is counted is equal, what is summed is equal to a last digit or two. At most 32 MB of
sorted weights stand at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, IntArray, WeightArray
from arena_metrics.text_cells import average_precisions, check_runs, overlaps

__all__ = [
    "average_precisions",
    "category_counts",
    "centred_midranks",
    "check_runs",
    "column_sums",
    "log_losses",
    "overlaps",
    "pairs_won",
    "precision_sums",
    "rank_sums",
    "sums_of_earlier_below",
]

_STRIP_ELEMENTS = 4 * 2**20


def _strips(weights: WeightArray) -> Iterator[slice]:
    """Yield slices of resamples, so that the sorted weights of each stay small."""
    width = max(1, _STRIP_ELEMENTS // max(1, len(weights)))
    for start in range(0, weights.shape[1], width):
        yield slice(start, start + width)


def _sorted(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the stable ascending order, and where each group of equal values begins."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    return order, np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])


def _last(sums: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the total of each column, added row by row as the kernels do."""
    return np.asarray(np.cumsum(sums, axis=0)[-1])


def column_sums(weights: WeightArray) -> npt.NDArray[np.int64]:
    """Return the ``(B,)`` sums of ``(n, B)`` counts."""
    return np.asarray(weights.sum(axis=0, dtype=np.int64))


def pairs_won(
    predictions: npt.NDArray[np.float64],
    positive: npt.NDArray[np.bool_],
    weights: WeightArray,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return twice the pairs won, ``(m, B)``, and the number of pairs, ``(B,)``."""
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
    return doubled, column_sums(weights[positive]) * column_sums(weights[~positive])


def precision_sums(
    predictions: npt.NDArray[np.float64],
    positive: npt.NDArray[np.bool_],
    weights: WeightArray,
) -> FloatArray:
    """Return ``(m, B)`` sums over the positive rows of the precision at their prediction."""
    sums = np.empty((len(predictions), weights.shape[1]))
    for prediction, result in zip(predictions, sums, strict=True):
        order, starts = _sorted(prediction)
        for strip in _strips(weights):
            drawn = weights[order, strip].astype(np.int64)
            group = np.add.reduceat(drawn * positive[order][:, np.newaxis], starts, axis=0)[::-1]
            seen = np.cumsum(np.add.reduceat(drawn, starts, axis=0)[::-1], axis=0)
            found = np.cumsum(group, axis=0)
            result[strip] = _last(group * found / np.maximum(seen, 1))
    return sums


def _group_midranks(drawn: npt.NDArray[np.int64], starts: npt.NDArray[Any]) -> Any:
    """Return the weight of each group, and its doubled and centred midrank."""
    groups = np.add.reduceat(drawn, starts, axis=0)
    through = np.cumsum(groups, axis=0)
    return groups, 2 * through - groups - through[-1]


def centred_midranks(
    values: npt.NDArray[np.float64], weights: WeightArray
) -> npt.NDArray[np.int32]:
    """Return ``(n, B)``: twice the weighted midrank of each row, less its mean."""
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
    """Return ``(m, B)`` weighted sums of rank times response, and of the squares of the ranks."""
    products = np.empty((len(predictions), weights.shape[1]))
    squares = np.empty_like(products)
    for j, prediction in enumerate(predictions):
        order, starts = _sorted(prediction)
        for strip in _strips(weights):
            drawn = weights[order, strip].astype(np.int64)
            groups, ranks = _group_midranks(drawn, starts)
            responses = np.add.reduceat(drawn * response[order, strip], starts, axis=0)
            products[j, strip] = _last(responses * ranks)
            squares[j, strip] = _last(groups * np.square(ranks, dtype=np.float64))
    return products, squares


def category_counts(
    codes: npt.NDArray[np.int64], n_categories: int, weights: WeightArray
) -> npt.NDArray[np.int64]:
    """Return ``(m, n_categories, B)``: the weight of each category of ``(m, n)`` codes."""
    counts = np.zeros((len(codes), n_categories, weights.shape[1]), np.int64)
    for one, result in zip(codes, counts, strict=True):
        order, starts = _sorted(one)
        for strip in _strips(weights):
            drawn = weights[order, strip].astype(np.int64)
            result[one[order[starts]], strip] = np.add.reduceat(drawn, starts, axis=0)
    return counts


def log_losses(
    probabilities: npt.NDArray[np.float64], positive: npt.NDArray[np.bool_], clip: float
) -> FloatArray:
    """Return ``(m, n)``: minus the logarithm of the probability that was given to the truth."""
    chosen = np.abs(probabilities - ~positive)
    losses: FloatArray = -np.log(np.clip(chosen, clip, 1.0 - clip, out=chosen))
    return losses


def sums_of_earlier_below(
    places: IntArray, times: IntArray, weights: FloatArray, asked: npt.NDArray[np.bool_]
) -> FloatArray:
    """Return ``(n, B)``: at row i twice the weight of the rows j with ``times[j] < times[i]``.

    A row whose place is the same counts half, and one whose place is above not at all; 0 where
    not asked. All pairs of rows are looked at, in chunks of 4 million.
    """
    sums = np.zeros(weights.shape)
    step = max(1, _STRIP_ELEMENTS // max(1, len(places)))
    for start in range(0, len(places), step):
        rows = start + np.flatnonzero(asked[start : start + step])
        own = places[rows, np.newaxis]
        doubled = (places < own).astype(np.float64) + (places <= own)
        sums[rows] = (doubled * (times < times[rows, np.newaxis])) @ weights
    return sums
