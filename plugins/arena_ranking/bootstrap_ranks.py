"""Describes ranks over joint resamples of the rows: a description of a board, not inference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arena.errors import UsageError
from arena.evaluation.levels import check_level
from arena.evaluation.ranks import minimum_ranks
from arena.types import DEFAULT_LEVEL, FloatArray, IntArray
from arena.utils.tabular import Tabular

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapRankRanges(Tabular):
    """The ranks of each submission over the resamples. Not confidence intervals."""

    low: IntArray
    """``(m,)`` the smaller percentile of its ranks."""
    high: IntArray
    """``(m,)`` the larger percentile of its ranks."""
    median: FloatArray
    """``(m,)`` the median of its ranks; a half where B is even and the middle two differ."""
    win_rate: FloatArray
    """``(m,)`` share of resamples with rank 1; ties for rank 1 all count."""
    ranks: IntArray
    """``(m, B)`` minimum ranks; 24 MB for 3,000 submissions and 1,000 resamples."""

    def chart(self, teams: Sequence[str]) -> alt.LayerChart:
        """Return a chart of the ranges; ``teams`` are m names."""
        from arena.charts import as_altair, rank_chart

        order = np.lexsort((self.high, self.low, self.median))
        return as_altair(
            rank_chart(
                [teams[position] for position in order],
                bootstrap=(self.low[order], self.high[order]),
            )
        )


def _defined(resampled: FloatArray) -> FloatArray:
    """Return the resamples in which every score is defined; raise if there is none."""
    if resampled.ndim != 2 or not len(resampled):
        raise UsageError("The resampled scores must be one row per submission, at least one.")
    defined = np.isfinite(resampled).all(axis=0)
    if not defined.any():
        raise UsageError("There is no resample in which every submission has a score.")
    return resampled if defined.all() else resampled[:, defined]


def bootstrap_rank_ranges(
    resampled: FloatArray, level: float = DEFAULT_LEVEL, *, greater_is_better: bool = True
) -> BootstrapRankRanges:
    """Describe the ranks over resamples: percentiles, median, win rate.

    challengeR and others show these ranges. They are not confidence intervals: on boards where many
    submissions are nearly equally good, the truly best one is often far from the top in every
    resample. :func:`~arena_ranking.simultaneous.rank_intervals` are confidence intervals.

    Parameters
    ----------
    resampled
        ``(m, B)`` natural sign. They are compared exactly, so round them first (as
        :func:`arena.evaluation.scores.score_under_weights` does) to let equal submissions tie.
    level
        The share of the resamples between the percentiles, in (0, 1).

    Raises
    ------
    UsageError
        If the level is out of range, or no resample has every score.

    Examples
    --------
    >>> spread = bootstrap_rank_ranges(np.array([[0.9, 0.8, 0.9, 0.9], [0.7, 0.8, 0.8, 0.95]]), 0.5)
    >>> spread.win_rate.tolist(), spread.median.tolist()
    ([0.75, 0.5], [1.0, 1.5])
    """
    check_level(level)
    ranks = minimum_ranks(_defined(resampled), greater_is_better=greater_is_better)
    tail = (1 - level) / 2
    return BootstrapRankRanges(
        low=np.quantile(ranks, tail, axis=1, method="inverted_cdf").astype(np.intp),
        high=np.quantile(ranks, 1 - tail, axis=1, method="inverted_cdf").astype(np.intp),
        median=np.median(ranks, axis=1),
        win_rate=(ranks == 1).mean(axis=1),
        ranks=ranks,
    )


def share_in_top(ranks: IntArray, k: int) -> FloatArray:
    """Return ``(m,)`` shares of resamples in which each submission is among the first k.

    >>> share_in_top(np.array([[1, 1], [2, 3], [3, 2]]), 2).tolist()
    [1.0, 0.5, 0.5]
    """
    return np.asarray((ranks <= k).mean(axis=1))


def prize_shares(ranks: IntArray, teams: Sequence[str]) -> FloatArray:
    """Return each submission's expected share of one prize over the resamples.

    In every resample the prize goes to the team of the best submission. Teams that tie for it
    each get 1 / (number of teams tied), and a team's share is split equally among its tied
    submissions. A near-duplicate takes its share from the submission that it resembles: see
    :func:`arena_ranking.near_duplicates.near_duplicates`.

    Parameters
    ----------
    ranks
        ``(m, B)`` minimum ranks per resample.
    teams
        m names.

    Returns
    -------
    ``(m,)``, summing to 1; sum over a team's submissions for the share of the team.

    Raises
    ------
    UsageError
        If there is not one team per submission.

    Examples
    --------
    >>> prize_shares(np.array([[1, 1], [1, 2], [1, 3]]), ["a", "b", "b"]).tolist()
    [0.75, 0.125, 0.125]
    """
    if len(teams) != len(ranks):
        raise UsageError("Prize shares need one team per submission.")
    team = np.unique(np.asarray(teams, dtype=object).astype(str), return_inverse=True)[1]
    won = ranks == 1
    own_wins = _sum_by_team(won.astype(np.float64), team)
    teams_tied = (own_wins > 0).sum(axis=0)
    shares: FloatArray = np.where(won, 1.0 / (np.maximum(own_wins[team], 1.0) * teams_tied), 0.0)
    return np.asarray(shares.mean(axis=1))


def _sum_by_team(values: FloatArray, team: IntArray) -> FloatArray:
    sums = np.zeros((team.max() + 1, values.shape[1]))
    np.add.at(sums, team, values)
    return sums
