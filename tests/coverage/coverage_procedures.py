"""The intervals and sets that arena prints, and whether they held on a board.

To add one, write a function from a :class:`Drawn` board to an :class:`Outcome` and add a row to
:data:`PROCEDURES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

import csranks
from arena.evaluation.best_score import PRIZES
from arena.evaluation.ranks import best_first, best_of_each_team
from arena.evaluation.score_intervals import ScoreErrors, score_errors
from arena.evaluation.winner_intervals import (
    BestScoreInterval,
    WinnerIntervals,
    intervals_of_teams,
    winners_of_places,
)
from arena.interfaces import RankSets, Study
from arena.scoring.private_board import best_of_intervals
from arena.types import IntArray
from arena_ranking.ranker import SimultaneousRanks
from coverage_boards import Board, Cell
from coverage_rivals import RIVALS, Interval

__all__ = ["PROCEDURES", "Drawn", "Outcome", "Procedure"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A board as arena receives it, with the truth beside."""

    study: Study
    """Of the submissions that count, one per team."""
    board: Board
    counting: IntArray
    """``(t,)`` positions in the board of the submissions that count."""

    @property
    def merit(self) -> np.ndarray:
        """``(t,)`` true scores of the submissions that count; larger is better."""
        true = self.board.true_scores[self.counting]
        return true if self.study.metric.greater_is_better else -true


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one interval, or of one set of intervals, on one board."""

    covered: float
    """1 if it held, 0 if not; a share where it is claimed of each of several alike."""
    width: float
    """In the unit of the procedure; comparable between procedures on the same boards."""
    offered: bool = True
    """Whether arena printed it as holding at the nominal level."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A row of the table of procedures."""

    name: str
    run: Callable[[Drawn], Outcome]
    suits: Callable[[Cell], bool] = lambda cell: True
    beside: str = ""
    """The procedure beside which this one of others stands for comparison; arena does not print it,
    and it is held to no bar."""


def ranks_held(
    merit: np.ndarray, low: IntArray, high: IntArray, *, offered: bool = True
) -> Outcome:
    """Return whether all rank sets hold every rank that is true; the width is their mean.

    Of several that are equal and the best, the first is the best one: the others may have rank 2.
    """
    better = (merit > merit[:, np.newaxis]).sum(axis=1)
    worse = (merit < merit[:, np.newaxis]).sum(axis=1)
    others = (merit == merit.max()) & (np.arange(len(merit)) != np.argmax(merit))
    held = (low <= np.where(others, 2, 1 + better)) & (len(merit) - worse <= high)
    return Outcome(bool(held.all()), float((high - low).mean()), offered)


def rank_sets(drawn: Drawn) -> Outcome:
    """The rank sets of the analysis ``ranks``."""
    ranks = _of_board(own_ranks, drawn)
    return ranks_held(drawn.merit, ranks.low, ranks.high, offered=ranks.not_offered is None)


def possible_winners(drawn: Drawn) -> Outcome:
    """The set of possible winners; it holds if every team that is truly best is in it with the
    probability of the level: of several, the share in it counts."""
    ranks = _of_board(own_ranks, drawn)
    possible = ranks.possible_winner
    best = drawn.merit == drawn.merit.max()
    return Outcome(float(possible[best].mean()), float(possible.sum()), ranks.not_offered is None)


def possible_top(drawn: Drawn) -> Outcome:
    """The tau-best set for three prizes: it holds if the truly best three are all in it."""
    ranks = _of_board(own_ranks, drawn)
    possible = ranks.low <= 3
    merit = drawn.merit
    best = (merit > merit[:, np.newaxis]).sum(axis=1) < 3
    return Outcome(bool(possible[best].all()), float(possible.sum()), ranks.not_offered is None)


def csranks_stepdown(drawn: Drawn) -> Outcome:
    """The rank sets of csranks, from the bootstrap covariance of the scores."""
    return ranks_held(drawn.merit, *_of_board(csranks_sets, drawn))


def csranks_tau_best(drawn: Drawn) -> Outcome:
    """The set of the best one of csranks (``cstaubest``), to compare with the possible winners."""
    possible = _of_board(csranks_sets, drawn)[0] <= 1
    best = drawn.merit == drawn.merit.max()
    return Outcome(float(possible[best].mean()), float(possible.sum()))


def csranks_sets(drawn: Drawn) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the rank sets of csranks."""
    sign = 1.0 if drawn.study.metric.greater_is_better else -1.0
    covariance = np.atleast_2d(np.cov(drawn.study.resampled))
    rng = np.random.default_rng(0)
    return csranks.stepdown(sign * drawn.study.scores, covariance, drawn.study.level, rng)


def own_ranks(drawn: Drawn) -> RankSets:
    """Return the ranks that arena finds."""
    return SimultaneousRanks().rank(drawn.study)


def errors_of_scores(drawn: Drawn) -> ScoreErrors:
    """Return what arena knows of the scores' errors."""
    return score_errors(drawn.study.with_all_candidates())


_found: dict[str, Any] = {}


def _of_board(compute: Callable[[Drawn], T], drawn: Drawn) -> T:
    """Return what a function finds on a board, computed once for all procedures."""
    if _found.get("board") is not drawn:
        _found.clear()
        _found["board"] = drawn
    if compute.__name__ not in _found:
        _found[compute.__name__] = compute(drawn)
    return cast("T", _found[compute.__name__])


def counting_submissions(board: Board, scores: np.ndarray, resampled: np.ndarray, larger: bool):
    """Return the best submission of each team and its resampled scores."""
    teams = board.teams if board.teams is not None else np.arange(len(scores))
    names = [str(team) for team in teams]
    return best_of_each_team(scores, resampled, names, greater_is_better=larger)


def _several_prizes(cell: Cell) -> bool:
    return not cell.name.endswith("m=2")


def true_scores(drawn: Drawn) -> np.ndarray:
    """Return the ``(t,)`` true scores of the submissions that count, natural sign."""
    return drawn.board.true_scores[drawn.counting]


def holds(true: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return which intervals hold; an end at the true score counts, but for rounding."""
    slack = 1e-9 * np.abs(true)
    return (low <= true + slack) & (true - slack <= high)


def found_winners(drawn: Drawn) -> tuple[list[WinnerIntervals], BestScoreInterval]:
    """Return the intervals of the first and of the first three, and that of the best score."""
    study = drawn.study
    return winners_of_places(
        _of_board(errors_of_scores, drawn),
        study.with_all_candidates().resampled,
        (1, PRIZES),
        greater_is_better=study.metric.greater_is_better,
        level=study.level,
        teams=drawn.board.teams,
        may_be_first=(
            None if study.candidates is not None else _of_board(own_ranks, drawn).possible_winner
        ),
    )


def winners(drawn: Drawn, places: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions and ends of the winners' intervals."""
    study, ranks = drawn.study, _of_board(own_ranks, drawn)
    if ranks.score_low is not None and ranks.score_high is not None:
        order = best_first(study.scores, greater_is_better=study.metric.greater_is_better)[:places]
        return order, ranks.score_low[order], ranks.score_high[order]
    first, several = _of_board(found_winners, drawn)[0]
    intervals = first if places == 1 else several
    return intervals.submission, intervals.low, intervals.high


def best_score(drawn: Drawn) -> Outcome:
    """The interval for the best true score, from the teams that may be first."""
    study, ranks = drawn.study, _of_board(own_ranks, drawn)
    if ranks.score_low is not None and ranks.score_high is not None:
        ends = best_of_intervals(ranks, greater_is_better=study.metric.greater_is_better)
    else:
        ends = _of_board(found_winners, drawn)[1].ends
    low, high = (np.array([end]) for end in ends)
    return _of_first(true_scores(drawn)[[np.argmax(drawn.merit)]], low, high, ranks)


def winner_score(drawn: Drawn) -> Outcome:
    """The interval for the winner's own true score."""
    which, low, high = winners(drawn, 1)
    return _of_first(true_scores(drawn)[which], low, high, _of_board(own_ranks, drawn))


def _of_first(true: np.ndarray, low: np.ndarray, high: np.ndarray, ranks: RankSets) -> Outcome:
    """Return the outcome of one interval, which is withheld with the ranks."""
    offered = bool(low[0] <= high[0]) and ranks.not_offered is None
    return Outcome(bool(holds(true, low, high)[0]), float(high[0] - low[0]), offered)


def prize_winners(drawn: Drawn) -> Outcome:
    """The intervals for the true scores of the first three, all at once."""
    which, low, high = winners(drawn, PRIZES)
    is_given = np.isfinite(low) & (_of_board(own_ranks, drawn).not_offered is None)
    held = holds(true_scores(drawn)[which], low, high)
    width = float((high - low)[is_given].mean()) if is_given.any() else np.nan
    return Outcome(bool(held[is_given].all()), width, bool(is_given.any()))


def own_score(drawn: Drawn) -> Outcome:
    """The interval of one score by itself: of a team chosen beforehand."""
    ranks = _of_board(own_ranks, drawn) if drawn.study.parts else None
    if ranks is None or ranks.score_low is None or ranks.score_high is None:
        low, high = intervals_of_teams(drawn.study)
    else:
        low, high = ranks.score_low, ranks.score_high
    held = holds(true_scores(drawn), low, high)
    team = chosen_team(drawn)
    return Outcome(bool(held[team]), float(high[team] - low[team]), bool(low[team] <= high[team]))


def chosen_team(drawn: Drawn) -> int:
    """Return the position of the team with the most candidates, the last one if all have one."""
    teams = drawn.board.teams
    return -1 if teams is None else int(np.argmax(np.bincount(teams)))


def has_scores(cell: Cell) -> bool:
    """Return whether the true scores of a cell are known."""
    return not cell.order_only


def rival(interval: Interval) -> Callable[[Drawn], Outcome]:
    """Return a procedure that gives the interval of others beside :func:`own_score`."""

    def run(drawn: Drawn) -> Outcome:
        team = chosen_team(drawn)
        low, high = interval(drawn.study, team)
        true = true_scores(drawn)[team]
        return Outcome(bool(holds(true, np.asarray(low), np.asarray(high))), high - low)

    return run


def bootstrap_maximum(drawn: Drawn) -> Outcome:
    """Quantiles of the largest bootstrap error, with standard errors held fixed."""
    study = drawn.study
    sign = 1 if study.metric.greater_is_better else -1
    deviations = study.resampled.std(axis=1, ddof=1)
    moving = deviations > 0
    errors = sign * (study.resampled - study.scores[:, np.newaxis])[moving]
    errors /= deviations[moving, np.newaxis]
    tail = (1 + study.level) / 2
    below, above = (
        np.quantile(each.max(axis=0), tail) if moving.any() else 0.0 for each in (errors, -errors)
    )
    low = np.max(sign * study.scores - below * deviations)
    high = np.max(sign * study.scores + above * deviations)
    return Outcome(bool(low <= drawn.merit.max() <= high), float(high - low))


def _both(first: Callable[[Cell], bool], second: Callable[[Cell], bool]) -> Callable[[Cell], bool]:
    return lambda cell: first(cell) and second(cell)


PROCEDURES: tuple[Procedure, ...] = (
    Procedure("rank sets", rank_sets),
    Procedure("possible winners", possible_winners),
    Procedure("possible top 3", possible_top, suits=_several_prizes),
    Procedure("csranks stepdown", csranks_stepdown, beside="rank sets"),
    Procedure("csranks cstaubest", csranks_tau_best, beside="possible winners"),
    Procedure("winner's score", winner_score, has_scores),
    Procedure("best score", best_score, has_scores),
    Procedure("bootstrap maximum", bootstrap_maximum, has_scores, beside="best score"),
    Procedure("first three", prize_winners, has_scores),
    Procedure("own score", own_score, has_scores),
    *(
        Procedure(name, rival(interval), _both(has_scores, suits), beside="own score")
        for name, (interval, suits) in RIVALS.items()
    ),
)
