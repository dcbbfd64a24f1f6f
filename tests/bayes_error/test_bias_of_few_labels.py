"""The correction for few labels per row against the jackknife, where the truth is known.

The table in the documentation of ``arena_bayes_error.dirichlet``, again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from scipy.special import softmax

from arena.types import FloatArray
from arena_bayes_error.annotators import from_counts
from arena_bayes_error.gaussian_setups import SETUPS

N = 2_000


def _gaussian(setup: str) -> Callable[[np.random.Generator], FloatArray]:
    def draw(rng: np.random.Generator) -> FloatArray:
        r, _ = SETUPS[setup].draw(N, rng)
        return np.column_stack([1 - r, r])

    return draw


def _normal_logits(rng: np.random.Generator) -> FloatArray:
    return softmax(2 * rng.normal(size=(N, 5)), axis=1)


def _dirichlet(rng: np.random.Generator) -> FloatArray:
    return rng.dirichlet([0.5, 1, 1, 2], N)


def _pairs(rng: np.random.Generator) -> FloatArray:
    p = np.zeros((N, 10))
    first, share = 2 * rng.integers(0, 5, N), rng.beta(5, 0.5, N)
    p[np.arange(N), first], p[np.arange(N), first + 1] = share, 1 - share
    return p


TRUTHS: Mapping[str, Callable[[np.random.Generator], FloatArray]] = {
    "A": _gaussian("A"),
    "C": _gaussian("C"),
    "D": _gaussian("D"),
    "5 classes": _normal_logits,
    "10 classes": _pairs,
    "4 classes": _dirichlet,
}


def jackknife(counts: FloatArray) -> float:
    """Return the mean of 1 - max_k u_k, each row corrected by leaving out one of its labels."""
    m = counts.sum(axis=1, keepdims=True)
    left = np.zeros_like(counts)
    for number in range(counts.shape[1]):
        fewer = counts.copy()
        fewer[:, number] -= 1
        left[:, number] = 1 - fewer.max(axis=1) / (m[:, 0] - 1)
    plain = 1 - counts.max(axis=1) / m[:, 0]
    return float((m[:, 0] * plain - (m[:, 0] - 1) * (left * counts / m).sum(axis=1)).mean())


CAMPAIGN = [(truth, m, 80) for truth in TRUTHS for m in (3, 5, 50)]
SLOW = [("A", 3, 8), ("C", 50, 8), ("5 classes", 5, 20), ("4 classes", 50, 8)]
"""One number of labels for each kind of truth."""


@pytest.mark.parametrize(
    ("truth", "m", "repetitions"),
    [
        *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW),
        *(pytest.param(*case, marks=pytest.mark.campaign) for case in CAMPAIGN),
    ],
)
def test_the_dirichlet_correction_is_the_better_one(truth: str, m: int, repetitions: int) -> None:
    rng = np.random.default_rng([m, 99])
    errors = []
    for _ in range(repetitions):
        p = TRUTHS[truth](rng)
        counts = rng.multinomial(m, p).astype(float)
        estimate = from_counts(counts, resamples=2, rng=rng)
        floor = float((1 - p.max(axis=1)).mean())
        reached = (estimate.estimate, jackknife(counts), estimate.corrected)
        errors.append([estimate - floor for estimate in reached])
    plain, other, ours = np.sqrt(np.square(errors).mean(axis=0))
    if m <= 5:
        assert ours < 0.9 * min(plain, other)
    else:  # there is hardly anything left to correct
        assert ours < min(plain, other) + 0.0005
