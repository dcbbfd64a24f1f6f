"""Texts as byte arrays for the compiled kernels, and Python versions of these kernels.

Words are separated by white space as in ``bytes.split``. A run-length encoded mask is
``start length start length …``, pixels counted from 1, with the runs in ascending order; ``-1``
alone is an empty mask, as in some of Kaggle's competitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_EMPTY_MASK = [b"-1"]
MOST_DIGITS = 15
"""Longer numbers are not accepted as pixel positions."""

_NO_NUMBER, _ODD, _BEFORE_ONE, _EMPTY_RUN, _OUT_OF_ORDER = range(1, 6)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Texts concatenated in UTF-8."""

    data: npt.NDArray[np.uint8]
    bounds: npt.NDArray[np.int64]
    """``(n_cells + 1,)``: cell i is ``data[bounds[i]:bounds[i + 1]]``."""

    def words(self, cell: int) -> list[bytes]:
        """Return the words of a cell."""
        return self.data[self.bounds[cell] : self.bounds[cell + 1]].tobytes().split()


def cells_of(texts: npt.NDArray[Any]) -> Cells:
    """Return an array of texts of any shape as cells, in C order.

    >>> cells_of(np.array(["a b", ""], dtype=object)).words(0)
    [b'a', b'b']
    """
    import pyarrow as pa

    column = pa.array(texts.reshape(-1), pa.large_string())
    _, bounds, data = column.buffers()
    size = 8 * (len(column) + 1)
    return Cells(
        np.frombuffer(data or b"", dtype=np.uint8),
        np.frombuffer(bounds, dtype=np.int64, count=size // 8),
    )


def average_precisions(truth: Cells, predictions: Cells, shape: tuple[int, int], k: int) -> Any:
    """Return the ``(m, n)`` average precisions of the first k words of each cell.

    ``predictions`` are the cells of ``(m, n)`` texts, ``truth`` those of ``(n,)`` texts.
    """
    m, n = shape
    values = np.zeros(shape)
    for row in range(n):
        relevant = frozenset(truth.words(row))
        for j in range(m if relevant else 0):
            words = predictions.words(j * n + row)[:k]
            values[j, row] = _average_precision(relevant, words) / min(len(relevant), k)
    return values


def _average_precision(relevant: frozenset[bytes], words: Sequence[bytes]) -> float:
    hits: set[bytes] = set()
    total = 0.0
    for place, word in enumerate(words, start=1):
        if word in relevant and word not in hits:
            hits.add(word)
            total += len(hits) / place
    return total


def check_runs(cells: Cells) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the fault code of each mask (0: valid), and the number of the faulty run.

    1: not a whole number, 2: a start without a length, 3: a start before 1, 4: a run of length 0,
    5: a run that starts before the end of the previous one.
    """
    checked_cells = [_checked(cells.words(cell)) for cell in range(len(cells.bounds) - 1)]
    codes, places = zip(*checked_cells, strict=True) if checked_cells else ((), ())
    return np.array(codes, dtype=np.int64), np.array(places, dtype=np.int64)


def _checked(words: Sequence[bytes]) -> tuple[int, int]:
    end = 1
    words = () if words == _EMPTY_MASK else words
    for position in range(0, len(words), 2):
        run, pair = position // 2 + 1, words[position : position + 2]
        if any(not word.isdigit() or len(word) > MOST_DIGITS for word in pair):
            return _NO_NUMBER, run
        if len(pair) < 2:
            return _ODD, run
        start, length = map(int, pair)
        if start < 1 or length < 1:
            return (_BEFORE_ONE if start < 1 else _EMPTY_RUN), run
        if start < end:
            return _OUT_OF_ORDER, run
        end = start + length
    return 0, 0


def overlaps(truth: Cells, predictions: Cells, shape: tuple[int, int]) -> tuple[Any, Any, Any]:
    """Return the sizes of intersections and predicted masks, ``(m, n)``, and true masks, ``(n,)``.

    The size of an invalid mask is NaN.
    """
    m, n = shape
    common, sizes, true_sizes = np.zeros(shape), np.zeros(shape), np.zeros(n)
    for row in range(n):
        true_runs = _runs(truth.words(row))
        true_sizes[row] = _size(true_runs)
        for j in range(m):
            runs = _runs(predictions.words(j * n + row))
            sizes[j, row] = _size(runs)
            common[j, row] = _common(true_runs or [], runs or [])
    return common, sizes, true_sizes


def _runs(words: Sequence[bytes]) -> list[tuple[int, int]] | None:
    """Return (start, stop) of each run, stop exclusive; None if the mask is invalid."""
    if words == _EMPTY_MASK:
        return []
    if _checked(words)[0]:
        return None
    numbers = [int(word) for word in words]
    return [(s, s + length) for s, length in zip(numbers[::2], numbers[1::2], strict=True)]


def _size(runs: list[tuple[int, int]] | None) -> float:
    return float("nan") if runs is None else float(sum(stop - start for start, stop in runs))


def _common(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> int:
    total = i = j = 0
    while i < len(first) and j < len(second):
        total += max(0, min(first[i][1], second[j][1]) - max(first[i][0], second[j][0]))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return total
