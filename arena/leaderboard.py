"""Ranks and ties of a leaderboard."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from arena.types import FloatArray, IntArray

__all__ = ["best_first", "minimum_ranks"]


def minimum_ranks(scores: npt.ArrayLike, *, greater_is_better: bool) -> IntArray:
    """Return the rank of each score along the first axis; tied scores share the smallest rank.

    Parameters
    ----------
    scores
        ``(m,)`` or ``(m, B)``, finite.

    Returns
    -------
    An array of the same shape, 1 = best.

    Raises
    ------
    ValueError
        If a score is not finite: it has no place in a ranking.

    Examples
    --------
    >>> minimum_ranks([0.9, 0.8, 0.9], greater_is_better=True)
    array([1, 3, 1])
    """
    array: FloatArray = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("Only finite scores can be ranked.")
    signed = -array if greater_is_better else array
    return np.asarray(rankdata(signed, method="min", axis=0), dtype=np.intp)


def best_first(scores: npt.ArrayLike, *, greater_is_better: bool) -> IntArray:
    """Return the positions of the ``(m,)`` scores, best first; ties keep their order.

    >>> best_first([0.9, 0.8, 0.95], greater_is_better=True)
    array([2, 0, 1])
    """
    array: FloatArray = np.asarray(scores, dtype=np.float64)
    return np.argsort(-array if greater_is_better else array, kind="stable")
