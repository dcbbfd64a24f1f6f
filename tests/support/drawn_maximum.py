"""The sample maximum by simulation: checks the exact results, and other dependence models."""

from __future__ import annotations

import numpy as np

from arena_sota.dependence import conditional_probabilities, inside_bounds


def simulate_maximum(
    n_rows, theta, repetitions, rng, *, random=False, rho0=0.0, theta0=None, correct0=None
):
    """Return ``(repetitions,)`` best scores of m classifiers.

    ``theta`` holds their success probabilities, or is a function of ``rng`` that draws the counts
    of all classifiers at once; the other settings are those of ``sample_maximum``.
    """
    if callable(theta):
        return np.array([np.max(theta(rng)) for _ in range(repetitions)]) / n_rows
    values = np.asarray(theta, dtype=np.float64)
    theta0 = values.max() if theta0 is None else theta0
    inside = inside_bounds(values, rho0, theta0)
    right, wrong = conditional_probabilities(values, rho0, theta0)
    best = np.empty(repetitions)
    for repetition in range(repetitions):
        easy = rng.binomial(n_rows, theta0) if correct0 is None else correct0
        places = rng.integers(len(values), size=len(values)) if random else np.arange(len(values))
        places = places[inside[places]]
        counts = rng.binomial(easy, right[places]) + rng.binomial(n_rows - easy, wrong[places])
        best[repetition] = counts.max(initial=0)
    return best / n_rows
