"""Simultaneous rank intervals and tiers from 3,000 x 1,000 resampled scores.

The peer is the decisions about pairs in plain numpy. It is timed on a part of the pairs and scaled
to all pairs and as many rounds; on a small board the two are compared in full.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import numpy as np

from arena.utils.parallel import available_workers
from arena_ranking.simultaneous import rank_intervals

LEVEL = 0.95
PEER_ROWS = 20


def simulated_board(m: int, resamples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores in groups of some quality, and resamples that move them together."""
    rng = np.random.default_rng(0)
    group = 0.80 + 0.012 * rng.integers(0, 9, m)
    scores = np.round(group + 0.002 * rng.normal(size=m), 12)
    families = rng.integers(0, 12, m)
    shared = rng.normal(size=resamples) + 0.7 * rng.normal(size=(12, resamples))[families]
    noise = 0.0015 * (shared + 0.5 * rng.normal(size=(m, resamples)))
    return scores, np.round(scores[:, np.newaxis] + noise, 12)


def plain_errors(resampled: np.ndarray) -> np.ndarray:
    """Return the standard errors of all differences, by ``numpy.cov``."""
    covariance = np.cov(resampled)
    variance = np.diag(covariance)
    return np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0))


def plain_round(errors, standard_errors, still_open, rows) -> np.ndarray:
    """Return the largest studentised difference per resample, over the pairs of some rows."""
    largest = np.full(errors.shape[1], -np.inf)
    for j in rows:
        others = still_open[j]
        if others.any():
            studentised = (errors[j] - errors[others]) / standard_errors[j, others, None]
            largest = np.maximum(largest, studentised.max(axis=0))
    return largest


def plain_intervals(scores, resampled):
    """Return low, high, tier, the critical value and the number of rounds, in plain numpy."""
    m = len(scores)
    errors, standard_errors = resampled - scores[:, None], plain_errors(resampled)
    still_open, better, rounds = ~np.eye(m, dtype=bool), np.zeros((m, m), dtype=bool), 0
    while True:
        rounds += 1
        largest = plain_round(errors, standard_errors, still_open, range(m))
        critical = np.sort(largest)[int(np.ceil(LEVEL * (len(largest) + 1))) - 1]
        new = still_open & (scores[:, None] - scores > critical * standard_errors)
        if not new.any():
            break
        better |= new
        still_open &= ~new
    tier = np.ones(m, dtype=int)
    for k in np.argsort(-scores):  # best first: the relation then only points ahead
        better |= better[:, [k]] & better[[k]]
        tier[k] = 1 + tier[better[:, k]].max(initial=0)
    return 1 + better.sum(axis=0), m - better.sum(axis=1), tier, critical, rounds


def check_against_peer(resamples: int) -> float:
    """Compare a small board in full; return the relative difference of the critical values."""
    scores, resampled = simulated_board(330, resamples)
    low, high, tier, critical, rounds = plain_intervals(scores, resampled)
    intervals = rank_intervals(
        scores, resampled, LEVEL, all_pairs=True, workers=available_workers()
    )
    np.testing.assert_array_equal(intervals.low, low)
    np.testing.assert_array_equal(intervals.high, high)
    np.testing.assert_array_equal(intervals.tier, tier)
    difference = abs(intervals.critical_value / critical - 1)
    if difference > 1e-12 or intervals.rounds != rounds:
        raise SystemExit(f"The critical values differ by {difference:.1e}.")
    return difference


def peer_seconds(scores: np.ndarray, resampled: np.ndarray, rounds: int) -> float:
    """Time one round over the pairs of a few rows, and scale it to all rows and rounds."""
    m = len(scores)
    started = time.perf_counter()
    standard_errors = plain_errors(resampled)
    once = time.perf_counter() - started
    errors, still_open = resampled - scores[:, None], ~np.eye(m, dtype=bool)
    started = time.perf_counter()
    plain_round(errors, standard_errors, still_open, range(min(PEER_ROWS, m)))
    return once + (time.perf_counter() - started) * m / min(PEER_ROWS, m) * rounds


def main() -> None:
    """Run the benchmark and print one JSON object in the last line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the 3,000 submissions")
    m, resamples = max(20, round(3000 * parser.parse_args().scale)), 1000
    difference = check_against_peer(resamples)
    scores, resampled = simulated_board(m, resamples)
    started = time.perf_counter()
    ranks = rank_intervals(scores, resampled, LEVEL, workers=available_workers())
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    peer = peer_seconds(scores, resampled, ranks.rounds)
    result = {
        "benchmark": "rank_intervals",
        "submissions": m,
        "resamples": resamples,
        "rounds": ranks.rounds,
        "tiers": int(ranks.tier.max()),
        "arena_seconds": round(seconds, 3),
        "peer_seconds": round(peer, 3),
        "ratio": round(peer / seconds, 2),
        "peak_memory_gb": round(peak, 3),
        "difference": difference,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
