"""Classifiers that depend on each other through one common cause per row.

Y0 ~ Bernoulli(theta0) is 1 for easy rows, which classifiers tend to get right. Every Y_j has
the correlation rho0 with it, and given Y0 they are independent (Boland, Proschan and Tong 1989;
Møllersen and Holsbø, *Accounting for multiplicity in machine learning benchmark performance*,
Eq. 6 to 8). Two classifiers then have the correlation rho0 squared.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.types import FloatArray

_ROUNDING = 1e-12


def conditional_probabilities(
    theta: FloatArray, rho0: float, theta0: float
) -> tuple[FloatArray, FloatArray]:
    """Return P(Y_j = 1 | Y0 = 1) and P(Y_j = 1 | Y0 = 0), clipped to [0, 1].

    >>> right, wrong = conditional_probabilities(np.array([0.9]), 0.6, 0.9)
    >>> right.round(3).tolist(), wrong.round(3).tolist()
    ([0.96], [0.36])
    """
    if rho0 == 0:
        return theta, theta
    spread = rho0 * np.sqrt(theta * (1 - theta))
    given_right = theta + spread * np.sqrt((1 - theta0) / theta0)
    given_wrong = theta - spread * np.sqrt(theta0 / (1 - theta0))
    return np.clip(given_right, 0, 1), np.clip(given_wrong, 0, 1)


def bounds(rho0: float, theta0: float) -> tuple[float, float]:
    """Return the lowest and the highest success probability that rho0 and theta0 allow.

    >>> low, high = bounds(0.6, 0.9)
    >>> round(low, 4), round(high, 4)
    (0.7642, 0.9615)
    """
    if rho0 == 0:
        return 0.0, 1.0
    odds = rho0**2 * theta0 / (1 - theta0)
    return odds / (1 + odds), theta0 / (theta0 + rho0**2 * (1 - theta0))


def inside_bounds(theta: FloatArray, rho0: float, theta0: float) -> npt.NDArray[np.bool_]:
    """Return which success probabilities lie within :func:`bounds`."""
    low, high = bounds(rho0, theta0)
    return np.asarray((theta >= low - _ROUNDING) & (theta <= high + _ROUNDING))


def largest_rho0(theta: FloatArray, theta0: float) -> float:
    """Return the largest rho0 that leaves at least one of these classifiers inside the bounds.

    >>> round(largest_rho0(np.array([0.8]), 0.9), 3)
    0.667
    """
    inner = theta[(theta > 0) & (theta < 1)]
    if not len(inner):
        return 0.0
    odds = inner / (1 - inner) * (1 - theta0) / theta0
    return float(np.sqrt(np.minimum(odds, 1 / odds)).max())


def correlation_from_similarity(
    similarity: float, theta_j: float, theta_k: float | None = None
) -> float:
    """Return the correlation of correctness of two classifiers that agree on a share of the rows.

    Agreeing means that both are right or both are wrong (Mania et al. 2019).

    Parameters
    ----------
    similarity
        The share of rows on which they agree, in [0, 1].
    theta_j, theta_k
        Their accuracies, in (0, 1); one is enough if they are equal.

    Raises
    ------
    UsageError
        If two classifiers with these accuracies cannot agree on such a share of the rows.

    Examples
    --------
    >>> round(correlation_from_similarity(0.85, 0.756), 3)
    0.593
    """
    other = theta_j if theta_k is None else theta_k
    if not (0 < theta_j < 1 and 0 < other < 1):
        raise UsageError("An accuracy must lie strictly between 0 and 1 to have a correlation.")
    least, most = abs(theta_j + other - 1), 1 - abs(theta_j - other)
    if not least - _ROUNDING <= similarity <= most + _ROUNDING:
        raise UsageError(
            f"Two classifiers of accuracy {theta_j:g} and {other:g} agree on at least {least:.4g} "
            f"and at most {most:.4g} of the rows, not on {similarity:g}."
        )
    independent = theta_j * other + (1 - theta_j) * (1 - other)
    scale = 2 * np.sqrt(theta_j * other * (1 - theta_j) * (1 - other))
    return float((similarity - independent) / scale)
