"""The largest studentised difference of each resample: the most expensive loop of this plugin.

For 3,000 submissions and 1,000 resamples it visits 4.5 billion numbers. A compiled kernel therefore
exists beside the numpy form; both give the same bits. A maximum does not depend on the order in
which it is taken, so neither do the results on blocks or threads. For the same reason the kernel
may leave out a pair that is below all maxima found before, which single precision can tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, IntArray
from arena.utils.compilation import compiled
from arena.utils.parallel import run_tasks

COMPILE_ABOVE = 1e8
_ROWS_PER_TASK = 32
TILE = 32
"""Submissions of a tile of pairs, whose errors stay in the processor's cache."""

_Pairs = npt.NDArray[np.bool_]


def largest_differences(
    errors: FloatArray,
    precisions: FloatArray,
    open_pairs: _Pairs,
    *,
    loaded: bool = False,
    workers: int = 1,
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
    loaded
        Whether the compiled form is used however little there is to do.
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
    if not (loaded or worth_compiling(errors)):
        return numpy_maxima(errors, precisions, open_pairs)
    return compiled_maxima(errors, precisions, open_pairs, workers=workers)


def worth_compiling(errors: FloatArray) -> bool:
    """Return whether all pairs of ``(m, B)`` errors take longer than loading the compiled form."""
    return float(len(errors)) * errors.size >= COMPILE_ABOVE


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
    single, sizes, unit = _in_single_precision(errors)
    total = np.full(n_resamples, -np.inf)

    def task(first: int, largest: FloatArray) -> FloatArray:
        stop = min(m, first + _ROWS_PER_TASK)
        kernel(errors, single, sizes, unit, precisions, open_pairs, first, stop, largest)
        return largest

    starts = ((first, total.copy()) for first in range(0, m, _ROWS_PER_TASK))
    for largest in run_tasks(task, starts, workers=workers):
        np.maximum(total, largest, out=total)
    return total


def largest_leads(
    errors: FloatArray,
    precisions: FloatArray,
    rows: IntArray,
    others: IntArray,
    *,
    least: FloatArray | None = None,
    loaded: bool = False,
    workers: int = 1,
) -> Iterator[tuple[int, FloatArray]]:
    """Yield each j of ``rows`` with its ``(B,)`` maxima of ``(e_k - e_j) * precision_kj`` over k.

    Parameters
    ----------
    errors, precisions
        As for :func:`largest_differences`; a precision of 0 takes a pair out.
    rows, others
        Positions: of j, and of k.
    least
        One number for each of ``rows``: a maximum below it may be returned smaller than it is.
    loaded, workers
        As for :func:`largest_differences`.

    Examples
    --------
    >>> errors, both = np.array([[0.2, -0.1], [0.1, 0.1]]), np.array([0, 1])
    >>> found = largest_leads(errors, np.full((2, 2), 10.0), both, both)
    >>> [lead.round(6).tolist() for _, lead in found]
    [[0.0, 2.0], [1.0, 0.0]]
    """
    if not loaded and float(len(rows)) * len(others) * errors.shape[1] < COMPILE_ABOVE:
        for j in rows:
            leads = (errors[others] - errors[j]) * precisions[j, others, np.newaxis]
            yield int(j), leads.max(axis=0, initial=0.0)
        return
    kernel = compiled(_visit_leads)
    single, sizes, unit = _in_single_precision(errors)
    limits = np.zeros(len(rows)) if least is None else least

    def task(first: int) -> tuple[IntArray, FloatArray]:
        tile_rows = rows[first : first + TILE]
        largest = np.zeros((len(tile_rows), errors.shape[1]))
        tile_limits = limits[first : first + TILE]
        kernel(errors, single, sizes, unit, precisions, tile_rows, others, tile_limits, largest)
        return tile_rows, largest

    parts = ((first,) for first in range(0, len(rows), TILE))
    for tile_rows, largest in run_tasks(task, parts, workers=workers):
        yield from zip(tile_rows.tolist(), largest, strict=True)


def _in_single_precision(
    errors: FloatArray,
) -> tuple[npt.NDArray[np.float32], FloatArray, float]:
    """Return the errors over a unit, the largest absolute value of each row, and the unit."""
    parts = [slice(start, start + TILE) for start in range(0, len(errors), TILE)]
    sizes = np.empty(len(errors))
    for rows in parts:  # no copy of all errors
        sizes[rows] = np.abs(errors[rows]).max(axis=1, initial=0.0)
    unit = float(sizes.max(initial=0.0)) or 1.0  # single precision has a smaller range
    single = np.empty(errors.shape, dtype=np.float32)
    for rows in parts:
        single[rows] = errors[rows] / unit
    return single, sizes / unit, unit


def _visit_leads(
    errors: Any,
    single: Any,
    sizes: Any,
    unit: Any,
    precisions: Any,
    rows: Any,
    others: Any,
    limits: Any,
    largest: Any,
) -> None:
    """Visit every k for some j, in tiles of k; a lead that is not positive does not count.

    Leads below the limit of j in all resamples are left out, as in :func:`_visit_pairs`.
    """
    n_resamples = largest.shape[1]
    for tile in range(0, len(others), TILE):
        for row in range(len(rows)):
            j = rows[row]
            of_j = single[j]
            for k in others[tile : tile + TILE]:
                precision = precisions[j, k]
                scale = precision * unit
                if limits[row] > 0 and 0 < scale < 1e30:
                    of_k = single[k]
                    margin = 1e-6 * (sizes[j] + sizes[k])
                    limit = np.float32((1 - 1e-6) * limits[row] / scale - margin)
                    exceeds = False
                    for b in range(n_resamples):
                        exceeds |= of_k[b] - of_j[b] > limit
                    if not exceeds:
                        continue
                if precision > 0:
                    for b in range(n_resamples):
                        lead = (errors[k, b] - errors[j, b]) * precision
                        largest[row, b] = max(largest[row, b], lead)


def _visit_pairs(  # noqa: PLR0912 - one compiled loop
    errors: Any,
    single: Any,
    sizes: Any,
    unit: Any,
    precisions: Any,
    open_pairs: Any,
    first: Any,
    last: Any,
    largest: Any,
) -> None:
    """Visit the pairs j < k with first <= j < last, in tiles of k that stay in the cache.

    ``single`` are the errors in single precision over ``unit``, and ``sizes`` their largest
    absolute values. The margins are several times the rounding errors of single precision.
    """
    m, n_resamples = errors.shape
    reached = largest.astype(np.float32)
    least = largest.min()
    for tile in range(first, m, TILE):
        for j in range(first, last):
            of_j = single[j]
            for k in range(max(j + 1, tile), min(m, tile + TILE)):
                precision = precisions[j, k]
                forward, backward = open_pairs[j, k], open_pairs[k, j]
                if not (forward or backward):
                    continue
                scale = precision * unit
                if least > 0 and 0 < scale < 1e30:  # else single precision could overflow
                    of_k = single[k]
                    margin = 1e-6 * (sizes[j] + sizes[k])
                    limit = np.float32((1 - 1e-6) * least / scale - margin)
                    exceeds = False
                    for b in range(n_resamples):
                        exceeds |= abs(of_j[b] - of_k[b]) > limit
                    if not exceeds:
                        continue
                    factor, more = np.float32(scale), np.float32(margin * scale)
                    exceeds = False
                    for b in range(n_resamples):
                        exceeds |= abs(of_j[b] - of_k[b]) * factor + more > reached[b]
                    if not exceeds:
                        continue
                if forward and backward:
                    for b in range(n_resamples):
                        difference = abs((errors[j, b] - errors[k, b]) * precision)
                        largest[b] = max(largest[b], difference)
                elif forward:
                    for b in range(n_resamples):
                        difference = (errors[j, b] - errors[k, b]) * precision
                        largest[b] = max(largest[b], difference)
                else:
                    for b in range(n_resamples):
                        difference = (errors[k, b] - errors[j, b]) * precision
                        largest[b] = max(largest[b], difference)
                least = largest.min()
                for b in range(n_resamples):
                    reached[b] = (1 - 1e-6) * largest[b]
