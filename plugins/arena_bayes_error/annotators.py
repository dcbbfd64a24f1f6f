"""The Bayes error from several labels per row: proportions, their bias, and a correction of it.

Ishida et al. (2023), Proposition 3.6: the mean of min(u, 1 - u) over proportions u of m labels is
too low, since the smaller of two noisy numbers is. The paper's bound on the bias is vacuous for the
m that occur (0.55 at m = 51); Jensen's inequality gives the one used here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from arena.errors import InputError, UsageError
from arena.types import FloatArray
from arena_bayes_error.checks import class_counts
from arena_bayes_error.dirichlet import expected_bias
from arena_bayes_error.estimate import BayesErrorEstimate, Options, mean_of_rows
from arena_bayes_error.estimators import refuse_single_labels, row_floor

__all__ = ["bias_bound", "from_counts", "from_several_hard_labels", "shares_of"]

_LABELS_DRAWN = (
    "The labels of a row were drawn independently with the true probabilities of its classes."
)


def from_counts(
    counts: npt.ArrayLike, positive: npt.ArrayLike | None = None, **options: Unpack[Options]
) -> BayesErrorEstimate:
    """Estimate from the numbers of labels of each class that annotators gave to each row.

    The estimate is the paper's, the mean of min(u, 1 - u) or of 1 - max_k u_k, biased downward;
    ``bias_bound`` says how far at most, and ``corrected`` takes off the bias that a Dirichlet
    distribution of the probabilities gives (see :mod:`arena_bayes_error.dirichlet`).

    Parameters
    ----------
    counts
        ``(n, n_classes)`` whole numbers from 0 up, with at least one label in each row.
    positive
        The columns, from 0, that together are the positive class; None: every class for itself.
    options
        See :class:`~arena_bayes_error.estimate.Options`.

    Returns
    -------
    The estimate. Two arrays of ``(n, n_classes)`` float64 are held.

    Raises
    ------
    InputError
        With the numbers of the rows whose counts are none; if every row has one label only.
    UsageError
        If the positive classes are none, or all.

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
        **options,
    )
    return _corrected(estimate, groups, options)


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
        If a label is neither, or there is one label per row only.

    Examples
    --------
    >>> found = from_several_hard_labels([[1, 1, 1, 0], [0, 0, 0, 0]])
    >>> found.estimate, found.kind
    (0.125, 'hard')
    """
    array = np.asarray(labels, dtype=np.float64)
    if array.ndim == 1 or array.shape[1] == 1:
        raise refuse_single_labels()
    given = ~np.isnan(array)
    if not np.isin(array[given], (0, 1)).all():
        raise InputError("Several hard labels per row must be 0 and 1, or NaN where one is none.")
    ones = np.where(given, array, 0).sum(axis=1)
    counts = np.column_stack([given.sum(axis=1) - ones, ones])
    return replace(from_counts(counts, **options), kind="hard")


def group_counts(counts: npt.NDArray[Any], positive: npt.ArrayLike | None) -> FloatArray:
    """Return ``(n, 2)`` labels outside and inside the positive classes, or all classes' counts.

    Raises
    ------
    UsageError
        If a class is not there, or none or all of them are positive.
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
    """Return the least and the greatest bias of the estimate from m labels per row.

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
    estimate: BayesErrorEstimate, groups: FloatArray, options: Options
) -> BayesErrorEstimate:
    rng = options.get("rng") or np.random.default_rng(0)
    bias = expected_bias(groups, rng)
    if bias is None:
        return estimate
    low, high = (min(max(end - bias, 0.0), 1.0) for end in estimate.interval)
    return replace(
        estimate,
        corrected=min(max(estimate.estimate - bias, 0.0), 1.0),
        corrected_interval=(low, high),
    )
