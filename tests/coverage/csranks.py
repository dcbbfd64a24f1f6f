"""Rank sets as the R package csranks computes them, from the paper and independent of arena.

Mogstad, Romano, Shaikh and Wilhelm (2024), *Inference for Ranks with Applications to Mobility
across Neighbourhoods and Academic Achievement across Countries*, Review of Economic Studies 91.
The estimates are taken as jointly normal with a known covariance.
"""

from __future__ import annotations

import numpy as np

__all__ = ["cstaubest", "simul", "stepdown"]


def _draws(covariance: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0))
    return root @ rng.normal(size=(len(values), draws))


def _deviations(covariance: np.ndarray) -> np.ndarray:
    variance = np.diag(covariance)
    squared = variance[:, np.newaxis] + variance - 2 * covariance
    np.fill_diagonal(squared, 1.0)
    return np.sqrt(np.maximum(squared, 1e-300))


def _decided(scores, covariance, level, draws, rng, *, rounds: int) -> np.ndarray:
    """Return ``(m, m)``: j is larger than k, by the max statistic over all ordered pairs."""
    m = len(scores)
    deviation = _deviations(covariance)
    noise = _draws(covariance, draws, rng)
    still_open = ~np.eye(m, dtype=bool)
    decided = np.zeros((m, m), dtype=bool)
    for _ in range(rounds):
        largest = np.full(draws, -np.inf)
        for j in range(m):
            studentised = (noise[j] - noise[still_open[j]]) / deviation[j, still_open[j], None]
            largest = np.maximum(largest, studentised.max(axis=0, initial=-np.inf))
        critical = np.quantile(largest, level)
        new = still_open & ((scores[:, None] - scores) / deviation > critical)
        if not new.any():
            break
        decided |= new
        still_open &= ~new
    return decided


def simul(scores, covariance, level, rng, draws=1000) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper ends of simultaneous sets for all ranks, in a single step."""
    decided = _decided(scores, covariance, level, draws, rng, rounds=1)
    return 1 + decided.sum(axis=0), len(scores) - decided.sum(axis=1)


def stepdown(scores, covariance, level, rng, draws=1000) -> tuple[np.ndarray, np.ndarray]:
    """Return the same with Romano and Wolf's stepwise improvement, the default of csranks."""
    decided = _decided(scores, covariance, level, draws, rng, rounds=10**6)
    return 1 + decided.sum(axis=0), len(scores) - decided.sum(axis=1)


def cstaubest(scores, covariance, tau, level, rng, draws=1000) -> np.ndarray:
    """Return ``(m,)``: a confidence set for the tau best, those whose lower end is at most tau."""
    return stepdown(scores, covariance, level, rng, draws)[0] <= tau
