"""A CSV file of 1,000,000 rows, in the order of the solution and shuffled, with ids of three kinds.

Times ``parse_submission`` in this process: reading, checking and aligning, without the process that
guards the reading. The peer is pyarrow's typed parse of the same file (ids as text, values as
float64) on one thread. arena hashes the file by a second thread while it parses it, which the peer
does not do at all: ``ratio`` is arena's elapsed time over the peer's, ``cpu_ratio`` the processor
time of all threads, so smaller is better. They take turns, and the least time of each counts.

The parse does not put the rows into the order of the solution. ``join_cpu_seconds`` is the
processor time of DuckDB's hash join of the ids alone, on one thread, and ``joined_cpu_ratio`` is
arena's over that of the parse and the join.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from arena.intake import read_solution
from arena.intake.columns import SubmissionForm
from arena.intake.submission import parse_submission
from arena.types import FloatArray, PredictionKind

N_ROWS = 1_000_000


def ids_of(n_rows: int) -> dict[str, list[str]]:
    """Return different ids of each kind."""
    rng = np.random.default_rng(0)
    hexadecimal = np.unique(rng.integers(0, 2**48, n_rows + n_rows // 100))
    return {
        "numbers": [f"id_{i:07d}" for i in range(n_rows)],
        "hex": [f"{number:012x}" for number in rng.permutation(hexadecimal)[:n_rows]],
        "uuid": [str(uuid.UUID(bytes=rng.bytes(16))) for _ in range(n_rows)],
    }


def write(path: Path, header: str, lines: Sequence[str]) -> None:
    """Write a CSV file."""
    path.write_text("\n".join([header, *lines, ""]), encoding="utf-8")


def typed_parse(path: Path) -> FloatArray:
    """Return the values in the order of the file."""
    types = {"id": pa.string(), "target": pa.float64()}
    table = pyarrow.csv.read_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(use_threads=False),
        convert_options=pyarrow.csv.ConvertOptions(column_types=types),
    )
    values: FloatArray = table.column("target").to_numpy()
    return values


def join_of(ids: Sequence[str], order: npt.NDArray[np.intp]) -> Callable[[], object]:
    """Return a function that joins the rows of a file with those of the solution by their ids."""
    connection = duckdb.connect(config={"threads": 1})
    rows = pa.array(np.arange(len(ids), dtype=np.int32))
    column = pa.array(ids, pa.string())
    connection.register("solution", pa.table({"id": column, "solution_row": rows}))
    connection.register("file", pa.table({"id": column.take(pa.array(order)), "file_row": rows}))
    query = "select file_row, solution_row from file join solution using (id)"
    joined = connection.execute(query).fetchnumpy()
    assert np.array_equal(order[joined["file_row"]], joined["solution_row"])
    return lambda: connection.execute(query).fetchnumpy()


def seconds_of(run: Callable[[], object]) -> tuple[float, float]:
    """Return the elapsed time of a call, and the processor time of all threads."""
    start, cpu_start = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - start, time.process_time() - cpu_start


def measured(folder: Path, ids: list[str], repeats: int) -> dict[str, dict[str, float]]:
    """Return the least seconds of both, and their ratios, for each order of the rows."""
    rng = np.random.default_rng(1)
    n_rows = len(ids)
    values, labels = rng.random(n_rows).round(6), rng.integers(0, 2, n_rows)
    solution_path, path = folder / "solution.csv", folder / "submission.csv"
    usage = ["Public" if row % 3 == 0 else "Private" for row in range(n_rows)]
    lines = [
        f"{identifier},{y},{use}" for identifier, y, use in zip(ids, labels, usage, strict=True)
    ]
    write(solution_path, "id,target,Usage", lines)
    solution = read_solution(solution_path, kind=PredictionKind.PROBABILITY)
    form = SubmissionForm.of(solution)
    figures = {}
    for name, order in (("in_order", np.arange(n_rows)), ("shuffled", rng.permutation(n_rows))):
        write(path, "id,target", [f"{ids[row]},{values[row]:.6f}" for row in order])
        read = parse_submission(path, form).values
        assert read is not None
        assert np.array_equal(read[:, 0], values)
        assert np.array_equal(typed_parse(path), values[order])
        join = join_of(ids, order)
        times = [
            (
                *seconds_of(lambda: parse_submission(path, form)),
                *seconds_of(lambda: typed_parse(path)),
                *seconds_of(join),
            )
            for _ in range(repeats)
        ]
        arena, arena_cpu, peer, peer_cpu, _, join_cpu = map(min, zip(*times, strict=True))
        figures[name] = {
            "arena_seconds": round(arena, 4),
            "peer_seconds": round(peer, 4),
            "ratio": round(arena / peer, 2),
            "arena_cpu_seconds": round(arena_cpu, 4),
            "peer_cpu_seconds": round(peer_cpu, 4),
            "cpu_ratio": round(arena_cpu / peer_cpu, 2),
            "join_cpu_seconds": round(join_cpu, 4),
            "joined_cpu_ratio": round(arena_cpu / (peer_cpu + join_cpu), 2),
        }
    return figures


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--repeats", type=int, default=7, help="the fastest counts")
    options = parser.parse_args()
    n_rows = max(100, round(N_ROWS * options.scale))
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    with tempfile.TemporaryDirectory(prefix="arena-csv-") as folder:
        kinds = {
            kind: measured(Path(folder), ids, options.repeats)
            for kind, ids in ids_of(n_rows).items()
        }
    print(json.dumps({"benchmark": "csv", "rows": n_rows, "ids": kinds}))


if __name__ == "__main__":
    main()
