"""Every estimator of the Bayes error, run on draws of which the truth is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

import numpy as np

from arena.types import FloatArray
from arena_bayes_error.estimate import BayesErrorEstimate
from arena_bayes_error.estimators import (
    from_hard_labels,
    from_noisy_soft_labels,
    from_soft_labels,
    from_uncertainty_labels,
)
from arena_bayes_error.gaussian_setups import SETUPS, noisy_labels
from arena_bayes_error.positive_confidence import from_positive_confidence

Estimator = Callable[[FloatArray, np.random.Generator], BayesErrorEstimate]


def _soft(r: FloatArray, rng: np.random.Generator) -> BayesErrorEstimate:
    return from_soft_labels(r, resamples=2)


def _uncertainty(r: FloatArray, rng: np.random.Generator) -> BayesErrorEstimate:
    return from_uncertainty_labels(np.minimum(r, 1 - r), resamples=2)


def _noisy(r: FloatArray, rng: np.random.Generator) -> BayesErrorEstimate:
    return from_noisy_soft_labels(noisy_labels(r, rng), r > 0.5, resamples=2)


def _hard(r: FloatArray, rng: np.random.Generator) -> BayesErrorEstimate:
    return from_hard_labels(rng.random(len(r)) < r, r > 0.5, resamples=2)


def _positive(r: FloatArray, rng: np.random.Generator) -> BayesErrorEstimate:
    return from_positive_confidence(r, 0.5, resamples=2)


UNBIASED: Mapping[str, Estimator] = {
    "soft": _soft,
    "uncertainty": _uncertainty,
    "noisy": _noisy,
    "hard": _hard,
    "positive-confidence": _positive,
}


@lru_cache
def truth(setup: str) -> float:
    return SETUPS[setup].bayes_error


def draws(
    setup: str, kind: str, n: int, repetitions: int, seed: int
) -> Iterator[BayesErrorEstimate]:
    """Estimate from n rows, again and again; positive confidence from positive rows only."""
    rng = np.random.default_rng(seed)
    for _ in range(repetitions):
        if kind == "positive-confidence":
            r, labels = SETUPS[setup].draw(3 * n, rng)
            r = r[labels == 1][:n]
        else:
            r, _ = SETUPS[setup].draw(n, rng)
        yield UNBIASED[kind](r, rng)
