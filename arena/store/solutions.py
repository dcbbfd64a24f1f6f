"""A solution to tables and back."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from arena.errors import StoreError
from arena.store.arrow import as_arrow, as_numpy
from arena.store.times import as_stored
from arena.types import PredictionKind, Solution, Target

__all__ = ["fingerprint"]


def fingerprint(solution: Solution) -> str:
    """Return a hash of everything in a solution but the bytes of its file."""
    digest = hashlib.sha256(json.dumps([*_header(solution)]).encode())
    lengths = np.array([len(id.encode()) for id in solution.ids.to_pylist()], dtype=np.int64)
    parts = [lengths, solution.truth, solution.usage]
    if solution.clusters is not None:
        parts.append(solution.clusters)
    digest.update("".join(solution.ids.to_pylist()).encode())
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _header(solution: Solution) -> tuple[Any, ...]:
    targets = [[target.name, target.classes] for target in solution.targets]
    return solution.id_column, solution.kind.value, list(solution.columns), targets


def put_solution(
    cursor: duckdb.DuckDBPyConnection,
    number: int,
    solution: Solution,
    metric: str | None,
    time: datetime | None,
    path: Path,
) -> None:
    """Store a solution under a number, inside a transaction, if it fits what is there."""
    query = "SELECT solution, fingerprint FROM solutions"
    known: dict[int, str] = dict(cursor.execute(query).fetchall())
    if number in known:
        if known[number] != fingerprint(solution):
            raise StoreError(
                f"The database '{path}' holds another solution, or the same one read "
                "for another kind of prediction: choose another file with --db."
            )
        return
    if number != len(known) + 1:
        raise ValueError(f"the next solution is number {len(known) + 1}, not {number}")
    first = select_solution(cursor, 1)
    if first is not None:
        _check_same_rows(solution, first, path)
    insert_solution(cursor, number, solution, metric, as_stored(time))


def no_solution(path: Path) -> StoreError:
    """Return the error that there is no solution."""
    return StoreError(f"The database '{path}' holds no solution: put one first.")


def _check_same_rows(solution: Solution, first: Solution, path: Path) -> None:
    """Refuse other rows: stored predictions are numbers in the order of the first solution."""
    same = {
        "ids, in their order": solution.ids.equals(first.ids),
        "columns": solution.columns == first.columns,
        "targets and labels": solution.targets == first.targets,
        "kind of prediction": (solution.kind is PredictionKind.LABEL)
        == (first.kind is PredictionKind.LABEL),
    }
    for name, is_same in same.items():
        if not is_same:
            raise StoreError(
                f"The corrected solution has other {name} than the one in the database '{path}': "
                "what was submitted cannot be scored by it. Start another competition."
            )


def insert_solution(
    cursor: duckdb.DuckDBPyConnection,
    number: int,
    solution: Solution,
    metric: str | None,
    stored: datetime,
) -> None:
    """Append a solution under a number, inside a transaction."""
    id_column, kind, columns, targets = _header(solution)
    row = [number, solution.sha256, fingerprint(solution), id_column, kind]
    row += [json.dumps(columns), json.dumps(targets), solution.n_rows]
    row += [solution.clusters is not None, metric, stored]
    cursor.execute("INSERT INTO solutions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    positions = np.arange(solution.n_rows, dtype=np.int32)
    clusters = solution.clusters
    rows = pa.table(
        {
            "position": as_arrow(positions),
            "id": solution.ids,
            "usage": as_arrow(solution.usage),
            "cluster": pa.nulls(len(positions), pa.int64())
            if clusters is None
            else as_arrow(clusters),
        }
    )
    _append(cursor, "solution_rows", number, rows)
    truth = solution.truth.reshape(solution.n_rows, -1)
    for target in range(truth.shape[1]):
        numbers = np.full(len(positions), target, dtype=np.int32)
        values = truth[:, target].astype(np.float64)
        columns = {"target": numbers, "position": positions, "value": values}
        table = pa.table({name: as_arrow(column) for name, column in columns.items()})
        _append(cursor, "truth", number, table)


def _append(cursor: duckdb.DuckDBPyConnection, table: str, number: int, rows: pa.Table) -> None:
    cursor.register("incoming_rows", rows)
    cursor.execute(f"INSERT INTO {table} SELECT {number}, * FROM incoming_rows")  # noqa: S608
    cursor.unregister("incoming_rows")


def select_solution(cursor: duckdb.DuckDBPyConnection, number: int) -> Solution | None:
    """Return the solution of a number, or None."""
    found = cursor.execute(
        "SELECT id_column, kind, columns, targets, n_rows, has_clusters, sha256 "
        "FROM solutions WHERE solution = ?",
        [number],
    ).fetchall()
    if not found:
        return None
    id_column, kind, columns, targets, n_rows, has_clusters, sha256 = found[0]
    rows: Any = cursor.sql(
        "SELECT id, usage, cluster FROM solution_rows WHERE solution = ? ORDER BY position",
        params=[number],
    ).to_arrow_table()
    values: Any = cursor.sql(
        "SELECT value FROM truth WHERE solution = ? ORDER BY target, position", params=[number]
    ).to_arrow_table()
    named = tuple(
        Target(name, None if classes is None else tuple(classes))
        for name, classes in json.loads(targets)
    )
    truth = as_numpy(values["value"]).reshape(len(named), n_rows).T
    truth = np.ascontiguousarray(truth[:, 0] if len(named) == 1 else truth)
    clusters = as_numpy(rows["cluster"]).astype(np.intp) if has_clusters else None
    return Solution(
        id_column=id_column,
        targets=named,
        columns=tuple(json.loads(columns)),
        kind=PredictionKind(kind),
        ids=pa.concat_arrays(rows["id"].cast(pa.string()).chunks),
        truth=truth if kind == PredictionKind.VALUE else truth.astype(np.intp),
        usage=as_numpy(rows["usage"]).astype(np.uint8),
        sha256=sha256,
        clusters=clusters,
    )
