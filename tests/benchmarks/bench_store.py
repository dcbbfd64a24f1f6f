"""Reading 200 x 100,000 predictions back as one matrix, the order of every cell checked.

The peer is DuckDB alone: the values, fetched through Arrow into a matrix, without a check.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import benchmark_paths  # noqa: F401
import duckdb
import numpy as np

from arena.store import Incoming, Store
from arena.types import FloatArray
from submit_work import make_solution

N_SUBMISSIONS, N_ROWS = 200, 100_000
N_REPEATS = 5


def fill(store: Store, n_submissions: int, n_rows: int) -> float:
    """Store random predictions, and return the seconds that storing took."""
    store.put_solution(make_solution(n_rows))
    rng, total = np.random.default_rng(0), 0.0
    for first in range(0, n_submissions, 8):
        numbers = range(first, min(first + 8, n_submissions))
        incoming = [Incoming(f"t{i}", "f", f"{i}", rng.random((n_rows, 1))) for i in numbers]
        start = time.perf_counter()
        store.add_submissions(incoming)
        total += time.perf_counter() - start
    return total


def with_arena(store: Store, n_submissions: int) -> FloatArray:
    """Return all predictions as one matrix."""
    _, block = next(store.predictions(range(1, n_submissions + 1)).blocks(n_submissions))
    return block


def with_duckdb(path: Path, n_submissions: int, n_rows: int) -> FloatArray:
    """Return the same without any check."""
    values, filled = np.empty(n_submissions * n_rows), 0
    with duckdb.connect(str(path), read_only=True) as connection:
        query = f"SELECT value FROM predictions WHERE submission BETWEEN 1 AND {n_submissions}"  # noqa: S608
        for batch in connection.sql(query).to_arrow_reader(2**20):
            read = batch.column(0).to_numpy()
            values[filled : filled + len(read)] = read
            filled += len(read)
    return values.reshape(n_submissions, n_rows)


def best_of(run: Callable[[], FloatArray]) -> tuple[float, FloatArray]:
    """Return the shortest time of several calls, and the last result."""
    times = []
    for _ in range(N_REPEATS):
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    return min(times), result


def main() -> None:
    """Run both and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the submissions")
    m = max(2, round(N_SUBMISSIONS * parser.parse_args().scale))
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "bench.duckdb"
        with Store.open(path) as store:
            write_seconds = fill(store, m, N_ROWS)
            arena, ours = best_of(lambda: with_arena(store, m))
        peer, theirs = best_of(lambda: with_duckdb(path, m, N_ROWS))
        assert np.array_equal(ours, theirs)
    print(
        json.dumps(
            {
                "benchmark": "store",
                "submissions": m,
                "rows": N_ROWS,
                "order_checked": True,
                "write_seconds": round(write_seconds, 3),
                "arena_seconds": round(arena, 3),
                "peer_seconds": round(peer, 3),
                "ratio": round(peer / arena, 2),
                "gigabytes_per_second": round(ours.nbytes / arena / 1e9, 2),
            }
        )
    )


if __name__ == "__main__":
    main()
