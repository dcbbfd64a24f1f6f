"""The score of every submission under every resample of the rows, on the fastest path there is."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.execution import Progress, Silence, run_tasks
from arena.interfaces import (
    HasInfluenceValues,
    HasResample,
    HasRowValues,
    Metric,
    NeedsRowContext,
    PredictionBlocks,
)
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
_OPAQUE_CALLS_PER_TASK = 50
_SECONDS_WORTH_A_PROCESS = 3.0
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
    its row values, or, for an opaque metric, ``score`` on the drawn rows, in worker processes. A
    metric that is bound to its rows is given all of them, and the weights of ``score``.

    Parameters
    ----------
    metric
        Any metric.
    truth
        ``(n,)`` or ``(n, n_targets)``.
    predictions
        m submissions of n rows, in blocks. At most ``workers + 1`` blocks of 64 MB are held; a
        text is counted as 100 bytes.
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
    n_rows, n_resamples = weights.shape
    scores = np.empty((predictions.n_submissions, n_resamples))
    row_bytes = cell_bytes(truth) * (truth.shape[1] if truth.ndim > 1 else 1)
    size = max(1, _BLOCK_BYTES // (max(1, n_rows) * row_bytes))
    progress.start("Scoring under resampled rows", predictions.n_submissions)
    if isinstance(metric, HasResample | HasRowValues):
        tasks = (
            (metric, truth, block, weights, start) for start, block in predictions.blocks(size)
        )
        for start, block_scores in run_tasks(_resample_task, tasks, workers=workers):
            scores[start : start + len(block_scores)] = block_scores
            progress.advance(len(block_scores))
    else:
        _score_opaque(metric, truth, predictions, weights, scores, workers, progress)
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
    return np.array([_score_drawn(metric, truth, one, weights) for one in block])


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


def _score_drawn(
    metric: Metric, truth: npt.NDArray[Any], prediction: npt.NDArray[Any], weights: WeightArray
) -> FloatArray:
    """Score one submission on the rows that each column draws, each repeated as often as drawn.

    A metric that is bound to its rows gets them all and their weights. One that refuses the drawn
    rows, for lack of a class in them, say, is undefined there.
    """
    scores = np.full(weights.shape[1], np.nan)
    bound = isinstance(metric, NeedsRowContext)
    rows = np.arange(len(weights))
    for b in range(weights.shape[1]):
        with contextlib.suppress(ValueError, ZeroDivisionError):
            if bound:
                scores[b] = metric.score(truth, prediction, weights[:, b])
                continue
            drawn = np.repeat(rows, weights[:, b])
            scores[b] = metric.score(truth[drawn], prediction[drawn])
    return scores


def _score_opaque(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    weights: WeightArray,
    scores: FloatArray,
    workers: int,
    progress: Progress,
) -> None:
    _, first = next(predictions.blocks(1))
    started = time.perf_counter()
    _score_drawn(metric, truth, first[0], weights[:, :1])
    seconds = (time.perf_counter() - started) * scores.size
    if seconds < _SECONDS_WORTH_A_PROCESS:
        workers = 1
    else:
        progress.say(
            f"{metric.name} can only be called as a whole: {scores.size:,} calls, about "
            f"{seconds / workers:,.0f} s on {workers} worker{'s' if workers > 1 else ''}."
        )
    results = run_tasks(
        _opaque_task,
        _opaque_tasks(metric, truth, predictions, weights),
        workers=workers,
        processes=True,
    )
    done = np.zeros(len(scores), dtype=np.intp)
    for position, columns, values in results:
        scores[position, columns] = values
        done[position] += len(values)
        progress.advance(int(done[position] == scores.shape[1]))


def _opaque_tasks(
    metric: Metric, truth: npt.NDArray[Any], predictions: PredictionBlocks, weights: WeightArray
) -> Iterator[tuple[Any, ...]]:
    for start, block in predictions.blocks(1):
        for first in range(0, weights.shape[1], _OPAQUE_CALLS_PER_TASK):
            columns = slice(first, first + _OPAQUE_CALLS_PER_TASK)
            yield metric, truth, block[0], weights[:, columns], start, columns


def _opaque_task(
    metric: Metric,
    truth: npt.NDArray[Any],
    prediction: npt.NDArray[Any],
    weights: WeightArray,
    position: int,
    columns: slice,
) -> tuple[int, slice, FloatArray]:
    return position, columns, _score_drawn(metric, truth, prediction, weights)


def full_scores(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    *,
    workers: int = 1,
) -> FloatArray:
    """Return ``(m,)`` scores on all rows, rounded to 12 significant digits; NaN where undefined.

    Raises
    ------
    Whatever the metric raises.
    """
    if isinstance(metric, HasResample | HasRowValues):
        once = np.ones((len(truth), 1), dtype=np.uint8)
        return score_under_weights(metric, truth, predictions, once, workers=workers)[:, 0]
    scores = [metric.score(truth, block[0]) for _, block in predictions.blocks(1)]
    return round_significant(np.array(scores, dtype=np.float64))


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
