"""The standard error of the difference of two submissions' scores on the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.interfaces import Metric
from arena.predictions import ArrayPredictions
from arena.resamples import draw_resamples
from arena.resampling import influence_values, score_under_weights

__all__ = ["standard_error_of_difference"]

_RESAMPLES = 200


def standard_error_of_difference(
    metric: Metric, truth: npt.NDArray[Any], pair: npt.NDArray[Any], rng: np.random.Generator
) -> float:
    """Return the standard error of the first score less the second.

    From row or influence values where the metric has them: ``s / sqrt(n)`` with the standard
    deviation s of their differences (Blum and Hardt 2015, Figure 2). For an opaque metric from
    200 joint resamples, which alone draw from ``rng``.

    Parameters
    ----------
    truth
        ``(n,)`` or ``(n, n_targets)``.
    pair
        ``(2, n)`` or ``(2, n, n_columns)`` predictions.

    Returns
    -------
    NaN for a single row.
    """
    n_rows = len(truth)
    if n_rows < 2:
        return float("nan")
    values = influence_values(metric, truth, pair)
    if values is not None:
        difference = values[0] - values[1]
        return float(np.sqrt((difference**2).sum() / (n_rows * (n_rows - 1))))
    seed = int(rng.integers(2**63 - 1))
    weights = draw_resamples(n_rows, _RESAMPLES, seed).weights
    scores = score_under_weights(metric, truth, ArrayPredictions(pair), weights)
    return float(np.nanstd(scores[0] - scores[1], ddof=1))
