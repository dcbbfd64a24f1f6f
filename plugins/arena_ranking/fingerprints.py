"""Finds submissions that are identical or differ in few rows, without comparing all rows.

A submission is reduced to 256 hashes, one per group of rows. Two submissions differ in at least as
many rows as they have different hashes; for a few rows, the two counts are nearly always equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import IntArray
from arena.utils.compilation import compiled
from arena.utils.parallel import run_tasks

GROUPS = 256
"""Number of groups of rows: the row number modulo 256. Up to 256 rows each have their own."""

COMPILE_ABOVE = 1e9
_TILE = 64

_Hashes = npt.NDArray[np.uint64]


def row_fingerprints(values: npt.NDArray[Any], units: IntArray | None = None) -> _Hashes:
    """Hash the rows of each submission, in groups.

    Parameters
    ----------
    values
        ``(k, n)`` or ``(k, n, n_columns)`` numbers or texts, such as predictions or row values.
    units
        ``(n,)`` codes of clusters, which are then counted in place of rows.

    Returns
    -------
    ``(k, g)`` hashes with g <= 256. Memory besides it: two copies of ``values``.

    Examples
    --------
    >>> hashes = row_fingerprints(np.array([[1, 2, 3], [1, 2, 4], [1, 2, 3]]))
    >>> (hashes == hashes[0]).tolist()
    [[True, True, True], [True, True, False], [True, True, True]]
    """
    n_rows = values.shape[1]
    bits = _bits(values).reshape(len(values), -1)
    bits ^= bits >> np.uint64(32)  # a round float has digits in its upper half only
    bits *= _keys(bits.shape[1])
    if values.ndim > 2:
        bits = bits.reshape(len(values), n_rows, -1).sum(axis=2, dtype=np.uint64)
    if units is None:
        return _sum_every(bits)
    order = np.argsort(units % GROUPS, kind="stable")
    starts = np.flatnonzero(np.diff(units[order] % GROUPS, prepend=-1))
    return np.add.reduceat(bits[:, order], starts, axis=1)


def _sum_every(hashes: _Hashes) -> _Hashes:
    """Sum over the rows with the same row number modulo the number of groups."""
    k, n_rows = hashes.shape
    whole = n_rows // GROUPS * GROUPS
    rest = hashes[:, whole:]
    if not whole:
        return rest
    sums: _Hashes = hashes[:, :whole].reshape(k, -1, GROUPS).sum(axis=1, dtype=np.uint64)
    sums[:, : rest.shape[1]] += rest
    return sums


def _bits(values: npt.NDArray[Any]) -> _Hashes:
    """Return a copy of the numbers as 64 bits each; -0.0 and 0.0 are the same number.

    Of texts, a hash of each.
    """
    if values.dtype == object:
        from pandas.util import hash_array

        return np.asarray(hash_array(values.reshape(-1)).reshape(values.shape))
    if np.issubdtype(values.dtype, np.floating):
        return (values.astype(np.float64) + 0.0).view(np.uint64)
    return values.astype(np.int64).view(np.uint64)


def _keys(n: int) -> _Hashes:
    """Return n well-mixed odd numbers, always the same (the finaliser of SplitMix64)."""
    key = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (key ^ (key >> np.uint64(31))) | np.uint64(1)


def first_identical(fingerprints: _Hashes) -> IntArray:
    """Return for each submission the position of the first one that is identical to it.

    >>> first_identical(row_fingerprints(np.array([[1, 2], [3, 4], [1, 2]]))).tolist()
    [0, 1, 0]
    """
    _, first, inverse = np.unique(fingerprints, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], dtype=np.intp)


def count_differing(fingerprints: _Hashes, *, workers: int = 1) -> npt.NDArray[np.uint8]:
    """Return ``(m, m)`` counts of differing groups, at most 255: a lower bound on differing rows.

    ``workers`` is the number of threads. Holds m * m bytes: 9 MB for 3,000 submissions.

    >>> count_differing(row_fingerprints(np.array([[1, 2, 3], [1, 5, 4]]))).tolist()
    [[0, 2], [2, 0]]
    """
    m = len(fingerprints)
    counts = np.zeros((m, m), dtype=np.uint8)
    if m * fingerprints.size < COMPILE_ABOVE:
        for j in range(m):
            differing = (fingerprints[j + 1 :] != fingerprints[j]).sum(axis=1)
            counts[j, j + 1 :] = counts[j + 1 :, j] = np.minimum(differing, 255)
        return counts
    kernel = compiled(_count_pairs)
    # The upper half of a hash depends on every bit of what was hashed, and compares twice as fast.
    halves = np.ascontiguousarray(fingerprints >> np.uint64(32), dtype=np.uint32)
    parts = ((halves, counts, start) for start in range(0, m, _TILE))
    for _ in run_tasks(kernel, parts, workers=workers):
        pass
    return counts


def _count_pairs(halves: Any, counts: Any, start: Any) -> None:
    """Fill the rows of one tile from the diagonal on, and their mirror image."""
    m, n_groups = halves.shape
    stop = min(m, start + _TILE)
    for tile in range(start, m, _TILE):
        for j in range(start, stop):
            for k in range(max(j + 1, tile), min(m, tile + _TILE)):
                differing = np.uint32(0)
                for g in range(n_groups):
                    differing += np.uint32(halves[j, g] != halves[k, g])
                counts[j, k] = counts[k, j] = min(differing, np.uint32(255))
