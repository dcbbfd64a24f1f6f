"""The largest studentised difference of each resample: the most expensive loop of this plugin.

For 3,000 submissions and 1,000 resamples it visits 4.5 billion numbers per round. A compiled kernel
therefore exists beside the numpy form; both do the same operations and give the same bits. A
maximum does not depend on the order in which it is taken, so neither do the results on blocks or
threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, IntArray
from arena.utils.compilation import compiled
from arena.utils.parallel import run_tasks

__all__ = ["compiled_maxima", "largest_differences", "largest_leads", "numpy_maxima"]

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
    """Return the maxima by numpy, without compiling. Holds two more copies of ``errors``."""
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
    """Return the maxima by a compiled kernel on several threads; the first call compiles (1 s)."""
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


def largest_leads(
    errors: FloatArray,
    precisions: FloatArray,
    rows: IntArray,
    others: IntArray,
    *,
    workers: int = 1,
) -> Iterator[tuple[int, FloatArray]]:
    """Yield each j of ``rows`` with its ``(B,)`` maxima of ``(e_k - e_j) * precision_kj`` over k.

    Parameters
    ----------
    errors, precisions
        As for :func:`largest_differences`; a precision of 0 takes a pair out.
    rows, others
        Positions: of j, and of k.
    workers
        Threads, for the compiled form.

    Examples
    --------
    >>> errors, both = np.array([[0.2, -0.1], [0.1, 0.1]]), np.array([0, 1])
    >>> found = largest_leads(errors, np.full((2, 2), 10.0), both, both)
    >>> [lead.round(6).tolist() for _, lead in found]
    [[0.0, 2.0], [1.0, 0.0]]
    """
    if float(len(rows)) * len(others) * errors.shape[1] < _COMPILE_ABOVE:
        for j in rows:
            leads = (errors[others] - errors[j]) * precisions[j, others, np.newaxis]
            yield int(j), leads.max(axis=0, initial=0.0)
        return
    kernel = compiled(_visit_leads)

    def task(some: IntArray) -> tuple[IntArray, FloatArray]:
        largest = np.zeros((len(some), errors.shape[1]))
        kernel(errors, precisions, some, others, largest)
        return some, largest

    parts = ((rows[first : first + _TILE],) for first in range(0, len(rows), _TILE))
    for some, largest in run_tasks(task, parts, workers=workers):
        yield from zip(some.tolist(), largest, strict=True)


def _visit_leads(errors: Any, precisions: Any, rows: Any, others: Any, largest: Any) -> None:
    """Visit every k for some j, in tiles of k; a lead that is not positive does not count."""
    for tile in range(0, len(others), _TILE):
        for at in range(len(rows)):
            j = rows[at]
            for k in others[tile : tile + _TILE]:
                precision = precisions[j, k]
                if precision > 0:
                    for b in range(largest.shape[1]):
                        lead = (errors[k, b] - errors[j, b]) * precision
                        largest[at, b] = max(largest[at, b], lead)


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
