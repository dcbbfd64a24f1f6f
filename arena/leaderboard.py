"""Ranks and ties of a leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, IntArray

__all__ = ["BestOfTeams", "best_first", "best_of_each_team", "minimum_ranks"]


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
    from scipy.stats import rankdata  # half the start of a program that may not rank at all

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


@dataclass(frozen=True, slots=True, eq=False)
class BestOfTeams:
    """The best submission of each of t teams, in the order in which the teams first appear."""

    positions: IntArray
    """``(t,)`` of the best on all rows; of several the first."""
    scores: FloatArray
    """``(t,)``."""
    resampled: FloatArray
    """``(t, B)``: the best in each resample, whichever submission that is."""


def best_of_each_team(
    scores: FloatArray, resampled: FloatArray, teams: Sequence[str], *, greater_is_better: bool
) -> BestOfTeams:
    """Choose each team's best submission, anew within every resample.

    A team that is judged by the best of several on the ranked rows is judged by a maximum. Its
    uncertainty is that of the maximum: keeping the submission that won on all rows in every
    resample would understate it. With one submission per team nothing changes.

    Parameters
    ----------
    scores
        ``(m,)`` natural sign.
    resampled
        ``(m, B)``.
    teams
        m names.

    Examples
    --------
    >>> best = best_of_each_team(
    ...     np.array([0.5, 0.6, 0.4]), np.array([[0.5], [0.3], [0.4]]), ["b", "b", "a"],
    ...     greater_is_better=True)
    >>> best.positions.tolist(), best.resampled.tolist()
    ([1, 2], [[0.5], [0.4]])
    """
    own: dict[str, list[int]] = {}
    for position, team in enumerate(teams):
        own.setdefault(team, []).append(position)
    choose = np.argmax if greater_is_better else np.argmin
    extreme = np.max if greater_is_better else np.min
    positions = [positions[int(choose(scores[positions]))] for positions in own.values()]
    again = [extreme(resampled[positions], axis=0) for positions in own.values()]
    kept = np.array(positions, dtype=np.intp)
    return BestOfTeams(kept, scores[kept], np.array(again, dtype=np.float64))
