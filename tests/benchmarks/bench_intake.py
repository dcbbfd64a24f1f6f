"""200 CSV files x 100,000 rows, half of them shuffled: read, check, align and store.

The peer reads with pandas (ids as text), makes the same checks, merges, and stores nothing; it is
timed on a part of the files and scaled.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from arena.intake import read_solution, read_submission
from arena.store import Incoming, Store
from arena.types import PredictionKind, Solution

N_FILES, N_ROWS, N_PEER_FILES = 200, 100_000, 20
FILES_OF_A_TRANSACTION = 16


def make_files(folder: Path, n_files: int, n_rows: int) -> tuple[Path, list[Path]]:
    """Write a solution and submissions, every other one in another order than the solution."""
    rng = np.random.default_rng(0)
    ids = np.array([f"id_{i:06d}" for i in range(n_rows)])
    solution = folder / "solution.csv"
    pd.DataFrame({"id": ids, "target": rng.integers(0, 2, n_rows)}).to_csv(solution, index=False)
    paths = []
    for i in range(n_files):
        frame = pd.DataFrame({"id": ids, "target": rng.random(n_rows)})
        paths.append(folder / f"team{i:04d}.csv")
        (frame.sample(frac=1, random_state=i) if i % 2 else frame).to_csv(paths[-1], index=False)
    return solution, paths


def with_arena(paths: list[Path], solution: Solution, store: Store) -> None:
    """Read in two threads, store in this one, a few files in each transaction."""
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        read = zip(
            paths, pool.map(lambda path: read_submission(path, solution), paths), strict=True
        )
        while some := list(islice(read, FILES_OF_A_TRANSACTION)):
            store.add_submissions(
                [Incoming(path.stem, path.name, r.sha256, r.values, r.faults) for path, r in some]
            )


def with_pandas(path: Path, ids: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Read, check and align one file as one would with pandas.

    Ids are compared in the merge: ``Series.isin`` on text takes pandas 3 a second a file.
    """
    frame = pd.read_csv(path, dtype={"id": str})
    assert list(frame.columns) == ["id", "target"]
    assert not frame["id"].isna().any()
    assert not frame["id"].duplicated().any()
    assert len(frame) == len(ids)
    values = pd.to_numeric(frame["target"], errors="raise")
    assert np.isfinite(values).all()
    assert values.between(0, 1).all()
    merged = ids.merge(frame, on="id", how="left", indicator=True)
    assert (merged["_merge"] == "both").all()
    return merged["target"].to_numpy()


def seconds(run: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    """Run both and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the files")
    n_files = max(2, round(N_FILES * parser.parse_args().scale))
    with tempfile.TemporaryDirectory() as name, Store.open() as store:
        solution_path, paths = make_files(Path(name), n_files, N_ROWS)
        os.sync()  # otherwise the writing of these files goes on beside what is timed
        solution = read_solution(solution_path, kind=PredictionKind.PROBABILITY)
        store.put_solution(solution)
        arena = seconds(lambda: with_arena(paths, solution, store))
        ids = pd.DataFrame({"id": solution.ids.to_pylist()}, dtype=str)
        part = paths[:N_PEER_FILES]
        peer = seconds(lambda: [with_pandas(path, ids) for path in part]) * n_files / len(part)
        stored = store.predictions([1, 2])
        _, block = next(iter(stored.blocks(2)))
        for values, path in zip(block, paths[:2], strict=True):
            assert np.array_equal(values, with_pandas(path, ids))
        assert len(store.submissions()) == n_files
        assert all(record.status == "accepted" for record in store.submissions())
    print(
        json.dumps(
            {
                "benchmark": "intake",
                "files": n_files,
                "rows": N_ROWS,
                "arena_seconds": round(arena, 3),
                "peer_seconds": round(peer, 3),
                "ratio": round(peer / arena, 2),
            }
        )
    )


if __name__ == "__main__":
    main()
