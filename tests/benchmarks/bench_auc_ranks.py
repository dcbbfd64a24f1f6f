"""ROC AUC of 3,000 submissions x 100,000 rows under 100 resamples, and the ranks in each.

The peer is ``sklearn.metrics.roc_auc_score(sample_weight=…)`` in one process, timed on a part and
scaled to all submissions and resamples; on that part both give the same numbers.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import numpy as np
from sklearn.metrics import roc_auc_score

from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.ranks import minimum_ranks
from arena.evaluation.scores import score_under_weights
from arena.utils.parallel import available_workers
from arena_metrics.kernels.roc_auc import concordant_pairs, pack_weights
from arena_metrics.kernels.sorting import RowSorter
from arena_metrics.ranking import RocAuc

RESAMPLES = 100
PEER_CALLS = 12


def simulated_board(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return truth, 20 % positive, and scores that separate the classes more or less."""
    rng = np.random.default_rng(0)
    truth = (rng.random(n) < 0.2).astype(np.int64)
    predictions = np.empty((m, n))
    for j, quality in enumerate(np.linspace(1.0, 1.3, m)):
        rng.standard_normal(out=predictions[j])
        predictions[j] += quality * truth
    return truth, predictions


def peer_seconds(
    truth: np.ndarray, board: ArrayPredictions, weights: np.ndarray, scores: np.ndarray
) -> float:
    """Return the seconds of all calls of the peer, from some; they must agree with the scores."""
    seconds = []
    for j in range(min(PEER_CALLS, board.n_submissions)):
        b = j % weights.shape[1]
        started = time.perf_counter()
        area = roc_auc_score(truth, board.values[j], sample_weight=weights[:, b])
        seconds.append(time.perf_counter() - started)
        if abs(area - scores[j, b]) > 1e-12:
            raise SystemExit(f"Submission {j}, resample {b}: {area} is not {scores[j, b]}.")
    return float(np.median(seconds)) * scores.size


def split(truth: np.ndarray, board: ArrayPredictions, weights: np.ndarray) -> dict[str, float]:
    """Return milliseconds on one thread: packing once, and sorting and all of one submission."""
    row = board.values[:1]
    sorter = RowSorter(row.shape[1])
    parts = {
        "pack": lambda: pack_weights(weights),
        "sort": lambda: sorter.sort(row[0]),
        "pack, sort and pass": lambda: concordant_pairs(row, truth == 1, weights),
    }
    return {name: round(1e3 * least_seconds(part), 2) for name, part in parts.items()}


def least_seconds(part) -> float:
    """Return the least of several timings."""
    times = []
    for _ in range(9):
        started = time.perf_counter()
        part()
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    """Run the benchmark and print one JSON object in the last line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the 3,000 submissions")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--verbose", action="store_true", help="print where the time goes")
    options = parser.parse_args()
    m, workers = max(20, round(3000 * options.scale)), available_workers()
    truth, predictions = simulated_board(m, options.rows)
    board = ArrayPredictions(predictions)
    weights = draw_resamples(options.rows, RESAMPLES, 0, strata=truth, workers=workers).weights
    concordant_pairs(predictions[:1, :500], truth[:500] == 1, weights[:500])  # compile, or load
    started, started_cpu = time.perf_counter(), time.process_time()
    scores = score_under_weights(RocAuc(), truth, board, weights, workers=workers)
    ranks = minimum_ranks(scores, greater_is_better=True)
    seconds, cpu = time.perf_counter() - started, time.process_time() - started_cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    peer = peer_seconds(truth, board, weights, scores)
    if options.verbose:
        print("milliseconds:", split(truth, board, weights))
    result = {
        "benchmark": "auc_ranks",
        "submissions": m,
        "rows": options.rows,
        "resamples": RESAMPLES,
        "workers": workers,
        "best_submission_wins": round(float((ranks[-1] == 1).mean()), 3),
        "arena_seconds": round(seconds, 3),
        "arena_cpu_seconds": round(cpu, 3),
        "peer_seconds": round(peer, 1),
        "ratio": round(peer / seconds, 1),
        "peak_memory_gb": round(peak, 3),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
