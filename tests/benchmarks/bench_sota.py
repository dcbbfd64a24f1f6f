"""How fast the best of many scores is computed, beside the papers' own simulation.

The papers' simulation draws n Bernoulli trials for each of m classifiers, 100,000 times; a part is
timed and scaled. Seconds are those of the processor, the least of several.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from arena_sota.dependence import conditional_probabilities
from arena_sota.estimate import estimate_sota
from arena_sota.maximum import sample_maximum

REPETITIONS = 100_000
TIMED = 20


def fastest(work: Callable[[], Any], times: int) -> float:
    seconds = []
    for _ in range(times):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def bernoulli_trials(n: int, m: int, rho0: float, theta: float) -> float:
    """Draw one repetition as the papers do, and return its best score."""
    rng = np.random.default_rng(0)
    right, wrong = conditional_probabilities(np.array([theta]), rho0, theta)
    chance = np.where(rng.random(n) < theta, right, wrong)
    return float((rng.random((m, n)) < chance).mean(axis=1).max())


def board(m: int, n: int) -> np.ndarray:
    """Return m distinct scores with the spread of a large Kaggle board."""
    scores = 0.9116 - np.abs(np.random.default_rng(0).normal(0, 0.01, m))
    return np.round(scores + 1e-7 * np.arange(m) / m, 9)


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the classifiers")
    parser.add_argument("--repeats", type=int, default=3, help="the fastest counts")
    options = parser.parse_args()
    scale, repeats = options.scale, options.repeats
    m, large = max(10, round(1_000 * scale)), max(10, round(100_000 * scale))
    scores = board(max(10, round(3_500 * scale)), 13_840)
    dependent = fastest(lambda: sample_maximum(3_000, 0.9, m, rho0=0.6, theta0=0.9), repeats)
    simulated = REPETITIONS * fastest(lambda: bernoulli_trials(3_000, m, 0.6, 0.9), TIMED)
    figures = {
        "identical, dependent": dependent,
        "expected best of distinct scores": fastest(
            lambda: sample_maximum(13_840, scores, random=True, rho0=0.6).mean, repeats
        ),
        "shrink to the mean": fastest(lambda: estimate_sota(scores, 13_840, 7), repeats),
        "shrink to the upper bound": fastest(
            lambda: estimate_sota(scores, 13_840, 7, target="upper"), repeats
        ),
        "crop": fastest(lambda: estimate_sota(scores, 13_840, 7, method="crop"), repeats),
        "many identical": fastest(lambda: sample_maximum(10**6, 0.9, large, rho0=0.6), repeats),
    }
    result = {
        "benchmark": "sota",
        "classifiers": m,
        "distinct_scores": len(np.unique(scores)),
        "many": large,
        "seconds": {name: round(seconds, 4) for name, seconds in figures.items()},
        "peer_seconds": round(simulated),
        "ratio": round(simulated / dependent),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
