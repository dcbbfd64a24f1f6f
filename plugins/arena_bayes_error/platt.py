"""The Bayes error from scores that are not probabilities, such as reviewers' ratings.

Ishida et al. (2023), section 5.4: scores are scaled to probabilities with hard labels (Platt 1999)
and then used as soft labels. The fit is the unpenalised maximum likelihood estimate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from arena.errors import InputError
from arena.types import FloatArray, IntArray
from arena.utils.tabular import Tabular
from arena_bayes_error.checks import as_rows, check_labelled_scores, two_valued
from arena_bayes_error.estimate import (
    BayesErrorEstimate,
    Options,
    mean_of_rows,
    percentile_interval,
)
from arena_bayes_error.estimators import row_floor
from arena_bayes_error.sampling import blocks, group_codes

_STEPS = 50
_PRECISE = 1e-10
_BLOCK = 50


@dataclass(frozen=True, slots=True, eq=False)
class PlattFit(Tabular):
    """Scores turned into probabilities: 1 / (1 + exp(-(intercept + slope * score)))."""

    slope: float
    """The factor of the score."""
    intercept: float
    """The constant that is added."""
    scores: FloatArray
    """``(n,)`` scores as given."""
    positive: npt.NDArray[np.bool_]
    """``(n,)`` whether the label is the positive one."""
    probabilities: FloatArray
    """``(n,)`` of the positive label, as fitted."""


def from_scores(
    scores: npt.ArrayLike, labels: npt.ArrayLike, **options: Unpack[Options]
) -> tuple[BayesErrorEstimate, PlattFit]:
    """Estimate from scores and one observed label per row, through Platt scaling.

    ``interval`` treats the fit as known; ``refit_interval`` refits the scaling in each resample of
    the rows and is the one to report. 50 resamples are fitted at a time, with about 3 kB of memory
    for each row.

    Parameters
    ----------
    scores
        ``(n,)`` finite numbers, in any unit and direction.
    labels
        ``(n,)`` observed labels of two values: 1 or 0, 1 or -1, or booleans. Both must occur.
    options
        See :class:`~arena_bayes_error.estimate.Options`.

    Returns
    -------
    The estimate, whose bias has no known bound, and the fit.

    Raises
    ------
    InputError
        If scores are not numbers (the message lists the rows), a label does not occur, or the
        scores separate the labels, so that the likelihood has no maximum.
    UsageError
        If shapes or options do not fit.

    Examples
    --------
    >>> found, fit = from_scores([1, 2, 3, 4, 5, 6], [0, 0, 1, 0, 1, 1])
    >>> round(found.estimate, 4), round(fit.slope, 4)
    (0.1793, 1.214)
    """
    array = as_rows(scores, "scores").astype(np.float64)
    positive = two_valued(labels, "labels")
    fit = fit_platt(array, positive, **options)
    options = options.copy()
    rng = options.setdefault("rng", np.random.default_rng(0))
    estimate = mean_of_rows(
        lambda rows: row_floor(fit.probabilities[rows]),
        len(array),
        0.5,
        kind="scores",
        assumptions=(
            "The log odds of the label are a linear function of the score.",
            "A label depends on the row through its score only.",
            "The interval and the bound treat the fitted scaling as known; the interval with the "
            "refitted scaling does not.",
        ),
        bias_bound=None,
        **options,
    )
    codes = group_codes(options.get("clusters"), len(array))
    floors = _refitted(
        array, positive, resamples=options.get("resamples", 1_000), rng=rng, codes=codes
    )
    return replace(estimate, refit_interval=percentile_interval(floors, estimate.level)), fit


def fit_platt(
    scores: FloatArray, positive: npt.NDArray[np.bool_], **options: Unpack[Options]
) -> PlattFit:
    """Return the maximum likelihood scaling; raises like :func:`from_scores`."""
    check_labelled_scores(scores, positive, purpose="scaling", row_number=options.get("row_number"))
    if bool(_separated(scores, positive[None, :])[0]):
        raise InputError(
            "The scores separate the two labels perfectly, so the likelihood has no maximum. Add "
            "rows of both labels whose scores overlap."
        )
    middle, unit = _standard(scores)
    weights = np.ones((1, len(scores)))
    intercept, slope = _newton((scores - middle) / unit, positive, weights)[0]
    steep = float(slope / unit)
    offset = float(intercept - steep * middle)
    chance = _logistic(offset + steep * scores)
    return PlattFit(steep, offset, scores=scores, positive=positive, probabilities=chance)


def _standard(scores: FloatArray) -> tuple[float, float]:
    return float(scores.mean()), float(scores.std()) or 1.0


def _logistic(values: FloatArray) -> FloatArray:
    from scipy.special import expit

    return np.asarray(expit(values))


def _newton(x: FloatArray, y: npt.NDArray[np.bool_], weights: FloatArray) -> FloatArray:
    """Return the ``(B, 2)`` intercepts and slopes of the largest weighted likelihoods, at once.

    Newton's method on the concave log likelihood, each step halved until the likelihood grows:
    scikit-learn fits one at a time, at 2 ms each.

    Parameters
    ----------
    x
        ``(n,)`` scores of mean 0 and standard deviation 1.
    y
        ``(n,)`` labels.
    weights
        ``(B, n)``; in each, the scores of the two labels overlap.
    """
    design = np.column_stack([np.ones_like(x), x])
    products = np.column_stack([np.ones_like(x), x, x * x])
    coefficients = np.zeros((len(weights), 2))
    best = _log_likelihood(coefficients, design, y, weights)
    for _ in range(_STEPS):
        chance = _logistic(coefficients @ design.T)
        gradient = (weights * (y - chance)) @ design
        a, b, c = ((weights * chance * (1 - chance)) @ products).T
        determinant = np.maximum(a * c - b * b, 1e-300)
        step = np.column_stack(
            [
                (c * gradient[:, 0] - b * gradient[:, 1]) / determinant,
                (a * gradient[:, 1] - b * gradient[:, 0]) / determinant,
            ]
        )
        if (np.abs(step) < _PRECISE).all():
            break
        for _ in range(_STEPS):
            reached = _log_likelihood(coefficients + step, design, y, weights)
            worse = ~(reached >= best - 1e-12 * np.abs(best))
            if not worse.any():
                break
            step[worse] /= 2
        coefficients, best = coefficients + step, reached
    return coefficients


def _log_likelihood(
    parameters: FloatArray, design: FloatArray, y: npt.NDArray[np.bool_], weights: FloatArray
) -> FloatArray:
    from scipy.special import log_expit

    signs = np.where(y, 1.0, -1.0)
    return np.asarray((weights * log_expit(signs * (parameters @ design.T))).sum(axis=1))


def _separated(scores: FloatArray, there: npt.NDArray[np.bool_], y: Any = None) -> Any:
    """Return for each row of ``there`` whether a threshold tells the positive scores apart."""
    positive = there if y is None else there & y
    negative = ~there if y is None else there & ~y
    top = np.where(positive, scores, -np.inf).max(axis=1)
    bottom = np.where(positive, scores, np.inf).min(axis=1)
    other_top = np.where(negative, scores, -np.inf).max(axis=1)
    other_bottom = np.where(negative, scores, np.inf).min(axis=1)
    return (bottom >= other_top) | (top <= other_bottom)


def _refitted(
    scores: FloatArray,
    positive: npt.NDArray[np.bool_],
    resamples: int,
    rng: np.random.Generator,
    codes: IntArray | None,
) -> FloatArray:
    """Return the ``(B,)`` floors of resamples of the rows, or of their groups.

    If the scores of a resample do not overlap, the floor is 0, apart from ties.
    """
    units = len(scores) if codes is None else int(codes.max()) + 1
    middle, unit = _standard(scores)
    x = (scores - middle) / unit
    floors = np.zeros(resamples)
    for some in blocks(resamples, _BLOCK):
        drawn = rng.multinomial(units, np.full(units, 1 / units), size=some.stop - some.start)
        drawn = drawn if codes is None else drawn[:, codes]
        overlap = ~_separated(scores, drawn > 0, positive)
        weights = drawn[overlap].astype(np.float64)
        fitted = _newton(x, positive, weights)
        chance = _logistic(fitted[:, :1] + fitted[:, 1:] * x)
        losses = (weights * np.minimum(chance, 1 - chance)).sum(axis=1)
        floors[some][overlap] = losses / weights.sum(axis=1)
    return floors
