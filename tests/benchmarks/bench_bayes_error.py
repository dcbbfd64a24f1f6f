"""Time and memory of the Bayes error of ten million soft labels.

Run: python tests/benchmarks/bench_bayes_error.py
"""

from __future__ import annotations

import time
import tracemalloc

import numpy as np

from arena_bayes_error.estimators import from_soft_labels

N = 10_000_000
MOST_SECONDS = 0.5
MOST_SHARE_HELD = 0.1


def main() -> None:
    labels = np.random.default_rng(0).random(N)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        found = from_soft_labels(labels)
        seconds.append(time.perf_counter() - start)
    tracemalloc.start()
    from_soft_labels(labels)
    held = tracemalloc.get_traced_memory()[1] / labels.nbytes
    tracemalloc.stop()
    print(f"{N:,} soft labels: {min(seconds):.3f} s (best of 5), {held:.1%} of their memory held")
    print(f"estimate {found.estimate:.6f}, interval {found.interval}")
    if min(seconds) > MOST_SECONDS or held > MOST_SHARE_HELD:
        raise SystemExit(f"at most {MOST_SECONDS} s and {MOST_SHARE_HELD:.0%} are allowed")


if __name__ == "__main__":
    main()
