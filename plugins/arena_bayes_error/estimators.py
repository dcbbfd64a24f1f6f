"""Estimators of the Bayes error of two classes, without instances and without a model.

Ishida, Yamane, Charoenphakdee, Niu and Sugiyama (2023), "Is the performance of my deep network too
good to be true?": beta = E min(r, 1 - r) with r = P(y = +1 | x). Each function takes what is known
of n independent rows and returns a :class:`~arena_bayes_error.estimate.BayesErrorEstimate`.

The t interval undercovers if most of the uncertainty is in few rows, as in set-up D.
Simulated coverage at a level of 0.95 and n = 1,000, on the paper's Gaussian set-ups (20,000
repetitions for clean soft labels, else 4,000):

==================== ====== ====== ====== ======
labels               A      B      C      D
==================== ====== ====== ====== ======
soft                 0.951  0.950  0.949  0.943
noisy, with signs    0.948  0.951  0.948  0.935
hard, with signs     0.956  0.955  0.944  0.930
the same, Wilson     0.952  0.956  0.951  0.957
positive confidence  0.954  0.950  0.951  0.940
==================== ====== ====== ====== ======

With sampled groups (``clusters``) of one to nine rows that share most of their log odds, it covered
0.935 with 20 groups, 0.946 with 60 and 0.949 with 200 (16,000 repetitions each); treating the rows
as independent, 0.70 to 0.73.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from arena.errors import InputError, UsageError
from arena.types import FloatArray
from arena.utils.text import plural
from arena_bayes_error.checks import as_rows, check_shares, check_unit, two_valued
from arena_bayes_error.estimate import BayesErrorEstimate, Options, mean_of_rows

UNBIASED = (0.0, 0.0)
CLEAN = "Each soft label is the true probability of its row, without noise."
_SIGN = "The sign label is the likelier class of the row, sign(r - 1/2), not an observed label."
_CERTAIN = (
    "Every soft label is 0 or 1: if they are observed labels, this estimate is meaningless; use "
    "--kind hard, counts or features."
)
CONTRADICTED = (
    "The signs contradict the labels: the Bayes error of two classes cannot exceed 50%. Check "
    "--positive, and that the sign labels belong to these rows."
)
_HALF = "An uncertainty label is the probability of the less likely class."


def from_soft_labels(labels: npt.ArrayLike, **options: Unpack[Options]) -> BayesErrorEstimate:
    """Estimate from the probability of the positive class, or of every class (Eq. 4). Unbiased.

    mean min(c, 1 - c) for ``(n,)``; for ``(n, n_classes)`` 1 - mean max_k c_k, which is beyond the
    paper. The bound is sqrt(log(2/delta) / (8n)) for two classes (Proposition 3.2), and
    (1 - 1/n_classes) sqrt(log(2/delta) / (2n)) for several.

    The labels are read in blocks without a copy of their size; any numeric type and memory-mapped
    files are accepted.

    Parameters
    ----------
    labels
        ``(n,)`` in [0, 1], or ``(n, n_classes)`` with rows that sum to 1 within 0.001.
    options
        See :class:`~arena_bayes_error.estimate.Options`.

    Raises
    ------
    InputError
        If rows are not probabilities; the message lists them.
    UsageError
        If shapes or options do not fit.

    Examples
    --------
    >>> round(from_soft_labels([0.9, 0.2, 1.0, 0.5]).estimate, 6)
    0.2
    >>> from_soft_labels([[0.5, 0.25, 0.25], [1, 0, 0]]).estimate
    0.25
    """
    array = as_rows(labels, "soft labels", (1, 2))
    name = options.get("row_number")
    if array.ndim == 2:
        check_shares(array, name)
        top = 1 - 1 / array.shape[1]
    else:
        hint = "A soft label is the probability of the positive class."
        check_unit(array, "soft label", hint, name)
        top = 0.5
    estimate = mean_of_rows(
        lambda rows: row_floor(array[rows]),
        len(array),
        top,
        kind="soft",
        assumptions=(CLEAN,),
        bias_bound=UNBIASED,
        **options,
    )
    return (
        estimate
        if estimate.estimate
        else replace(estimate, assumptions=(*estimate.assumptions, _CERTAIN))
    )


def row_floor(labels: npt.NDArray[Any]) -> FloatArray:
    """Return the ``(n,)`` error probability of the best classifier in each row.

    >>> row_floor(np.array([0.75, 0.25])).tolist(), row_floor(np.array([[0.5, 0.5, 0]])).tolist()
    ([0.25, 0.25], [0.5])
    """
    shares = np.asarray(labels, dtype=np.float64)
    if shares.ndim == 2:
        # A sum that deviates by rounding must not give an error below 0.
        return np.asarray(np.maximum(1 - shares.max(axis=1), 0))
    return np.asarray(np.minimum(shares, 1 - shares))


def from_uncertainty_labels(
    labels: npt.ArrayLike, **options: Unpack[Options]
) -> BayesErrorEstimate:
    """Estimate from u = min(c, 1 - c), the probability of the less likely class. Unbiased.

    Parameters
    ----------
    labels
        ``(n,)`` in [0, 0.5].
    options
        See :class:`~arena_bayes_error.estimate.Options`.

    Raises
    ------
    InputError
        If rows are outside [0, 0.5]; the message lists them.

    Examples
    --------
    >>> from_uncertainty_labels([0.25, 0.0, 0.5, 0.25]).estimate
    0.25
    """
    array = as_rows(labels, "uncertainty labels")
    hint = "It is the probability of the less likely class; for one class use --kind soft."
    check_unit(array, "uncertainty label", hint, options.get("row_number"), top=0.5)
    return mean_of_rows(
        lambda rows: np.asarray(array[rows], dtype=np.float64),
        len(array),
        0.5,
        kind="uncertainty",
        assumptions=(_HALF, CLEAN),
        bias_bound=UNBIASED,
        **options,
    )


def from_noisy_soft_labels(
    labels: npt.ArrayLike, signs: npt.ArrayLike, **options: Unpack[Options]
) -> BayesErrorEstimate:
    """Estimate from probabilities with noise of mean zero, and sign labels (Eq. 6). Unbiased.

    (sum over positive signs of (1 - u) + sum over negative signs of u) / n; within
    sqrt(log(2/delta) / (2n)) of beta with probability 1 - delta (Proposition 3.5).

    Parameters
    ----------
    labels
        ``(n,)`` in [0, 1].
    signs
        ``(n,)`` the likelier class of each row: 1 or 0, 1 or -1, or booleans. Never the observed
        label, with which the estimate would be too low.
    options
        See :class:`~arena_bayes_error.estimate.Options`.

    Raises
    ------
    InputError
        If rows are outside [0, 1] (the message lists them), or the signs are not two-valued.

    Examples
    --------
    >>> found = from_noisy_soft_labels([0.75, 0.25, 1.0, 0.5], [1, 1, 1, 0])
    >>> found.estimate
    0.375
    """
    array = as_rows(labels, "noisy soft labels")
    hint = "A noisy soft label is a guess at the probability of the positive class."
    check_unit(array, "noisy soft label", hint, options.get("row_number"))
    positive = _signs_of(signs, len(array))
    return _signed(
        array,
        positive,
        kind="noisy",
        assumptions=("The noise has mean zero in every row.",),
        options=options,
    )


def from_hard_labels(
    labels: npt.ArrayLike, signs: npt.ArrayLike, **options: Unpack[Options]
) -> BayesErrorEstimate:
    """Estimate from one observed label per row, and sign labels. Unbiased.

    A hard label is a noisy soft label that is 0 or 1, so this is the share of rows whose label is
    not the likelier class. Errors are rare where beta is small: use the Wilson interval then.

    Parameters
    ----------
    labels, signs
        ``(n,)`` of two values each: 1 or 0, 1 or -1, or booleans.
    options
        See :class:`~arena_bayes_error.estimate.Options`.

    Raises
    ------
    InputError
        If either is not two-valued. Several labels per row without a sign are counts: see
        :func:`~arena_bayes_error.annotators.from_counts`.

    Examples
    --------
    >>> found = from_hard_labels([1, 0, 1, 1], [1, 1, 1, 1])
    >>> found.estimate, [round(end, 3) for end in found.wilson_interval]
    (0.25, [0.046, 0.699])
    """
    from scipy.stats import binomtest

    array = two_valued(labels, "hard labels")
    positive = _signs_of(signs, len(array))
    assumptions = ("Each label was drawn with the true probabilities of its row.",)
    estimate = _signed(array, positive, kind="hard", assumptions=assumptions, options=options)
    wrong = int((array != positive).sum())
    if wrong == 0:
        note = (
            "No label differs from its sign label: if the sign labels are the observed labels, "
            "this estimate is meaningless."
        )
        estimate = replace(estimate, assumptions=(*estimate.assumptions, note))
    if estimate.n_clusters is not None:
        return estimate
    interval = binomtest(wrong, len(array)).proportion_ci(estimate.level, method="wilson")
    return replace(estimate, wilson_interval=(float(interval.low), float(interval.high)))


def _signs_of(signs: npt.ArrayLike, n: int) -> npt.NDArray[np.bool_]:
    positive = two_valued(signs, "sign labels")
    if len(positive) != n:
        raise UsageError(
            f"{plural(len(positive), 'sign label')} for {plural(n, 'row')}: give one each."
        )
    return positive


def _signed(
    labels: npt.NDArray[Any],
    positive: npt.NDArray[np.bool_],
    kind: str,
    assumptions: tuple[str, ...],
    options: Options,
) -> BayesErrorEstimate:
    estimate = mean_of_rows(
        lambda rows: np.abs(positive[rows] - np.asarray(labels[rows], dtype=np.float64)),
        len(labels),
        1.0,
        kind=kind,
        assumptions=(*assumptions, _SIGN),
        bias_bound=UNBIASED,
        **options,
    )
    if estimate.estimate <= 0.5:
        return estimate
    return replace(estimate, assumptions=(*estimate.assumptions, CONTRADICTED))


def refuse_single_labels() -> InputError:
    """Return the error for one label per row without a sign label."""
    return InputError(
        "One hard label per row says nothing about how uncertain its class is. Add sign labels, "
        "the likelier class of each row, with --sign, or give several labels per row (--kind "
        "counts, or several columns of hard labels). With only features and hard labels you get "
        "bounds: --kind features."
    )
