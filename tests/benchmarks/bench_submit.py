"""1,000 submissions of 100,000 rows, one transaction each with all that belongs to it.

There is no peer. Prints the time of one submission with the store opened and closed around it,
the worst commit, and how large the write-ahead log became.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import benchmark_paths  # noqa: F401
import numpy as np

from arena.store import Store
from submit_work import make_solution, submit

N_SUBMISSIONS, N_ROWS, N_REPEATS = 1_000, 100_000, 5


@contextmanager
def watched(log: Path) -> Iterator[list[int]]:
    """Give a list that ends up with the largest size of a file meanwhile."""
    largest, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            with suppress(FileNotFoundError):
                largest[0] = max(largest[0], log.stat().st_size)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield largest
    finally:
        done.set()
        thread.join()


def timed_submit(store: Store, number: int, rng: np.random.Generator) -> float:
    """Return the seconds that one submission took."""
    values = rng.random((N_ROWS, 1))
    start = time.perf_counter()
    submit(store, number, values)
    return time.perf_counter() - start


def submit_once(path: Path, number: int) -> None:
    """Print the seconds of opening, reading the solution, submitting and closing."""
    values = np.random.default_rng(number).random((N_ROWS, 1))
    start = time.perf_counter()
    with Store.open(path, create=False) as store:
        store.solution()
        submit(store, number, values)
    print(time.perf_counter() - start)


def in_a_process_of_its_own(path: Path, number: int) -> float:
    """Return the seconds that a fresh process takes for one submission, its imports apart."""
    command = [sys.executable, __file__, "--once", str(path), str(number)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the submissions")
    parser.add_argument("--once", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        submit_once(Path(options.once[0]), int(options.once[1]))
        return
    m = max(10, round(N_SUBMISSIONS * options.scale))
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "bench.duckdb"
        with Store.open(path) as store:
            store.put_solution(make_solution(N_ROWS))
            with watched(path.with_name(f"{path.name}.wal")) as largest:
                commits = [timed_submit(store, number, rng) for number in range(1, m + 1)]
        alone = [in_a_process_of_its_own(path, m + 1 + i) for i in range(N_REPEATS)]
        size = path.stat().st_size
    print(
        json.dumps(
            {
                "benchmark": "submit",
                "submissions": m,
                "rows": N_ROWS,
                "median_commit_seconds": round(float(np.median(commits)), 4),
                "worst_commit_seconds": round(max(commits), 3),
                "open_submit_close_seconds": round(min(alone), 3),
                "worst_open_submit_close_seconds": round(max(alone), 3),
                "largest_log_megabytes": round(largest[0] / 2**20, 1),
                "database_megabytes": round(size / 2**20, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
