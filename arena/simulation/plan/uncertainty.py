"""The computations of a plan: power of a paired test, rows to win, widths of rank intervals."""

from __future__ import annotations

import numpy as np
from scipy import special

from arena.types import FloatArray

_DRAWN = 4_000
_SAME = 1e-12
"""A variance of a difference that is this small, relative to one submission's, is by rounding."""
_FEW_UNITS = 50
"""As for the ranks of a board: with fewer, Bonferroni's critical value is used."""


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


def pair_degrees_of_freedom(values: FloatArray) -> float:
    """Return the degrees of freedom of an estimated standard error of a difference.

    ``min(U - 1, 2 U / (kurtosis - 1))`` from the variance of a sample variance, the median over all
    pairs of submissions that differ.

    Parameters
    ----------
    values
        ``(m, U)`` influence values by unit: by row, or summed by group of rows.

    Returns
    -------
    At least 1.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=(2, 1_000))
    >>> 800 < pair_degrees_of_freedom(values) < 1_000
    True
    """
    n_units, degrees_of_pairs = values.shape[1], []
    least = _SAME * values.var(axis=1).max()
    for j, value in enumerate(values[:-1]):
        differences = value - values[j + 1 :]
        differences -= differences.mean(axis=1, keepdims=True)
        squares = np.square(differences)
        variances = squares.mean(axis=1)
        differ = variances > least
        kurtosis = np.square(squares[differ]).mean(axis=1) / variances[differ] ** 2
        degrees_of_pairs.append(2 * n_units / np.maximum(kurtosis - 1, 1e-12))
    degrees = np.concatenate(degrees_of_pairs) if degrees_of_pairs else np.empty(0)
    typical = float(np.median(degrees)) if len(degrees) else np.inf
    return float(max(1.0, min(n_units - 1.0, typical)))


def degrees_with_resamples(degrees: float, resamples: int) -> float:
    """Return the degrees of freedom of a standard error that so many resamples estimate.

    Its relative variance, ``1 / (2 df)``, is that of the rows plus that of the resamples, whose
    scores are about normal.

    >>> round(degrees_with_resamples(1e9, 1_000)), round(degrees_with_resamples(10, 1_000), 1)
    (999, 9.9)
    """
    return 1 / (1 / degrees + 1 / max(resamples - 1, 1))


def deviation_bounds(degrees: float, level: float) -> tuple[float, float]:
    """Return the factors from an estimated standard deviation to the ends of its interval.

    Of the chi-square distribution with these degrees of freedom.

    >>> [round(end, 3) for end in deviation_bounds(100, 0.95)]
    [0.879, 1.161]
    """
    tail = (1 - level) / 2
    upper, lower = special.chdtri(degrees, tail), special.chdtri(degrees, 1 - tail)
    return float(np.sqrt(degrees / upper)), float(np.sqrt(degrees / lower))


def rows_until_the_best_leads(true: FloatArray, errors: FloatArray, n_rows: int) -> FloatArray:
    """Return from how many rows on the best one leads all others, for each draw.

    As :func:`~arena.simulation.ranks.outcome.rows_until_best_wins`, but the true scores are drawn
    as well.

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
    behind = errors - np.take_along_axis(errors, best, axis=0)
    ratios = np.divide(behind, leads, out=np.zeros_like(behind), where=leads > 0)
    # That of the best itself is 0, so the largest is not negative.
    return np.asarray(n_rows * ratios.max(axis=0) ** 2, dtype=np.float64)


def largest_error(errors: FloatArray, level: float) -> float:
    """Return the ``level`` quantile of the largest studentised difference of ``(m, B)`` errors.

    It is the ``ceil(level (B + 1))``-th smallest, as for the ranks of a board, or the largest.

    >>> errors = np.random.default_rng(0).standard_normal((4, 2_000))
    >>> 2.5 < largest_error(errors, 0.95) < 2.7
    True
    """
    deviations = pair_errors(errors)
    precision = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0)
    largest = [float(np.max((e[:, None] - e) * precision)) for e in errors.T]
    place = min(int(np.ceil(level * (len(largest) + 1))), len(largest))
    return float(np.partition(largest, place - 1)[place - 1])


def board_critical_value(critical: float, error: float, degrees: float, n_units: float) -> float:
    """Return by how many standard errors a board's scores must differ to decide their order.

    The decisions are those of the rank intervals of a private board in a single step:
    Student's t at the tail probability of the bootstrap's critical value; below fifty units
    Bonferroni's value instead; and no decision with so few units that no sign test could make one.
    They lack the stepdown, which makes intervals narrower, and the correction
    for skewness, which makes them wider.

    Parameters
    ----------
    critical
        From :func:`largest_error`.
    error
        Bonferroni's error probability of a single decision.
    degrees
        Of freedom of the standard errors on the board.
    n_units
        Rows, or groups of rows, of the board.

    Returns
    -------
    Infinity where nothing can be decided.

    Examples
    --------
    >>> [round(board_critical_value(2.6, 0.05 / 12, 1e6, units), 2) for units in (10**6, 20, 5)]
    [2.6, 2.94, inf]
    """
    if n_units < -np.log2(error):
        return np.inf
    if n_units < _FEW_UNITS:
        critical = float(-special.ndtri(error))
    freedom = max(1.0, min(degrees, n_units - 1.0))
    return float(-special.stdtrit(freedom, float(special.ndtr(-critical))))


def board_widths(
    boards: FloatArray, needed: FloatArray, alone: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the widths of the simultaneous rank intervals of boards, in a single step.

    Parameters
    ----------
    boards
        ``(m, b)`` scores that b boards show, larger is better.
    needed
        ``(m, m)`` differences that decide a pair: a multiple of :func:`pair_errors`.
    alone
        ``(m, m)`` leads over each other one that together show the first to be the best, likewise.

    Returns
    -------
    ``(b, m)`` widths (worst less best possible rank) and ``(b,)`` those of each winner.

    Examples
    --------
    >>> boards, needed = np.array([[9.0, 9.1], [1.0, 0.9]]), np.full((2, 2), 8.1)
    >>> board_widths(boards, needed, needed)[1].tolist()
    [1.0, 0.0]
    """
    m, n_boards = boards.shape
    first = boards.argmax(axis=0)
    leads = boards.max(axis=0) - boards > alone[first].T
    (clear,) = np.nonzero(leads.sum(axis=0) == m - 1)
    widths = np.empty((m, n_boards))
    differences, decided = np.empty((m, n_boards)), np.empty((m, n_boards), dtype=np.bool_)
    count = np.min_scalar_type(m)  # the smallest type is the fastest
    for position, scores in enumerate(boards):
        np.abs(np.subtract(scores, boards, out=differences), out=differences)
        np.greater(differences, needed[position, :, np.newaxis], out=decided)
        decided[first[clear], clear] = True
        widths[position] = m - 1 - decided.view(np.uint8).sum(axis=0, dtype=count)
    widths[first[clear], clear] = 0
    return widths.T, widths[first, np.arange(n_boards)]


def pair_errors(errors: FloatArray) -> FloatArray:
    """Return ``(m, m)`` standard deviations of the differences of the errors."""
    covariance = np.atleast_2d(np.cov(errors))
    variances = covariance.diagonal()
    squared = variances[:, None] + variances - 2 * covariance
    squared[squared < _SAME * variances.max()] = 0.0
    return np.asarray(np.sqrt(squared))


def normal_errors(errors: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return ``(m, 4000)`` normal errors with the covariance of the ``(m, B)`` given ones.

    Scores on few rows are multiples of a row's worth, and so are their errors under resampling;
    scaled to other numbers of rows, these would jump where those of real tests do not.

    >>> drawn = normal_errors(np.array([[1.0, -1.0], [2.0, -2.0]]), np.random.default_rng(0))
    >>> bool(np.allclose(drawn[1], 2 * drawn[0])), round(float(drawn[0].var()), 1)
    (True, 2.0)
    """
    centred = errors - errors.mean(axis=1, keepdims=True)
    drawn_errors = (
        centred @ rng.standard_normal((centred.shape[1], _DRAWN)) / np.sqrt(centred.shape[1] - 1)
    )
    return np.asarray(drawn_errors, dtype=np.float64)
