"""The best score of a board, corrected for having been selected on the same rows.

The largest of many scores is an overestimate: among equal submissions the luckiest one wins. What
the winner would score on fresh rows is estimated by choosing a winner on a part of the rows and
scoring it on the others, over many random partitions; see :func:`corrected_best_score`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.best_score_interval import best_score_interval, least_deviation_of
from arena.errors import UsageError
from arena.execution import Progress
from arena.held_out import held_out_folds
from arena.interfaces import Study, traits_of
from arena.resampling import round_significant, score_under_weights
from arena.results import Tabular
from arena.types import FloatArray, IntArray, WeightArray

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "CorrectedBest",
    "ScoreUnder",
    "corrected_best",
    "corrected_best_score",
]

_REACH = 0.999
"""The level of the interval that the estimate never leaves."""

ScoreUnder: TypeAlias = Callable[[WeightArray, IntArray], FloatArray]
"""``score_under(weights (n, B), submissions (k,)) -> (k, B)``, in the metric's natural sign."""


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedBest(Tabular):
    """What the winner of a board would score on fresh rows. Everything in the metric's units."""

    estimate: float
    """The corrected best score; NaN if no fold could be scored, as with a single row."""
    low: float
    """Lower end of the interval for the best true score; bounds the winner's true score too."""
    high: float
    """Upper end of that interval."""
    level: float
    """The confidence level of the interval."""
    observed: float
    """The best score as it stands on the board, which is too good on average."""
    selected: FloatArray
    """``(m,)`` how often each submission won, over all choices of a winner; sums to 1."""
    partitions: int
    """The number of random partitions of the rows."""
    folds_left_out: int
    """How many held-out folds had no score, such as one without a class, and were left out."""

    def chart(self) -> alt.LayerChart:
        """Return a picture of the best score, as it stands and as it is corrected."""
        from arena.charts import as_altair, best_score_chart

        return as_altair(best_score_chart(self.observed, self.estimate, self.low, self.high))


def corrected_best_score(
    scores: FloatArray,
    resampled: FloatArray,
    score_under: ScoreUnder,
    held_out: npt.NDArray[np.bool_],
    folds: int,
    *,
    greater_is_better: bool,
    level: float = 0.95,
    score_range: tuple[float, float] = (-np.inf, np.inf),
) -> CorrectedBest:
    """Estimate the winner's true score, and an interval for the best true score.

    The estimate is the average, over partitions of the rows into folds f of n_f rows, of
    ``sum_f (n_f / n) score_f(argmax_j score_-f(j))``: the winner of the other folds is scored on
    the fold that did not choose it. Where several submissions tie for the win, their mean counts.
    A score that is no mean over rows (RMSE, F1, R2) is off on a fifth of the rows by an amount of
    its own, so each winner's score on all rows less its mean over the folds is added: nothing for
    a mean over rows, and what makes the estimate of a single submission its score.

    In three simulations of 50 to 200 submissions, where the best score was 0.019 to 0.038 too good
    on average, the estimate was off by 0.0006 at most.

    The interval bounds what the estimate is of, so the estimate is kept within the one at 99.9 %:
    otherwise one absurd prediction of a submission that wins wherever its row is held out could
    move the estimate to anywhere, for a score without bounds.

    A fold without a score (no positive in it, say) is left out and the others of its partition
    weigh more; a submission without a score on the other folds cannot win.

    Parameters
    ----------
    scores
        ``(m,)`` on all rows, natural sign, finite.
    resampled
        ``(m, B)`` under B joint resamples of the rows, for the interval.
    score_under
        Scores under 0/1 weights. All m submissions are asked for on the other folds, but only
        those that won there on the held-out ones.
    held_out
        ``(n, partitions * folds)`` from :func:`~arena.held_out.held_out_folds`.
    folds
        How many columns of ``held_out`` make one partition.
    greater_is_better
        The direction; for a loss everything is mirrored and reported in natural units.
    level
        The confidence level of the interval, in (0, 1).
    score_range
        Of the metric; nothing that is returned leaves it.

    Returns
    -------
    A :class:`CorrectedBest`. Memory besides the arguments: another copy of ``held_out`` and four
    arrays of ``(m, partitions * folds)`` float64, 24 MB for 3,000 submissions.

    Raises
    ------
    UsageError
        If shapes or the level do not fit, or there is no submission.

    Examples
    --------
    >>> from arena.held_out import held_out_folds
    >>> rng = np.random.default_rng(0)
    >>> right = (rng.random((40, 500)) < 0.8).astype(float)  # forty submissions, all worth 0.8
    >>> def score_under(weights, submissions):
    ...     return right[submissions] @ weights / weights.sum(axis=0)
    >>> drawn = rng.multinomial(500, np.full(500, 1 / 500), size=400).T
    >>> best = corrected_best_score(
    ...     right.mean(axis=1), score_under(drawn, np.arange(40)), score_under,
    ...     held_out_folds(500, rng), 5, greater_is_better=True)
    >>> best.observed > 0.83, abs(best.estimate - 0.8) < 0.02, best.low < 0.8 < best.high
    (True, True, True)
    """
    _check(scores, resampled, held_out, folds, level)
    sign = 1.0 if greater_is_better else -1.0
    estimate, selected, left_out = _cross_selected(
        sign * scores,
        lambda weights, submissions: sign * score_under(weights, submissions),
        held_out,
        folds,
    )
    (low, high), reach = (
        best_score_interval(
            scores,
            resampled,
            greater_is_better=greater_is_better,
            level=each,
            least_deviation=least_deviation_of(score_range, len(held_out)),
        )
        for each in (level, max(level, _REACH))
    )
    # Where no resample has a score the interval is NaN, and bounds nothing; no estimate stays none.
    bounded = np.clip(sign * estimate, *(reach if np.isfinite(reach).all() else score_range))
    within = np.clip([bounded, low, high], *score_range)
    return CorrectedBest(
        estimate=float(round_significant(within[0])),
        low=float(within[1]),
        high=float(within[2]),
        level=level,
        observed=float(sign * np.max(sign * scores)),
        selected=selected,
        partitions=held_out.shape[1] // folds,
        folds_left_out=left_out,
    )


def _check(
    scores: FloatArray,
    resampled: FloatArray,
    held_out: npt.NDArray[np.bool_],
    folds: int,
    level: float,
) -> None:
    if scores.ndim != 1 or len(scores) == 0 or not np.isfinite(scores).all():
        raise UsageError("The corrected best score needs at least one submission, all finite.")
    if resampled.ndim != 2 or len(resampled) != len(scores):
        raise UsageError("The resampled scores must be one row per submission.")
    if held_out.ndim != 2 or folds < 1 or held_out.shape[1] % folds:
        raise UsageError("The held-out folds must be whole partitions: columns divisible by folds.")
    if not 0 < level < 1:
        raise UsageError(f"The level must lie between 0 and 1, not at {level}.")


def _cross_selected(
    scores: FloatArray, score_under: ScoreUnder, held_out: npt.NDArray[np.bool_], folds: int
) -> tuple[float, FloatArray, int]:
    """Return the estimate, the share of wins, and how many folds had no score; larger is better."""
    m = len(scores)
    if folds == 1:  # a single row or cluster: nothing is left to choose a winner on
        return (float(scores[0]) if m == 1 else np.nan), np.full(m, 1.0 / m), held_out.shape[1]
    others = round_significant(score_under((~held_out).view(np.uint8), np.arange(m)))
    others = np.where(np.isnan(others), -np.inf, others)
    best = others.max(axis=0)
    won = (others == best) & (best > -np.inf)
    winners = np.flatnonzero(won.any(axis=1))
    selected = won.sum(axis=0)
    share = won[winners] / np.maximum(selected, 1)
    held_scores = score_under(held_out.view(np.uint8), winners)
    sizes = held_out.sum(axis=0).astype(np.float64)
    gap = scores[winners] - _mean_over_folds(held_scores, sizes)
    fold_scores = _weighted(share, held_scores + gap[:, np.newaxis]).sum(axis=0)
    fold_scores[selected == 0] = np.nan
    wins = np.zeros(m, dtype=np.float64)
    wins[winners] = share.sum(axis=1)
    undefined = np.isnan(fold_scores)
    by_partition = _partition_means(fold_scores, sizes, folds)
    estimate = float(by_partition.mean()) if len(by_partition) else np.nan
    return estimate, wins / max(wins.sum(), 1.0), int(undefined.sum())


def _weighted(share: FloatArray, values: FloatArray) -> FloatArray:
    """Multiply, so that an undefined score counts only where its share is not 0."""
    product: FloatArray = np.where(share > 0, share * values, 0.0)
    return product


def _mean_over_folds(held_scores: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return each winner's mean over all folds, weighted by their sizes; NaN if it has no score."""
    defined = ~np.isnan(held_scores)
    total = (defined * sizes).sum(axis=1)
    summed = (np.where(defined, held_scores, 0.0) * sizes).sum(axis=1)
    mean = np.full(len(total), np.nan)
    np.divide(summed, total, out=mean, where=total > 0)
    return mean


def _partition_means(fold_scores: FloatArray, sizes: FloatArray, folds: int) -> FloatArray:
    """Return the means of the partitions that have a score, over the folds that have one."""
    by_fold = fold_scores.reshape(-1, folds)
    weights = np.where(np.isnan(by_fold), 0.0, sizes.reshape(-1, folds))
    usable = weights.sum(axis=1) > 0
    summed = (weights * np.nan_to_num(by_fold)).sum(axis=1)[usable]
    return np.asarray(summed / weights.sum(axis=1)[usable])


def corrected_best(
    study: Study,
    rng: np.random.Generator,
    *,
    partitions: int = 50,
    folds: int = 5,
    workers: int = 1,
    progress: Progress | None = None,
) -> CorrectedBest:
    """Apply :func:`corrected_best_score` to a study, with the fastest path of its metric.

    Rows are held out within classes where the metric is undefined without every class, and by
    whole clusters where the study has them.

    Raises :class:`~arena.errors.UsageError` as :func:`corrected_best_score` does.
    """
    traits = traits_of(study.metric)
    stratify = traits.needs_every_class or traits.stratify_by_class
    held_out = held_out_folds(
        len(study.truth),
        rng,
        partitions,
        folds,
        strata=study.truth if stratify and study.truth.ndim == 1 else None,
        clusters=study.clusters,
    )

    def score_under(weights: npt.NDArray[Any], submissions: IntArray) -> FloatArray:
        predictions = study.predictions
        if len(submissions) < predictions.n_submissions:
            predictions = predictions.subset(submissions)
        return score_under_weights(
            study.metric, study.truth, predictions, weights, workers=workers, progress=progress
        )

    return corrected_best_score(
        study.scores,
        study.resampled,
        score_under,
        held_out,
        held_out.shape[1] // partitions,
        greater_is_better=study.metric.greater_is_better,
        level=study.level,
        score_range=traits_of(study.metric).score_range,
    )
