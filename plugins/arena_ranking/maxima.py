"""The largest studentised difference of each resample: the one loop that is heavy.

For 3,000 submissions and 1,000 resamples it visits 4.5 billion numbers per round, so that there is
a compiled kernel beside the numpy form; both do the same operations and give the same bits. A
maximum does not depend on the order in which it is taken, so neither do the results on blocks or
threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.execution import run_tasks
from arena.types import FloatArray
from arena_ranking.compilation import compiled

__all__ = ["compiled_maxima", "largest_differences", "numpy_maxima"]

_COMPILE_ABOVE = 1e8
_ROWS_PER_TASK = 32
_TILE = 32

_Pairs = npt.NDArray[np.bool_]


def largest_differences(
    errors: FloatArray, precisions: FloatArray, open_pairs: _Pairs, *, workers: int = 1
) -> FloatArray:
    """Return ``(B,)`` maxima of ``(e_j - e_k) * precision_jk`` over the open ordered pairs.

    Parameters
    ----------
    errors
        ``(m, B)`` resampled scores less the scores, C-contiguous.
    precisions
        ``(m, m)`` symmetric, one over the standard error of the difference.
    open_pairs
        ``(m, m)``: True where the ordered pair (j, k) takes part.
    workers
        Threads, for the compiled form.

    Returns
    -------
    ``(B,)``; minus infinity where no pair is open. Memory besides the arguments: a few rows.

    Examples
    --------
    >>> errors = np.array([[0.2, -0.1], [0.1, 0.1]])
    >>> pairs = ~np.eye(2, dtype=bool)
    >>> largest_differences(errors, np.full((2, 2), 10.0), pairs)
    array([1., 2.])
    """
    if float(len(errors)) * errors.size < _COMPILE_ABOVE:
        return numpy_maxima(errors, precisions, open_pairs)
    return compiled_maxima(errors, precisions, open_pairs, workers=workers)


def numpy_maxima(errors: FloatArray, precisions: FloatArray, open_pairs: _Pairs) -> FloatArray:
    """Do it in numpy: slower, and compiles nothing. Holds two more copies of ``errors``."""
    largest = np.full(errors.shape[1], -np.inf)
    for j in range(len(errors)):
        others = np.flatnonzero(open_pairs[j])
        if len(others):
            differences = errors[j] - errors[others]
            differences *= precisions[j, others, np.newaxis]
            np.maximum(largest, differences.max(axis=0), out=largest)
    return largest


def compiled_maxima(
    errors: FloatArray, precisions: FloatArray, open_pairs: _Pairs, *, workers: int = 1
) -> FloatArray:
    """Do it in a compiled kernel, on several threads. The first call of all compiles for 1 s."""
    kernel = compiled(_visit_pairs)
    m, n_resamples = errors.shape

    def task(first: int) -> FloatArray:
        largest = np.full(n_resamples, -np.inf)
        kernel(errors, precisions, open_pairs, first, min(m, first + _ROWS_PER_TASK), largest)
        return largest

    total = np.full(n_resamples, -np.inf)
    starts = ((first,) for first in range(0, m, _ROWS_PER_TASK))
    for largest in run_tasks(task, starts, workers=workers):
        np.maximum(total, largest, out=total)
    return total


def _visit_pairs(
    errors: Any, precisions: Any, open_pairs: Any, first: int, last: int, largest: Any
) -> None:
    """Visit the pairs j < k with first <= j < last, in tiles of k that stay in the cache."""
    m, n_resamples = errors.shape
    for tile in range(first, m, _TILE):
        for j in range(first, last):
            for k in range(max(j + 1, tile), min(m, tile + _TILE)):
                precision = precisions[j, k]
                if open_pairs[j, k] and open_pairs[k, j]:
                    for b in range(n_resamples):
                        difference = abs((errors[j, b] - errors[k, b]) * precision)
                        largest[b] = max(largest[b], difference)
                elif open_pairs[j, k]:
                    for b in range(n_resamples):
                        difference = (errors[j, b] - errors[k, b]) * precision
                        largest[b] = max(largest[b], difference)
                elif open_pairs[k, j]:
                    for b in range(n_resamples):
                        difference = (errors[k, b] - errors[j, b]) * precision
                        largest[b] = max(largest[b], difference)
