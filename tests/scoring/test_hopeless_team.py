"""A hopeless team says nothing of the best: the winner's interval is that without it."""

from __future__ import annotations

import numpy as np
import pytest

from arena.scoring.score import score

pytestmark = pytest.mark.slow

N = 120
RNG = np.random.default_rng(5)
TRUTH = RNG.normal(size=N)
CLASSES = (TRUTH > 0).astype(int)
COMMON = RNG.normal(size=N)
LATENT = [TRUTH + COMMON + RNG.normal(size=N) for _ in range(6)]
NOISE = RNG.normal(size=N)
BOARDS = {
    "mse": (TRUTH, LATENT, TRUTH + 30 * NOISE),
    "r2": (TRUTH, LATENT, TRUTH + 30 * NOISE),
    "pearson": (TRUTH, LATENT, NOISE - TRUTH),
    "accuracy": (CLASSES, [(own > 0).astype(int) for own in LATENT], 1 - CLASSES),
    "roc_auc": (CLASSES, LATENT, NOISE - 3 * CLASSES),
}
"""Metric -> the truth, the predictions of equal teams, and those of a hopeless one."""


@pytest.mark.parametrize("metric", BOARDS)
def test_the_best_score_behind_a_hopeless_team_is_that_without_it(metric: str) -> None:
    truth, equal, hopeless = BOARDS[metric]
    solution = {"id": np.arange(N), "y": truth}
    teams = {f"team {number}": own for number, own in enumerate(equal)}
    intervals = []
    for entered in (teams, {**teams, "hopeless": hopeless}):
        board = score(solution, entered, metric=metric, resamples=200, workers=1)
        best = board.best_score_corrected
        first = best["winners"][0]
        intervals.append([best["low"], best["high"], first["low"], first["high"]])
    assert board.standings[-1]["team"] == "hopeless"
    assert not board.standings[-1]["possible_winner"]
    width = intervals[0][1] - intervals[0][0]
    assert intervals[1] == pytest.approx(intervals[0], abs=0.03 * width)
