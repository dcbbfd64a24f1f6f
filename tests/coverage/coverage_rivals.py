"""Intervals of others for one score, written from their papers, to compare widths on equal boards.

They serve the tables only: arena prints none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri, stdtrit

from arena.evaluation.row_weights import weighted_row_metric
from arena.evaluation.scores import influence_values
from arena.interfaces import HasRowValues, Study
from coverage_boards import Cell

__all__ = ["RIVALS", "Interval", "row_range"]

Ends = tuple[float, float]
Interval = Callable[[Study, int], Ends]
_RANGES = {"accuracy": (0.0, 1.0), "mse": (0.0, np.inf), "mae": (0.0, np.inf)}
_MEANS = np.linspace(0, 1, 1001)


@cache
def row_range(cell: Cell) -> tuple[float, float] | None:
    """Return the range of the values whose plain mean is the score of a cell, or None."""
    if isinstance(cell.metric, str):
        values = _RANGES.get(cell.metric)
    else:
        values = cell.metric.traits.row_range if isinstance(cell.metric, HasRowValues) else None
    if values is None or cell.opaque:
        return None
    board = cell.draw(np.random.default_rng(0))
    special = board.clusters is not None or board.extra or board.teams is not None
    return None if special or board.truth.ndim > 1 else values


def _values(study: Study, submission: int) -> np.ndarray:
    metric = weighted_row_metric(study.metric) or study.metric
    (_, block), *_ = study.predictions.subset(np.array([submission])).blocks(1)
    return metric.row_values(study.truth, block)[0]


def clopper_pearson(study: Study, submission: int) -> Ends:
    """Clopper and Pearson (1934), of right and wrong answers."""
    values = _values(study, submission)
    n, right, tail = len(values), values.sum(), (1 - study.level) / 2
    low = betaincinv(right, n - right + 1, tail) if right else 0.0
    return float(low), float(betaincinv(right + 1, n - right, 1 - tail) if right < n else 1.0)


def logarithmic_t(study: Study, submission: int) -> Ends:
    """Student's t of a mean of positive values on a logarithmic scale."""
    values = _values(study, submission)
    n, mean = len(values), values.mean()
    half = -stdtrit(n - 1, (1 - study.level) / 2) * values.std(ddof=1) / np.sqrt(n) / mean
    return float(mean * np.exp(-half)), float(mean * np.exp(half))


def student(study: Study, submission: int) -> Ends:
    """Student's t of a mean."""
    values = _values(study, submission)
    n = len(values)
    half = -stdtrit(n - 1, (1 - study.level) / 2) * values.std(ddof=1) / np.sqrt(n)
    return float(values.mean() - half), float(values.mean() + half)


def betting(study: Study, submission: int) -> Ends:
    """The hedged capital interval of Waudby-Smith and Ramdas (2024), for a fixed number of rows."""
    values = np.random.default_rng(0).permutation(_values(study, submission))
    n, alpha = len(values), 1 - study.level
    index = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(values)) / (index + 1)
    variances = (0.25 + np.cumsum(np.square(values - means))) / (index + 1)
    before = np.r_[0.25, variances[:-1]]
    bet = np.sqrt(2 * np.log(2 / alpha) / (n * before))[:, np.newaxis]
    excess = values[:, np.newaxis] - _MEANS
    with np.errstate(divide="ignore"):
        up = np.minimum(bet, 0.5 / _MEANS)
        down = np.minimum(bet, 0.5 / (1 - _MEANS))
        capital = np.maximum(
            np.cumsum(np.log1p(up * excess), axis=0), np.cumsum(np.log1p(-down * excess), axis=0)
        )
    means_kept = np.flatnonzero(capital.max(axis=0) < np.log(2 / alpha))
    if not len(means_kept):
        return float(values.mean()), float(values.mean())
    step = _MEANS[1]
    return max(0.0, _MEANS[means_kept[0]] - step), min(1.0, _MEANS[means_kept[-1]] + step)


def bca(study: Study, submission: int) -> Ends:
    """Efron's (1987) bias-corrected and accelerated percentiles, with influence values."""
    tail, own = (1 - study.level) / 2, np.sort(study.resampled[submission])
    below = (own < study.scores[submission]).mean() + 0.5 * (own == study.scores[submission]).mean()
    (_, block), *_ = study.predictions.subset(np.array([submission])).blocks(1)
    with np.errstate(all="ignore"):
        influence = influence_values(study.metric, study.truth, block)
    acceleration = 0.0
    if influence is not None:
        shifts = influence[0] - influence[0].mean()
        if study.clusters is not None:
            shifts = np.bincount(study.clusters, shifts)
        scale = np.sum(np.square(shifts)) ** 1.5
        acceleration = np.sum(shifts**3) / (6 * scale) if scale > 0 else 0.0
    edge = 0.5 / len(own)
    bias = ndtri(np.clip(below, edge, 1 - edge))
    normal = bias + np.array([ndtri(tail), ndtri(1 - tail)])
    shares = ndtr(bias + normal / np.maximum(1 - acceleration * normal, 1e-6))
    low, high = np.quantile(own, shares)
    return float(low), float(high)


def percentiles(study: Study, submission: int) -> Ends:
    """Percentiles of the resampled score."""
    tail = (1 - study.level) / 2
    low, high = np.quantile(study.resampled[submission], [tail, 1 - tail])
    return float(low), float(high)


def _with_rows(suits: Callable[[tuple[float, float]], bool]) -> Callable[[Cell], bool]:
    def check(cell: Cell) -> bool:
        own = row_range(cell)
        return own is not None and suits(own)

    return check


RIVALS: dict[str, tuple[Interval, Callable[[Cell], bool]]] = {
    "percentiles": (percentiles, lambda cell: True),
    "BCa": (bca, lambda cell: True),
    "Student's t": (student, _with_rows(lambda own: True)),
    "log-scale t": (logarithmic_t, _with_rows(lambda own: own == (0.0, np.inf))),
    "betting": (betting, _with_rows(lambda own: own == (0.0, 1.0))),
    "Clopper-Pearson": (clopper_pearson, lambda cell: cell.metric == "accuracy"
                        and row_range(cell) is not None),
}  # fmt: skip
"""Name -> the interval of a submission, and the cells for which it is made."""
