"""Scores of submissions under resamples of the rows, by the fastest method of the metric."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import numpy.typing as npt

from arena.errors import ArenaError, MetricError, ScoringError
from arena.evaluation.predictions import SENT_BYTES, cell_bytes, received, sent
from arena.evaluation.shared_weights import derived_once, shared_weights
from arena.interfaces import (
    HasInfluenceValues,
    HasResample,
    HasRowValues,
    Metric,
    NeedsRowContext,
    ScoresTogether,
)
from arena.types import FloatArray, WeightArray
from arena.utils.engines import cluster_in_use
from arena.utils.parallel import NoProgress, Progress, run_tasks
from arena.utils.read_only import read_only
from arena.utils.row_products import TILE_ROWS, UNIT, RowProduct

if TYPE_CHECKING:
    from arena.interfaces import PredictionBlocks

__all__ = [
    "full_scores",
    "influence_values",
    "is_black_box",
    "is_mean_of_rows",
    "resample_block",
    "round_significant",
    "score_under_weights",
    "slope_of_score",
    "weighted_means",
]

_PROBES = np.array([0.3, 0.7])
BLOCK_BYTES = 128 * 2**20
"""Of the predictions of the submissions that are scored together."""
_LARGEST_BLOCK = 512 * 2**20
_LEAST_SUBMISSIONS = 4
"""Of a block of a pointwise metric, if they fit: all share the time of converting the weights."""
_TILE_CELLS = 160 * TILE_ROWS
"""Row values that a processor's second cache holds."""
_SMALLEST_ROUNDED = 1e-280
_LARGEST_POWER = 300
_ROUNDED_AT_ONCE = 16_384


def is_black_box(metric: Metric) -> bool:
    """Return whether a metric can only be called as a whole, once per submission and resample.

    >>> from arena.evaluation.case_metrics import MeanOfCases
    >>> is_black_box(MeanOfCases("mean Dice", greater_is_better=True))
    False
    """
    return not isinstance(metric, HasResample | HasRowValues | ScoresTogether)


def is_mean_of_rows(metric: Metric) -> TypeGuard[HasRowValues]:
    """Return whether the score is the mean of the row values, and not another function of it.

    >>> from arena.evaluation.case_metrics import MeanOfCases, MedianOfCases
    >>> metrics = MeanOfCases("mean Dice", True), MedianOfCases("median Dice", True)
    >>> [is_mean_of_rows(metric) for metric in metrics]
    [True, False]
    """
    return isinstance(metric, HasRowValues) and bool((metric.from_mean(_PROBES) == _PROBES).all())


def score_under_weights(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    weights: WeightArray,
    *,
    workers: int = 1,
    progress: Progress | None = None,
    must_take_rows: bool = False,
) -> FloatArray:
    """Return the score of every submission under every column of weights.

    The fastest method of the metric is used: its own ``resample``, a matrix product of its row
    values, or :mod:`arena.evaluation.black_box` for any other metric.

    Parameters
    ----------
    metric
        Any metric.
    truth
        ``(n,)`` or ``(n, n_targets)``.
    predictions
        m submissions of n rows, in blocks. At most ``workers + 1`` blocks of 128 MB are in memory,
        or of a pointwise metric of 4 submissions, up to 512 MB; a text counts as 60 bytes plus the
        mean length of the truth's. On a cluster in use there are two blocks of 8 MB for each of its
        workers, or of 4 submissions, unless they read their blocks themselves.
    weights
        ``(n, B)`` counts, not all 0 in any column.
    must_take_rows
        Whether to raise an error, after at most five calls, if a black-box metric fails on them.

    Returns
    -------
    ``(m, B)`` scores in the metric's natural sign, rounded to 12 significant digits, so that
    equal submissions have equal scores for any block size; NaN where undefined.

    Raises
    ------
    DrawnRowsError
        With ``must_take_rows``; other exceptions of the metric are not caught.

    Examples
    --------
    All rows, and the second one three times:

    >>> from arena.evaluation.case_metrics import MeanOfCases
    >>> from arena.evaluation.predictions import ArrayPredictions
    >>> values, metric = ArrayPredictions(np.array([[0.5, 1.0, 0.0]])), MeanOfCases("mean", True)
    >>> weights = np.array([[1, 0], [1, 3], [1, 0]], dtype=np.uint8)
    >>> score_under_weights(metric, np.zeros(3), values, weights).tolist()
    [[0.5, 1.0]]
    """
    progress = progress or NoProgress()
    if isinstance(metric, ScoresTogether):
        together = metric.score_together(
            truth, predictions, weights, workers=workers, progress=progress
        )
        return round_significant(together)
    if is_black_box(metric):
        from arena.evaluation.black_box import black_box_resample

        return round_significant(
            black_box_resample(
                metric,
                truth,
                predictions,
                weights,
                workers=workers,
                progress=progress,
                must_take_rows=must_take_rows,
            )
        )
    n_rows, n_resamples = weights.shape
    scores = np.empty((predictions.n_submissions, n_resamples))
    row_bytes = cell_bytes(truth) * (truth.shape[1] if truth.ndim > 1 else 1)
    # Without resamples a cluster would take longer to receive the submissions than to score them.
    cluster = cluster_in_use() if n_resamples > 1 else None
    block_bytes = BLOCK_BYTES if cluster is None else SENT_BYTES
    of_one = max(1, n_rows) * row_bytes
    size = max(1, block_bytes // of_one)
    if isinstance(metric, HasRowValues) and not isinstance(metric, HasResample):
        size = max(size, min(_LEAST_SUBMISSIONS, _LARGEST_BLOCK // of_one))
    if size > UNIT:  # the product is one of a multiple of so many: 83 take as long as 88
        size -= size % UNIT
    shared = (metric, truth, weights)
    progress.start("Scoring under resampled rows", predictions.n_submissions)
    if cluster is None:
        tasks = ((*shared, None, block, start) for start, block in predictions.blocks(size))
        results = run_tasks(_resample_task, tasks, workers=workers)
    else:
        source, blocks = sent(predictions, size)
        results = cluster.run(
            _resample_task, (*shared, source), ((block, start) for start, block in blocks)
        )
    with shared_weights(weights):
        for start, block_scores in results:
            scores[start : start + len(block_scores)] = block_scores
            progress.advance(len(block_scores))
    return round_significant(scores, overwrite=True)


def _resample_task(
    metric: Metric,
    truth: npt.NDArray[Any],
    weights: WeightArray,
    source: PredictionBlocks | None,
    block: npt.NDArray[Any] | range,
    start: int,
) -> tuple[int, FloatArray]:
    return start, resample_block(metric, truth, received(source, block), weights)


def resample_block(
    metric: Metric, truth: npt.NDArray[Any], block: npt.NDArray[Any], weights: WeightArray
) -> FloatArray:
    """Return ``(k, B)`` scores of a block of ``(k, n)`` or ``(k, n, n_columns)`` predictions.

    They are not rounded; see :func:`score_under_weights`.
    """
    truth, block = read_only((truth, block))
    if isinstance(metric, HasResample):
        return metric.resample(truth, block, weights)
    if isinstance(metric, HasRowValues):
        return metric.from_mean(weighted_means(metric, truth, block, weights))
    from arena.evaluation.black_box import score_columns, scorer_of

    return np.array(
        [score_columns(scorer_of(metric, truth, predictions), weights) for predictions in block]
    )


def weighted_means(
    metric: HasRowValues,
    truth: npt.NDArray[Any],
    block: npt.NDArray[Any],
    weights: WeightArray,
    of_rows: FloatArray | None = None,
) -> FloatArray:
    """Return ``(k, B)`` means of the row values, in tiles of rows; NaN where no row has a weight.

    ``of_rows`` is ``(n,)``, a factor of the weights of each row.

    The row values are multiplied while they are in the cache, and only one tile of weights is
    converted to float64 at a time. A tile has the same rows for any number of submissions, because
    their sums are added; the values of several tiles are computed at once if there are few
    submissions. A metric that is bound to its rows is called once, with all rows.
    """
    m, (n, n_columns) = len(block), weights.shape
    sums = np.zeros((m, n_columns))
    totals = np.zeros(n_columns) if of_rows is not None else derived_once(weights, _totals)
    product = RowProduct(m, min(TILE_ROWS, n), n_columns)
    bound = isinstance(metric, NeedsRowContext)
    tiles = max(1, _TILE_CELLS // (TILE_ROWS * max(1, m)))
    step = max(1, n) if bound else tiles * TILE_ROWS
    # A row value may be infinite: then the score is not finite and is handled by the caller.
    with np.errstate(invalid="ignore", over="ignore"):
        for first in range(0, n, step):
            part = slice(first, first + step)
            values = metric.row_values(truth[part], block[:, part])
            for start in range(first, min(first + step, n), TILE_ROWS):
                rows = slice(start, start + TILE_ROWS)
                factors = product.right(len(weights[rows]))
                factors[:] = weights[rows]
                if of_rows is not None:
                    factors *= of_rows[rows, np.newaxis]
                    totals += factors.sum(axis=0)
                sums += product.of(values[:, start - first : start - first + TILE_ROWS])
        return sums / totals


def _totals(weights: WeightArray) -> FloatArray:
    """Return the ``(B,)`` sums of counts."""
    return np.asarray(weights.sum(axis=0), dtype=np.float64)


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
        Position and error of each submission that the metric rejects or fails on are appended; its
        score is NaN. None: the first such error is raised. The cause of an error that the metric
        did not raise on purpose is that error.

    Examples
    --------
    >>> from arena.evaluation.case_metrics import MeanOfCases
    >>> from arena.evaluation.predictions import ArrayPredictions
    >>> values = ArrayPredictions(np.array([[0.5, 1.0], [0.0, 0.5]]))
    >>> full_scores(MeanOfCases("mean Dice", True), np.zeros(2), values).tolist()
    [0.75, 0.25]
    """
    if not is_black_box(metric):
        once = np.ones((len(truth), 1), dtype=np.uint8)
        try:
            return score_under_weights(metric, truth, predictions, once, workers=workers)[:, 0]
        except (Exception, SystemExit) as error:
            if failures is None or _is_of_all(error):
                raise
        return _each_by_itself(metric, truth, predictions=predictions, once=once, failures=failures)
    from arena.evaluation.black_box import black_box_scores

    scores = black_box_scores(metric, truth, predictions, workers=workers, failures=failures)
    return round_significant(scores)


def _is_of_all(error: BaseException) -> bool:
    """Return whether arena raised an error that no single submission causes."""
    return isinstance(error, ArenaError) and not isinstance(error, MetricError)


def _each_by_itself(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    once: WeightArray,
    failures: list[tuple[int, ScoringError]],
) -> FloatArray:
    """Return the ``(m,)`` scores where the metric fails on some submission of a block."""
    from arena.evaluation.black_box import failed_on_submission

    scores = np.full(predictions.n_submissions, np.nan)
    for start, block in predictions.blocks(1):
        try:
            scores[start] = round_significant(resample_block(metric, truth, block, once))[0, 0]
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a metric may raise any error
            failures.append((start, failed_on_submission(metric.name, error)))
    return scores


def mean_correction(count: int, n: int) -> float:
    """Return the factor of the influence values of ``count`` of n rows.

    It corrects the variance for the mean of these rows, which is subtracted from their values, in
    place of that of all n rows.

    >>> mean_correction(10, 10), round(mean_correction(2, 10), 3)
    (1.0, 1.342)
    """
    return float(np.sqrt(count / max(count - 1, 1) * (n - 1) / n))


def influence_values(
    metric: Metric,
    truth: npt.NDArray[Any],
    block: npt.NDArray[Any],
    row_values: FloatArray | None = None,
) -> FloatArray | None:
    """Return ``(k, n)`` influence values of the submissions of a block, or None.

    Those of a pointwise metric are its centred row values times the slope of ``from_mean`` (the
    delta method); ``row_values`` are these, if they are known. None: the metric is a black box.

    >>> from arena.evaluation.case_metrics import MeanOfCases
    >>> values = np.array([[0.5, 1.0, 0.0]])
    >>> influence_values(MeanOfCases("mean Dice", True), np.zeros(3), values).round(6).tolist()
    [[0.0, 0.5, -0.5]]
    """
    truth, block = read_only((truth, block))
    if isinstance(metric, HasInfluenceValues):
        return metric.influence_values(truth, block)
    if not isinstance(metric, HasRowValues):
        return None
    values = metric.row_values(truth, block) if row_values is None else row_values
    mean = values.mean(axis=1, keepdims=True)
    return np.asarray((values - mean) * slope_of_score(metric, mean))


def slope_of_score(metric: HasRowValues, mean: FloatArray) -> FloatArray:
    """Return the derivative of the score with respect to the mean of the row values, elementwise.

    With a mean of 0 (a loss of 0 on every row) there is no relative step, and the slope is 0.
    """
    step = 1e-6 * np.abs(mean)
    rise = metric.from_mean(mean + step) - metric.from_mean(mean - step)
    return np.divide(rise, 2 * step, out=np.zeros_like(mean), where=step > 0)


def round_significant(
    values: npt.ArrayLike, digits: int = 12, *, overwrite: bool = False
) -> FloatArray:
    """Round to significant digits, so that sums in another order compare as equal.

    ``overwrite``: the memory of the values, C-contiguous float64, is used for the result.

    >>> float(round_significant(0.1 + 0.2))
    0.3
    """
    array = np.asarray(values, dtype=np.float64)
    flat = np.ascontiguousarray(array).reshape(-1)
    rounded = flat if overwrite else np.empty_like(flat)
    for start in range(0, len(flat), _ROUNDED_AT_ONCE):  # what is in the cache is not written out
        part = slice(start, start + _ROUNDED_AT_ONCE)
        rounded[part] = _rounded(flat[part], digits)
    return rounded.reshape(array.shape)


def _rounded(array: FloatArray, digits: int) -> FloatArray:
    size = np.abs(array)
    ordinary = (size > _SMALLEST_ROUNDED) & (size < 1 / _SMALLEST_ROUNDED)
    exponent = np.floor(np.log10(np.where(ordinary, size, 1.0))).astype(np.intp)
    scale = _powers_of_ten()[digits - 1 - exponent + _LARGEST_POWER]
    return np.where(ordinary, np.round(np.where(ordinary, array, 0.0) * scale) / scale, array)


@lru_cache(maxsize=1)
def _powers_of_ten() -> FloatArray:
    """Return the powers from -300 to 300: looking them up takes a tenth of computing them."""
    return np.asarray(10.0 ** np.arange(-_LARGEST_POWER, _LARGEST_POWER + 1, dtype=np.float64))
