"""What a plan rests on: the power of a paired test, true spread, and widths of rank intervals."""

from __future__ import annotations

import numpy as np
from scipy import special

from arena.types import FloatArray, IntArray

__all__ = [
    "draw_true_scores",
    "normal_errors",
    "pair_errors",
    "paired_power",
    "rows_until_the_best_leads",
    "shrinkage",
    "single_step_widths",
]

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


def draw_true_scores(
    scores: FloatArray, errors: FloatArray, kept: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Draw what the true scores may be, given those observed (empirical Bayes).

    True scores are taken as normal about their mean, as wide as :func:`shrinkage` says, and the
    errors as normal with the covariance of the given ones about their mean over all submissions:
    what all share moves no rank. Whoever leads has been lucky, more often than not, and somebody
    else may be best: only draws can tell how often.

    Parameters
    ----------
    scores
        ``(m,)``, larger is better.
    errors
        ``(m, B)`` of resamples of the same rows.
    kept
        ``(k,)`` whose true scores are drawn.

    Returns
    -------
    ``(k, 4000)``.

    Examples
    --------
    >>> rng, errors = np.random.default_rng(0), np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> drawn = draw_true_scores(np.array([9.0, 1.0]), errors, np.array([0, 1]), rng)
    >>> drawn.mean(axis=1).round(1).tolist()
    [8.5, 1.5]
    """
    spread = shrinkage(scores, errors) ** 2 * float(np.var(scores, ddof=1))
    centre = scores.mean()
    if spread == 0:
        return np.full((len(kept), _DRAWN), centre)
    own = np.atleast_2d(np.cov((errors - errors.mean(axis=0))[kept]))
    prior = spread * np.eye(len(kept))
    gain = np.linalg.solve(prior + own, prior)
    mean = centre + (scores[kept] - centre) @ gain
    drawn = rng.multivariate_normal(mean, prior - spread * gain, _DRAWN, method="eigh")
    return np.asarray(drawn.T, dtype=np.float64)


def rows_until_the_best_leads(true: FloatArray, errors: FloatArray, n_rows: int) -> FloatArray:
    """Return from how many rows on the best one leads all others, for each draw.

    As :func:`~arena.simulation.outcome.rows_until_best_wins`, with true scores that are drawn too.

    Parameters
    ----------
    true
        ``(m, D)``, larger is better.
    errors
        ``(m, D)`` on ``n_rows`` rows.

    Examples
    --------
    >>> true, errors = np.array([[0.9], [0.8]]), np.array([[0.0], [0.2]])
    >>> rows_until_the_best_leads(true, errors, 100).round(6).tolist()
    [400.0]
    """
    best = true.argmax(axis=0)[np.newaxis]
    leads = np.take_along_axis(true, best, axis=0) - true
    behind = np.maximum(errors - np.take_along_axis(errors, best, axis=0), 0.0)
    ratios = np.divide(behind, leads, out=np.zeros_like(behind), where=leads > 0)
    return np.asarray(n_rows * ratios.max(axis=0) ** 2, dtype=np.float64)


def single_step_widths(
    boards: FloatArray, errors: FloatArray, level: float, scale: float
) -> tuple[FloatArray, FloatArray]:
    """Return the widths of the simultaneous rank intervals of boards.

    The critical value is the ``level`` quantile of the largest studentised difference over the
    resamples. It is found once and not again after pairs are decided, so the intervals are those
    of Mogstad, Romano, Shaikh and Wilhelm (2024) without their stepdown, and never narrower.

    Parameters
    ----------
    boards
        ``(m, b)`` scores that b boards show, larger is better.
    errors
        ``(m, B)`` of resamples of the pilot's rows.
    level
        Of the intervals.
    scale
        By which errors on a board are larger than on the pilot.

    Returns
    -------
    ``(b, m)`` widths (worst less best possible rank) and ``(b,)`` those of each winner. Holds
    three arrays of ``(m, m)`` per board.

    Examples
    --------
    >>> errors = np.array([[0.1, -0.1, 0.1], [-0.1, 0.1, 0.1]])
    >>> single_step_widths(np.array([[9.0, 9.1], [1.0, 0.9]]), errors, 0.9, 1.0)[1].tolist()
    [0.0, 0.0]
    """
    deviations = pair_errors(errors)
    precision = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0)
    largest = [float(np.max((e[:, None] - e) * precision)) for e in errors.T]
    critical = float(np.quantile(largest, level, method="inverted_cdf"))
    needed = np.where(deviations > 0, critical * scale * deviations, np.inf)
    widths = np.empty(boards.T.shape)
    for own, shown in zip(widths, boards.T, strict=True):
        better = shown[:, None] - shown > needed
        own[:] = len(shown) - better.sum(axis=1) - 1 - better.sum(axis=0)
    return widths, widths[np.arange(len(widths)), boards.argmax(axis=0)]


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
