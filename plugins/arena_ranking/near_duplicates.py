"""Finds groups of submissions that are identical or nearly identical."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, IntArray
from arena_ranking.differences import FEW_ROWS

__all__ = ["NEAR_DUPLICATE_CORRELATION", "near_duplicates"]

NEAR_DUPLICATE_CORRELATION = 0.99
"""Minimum correlation of score fluctuations at which two submissions are near-duplicates."""


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
    Groups of positions, each of two or more in ascending order. Memory: three times ``(m, m)``
    float64 at the peak.

    Examples
    --------
    >>> errors = np.array([[0.0, 0.001, 0.1], [0.001, 0.0, 0.1], [0.1, 0.1, 0.0]])
    >>> differing = np.array([[0, 90, 90], [90, 0, 90], [90, 90, 0]], dtype=np.uint8)
    >>> [group.tolist() for group in near_duplicates(errors, np.full(3, 0.1), differing, 900)]
    [[0, 1]]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    variances = deviations**2
    covariances = variances[:, np.newaxis] + variances - standard_errors**2
    covariances /= 2
    moving = (deviations > 0)[:, np.newaxis] & (deviations > 0)
    near = moving & (covariances >= NEAR_DUPLICATE_CORRELATION * np.outer(deviations, deviations))
    near |= differing < max(min(FEW_ROWS, n_units / 100), 1)
    first, second = np.nonzero(near)
    graph = coo_array((np.ones(len(first)), (first, second)), shape=near.shape)
    _, group = connected_components(graph, directed=False)
    sizes = np.bincount(group)
    return [np.flatnonzero(group == one) for one in np.flatnonzero(sizes > 1)]
