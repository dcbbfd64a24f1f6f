"""Compiled ROC AUC under many weightings of the same rows.

Each submission is sorted once. Its rows are then processed in that order, and the resamples are
the inner, vectorised loop: a negative row adds its counts to a running total, and a positive row
adds its own count times that total to the concordant pairs. All sums are integers, so the AUC is
exact.

Bootstrap counts are small, so two are packed into each byte: 128 resamples fit into one cache line
of 64 bytes. The sorted rows are scattered in memory, and fetching them dominates the run time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.evaluation.shared_weights import derived_once
from arena.types import WeightArray
from arena_metrics.kernels.compilation import compiled, prefetch_row
from arena_metrics.kernels.sorting import RowSorter

LARGEST_WEIGHT = 15
"""Counts must fit into half a byte."""
_AHEAD = 24
_ROWS_PER_FLUSH = 256
"""256 counts of at most 15 sum to 3,840, and 15 times that still fits into 16 bits."""
_LOW = np.uint8(15)
_HALF = np.uint8(4)


def pack_weights(weights: WeightArray) -> npt.NDArray[np.uint8]:
    """Return ``(n_strips, n, half)`` bytes of two counts each; no row crosses a cache line.

    Column ``b < half`` of a strip is the lower half of byte ``b``, column ``half + b`` the upper.
    Uses ``n * B / 2`` bytes, with B rounded up to 16, 32, 64 or a multiple of 128.
    """
    n_rows, n_resamples = weights.shape
    half = next((size for size in (8, 16, 32) if 2 * size >= n_resamples), 64)
    n_strips = -(-n_resamples // (2 * half))
    size = n_strips * n_rows * half
    raw = np.zeros(size + 64, np.uint8)
    offset = -raw.ctypes.data % 64
    lines = raw[offset : offset + size].reshape(n_strips, n_rows, half)
    for strip in range(n_strips):
        low, middle = 2 * half * strip, 2 * half * strip + half
        lower, upper = weights[:, low:middle], weights[:, middle : middle + half]
        lines[strip, :, : upper.shape[1]] = upper << _HALF
        lines[strip, :, : lower.shape[1]] |= lower
    return lines


@compiled
def _pass(
    order: npt.NDArray[np.int32],
    positive: npt.NDArray[np.bool_],
    lines: npt.NDArray[np.uint8],
    won: npt.NDArray[np.int64],
    totals: npt.NDArray[np.int64],
    narrow: npt.NDArray[np.uint16],
    pairs: npt.NDArray[np.uint32],
) -> None:
    """Add concordant pairs to ``won`` (2, half), and class counts to ``totals``, initially 0."""
    n, half = order.shape[0], lines.shape[1]
    below, gained = narrow[0], narrow[1]
    below_0, below_1, gained_0, gained_1 = below[0], below[1], gained[0], gained[1]
    pairs_0, pairs_1 = pairs[0], pairs[1]
    for start in range(0, n, _ROWS_PER_FLUSH):
        for i in range(start, min(n, start + _ROWS_PER_FLUSH)):
            row = order[i]
            prefetch_row(lines, order[min(i + _AHEAD, n - 1)])
            if positive[row]:
                for b in range(half):
                    low = np.uint16(lines[row, b] & _LOW)
                    high = np.uint16(lines[row, b] >> _HALF)
                    gained_0[b] += low
                    gained_1[b] += high
                    pairs_0[b] += np.uint32(np.uint16(low * below_0[b]))
                    pairs_1[b] += np.uint32(np.uint16(high * below_1[b]))
            else:
                for b in range(half):
                    below_0[b] += np.uint16(lines[row, b] & _LOW)
                    below_1[b] += np.uint16(lines[row, b] >> _HALF)
        for side in range(2):
            for b in range(half):
                won[side, b] += pairs[side, b] + totals[0, side, b] * gained[side, b]
                totals[0, side, b] += below[side, b]
                totals[1, side, b] += gained[side, b]
                below[side, b], gained[side, b], pairs[side, b] = 0, 0, 0


@compiled
def _order_ties(
    order: npt.NDArray[np.int32],
    first: npt.NDArray[np.bool_],
    positive: npt.NDArray[np.bool_],
    ahead: bool,
    arranged: npt.NDArray[np.int32],
) -> None:
    """Put the rows of class ``ahead`` first among equal predictions."""
    n = order.shape[0]
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and not first[stop]:
            stop += 1
        place = start
        arranged[start] = order[start]
        if stop - start > 1:
            for wanted in (ahead, not ahead):
                for i in range(start, stop):
                    if positive[order[i]] == wanted:
                        arranged[place] = order[i]
                        place += 1
        start = stop


def _passes(
    order: npt.NDArray[np.int32],
    positive: npt.NDArray[np.bool_],
    lines: npt.NDArray[np.uint8],
    won: npt.NDArray[np.int64],
    totals: npt.NDArray[np.int64],
) -> None:
    half = lines.shape[2]
    narrow, pairs = np.zeros((2, 2, half), np.uint16), np.zeros((2, half), np.uint32)
    totals[:] = 0
    for strip in range(len(lines)):
        _pass(order, positive, lines[strip], won[strip], totals[strip], narrow, pairs)


def concordant_pairs(
    predictions: npt.NDArray[np.float64],
    positive: npt.NDArray[np.bool_],
    weights: WeightArray,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return twice the number of concordant pairs, ``(m, B)``, and the number of pairs, ``(B,)``.

    A pair of a positive and a negative row is concordant if the positive one has the larger
    prediction; a tie counts half. Ties are handled by adding two passes, one with the negatives
    first among equal predictions and one with the positives first. Weights are at most
    :data:`LARGEST_WEIGHT`.
    """
    lines = derived_once(weights, pack_weights)
    n_strips, n, half = lines.shape
    doubled = np.zeros((len(predictions), n_strips, 2, half), np.int64)
    totals = np.zeros((n_strips, 2, 2, half), np.int64)
    sorter, arranged = RowSorter(n), np.empty(n, np.int32)
    for j, prediction in enumerate(predictions):
        sorter.sort(prediction)
        if sorter.first.all():
            _passes(sorter.order, positive, lines, doubled[j], totals)
            doubled[j] *= 2
            continue
        for ahead in (False, True):
            _order_ties(sorter.order, sorter.first, positive, ahead, arranged)
            _passes(arranged, positive, lines, doubled[j], totals)
    n_resamples = weights.shape[1]
    pairs = (totals[:, 0] * totals[:, 1]).reshape(-1)[:n_resamples]
    return doubled.reshape(len(predictions), -1)[:, :n_resamples], pairs
