"""Connected components of a graph that is given by its links."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def component_numbers(
    first: npt.NDArray[np.intp], second: npt.NDArray[np.intp], n: int
) -> npt.NDArray[np.intp]:
    """Return ``(n,)`` the number of the connected component of each of n nodes.

    ``first`` and ``second`` are the ends of each link; one of a node to itself joins nothing.

    >>> component_numbers(np.array([0, 3]), np.array([2, 3]), 4).tolist()
    [0, 1, 0, 2]
    """
    if np.array_equal(first, second):
        return np.arange(n)  # most boards: the import takes longer than the rest

    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(first)), (first, second)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)
