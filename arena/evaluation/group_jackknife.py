"""Errors of a metric that can only be called as a whole, from few calls on parts of the rows.

The rows are split into random groups. A call without each of them gives the influence of the
groups on the score (the delete-a-group jackknife; Kott 2001), and so its linear approximation under
any resample of the groups. Calls on random halves of the groups tell whether this approximation is
good: it is not for a median or a maximum.

If calls on parts of the rows show that the score is a mean over rows, it is called on each group
alone instead: the parts take no longer than all rows do, and the mean follows exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.evaluation.black_box import DrawnRowsError
from arena.evaluation.bootstrap import draw_halves, draw_resamples
from arena.evaluation.scores import round_significant, score_under_weights
from arena.interfaces import GroupInfluence, Metric, PredictionBlocks, traits_of
from arena.types import FloatArray, IntArray
from arena.utils.parallel import Progress

_GROUPS = 70
"""Groups of rows that are left out in turn: more would make intervals hardly narrower."""
_HALVES = 20
"""Scores of halves of the rows that show whether the metric is nearly linear in the groups."""
CALLS = _GROUPS + _HALVES
"""The largest number of calls for each submission, besides that for its score."""
MOST_OF_A_MEAN = 500
"""The largest number of rows, or of clusters, that are each a group of a mean."""
_GROUPS_OF_A_MEAN = 100
"""Groups of a mean with more rows or clusters: the calls together read each row once."""
_PARTS, _PROBED = 4, 2
"""Random parts of the rows, and first submissions, by which a mean is recognised."""
_SAME = 1e-9
_FEWEST_GROUPS = 10
"""With fewer rows, or clusters of rows, a call on every resample costs little more."""
_LEAST_AGREEMENT = 0.95
"""The least correlation of the scores of halves with those of the linear approximation."""
_LARGEST_RATIO = 1.5
"""The largest ratio of their spreads."""

_ScoreParts: TypeAlias = Callable[[PredictionBlocks, npt.NDArray[np.uint8]], FloatArray]
"""Returns the ``(m, k)`` scores of submissions under k columns of weights of the rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Jackknife:
    """The influence of groups of rows, and whether scores under resamples follow from it."""

    influence: GroupInfluence | None
    """None: scores do not follow from it."""
    groups: int
    """The number of groups; 0: there are too few rows, or the metric takes no parts of them."""
    agreement: float
    """The correlation between scores on halves of the rows and their linear approximation; NaN if
    no half changes a score."""
    is_mean: bool = False
    """Whether the score is the mean of those of the groups."""


def group_jackknife(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    scores: FloatArray,
    *,
    strata: IntArray | None = None,
    clusters: IntArray | None = None,
    seed: int,
    workers: int,
    progress: Progress,
) -> Jackknife:
    """Return the influence of groups of rows, in at most 90 calls for each submission.

    A score that is a mean over rows takes up to 500 calls on disjoint parts of the rows.

    Parameters
    ----------
    metric, truth, predictions, scores
        m submissions and their ``(m,)`` scores on all n rows.
    strata
        ``(n,)`` codes; the rows of a class are spread evenly over the groups.
    clusters
        ``(n,)`` codes from 0; the rows of a cluster are in one group.
    seed
        Of the groups and halves.

    Raises
    ------
    MetricError
        If a call exceeds the time limit of the metric, or its process dies.
    """
    score_parts = partial(
        score_under_weights,
        metric,
        truth,
        workers=workers,
        progress=progress,
        must_take_rows=True,
    )
    if _may_be_mean(score_parts, predictions, scores, len(truth), seed=seed):
        n_units = len(truth) if clusters is None else int(clusters.max()) + 1
        most = n_units if n_units <= MOST_OF_A_MEAN else _GROUPS_OF_A_MEAN
        groups = _random_groups(len(truth), strata, clusters=clusters, seed=seed, most=most)
        mean = _jackknife_of_mean(score_parts, predictions, scores, groups)
        if mean is not None:
            return mean
    groups = _random_groups(len(truth), strata, clusters=clusters, seed=seed, most=_GROUPS)
    n_groups = int(groups.max()) + 1
    if n_groups < _FEWEST_GROUPS:
        return Jackknife(None, 0, np.nan)
    without = (groups[:, np.newaxis] != np.arange(n_groups)).astype(np.uint8)
    halves = draw_halves(n_groups, _HALVES, seed)
    try:
        called = score_parts(predictions, np.concatenate([without, halves[groups]], axis=1))
    except DrawnRowsError:
        return Jackknife(None, 0, np.nan)
    defined = np.all(np.isfinite(called), axis=0)  # a half may lack a class
    if not defined[:n_groups].all() or defined.sum() < n_groups + _HALVES // 2:
        return Jackknife(None, 0, np.nan)
    share = np.bincount(groups) / len(groups)
    values = (scores[:, np.newaxis] - called[:, :n_groups]) * (1 - share) / share
    influence = GroupInfluence(groups, values - (values @ share)[:, np.newaxis])
    called, halves = called[:, n_groups:][:, defined[n_groups:]], halves[:, defined[n_groups:]]
    agreement, ratio = _agreement(called - scores[:, np.newaxis], _moved(influence, halves))
    holds = not agreement < _LEAST_AGREEMENT and not ratio > _LARGEST_RATIO
    return Jackknife(influence if holds else None, n_groups, agreement)


def _may_be_mean(
    score_parts: _ScoreParts,
    predictions: PredictionBlocks,
    scores: FloatArray,
    n_rows: int,
    *,
    seed: int,
) -> bool:
    """Return whether the scores of the first submissions are the means of those of random parts."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**32 - 1, 3)))
    parts = rng.permutation(np.arange(n_rows) % _PARTS)
    probed = predictions.subset(np.arange(min(_PROBED, len(scores))))
    return _jackknife_of_mean(score_parts, probed, scores[:_PROBED], parts) is not None


def _jackknife_of_mean(
    score_parts: _ScoreParts, predictions: PredictionBlocks, scores: FloatArray, groups: IntArray
) -> Jackknife | None:
    """Return the influence of groups, from a call on each; None: a score is not their mean."""
    n_groups = int(groups.max()) + 1
    if n_groups < _PARTS:
        return None
    alone = (groups[:, np.newaxis] == np.arange(n_groups)).astype(np.uint8)
    try:
        called = score_parts(predictions, alone)
    except DrawnRowsError:
        return None
    means = called @ (np.bincount(groups) / len(groups))
    scale = np.maximum(np.abs(called).max(axis=1), np.finfo(np.float64).tiny)
    if not (np.abs(means - scores) <= _SAME * scale).all():  # nor if one is undefined
        return None
    influence = GroupInfluence(groups, called - scores[:, np.newaxis])
    return Jackknife(influence, n_groups, np.nan, is_mean=True)


def linear_scores(
    metric: Metric, influence: GroupInfluence, scores: FloatArray, counts: npt.NDArray[Any]
) -> FloatArray:
    """Return ``(m, B)`` scores under ``(G, B)`` counts of the groups, within the metric's range.

    NaN where no group is drawn.
    """
    linear = scores[:, np.newaxis] + _moved(influence, counts)
    return round_significant(np.clip(linear, *traits_of(metric).score_range))


def resampled_linearly(
    metric: Metric, influence: GroupInfluence, scores: FloatArray, resamples: int, seed: int
) -> FloatArray:
    """Return ``(m, B)`` scores under B bootstrap samples of the groups."""
    counts = draw_resamples(influence.values.shape[1], resamples, seed).weights
    return linear_scores(metric, influence, scores, counts)


def _moved(influence: GroupInfluence, counts: npt.NDArray[Any]) -> FloatArray:
    """Return ``(m, B)`` changes of the scores, to first order; NaN where no group is drawn."""
    rows = counts * np.bincount(influence.groups)[:, np.newaxis].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(influence.values @ (rows / rows.sum(axis=0)))


def _agreement(moved: FloatArray, linear: FloatArray) -> tuple[float, float]:
    """Return the correlation of changes within submissions, and the larger variance over the other.

    >>> agreement, ratio = _agreement(np.array([[1.0, -1.0, 0.0]]), np.array([[2.0, -2.0, 0.0]]))
    >>> round(agreement, 6), round(ratio, 6)
    (1.0, 4.0)
    """
    first = moved - moved.mean(axis=1, keepdims=True)
    second = linear - linear.mean(axis=1, keepdims=True)
    squares = np.array([np.square(first).sum(), np.square(second).sum()])
    if not squares.any():
        return np.nan, 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        agreement = (first * second).sum() / np.sqrt(squares.prod())
        ratio = squares.max() / squares.min()
    return float(np.nan_to_num(agreement)), float(ratio)


def _random_groups(
    n_rows: int, strata: IntArray | None, clusters: IntArray | None, seed: int, most: int
) -> IntArray:
    """Return ``(n,)`` codes of groups of nearly equal numbers of rows, or of clusters."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**32 - 1, 2)))
    units = np.arange(n_rows) if clusters is None else clusters
    n_units = int(units.max()) + 1
    order = rng.permutation(n_units)
    if strata is not None and clusters is None:
        order = order[np.argsort(strata[order], kind="stable")]
    groups = np.empty(n_units, dtype=np.intp)
    groups[order] = np.arange(n_units) % most
    return groups[units]
