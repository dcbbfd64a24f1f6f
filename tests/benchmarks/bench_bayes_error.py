"""Time and memory of the Bayes error of ten million soft labels.

There is no peer. Seconds are those of the processor, the least of several, so that a busy machine
counts little.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc

import numpy as np

from arena_bayes_error.estimators import from_soft_labels

N, RUNS = 10_000_000, 5


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the labels")
    n = max(1_000, round(N * parser.parse_args().scale))
    labels = np.random.default_rng(0).random(n)
    seconds = []
    for _ in range(RUNS):
        start = time.process_time()
        estimate = from_soft_labels(labels)
        seconds.append(time.process_time() - start)
    tracemalloc.start()
    from_soft_labels(labels)
    held = tracemalloc.get_traced_memory()[1] / labels.nbytes
    tracemalloc.stop()
    result = {
        "benchmark": "bayes_error",
        "labels": n,
        "seconds": round(min(seconds), 4),
        "memory_per_label_memory": round(held, 4),
        "estimate": estimate.estimate,
        "interval": estimate.interval,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
