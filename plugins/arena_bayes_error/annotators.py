"""The Bayes error from several labels per row: proportions, their bias and its correction.

Ishida et al. (2023), Proposition 3.6: the mean of min(u, 1 - u) over proportions u of m labels is
too low, as the minimum of two noisy numbers is. The paper's bound on the bias is vacuous for
realistic m (0.55 at m = 51); the bound used here follows from Jensen's inequality.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from arena.errors import InputError, UsageError
from arena.evaluation.score_intervals import own_intervals
from arena.evaluation.statistic_errors import errors_from_standard_errors
from arena.types import FloatArray, IntArray
from arena_bayes_error.checks import class_counts
from arena_bayes_error.dirichlet import corrected_resamples, expected_bias
from arena_bayes_error.estimate import (
    BayesErrorEstimate,
    Options,
    mean_of_rows,
)
from arena_bayes_error.estimators import refuse_single_labels, row_floor
from arena_bayes_error.moment_bounds import contradicts_independence, moment_bounds
from arena_bayes_error.sampling import blocks, group_codes, mean_loss

_LABELS_DRAWN = (
    "The labels of a row were drawn independently with the true probabilities of its classes."
)
DEPENDENT = (
    "The counts contradict independent labels: the labels of a row agree too rarely or too "
    "regularly for any probabilities. The annotators may have coordinated, or a count is not a "
    "number of labels; do not use this estimate."
)
_UNSEEN = (
    "Annotators who copy each other cannot be detected in counts, and make the estimate too low."
)


def from_counts(
    counts: npt.ArrayLike, positive: npt.ArrayLike | None = None, **options: Unpack[Options]
) -> BayesErrorEstimate:
    """Estimate from the numbers of labels of each class that annotators gave to each row.

    The estimate is the paper's, the mean of min(u, 1 - u) or of 1 - max_k u_k, biased downward;
    ``bias_bound`` bounds the bias, and ``corrected`` subtracts the bias under a Dirichlet
    distribution of the probabilities (see :mod:`arena_bayes_error.dirichlet`).

    Parameters
    ----------
    counts
        ``(n, n_classes)`` whole numbers from 0 up, with at least one label in each row.
    positive
        The columns, from 0, that form the positive class; None: each class separately.
    options
        See :class:`~arena_bayes_error.estimate.Options`.

    Returns
    -------
    The estimate. Uses two arrays of ``(n, n_classes)`` float64.

    Raises
    ------
    InputError
        If counts are invalid (the message lists the rows), or every row has one label only.
    UsageError
        If no class or every class is positive.

    Examples
    --------
    >>> found = from_counts([[3, 1], [0, 4], [2, 2]])
    >>> found.estimate, found.bias_bound
    (0.25, (-0.25, 0.0))
    >>> from_counts([[3, 1, 0], [0, 4, 0], [1, 1, 2]], positive=[0, 1]).estimate  # 0, 0, 1/2
    0.16666666666666666
    """
    array = class_counts(counts, options.get("row_number"))
    groups = group_counts(array, positive)
    totals = groups.sum(axis=1)
    shares = groups / totals[:, None]
    n, n_classes = groups.shape
    estimate = mean_of_rows(
        lambda rows: row_floor(shares[rows]),
        n,
        1 - 1 / n_classes,
        kind="counts",
        assumptions=(_LABELS_DRAWN,),
        bias_bound=bias_bound(totals, n_classes),
        seen=seen_by(totals, n_classes),
        **options,
    )
    rng = options.get("rng") or np.random.default_rng(0)
    codes = group_codes(options.get("clusters"), n)
    estimate = _corrected(
        estimate, groups, resamples=options.get("resamples", 1_000), rng=rng, codes=codes
    )
    if n_classes > 2:
        dependent = contradicts_independence(groups, rng, level=estimate.level, codes=codes)
    else:
        bounds = moment_bounds(groups, rng, level=estimate.level, codes=codes)
        dependent = bounds is not None and bounds.interval is None
        if bounds is not None:
            estimate = replace(
                estimate,
                moment_bounds=None if dependent else (bounds.low, bounds.high),
                moment_interval=bounds.interval,
            )
    note = DEPENDENT if dependent else _UNSEEN
    return replace(estimate, assumptions=(*estimate.assumptions, note))


def from_several_hard_labels(
    labels: npt.ArrayLike, **options: Unpack[Options]
) -> BayesErrorEstimate:
    """Estimate from m hard labels per row of two classes, without signs (Proposition 3.6).

    The same as :func:`from_counts` of the numbers of 0 and of 1.

    Parameters
    ----------
    labels
        ``(n, m)`` of 0 and 1; NaN where an annotator did not label a row.
    options
        See :class:`~arena_bayes_error.estimate.Options`.

    Raises
    ------
    InputError
        If a label is neither 0 nor 1, or there is only one label per row.

    Examples
    --------
    >>> found = from_several_hard_labels([[1, 1, 1, 0], [0, 0, 0, 0]])
    >>> found.estimate, found.kind
    (0.125, 'hard')
    """
    array = np.asarray(labels, dtype=np.float64)
    if array.ndim == 1 or array.shape[1] == 1:
        raise refuse_single_labels()
    is_given = ~np.isnan(array)
    if not np.isin(array[is_given], (0, 1)).all():
        raise InputError(
            "Several hard labels per row must be 0 and 1, or NaN where a label is missing."
        )
    ones = np.where(is_given, array, 0).sum(axis=1)
    counts = np.column_stack([is_given.sum(axis=1) - ones, ones])
    return replace(from_counts(counts, **options), kind="hard")


def group_counts(counts: npt.NDArray[Any], positive: npt.ArrayLike | None) -> FloatArray:
    """Return ``(n, 2)`` labels outside and inside the positive classes, or all classes' counts.

    Raises
    ------
    UsageError
        If a class does not exist, or no class or every class is positive.
    """
    if positive is None:
        return np.asarray(counts, dtype=np.float64)
    classes = np.unique(np.asarray(positive, dtype=np.intp))
    n_classes = counts.shape[1]
    if len(classes) and not (classes[0] >= 0 and classes[-1] < n_classes):
        raise UsageError(f"The positive classes are columns from 0 to {n_classes - 1}.")
    if not 0 < len(classes) < n_classes:
        raise UsageError("Some classes must be positive, and some not.")
    inside = counts[:, classes].sum(axis=1)
    return np.column_stack([counts.sum(axis=1) - inside, inside]).astype(np.float64)


def shares_of(counts: npt.ArrayLike, positive: npt.ArrayLike | None = None) -> FloatArray:
    """Return soft labels from counts: ``(n,)`` shares of the positive classes, or of each class.

    >>> shares_of([[3, 1, 0], [0, 2, 2]], positive=[1]).tolist()
    [0.25, 0.5]
    """
    groups = group_counts(class_counts(counts, None), positive)
    shares: FloatArray = groups / groups.sum(axis=1, keepdims=True)
    return shares if positive is None else np.ascontiguousarray(shares[:, 1])


def bias_bound(totals: npt.NDArray[Any], n_classes: int = 2) -> tuple[float, float]:
    """Return the smallest and the largest possible bias of the estimate from m labels per row.

    -mean (1 - 1/K) / sqrt(m) and 0. From above by Jensen, as min is concave. From below,
    max_k u_k - max_k p_k is at most the largest deviation d_k = u_k - p_k; deviations sum to 0, so
    that it is at most sqrt((K-1)/K) |d|; and E |d|² = (1 - sum p²)/m is at most (1 - 1/K)/m. For
    two classes that is 1/(2 sqrt m).

    Parameters
    ----------
    totals
        ``(n,)`` labels of each row.
    n_classes
        K.

    Examples
    --------
    >>> bias_bound(np.array([100, 100]))
    (-0.05, 0.0)
    """
    return -(1 - 1 / n_classes) * float(np.mean(1 / np.sqrt(totals))), 0.0


def _corrected(
    estimate: BayesErrorEstimate,
    groups: FloatArray,
    resamples: int,
    rng: np.random.Generator,
    codes: IntArray | None,
) -> BayesErrorEstimate:
    bias = expected_bias(groups, rng)
    if bias is None:
        return estimate
    corrected = min(max(estimate.estimate - bias, 0.0), 1.0)
    error = float(corrected_resamples(groups, resamples, rng, codes).std(ddof=1))
    n, n_classes = groups.shape
    top = 1 - 1 / n_classes
    total = mean_loss(top, codes)
    for rows in blocks(n):
        total.add(rows, 1 - groups[rows].max(axis=1) / groups[rows].sum(axis=1))
    units, g = total.moments(), total.n_units
    plain = total.standard_error()
    # Resampled groups of unequal size vary too little, as much as the mean's own error says.
    inflation = units.standard_error / plain if plain > 0 else 1.0
    error *= inflation * math.sqrt(g / (g - 1))
    errors = errors_from_standard_errors(
        np.array([min(corrected, top)]),
        np.array([error]),
        degrees=np.clip([2 * g / max(units.kurtosis - 1, 1e-9)], 1.0, max(units.most_degrees, 1.0)),
        n_units=g,
        score_range=(0.0, top),
        limit_units=math.inf if error > 0 else seen_by(groups.sum(axis=1), n_classes) * g,
    )
    low, high = own_intervals(errors, estimate.level)
    ends = (float(low[0]), float(high[0])) if np.isfinite(high[0]) else (0.0, top)
    return replace(estimate, corrected=corrected, corrected_interval=ends)


def seen_by(totals: npt.NDArray[Any], n_classes: int) -> float:
    """Return how often labels disagree, at least, on a row of the largest possible error.

    The mean over rows of the smaller of two probabilities: that the labels of a row with equal
    probabilities of all classes disagree, and that of a row of two equally likely classes over the
    share that its error has of the largest.

    >>> seen_by(np.array([2, 2]), 2), round(seen_by(np.array([3]), 3), 3)
    (0.5, 0.889)
    """
    every = 1 - float(n_classes) ** (1.0 - totals)
    two = (1 - 2.0 ** (1.0 - totals)) * (1 - 1 / n_classes) / 0.5
    return float(np.minimum(every, two).mean())
