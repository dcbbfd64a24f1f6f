"""Finds groups of submissions that are identical or nearly identical."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, IntArray
from arena.utils.components import component_numbers
from arena_ranking.differences import FEW_ROWS

NEAR_DUPLICATE_CORRELATION = 0.99
"""Minimum correlation of score fluctuations at which two submissions are near-duplicates."""

_BLOCK = 256


def near_duplicates(
    standard_errors: FloatArray,
    deviations: FloatArray,
    differing: npt.NDArray[np.uint8],
    n_units: int,
) -> list[IntArray]:
    """Group submissions that are identical or nearly identical.

    Two submissions are near-duplicates if they differ in no row, or in fewer than ten and fewer
    than 1% of them, or if the fluctuations of their scores over the choice of rows are
    correlated by 0.99 or more. Groups are the connected components: a chain of near-duplicates
    is one group.

    Parameters
    ----------
    standard_errors
        ``(m, m)`` standard errors of the differences, not floored.
    deviations
        ``(m,)`` standard error of each score alone.
    differing
        ``(m, m)`` numbers of differing rows (or clusters), or a lower bound on them.
    n_units
        The number of rows (or clusters).

    Returns
    -------
    Groups of positions, each of two or more in ascending order. Memory: blocks of 256 rows.

    Examples
    --------
    >>> errors = np.array([[0.0, 0.001, 0.1], [0.001, 0.0, 0.1], [0.1, 0.1, 0.0]])
    >>> differing = np.array([[0, 90, 90], [90, 0, 90], [90, 90, 0]], dtype=np.uint8)
    >>> [group.tolist() for group in near_duplicates(errors, np.full(3, 0.1), differing, 900)]
    [[0, 1]]
    """
    m = len(deviations)
    pairs = [
        _near_rows(standard_errors, deviations, differing=differing, n_units=n_units, start=start)
        for start in range(0, m, _BLOCK)
    ]
    first, second = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
    group = component_numbers(first, second, m)
    sizes = np.bincount(group)
    return [np.flatnonzero(group == number) for number in np.flatnonzero(sizes > 1)]


def _near_rows(
    standard_errors: FloatArray,
    deviations: FloatArray,
    differing: npt.NDArray[np.uint8],
    n_units: int,
    start: int,
) -> tuple[IntArray, IntArray]:
    """Return the pairs of near-duplicates whose first member is in a block of rows."""
    rows = slice(start, start + _BLOCK)
    variances, row_deviations = deviations**2, deviations[rows]
    covariances = (row_deviations**2)[:, np.newaxis] + variances - standard_errors[rows] ** 2
    covariances /= 2
    moving = (row_deviations > 0)[:, np.newaxis] & (deviations > 0)
    near = moving & (
        covariances >= NEAR_DUPLICATE_CORRELATION * np.outer(row_deviations, deviations)
    )
    near |= differing[rows] < max(min(FEW_ROWS, n_units / 100), 1)
    first, second = np.nonzero(near)
    return start + first, second
