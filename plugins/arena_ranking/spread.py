"""How scores and ranks spread over joint resamples of the rows: descriptions of one board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arena.errors import UsageError
from arena.leaderboard import minimum_ranks
from arena.results import Tabular
from arena.types import FloatArray, IntArray

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "RankSpread",
    "prize_shares",
    "rank_spread",
    "score_intervals",
    "share_in_top",
]


@dataclass(frozen=True, slots=True, eq=False)
class RankSpread(Tabular):
    """The ranks of each submission over the resamples. Not confidence intervals."""

    low: IntArray
    """``(m,)`` the smaller percentile of its ranks."""
    high: IntArray
    """``(m,)`` the larger percentile of its ranks."""
    median: FloatArray
    """``(m,)`` the median of its ranks; a half where B is even and the middle two differ."""
    share_won: FloatArray
    """``(m,)`` share of resamples with rank 1; all who tie for it count."""
    ranks: IntArray
    """``(m, B)`` minimum ranks; 24 MB for 3,000 submissions and 1,000 resamples."""

    def chart(self, teams: Sequence[str]) -> alt.LayerChart:
        """Return a picture of the spread of the ranks; ``teams`` are m names."""
        from arena.charts import as_altair, rank_chart

        order = np.lexsort((self.high, self.low, self.median))
        return as_altair(
            rank_chart([teams[at] for at in order], spread=(self.low[order], self.high[order]))
        )


def _defined(resampled: FloatArray) -> FloatArray:
    """Return the resamples in which every score is defined, or refuse."""
    if resampled.ndim != 2 or not len(resampled):
        raise UsageError("The resampled scores must be one row per submission, at least one.")
    defined = np.isfinite(resampled).all(axis=0)
    if not defined.any():
        raise UsageError("There is no resample in which every submission has a score.")
    return resampled if defined.all() else resampled[:, defined]


def rank_spread(
    resampled: FloatArray, level: float = 0.95, *, greater_is_better: bool = True
) -> RankSpread:
    """Describe the ranks over resamples: percentiles, median, share won.

    This is what challengeR and others show. It is a description and not a confidence interval:
    on crowded boards, where many submissions are worth nearly the same, the best of them is often
    far from the top in every resample. Of 200 simulated boards of 30 correlated submissions with
    accuracies from 0.80 to 0.82 on 2,000 rows, the 90 % spread held the rank of the truly best
    one in 60 %, and all true ranks at once in 0.5 %;
    :func:`~arena_ranking.simultaneous.rank_intervals` held all at once in 99 %.

    Parameters
    ----------
    resampled
        ``(m, B)`` natural sign, compared exactly: round them before (as
        :func:`arena.resampling.score_under_weights` does), so that equal submissions tie.
    level
        Between the percentiles lies this share of the resamples, in (0, 1).

    Raises
    ------
    UsageError
        If the level is out of range, or no resample has every score.

    Examples
    --------
    >>> spread = rank_spread(np.array([[0.9, 0.8, 0.9, 0.9], [0.7, 0.8, 0.8, 0.95]]), 0.5)
    >>> spread.share_won.tolist(), spread.median.tolist()
    ([0.75, 0.5], [1.0, 1.5])
    """
    _check_level(level)
    ranks = minimum_ranks(_defined(resampled), greater_is_better=greater_is_better)
    tail = (1 - level) / 2
    return RankSpread(
        low=np.quantile(ranks, tail, axis=1, method="inverted_cdf").astype(np.intp),
        high=np.quantile(ranks, 1 - tail, axis=1, method="inverted_cdf").astype(np.intp),
        median=np.median(ranks, axis=1),
        share_won=(ranks == 1).mean(axis=1),
        ranks=ranks,
    )


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise UsageError(f"The level must lie between 0 and 1, not at {level}.")


def share_in_top(ranks: IntArray, k: int) -> FloatArray:
    """Return ``(m,)`` shares of resamples in which each submission is among the first k.

    >>> share_in_top(np.array([[1, 1], [2, 3], [3, 2]]), 2).tolist()
    [1.0, 0.5, 0.5]
    """
    return np.asarray((ranks <= k).mean(axis=1))


def score_intervals(resampled: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Return the percentile interval of each score, one submission at a time.

    Parameters
    ----------
    resampled
        ``(m, B)``; a submission's undefined scores are left out.
    level
        The confidence level of each interval alone, in (0, 1).

    Returns
    -------
    The lower and upper ends, ``(m,)`` each, in the units of the score; NaN where no score is
    defined.

    Examples
    --------
    >>> low, high = score_intervals(np.arange(101.0)[np.newaxis] / 100, 0.9)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.05], [0.95])
    """
    _check_level(level)
    tail = (1 - level) / 2
    if np.isfinite(resampled).all():
        low, high = np.quantile(resampled, [tail, 1 - tail], axis=1)
        return low, high
    ends = np.full((len(resampled), 2), np.nan)
    for end, scores in zip(ends, resampled, strict=True):
        finite = scores[np.isfinite(scores)]
        if len(finite):
            end[:] = np.quantile(finite, [tail, 1 - tail])
    return ends[:, 0], ends[:, 1]


def prize_shares(ranks: IntArray, teams: Sequence[str]) -> FloatArray:
    """Return each submission's expected share of one prize, drawn by resamples won.

    In every resample the prize goes to the team of the best submission. Teams that tie for it
    each get 1 / (number of teams tied), and a team's part is split in the same way among its own
    submissions that tie. A near-copy of another team's submission takes its share from there: see
    :func:`arena_ranking.copies.near_copies`.

    Parameters
    ----------
    ranks
        ``(m, B)`` minimum ranks per resample.
    teams
        m names.

    Returns
    -------
    ``(m,)``, summing to 1; sum over a team's submissions for the share of the team.

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
