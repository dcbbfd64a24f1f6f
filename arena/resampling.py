"""The score of every submission under every resample of the rows, on the fastest path there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import ScoringError
from arena.execution import Progress, Silence, run_tasks
from arena.interfaces import (
    HasInfluenceValues,
    HasResample,
    HasRowValues,
    Metric,
    NeedsRowContext,
    PredictionBlocks,
)
from arena.opaque import opaque_scores, score_columns, scorer_of, whole_scores
from arena.predictions import cell_bytes
from arena.types import FloatArray, WeightArray

__all__ = [
    "full_scores",
    "influence_values",
    "resample_block",
    "round_significant",
    "score_under_weights",
]

_BLOCK_BYTES = 64 * 2**20
_TILE_ROWS = 4_096
_SMALLEST_ROUNDED = 1e-280


def score_under_weights(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    weights: WeightArray,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> FloatArray:
    """Return the score of every submission under every column of weights.

    The fastest path that the metric offers is taken: its own ``resample``, a matrix product of
    its row values, or, for one that can only be called as a whole, what :mod:`arena.opaque` does.

    Parameters
    ----------
    metric
        Any metric.
    truth
        ``(n,)`` or ``(n, n_targets)``.
    predictions
        m submissions of n rows, in blocks. At most ``workers + 1`` blocks of 64 MB are held; a
        text is counted as 60 bytes and the length of the truth's.
    weights
        ``(n, B)`` counts, not all 0 in any column.

    Returns
    -------
    ``(m, B)`` scores in the metric's natural sign, rounded to 12 significant digits, so that
    equal submissions have equal scores whatever block they stood in; NaN where undefined.

    Raises
    ------
    Whatever the metric raises.
    """
    progress = progress or Silence()
    if not isinstance(metric, HasResample | HasRowValues):
        return round_significant(
            opaque_scores(metric, truth, predictions, weights, workers=workers, progress=progress)
        )
    n_rows, n_resamples = weights.shape
    scores = np.empty((predictions.n_submissions, n_resamples))
    row_bytes = cell_bytes(truth) * (truth.shape[1] if truth.ndim > 1 else 1)
    size = max(1, _BLOCK_BYTES // (max(1, n_rows) * row_bytes))
    progress.start("Scoring under resampled rows", predictions.n_submissions)
    tasks = ((metric, truth, block, weights, start) for start, block in predictions.blocks(size))
    for start, block_scores in run_tasks(_resample_task, tasks, workers=workers):
        scores[start : start + len(block_scores)] = block_scores
        progress.advance(len(block_scores))
    return round_significant(scores)


def _resample_task(
    metric: Metric,
    truth: npt.NDArray[Any],
    block: npt.NDArray[Any],
    weights: WeightArray,
    start: int,
) -> tuple[int, FloatArray]:
    return start, resample_block(metric, truth, block, weights)


def resample_block(
    metric: Metric, truth: npt.NDArray[Any], block: npt.NDArray[Any], weights: WeightArray
) -> FloatArray:
    """Return ``(k, B)`` scores of a block of ``(k, n)`` or ``(k, n, n_columns)`` predictions."""
    if isinstance(metric, HasResample):
        return metric.resample(truth, block, weights)
    if isinstance(metric, HasRowValues):
        return metric.from_mean(_weighted_means(metric, truth, block, weights))
    return np.array([score_columns(scorer_of(metric, truth, one), weights) for one in block])


def _weighted_means(
    metric: HasRowValues, truth: npt.NDArray[Any], block: npt.NDArray[Any], weights: WeightArray
) -> FloatArray:
    """Return ``(k, B)`` means of the row values, in tiles of rows.

    A tile's row values are multiplied while they are in the cache, and no more than a tile of
    weights stands as float64 at a time. A metric that is bound to its rows is asked once for all.
    """
    sums = np.zeros((len(block), weights.shape[1]))
    bound = isinstance(metric, NeedsRowContext)
    of_all = metric.row_values(truth, block) if bound else None
    # A value may be infinite: the score is not finite then, and is dealt with as such.
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, len(weights), _TILE_ROWS):
            rows = slice(start, start + _TILE_ROWS)
            if of_all is None:
                values = metric.row_values(truth[rows], block[:, rows])
            else:
                values = of_all[:, rows]
            sums += values @ weights[rows].astype(np.float64)
    totals: FloatArray = weights.sum(axis=0, dtype=np.float64)
    return sums / totals


def full_scores(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    *,
    workers: int = 1,
    failures: list[tuple[int, ScoringError]] | None = None,
) -> FloatArray:
    """Return ``(m,)`` scores on all rows, rounded to 12 significant digits; NaN where undefined.

    Parameters
    ----------
    failures
        Gets position and error of each submission that the metric refuses, or fails on; its score
        is NaN. None: the first such error is raised.

    Raises
    ------
    Whatever the metric raises.
    """
    if isinstance(metric, HasResample | HasRowValues):
        once = np.ones((len(truth), 1), dtype=np.uint8)
        return score_under_weights(metric, truth, predictions, once, workers=workers)[:, 0]
    scores = whole_scores(metric, truth, predictions, workers=workers, failures=failures)
    return round_significant(scores)


def influence_values(
    metric: Metric, truth: npt.NDArray[Any], block: npt.NDArray[Any]
) -> FloatArray | None:
    """Return ``(k, n)`` influence values of the submissions of a block, or None.

    A pointwise metric needs none of its own: they are its centred row values times the slope of
    ``from_mean`` (the delta method). None means that the metric is opaque.
    """
    if isinstance(metric, HasInfluenceValues):
        return metric.influence_values(truth, block)
    if not isinstance(metric, HasRowValues):
        return None
    values = metric.row_values(truth, block)
    mean = values.mean(axis=1, keepdims=True)
    step = 1e-6 * np.abs(mean)
    # Where the mean is 0 there is no step to take: a loss of 0 on every row moves nowhere.
    rise = metric.from_mean(mean + step) - metric.from_mean(mean - step)
    slope = np.divide(rise, 2 * step, out=np.zeros_like(mean), where=step > 0)
    return np.asarray((values - mean) * slope)


def round_significant(values: npt.ArrayLike, digits: int = 12) -> FloatArray:
    """Round to significant digits, so that sums taken in another order compare as equal.

    >>> float(round_significant(0.1 + 0.2))
    0.3
    """
    array = np.asarray(values, dtype=np.float64)
    size = np.abs(array)
    ordinary = (size > _SMALLEST_ROUNDED) & (size < 1 / _SMALLEST_ROUNDED)
    exponent = np.floor(np.log10(np.where(ordinary, size, 1.0)))
    scale = 10.0 ** (digits - 1 - exponent)
    return np.where(ordinary, np.round(np.where(ordinary, array, 0.0) * scale) / scale, array)
