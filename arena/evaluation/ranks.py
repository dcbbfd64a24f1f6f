"""Ranks and ties of a leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, IntArray

__all__ = [
    "BestOfTeams",
    "best_first",
    "best_of_each_team",
    "doubled_mean_ranks",
    "minimum_ranks",
    "tied_ranks",
]

_COLUMNS_AT_ONCE = 16


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
        If a score is not finite.

    Examples
    --------
    >>> minimum_ranks([0.9, 0.8, 0.9], greater_is_better=True)
    array([1, 3, 1])
    """
    array: FloatArray = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError("Only finite scores can be ranked.")
    signed = -array if greater_is_better else array
    columns = signed if signed.ndim > 1 else signed[:, np.newaxis]
    ranks = np.empty(columns.shape, dtype=np.intp)
    for start in range(0, columns.shape[1], _COLUMNS_AT_ONCE):  # which stay in the cache
        part = slice(start, start + _COLUMNS_AT_ONCE)
        ranks[:, part] = _minimum_ranks_of_rows(np.ascontiguousarray(columns[:, part].T)).T
    return ranks.reshape(signed.shape)


def _minimum_ranks_of_rows(values: FloatArray) -> IntArray:
    """Return the ranks within each row of ``(k, m)`` values, 1 = smallest."""
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    ranks = np.ones(values.shape, dtype=np.intp)
    first = ordered[:, 1:] != ordered[:, :-1]  # of those that are tied
    np.multiply(first, np.arange(2, values.shape[1] + 1), out=ranks[:, 1:])
    np.maximum.accumulate(ranks, axis=1, out=ranks)
    ranks_of_row = np.empty_like(ranks)
    np.put_along_axis(ranks_of_row, order, ranks, axis=1)
    return ranks_of_row


def tied_ranks(values: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the first and the last rank of the ties of each value in a column, 1 = smallest.

    As ``scipy.stats.rankdata`` with the methods ``min`` and ``max``, whose import takes a second.

    Parameters
    ----------
    values
        ``(m, n)`` without NaN.

    Examples
    --------
    >>> first, last = tied_ranks(np.array([[0.5], [0.1], [0.5]]))
    >>> first.ravel().tolist(), last.ravel().tolist()
    ([2, 1, 2], [3, 1, 3])
    """
    rows = np.ascontiguousarray(values.T)
    first = _minimum_ranks_of_rows(rows).T
    last = len(values) + 1 - _minimum_ranks_of_rows(-rows).T
    return first, last


def doubled_mean_ranks(values: FloatArray) -> IntArray:
    """Return twice the rank of each value within its row, 1 = smallest; ties share their mean rank.

    ``values`` are ``(k, n)`` without NaN. Twice a mean rank is an integer.

    >>> doubled_mean_ranks(np.array([[0.5, 0.1, 0.5]])).tolist()
    [[5, 2, 5]]
    """
    n = values.shape[1]
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    differs = ordered[:, 1:] != ordered[:, :-1]
    first, last = np.ones(values.shape, dtype=np.intp), np.full(values.shape, n, dtype=np.intp)
    np.multiply(differs, np.arange(2, n + 1), out=first[:, 1:])
    np.maximum.accumulate(first, axis=1, out=first)
    last[:, :-1] = np.where(differs, np.arange(1, n), n)
    first += np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    doubled = np.empty_like(first)
    np.put_along_axis(doubled, order, first, axis=1)
    return doubled


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
    """``(t,)`` positions of the best submissions on all rows; the first of several."""
    scores: FloatArray
    """``(t,)``."""
    resampled: FloatArray
    """``(t, B)`` best score in each resample, from any submission of the team."""


def best_of_each_team(
    scores: FloatArray, resampled: FloatArray, teams: Sequence[str], *, greater_is_better: bool
) -> BestOfTeams:
    """Select each team's best submission, separately within every resample.

    The score of such a team is a maximum over its submissions. Using the submission that is best on
    all rows in every resample would underestimate its uncertainty. With one submission per team
    nothing changes.

    Parameters
    ----------
    scores
        ``(m,)`` in the metric's natural sign.
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
    places_of_team: dict[str, list[int]] = {}
    for position, team in enumerate(teams):
        places_of_team.setdefault(team, []).append(position)
    choose = np.argmax if greater_is_better else np.argmin
    extreme = np.max if greater_is_better else np.min
    positions = [positions[int(choose(scores[positions]))] for positions in places_of_team.values()]
    again = np.empty((len(places_of_team), resampled.shape[1]))
    for row, positions_of_team in zip(again, places_of_team.values(), strict=True):
        extreme(resampled[positions_of_team], axis=0, out=row)
    best_positions = np.array(positions, dtype=np.intp)
    return BestOfTeams(best_positions, scores[best_positions], again)
