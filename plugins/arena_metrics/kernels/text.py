"""Compiled parsing of text cells as bytes; the Python versions are in ``text_cells``."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena_metrics.kernels.compilation import compiled
from arena_metrics.kernels.text_cells import MOST_DIGITS


def average_precisions(truth: Any, predictions: Any, shape: tuple[int, int], k: int) -> Any:
    """Return the ``(m, n)`` average precisions of the first k words of each cell."""
    values = np.zeros(shape)
    _average_precisions(truth.data, truth.bounds, predictions.data, predictions.bounds, k, values)
    return values


def check_runs(cells: Any) -> Any:
    """Return the fault code of each mask (0: valid), and the faulty run."""
    n = len(cells.bounds) - 1
    codes, places = np.zeros(n, np.int64), np.zeros(n, np.int64)
    _check_runs(cells.data, cells.bounds, codes, places)
    return codes, places


def overlaps(truth: Any, predictions: Any, shape: tuple[int, int]) -> Any:
    """Return the sizes of the intersections, of the predicted masks and of the true masks."""
    common, sizes, true_sizes = np.zeros(shape), np.zeros(shape), np.zeros(shape[1])
    _overlaps(
        truth.data, truth.bounds, predictions.data, predictions.bounds, common, sizes, true_sizes
    )
    return common, sizes, true_sizes


@compiled
def _next_word(data: Any, position: int, stop: int) -> Any:
    """Return the begin and end of the next word; both are ``stop`` if there is none."""
    while position < stop and (data[position] == 32 or 9 <= data[position] <= 13):
        position += 1
    end = position
    while end < stop and not (data[end] == 32 or 9 <= data[end] <= 13):
        end += 1
    return position, end


@compiled
def _hash(data: Any, start: int, stop: int) -> Any:
    """Return the FNV-1a hash of a word."""
    value = np.uint64(0xCBF29CE484222325)
    for position in range(start, stop):
        value = (value ^ np.uint64(data[position])) * np.uint64(0x100000001B3)
    return value


@compiled
def _same(data: Any, start: int, stop: int, other: Any, other_start: int) -> Any:
    for i in range(stop - start):  # noqa: SIM110 - all() of a generator cannot be compiled
        if data[start + i] != other[other_start + i]:
            return False
    return True


@compiled
def _find(data: Any, start: int, stop: int, words: Any, of: Any, count: int) -> int:
    """Return the index of this word among the first ``count`` words of ``of``, or -1.

    A row of ``words`` is (begin, end, hash).
    """
    key = np.int64(_hash(data, start, stop))
    for w in range(count):
        same_length = words[w, 1] - words[w, 0] == stop - start
        if words[w, 2] == key and same_length and _same(data, start, stop, of, words[w, 0]):
            return w
    return -1


@compiled
def _distinct(data: Any, start: int, stop: int, words: Any) -> int:
    """Write the distinct words of a cell and return their number."""
    count = 0
    begin, end = _next_word(data, start, stop)
    while begin < end:
        if _find(data, begin, end, words, data, count) < 0:
            words[count, 0], words[count, 1] = begin, end
            words[count, 2] = np.int64(_hash(data, begin, end))
            count += 1
        begin, end = _next_word(data, end, stop)
    return count


@compiled
def _longest(bounds: Any) -> int:
    longest = 0
    for cell in range(len(bounds) - 1):
        longest = max(longest, bounds[cell + 1] - bounds[cell])
    return longest


@compiled
def _average_precisions(
    true_data: Any, true_bounds: Any, data: Any, bounds: Any, k: int, values: Any
) -> None:
    m, n = values.shape
    most = _longest(true_bounds) // 2 + 1
    words = np.empty((most, 3), np.int64)
    was_hit = np.zeros(most, np.bool_)
    for row in range(n):
        count = _distinct(true_data, true_bounds[row], true_bounds[row + 1], words)
        for j in range(m if count else 0):
            cell = j * n + row
            was_hit[:count] = False
            hits, total = 0, 0.0
            begin, end = _next_word(data, bounds[cell], bounds[cell + 1])
            place = 1
            while begin < end and place <= k:
                word = _find(data, begin, end, words, true_data, count)
                if word >= 0 and not was_hit[word]:
                    was_hit[word] = True
                    hits += 1
                    total += hits / place
                begin, end = _next_word(data, end, bounds[cell + 1])
                place += 1
            values[j, row] = total / min(count, k)


@compiled
def _number(data: Any, start: int, stop: int) -> int:
    """Return a non-negative integer, or -1 if the text is not one."""
    if stop - start > MOST_DIGITS:
        return -1
    value = 0
    for position in range(start, stop):
        if not 48 <= data[position] <= 57:
            return -1
        value = 10 * value + int(data[position]) - 48
    return value


@compiled
def _read_runs(data: Any, start: int, stop: int, runs: Any) -> Any:
    """Write the runs of a mask; return their number, the fault code and the faulty run."""
    count, last = 0, 1
    begin, end = _next_word(data, start, stop)
    if end - begin == 2 and data[begin] == 45 and data[begin + 1] == 49:  # -1: an empty mask
        begin, after = _next_word(data, end, stop)
        alone = begin == after
        return 0, 0 if alone else 1, 0 if alone else 1
    while begin < end:
        first = _number(data, begin, end)
        begin, end = _next_word(data, end, stop)
        has_length = begin < end
        length = _number(data, begin, end) if has_length else 1
        if first < 0 or length < 0:
            return count, 1, count + 1
        if not has_length:
            return count, 2, count + 1
        if first < 1 or length < 1:
            return count, 3 if first < 1 else 4, count + 1
        if first < last:
            return count, 5, count + 1
        last = first + length
        runs[count, 0], runs[count, 1] = first, last
        count += 1
        begin, end = _next_word(data, end, stop)
    return count, 0, 0


@compiled
def _check_runs(data: Any, bounds: Any, codes: Any, places: Any) -> None:
    runs = np.empty((_longest(bounds) // 4 + 1, 2), np.int64)
    for cell in range(len(codes)):
        _, codes[cell], places[cell] = _read_runs(data, bounds[cell], bounds[cell + 1], runs)


@compiled
def _size(runs: Any, count: int, code: int) -> float:
    if code:
        return np.nan
    total = 0
    for run in range(count):
        total += runs[run, 1] - runs[run, 0]
    return float(total)


@compiled
def _common(first: Any, n_first: int, second: Any, n_second: int) -> int:
    total = i = j = 0
    while i < n_first and j < n_second:
        total += max(0, min(first[i, 1], second[j, 1]) - max(first[i, 0], second[j, 0]))
        if first[i, 1] < second[j, 1]:
            i += 1
        else:
            j += 1
    return total


@compiled
def _overlaps(
    true_data: Any,
    true_bounds: Any,
    data: Any,
    bounds: Any,
    common: Any,
    sizes: Any,
    true_sizes: Any,
) -> None:
    m, n = common.shape
    true_runs = np.empty((_longest(true_bounds) // 4 + 1, 2), np.int64)
    runs = np.empty((_longest(bounds) // 4 + 1, 2), np.int64)
    for row in range(n):
        n_true, code, _ = _read_runs(true_data, true_bounds[row], true_bounds[row + 1], true_runs)
        true_sizes[row] = _size(true_runs, n_true, code)
        for j in range(m):
            cell = j * n + row
            count, code, _ = _read_runs(data, bounds[cell], bounds[cell + 1], runs)
            sizes[j, row] = _size(runs, count, code)
            common[j, row] = _common(true_runs, n_true, runs, count)
