"""Which metric separates the submissions best: the agreement of rankings on halves of the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from arena.errors import MetricError
from arena.evaluation.predictions import MappedPredictions
from arena.evaluation.scores import score_under_weights
from arena.interfaces import Metric, PredictionBlocks, Study, kinds_of
from arena.types import FloatArray, PredictionKind

_SPLITS = 25
_EXTREME_SPLITS = {2: 2, 3: 1, 4: 1}
"""Splits of each extreme that are added, by the number of submissions: so few can agree on every
split by chance, which would leave no variance."""
_PROBABILITIES = {PredictionKind.PROBABILITY, PredictionKind.CLASS_PROBABILITIES}


@dataclass(frozen=True, slots=True)
class MetricSeparation:
    """How well a metric separates the pilot's submissions."""

    metric: str
    """The metric."""
    tau: float
    """Kendall's tau-b of the rankings on two halves of the rows, mean over random splits."""
    tau_low: float
    """Lower end of its interval over pilots."""
    tau_high: float
    """Upper end."""
    difference: float
    """Less that of the best metric; at most 0."""
    p: float
    """Of the difference, by the corrected resampled t test, corrected for all pairs of metrics; 1
    for the best one."""
    shown_worse: bool
    """Whether p is below 1 less the level."""


def split_half_agreement(study: Study, metric: Metric, rng: np.random.Generator) -> FloatArray:
    """Return ``(25,)`` Kendall's tau-b of the rankings on both halves of the rows.

    Groups of rows stay together. ``metric`` is bound to the rows of the study if it needs to be.
    Probabilities are also taken by a metric of scores, and by a metric of labels as the most
    probable class.

    Raises
    ------
    MetricError
        If the metric does not take these predictions.
    """
    from scipy.stats import kendalltau  # half a second

    predictions = _predictions_for(metric, study)
    n_rows = len(study.truth)
    groups = np.arange(n_rows) if study.clusters is None else study.clusters
    n_groups = int(groups.max()) + 1
    weights = np.zeros((n_rows, 2 * _SPLITS), dtype=np.uint8)
    for split in range(_SPLITS):
        first = np.zeros(n_groups, dtype=bool)
        first[rng.permutation(n_groups)[: n_groups // 2]] = True
        weights[:, 2 * split] = first[groups]
        weights[:, 2 * split + 1] = ~first[groups]
    scores = score_under_weights(metric, study.truth, predictions, weights)
    taus = [
        kendalltau(scores[:, 2 * split], scores[:, 2 * split + 1]).statistic
        for split in range(_SPLITS)
    ]
    return np.nan_to_num(np.array(taus, dtype=np.float64))


def _predictions_for(metric: Metric, study: Study) -> PredictionBlocks:
    kinds, taken = kinds_of(study.metric)[0], kinds_of(metric)
    n_classes = 0 if study.classes is None else len(study.classes)
    as_they_are = {kinds}
    if kinds in _PROBABILITIES:
        as_they_are |= {PredictionKind.SCORE}
        as_they_are |= _PROBABILITIES if n_classes == 2 else set()
    if not as_they_are.isdisjoint(taken):
        return study.predictions
    if kinds in _PROBABILITIES and PredictionKind.LABEL in taken:
        return MappedPredictions(study.predictions, _most_probable)
    advice = ""
    if kinds is PredictionKind.SCORE and not _PROBABILITIES.isdisjoint(taken):
        advice = " If they are probabilities, use a pilot with a metric of probabilities."
    raise MetricError(
        f"{metric.name} takes {' or '.join(taken)}, but the pilot's submissions hold {kinds}."
        f"{advice}"
    )


def _most_probable(block: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the most probable classes of predicted probabilities."""
    return (block >= 0.5).astype(np.intp) if block.ndim == 2 else block.argmax(axis=2)


def compare_metrics(
    agreements: Mapping[str, FloatArray], level: float, n_submissions: int
) -> tuple[MetricSeparation, ...]:
    """Compare the agreement of the halves under several metrics, on the same splits.

    The splits overlap, so the variance of a mean is ``(1 / R + 1)`` times that over the R splits,
    for the interval of each tau as for a difference: the corrected resampled t test of Nadeau and
    Bengio (2003). The best metric is selected on the same splits, so Bonferroni's correction counts
    all pairs. With fewer than five submissions, splits that agree completely and not at all are
    added.

    Parameters
    ----------
    agreements
        ``(R,)`` of each metric, as :func:`split_half_agreement` returns them.
    level
        1 less the familywise error of the differences; of each interval of a tau.
    n_submissions
        That were ranked.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> common = rng.normal(0, 0.02, 25)
    >>> found = compare_metrics({"rmse": 0.3 + common, "mae": 0.6 + common}, 0.95, 12)
    >>> [(choice.metric, choice.shown_worse) for choice in found]
    [('mae', False), ('rmse', True)]
    """
    means = {name: float(values.mean()) for name, values in agreements.items()}
    ordered = sorted(means, key=lambda name: -means[name])
    best, rows = agreements[ordered[0]], []
    added = _EXTREME_SPLITS.get(n_submissions, 0)
    for name in ordered:
        lost = best - agreements[name]
        p = _p_of_no_difference(np.append(lost, np.repeat([-2.0, 2.0], added)))
        p = min(1.0, p * max(1, math.comb(len(means), 2)))
        low, high = _interval(np.append(agreements[name], np.repeat([-1.0, 1.0], added)), level)
        rows.append(
            MetricSeparation(
                metric=name,
                tau=means[name],
                tau_low=min(low, means[name]),
                tau_high=max(high, means[name]),
                difference=-float(lost.mean()),
                p=p,
                shown_worse=p < 1 - level,
            )
        )
    return tuple(rows)


def _mean_and_error(values: FloatArray) -> tuple[float, float]:
    """Return the mean over overlapping splits, and its standard error over samples of rows."""
    return float(values.mean()), float(np.sqrt((1 / len(values) + 1) * values.var(ddof=1)))


def _p_of_no_difference(lost: FloatArray) -> float:
    mean, error = _mean_and_error(lost)
    if mean <= 0:
        return 1.0
    return float(2 * special.stdtr(len(lost) - 1, -mean / error)) if error > 1e-12 else 0.0


def _interval(taus: FloatArray, level: float) -> tuple[float, float]:
    """Return the ends of an interval of the expected tau, within its range."""
    mean, error = _mean_and_error(taus)
    half = float(-special.stdtrit(len(taus) - 1, (1 - level) / 2)) * error
    return max(-1.0, mean - half), min(1.0, mean + half)
