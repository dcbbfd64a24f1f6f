"""What is put into a store comes out of it, in its order, after it was closed as well."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import StoreError, StoreFormatError
from arena.evaluation.predictions import ArrayPredictions
from arena.interfaces import PredictionBlocks
from arena.store import Incoming, Store, submissions
from arena.store.solutions import insert_solution, tables_digest
from arena.types import Fault, PredictionKind, Solution, Target
from thinned import examples

FAULT = Fault("empty cell", "The cell is «empty».", row=3, id="007", column="é")


def _values(solution: Solution, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((solution.n_rows, len(solution.columns)))


def _assert_equal(actual: Solution, expected: Solution) -> None:
    for name in ("id_column", "targets", "columns", "kind", "sha256"):
        assert getattr(actual, name) == getattr(expected, name)
    assert actual.ids.equals(expected.ids)
    assert actual.task_names == expected.task_names
    for name in ("truth", "usage", "clusters", "soft_labels", "tasks"):
        mine, theirs = getattr(actual, name), getattr(expected, name)
        if mine is None:
            assert theirs is None
            continue
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


def test_solution_comes_back_equal(database: Path, solution: Solution) -> None:
    solution = replace(solution, soft_labels=np.linspace(0.0, 1.0, 15).reshape(5, 3))
    with Store.open(database) as store:
        store.put_solution(solution)
    with Store.open(database, create=False) as again:
        _assert_equal(again.solution(), solution)


@pytest.mark.parametrize("several", [False, True])
def test_solution_of_numbers_comes_back_equal(solution: Solution, several: bool) -> None:
    truth = np.array([[1.5, -0.0], [1e300, 5e-324], [3, 4], [5, 6], [0.1, 0.3]])
    numbers = replace(
        solution,
        targets=tuple(Target(name, None) for name in ("p", "q")[: 1 + several]),
        columns=("p", "q")[: 1 + several],
        kind=PredictionKind.VALUE,
        truth=truth if several else truth[:, 0].copy(),
        clusters=None,
        soft_labels=None if several else np.linspace(0.0, 1.0, 5),
        tasks=None if several else np.array([0, 1, 1, 0, 2]),
        task_names=() if several else ("t", "s", "u"),
    )
    with Store.open() as store:
        store.put_solution(numbers)
        store._solutions.clear()
        _assert_equal(store.solution(), numbers)


EDITS_OF_A_SOLUTION = (
    *(
        f"UPDATE {table} SET {column} = {value} WHERE position = 0"  # noqa: S608
        for table, values in {
            "solution_rows": {"id": "'other'", "usage": "2", "cluster": "9", "position": "9"},
            "labels": {"value": "9", "target": "1"},
            "solution_extra": {"value": "9", "name": "'other'"},
            "solution_soft_labels": {"value": "9", "class": "9"},
        }.items()
        for column, value in values.items()
    ),
    "UPDATE solution_rows SET task = 'lung' WHERE position = 1",
)


def test_every_cell_of_a_solution_counts_in_its_digest(solution: Solution) -> None:
    """It has no tasks at first, and soft labels, which are read after them."""
    soft_labels = np.linspace(0.0, 1.0, 15).reshape(5, 3)
    with Store.open() as store, store.database.transaction() as cursor:
        insert_solution(
            cursor,
            1,
            solution=replace(solution, extra={"age": np.arange(5.0)}, soft_labels=soft_labels),
            metric=None,
            stored=datetime(2026, 1, 1),
        )
        before = tables_digest(cursor, 1, b"key")
        for edit in EDITS_OF_A_SOLUTION:
            cursor.execute(edit)
            after = tables_digest(cursor, 1, b"key")
            assert before != after, edit
            before = after


def test_equal_solution_is_put_once_and_another_is_refused(
    store: Store, solution: Solution
) -> None:
    recorded = []
    for _ in range(2):
        store.put_solution(replace(solution, sha256="cd" * 32))
        with store.transaction() as transaction:
            event = transaction.append_event("note", "host", payload={})
        recorded.append("solutions" in event.payload.get("facts", {}))
    assert recorded == [True, False]
    assert store.solution().columns == solution.columns
    for other in (
        replace(solution, truth=np.array([0, 2, 1, 0, 1])),
        replace(solution, usage=np.ones(5, dtype=np.uint8)),
        replace(solution, clusters=None),
        replace(solution, kind=PredictionKind.SCORE),
        replace(solution, ids=pa.array(["00", "77", "a b", "ü", "\U0001f600"])),
    ):
        with pytest.raises(StoreError, match="another solution.* --db"):
            store.put_solution(other)


def test_a_corrected_solution_has_the_same_rows_unless_rows_are_added(
    store: Store, solution: Solution
) -> None:
    longer = replace(
        solution,
        ids=pa.concat_arrays([solution.ids, pa.array(["8"])]),
        truth=np.append(solution.truth, 1),
        usage=np.append(solution.usage, np.uint8(1)),
        clusters=None,
    )
    with store.transaction() as transaction:
        with pytest.raises(StoreError, match="differ in ids or their order"):
            transaction.put_solution(longer, number=2)
        transaction.add_rows(longer, "accuracy", 2)
    assert store.solution().n_rows == 6


def test_store_without_a_solution_says_so() -> None:
    with Store.open() as store, pytest.raises(StoreError, match="has no solution"):
        store.solution()


def test_records_come_back_as_they_were_given(
    store: Store, database: Path, solution: Solution
) -> None:
    received = datetime(2026, 3, 1, 12, 30, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    first = store.add_submission("a", "a.csv", "11", _values(solution, 1), received=received)
    second = store.add_submission("<b>", "b/ü.csv", "22", None, (FAULT,))
    assert (first.submission, first.status) == (1, "accepted")
    assert first.received == "2026-03-01T10:30:00.000005+00:00"
    assert (second.submission, second.status, second.faults) == (2, "rejected", (FAULT,))
    assert abs(datetime.fromisoformat(second.received) - datetime.now(UTC)) < timedelta(minutes=30)
    store.close()
    with Store.open(database) as again:
        assert again.submissions() == (first, second)


def test_repeated_submission_is_the_first_one(store: Store, solution: Solution) -> None:
    first = store.add_submission("a", "1.csv", "11", _values(solution, 1))
    assert store.add_submission("a", "2.csv", "11", _values(solution, 2)) == first
    assert store.add_submission("b", "1.csv", "11", _values(solution, 1)).submission == 2
    assert store.add_submission("a", "1.csv", "11", _values(solution, 1), key="k").submission == 3
    again = store.add_submission("a", "9.csv", "99", _values(solution, 9), key="k")
    assert (again.submission, again.file) == (3, "1.csv")
    (_, block), *_ = store.predictions([1]).blocks(1)
    np.testing.assert_array_equal(block[0], _values(solution, 1))
    assert len(store.submissions()) == 3


def test_files_that_could_not_be_read_are_told_apart(store: Store) -> None:
    first = store.add_submission("a", "1.csv", "", None, (FAULT,))
    assert store.add_submission("a", "1.csv", "", None, (FAULT,)) == first
    assert store.add_submission("a", "2.csv", "", None, (FAULT,)).submission == 2
    other = replace(FAULT, kind="pipe")
    assert store.add_submission("a", "1.csv", "", None, (other,)).submission == 3


def test_rejected_submission_leaves_its_record_only(store: Store, solution: Solution) -> None:
    store.add_submission("a", "a.csv", "1", _values(solution, 1), (FAULT,))
    with store.database.reading() as cursor:
        assert cursor.execute("SELECT count(*) FROM predictions").fetchall() == [(0,)]
    with pytest.raises(StoreError, match="Submission 1 was not accepted"):
        store.predictions([1])
    with pytest.raises(StoreError, match="Submission 7 was not accepted or is not in"):
        store.predictions([7])


def test_many_at_once_are_stored_together_or_not_at_all(store: Store, solution: Solution) -> None:
    incoming = [Incoming(f"t{i}", "f", f"{i % 3}", _values(solution, i)) for i in range(5)]
    records = store.add_submissions([*incoming, incoming[0], Incoming("x", "f", "s", None)])
    assert [record.submission for record in records] == [1, 2, 3, 4, 5, 1, 6]
    broken = Incoming("y", "f", "s", np.zeros((2, 3)))
    with pytest.raises(ValueError, match="shape"):
        store.add_submissions([Incoming("z", "f", "s", _values(solution, 1)), broken])
    with pytest.raises(ValueError, match="finite"):
        store.add_submission("y", "f", "s", np.full((5, 3), np.nan))
    assert len(store.submissions()) == 6


def test_interrupted_transaction_leaves_nothing(
    store: Store, solution: Solution, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("arena.store.prediction_table.PredictionTable.insert", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.add_submission("a", "a.csv", "1", _values(solution, 1))
    assert store.submissions() == ()
    assert store.add_submission("a", "a.csv", "1", _values(solution, 1)).submission == 1


# -- predictions -------------------------------------------------------------------------------


def _filled(solution: Solution, m: int) -> tuple[Store, np.ndarray]:
    store = Store.open()
    store.put_solution(solution)
    values = np.stack([_values(solution, seed) for seed in range(m)])
    for i in range(m):
        rejected = Incoming(f"rejected{i}", "f", "s", None)
        store.add_submissions([rejected, Incoming(f"t{i}", "f", "s", values[i])])
    return store, values


@pytest.mark.slow
@settings(max_examples=examples(20))
@given(data=st.data())
def test_blocks_hold_the_chosen_submissions_and_rows(data: st.DataObject) -> None:
    n_columns = data.draw(st.integers(1, 3))
    solution = Solution(
        id_column="id",
        targets=tuple(Target(f"y{j}", None) for j in range(n_columns)),
        columns=tuple(f"y{j}" for j in range(n_columns)),
        kind=PredictionKind.VALUE,
        ids=pa.array(list("abcde")),
        truth=np.zeros((5, n_columns))[:, : None if n_columns > 1 else 1].squeeze(),
        usage=np.ones(5, dtype=np.uint8),
        sha256="",
    )
    store, values = _filled(solution, 6)
    with store:
        chosen = np.array(data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=8)))
        rows = data.draw(
            st.none()
            | st.lists(st.integers(0, 4), unique=True).map(lambda r: np.array(r, dtype=np.intp))
            | st.lists(st.booleans(), min_size=5, max_size=5).map(np.array)
        )
        size = data.draw(st.integers(1, 7))
        predictions = store.predictions(2 * chosen + 2, rows)
        expected = values[chosen] if rows is None else values[chosen][:, rows]
        expected = expected[:, :, 0] if n_columns == 1 else expected
        assert isinstance(predictions, PredictionBlocks)
        assert predictions.n_submissions == len(chosen)
        starts, blocks = zip(*predictions.blocks(size), strict=True)
        assert starts == tuple(range(0, len(chosen), size))
        np.testing.assert_array_equal(np.concatenate(blocks), expected)
        assert all(block.flags.c_contiguous for block in blocks)
        in_memory = ArrayPredictions(expected)
        part = np.array([len(chosen) - 1, 0])
        for one, other in zip(
            predictions.subset(part).blocks(1), in_memory.subset(part).blocks(1), strict=True
        ):
            assert one[0] == other[0]
            np.testing.assert_array_equal(one[1], other[1])


def test_labels_come_back_as_codes(solution: Solution) -> None:
    labels = replace(solution, kind=PredictionKind.LABEL, columns=("y",))
    with Store.open() as store:
        store.put_solution(labels)
        store.add_submission("a", "f", "s", np.array([[0.0], [1], [2], [1], [0]]))
        ((_, block),) = store.predictions([1], rows=np.array([3, 2])).blocks(5)
    assert block.dtype == np.intp
    assert block.tolist() == [[1, 2]]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM predictions WHERE rowid = 19",
        "CREATE TABLE x AS FROM predictions WHERE rowid = 19; "
        "DELETE FROM predictions WHERE rowid = 19; "
        "INSERT INTO predictions FROM x; DROP TABLE x",
        "INSERT INTO predictions VALUES (2, 0.5)",
        "UPDATE predictions SET submission = 1 WHERE submission = 2",
    ],
)
def test_damaged_predictions_are_noticed(
    store: Store, database: Path, solution: Solution, damage: str
) -> None:
    for i in range(3):
        store.add_submission(f"t{i}", "f", "s", _values(solution, i))
    store.close()
    with duckdb.connect(str(database)) as connection:
        connection.execute(damage)
    with Store.open(database) as again:
        with pytest.raises(StoreFormatError, match="incomplete or out of order"):
            list(again.predictions([1, 2, 3]).blocks(3))
        with pytest.raises(StoreFormatError, match="incomplete or out of order"):
            list(again.predictions([2, 3, 1]).blocks(1))


@pytest.mark.slow
def test_threads_write_and_read_at_once(store: Store) -> None:
    def work(i: int) -> int:
        record = store.add_submission(f"t{i}", "f", "s", np.full((5, 3), float(i)))
        ((_, block),) = store.predictions([record.submission]).blocks(1)
        assert (block == i).all()
        return record.submission

    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(work, range(40)))
    assert sorted(numbers) == list(range(1, 41))
    by_team = {record.team: record.submission for record in store.submissions()}
    for i, number in enumerate(numbers):
        assert by_team[f"t{i}"] == number
    (_, block), *_ = store.predictions(numbers).blocks(40)
    np.testing.assert_array_equal(block[:, 0, 0], np.arange(40))


@pytest.mark.slow
def test_two_stores_of_one_file_in_one_process_share_its_lock(
    store: Store, database: Path, solution: Solution
) -> None:
    with Store.open(database) as other, ThreadPoolExecutor(4) as pool:
        stores = [store, other] * 10
        add = lambda i: stores[i].add_submission(f"t{i}", "f", "s", _values(solution, i))  # noqa: E731
        records = list(pool.map(add, range(20)))
    assert sorted(record.submission for record in records) == list(range(1, 21))


def test_of_teams_that_sent_the_same_file_only_those_asked_for_are_read(
    store: Store, solution: Solution
) -> None:
    """A sample submission is sent by every team: their records are not read at each submission."""
    store.add_submissions(
        [Incoming(f"t{i}", "f", "same", _values(solution, 0)) for i in range(5)]
        + [Incoming("t1", "f", "other", _values(solution, 1))]
    )
    with store.database.reading() as cursor:
        names = [(team, "", "same") for team in ("t1", "t3", "t9")]
        records = submissions.find_submissions(cursor, names)
    assert {name: record.submission for name, record in records.items()} == {
        ("t1", "", "same"): 2,
        ("t3", "", "same"): 4,
    }
