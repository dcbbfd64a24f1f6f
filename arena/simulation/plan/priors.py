"""Priors of true scores, the draws that follow from a pilot, and the least favourable case.

A plan needs the true scores of the submissions, and a pilot only shows them with errors. What they
may be depends on the prior that is assumed: normal (Efron and Morris 1973), nonparametric (the
maximum likelihood estimate of Kiefer and Wolfowitz 1956), or flat. The truth of crowded boards lies
outside what any of these priors suggests, so the least favourable case of a confidence set bounds
every figure from the pessimistic side.
"""

from __future__ import annotations

import numpy as np

from arena.simulation.plan.uncertainty import pair_errors
from arena.types import FloatArray, IntArray

_GRID = 100
_STEPS = 500
_WIDTH_OF_ATOMS = 0.3
"""Standard deviation of an atom of the nonparametric prior, in median standard errors of a score:
submissions of one atom differ, but by less than the pilot can tell."""


def shrinkage(scores: FloatArray, errors: FloatArray) -> float:
    """Return the factor by which the scores vary more than the true scores do, inverted.

    Observed scores vary by their true scores and by sampling error. The factor is
    ``sqrt(1 - error variance / observed variance)``, 0 if the errors explain all variation. Both
    variances are about the mean of the scores; the former is averaged over the ``(m, B)`` errors.

    >>> shrinkage(np.array([1.0, 3.0]), np.array([[0.0, 0.0], [0.0, 0.0]]))
    1.0
    """
    observed = float(np.var(scores, ddof=1))
    chance = float(np.mean(np.var(errors - errors.mean(axis=1, keepdims=True), axis=0, ddof=1)))
    return float(np.sqrt(max(0.0, 1 - chance / observed))) if observed > 0 else 0.0


def draw_normal(
    scores: FloatArray,
    errors: FloatArray,
    positions: IntArray,
    draws: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw true scores from the posterior under a normal prior (parametric empirical Bayes).

    The prior has the mean of the scores and the standard deviation that :func:`shrinkage` implies.
    Errors are normal with the covariance of the given ones about their mean over all submissions:
    an error that all share changes no rank.

    Parameters
    ----------
    scores
        ``(m,)``, larger is better.
    errors
        ``(m, B)`` of resamples of the same rows.
    positions
        ``(k,)`` positions whose true scores are drawn.
    draws
        D.

    Returns
    -------
    ``(k, D)``.

    Examples
    --------
    >>> rng, errors = np.random.default_rng(0), np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> drawn = draw_normal(np.array([9.0, 1.0]), errors, np.array([0, 1]), 4_000, rng)
    >>> drawn.mean(axis=1).round(1).tolist()
    [8.5, 1.5]
    """
    spread = shrinkage(scores, errors) ** 2 * float(np.var(scores, ddof=1))
    centre = scores.mean()
    if spread == 0:
        return np.full((len(positions), draws), centre)
    covariance = np.atleast_2d(np.cov((errors - errors.mean(axis=0))[positions]))
    prior = spread * np.eye(len(positions))
    gain = np.linalg.solve(prior + covariance, prior)
    mean = centre + (scores[positions] - centre) @ gain
    drawn = rng.multivariate_normal(mean, prior - spread * gain, draws, method="eigh")
    return np.asarray(drawn.T, dtype=np.float64)


def draw_flat(
    scores: FloatArray,
    errors: FloatArray,
    degrees: float,
    draws: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw true scores without any prior: the scores plus errors from a multivariate t.

    Parameters
    ----------
    scores, errors
        ``(k,)`` and ``(k, B)``.
    degrees
        Degrees of freedom of the estimated standard errors.

    Returns
    -------
    ``(k, D)``.

    Examples
    --------
    >>> rng, errors = np.random.default_rng(0), np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> drawn = draw_flat(np.array([9.0, 1.0]), errors, 100, 4_000, rng)
    >>> drawn.mean(axis=1).round(1).tolist()
    [9.0, 1.0]
    """
    centred = errors - errors.mean(axis=1, keepdims=True)
    normal = (
        centred @ rng.standard_normal((centred.shape[1], draws)) / np.sqrt(centred.shape[1] - 1)
    )
    scale = np.sqrt(degrees / rng.chisquare(degrees, draws))
    return np.asarray(scores[:, np.newaxis] + scale * normal, dtype=np.float64)


def nonparametric_prior(
    scores: FloatArray, deviations: FloatArray, width: float
) -> tuple[FloatArray, FloatArray]:
    """Return the nonparametric maximum likelihood estimate of the distribution of true scores.

    Kiefer and Wolfowitz (1956): the mixing distribution that maximises the likelihood of scores
    with normal errors, here among mixtures of normals of a common width on a grid of 100 centres,
    by 500 steps of the EM algorithm (Laird 1978; Jiang and Zhang 2009). The errors count as
    independent, apart from what all submissions share.

    Parameters
    ----------
    scores
        ``(m,)``.
    deviations
        ``(m,)`` standard errors.
    width
        Standard deviation of every component, at least 0.

    Returns
    -------
    ``(100,)`` centres from the least to the largest score, and their ``(100,)`` weights.

    Examples
    --------
    >>> scores = np.array([0.0, 0.1, -0.1, 5.0, 5.1, 4.9])
    >>> centres, weights = nonparametric_prior(scores, np.full(6, 0.2), 0.0)
    >>> round(float(weights[centres < 2.5].sum()), 3)
    0.5
    """
    centres = np.linspace(scores.min(), scores.max(), _GRID)
    likelihood = _likelihood(scores, deviations, centres, width)
    weights = np.ones(_GRID)  # the first step scales them
    for _ in range(_STEPS):
        # The mean over the scores of the posterior weights of the components.
        weights *= (1 / (likelihood @ weights)) @ likelihood / len(scores)
    return centres, weights


def _likelihood(
    scores: FloatArray, deviations: FloatArray, centres: FloatArray, width: float
) -> FloatArray:
    """Return ``(m, k)`` densities of the scores under each component, scaled by row."""
    variance = deviations[:, np.newaxis] ** 2 + width**2
    exponent = -0.5 * (scores[:, np.newaxis] - centres) ** 2 / variance
    return np.asarray(np.exp(exponent - exponent.max(axis=1, keepdims=True)))


def draw_nonparametric(
    scores: FloatArray,
    errors: FloatArray,
    positions: IntArray,
    draws: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw true scores from the posterior under :func:`nonparametric_prior`.

    Parameters and returned array as for :func:`draw_normal`; the errors count as independent.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = np.array([0.0, 0.1, -0.1, 5.0, 5.1, 4.9])
    >>> errors = 0.2 * rng.standard_normal((6, 500))
    >>> drawn = draw_nonparametric(scores, errors, np.arange(6), 1_000, rng)
    >>> drawn[:3].mean().round(1), drawn[3:].mean().round(1)
    (np.float64(0.0), np.float64(5.0))
    """
    deviations = _positive(own_deviations(errors - errors.mean(axis=0)))
    centres, weights, width = nonparametric_components(scores, deviations)
    kept_scores, error = scores[positions], deviations[positions, np.newaxis]
    posterior = _likelihood(kept_scores, deviations[positions], centres, width) * weights
    cumulative = np.cumsum(posterior / posterior.sum(axis=1, keepdims=True), axis=1)
    uniform = rng.random((len(positions), draws))
    chosen = np.stack(
        [
            np.searchsorted(cumulative_weights, uniform_draws, side="right")
            for cumulative_weights, uniform_draws in zip(cumulative, uniform, strict=True)
        ]
    )
    centre = centres[np.minimum(chosen, len(centres) - 1)]
    share = width**2 / (width**2 + error**2)
    mean = centre + share * (kept_scores[:, np.newaxis] - centre)
    return np.asarray(mean + np.sqrt(share) * error * rng.standard_normal(mean.shape))


def nonparametric_components(
    scores: FloatArray, deviations: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return centres, weights and the common width of the nonparametric prior of a pilot.

    The width is 0.3 median standard errors: submissions of one atom differ, but by less than the
    pilot can tell.
    """
    deviations = _positive(deviations)
    width = _WIDTH_OF_ATOMS * float(np.median(deviations))
    return *nonparametric_prior(scores, deviations, width), width


def own_deviations(errors: FloatArray) -> FloatArray:
    """Return ``(m,)`` standard deviations of the independent parts of ``(m, B)`` errors.

    The errors are those about their mean over all m submissions, which removes what they share and
    the part 1 / m of the variance of each.

    >>> errors = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> own_deviations(errors).round(3).tolist()
    [2.0, 2.0]
    """
    m = len(errors)
    return np.asarray(errors.std(axis=1, ddof=1) * np.sqrt(m / max(m - 1, 1)))


def _positive(deviations: FloatArray) -> FloatArray:
    """Return the deviations, none 0: such a score would have no density at any other centre."""
    return np.maximum(deviations, 1e-6 * max(float(deviations.max()), 1e-140))


def least_favourable(scores: FloatArray, errors: FloatArray, critical: float) -> FloatArray:
    """Return the true scores in the confidence set that are hardest to tell from the best.

    Each submission is as close to the leader as the confidence bound of its gap allows, and equal
    to it where the bound reaches 0. The bounds hold for all pairs at once, since the leader is
    selected by its score.

    Parameters
    ----------
    scores, errors
        ``(k,)``, larger is better, and ``(k, B)``.
    critical
        How many standard errors of a difference the bounds allow for, for all pairs at once.

    Returns
    -------
    ``(k,)`` gaps to the best, from 0.

    Examples
    --------
    >>> errors = np.array([[0.1, -0.1, 0.1, -0.1], [-0.1, 0.1, 0.1, -0.1], [0.1, 0.1, -0.1, -0.1]])
    >>> least_favourable(np.array([9.0, 8.9, 1.0]), errors, 2.0)[:2].tolist()
    [0.0, 0.0]
    """
    best = int(scores.argmax())
    deviations = pair_errors(errors)[best]
    needed = np.full(len(scores), np.inf)
    needed[deviations > 0] = critical * deviations[deviations > 0]
    return np.asarray(
        np.where(scores < scores[best], np.maximum(scores[best] - scores - needed, 0), 0)
    )
