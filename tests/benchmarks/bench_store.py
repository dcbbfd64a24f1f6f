"""Writing 200 x 100,000 predictions, and reading them back, the order of every cell checked.

The peer is DuckDB alone. It inserts the values into a table in a file, as many in a transaction as
arena, and fetches them through Arrow into a matrix, without a check. ``ratio`` is the peer's time
of reading over arena's. ``write_ratio`` is arena's processor time over the peer's, with opening and
closing of the file, where the peer inserts the values alone; in ``keyed_write_ratio`` it also
inserts the submission of each, as arena does. Smaller is better. Writing takes turns, and the least
time of each counts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import benchmark_paths  # noqa: F401
import duckdb
import numpy as np
import pyarrow as pa

from arena.store import Incoming, Store
from arena.types import FloatArray
from submit_work import make_solution

N_SUBMISSIONS, N_ROWS = 200, 100_000
N_REPEATS = 5
N_WRITES = 3
FILES_OF_A_TRANSACTION = 8


def write_with_arena(path: Path, blocks: Sequence[FloatArray]) -> None:
    """Store the submissions of each block in a transaction."""
    number = 0
    with Store.open(path, create=False) as store:
        for block in blocks:
            incoming = [
                Incoming(f"t{i}", "f", f"{i}", values) for i, values in enumerate(block, number)
            ]
            store.add_submissions(incoming)
            number += len(block)


def write_values(path: Path, blocks: Sequence[FloatArray]) -> None:
    """Insert the values alone, each block in a transaction."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE predictions (value DOUBLE NOT NULL)")
        for block in blocks:
            insert(connection, pa.table({"value": block.reshape(-1)}))


def write_keyed_values(path: Path, blocks: Sequence[FloatArray]) -> None:
    """Insert the values with their submission."""
    number = 0
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE predictions (submission INTEGER NOT NULL, value DOUBLE NOT NULL)"
        )
        for block in blocks:
            m, n = block.shape[:2]
            columns = {
                "submission": np.repeat(np.arange(number, number + m, dtype=np.int32), n),
                "value": block.reshape(-1),
            }
            insert(connection, pa.table(columns))
            number += m


def insert(connection: duckdb.DuckDBPyConnection, rows: pa.Table) -> None:
    """Insert rows in a transaction."""
    connection.register("incoming", rows)
    connection.execute("INSERT INTO predictions SELECT * FROM incoming")
    connection.unregister("incoming")


WRITERS = {"arena": write_with_arena, "values": write_values, "keyed values": write_keyed_values}


def writing(folder: Path, blocks: Sequence[FloatArray]) -> tuple[Path, dict[str, float]]:
    """Return a database of arena, and the least processor seconds of each writer."""
    least = dict.fromkeys(WRITERS, float("inf"))
    for number in range(N_WRITES):
        own = folder / f"arena-{number}.duckdb"
        with Store.open(own) as store:
            store.put_solution(make_solution(blocks[0].shape[1]))
        for name, write in WRITERS.items():
            start = time.process_time()
            write(folder / f"{name}-{number}.duckdb", blocks)
            least[name] = min(least[name], time.process_time() - start)
    return own, least


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
    values = np.random.default_rng(0).random((m, N_ROWS, 1))
    blocks = np.split(values, range(FILES_OF_A_TRANSACTION, m, FILES_OF_A_TRANSACTION))
    with tempfile.TemporaryDirectory() as name:
        path, writes = writing(Path(name), blocks)
        with Store.open(path) as store:
            arena, ours = best_of(lambda: with_arena(store, m))
        peer, theirs = best_of(lambda: with_duckdb(path, m, N_ROWS))
        assert np.array_equal(ours, theirs)
        assert np.array_equal(ours, values[:, :, 0])
    print(
        json.dumps(
            {
                "benchmark": "store",
                "submissions": m,
                "rows": N_ROWS,
                "order_checked": True,
                "arena_write_cpu_seconds": round(writes["arena"], 3),
                "peer_write_cpu_seconds": round(writes["values"], 3),
                "write_ratio": round(writes["arena"] / writes["values"], 2),
                "keyed_write_ratio": round(writes["arena"] / writes["keyed values"], 2),
                "arena_seconds": round(arena, 3),
                "peer_seconds": round(peer, 3),
                "ratio": round(peer / arena, 2),
                "gigabytes_per_second": round(ours.nbytes / arena / 1e9, 2),
            }
        )
    )


if __name__ == "__main__":
    main()
