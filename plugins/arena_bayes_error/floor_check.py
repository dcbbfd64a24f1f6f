"""Tests whether error rates are implausibly low, for submissions and for the labels.

A predictor without the labels errs in row i with probability at least min(c_i, 1 - c_i). If the
labels are drawn row by row, its number of errors is stochastically at least Poisson-binomial.
With groups of rows, such as those of one patient, the labels of a group may be dependent; the bound
used then holds for any dependence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.evaluation.multiplicity import correct_p_values
from arena.types import FloatArray, IntArray
from arena.utils.tabular import Tabular
from arena.utils.text import plural
from arena_bayes_error.estimators import row_floor
from arena_bayes_error.sampling import group_codes

_TILTS = np.geomspace(1e-4, 30, 150)


@dataclass(frozen=True, slots=True, eq=False)
class FloorCheck(Tabular):
    """Which of m submissions have implausibly few errors for a predictor without the labels."""

    errors: IntArray
    """``(m,)`` numbers of errors."""
    p_values: FloatArray
    """``(m,)`` probability of so few errors, or fewer, for the best possible predictor; with
    groups of rows an upper bound of it."""
    adjusted: FloatArray
    """``(m,)`` the same, adjusted for the number of submissions (Holm)."""
    flagged: npt.NDArray[np.bool_]
    """``(m,)`` whether the adjusted probability is at most ``alpha``."""
    expected_errors: float
    """Of the best possible predictor."""
    alpha: float


@dataclass(frozen=True, slots=True)
class LabelCheck(Tabular):
    """Whether labels differ from the likelier class of their row as often as soft labels say."""

    differing: int
    """Number of rows whose label is not the likeliest class."""
    expected: float
    """Expected number if the labels are drawn with the soft labels' probabilities."""
    p_so_few: float
    """Probability of this number or fewer: small if annotators are less certain than labels."""
    p_so_many: float
    """Probability of this number or more: small if the soft labels belong to other labels."""
    n: int
    """The number of rows."""


def check_labels(
    truth: npt.NDArray[np.integer], soft: FloatArray, clusters: npt.ArrayLike | None = None
) -> LabelCheck:
    """Compare labels with their soft labels, on which the floor and every flag are based.

    Parameters
    ----------
    truth
        ``(n,)`` codes of classes; of two, 1 is the positive one.
    soft
        ``(n,)`` probability of class 1, or ``(n, n_classes)``.
    clusters
        As in :func:`check_against_floor`.

    Examples
    --------
    >>> found = check_labels(np.ones(40, dtype=int), np.full(40, 0.25))
    >>> found.differing, found.expected, found.p_so_many < 1e-9
    (40, 10.0, True)
    """
    likeliest = (soft >= 0.5).astype(np.intp) if soft.ndim == 1 else soft.argmax(axis=1)
    floors = row_floor(soft)
    n, differing = len(truth), int((likeliest != truth).sum())
    codes = group_codes(clusters, n)
    few = _p_values(np.array([differing]), floors, codes)
    # So many differ, if so few are the likeliest class.
    many = _p_values(np.array([n - differing]), 1 - floors, codes)
    return LabelCheck(
        differing,
        float(floors.sum()),
        p_so_few=float(few[0]),
        p_so_many=float(many[0]),
        n=n,
    )


def check_against_floor(
    errors: npt.ArrayLike,
    floors: FloatArray,
    alpha: float = 0.05,
    clusters: npt.ArrayLike | None = None,
) -> FloorCheck:
    """Return the probability of so few errors for each submission, and which are flagged.

    A flag means one of two things: the labels were known (a leak, or overfitting to them), or the
    annotators were less certain than the labels are. The probability that any submission made
    without the labels is flagged is at most alpha (familywise).

    Parameters
    ----------
    errors
        ``(m,)`` whole numbers of errors on the n rows.
    floors
        ``(n,)`` the error that is left to the best classifier in each row, in [0, 1].
    alpha
        The probability with which a flag may be false, in (0, 1).
    clusters
        ``(n,)`` the group of each row, where the labels of a group may depend on one another; None:
        they are independent given the soft labels.

    Raises
    ------
    UsageError
        If alpha or an error is outside its range, or the groups do not fit.

    Examples
    --------
    >>> found = check_against_floor([0, 30], np.full(200, 0.1))
    >>> found.flagged.tolist(), found.expected_errors
    ([True, False], 20.0)
    """
    counts = np.atleast_1d(np.asarray(errors, dtype=np.intp))
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must be between 0 and 1, not {alpha:g}.")
    if len(counts) and not (counts.min() >= 0 and counts.max() <= len(floors)):
        raise UsageError(f"Errors must be from 0 to the {plural(len(floors), 'row')} there are.")
    p_values = _p_values(counts, floors, group_codes(clusters, len(floors)))
    adjusted = correct_p_values(p_values, "holm")
    return FloorCheck(
        errors=counts,
        p_values=p_values,
        adjusted=adjusted,
        flagged=adjusted <= alpha,
        expected_errors=float(floors.sum()),
        alpha=alpha,
    )


def _p_values(counts: IntArray, floors: FloatArray, codes: IntArray | None) -> FloatArray:
    if codes is not None:
        return _at_most(counts, floors, codes)
    cumulated = np.minimum(np.cumsum(errors_distribution(floors)), 1.0)
    # More errors than rows that can be wrong: the probability is 1.
    return np.asarray(cumulated[np.minimum(counts, len(cumulated) - 1)])


def _at_most(counts: IntArray, floors: FloatArray, codes: IntArray) -> FloatArray:
    """Return ``(m,)`` bounds of P(S <= k) for any dependence of the errors within groups.

    P(S <= k) <= exp(tk) prod E exp(-t S_g) for every t > 0 (Chernoff), and of all S_g with these
    probabilities the largest E exp(-t S_g) is that of rows that err together: S_g >= j with the
    j-th largest probability p_j of the group, so that it is 1 - (1 - exp(-t)) sum p_j exp(-t(j-1)).
    The minimum over 150 values of t is used.

    >>> _at_most(np.array([0]), np.array([0.5, 0.5]), np.array([0, 0])).round(6).tolist()  # exact
    [0.5]
    """
    order = np.lexsort((-floors, codes))
    sizes = np.bincount(codes)
    place = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    groups, sorted_floors = codes[order], floors[order]
    bounds = np.zeros(len(counts))
    for t in _TILTS:
        sums = np.bincount(groups, weights=sorted_floors * np.exp(-t * place))
        log_moment = float(np.log1p(np.expm1(-t) * sums).sum())
        bounds = np.minimum(bounds, t * counts + log_moment)
    return np.asarray(np.exp(bounds))


def errors_distribution(floors: FloatArray) -> FloatArray:
    """Return the probabilities of 0, 1, … errors, where row i has one with probability floors_i.

    Halves are convolved by Fourier transforms: n log² n steps where
    ``scipy.stats.poisson_binom`` takes n², with an error of some 1e-15. Rows that cannot go wrong
    are left out.

    Parameters
    ----------
    floors
        ``(n,)`` in [0, 1].

    Returns
    -------
    ``(k + 1,)`` for k rows that can go wrong. Four arrays of that size, rounded up to a power of
    two, are held.

    Examples
    --------
    >>> errors_distribution(np.array([0.5, 0.5, 0.0])).round(12).tolist()
    [0.25, 0.5, 0.25]
    """
    from scipy.fft import irfft, rfft

    doubtful = floors[floors > 0]
    size = _power_of_two(len(doubtful))
    chance = np.concatenate([doubtful, np.zeros(size - len(doubtful))])
    parts = np.column_stack([1 - chance, chance])
    while len(parts) > 1:
        length = 2 * parts.shape[1] - 1
        spectrum = rfft(parts, n=_power_of_two(length), axis=1)
        parts = irfft(spectrum[0::2] * spectrum[1::2], n=_power_of_two(length), axis=1)[:, :length]
    return np.asarray(np.maximum(parts[0, : len(doubtful) + 1], 0.0))


def _power_of_two(length: int) -> int:
    return 1 << (length - 1).bit_length()
