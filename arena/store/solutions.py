"""Writes a solution to the tables and reads it back."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import numpy.typing as npt

from arena.errors import StoreError
from arena.store.arrow import as_arrow, as_numpy
from arena.store.digests import keyed_digest
from arena.store.statements import execute
from arena.store.text_codes import insert_texts, select_texts
from arena.store.timestamps import as_stored
from arena.types import (
    KNOWN_TARGET,
    ROW_PENDING,
    ROW_WEIGHTS,
    FloatArray,
    IntArray,
    PredictionKind,
    Solution,
    SolutionOutline,
    Target,
    Usage,
    usage_array,
)
from arena.utils.strict_json import parse_json

if TYPE_CHECKING:
    import pyarrow as pa
else:
    from arena.utils.lazy import pa


def fingerprint(solution: Solution) -> str:
    """Return a hash of the content of a solution, independent of its file format."""
    return hashlib.sha256(_content(solution, with_usage=True)).hexdigest()


def solution_digests(solution: Solution, key: bytes) -> dict[str, str]:
    """Return keyed digests of the labels with ids, groups and tasks, and of the usage of rows.

    The same labels give the same digest, independent of the file format.
    """
    parts = {"labels": _content(solution, with_usage=False), "usage": solution.usage.tobytes()}
    return {name: keyed_digest(key, part) for name, part in parts.items()}


_PARTS = {
    "solution_rows": ("position, id, usage, coalesce(cluster, -1) AS cluster", "solution_rows"),
    "truth": ("target, position, value", "labels"),
    "solution_extra": ("name, position, value", "solution_extra"),
    "solution_tasks": ("position, task", "(FROM solution_rows WHERE task IS NOT NULL)"),
    "solution_soft_labels": ("class, position, value", "solution_soft_labels"),
}
"""The parts of a solution's rows by their names in digests: their columns, in the order in which
they are read, and their table. Two names are of tables of earlier versions: digests stay valid."""


def tables_digest(cursor: duckdb.DuckDBPyConnection, number: int, key: bytes) -> str:
    """Return the digest of a solution's rows in every table, as stored.

    It also detects changed positions and codes that give the same solution when read.
    """
    digest = hmac.new(key, digestmod="sha256")
    for part, (columns, table) in _PARTS.items():
        if _is_empty(cursor, part, number):
            digest.update(f"{part} 0\n".encode())
            continue
        order = ", ".join(name for name in ("target", "name", "class") if name in columns)
        order = f"{order}, position" if order else "position"
        query = f"SELECT {columns} FROM {table} WHERE solution = ? ORDER BY {order}"  # noqa: S608
        read: Any = cursor.sql(query, params=[number]).to_arrow_table()
        digest.update(f"{part} {len(read)}\n".encode())
        for name, column in zip(read.column_names, read.columns, strict=True):
            if name == "usage":
                digest.update(usage_array(as_numpy(column)).tobytes())
                continue
            if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
                digest.update(as_numpy(column).tobytes())
                continue
            texts = [text.encode() for text in column.to_pylist()]
            digest.update(np.array([len(text) for text in texts], dtype="<i8").tobytes())
            digest.update(b"".join(texts))
    return digest.hexdigest()


def _is_empty(cursor: duckdb.DuckDBPyConnection, part: str, number: int) -> bool:
    """Return whether no row of a solution has a part, in a third of the time of reading it."""
    _, table = _PARTS[part]
    query = f"SELECT 1 FROM {table} WHERE solution = ? LIMIT 1"  # noqa: S608
    return not execute(cursor, query, [number]).fetchall()


def _content(solution: Solution, *, with_usage: bool) -> bytes:
    ids = solution.ids.to_pylist()
    texts = solution.truth.reshape(-1).tolist() if solution.kind is PredictionKind.TEXT else []
    parts = [_lengths(ids), _lengths(texts) if texts else solution.truth]
    parts += [solution.usage] * with_usage
    if solution.clusters is not None:
        parts.append(solution.clusters)
    parts += [solution.extra[name] for name in sorted(solution.extra)]
    if solution.tasks is not None:
        parts += [solution.tasks, _lengths(list(solution.task_names))]
    if solution.soft_labels is not None:
        parts.append(solution.soft_labels)
    named = [*sorted(solution.extra), *solution.task_names]
    header = json.dumps([*_header(solution)]) + "".join([*ids, *texts, *named])
    return b"".join([header.encode(), *(np.ascontiguousarray(part).tobytes() for part in parts)])


def _lengths(texts: list[str]) -> npt.NDArray[np.int64]:
    return np.array([len(text.encode()) for text in texts], dtype=np.int64)


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
    *,
    rows_added: bool,
) -> bool:
    """Store a solution under a number, inside a transaction; False if it is already stored.

    ``rows_added``: whether it may have more rows than the one before, after those of that one.

    Raises
    ------
    StoreError
        If another one is stored under this number, or its rows differ from the one before.
    ValueError
        If a number is skipped.
    """
    query = "SELECT solution, fingerprint FROM solutions"
    numbers: dict[int, str] = dict(execute(cursor, query).fetchall())
    if number in numbers:
        if numbers[number] != fingerprint(solution):
            raise StoreError(
                f"The database '{path}' has another solution, or the same one read "
                "for another kind of prediction: choose another file with --db."
            )
        return False
    if number != len(numbers) + 1:
        raise ValueError(f"the next solution is number {len(numbers) + 1}, not {number}")
    last = select_solution(cursor, len(numbers))
    if last is not None:
        _check_same_rows(solution, last, path, rows_added=rows_added)
    insert_solution(cursor, number, solution=solution, metric=metric, stored=as_stored(time))
    return True


def no_solution(path: Path) -> StoreError:
    """Return the error that there is no solution."""
    return StoreError(f"The database '{path}' has no solution: store one first.")


def _check_same_rows(solution: Solution, before: Solution, path: Path, *, rows_added: bool) -> None:
    """Refuse other rows: stored predictions are in the row order of the solution before."""
    ids = solution.ids[: before.n_rows] if rows_added else solution.ids
    same = {
        "ids or their order": ids.equals(before.ids),
        "columns": solution.columns == before.columns,
        "targets and labels": solution.targets == before.targets,
        "kind of prediction": _stored_as(solution.kind) == _stored_as(before.kind),
    }
    for name, is_same in same.items():
        if not is_same:
            raise StoreError(
                f"The corrected solution and the one in the database '{path}' differ in {name}: "
                "the submissions cannot be scored with it. Start another competition."
            )


def _stored_as(kind: PredictionKind) -> str:
    coded = (PredictionKind.LABEL, PredictionKind.TEXT)
    return kind.value if kind in coded else "number"


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
    row += [json.dumps(solution.row_sets) if solution.row_sets else None]
    execute(cursor, "INSERT INTO solutions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
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
            "task": pa.nulls(len(positions), pa.string())
            if solution.tasks is None
            else pa.array(solution.task_names, pa.string()).take(as_arrow(solution.tasks)),
        }
    )
    _append(cursor, "solution_rows", number, rows)
    _insert_labels(cursor, number, solution, positions)
    _insert_beside(cursor, number, solution, positions)


def _insert_labels(
    cursor: duckdb.DuckDBPyConnection,
    number: int,
    solution: Solution,
    positions: npt.NDArray[np.int32],
) -> None:
    truth = solution.truth.reshape(solution.n_rows, -1)
    for target in range(truth.shape[1]):
        numbers = np.full(len(positions), target, dtype=np.int32)
        is_text = solution.kind is PredictionKind.TEXT
        values = insert_texts(cursor, truth[:, target]) if is_text else truth[:, target]
        columns = {"target": numbers, "position": positions, "value": values.astype(np.float64)}
        _append(cursor, "labels", number, _table(columns))


def _insert_beside(
    cursor: duckdb.DuckDBPyConnection,
    number: int,
    solution: Solution,
    positions: npt.NDArray[np.int32],
) -> None:
    """Append the optional parts of a solution: extra columns and soft labels."""
    for name, values in solution.extra.items():
        names = pa.array([name]).take(pa.nulls(len(positions), pa.int32()).fill_null(0))
        table = pa.table(
            {"name": names, "position": as_arrow(positions), "value": as_arrow(values)}
        )
        _append(cursor, "solution_extra", number, table)
    if solution.soft_labels is not None:
        for code, values in enumerate(solution.soft_labels.reshape(len(positions), -1).T):
            codes = np.full(len(positions), code, dtype=np.int32)
            columns = {"class": codes, "position": positions, "value": np.ascontiguousarray(values)}
            _append(cursor, "solution_soft_labels", number, _table(columns))


def _table(columns: Mapping[str, Any]) -> pa.Table:
    return pa.table({name: as_arrow(column) for name, column in columns.items()})


def _append(cursor: duckdb.DuckDBPyConnection, table: str, number: int, rows: pa.Table) -> None:
    cursor.register("incoming_rows", rows)
    execute(cursor, f"INSERT INTO {table} SELECT {number}, * FROM incoming_rows")  # noqa: S608
    cursor.unregister("incoming_rows")


def select_solution(cursor: duckdb.DuckDBPyConnection, number: int) -> Solution | None:
    """Return the solution of a number, or None."""
    solution_rows = execute(
        cursor,
        "SELECT id_column, kind, columns, targets, has_clusters, sha256, row_sets "
        "FROM solutions WHERE solution = ?",
        [number],
    ).fetchall()
    if not solution_rows:
        return None
    id_column, kind, columns, targets, has_clusters, sha256, row_sets = solution_rows[0]
    rows: Any = cursor.sql(
        "SELECT id, usage, cluster FROM solution_rows WHERE solution = ? ORDER BY position",
        params=[number],
    ).to_arrow_table()
    named = tuple(
        Target(name, None if classes is None else tuple(classes))
        for name, classes in parse_json(targets)
    )
    clusters = as_numpy(rows["cluster"]).astype(np.intp) if has_clusters else None
    tasks, task_names = _select_tasks(cursor, number)
    return Solution(
        id_column=id_column,
        targets=named,
        columns=tuple(parse_json(columns)),
        kind=PredictionKind(kind),
        ids=pa.concat_arrays(_texts(rows["id"]).chunks),
        truth=_select_truth(cursor, number, PredictionKind(kind), len(named)),
        usage=usage_array(as_numpy(rows["usage"])),
        sha256=sha256,
        clusters=clusters,
        extra=_select_extra(cursor, number),
        tasks=tasks,
        task_names=task_names,
        soft_labels=_select_soft_labels(cursor, number, len(rows)),
        row_sets=tuple(parse_json(row_sets)) if row_sets else (),
    )


def select_outline(cursor: duckdb.DuckDBPyConnection, number: int) -> SolutionOutline | None:
    """Return the solution of a number as it is scored now, without its rows, or None."""
    query = """
        SELECT targets, kind,
            (SELECT count(*) FROM solution_rows AS row WHERE solution = $1 AND usage = $2
                AND NOT EXISTS (FROM solution_extra AS flag WHERE solution = $1 AND name = $5
                                AND flag.position = row.position AND value > 0)),
            EXISTS (SELECT 1 FROM solution_extra WHERE solution = $1 AND name = $3),
            EXISTS (SELECT 1 FROM solution_extra WHERE solution = $1 AND starts_with(name, $4))
        FROM solutions WHERE solution = $1
    """
    parameters = [number, int(Usage.PUBLIC), ROW_WEIGHTS, KNOWN_TARGET, ROW_PENDING]
    rows = execute(cursor, query, parameters).fetchall()
    if not rows:
        return None
    ((targets, kind, n_public, weighted, gaps),) = rows
    classes = tuple(
        None if outline is None else tuple(outline) for _, outline in parse_json(targets)
    )
    return SolutionOutline(
        n_public, classes, weighted=weighted, gaps=gaps, kind=PredictionKind(kind)
    )


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    # A cast imports pyarrow.compute, even if there is nothing to cast.
    return column if column.type == pa.string() else column.cast(pa.string())


def _select_truth(
    cursor: duckdb.DuckDBPyConnection, number: int, kind: PredictionKind, n_targets: int
) -> npt.NDArray[Any]:
    query = "SELECT value FROM labels WHERE solution = ? ORDER BY target, position"
    read: Any = cursor.sql(query, params=[number]).to_arrow_table()
    values = as_numpy(read["value"]).reshape(n_targets, -1)
    if kind is PredictionKind.TEXT:
        truth: npt.NDArray[Any] = np.stack([select_texts(cursor, codes) for codes in values])
    else:
        truth = values if kind is PredictionKind.VALUE else values.astype(np.intp)
    return np.ascontiguousarray(truth[0] if n_targets == 1 else truth.T)


def _select_extra(cursor: duckdb.DuckDBPyConnection, number: int) -> dict[str, FloatArray]:
    if _is_empty(cursor, "solution_extra", number):
        return {}
    query = "SELECT DISTINCT name FROM solution_extra WHERE solution = ? ORDER BY name"
    names = [name for (name,) in execute(cursor, query, [number]).fetchall()]
    query = "SELECT value FROM solution_extra WHERE solution = ? AND name = ? ORDER BY position"
    tables: list[Any] = [
        cursor.sql(query, params=[number, name]).to_arrow_table() for name in names
    ]
    return {name: as_numpy(t["value"]) for name, t in zip(names, tables, strict=True)}


def _select_tasks(
    cursor: duckdb.DuckDBPyConnection, number: int
) -> tuple[IntArray | None, tuple[str, ...]]:
    """Return task codes and task names in order of first occurrence; without tasks None and ()."""
    if _is_empty(cursor, "solution_tasks", number):
        return None, ()
    query = "SELECT task FROM solution_rows WHERE solution = ? ORDER BY position"
    read: Any = cursor.sql(query, params=[number]).to_arrow_table()
    coded = read["task"].combine_chunks().dictionary_encode()
    return coded.indices.to_numpy().astype(np.intp), tuple(coded.dictionary.to_pylist())


def _select_soft_labels(
    cursor: duckdb.DuckDBPyConnection, number: int, n_rows: int
) -> FloatArray | None:
    if _is_empty(cursor, "solution_soft_labels", number):
        return None
    query = "SELECT value FROM solution_soft_labels WHERE solution = ? ORDER BY class, position"
    read: Any = cursor.sql(query, params=[number]).to_arrow_table()
    values = as_numpy(read["value"]).reshape(-1, n_rows)
    return np.ascontiguousarray(values[0] if len(values) == 1 else values.T)
