"""What a plan rests on: the power of a paired test, true spread, and widths of rank intervals."""

from __future__ import annotations

import numpy as np
from scipy import special

from arena.types import FloatArray

__all__ = ["normal_errors", "pair_errors", "paired_power", "shrinkage", "single_step_widths"]

_SIMULATED = 200
_DRAWN = 4_000


def paired_power(
    difference: float, standard_error: float, level: float, comparisons: int = 1
) -> float:
    """Return the power of a two-sided paired test, by the normal approximation.

    ``Phi(d / SE - z) + Phi(-d / SE - z)`` with z the ``1 - (1 - level) / (2 k)`` quantile.

    Parameters
    ----------
    difference
        The true difference d.
    standard_error
        Of its estimate, SE.
    level
        1 less the probability of an error of the first kind.
    comparisons
        k, over which the error is divided (Bonferroni).

    Examples
    --------
    >>> round(paired_power(2.8, 1.0, 0.95), 3), round(paired_power(0.0, 1.0, 0.95), 3)
    (0.8, 0.05)
    """
    if standard_error == 0:
        return float(difference != 0)
    critical = special.ndtri(1 - (1 - level) / (2 * comparisons))
    ratio = abs(difference) / standard_error
    return float(special.ndtr(ratio - critical) + special.ndtr(-ratio - critical))


def shrinkage(scores: FloatArray, errors: FloatArray) -> float:
    """Return how far the scores must be drawn to their mean to vary as the true ones do.

    Observed scores vary by their truth and by chance. The factor is
    ``sqrt(1 - chance variance / observed variance)``, 0 where chance explains it all; both are of
    the scores about their mean, the former averaged over the ``(m, B)`` errors.

    >>> shrinkage(np.array([1.0, 3.0]), np.array([[0.0, 0.0], [0.0, 0.0]]))
    1.0
    """
    observed = float(np.var(scores, ddof=1))
    chance = float(np.mean(np.var(errors - errors.mean(axis=1, keepdims=True), axis=0, ddof=1)))
    return float(np.sqrt(max(0.0, 1 - chance / observed))) if observed > 0 else 0.0


def single_step_widths(
    true: FloatArray, errors: FloatArray, level: float, scale: float
) -> tuple[FloatArray, FloatArray]:
    """Simulate boards and the width of their simultaneous rank intervals.

    Larger is better. The boards are ``true + scale * errors`` of the first 200 draws; the
    critical value is the ``level`` quantile of the largest studentised difference over all draws.
    It is found once and not again after pairs are decided, so the intervals are those of Mogstad,
    Romano, Shaikh and Wilhelm (2024) without their stepdown, and never narrower.

    Returns
    -------
    ``(b, m)`` widths (worst less best possible rank) and ``(b,)`` those of each winner. Holds
    three arrays of ``(m, m)`` per board.

    Examples
    --------
    >>> errors = np.array([[0.1, -0.1, 0.1], [-0.1, 0.1, 0.1]])
    >>> single_step_widths(np.array([9.0, 1.0]), errors, 0.9, 1.0)[1].tolist()
    [0.0, 0.0, 0.0]
    """
    deviations = pair_errors(errors)
    precision = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0)
    largest = [float(np.max((e[:, None] - e) * precision)) for e in errors.T]
    critical = float(np.quantile(largest, level, method="inverted_cdf"))
    widths = []
    for draw in errors.T[:_SIMULATED]:
        shown = true + scale * draw
        better = (shown[:, None] - shown > critical * scale * deviations) & (deviations > 0)
        widths.append(len(true) - better.sum(axis=1) - 1 - better.sum(axis=0))
    all_widths = np.array(widths, dtype=np.float64)
    winners = (true[:, None] + scale * errors[:, :_SIMULATED]).argmax(axis=0)
    return all_widths, all_widths[np.arange(len(winners)), winners]


def pair_errors(errors: FloatArray) -> FloatArray:
    """Return ``(m, m)`` standard deviations of the differences of the errors."""
    covariance = np.atleast_2d(np.cov(errors))
    variances = covariance.diagonal()
    squared = np.maximum(variances[:, None] + variances - 2 * covariance, 0.0)
    squared[squared < 1e-12 * variances.max()] = 0.0
    return np.asarray(np.sqrt(squared))


def normal_errors(errors: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return ``(m, 4000)`` normal errors with the covariance of the ``(m, B)`` given ones.

    Scores on few rows are multiples of a row's worth, and so are their errors under resampling;
    scaled to other numbers of rows, these would jump where those of real tests do not.

    >>> drawn = normal_errors(np.array([[1.0, -1.0], [2.0, -2.0]]), np.random.default_rng(0))
    >>> bool(np.allclose(drawn[1], 2 * drawn[0])), round(float(drawn[0].var()), 1)
    (True, 2.0)
    """
    own = errors - errors.mean(axis=1, keepdims=True)
    drawn = own @ rng.standard_normal((own.shape[1], _DRAWN)) / np.sqrt(own.shape[1] - 1)
    return np.asarray(drawn, dtype=np.float64)
