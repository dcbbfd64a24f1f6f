"""The paper of Ishida et al. (2023), "Is the performance of my deep network too good to be true?".

Its four Gaussian set-ups against the truth (Figures 1 to 3), the noise of Figure 2 as the paper
describes it and as its code draws it, and its real data where ../shared/data/soft-labels is there.

Run: python examples/bayes_error_paper.py [REPETITIONS]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from arena_bayes_error.annotators import from_counts
from arena_bayes_error.estimators import (
    from_noisy_soft_labels,
    from_soft_labels,
)
from arena_bayes_error.gaussians import SETUPS, noisy_labels
from arena_bayes_error.platt import from_scores
from arena_bayes_error.positive_confidence import from_positive_confidence

DATA = Path(__file__).parents[2] / "shared" / "data" / "soft-labels"
SIZES = (4, 16, 64, 256, 1024)
WIDTHS = {"noise of the paper": 1.0, "noise of its code": 0.4}
FEW = {"resamples": 2}
GROUPINGS = {
    "animals": [2, 3, 4, 5, 6, 7],
    "animals without birds, as the paper's text": [3, 4, 5, 6, 7],
    "land": [1, 3, 4, 5, 7, 9],
    "even positions": [0, 2, 4, 6, 8],
    "first five": [0, 1, 2, 3, 4],
}


def estimates(setup: str, n: int, rng: np.random.Generator) -> dict[str, float]:
    """Return every estimate of one draw of n rows."""
    soft, labels = SETUPS[setup].draw(n, rng)
    found = {"clean": from_soft_labels(soft, **FEW).estimate}
    for name, width in WIDTHS.items():
        noisy = noisy_labels(soft, rng, width=width)
        found[f"{name}, Eq. 5"] = from_soft_labels(noisy, **FEW).estimate
        found[f"{name}, Eq. 6"] = from_noisy_soft_labels(noisy, soft > 0.5, **FEW).estimate
    positive = soft[labels == 1]
    if len(positive) > 1:
        found["positive confidence"] = from_positive_confidence(positive, 0.5, **FEW).estimate
    return found


def simulated(repetitions: int) -> None:
    """Print the mean estimate, and its standard error, against n and the truth."""
    rng = np.random.default_rng(0)
    for setup, gaussians in SETUPS.items():
        print(f"\nSet-up {setup}: Bayes error {gaussians.bayes_error:.3%}")
        for n in SIZES:
            drawn = [estimates(setup, n, rng) for _ in range(repetitions)]
            for name in drawn[-1]:
                values = np.array([one[name] for one in drawn if name in one])
                error = values.std(ddof=1) / len(values) ** 0.5
                print(f"  n {n:5d}  {name:28s} {values.mean():7.3%} +- {error:.3%}")


def real() -> None:
    """Print the estimates from the annotations of people."""
    counts = np.loadtxt(DATA / "fmh_counts.csv", delimiter=",")
    rows = {"Fashion-MNIST-H, clothes": from_counts(counts, [0, 2, 3, 4, 6])}
    counts = np.load(DATA / "cifar10h_counts.npy")
    rows |= {f"CIFAR-10H, {name}": from_counts(counts, own) for name, own in GROUPINGS.items()}
    for year in range(2017, 2024):
        table = np.genfromtxt(DATA / f"iclr_{year}.csv", delimiter=",", dtype=str, skip_header=1)
        rows[f"ICLR {year}"], _ = from_scores(table[:, 1].astype(float), table[:, 2] == "Accept")
    print("\nReal data: estimate, t interval, corrected or refitted")
    for name, found in rows.items():
        half = (found.interval[1] - found.interval[0]) / 2
        other = ""
        if found.refit_interval:
            low, high = found.refit_interval
            other = f"+- {(high - low) / 2:.3%} with the scaling fitted anew"
        elif found.corrected is not None:
            other = f"{found.corrected:.3%} corrected for few labels"
        print(f"  {name:50s} {found.estimate:7.3%} +- {half:.3%}  {other}")


def main(repetitions: int = 10) -> None:
    simulated(repetitions)
    if DATA.exists():
        real()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
