"""The Bayes error from scores that only order the rows, by isotonic calibration.

Ushio, Ishida and Sugiyama (2025), *Practical estimation of the optimal classification error with
soft labels and calibration*, arXiv:2505.20761: corrupted soft labels are replaced by the isotonic
regression of the observed labels on them. Platt scaling needs the right shape, this only the order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, IntArray
from arena_bayes_error.checks import as_rows, check_labelled_scores, two_valued
from arena_bayes_error.estimate import BayesErrorEstimate, Options, mean_of_rows
from arena_bayes_error.sampling import group_codes

_FOLDS = 10
_MOST = 0.5
"""No Bayes error of two classes is larger."""


def from_ordered_scores(
    scores: npt.ArrayLike, labels: npt.ArrayLike, **options: Unpack[Options]
) -> BayesErrorEstimate:
    """Estimate from scores and one observed label per row, through isotonic regression.

    The mean of min(c, 1 - c) over isotonic fits c is the smallest error of any threshold on these
    rows, which is how it is calculated. It is too small on average, since the threshold is chosen
    on the same rows. So only the lower end of the interval comes from it. The upper end is that of
    thresholds chosen without the rows that they are tested on (ten folds), which on average have at
    least the Bayes error.

    Parameters
    ----------
    scores
        ``(n,)`` finite numbers; a larger one makes the positive label likelier.
    labels
        ``(n,)`` observed labels of two values: 1 or 0, 1 or -1, or booleans. Both must occur.
    options
        See :class:`~arena_bayes_error.estimate.Options`.

    Raises
    ------
    InputError
        If scores are not numbers (the message lists the rows), or a label does not occur.
    UsageError
        If shapes or options do not fit.

    Examples
    --------
    >>> from_ordered_scores([1, 2, 3, 4, 5, 6], [0, 0, 1, 0, 1, 1]).estimate.__round__(4)
    0.1667
    """
    array = as_rows(scores, "scores").astype(np.float64)
    positive = two_valued(labels, "labels")
    check_labelled_scores(
        array, positive, purpose="calibrating", row_number=options.get("row_number")
    )
    codes = group_codes(options.get("clusters"), len(array))
    wrong, tested = (
        _mean_of(losses, options)
        for losses in (
            threshold_losses(array, positive, array, positive),
            cross_fitted_losses(array, positive, np.arange(len(array)) if codes is None else codes),
        )
    )
    high = min(tested.reported_interval[1], _MOST)
    ends = wrong.reported_interval[0], max(high, wrong.estimate)
    return replace(wrong, bounded_interval=ends)


def _mean_of(losses: FloatArray, options: Options) -> BayesErrorEstimate:
    return mean_of_rows(
        lambda rows: losses[rows],
        len(losses),
        1.0,
        kind="isotonic",
        assumptions=(
            "The probability of the positive label does not fall where the score rises.",
            "A label depends on the row through its score only; otherwise the features allow fewer "
            "errors than this.",
            "The interval to report is the first. The others treat the threshold as known.",
        ),
        bias_bound=None,
        **options,
    )


def threshold_losses(
    scores: FloatArray,
    positive: npt.NDArray[np.bool_],
    tested: FloatArray,
    labels: npt.NDArray[np.bool_],
) -> FloatArray:
    """Return which tested rows the threshold with the fewest errors on the first rows gets wrong.

    Parameters
    ----------
    scores, positive
        ``(n,)`` of the rows on which the threshold is chosen.
    tested, labels
        ``(m,)`` scores and labels of the rows that it is tested on.

    Returns
    -------
    ``(m,)`` of 0 and 1.

    Examples
    --------
    >>> scores, labels = np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, True, False, True])
    >>> threshold_losses(scores, labels, scores, labels).tolist()
    [0.0, 0.0, 1.0, 0.0]
    """
    ordered, place = np.unique(scores, return_inverse=True)
    ones = np.bincount(place, weights=positive, minlength=len(ordered))
    zeros = np.bincount(place, weights=~positive, minlength=len(ordered))
    # With the threshold before each score, and after the last: errors below it and from it on.
    errors = np.append(0.0, np.cumsum(ones)) + np.append(np.cumsum(zeros[::-1])[::-1], 0.0)
    threshold = np.append(ordered, np.inf)[int(errors.argmin())]
    return np.asarray((tested >= threshold) != labels, dtype=np.float64)


def cross_fitted_losses(
    scores: FloatArray, positive: npt.NDArray[np.bool_], units: IntArray
) -> FloatArray:
    """Return the ``(n,)`` losses with the threshold from other folds; units stay together."""
    order = np.random.default_rng(0).permutation(int(units.max()) + 1)
    fold = order[units] % min(_FOLDS, len(order))
    losses = np.empty(len(scores))
    for number in range(int(fold.max()) + 1):
        in_fold = fold == number
        losses[in_fold] = threshold_losses(
            scores[~in_fold], positive[~in_fold], scores[in_fold], positive[in_fold]
        )
    return losses
