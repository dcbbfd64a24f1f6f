"""Compiled ROC AUC under many weightings of the same rows.

Each submission is sorted once. Its rows are then processed in that order, and the resamples are
the inner, vectorised loop: a negative row adds its counts to a running total, and a positive row
adds its own count times that total to the concordant pairs. Among equal predictions the negative
rows come first, and a positive row takes the mean of the totals before and after them, so that a
tie counts half. All sums are integers, so the AUC is exact.

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
_ONE = np.uint32(1)
_NEGATIVE, _OPENING = np.uint8(0), np.uint8(1)
_POSITIVE, _TIED, _CLOSING = np.uint8(2), np.uint8(3), np.uint8(4)
"""Kinds of rows; the last three are positive. In a group of equal predictions with both classes the
first negative is opening, the last positive is closing, and the other positives are tied."""


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
def _arrange(
    order: npt.NDArray[np.int32],
    first: npt.NDArray[np.bool_],
    positive: npt.NDArray[np.bool_],
    arranged: npt.NDArray[np.int32],
    kinds: npt.NDArray[np.uint8],
) -> None:
    """Put the negative rows first among equal predictions, and write the kind of each row."""
    n = order.shape[0]
    start = 0
    while start < n:
        stop, n_positive = start + 1, int(positive[order[start]])
        while stop < n and not first[stop]:
            n_positive += positive[order[stop]]
            stop += 1
        if stop == start + 1:
            arranged[start] = order[start]
            kinds[start] = _POSITIVE if n_positive else _NEGATIVE
            start = stop
            continue
        place, place_positive = start, stop - n_positive
        has_both = start < place_positive < stop
        for i in range(start, stop):
            row = order[i]
            if positive[row]:
                arranged[place_positive] = row
                kinds[place_positive] = _TIED if has_both else _POSITIVE
                place_positive += 1
            else:
                arranged[place] = row
                kinds[place] = _NEGATIVE
                place += 1
        if has_both:
            kinds[start], kinds[stop - 1] = _OPENING, _CLOSING
        start = stop


@compiled
def _flush(
    narrow: npt.NDArray[np.uint16],
    pairs: npt.NDArray[np.uint32],
    won: npt.NDArray[np.int64],
    totals: npt.NDArray[np.int64],
    is_open: bool,
) -> None:
    """Add the narrow sums to the wide ones, and clear them."""
    for side in range(2):
        for b in range(pairs.shape[2]):
            below, gained, at_start = narrow[0, side, b], narrow[1, side, b], narrow[2, side, b]
            twice_below = totals[0, side, b] + totals[2, side, b]
            won[side, b] += 2 * np.int64(pairs[0, side, b]) + pairs[1, side, b]
            won[side, b] += twice_below * gained
            totals[0, side, b] += below
            totals[1, side, b] += gained
            totals[2, side, b] = totals[2, side, b] + at_start if is_open else totals[0, side, b]
            pairs[0, side, b], pairs[1, side, b] = 0, 0
            narrow[0, side, b], narrow[1, side, b], narrow[2, side, b] = 0, 0, 0


@compiled
def _pass(
    order: npt.NDArray[np.int32],
    kinds: npt.NDArray[np.uint8],
    lines: npt.NDArray[np.uint8],
    won: npt.NDArray[np.int64],
    totals: npt.NDArray[np.int64],
    narrow: npt.NDArray[np.uint16],
    pairs: npt.NDArray[np.uint32],
) -> None:
    """Add twice the concordant pairs to ``won`` (2, half), and counts to ``totals``, initially 0.

    ``totals`` and ``narrow`` (3, 2, half) count the negatives, the positives, and the negatives
    below the group of equal predictions of both classes that is open; ``pairs`` (2, 2, half) are
    those of other positives, and twice those of positives with ties.
    """
    n, half = order.shape[0], lines.shape[1]
    below, gained, at_start = narrow[0], narrow[1], narrow[2]
    below_0, below_1, gained_0, gained_1 = below[0], below[1], gained[0], gained[1]
    start_0, start_1 = at_start[0], at_start[1]
    pairs_0, pairs_1, tied_0, tied_1 = pairs[0, 0], pairs[0, 1], pairs[1, 0], pairs[1, 1]
    is_open, was_open = False, False
    for start in range(0, n, _ROWS_PER_FLUSH):
        for i in range(start, min(n, start + _ROWS_PER_FLUSH)):
            row, kind = order[i], kinds[i]
            prefetch_row(lines, order[min(i + _AHEAD, n - 1)])
            if kind < _POSITIVE:
                if kind == _OPENING:
                    is_open = True
                    for b in range(half):
                        start_0[b], start_1[b] = below_0[b], below_1[b]
                for b in range(half):
                    below_0[b] += np.uint16(lines[row, b] & _LOW)
                    below_1[b] += np.uint16(lines[row, b] >> _HALF)
            elif kind == _POSITIVE:
                for b in range(half):
                    low = np.uint16(lines[row, b] & _LOW)
                    high = np.uint16(lines[row, b] >> _HALF)
                    gained_0[b] += low
                    gained_1[b] += high
                    pairs_0[b] += np.uint32(np.uint16(low * below_0[b]))
                    pairs_1[b] += np.uint32(np.uint16(high * below_1[b]))
            else:
                for b in range(half):
                    low = np.uint16(lines[row, b] & _LOW)
                    high = np.uint16(lines[row, b] >> _HALF)
                    gained_0[b] += low
                    gained_1[b] += high
                    tied_0[b] += np.uint32(np.uint16(low * below_0[b]))
                    tied_1[b] += np.uint32(np.uint16(high * below_1[b]))
                    tied_0[b] += np.uint32(np.uint16(low * start_0[b]))
                    tied_1[b] += np.uint32(np.uint16(high * start_1[b]))
                if kind == _CLOSING:
                    is_open = False
                    if was_open:
                        _flush(narrow, pairs, won, totals, is_open)
                        was_open = False
        _flush(narrow, pairs, won, totals, is_open)
        was_open = is_open


def concordant_pairs(
    predictions: npt.NDArray[np.float64],
    positive: npt.NDArray[np.bool_],
    weights: WeightArray,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return twice the number of concordant pairs, ``(m, B)``, and the number of pairs, ``(B,)``.

    A pair of a positive and a negative row is concordant if the positive one has the larger
    prediction; a tie counts half. Weights are at most :data:`LARGEST_WEIGHT`.
    """
    lines = derived_once(weights, pack_weights)
    n_strips, n, half = lines.shape
    doubled = np.zeros((len(predictions), n_strips, 2, half), np.int64)
    totals = np.zeros((n_strips, 3, 2, half), np.int64)
    sorter, key = RowSorter(n), (concordant_pairs, positive.tobytes())

    def arrange(
        prediction: npt.NDArray[np.float64],
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
        sorter.sort(prediction)
        arranged, kinds = np.empty(n, np.int32), np.empty(n, np.uint8)
        _arrange(sorter.order, sorter.first, positive, arranged, kinds)
        return arranged, kinds

    narrow, pairs = np.zeros((3, 2, half), np.uint16), np.zeros((2, 2, half), np.uint32)
    for prediction, won in zip(predictions, doubled, strict=True):
        arranged, kinds = derived_once(prediction, arrange, key)
        totals[:] = 0
        for strip in range(n_strips):
            _pass(arranged, kinds, lines[strip], won[strip], totals[strip], narrow, pairs)
    n_resamples = weights.shape[1]
    of_classes = (totals[:, 0] * totals[:, 1]).reshape(-1)[:n_resamples]
    return doubled.reshape(len(predictions), -1)[:, :n_resamples], of_classes
