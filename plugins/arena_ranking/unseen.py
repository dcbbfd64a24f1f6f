"""What rows that are worse than all in the sample could cost a mean of values in a known range."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.evaluation.combined_metric import CombinedMetric
from arena.evaluation.row_weights import row_weights_of, weighted_row_metric
from arena.evaluation.sampling_units import SamplingUnits
from arena.evaluation.score_intervals import range_of
from arena.evaluation.scores import is_mean_of_rows, resample_block
from arena.interfaces import HasRowValues, Metric
from arena.types import FloatArray, IntArray
from arena.utils.read_only import read_only


def unseen_losses(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: npt.NDArray[Any],
    units: IntArray | None = None,
    *,
    row_values: FloatArray | None = None,
) -> FloatArray:
    """Return by how much another unit can be worse than the worst one of each submission.

    It is what the score would lose if that held for all units. A combination of tasks loses most if
    all rare failures are in one task; with rows of unequal weight, and groups of unequal size, the
    unit counts by the size that a row meets on average (Kish).

    Parameters
    ----------
    metric
        Bound to the rows. Of a score that is no mean of values in a known range nothing is known.
    truth
        ``(n,)`` or ``(n, n_targets)``.
    predictions
        ``(k, n, …)``.
    units
        ``(n,)`` codes of groups from 0; None: rows.
    row_values
        ``(k, n)`` those of the metric, if they are known.

    Returns
    -------
    ``(k,)``, 0 where nothing is known, or where all values are at the ends of the range, as of
    right and wrong answers.

    Examples
    --------
    >>> from arena.evaluation.case_metrics import MeanOfCases
    >>> overlap = MeanOfCases("mean", greater_is_better=True, value_range=(0.0, 1.0))
    >>> unseen_losses(overlap, np.zeros(3), np.array([[0.8, 0.9, 0.7], [0.8, 0.0, 0.7]])).tolist()
    [0.7, 0.0]
    """
    if isinstance(metric, CombinedMetric) and not isinstance(metric, HasRowValues):
        return unseen_losses_of_combination(metric, truth, predictions, units)
    of_rows = weighted_row_metric(metric) or metric
    low, high = range_of(of_rows)
    if not (is_mean_of_rows(of_rows) and np.isfinite((low, high)).all()):
        return np.zeros(len(predictions))
    if row_values is None:
        row_values = of_rows.row_values(*read_only((truth, predictions)))
    sampling = SamplingUnits.of(len(truth), units, row_weights_of(metric))
    means = sampling.means(row_values)
    worst = means.min(axis=1) - low if metric.greater_is_better else high - means.max(axis=1)
    at_ends = ((row_values == low) | (row_values == high)).all(axis=1)
    return np.where(at_ends, 0.0, np.maximum(worst, 0.0) * sampling.another)


def unseen_losses_of_combination(
    metric: CombinedMetric,
    truth: npt.NDArray[Any],
    predictions: npt.NDArray[Any],
    units: IntArray | None,
) -> FloatArray:
    """Return ``(m,)`` losses of a combination from the ``(m, ...)`` predictions."""
    how, losses = metric.combination.how, []
    if not (metric.combination.is_mean or how == "geometric"):
        return np.zeros(len(predictions))  # each part is decided by itself
    n_units = len(truth) if units is None else int(units.max()) + 1
    for part in metric.parts:
        part_truth, block, part_units = part.of_rows(truth), part.of_block(predictions), None
        count = len(part_truth)
        if units is not None:
            codes, part_units = np.unique(part.of_rows(units), return_inverse=True)
            count = len(codes)
        part_losses = unseen_losses(part.metric, part_truth, block, part_units)
        if how == "geometric" and part_losses.any():
            part_losses = part_losses / _scores(part.metric, part_truth, block)
        losses.append(part_losses * part.weight * n_units / count)
    n_tasks = 1 if metric.tasks is None else int(metric.tasks.max()) + 1
    by_task = np.reshape(losses, (n_tasks, -1, len(predictions))).sum(axis=1)
    most = np.asarray(by_task.max(axis=0))
    return most * _scores(metric, truth, predictions) if how == "geometric" and most.any() else most


def _scores(metric: Metric, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
    once = np.ones((len(truth), 1), dtype=np.uint8)
    return np.asarray(resample_block(metric, truth, predictions, once)[:, 0])
