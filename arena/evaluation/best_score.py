"""The best score of a board, corrected for selection on the same rows.

The largest of many scores is an overestimate: among equal submissions the luckiest one wins.
:func:`corrected_best_score` estimates the winner's score on new rows, and
:mod:`arena.evaluation.winner_intervals` gives intervals for the true scores of the winners.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.combined_metric import within_tasks
from arena.evaluation.group_jackknife import linear_scores
from arena.evaluation.levels import check_level
from arena.evaluation.score_intervals import ScoreErrors, score_errors
from arena.evaluation.scores import round_significant, score_under_weights
from arena.evaluation.winner_intervals import WinnerIntervals, winners_of_places
from arena.interfaces import ScoresTogether, Study, traits_of
from arena.types import DEFAULT_LEVEL, FloatArray, IntArray, WeightArray
from arena.utils.memory import return_freed_memory
from arena.utils.parallel import Progress
from arena.utils.tabular import Tabular

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "MOST_DRAWS",
    "PRIZES",
    "CorrectedBest",
    "Draws",
    "ScoreUnder",
    "corrected_best",
    "corrected_best_on",
    "corrected_best_score",
]

MOST_DRAWS = 400
"""Number of draws of the rows on which a winner is selected."""
PRIZES = 3
"""The number of places with an interval."""
WEIGHT_BYTES = 500_000_000
"""Of the weights of draws that are held together."""

ScoreUnder: TypeAlias = Callable[[WeightArray, IntArray], FloatArray]
"""``score_under(weights (n, B), submissions (k,)) -> (k, B)``, in the metric's natural sign."""


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedBest(Tabular):
    """The expected score of a board's winner on new rows, in the metric's units."""

    estimate: float
    """The corrected best score; NaN if it cannot be estimated, e.g. from a single row."""
    low: float
    """Lower end of the interval for the best true score, whichever submission has it; NaN if the
    interval is withheld."""
    high: float
    """Upper end of that interval."""
    level: float
    """The confidence level of the interval."""
    observed: float
    """The best score on the board, which is optimistically biased."""
    selected: FloatArray
    """``(m,)`` share of draws that each submission (or team) won; sums to 1."""
    choices: int
    """Number of draws of the rows on which a winner was selected."""
    choices_left_out: int
    """Number of draws without a score on the other rows, e.g. because a class is missing there."""
    effective_units: float
    """Number of normally distributed rows with equal information about the standard error."""
    assumption: str
    """What the intervals of scores assume, in a sentence."""
    reason: str | None
    """Why the interval is withheld, in a sentence; None: it is given."""
    winner_low: float
    """Lower end of the interval for the winner's own true score; NaN if it is withheld."""
    winner_high: float
    """Upper end of that interval."""
    winner_reason: str | None
    """Why that interval is withheld, in a sentence; None: it is given."""
    winners: WinnerIntervals
    """Intervals for the true scores of the first three, corrected for selection, all at once."""

    def withheld(self, reason: str) -> CorrectedBest:
        """Return the same without intervals, for a reason in a sentence."""
        nothing = np.full(len(self.winners.low), np.nan)
        reasons = (reason,) * len(nothing)
        return replace(
            self,
            low=float("nan"),
            high=float("nan"),
            winner_low=float("nan"),
            winner_high=float("nan"),
            reason=reason,
            winner_reason=reason,
            winners=replace(self.winners, low=nothing, high=nothing, reasons=reasons),
        )

    def chart(self) -> alt.LayerChart:
        """Return a chart of the observed and the corrected best score."""
        from arena.charts import as_altair, best_score_chart

        return as_altair(best_score_chart(self.observed, self.estimate, self.low, self.high))


def corrected_best_score(
    errors: ScoreErrors,
    resampled: FloatArray,
    score_under: ScoreUnder,
    chosen_on: WeightArray,
    judged_on: npt.NDArray[np.bool_],
    *,
    greater_is_better: bool,
    level: float = DEFAULT_LEVEL,
    teams: IntArray | None = None,
    may_be_first: npt.NDArray[np.bool_] | None = None,
) -> CorrectedBest:
    """Estimate the winner's true score, with intervals for it and for the best true score.

    The estimate is the mean, over draws of the rows, of the score of the draw's winner on the rows
    that were not drawn, weighted by their number. If several submissions tie for the win, their
    mean counts. A score that is not a mean over rows (RMSE, F1, R2) has a bias on a part of the
    rows, so the difference between each winner's score on all rows and its mean over those parts is
    added. The difference is zero for a mean over rows, and makes the estimate of a single
    submission equal to its score.

    The estimate is no worse than the worst score of the submissions that won a draw: it estimates a
    mean of their true scores. Then it is clipped to the interval of the winner, or to the range of
    the metric if that is withheld.

    A draw without a score on the other rows (for example because they contain no positive) is left
    out. A submission without a score on a draw cannot win it.

    Parameters
    ----------
    errors
        The m scores and their uncertainty.
    resampled
        ``(m, B)`` scores under B joint resamples of the rows, for the intervals.
    score_under
        Returns scores under weights. Called for all m submissions on ``chosen_on``, and for those
        that won on ``judged_on``.
    chosen_on
        ``(n, R)`` weights of the rows on which the winner is selected.
    judged_on
        ``(n, R)`` mask of the rows on which the winner is scored; disjoint from ``chosen_on``.
    greater_is_better
        The direction of the metric.
    level
        The confidence level of the intervals, in (0, 1).
    teams
        ``(m,)`` codes from 0 of the team of each submission, if the best submission of each team
        was selected by these scores; ``selected`` and ``winners`` are then about teams. The winner
        is the best of all m submissions, and not only of one per team. None: every submission is a
        team of its own.
    may_be_first
        See :func:`~arena.evaluation.winner_intervals.best_score_interval`.

    Returns
    -------
    A :class:`CorrectedBest`. Memory besides the arguments: four arrays of ``(m, R)`` float64.

    Raises
    ------
    UsageError
        If shapes or the level are invalid, or there is no submission.

    Examples
    --------
    >>> from arena.evaluation.score_intervals import errors_from_resamples
    >>> rng = np.random.default_rng(0)
    >>> right = (rng.random((40, 500)) < 0.8).astype(float)  # forty submissions, all worth 0.8
    >>> def score_under(weights, submissions):
    ...     return right[submissions] @ weights / weights.sum(axis=0)
    >>> drawn = rng.multinomial(500, np.full(500, 1 / 500), size=400).T
    >>> resampled = score_under(drawn, np.arange(40))
    >>> errors = errors_from_resamples(right.mean(axis=1), resampled, 500, score_range=(0.0, 1.0))
    >>> best = corrected_best_score(
    ...     errors, resampled, score_under, drawn, drawn == 0, greater_is_better=True)
    >>> best.observed > 0.83, abs(best.estimate - 0.8) < 0.02, best.low < 0.8 < best.high
    (True, True, True)
    """
    _check(errors.scores, resampled, chosen_on=chosen_on, judged_on=judged_on, level=level)
    draws = Draws.of(len(errors.scores), score_under, [(chosen_on, judged_on)])
    return corrected_best_on(
        errors,
        resampled,
        draws,
        greater_is_better=greater_is_better,
        level=level,
        teams=teams,
        may_be_first=may_be_first,
    )


def corrected_best(
    study: Study,
    rng: np.random.Generator,
    *,
    errors: ScoreErrors | None = None,
    may_be_first: npt.NDArray[np.bool_] | None = None,
    draws: int = MOST_DRAWS,
    workers: int = 1,
    progress: Progress | None = None,
    drawn: tuple[WeightArray, FloatArray] | None = None,
) -> CorrectedBest:
    """Apply :func:`corrected_best_score` to a study, with the fastest method of its metric.

    Winners are selected on bootstrap draws of the rows and scored on the rows that were not drawn
    (BBC, Tsamardinos, Greasidou and Borboudakis 2018). Rows are drawn within classes if the metric
    needs every class, and by cluster if the study has clusters; those of a metric that can only be
    called as a whole are its groups of rows.

    Winners may be selected on resamples that have been scored already: ``drawn`` holds their
    ``(n, B)`` weights and ``(m, B)`` scores. Then only the rows that were not drawn are scored, for
    every submission, in ``m * min(B, draws)`` calls of a black-box metric.

    Memory: 500 MB of weights are held at a time, and a bit for each row and draw.

    If the best of several submissions of a team was selected on the ranked rows, all candidates
    take part, and m is their number; ``errors`` are theirs, and None: they are computed.
    ``may_be_first`` is that of :func:`~arena.evaluation.winner_intervals.best_score_interval`,
    of all candidates.

    Raises :class:`~arena.errors.UsageError` as :func:`corrected_best_score` does.
    """
    teams = None if study.candidates is None else study.candidates.team
    study = study.with_all_candidates()
    errors = score_errors(study) if errors is None else errors
    if drawn is None:
        of_rows = _new_draws(
            study, int(rng.integers(2**62)), draws=draws, workers=workers, progress=progress
        )
    else:
        weights, scores = drawn[0][:, :draws], drawn[1][:, :draws]
        of_rows = _draws_scored_before(
            study, weights, scores=scores, workers=workers, progress=progress
        )
    return corrected_best_on(
        errors,
        study.resampled,
        of_rows,
        greater_is_better=study.metric.greater_is_better,
        level=study.level,
        teams=teams,
        may_be_first=may_be_first,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """R draws of the rows on which winners are selected, and scored on the other rows."""

    chosen: FloatArray
    """``(m, R)`` scores on the rows drawn, in the metric's natural sign."""
    judge: Callable[[IntArray], FloatArray]
    """``judge(submissions (k,)) -> (k, R)`` scores on the other rows."""
    sizes: FloatArray
    """``(R,)`` numbers of the other rows."""
    left_out: int
    """Further draws without rows drawn, or without other rows."""

    @classmethod
    def of(
        cls,
        m: int,
        score_under: ScoreUnder,
        parts: Iterable[tuple[WeightArray, npt.NDArray[np.bool_]]],
        *,
        packed: bool = False,
    ) -> Draws:
        """Score m submissions on the draws, given in parts as for :func:`corrected_best_score`.

        ``packed``: the masks of the other rows are kept as bits, and a part is otherwise forgotten
        before the next one.
        """
        chosen, sizes, left_out = [np.empty((m, 0))], [np.empty(0)], 0
        masks: list[tuple[npt.NDArray[Any], int]] = []
        for drawn, others in parts:
            chosen_on, judged_on = drawn, others
            usable = judged_on.any(axis=0) & chosen_on.any(axis=0)
            left_out += int((~usable).sum())
            if not usable.any():
                continue
            if not usable.all():
                chosen_on, judged_on = chosen_on[:, usable], judged_on[:, usable]
            chosen.append(score_under(chosen_on, np.arange(m)))
            sizes.append(judged_on.sum(axis=0).astype(np.float64))
            masks.append((np.packbits(judged_on, axis=1) if packed else judged_on, len(sizes[-1])))
            del drawn, others, chosen_on, judged_on  # before the next ones are drawn

        def judge(submissions: IntArray) -> FloatArray:
            verdicts = []
            for mask, count in masks:
                rows = np.unpackbits(mask, axis=1, count=count) if packed else mask.view(np.uint8)
                verdicts.append(score_under(rows, submissions))
                del rows
            return np.concatenate(verdicts, axis=1)

        return cls(np.concatenate(chosen, axis=1), judge, np.concatenate(sizes), left_out)


def corrected_best_on(
    errors: ScoreErrors,
    resampled: FloatArray,
    draws: Draws,
    *,
    greater_is_better: bool,
    level: float,
    teams: IntArray | None = None,
    may_be_first: npt.NDArray[np.bool_] | None = None,
) -> CorrectedBest:
    """Return what :func:`corrected_best_score` does, on draws that were made in parts."""
    scores = errors.scores
    sign = 1.0 if greater_is_better else -1.0
    estimate, selected, left_out = _judged_elsewhere(sign * scores, sign, draws)
    estimate = np.maximum(estimate, (sign * scores)[selected > 0].min(initial=np.inf))
    winner = int(np.argmax(sign * scores))
    if teams is not None:
        selected = np.bincount(teams, weights=selected).astype(np.float64)
    return_freed_memory()  # the predictions that a database keeps are as large as the errors
    (first, winners), best = winners_of_places(
        errors,
        resampled,
        (1, PRIZES),
        greater_is_better=greater_is_better,
        level=level,
        teams=teams,
        may_be_first=may_be_first,
    )
    low, high = best.ends
    interval = float(first.low[0]), float(first.high[0])
    bounds = interval if first.reasons[0] is None else errors.score_range
    return CorrectedBest(
        estimate=float(np.clip(round_significant(sign * estimate), *bounds)),
        low=low,
        high=high,
        level=level,
        observed=float(scores[winner]),
        selected=selected,
        choices=len(draws.sizes) + draws.left_out,
        choices_left_out=left_out,
        effective_units=float(errors.effective_units[winner]),
        assumption=errors.assumption,
        reason=best.reason,
        winner_low=interval[0],
        winner_high=interval[1],
        winner_reason=first.reasons[0],
        winners=winners,
    )


def _judged_elsewhere(
    scores: FloatArray, sign: float, draws: Draws
) -> tuple[float, FloatArray, int]:
    """Return the estimate, the share of wins, and the draws left out; larger is better."""
    m, left_out, sizes = len(scores), draws.left_out, draws.sizes
    if not len(sizes):  # a single row or cluster: no rows are left to score a winner on
        return (float(scores[0]) if m == 1 else np.nan), np.full(m, 1.0 / m), left_out
    chosen = round_significant(sign * draws.chosen)
    chosen = np.where(np.isnan(chosen), -np.inf, chosen)
    best = chosen.max(axis=0)
    won = (chosen == best) & (best > -np.inf)
    winners = np.flatnonzero(won.any(axis=1))
    share = won[winners] / np.maximum(won.sum(axis=0), 1)
    judged = sign * draws.judge(winners)
    defined = ~np.isnan(judged)
    total = (defined * sizes).sum(axis=1)
    mean = np.full(len(winners), np.nan)
    np.divide(
        (np.where(defined, judged, 0.0) * sizes).sum(axis=1), total, out=mean, where=total > 0
    )
    corrected = judged + (scores[winners] - mean)[:, np.newaxis]
    # A missing score on these rows matters only for a submission that has won.
    by_choice = np.where(share > 0, share * corrected, 0.0).sum(axis=0)
    counted = (best > -np.inf) & ~np.isnan(by_choice)
    wins = np.zeros(m, dtype=np.float64)
    wins[winners] = share.sum(axis=1)
    estimate = np.nan
    if counted.any():
        estimate = float(np.average(by_choice[counted], weights=sizes[counted]))
    return estimate, wins / max(wins.sum(), 1.0), left_out + int((~counted).sum())


def _draws_scored_before(
    study: Study,
    weights: WeightArray,
    *,
    scores: FloatArray,
    workers: int,
    progress: Progress | None,
) -> Draws:
    others = weights == 0
    usable = others.any(axis=0)
    judged = score_under_weights(
        study.metric,
        study.truth,
        study.predictions,
        others[:, usable].view(np.uint8),
        workers=workers,
        progress=progress,
    )
    return Draws(
        chosen=scores[:, usable],
        judge=lambda submissions: judged[submissions],
        sizes=others[:, usable].sum(axis=0).astype(np.float64),
        left_out=int((~usable).sum()),
    )


def _new_draws(
    study: Study, seed: int, *, draws: int, workers: int, progress: Progress | None
) -> Draws:
    traits = traits_of(study.metric)
    stratify = traits.needs_every_class or traits.stratify_by_class
    strata = study.truth if stratify and study.truth.ndim == 1 else None
    strata = within_tasks(study.metric, strata)
    n_rows, clusters, m = len(study.truth), study.clusters, study.predictions.n_submissions
    influence = study.influence
    if influence is not None:
        n_rows, clusters, strata = influence.values.shape[1], None, None
    at_once = max(1, min(draws, WEIGHT_BYTES // n_rows))

    def parts() -> Iterator[tuple[WeightArray, npt.NDArray[np.bool_]]]:
        for first in range(0, draws, at_once):
            weights = draw_resamples(
                n_rows,
                min(at_once, draws - first),
                seed,
                strata=strata if clusters is None else None,
                clusters=clusters,
                first=first,
                workers=workers,
            ).weights
            yield weights, weights == 0
            del weights

    def score_under(weights: npt.NDArray[Any], submissions: IntArray) -> FloatArray:
        if influence is not None:
            of_these = influence.subset(submissions)
            return linear_scores(study.metric, of_these, study.scores[submissions], weights)
        predictions = study.predictions
        # The ranks of some submissions depend on all of them.
        whole = len(submissions) == m or isinstance(study.metric, ScoresTogether)
        scores = score_under_weights(
            study.metric,
            study.truth,
            predictions if whole else predictions.subset(submissions),
            weights,
            workers=workers,
            progress=progress,
        )
        return scores[submissions] if whole else scores

    return Draws.of(m, score_under, parts(), packed=at_once < draws)


def _check(
    scores: FloatArray,
    resampled: FloatArray,
    chosen_on: WeightArray,
    judged_on: npt.NDArray[np.bool_],
    level: float,
) -> None:
    if scores.ndim != 1 or len(scores) == 0 or not np.isfinite(scores).all():
        raise UsageError(
            "The corrected best score needs at least one submission; scores must be finite."
        )
    if resampled.ndim != 2 or len(resampled) != len(scores):
        raise UsageError("The resampled scores must have one row per submission.")
    if chosen_on.ndim != 2 or chosen_on.shape != judged_on.shape:
        raise UsageError("chosen_on and judged_on must be matrices of the same shape.")
    check_level(level)
