"""Labels that differ from the true ones, to find out whether an outcome depends on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy.typing as npt


def other_labels(truth: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Yield labels from the same domain: each one replaced by another, then one row more.

    A label consists of all targets of a row, so that each row is one that the solution has.

    Parameters
    ----------
    truth
        ``(n,)`` or ``(n, k)``.

    Yields
    ------
    Labels of the same shape. None if all rows have the same label: then there is no other.

    Examples
    --------
    >>> import numpy as np
    >>> [labels.tolist() for labels in other_labels(np.array([0, 1, 1, 2]))]
    [[1, 2, 2, 0], [1, 0, 2, 0]]
    >>> [labels.tolist() for labels in other_labels(np.array([0, 1, 1]))]
    [[1, 0, 0], [1, 1, 0]]
    >>> list(other_labels(np.zeros(3)))
    []
    """
    rows = [tuple(row) for row in truth.reshape(len(truth), -1).tolist()]
    counts = Counter(rows)
    if len(counts) < 2:
        return
    firsts = {row: position for position, row in reversed(list(enumerate(rows)))}
    distinct = list(counts)
    following = dict(zip(distinct, [*distinct[1:], distinct[0]], strict=True))
    places = [firsts[following[row]] for row in rows]
    yield truth[places]
    # One of the most frequent label, so that no class disappears.
    ((frequent, _),) = counts.most_common(1)
    places[firsts[frequent]] = firsts[following[following[frequent]]]
    yield truth[places]
