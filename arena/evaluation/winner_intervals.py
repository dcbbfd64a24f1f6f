"""Intervals for the true scores of submissions that were selected on the same rows.

The winners of a board, its best true score, and the best submission of each team: the end of an
interval that the selection biases holds for all that could have been selected, at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from arena.errors import UsageError
from arena.evaluation.joint_critical_values import joint_critical_values, standardised_errors
from arena.evaluation.levels import check_level
from arena.evaluation.score_intervals import (
    ScoreErrors,
    interval_ends,
    own_intervals,
    score_errors,
    signed_interval_ends,
)
from arena.interfaces import Study
from arena.types import FloatArray, IntArray
from arena.utils.parallel import one_thread_each
from arena.utils.tabular import Tabular

__all__ = [
    "BestScoreInterval",
    "WinnerIntervals",
    "best_score_interval",
    "intervals_of_teams",
    "winner_intervals",
    "winners_of_places",
]

_CROWD = 20
"""With fewer submissions, excluding those that cannot have won does not pay off."""
_LEAST_DIFFERENCE = 0.05
"""The smallest variance of a difference of two scores, over the variance of one: resamples may
hide a difference of near copies."""
_NO_END = "The sample is too small for both ends of this interval."


@dataclass(frozen=True, slots=True, eq=False)
class WinnerIntervals(Tabular):
    """Intervals for the true scores of the first K of a board; one value per place, best first."""

    submission: IntArray
    """``(K,)`` positions of the winners among the m submissions (or teams)."""
    low: FloatArray
    """``(K,)`` lower ends in the metric's units; NaN where the interval is withheld."""
    high: FloatArray
    """``(K,)`` upper ends."""
    level: float
    """The probability that the intervals cover all K true scores."""
    contenders: int
    """The number of submissions that could have been among the first K."""
    reasons: tuple[str | None, ...]
    """K sentences: why the interval is withheld; None: it is given."""


@dataclass(frozen=True, slots=True)
class BestScoreInterval:
    """The interval for the best true score of a board."""

    ends: tuple[float, float]
    """The lower and the upper end, in the metric's units; NaN if the interval is withheld."""
    reason: str | None
    """Why the interval is withheld, in a sentence; None: it is given."""


def winner_intervals(
    errors: ScoreErrors,
    resampled: FloatArray,
    *,
    greater_is_better: bool,
    level: float,
    places: int = 1,
    teams: IntArray | None = None,
) -> WinnerIntervals:
    """Return intervals for the true scores of the first K, corrected for selection.

    The end that selection biases (the lower one, if a larger score is better) is simultaneous over
    all contenders: its critical value is a quantile of the maximum over them of jointly normal
    errors, with the correlations of the resamples. A submission is not a contender if all K winners
    lead it by more than two critical values, simultaneously for all pairs at a twentieth of the
    error probability: no draw of the rows would have made it a winner (the two steps of locally
    simultaneous inference, Zrnic and Fithian 2024).

    The other end of a single winner is that of its own interval and needs no correction. Let i be
    the submission with the largest ``theta_i - z s_i``, which is fixed. If the winner's true score
    is above its upper end, then ``x_i <= x_w < theta_w - z s_w <= theta_i - z s_i``, and this has
    the probability of one tail. For K > 1 places it is corrected for K, and a winner that is not
    among the truly best K has displaced one of them, so that its true score is below the upper end
    of some submission that it has beaten: the upper end of a place is the largest over all
    submissions ranked no higher.

    Of scores without two bounds, the interval is withheld if ``m / 2**U > 1 - level`` with U rows
    or clusters: all those of the first may then be better than its median one.

    If the best of several submissions of a team was selected by these scores, all of them are
    contenders and have upper ends; the winners are the best submissions of K teams.

    Parameters
    ----------
    errors
        The m scores and their uncertainty.
    resampled
        ``(m, B)`` scores under joint resamples, for the correlations; with fewer than 100 usable
        ones a Bonferroni correction is used.
    greater_is_better
        The direction.
    level
        In (0, 1).
    places
        The number K of prizes; fewer if there are fewer submissions.
    teams
        As for :func:`~arena.evaluation.best_score.corrected_best_score`.

    Raises
    ------
    UsageError
        If the level or the number of places is out of range.

    Examples
    --------
    >>> from arena.evaluation.score_intervals import errors_from_resamples
    >>> right = np.random.default_rng(0).random((40, 500)) < 0.8  # forty equal submissions
    >>> drawn = np.random.default_rng(1).multinomial(500, np.full(500, 1 / 500), size=400).T
    >>> resampled = right @ drawn / 500
    >>> errors = errors_from_resamples(right.mean(axis=1), resampled, 500, score_range=(0.0, 1.0))
    >>> first = winner_intervals(errors, resampled, greater_is_better=True, level=0.95)
    >>> bool(first.low[0] < 0.8 < first.high[0]), first.contenders
    (True, 40)
    """
    intervals, _ = winners_of_places(
        errors,
        resampled,
        (places,),
        greater_is_better=greater_is_better,
        level=level,
        teams=teams,
    )
    return intervals[0]


def best_score_interval(
    errors: ScoreErrors,
    resampled: FloatArray,
    *,
    greater_is_better: bool,
    level: float,
    teams: IntArray | None = None,
    may_be_first: npt.NDArray[np.bool_] | None = None,
) -> BestScoreInterval:
    """Return the interval for the best true score, whichever submission has it.

    The winner's true score is at most the best one, so the end that selection biases is that of
    :func:`winner_intervals`. The other end is the most favourable one of the submissions that may
    truly be the best: the best one is a fixed submission, and its own end needs no correction.

    Arguments and exceptions are those of :func:`winner_intervals`, and ``may_be_first``: ``(m,)``,
    the winner included; None: the contenders.

    Examples
    --------
    With few resamples by Bonferroni's correction, here of one submission: that of its own score.

    >>> from arena.evaluation.score_intervals import errors_of_means
    >>> right = errors_of_means(np.array([[1.0] * 9 + [0.0]]), (0.0, 1.0))
    >>> best = best_score_interval(right, np.empty((1, 0)), greater_is_better=True, level=0.95)
    >>> [round(end, 4) for end in best.ends], best.reason
    ([0.555, 0.9975], None)
    """
    _, best = winners_of_places(
        errors,
        resampled,
        (1,),
        greater_is_better=greater_is_better,
        level=level,
        teams=teams,
        may_be_first=may_be_first,
    )
    return best


def intervals_of_teams(
    study: Study, errors: ScoreErrors | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the ``(m,)`` ends of each team's own interval, not corrected for multiplicity.

    As :func:`~arena.evaluation.score_intervals.own_intervals`. Where the best of several
    submissions of a team was selected on the same rows, the end that this selection biases is
    simultaneous over the submissions of that team. ``errors`` are those of all
    candidates; None: they are computed.
    """
    errors = score_errors(study.with_all_candidates()) if errors is None else errors
    tail = (1 - study.level) / 2
    if study.candidates is None:
        return own_intervals(errors, study.level)
    _, correlated = standardised_errors(study.candidates.resampled)
    flattering = np.full(len(errors.scores), float(-ndtri(tail)))
    order = np.argsort(study.candidates.team, kind="stable")
    with one_thread_each():  # for so small products, others would wait most of the time
        for positions in np.split(order, np.flatnonzero(np.diff(study.candidates.team[order])) + 1):
            of_team = None if correlated is None else correlated[positions]
            (flattering[positions],) = joint_critical_values(
                of_team, [np.ones(len(positions), np.bool_)], tail
            )
    other = float(-ndtri(tail))
    of_ends = (flattering, other) if study.metric.greater_is_better else (other, flattering)
    low, high = interval_ends(errors, *of_ends)
    counting = study.candidates.counting
    none = errors.is_withheld[counting]
    return np.where(none, np.nan, low[counting]), np.where(none, np.nan, high[counting])


def winners_of_places(
    errors: ScoreErrors,
    resampled: FloatArray,
    counts: Sequence[int],
    *,
    greater_is_better: bool,
    level: float,
    teams: IntArray | None,
    may_be_first: npt.NDArray[np.bool_] | None = None,
) -> tuple[list[WinnerIntervals], BestScoreInterval]:
    """Return :func:`winner_intervals` for several numbers of places, with shared computation.

    With them comes :func:`best_score_interval`, if the first number is 1. Raises what
    :func:`winner_intervals` does.
    """
    check_level(level)
    if min(counts) < 1:
        raise UsageError("The number of places must be at least 1.")
    sign = 1.0 if greater_is_better else -1.0
    signed = sign * errors.scores
    m = len(signed)
    counting = _counting(signed, teams)
    order = np.lexsort((errors.standard_errors[counting], -signed[counting]))
    deviations, correlated = standardised_errors(resampled, sign)
    tail, spent = (1 - level) / 2, 0.0
    contenders = [np.ones(m, dtype=np.bool_) for _ in counts]
    if m >= _CROWD and correlated is not None:
        spent = tail / 10
        contenders = [
            _could_win(
                errors,
                signed,
                winners=counting[order[:places]],
                deviations=deviations,
                correlated=correlated,
                spent=spent,
            )
            for places in counts
        ]
    criticals = joint_critical_values(correlated, contenders, tail - spent)
    is_bounded = bool(np.isfinite(errors.score_range).all())
    too_few = not is_bounded and _may_be_luck(errors.n_units, m, level)
    intervals_of_places, signed_ends = [], []
    for places, able, flattering in zip(counts, contenders, criticals, strict=True):
        prizes = order[:places]
        winners = counting[prizes]
        other = float(-ndtri(tail / len(winners)))
        low, high = signed_interval_ends(
            errors, flattering, other, greater_is_better=greater_is_better
        )
        signed_ends.append((low, high))
        beaten = [signed <= signed[winner] for winner in winners] if places > 1 else [winners]
        upper = [np.fmax.reduce(high[positions]) for positions in beaten]
        ends = np.sort([sign * low[winners], sign * np.array(upper)], axis=0)
        reasons = tuple(
            _why_withheld(errors, int(winner), endless=endless)
            for winner, endless in zip(winners, too_few | np.isinf(ends).any(axis=0), strict=True)
        )
        ends[:, [reason is not None for reason in reasons]] = np.nan
        intervals_of_places.append(
            WinnerIntervals(
                submission=prizes,
                low=ends[0],
                high=ends[1],
                level=level,
                contenders=int(able.sum()),
                reasons=reasons,
            )
        )
    winner, able = int(counting[order[0]]), contenders[0]
    low, high = signed_ends[0]
    most = np.fmax.reduce(high[able if may_be_first is None else may_be_first])
    least, most = sorted((sign * float(low[winner]), sign * float(most)))
    endless = too_few or not np.isfinite([least, most]).all()
    reason = _why_withheld(errors, winner, endless=endless)
    nothing = float("nan")
    best = BestScoreInterval((least, most) if reason is None else (nothing, nothing), reason)
    return intervals_of_places, best


def _why_withheld(errors: ScoreErrors, winner: int, *, endless: bool) -> str | None:
    return errors.reasons[winner] or (_NO_END if endless else None)


def _counting(signed: FloatArray, teams: IntArray | None) -> IntArray:
    """Return ``(t,)`` positions of each team's best submission, the first of equal ones."""
    if teams is None:
        return np.arange(len(signed))
    order = np.lexsort((np.arange(len(signed)), -signed, teams))
    return np.asarray(order[np.unique(teams[order], return_index=True)[1]])


def _could_win(
    errors: ScoreErrors,
    signed: FloatArray,
    winners: IntArray,
    deviations: FloatArray,
    correlated: FloatArray,
    spent: float,
) -> npt.NDArray[np.bool_]:
    """Return a mask of the submissions that not all winners lead by two critical values."""
    m = len(signed)
    degrees = errors.degrees_of_freedom
    possible = np.zeros(m, dtype=np.bool_)
    for winner in winners:
        shared = correlated @ correlated[winner]
        variance = deviations**2 + deviations[winner] ** 2
        variance -= 2 * shared * deviations * deviations[winner]
        # The standard error of a difference on few rows is an underestimate: bound it from below.
        error = np.sqrt(np.maximum(variance, _LEAST_DIFFERENCE * deviations**2))
        critical = -stdtrit(np.minimum(degrees, degrees[winner]), spent / (m * (m - 1)))
        possible |= ~(signed[winner] - signed > 2 * critical * error)
    # The error of a submission with the same score in all resamples is unknown.
    possible[winners] = True
    possible |= deviations == 0
    return possible


def _may_be_luck(n_units: int, m: int, level: float) -> bool:
    """Return whether all units of the first of m may be better than its median one.

    Such a sample says nothing of the tail of the losses.

    >>> [_may_be_luck(n_units, 20, 0.95) for n_units in (8, 9)]
    [True, False]
    """
    return m > 1 and m * 0.5**n_units > 1 - level
