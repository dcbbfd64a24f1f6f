"""Choose how far the tail of losses is taken to go: coverage and width for each choice.

    python tests/coverage/derive_tail.py --boards 1000

Printed for each shape of losses and number of rows: coverage and median width over the true mean
at nominal 95%, for several largest mean excesses, without and with one standard error of the index.
The choice is the smallest excess that holds on .94 of the samples of 50 rows and more.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from arena.evaluation.mean_bounds import Units, lower_bounds, upper_bounds

Draw = Callable[[np.random.Generator, tuple[int, int]], Any]
SHAPES: dict[str, tuple[Draw, float]] = {
    "squared normal": (lambda rng, size: rng.normal(size=size) ** 2, 1.0),
    "exponential": (lambda rng, size: rng.exponential(size=size), 1.0),
    "gamma .3": (lambda rng, size: rng.gamma(0.3, size=size), 0.3),
    "lognormal": (lambda rng, size: rng.lognormal(0, 1, size), float(np.exp(0.5))),
    "squared normal, lognormal scale": (
        lambda rng, size: rng.normal(size=size) ** 2 * rng.lognormal(0, 2, size),
        float(np.exp(2)),
    ),
    "Pareto 1.5": (lambda rng, size: 1 + rng.pareto(1.5, size), 3.0),
    "Pareto 3": (lambda rng, size: 1 + rng.pareto(3, size), 1.5),
    "squared t3": (lambda rng, size: rng.standard_t(3, size) ** 2, 3.0),
}


def tail_index(values: np.ndarray, errors: float) -> np.ndarray:
    """Return Hill's estimates from the ``1.4 sqrt(n)`` largest, plus so many standard errors."""
    k = int(np.ceil(1.4 * np.sqrt(values.shape[1])))
    largest = np.sort(values - values.min(axis=1, keepdims=True), axis=1)[:, -k - 1 :]
    return np.log(largest[:, 1:] / largest[:, :1]).mean(axis=1) * (1 + errors / np.sqrt(k))


def main() -> None:
    """Print a line for each shape, number of rows and choice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, tail = np.random.default_rng(options.seed), np.full(options.boards, 0.025)
    for rows in (20, 50, 100, 500):
        for name, (draw, mean) in SHAPES.items():
            values = draw(rng, (options.boards, rows))
            units, largest = Units.of(values), values.max(axis=1)
            low, cells = lower_bounds(units, np.zeros(options.boards), tail), []
            for errors in (0.0, 1.0):
                index = tail_index(values, errors)
                for most in (2.0, 4.0, 5.0):
                    top = largest / (1 - np.minimum(index, 1 - 1 / most))
                    high = upper_bounds(units, top, tail)
                    held = ((low <= mean) & (mean <= high)).mean()
                    width = np.median(high - low) / mean
                    cells.append(f"{errors:g} errors, at most {most:g}: {held:.3f} ({width:.2f})")
            print(f"{name}, n={rows}: " + "; ".join(cells), flush=True)


if __name__ == "__main__":
    main()
