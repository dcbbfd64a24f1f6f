"""Writing 200 x 100,000 predictions as files outside the database, and reading them back.

Every file is synced before the commit that names it, and its SHA-256 is compared before it is
parsed. The peer is arena's own table in DuckDB, whose order of cells is checked.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from bench_store import N_ROWS, N_SUBMISSIONS, best_of, with_arena

from arena.store import Incoming, Store
from submit_work import make_solution


def fill(store: Store, n_submissions: int, n_rows: int, place: str | None) -> tuple[float, float]:
    """Store random predictions one by one; return the seconds and the processor seconds."""
    with store.transaction() as transaction:
        if place is not None:
            transaction.keep_predictions_at(place)
        transaction.put_solution(make_solution(n_rows))
    rng, total, used = np.random.default_rng(0), 0.0, 0.0
    for i in range(n_submissions):
        incoming = Incoming(f"t{i}", "f", f"{i}", rng.random((n_rows, 1)))
        start, busy = time.perf_counter(), time.process_time()
        store.add_submissions([incoming])
        total += time.perf_counter() - start
        used += time.process_time() - busy
    return total, used


def main() -> None:
    """Run both and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the submissions")
    parser.add_argument("--place", default="predictions", help="folder, or a URL s3://…")
    arguments = parser.parse_args()
    m = max(2, round(N_SUBMISSIONS * arguments.scale))
    figures, matrices = {}, []
    with tempfile.TemporaryDirectory() as name:
        for kind, place in (("table", None), ("objects", arguments.place)):
            with Store.open(Path(name) / f"{kind}.duckdb") as store:
                written, busy = fill(store, m, N_ROWS, place)
                before = time.process_time()
                seconds, matrix = best_of(lambda store=store: with_arena(store, m))
                reading = (time.process_time() - before) / 5
            matrices.append(matrix)
            figures |= {
                f"{kind}_write_seconds": round(written, 3),
                f"{kind}_write_processor_seconds": round(busy, 3),
                f"{kind}_read_seconds": round(seconds, 3),
                f"{kind}_read_processor_seconds": round(reading, 3),
            }
        size = sum(path.stat().st_size for path in Path(name).rglob("*.parquet"))
        table = (Path(name) / "table.duckdb").stat().st_size
    assert np.array_equal(*matrices)
    print(
        json.dumps(
            {
                "benchmark": "objects",
                "submissions": m,
                "rows": N_ROWS,
                **figures,
                "objects_megabytes": round(size / 1e6, 1),
                "table_megabytes": round(table / 1e6, 1),
                "ratio": round(figures["table_read_seconds"] / figures["objects_read_seconds"], 2),
            }
        )
    )


if __name__ == "__main__":
    main()
