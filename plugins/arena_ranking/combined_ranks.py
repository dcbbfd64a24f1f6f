"""Rank sets of a mean rank over parts, or of the worst of several scores: decided part by part.

Neither is a smooth function of the scores. Near ties a rank in a resample, or the smallest of many
scores, is not distributed around its true value as the observed one is, and resamples of the whole
decide wrongly: see ``docs/reference/procedures.md``. So each part first decides its own
pairs at level ``1 - alpha / C`` (Bonferroni over the C parts), and what follows from these
decisions for every order of the undecided pairs is claimed. That needs no assumption on ties, and
holds for parts with the same rows, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from arena.errors import UsageError
from arena.evaluation.combined_metric import CombinedMetric
from arena.evaluation.score_intervals import score_errors, signed_interval_ends
from arena.evaluation.scores import round_significant
from arena.interfaces import RankSets, Study
from arena.types import FloatArray
from arena_ranking.board_ranks import board_ranks
from arena_ranking.simultaneous import RankIntervals, ranks_of_decisions, transitive_closure

_Relation = npt.NDArray[np.bool_]
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class DecidedParts:
    """What the parts of a study decide, all at once."""

    better: tuple[_Relation, ...]
    """Of each part ``(m, m)``: True where the first is truly better, closed."""
    reasons: tuple[str, ...]
    """Why the decisions of some parts are withheld, in sentences."""


def ranks_of_parts(study: Study, *, workers: int = 1) -> RankSets:
    """Return the rank sets of a study with parts.

    Raises
    ------
    UsageError
        If the score of the study is no mean rank or worst score.
    """
    metric, m = study.metric, len(study.scores)
    if not isinstance(metric, CombinedMetric) or not study.parts:
        raise UsageError(f"{metric.name} does not combine parts.")
    weights = np.array([part.weight for part in metric.parts])
    alpha = 1 - study.level
    if metric.relative:
        decided = _decided(study, alpha, workers)
        better = better_mean_rank(decided.better, weights)
        best = np.array([1 + better_in_part.sum(axis=0) for better_in_part in decided.better])
        worst = np.array([m - better_in_part.sum(axis=1) for better_in_part in decided.better])
        low, high = weights @ best, weights @ worst
    else:
        decided = _decided(study, alpha / 2, workers)
        sign = 1.0 if metric.greater_is_better else -1.0
        ends = [bounds_of_part(part, alpha / 4, len(study.parts)) for part in study.parts]
        lows, highs = (np.array(bounds) for bounds in zip(*ends, strict=True))
        better = better_worst_score(decided.better, lows, highs)
        low, high = np.sort([sign * lows.min(axis=0), sign * highs.min(axis=0)], axis=0)
    signed = study.scores if metric.greater_is_better else -study.scores
    ranks = _as_ranks(better, signed, study.level)
    reason = " ".join(decided.reasons) or None
    if study.candidates is not None:
        reason = "The best of several files of a team was selected on these rows."
    return RankSets(
        low=ranks.low,
        high=ranks.high,
        tier=ranks.tier,
        possible_winner=ranks.possible_winner,
        level=study.level,
        not_offered=reason,
        score_low=round_significant(low),
        score_high=round_significant(high),
    )


def _decided(study: Study, alpha: float, workers: int) -> DecidedParts:
    better, reasons = [], []
    level = 1 - alpha / len(study.parts)
    for part in study.parts:
        ranks = board_ranks(replace(part, level=level), all_pairs=True, workers=workers)
        better.append(ranks.intervals.better)
        if ranks.not_offered is not None and ranks.not_offered not in reasons:
            reasons.append(ranks.not_offered)
    return DecidedParts(tuple(better), tuple(reasons))


def bounds_of_part(part: Study, alpha: float, n_parts: int) -> tuple[FloatArray, FloatArray]:
    """Return ``(m,)`` bounds of the scores of a part, larger being better.

    The lower ones hold at once for all submissions, each in the one part that is truly its worst;
    the upper ones for all submissions and all parts.
    """
    m, errors = len(part.scores), score_errors(part)
    low, high = signed_interval_ends(
        errors,
        float(-ndtri(alpha / m)),
        float(-ndtri(alpha / (m * n_parts))),
        greater_is_better=part.metric.greater_is_better,
    )
    none = errors.is_withheld
    return np.where(none, -np.inf, low), np.where(none, np.inf, high)


def better_mean_rank(better: Sequence[_Relation], weights: FloatArray) -> _Relation:
    """Return ``(m, m)``: where the first has the smaller mean rank, if the parts are right.

    In a part in which j is better than k, k is at least 1 + b places behind, with b the submissions
    that are decided to lie between them. In another part, k is at most 1 + b' places ahead, with b'
    those that may lie between them. The weighted sum over the parts must be above 0.

    Parameters
    ----------
    better
        Of each of C parts ``(m, m)``, closed: True where the first is better.
    weights
        ``(C,)``, of sum 1.

    Examples
    --------
    Two parts in which the first is better than the second, and one that decides nothing:

    >>> first, nothing = np.array([[0, 1], [0, 0]], dtype=bool), np.zeros((2, 2), dtype=bool)
    >>> better_mean_rank([first, first, nothing], np.full(3, 1 / 3)).astype(int).tolist()
    [[0, 1], [0, 0]]
    """
    m = len(better[0])
    least = np.zeros((m, m))
    for better_in_part, weight in zip(better, weights, strict=True):
        decided = better_in_part.astype(np.float32)
        between = decided @ decided
        open_pairs = 1 - decided
        may_be_between = open_pairs @ open_pairs - 2 * open_pairs  # without the two themselves
        places = np.where(better_in_part, 1 + between, -1 - may_be_between)
        by_ranks = (1 + better_in_part.sum(axis=0))[np.newaxis, :] - (
            m - better_in_part.sum(axis=1)
        )[:, np.newaxis]
        least += weight * np.maximum(places, by_ranks)
    np.fill_diagonal(least, 0.0)
    return np.asarray(least > _ROUNDING)


def better_worst_score(
    better: Sequence[_Relation], lows: FloatArray, highs: FloatArray
) -> _Relation:
    """Return ``(m, m)``: where the worst score of the first is truly the larger one.

    This holds if j is better than k in some part s, and in every other part the lower bound of j is
    above the upper bound of k in s: whichever part is the worst of j, its score exceeds that of k
    in s, and so the smallest of k.

    Parameters
    ----------
    better
        Of each of C parts ``(m, m)``: True where the first is better.
    lows, highs
        ``(C, m)`` bounds of the scores, larger being better. A lower bound need only hold in the
        part that is truly the worst of a submission.

    Examples
    --------
    >>> nothing = np.zeros((2, 2), dtype=bool)
    >>> first = np.array([[0, 1], [0, 0]], dtype=bool)
    >>> lows, highs = np.array([[0.5, 0.2], [0.8, 0.7]]), np.array([[0.7, 0.4], [0.9, 0.8]])
    >>> better_worst_score([first, nothing], lows, highs).astype(int).tolist()
    [[0, 1], [0, 0]]
    """
    decided = np.zeros(better[0].shape, dtype=np.bool_)
    for s, better_in_part in enumerate(better):
        others = np.delete(lows, s, axis=0).min(axis=0, initial=np.inf)
        decided |= better_in_part & (others[:, np.newaxis] > highs[s])
    return decided


def _as_ranks(better: _Relation, signed: FloatArray, level: float) -> RankIntervals:
    closed = transitive_closure(better, signed)
    return ranks_of_decisions(
        closed,
        np.logical_not(closed.any(axis=0)),
        scores=signed,
        level=level,
        critical_value=np.inf,
        rounds=1,
    )
