"""How fast the best of many scores is computed, beside the papers' own simulation.

Run with ``python tests/benchmarks/bench_sota.py``. The simulation draws n Bernoulli trials for
each of m classifiers, 100,000 times; a part is timed and scaled.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from arena_sota.dependence import conditional_probabilities
from arena_sota.estimate import estimate_sota
from arena_sota.maximum import sample_maximum

REPETITIONS = 100_000
TIMED = 20


def fastest(work: Callable[[], Any], times: int = 5) -> float:
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
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
    dependent = fastest(lambda: sample_maximum(3_000, 0.9, 1_000, rho0=0.6, theta0=0.9))
    one = fastest(lambda: bernoulli_trials(3_000, 1_000, 0.6, 0.9), TIMED)
    scores = board(3_500, 13_840)
    print(f"{len(np.unique(scores)):,} distinct scores")
    expected = fastest(lambda: sample_maximum(13_840, scores, random=True, rho0=0.6).mean, 3)
    rows = [
        ("identical dependent, n 3,000, m 1,000", dependent, 0.1),
        ("expected best of 3,500 distinct scores", expected, 1.0),
        ("shrink, target mean", fastest(lambda: estimate_sota(scores, 13_840, 7), 3), 3.0),
        (
            "shrink, target upper",
            fastest(lambda: estimate_sota(scores, 13_840, 7, target="upper"), 2),
            None,
        ),
        ("crop", fastest(lambda: estimate_sota(scores, 13_840, 7, method="crop"), 2), None),
        ("n 1,000,000, m 100,000", fastest(lambda: sample_maximum(10**6, 0.9, 10**5, rho0=0.6), 2),
         None),
    ]  # fmt: skip
    for name, seconds, bar in rows:
        print(f"{name:42s} {seconds:8.4f} s" + (f"   bar {bar} s" if bar else ""))
    ratio = one * REPETITIONS / dependent
    print(f"the papers' simulation: {one * REPETITIONS:,.0f} s, {ratio:,.0f} times as long")
    assert ratio > 10_000


if __name__ == "__main__":
    main()
