"""What the intervals promise, by simulation of boards whose true scores are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arena_ranking.bootstrap_ranks import bootstrap_rank_ranges
from arena_ranking.differences import floor_standard_errors
from arena_ranking.evidence import pairwise_evidence
from arena_ranking.simultaneous import rank_intervals

LEVEL = 0.9


def at_least(level: float, runs: int) -> float:
    """The nominal level less three standard errors of the simulation."""
    return level - 3 * np.sqrt(level * (1 - level) / runs)


# -- ranks: 30 submissions, 2,000 rows -------------------------------------------------------------

BOARDS: dict[str, Callable[[], np.ndarray]] = {
    "all the same": lambda: np.full(30, 0.8),
    "crowded": lambda: np.linspace(0.80, 0.82, 30),
    "spread out": lambda: np.linspace(0.60, 0.90, 30),
    "three groups": lambda: np.repeat([0.70, 0.80, 0.85], 10),
}


def near_duplicates(rng: np.random.Generator, truth, predictions, accuracies):
    """Make the last ten copies of the first one with three rows changed at random each."""
    for position in range(20, 30):
        rows = rng.choice(len(truth), 3, replace=False)
        predictions[position] = predictions[0]
        predictions[position, rows] = 1 - predictions[0, rows]
    # On the population a copy is right in 3/2000 of the rows where the first is wrong, and back.
    share = 3 / len(truth)
    accuracies[20:] = accuracies[0] * (1 - share) + (1 - accuracies[0]) * share


def judged(study):
    """What the analysis `ranks` does for its rank columns, and nothing else."""
    evidence = pairwise_evidence(study)
    floored = floor_standard_errors(evidence.standard_errors, evidence.differing, study.scores)
    return (
        rank_intervals(study.scores, study.resampled, study.level, standard_errors=floored),
        bootstrap_rank_ranges(study.resampled, study.level),
    )


@pytest.mark.parametrize(
    ("board", "copies"),
    [
        ("all the same", False),
        ("all the same", True),
        ("crowded", False),
        ("crowded", True),
        ("spread out", False),
        ("three groups", False),
    ],
)
@pytest.mark.parametrize(
    "runs",
    [pytest.param(60, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.campaign)],
)
def test_all_ranks_are_covered_at_once(study_of, metrics, correlated_labels, board, copies, runs):
    covered, spread_covered, best_covered, tiers_hold = 0, 0, 0, 0
    for run in range(runs):
        accuracies = BOARDS[board]()
        rng = np.random.default_rng([run, copies])
        truth, predictions = correlated_labels(rng, accuracies, 2000)
        if copies:
            near_duplicates(rng, truth, predictions, accuracies)
        # The resamples do not depend on the data, so that 50 drawings serve all runs.
        study = study_of(
            metrics["accuracy"], truth, predictions, resamples=1000, level=LEVEL, seed=run % 50
        )
        ranks, spread = judged(study)
        better = (accuracies > accuracies[:, None]).sum(axis=1)
        worse = (accuracies < accuracies[:, None]).sum(axis=1)
        # Of several that are equal and the best, the first is the best one.
        best = np.argmax(accuracies)
        others = (accuracies == accuracies[best]) & (np.arange(30) != best)
        least = np.where(others, 2, 1 + better)
        covered += ((ranks.low <= least) & (30 - worse <= ranks.high)).all()
        tiers_hold += (ranks.tier <= least).all()
        # Charitably: any rank that a tie allows counts as covered.
        held = (spread.low <= 30 - worse) & (1 + better <= spread.high)
        spread_covered += held.all()
        best_covered += held[np.argmax(accuracies)]
    shares = np.array([covered, tiers_hold, spread_covered, best_covered]) / runs
    print(f"{board}, copies {copies}: ranks, tiers, spread, the best one's spread: {shares}")
    assert shares[0] >= at_least(LEVEL, runs)
    assert shares[1] >= at_least(LEVEL, runs)
    if board == "crowded":
        assert spread_covered / runs <= 0.5
