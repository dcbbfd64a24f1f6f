"""Analyse a table of values, cases by algorithms, with the methods of challengeR.

Run it with a folder for the charts: ``python examples/challenger_readings.py OUT``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.ranks import minimum_ranks
from arena_ranking.challenger import (
    compare_ranking_methods,
    kendall_tau_of_resamples,
    podium,
    rank_frequencies,
    significance_map,
)


def main(folder: Path) -> None:
    rng = np.random.default_rng(0)
    algorithms = ["U-Net", "nnU-Net", "DeepLab", "SegNet"]
    quality = np.array([[0.80], [0.84], [0.81], [0.70]])
    dice = np.clip(quality + 0.05 * rng.normal(size=150) + 0.1 * rng.normal(size=(4, 150)), 0, 1)

    scores = dice.mean(axis=1)
    weights = draw_resamples(150, 1_000, seed=0).weights
    resampled = dice @ weights / 150.0
    ranks = minimum_ranks(resampled, greater_is_better=True)

    pairs = significance_map(dice)
    methods = compare_ranking_methods(scores, dice, pairs.p_values, weights=weights)
    agreement = kendall_tau_of_resamples(scores, resampled)
    print(methods.to_frame(algorithms))
    print(pairs.to_frame(algorithms).query("shown"))
    print(f"Kendall's tau: {agreement.median:.2f} ({agreement.low:.2f} to {agreement.high:.2f})")

    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        "stability": rank_frequencies(ranks).chart(algorithms),
        "significance": pairs.chart(algorithms),
        "podium": podium(dice).chart(algorithms),
        "methods": methods.chart(algorithms),
        "agreement": agreement.chart(),
    }
    for name, chart in pictures.items():
        chart.save(folder / f"{name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "readings"))
