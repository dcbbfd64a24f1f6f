"""An interval for the best true score of a board, whichever submission has it."""

from __future__ import annotations

import math

import numpy as np

from arena.types import FloatArray

__all__ = ["best_score_interval", "least_deviation_of"]


def best_score_interval(
    scores: FloatArray,
    resampled: FloatArray,
    *,
    greater_is_better: bool,
    level: float,
    least_deviation: float = 0.0,
) -> tuple[float, float]:
    """Return an interval for the best true score among the submissions.

    ``[max_j (theta_j - c_L s_j), max_j (theta_j + c_U s_j)]``, where s_j is the standard deviation
    of submission j over the resamples and c_L, c_U are the (1 + level)/2 quantiles over joint
    resamples of ``max_j (theta*_j - theta_j)/s_j`` and of ``max_j (theta_j - theta*_j)/s_j``.
    Both ends bound all true scores at once, so they hold whichever submission is truly best. A
    submission whose score no resample changes (s_j = 0) enters with its score alone.

    ``scores`` is ``(m,)`` in natural sign and ``resampled`` ``(m, B)``; resamples with an undefined
    score are left out, and with fewer than two others both ends are NaN.

    Examples
    --------
    >>> resampled = np.array([[0.7, 0.8, 0.9], [0.5, 0.6, 0.7]])
    >>> low, high = best_score_interval(
    ...     np.array([0.8, 0.6]), resampled, greater_is_better=True, level=0.9)
    >>> round(low, 3), round(high, 3)
    (0.7, 0.9)
    """
    sign = 1.0 if greater_is_better else -1.0
    signed = sign * scores
    errors = (sign * resampled)[:, np.isfinite(resampled).all(axis=0)] - signed[:, np.newaxis]
    if errors.shape[1] < 2:
        return float("nan"), float("nan")
    deviations = np.maximum(errors.std(axis=1, ddof=1), least_deviation)
    moving = errors.std(axis=1) > 0
    # Where nothing moves: what no wrong row in n leaves possible, as Clopper and Pearson have it.
    c_low = c_high = -math.log((1 - level) / 2)
    if moving.any():
        standardised = errors[moving] / deviations[moving, np.newaxis]
        tail = (1 + level) / 2
        c_low = float(np.quantile(standardised.max(axis=0), tail, method="inverted_cdf"))
        c_high = float(np.quantile((-standardised).max(axis=0), tail, method="inverted_cdf"))
    ends = np.max(signed - c_low * deviations), np.max(signed + c_high * deviations)
    return float(min(sign * end for end in ends)), float(max(sign * end for end in ends))


def least_deviation_of(score_range: tuple[float, float], n_rows: int) -> float:
    """Return what one row is worth: a perfect score is no more certain than that.

    Where no row is wrong, no resample has a wrong one, and the deviation over resamples is 0.
    With one row in n wrong the deviation of a share is 1/n.
    """
    width = score_range[1] - score_range[0]
    return width / n_rows if np.isfinite(width) else 0.0
