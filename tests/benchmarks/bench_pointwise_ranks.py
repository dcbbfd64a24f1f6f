"""Log loss of 3,000 submissions x 100,000 rows under 100 resamples, and the ranks in each.

The peer is the bare float64 product of the row values and the weights by numpy, 300 submissions at
a time, on as many threads as arena uses, each with one BLAS thread: the logarithms, the means and
the ranks come on top of it. ``ratio`` is arena's processor time over the product's, so smaller is
better. Each is measured twice, in turn, and the lesser time counts: other programs slow both down.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import numpy as np

from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.ranks import minimum_ranks
from arena.evaluation.scores import score_under_weights
from arena.utils.parallel import available_workers, one_thread_each, run_tasks
from arena_metrics.kernels.engine import choose_engine
from arena_metrics.pointwise import LogLoss

RESAMPLES = 100
PEER_SUBMISSIONS = 300


def simulated_board(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return truth, 20 % positive, and probabilities that know more or less of it."""
    rng = np.random.default_rng(0)
    truth = (rng.random(n) < 0.2).astype(np.int64)
    predictions = np.empty((m, n))
    for j, quality in enumerate(np.linspace(0.2, 0.25, m)):
        rng.random(out=predictions[j])
        predictions[j] *= 0.6
        predictions[j] += 0.05 + quality * truth
    return truth, predictions


def peer_cpu_seconds(
    truth: np.ndarray,
    board: ArrayPredictions,
    weights: np.ndarray,
    scores: np.ndarray,
    workers: int,
) -> float:
    """Return the processor seconds of the products; they must agree with the scores."""
    floats = weights.astype(np.float64)

    def multiply(start: int, block: np.ndarray) -> float:
        values = -np.log(np.where(truth == 1, block, 1.0 - block))
        started = time.thread_time()
        product = values @ floats
        seconds = time.thread_time() - started
        means = product / floats.sum(axis=0)
        difference = np.abs(means - scores[start : start + len(block)]).max()
        if difference > 1e-12:
            raise SystemExit(f"The scores differ from the product by {difference:.1e}.")
        return seconds

    return sum(run_tasks(multiply, board.blocks(PEER_SUBMISSIONS), workers=workers))


def split(truth: np.ndarray, board: ArrayPredictions, weights: np.ndarray) -> dict[str, float]:
    """Return milliseconds per submission on one thread, of what is in blocks of 20."""
    block = board.values[:20]
    times = {"row values": [], "product": []}
    floats = weights.astype(np.float64)
    for _ in range(5):
        with one_thread_each():
            started = time.thread_time()
            values = LogLoss().row_values(truth, block)
            middle = time.thread_time()
            values @ floats
        times["row values"].append(middle - started)
        times["product"].append(time.thread_time() - middle)
    return {name: round(1e3 * min(each) / len(block), 3) for name, each in times.items()}


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
    weights = draw_resamples(options.rows, RESAMPLES, 0, workers=workers).weights
    engine = choose_engine(10**9)  # as it is in a process that has had much to do
    engine.log_losses(predictions[:1, :500], truth[:500] == 1, 1e-15)
    seconds, cpu, peer, peak = [], [], [], 0.0
    for _ in range(2):
        started, started_cpu = time.perf_counter(), time.process_time()
        scores = score_under_weights(LogLoss(), truth, board, weights, workers=workers)
        ranks = minimum_ranks(scores, greater_is_better=False)
        seconds.append(time.perf_counter() - started)
        cpu.append(time.process_time() - started_cpu)
        # Of arena's first run: the peer takes more memory.
        peak = peak or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        peer.append(peer_cpu_seconds(truth, board, weights, scores, workers))
    if options.verbose:
        print("milliseconds per submission:", split(truth, board, weights))
    result = {
        "benchmark": "pointwise_ranks",
        "submissions": m,
        "rows": options.rows,
        "resamples": RESAMPLES,
        "workers": workers,
        "best_submission_wins": round(float((ranks[-1] == 1).mean()), 3),
        "arena_seconds": round(min(seconds), 3),
        "arena_cpu_seconds": round(min(cpu), 3),
        "peer_cpu_seconds": round(min(peer), 3),
        "ratio": round(min(cpu) / min(peer), 3),
        "peak_memory_gb": round(peak, 3),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
