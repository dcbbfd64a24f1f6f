"""Texts, and numbers beside the targets, in the store; and databases of an older version."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import StoreError, StoreFormatError
from arena.store import SCHEMA_VERSION, Incoming, Store
from arena.store.text_codes import select_texts
from arena.store.upgrade import upgrade
from arena.types import PredictionKind, Solution, Target
from competition_folder import add_positions
from thinned import examples

N_ROWS = 5
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


def _solution(n_columns: int = 1, kind: PredictionKind = PredictionKind.TEXT) -> Solution:
    names = tuple(f"y{i}" for i in range(n_columns))
    truth: Any = np.array([[f"t{i}{name}" for name in names] for i in range(N_ROWS)], dtype=object)
    if kind is not PredictionKind.TEXT:
        truth = np.arange(N_ROWS * n_columns, dtype=np.float64).reshape(N_ROWS, -1)
    return Solution(
        id_column="id",
        targets=tuple(Target(name, None) for name in names),
        columns=names,
        kind=kind,
        ids=pa.array([f"i{i}" for i in range(N_ROWS)]),
        truth=truth[:, 0] if n_columns == 1 else truth,
        usage=np.ones(N_ROWS, dtype=np.uint8),
        sha256="",
        extra={"event": np.arange(N_ROWS, dtype=np.float64), "age": np.full(N_ROWS, 0.5)},
    )


def _array(cells: list[Any]) -> Any:
    return np.array(cells, dtype=object)


def _read(store: Store, *submissions: int, **options: Any) -> Any:
    (block,) = [block for _, block in store.predictions(submissions, **options).blocks(10)]
    return block


@pytest.mark.slow
@given(st.lists(st.lists(TEXTS, min_size=N_ROWS, max_size=N_ROWS), min_size=1, max_size=4))
@settings(max_examples=examples(10))
def test_texts_come_back_as_they_were(submissions: list[list[str]]) -> None:
    with Store.open() as store:
        store.put_solution(_solution())
        for number, cells in enumerate(submissions):
            store.add_submission("t", "f", str(number), _array(cells)[:, np.newaxis])
        block = _read(store, *range(1, len(submissions) + 1))
        assert block.tolist() == submissions
        assert _read(store, 1, rows=np.array([3, 1])).tolist() == [
            [submissions[0][3], submissions[0][1]]
        ]


def test_several_columns_and_submissions_in_any_order() -> None:
    cells = [[[f"{s}{i}{c}" for c in "ab"] for i in range(N_ROWS)] for s in range(3)]
    with Store.open() as store:
        store.put_solution(_solution(2))
        store.add_submissions([Incoming("t", "f", str(s), _array(cells[s])) for s in range(3)])
        assert _read(store, 3, 1, 3).tolist() == [cells[2], cells[0], cells[2]]


@pytest.mark.few(1)
@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("kind", [PredictionKind.TEXT, PredictionKind.VALUE])
def test_a_solution_comes_back_with_all_that_it_had(
    tmp_path: Path, n_columns: int, kind: PredictionKind
) -> None:
    solution = _solution(n_columns, kind)
    with Store.open(tmp_path / "c.duckdb") as store:
        store.put_solution(solution)
    with Store.open(tmp_path / "c.duckdb") as store:
        stored = store.solution()
        store.put_solution(stored)
    assert stored.truth.dtype == solution.truth.dtype
    assert stored.truth.tolist() == solution.truth.tolist()
    assert {name: v.tolist() for name, v in stored.extra.items()} == {
        name: v.tolist() for name, v in solution.extra.items()
    }


@pytest.mark.parametrize("part", ["truth", "extra"])
def test_another_text_or_number_is_another_solution(part: str) -> None:
    solution = _solution()
    other = solution.truth.copy()
    other[0], other[1] = "t0y0t", "1y0"  # the same letters in a row
    changed: dict[str, Any] = {
        "truth": other,
        "extra": {**solution.extra, "age": np.zeros(N_ROWS)},
    }
    with Store.open() as store:
        store.put_solution(solution)
        with pytest.raises(StoreError, match="another solution"):
            store.put_solution(dataclasses.replace(solution, **{part: changed[part]}))


def test_numbers_are_no_texts_and_texts_no_numbers() -> None:
    for kind, values in (
        (PredictionKind.TEXT, np.zeros((N_ROWS, 1))),
        (PredictionKind.VALUE, _array(["a"] * N_ROWS)[:, np.newaxis]),
    ):
        with Store.open() as store:
            store.put_solution(_solution(1, kind))
            with pytest.raises(ValueError, match="solution needs"):
                store.add_submission("t", "f", "s", values)


def test_texts_are_kept_with_their_submission_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "c.duckdb"
    with Store.open(path) as store:
        store.put_solution(_solution())
        with pytest.raises(KeyboardInterrupt):
            _add_and_stop(store)
    with duckdb.connect(str(path)) as connection:
        counts = connection.execute("SELECT count(*) FROM texts WHERE text LIKE 'x%'").fetchall()
    assert counts == [(0,)]


def _add_and_stop(store: Store) -> None:
    with store.transaction() as transaction:
        cells = _array([f"x{i}" for i in range(N_ROWS)])[:, np.newaxis]
        transaction.add_submission(Incoming("t", "f", "s", cells))
        raise KeyboardInterrupt


def test_texts_that_are_gone_are_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "c.duckdb"
    with Store.open(path) as store:
        store.put_solution(_solution())
        store.add_submission("t", "f", "s", _array([*"abcde"])[:, np.newaxis])
    with duckdb.connect(str(path)) as connection:
        connection.execute("DELETE FROM texts WHERE text = 'c'")
    with Store.open(path) as store, pytest.raises(StoreFormatError, match="damaged"):
        _read(store, 1)


def test_what_is_no_code_of_a_text_is_damage() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE texts AS SELECT 7::BIGINT AS code, 'a' AS text")
        assert select_texts(connection, np.array([7.0, 7.0])).tolist() == ["a", "a"]
        for code in (np.nan, np.inf, -1e300, 1e20, 6.0, 8.0):
            with pytest.raises(StoreFormatError, match="damaged"):
                select_texts(connection, np.array([7.0, code]))
        # Three texts from 20 to 22, of which two have one code.
        connection.execute("INSERT INTO texts VALUES (20, 'x'), (22, 'y'), (22, 'z')")
        with pytest.raises(StoreFormatError, match="damaged"):
            select_texts(connection, np.array([20.0, 22.0]))
        largest = 2**53 - 1  # a float holds larger numbers only in part
        for code in (largest, largest + 1):
            connection.execute("INSERT INTO texts VALUES (?, 'z')", [code])
        assert select_texts(connection, np.array([float(largest)])).tolist() == ["z"]
        with pytest.raises(StoreFormatError, match="damaged"):
            select_texts(connection, np.array([float(largest + 1)]))


@pytest.mark.slow
@pytest.mark.parametrize("code", ["'nan'", "'inf'", "-1e300", "1e15", "0.5"])
@pytest.mark.parametrize("table", ["predictions", "labels"])
def test_codes_that_no_text_has_are_a_damaged_file(tmp_path: Path, table: str, code: str) -> None:
    path = tmp_path / "x.duckdb"
    with Store.open(path) as store:
        store.put_solution(_solution())
        store.add_submission("t", "f", "s", _array(list("abcde"))[:, np.newaxis])
        with store.transaction() as transaction:
            transaction.append_event("created", "host", {})
        assert store.audit() == ()
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"UPDATE {table} SET value = {code}::DOUBLE WHERE rowid = 1")  # noqa: S608
    with Store.open(path) as store:
        assert store.audit()


@pytest.mark.slow
def test_an_older_database_is_upgraded_on_record(tmp_path: Path) -> None:
    path = tmp_path / "c.duckdb"
    numbers = dataclasses.replace(_solution(1, PredictionKind.VALUE), extra={})
    values = np.arange(N_ROWS, dtype=np.float64)[:, np.newaxis]
    with Store.open(path) as store:
        store.put_solution(numbers)
        store.add_submission("t", "f", "s", values)
        made_now = _tables(store)
    with duckdb.connect(str(path)) as connection:
        for table in ("team_counts", "standings", "instances", "holders", "objects"):
            connection.execute(f"DROP TABLE {table}")
        add_positions(connection)
        connection.execute("ALTER TABLE events DROP COLUMN submission")
        connection.execute("DELETE FROM meta WHERE name = 'record_key'")
        connection.execute("UPDATE meta SET value = '2' WHERE name = 'schema_version'")
    with pytest.raises(StoreFormatError, match="arena upgrade"):
        Store.open(path)
    report = upgrade(path)
    assert (report.before, report.after) == (2, SCHEMA_VERSION)
    assert str(path) in report.sentence
    with Store.open(path) as store:
        assert store.verify_events() is None
        (event,) = store.events("upgrade")
        assert {**event.payload, "facts": None} == {
            "before": 2,
            "after": SCHEMA_VERSION,
            "facts": None,
        }
        assert store.audit() == ()
        np.testing.assert_array_equal(_read(store, 1), values.T)
        assert store.solution().truth.tolist() == numbers.truth.tolist()
        store.put_solution(numbers)
        assert _tables(store) == made_now
    assert upgrade(path).before == SCHEMA_VERSION


def _tables(store: Store) -> Any:
    """Return every column of every table, as the open store has it."""
    names = "table_name, column_name, data_type, is_nullable"
    query = f"SELECT {names} FROM duckdb_columns() ORDER BY 1, 2"  # noqa: S608
    with store.database.reading() as cursor:
        return cursor.execute(query).fetchall()


def test_tables_that_were_never_released_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.duckdb"
    Store.open(path).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE meta SET value = '1' WHERE name = 'schema_version'")
    for attempt in (upgrade, Store.open):
        with pytest.raises(StoreFormatError, match="never released"):
            attempt(path)


def test_a_newer_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "c.duckdb"
    Store.open(path).close()
    newer = str(SCHEMA_VERSION + 1)
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'schema_version'", [newer])
    with pytest.raises(StoreFormatError, match="newer arena"):
        upgrade(path)


@pytest.mark.slow
def test_predictions_out_of_order_are_not_upgraded(tmp_path: Path) -> None:
    """The order of the rows replaces the positions: it must be the same."""
    path = tmp_path / "c.duckdb"
    numbers = dataclasses.replace(_solution(1, PredictionKind.VALUE), extra={})
    with Store.open(path) as store:
        store.put_solution(numbers)
        store.add_submission("t", "f", "s", np.arange(float(N_ROWS))[:, np.newaxis])
    with duckdb.connect(str(path)) as connection:
        add_positions(connection)
        connection.execute("UPDATE predictions SET position = 1 - position WHERE position < 2")
        connection.execute("UPDATE meta SET value = '6' WHERE name = 'schema_version'")
    content = path.read_bytes()
    with pytest.raises(StoreFormatError, match="predictions of submission 1 are out of order"):
        upgrade(path)
    assert path.read_bytes() == content
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE predictions SET position = 1 - position WHERE position < 2")
    assert upgrade(path).before == 6
    with Store.open(path) as store:
        ((_, block),) = store.predictions([1]).blocks(1)
        assert block[0].tolist() == list(range(N_ROWS))
