"""The four Gaussian set-ups of Ishida et al. (2023), section 5.1, with their true Bayes errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, IntArray

_REACH = 16.0
_STEPS = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class GaussianSetup:
    """Two equally frequent classes, each with a Gaussian distribution.

    Examples
    --------
    >>> round(SETUPS["C"].bayes_error, 6)
    0.056923
    """

    positive_mean: FloatArray
    negative_mean: FloatArray
    positive_covariance: FloatArray
    negative_covariance: FloatArray

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Return ``(n,)`` probabilities of the positive class, and ``(n,)`` labels 0 and 1.

        The label of each row is drawn first, as in a population.
        """
        points, labels = self.draw_points(n, rng)
        return self.posterior(points), labels

    def draw_points(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Return ``(n, dimensions)`` points and ``(n,)`` labels 0 and 1."""
        labels = (rng.random(n) < 0.5).astype(np.intp)
        size = (n, len(self.positive_mean))
        normal = rng.standard_normal(size)
        up = self.positive_mean + normal @ np.linalg.cholesky(self.positive_covariance).T
        down = self.negative_mean + normal @ np.linalg.cholesky(self.negative_covariance).T
        return np.where(labels[:, None] == 1, up, down), labels

    def posterior(self, x: FloatArray) -> FloatArray:
        """Return ``(n,)`` the probability of the positive class at ``(n, dimensions)``."""
        from scipy.special import expit

        return np.asarray(expit(self._log_density(x, True) - self._log_density(x, False)))

    def _log_density(self, x: FloatArray, positive: bool) -> FloatArray:
        mean = self.positive_mean if positive else self.negative_mean
        covariance = self.positive_covariance if positive else self.negative_covariance
        away = x - mean
        distance = np.einsum("ij,jk,ik->i", away, np.linalg.inv(covariance), away, optimize=True)
        constant = np.linalg.slogdet(2 * np.pi * covariance)[1]
        return np.asarray(-(distance + constant) / 2)

    @property
    def bayes_error(self) -> float:
        """The truth: Phi(-d/2) for equal covariances, else an integral over a grid (1e-6)."""
        from scipy.special import ndtr

        if np.array_equal(self.positive_covariance, self.negative_covariance):
            away = self.positive_mean - self.negative_mean
            distance = away @ np.linalg.inv(self.positive_covariance) @ away
            return float(ndtr(-np.sqrt(distance) / 2))
        middle = (self.positive_mean + self.negative_mean) / 2
        step = 2 * _REACH / _STEPS
        along = (np.arange(_STEPS) + 0.5) * step - _REACH
        total = 0.0
        for first in along:
            x = middle + np.column_stack([np.full(_STEPS, first), along])
            both = np.minimum(self._log_density(x, True), self._log_density(x, False))
            total += float(np.exp(both).sum())
        return total * step**2 / 2


def _matrix(*rows: list[float]) -> npt.NDArray[np.float64]:
    return np.array(rows, dtype=np.float64)


SETUPS: Mapping[str, GaussianSetup] = {
    "A": GaussianSetup(
        np.zeros(2), np.array([-2.0, 5]), _matrix([7, -6], [-6, 7]), _matrix([2, 0], [0, 2])
    ),
    "B": GaussianSetup(
        np.zeros(2), np.array([0.0, 4]), _matrix([5, 3], [3, 5]), _matrix([5, -3], [-3, 5])
    ),
    "C": GaussianSetup(np.zeros(10), np.ones(10), np.identity(10), np.identity(10)),
    "D": GaussianSetup(np.zeros(20), np.ones(20), np.identity(20), np.identity(20)),
}
"""The four set-ups of the paper: A and B in 2 dimensions, C in 10 and D in 20."""


def noisy_labels(
    soft: FloatArray, rng: np.random.Generator, *, width: float = 1.0, scale: float = 0.4
) -> FloatArray:
    """Return soft labels with Gaussian noise of mean zero that leaves them in [0, 1].

    The noise has the standard deviation ``scale`` before it is cut off symmetrically, at -+ width
    times min(r, 1 - r). The text of the paper cuts at 1, its code at 0.4.

    >>> noisy_labels(np.array([0.0, 1.0]), np.random.default_rng(0)).tolist()
    [0.0, 1.0]
    """
    from scipy.special import ndtr, ndtri

    reach = width * np.minimum(soft, 1 - soft)
    low = ndtr(-reach / scale)
    drawn = scale * ndtri(low + (1 - 2 * low) * rng.random(len(soft)))
    return np.asarray(np.clip(soft + np.clip(drawn, -reach, reach), 0, 1))
