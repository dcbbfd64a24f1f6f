"""The Bayes error from positive rows with their confidence, and the class prior."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.types import FloatArray
from arena_bayes_error.checks import as_rows, check_unit
from arena_bayes_error.estimate import BayesErrorEstimate, Options, mean_of_rows
from arena_bayes_error.estimators import CLEAN, UNBIASED


def from_positive_confidence(
    confidence: npt.ArrayLike, prior: float, **options: Unpack[Options]
) -> BayesErrorEstimate:
    """Estimate from r = P(y = +1 | x) on positive rows only, and the class prior (Eq. 8). Unbiased.

    prior (1 - mean max(0, 2 - 1/r)); within sqrt(prior² log(2/delta) / (2n)) of beta with
    probability 1 - delta (Proposition 4.3).

    Parameters
    ----------
    confidence
        ``(n,)`` in [0, 1]; 0 is allowed and counts as any value up to 1/2.
    prior
        The share of positive rows among all, in (0, 1).
    options
        See :class:`~arena_bayes_error.estimate.Options`.

    Raises
    ------
    InputError
        With the numbers of the rows outside [0, 1].
    UsageError
        If the prior is not in (0, 1).

    Examples
    --------
    >>> round(from_positive_confidence([1.0, 0.8, 0.0, 0.4], prior=0.5).estimate, 6)
    0.28125
    """
    if not 0 < prior < 1:
        raise UsageError(
            f"The prior is the share of positive rows among all, between 0 and 1, not {prior:g}. "
            f"Positive rows alone do not determine it."
        )
    array = as_rows(confidence, "positive confidence")
    hint = "It is the probability of the positive class, on rows that are positive."
    check_unit(array, "confidence", hint, options.get("row_number"))

    def loss_of(rows: slice) -> FloatArray:
        # Up to r = 1/2 the loss equals the prior, so r = 0 needs no division.
        r = np.maximum(np.asarray(array[rows], dtype=np.float64), 0.5)
        return np.asarray(prior * (1 / r - 1))

    assumptions = (f"The share of positive rows is {prior:g}, as given.", CLEAN)
    return mean_of_rows(
        loss_of,
        len(array),
        prior,
        kind="positive-confidence",
        assumptions=assumptions,
        population="the population of positive rows",
        bias_bound=UNBIASED,
        **options,
    )
