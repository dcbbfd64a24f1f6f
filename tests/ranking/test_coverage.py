"""What the intervals promise, by simulation of boards whose true scores are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arena.best_score_interval import best_score_interval
from arena.held_out import held_out_folds
from arena.resamples import draw_resamples
from arena.winner import corrected_best_score
from arena_ranking.differences import floor_standard_errors
from arena_ranking.evidence import pairwise_evidence
from arena_ranking.simultaneous import rank_intervals
from arena_ranking.spread import rank_spread

pytestmark = pytest.mark.slow

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


def near_copies(rng: np.random.Generator, truth, predictions, accuracies):
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
        rank_spread(study.resampled, study.level),
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
def test_all_ranks_are_covered_at_once(study_of, metrics, correlated_labels, board, copies):
    runs, covered, spread_covered, best_covered, tiers_hold = 200, 0, 0, 0, 0
    for run in range(runs):
        accuracies = BOARDS[board]()
        rng = np.random.default_rng([run, copies])
        truth, predictions = correlated_labels(rng, accuracies, 2000)
        if copies:
            near_copies(rng, truth, predictions, accuracies)
        # The resamples do not depend on the data, so that 50 drawings serve all runs.
        study = study_of(
            metrics["accuracy"], truth, predictions, resamples=1000, level=LEVEL, seed=run % 50
        )
        ranks, spread = judged(study)
        better = (accuracies > accuracies[:, None]).sum(axis=1)
        worse = (accuracies < accuracies[:, None]).sum(axis=1)
        covered += ((ranks.low <= 1 + better) & (30 - worse <= ranks.high)).all()
        tiers_hold += (better >= ranks.tier - 1).all()
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


# -- the best score: its estimate and its interval -------------------------------------------------

WINNERS: dict[str, tuple[np.ndarray, int]] = {
    "50 the same, 1,000 rows": (np.full(50, 0.8), 1000),
    "200 the same, 500 rows": (np.full(200, 0.8), 500),
    "100 close, 1,000 rows": (np.linspace(0.75, 0.80, 100), 1000),
}


def board_of(run, correlated_labels, accuracies, n):
    """Scores under weights of one board, and its scores."""
    rng = np.random.default_rng(run)
    truth, predictions = correlated_labels(rng, accuracies, n, correlation=0.6)
    right = (predictions == truth).astype(np.float32)

    def score_under(weights, submissions):
        return np.float64(right[submissions] @ weights.astype(np.float32)) / weights.sum(axis=0)

    return rng, right.mean(axis=1, dtype=np.float64), score_under


@pytest.mark.parametrize("board", WINNERS)
def test_the_corrected_best_score_is_not_too_good(board, correlated_labels):
    accuracies, n = WINNERS[board]
    runs = 1000
    raw, corrected = np.empty(runs), np.empty(runs)
    for run in range(runs):
        rng, scores, score_under = board_of(run, correlated_labels, accuracies, n)
        held = held_out_folds(n, rng, partitions=20)
        best = corrected_best_score(
            scores, scores[:, None], score_under, held, 5, greater_is_better=True
        )
        # The luck of all together has mean zero; without it the simulation is more exact.
        truth = accuracies[np.argmax(scores)] + (scores - accuracies).mean()
        raw[run], corrected[run] = best.observed - truth, best.estimate - truth
    error = corrected.std(ddof=1) / np.sqrt(runs)
    print(f"{board}: raw {raw.mean():.4f}, corrected {corrected.mean():.4f} +- {error:.4f}")
    assert raw.mean() > 0.005
    assert abs(corrected.mean()) < 0.001


@pytest.mark.parametrize("board", WINNERS)
def test_the_interval_covers_the_best_true_score(board, correlated_labels):
    accuracies, n = WINNERS[board]
    everyone, runs, covered, bounded = np.arange(len(accuracies)), 200, 0, 0
    weights = [draw_resamples(n, 400, seed).weights for seed in range(20)]
    for run in range(runs):
        _, scores, score_under = board_of(run, correlated_labels, accuracies, n)
        resampled = score_under(weights[run % 20], everyone)
        low, high = best_score_interval(scores, resampled, greater_is_better=True, level=LEVEL)
        covered += low <= accuracies.max() <= high
        bounded += low <= accuracies[np.argmax(scores)]
    print(f"{board}: covered {covered / runs}, the winner's own score bounded {bounded / runs}")
    assert covered / runs >= at_least(LEVEL, runs)
    assert bounded / runs >= at_least(LEVEL, runs)
