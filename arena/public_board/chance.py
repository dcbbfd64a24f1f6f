"""How far apart two equally good models stand on a board by chance alone."""

from __future__ import annotations

import numpy as np

from arena.interfaces import HasRowValues, Metric, traits_of
from arena.types import ROW_WEIGHTS, FloatArray, Solution, Usage

_NORMAL_QUANTILE = 1.96
"""Of 97.5%."""
_STEPS = 60


def independent_rows(solution: Solution) -> float:
    """Return how many independent rows of equal weight the public rows are worth.

    Rows of one group may all fail together, so that groups count instead of rows; of weighted rows
    it is the square of the sum of their weights by the sum of their squares (Kish 1965).
    """
    rows = solution.usage == np.uint8(Usage.PUBLIC)
    if not rows.any():
        return 0.0
    row_weights = solution.extra.get(ROW_WEIGHTS)
    weights: FloatArray = np.ones(int(rows.sum())) if row_weights is None else row_weights[rows]
    if solution.clusters is not None:
        weights = np.bincount(solution.clusters[rows], weights).astype(np.float64)
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def chance_difference(metric: Metric, n_rows: float, score: float) -> float | None:
    """Return the difference that two equally good models exceed in 5% of cases by chance.

    The errors of the two are taken as unrelated. The score of ``n_rows`` independent rows and the
    range of their values bound the variance of a row, ``(m - low) * (high - m)`` with mean ``m``
    (Bhatia and Davis 2000), which is exact for values that are 0 or 1; so nothing is used but
    what the board shows.

    Returns
    -------
    None if the metric is no function of a mean of values in a finite range.

    Examples
    --------
    >>> from arena.plugin.manager import PluginManager
    >>> accuracy = PluginManager().metrics.resolve("accuracy")
    >>> round(chance_difference(accuracy, 400, 0.8), 3)
    0.055
    """
    row_range = traits_of(metric).row_range
    if not isinstance(metric, HasRowValues) or row_range is None or n_rows <= 1:
        return None
    low, high = map(float, row_range)
    if not np.isfinite([low, high, score]).all() or high <= low:
        return None

    def score_of(mean: float) -> float:
        return float(metric.from_mean(np.array([mean])).item())

    ends = (low, high) if score_of(low) < score_of(high) else (high, low)
    for _step in range(_STEPS):  # the score is monotone in the mean
        middle = (ends[0] + ends[1]) / 2
        ends = (middle, ends[1]) if score_of(middle) < score else (ends[0], middle)
    mean = min(max((ends[0] + ends[1]) / 2, low), high)
    reach = _NORMAL_QUANTILE * np.sqrt(2 * (mean - low) * (high - mean) / n_rows)
    moved = [score_of(min(max(mean + side * reach, low), high)) for side in (-1, 1)]
    return max(abs(moved_mean - score_of(mean)) for moved_mean in moved)
