"""Charts of a ranked board: ranks, scores and the best score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.charts.ranges import MOST_TEAMS, Bars, Points, Series, ranges_chart
from arena.charts.shake_up import shake_up_chart
from arena.charts.shares import shares_chart
from arena.charts.specification import Specification
from arena.charts.theme import BLUE, INK, ORANGE, PALE
from arena.utils.formatting import BoardDisplay

_FAR_BEHIND = 4.0
"""In median distances to the first team."""
Pair = tuple[npt.ArrayLike, npt.ArrayLike]
Standings = Sequence[Mapping[str, Any]]


def rank_chart(
    teams: Sequence[str],
    *,
    interval: Pair | None = None,
    bootstrap: Pair | None = None,
    rank: npt.ArrayLike | None = None,
    most: int = MOST_TEAMS,
) -> Specification:
    """Draw the rank interval, the bootstrap rank range and the rank of each team.

    Parameters
    ----------
    teams
        m names, the best first.
    interval
        ``(m,)`` lower and ``(m,)`` upper end of the rank intervals.
    bootstrap
        ``(m,)`` lower and ``(m,)`` upper end of the bootstrap rank ranges: percentiles of the rank
        over bootstrap resamples of the rows.
    rank
        ``(m,)`` ranks on the board.
    most
        The maximum number of teams shown.
    """
    series: list[Bars | Points] = []
    if interval is not None:
        series.append(Bars("rank interval", *interval, color=PALE, width=11))
    if bootstrap is not None:
        series.append(Bars("bootstrap rank range", *bootstrap, color=BLUE, width=4))
    if rank is not None:
        series.append(Points("rank on the board", rank, color=INK))
    return ranges_chart(teams, series, "rank", whole=True, most=most)


def score_chart(
    teams: Sequence[str],
    scores: npt.ArrayLike,
    interval: Pair,
    best: float | None = None,
    *,
    display: BoardDisplay | None = None,
    most: int = MOST_TEAMS,
) -> Specification:
    """Draw the score of each team with its interval, and the corrected best score.

    Teams are left out if their distance to the first team exceeds four times the median distance:
    they would compress the scale for all others.

    Parameters
    ----------
    teams
        m names, the best first.
    scores
        ``(m,)`` in the metric's units.
    interval
        ``(m,)`` lower and ``(m,)`` upper ends.
    best
        The corrected best score.
    display
        Digits and unit of the scores.
    most
        The maximum number of teams shown.

    Examples
    --------
    >>> scores = np.array([0.9, 0.88, 0.86, 0.1])
    >>> chart = score_chart(["a", "b", "c", "d"], scores, (scores - 0.01, scores + 0.01))
    >>> [row["team"] for row in chart["layer"][1]["data"]["values"]]
    ['a', 'b', 'c']
    """
    values, low, high = (
        np.asarray(values, dtype=np.float64)[:most] for values in (scores, interval[0], interval[1])
    )
    behind = np.abs(values - values[0])
    near = np.flatnonzero(behind <= _FAR_BEHIND * np.median(behind))
    near = near if len(near) else np.arange(len(values))  # without a median, as of unknown scores
    series: Series = [
        Bars("interval of the score", low[near], high[near], color=PALE, width=9),
        Points("score on the board", values[near], color=INK),
    ]
    teams = [teams[position] for position in near.tolist()]
    lines = {} if best is None else {"corrected best score": best}
    return ranges_chart(teams, series, "score", lines=lines, display=display, most=most)


def best_score_chart(
    observed: float,
    estimate: float,
    low: float,
    high: float,
    *,
    display: BoardDisplay | None = None,
) -> Specification:
    """Draw the observed best score, the corrected one, and the interval of the best true score.

    The observed score is the larger point, so that it is seen where both are equal.
    """
    series: Series = [
        Bars("best true score", [low], [high], color=PALE, width=11),
        Points("best score on the board", [observed], color=INK, size=110),
        Points("corrected for selection", [estimate], color=ORANGE),
    ]
    return ranges_chart(["best score"], series, "score", display=display)


def standings_chart(
    name: str,
    standings: Standings,
    best: Mapping[str, Any],
    display: BoardDisplay | None = None,
) -> Specification | None:
    """Draw a chart of :data:`BOARD_CHARTS` from standings, best first, with scores by ``display``.

    None if the board lacks the columns of the chart, for example because a plugin is missing.
    """
    return BOARD_CHARTS[name](standings, best, display) if standings else None


def _column(standings: Standings, name: str) -> list[Any] | None:
    values = [row.get(name) for row in standings]
    return None if all(value is None for value in values) else values


def _pair(standings: Standings, low: str, high: str) -> Pair | None:
    ends = _column(standings, low), _column(standings, high)
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def _teams(standings: Standings) -> list[str]:
    return [row["team"] for row in standings]


def _ranks(standings: Standings, *_: Any) -> Specification | None:
    interval = _pair(standings, "rank_low", "rank_high")
    bootstrap = _pair(standings, "bootstrap_rank_low", "bootstrap_rank_high")
    if interval is None and bootstrap is None:
        return None
    rank = _column(standings, "rank")
    return rank_chart(_teams(standings), interval=interval, bootstrap=bootstrap, rank=rank)


def _wins(standings: Standings, *_: Any) -> Specification | None:
    shares = _column(standings, "win_rate")
    if shares is None:
        return None
    shares_or_zero = [share or 0.0 for share in shares]
    return shares_chart(_teams(standings), shares_or_zero, "share of random samples won")


def _scores(
    standings: Standings, best: Mapping[str, Any], display: BoardDisplay | None
) -> Specification | None:
    interval, scores = _pair(standings, "score_low", "score_high"), _column(standings, "score")
    if interval is None or scores is None:
        return None
    estimate = best.get("estimate")
    return score_chart(_teams(standings), scores, interval, estimate, display=display)


def _best(
    standings: Standings, best: Mapping[str, Any], display: BoardDisplay | None
) -> Specification | None:
    ends = [best.get(key) for key in ("estimate", "low", "high")]
    estimate, low, high = (np.nan if value is None else value for value in ends)
    if not np.isfinite([estimate, low, high]).all():
        return None
    observed = float(standings[0]["score"])
    return best_score_chart(observed, estimate, low, high, display=display)


def _shake_up(standings: Standings, *_: Any) -> Specification | None:
    public, private = (_column(standings, name) for name in ("public_rank", "rank"))
    if public is None or private is None:
        return None
    return shake_up_chart(_teams(standings), public, private)


BOARD_CHARTS = {
    "rank-intervals": _ranks,
    "wins": _wins,
    "score-intervals": _scores,
    "best-score": _best,
    "shake-up": _shake_up,
}
"""The charts of a board, by name."""
