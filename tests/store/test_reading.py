"""Predictions are read back whole and in order, whichever submissions are asked for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena.evaluation.similar import Comparison, similar_submissions
from arena.store import Incoming, Store, audit
from arena.store import prediction_table as reading
from arena.types import PredictionKind, Solution, Target
from arena.utils.memory import return_freed_memory


def solution_of(n_rows: int) -> Solution:
    return Solution(
        id_column="id",
        targets=(Target("y", ("0", "1")),),
        columns=("y",),
        kind=PredictionKind.LABEL,
        ids=pa.array([str(row) for row in range(n_rows)]),
        truth=np.zeros(n_rows, dtype=np.intp),
        usage=np.ones(n_rows, dtype=np.uint8),
        sha256="0",
    )


@pytest.mark.slow
@pytest.mark.parametrize("submissions", [[1, 2, 3, 4, 5], [4, 2, 5]])
def test_a_batch_that_ends_within_a_submission_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, submissions: list[int]
) -> None:
    monkeypatch.setattr(reading, "BATCH_ROWS", 2048)
    values = np.random.default_rng(1).integers(0, 2, size=(5, 1500, 1)).astype(float)
    with Store.open(tmp_path / "a.duckdb") as store:
        store.put_solution(solution_of(1500))
        store.add_submissions(
            [
                Incoming("t", f"{n}", f"{n}", predictions)
                for n, predictions in enumerate(values, start=1)
            ]
        )
        ((_, block),) = store.predictions(submissions).blocks(9)
    np.testing.assert_array_equal(block, values[np.array(submissions) - 1, :, 0])


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [1, 48, 1000, 2040, 3000])
def test_any_choice_of_submissions_is_read_back(tmp_path: Path, n_rows: int) -> None:
    """A list of ids would become a join, which gave the rows in another order now and then."""
    rng = np.random.default_rng(n_rows)
    values = rng.integers(0, 2, size=(60, n_rows)).astype(float)
    with Store.open(tmp_path / "a.duckdb") as store:
        store.put_solution(solution_of(n_rows))
        for first in range(0, 60, 16):
            store.add_submissions(
                [
                    Incoming(f"t{number}", "f", f"{number}", values[number][:, np.newaxis])
                    for number in range(first, min(first + 16, 60))
                ]
            )
        everything = store.predictions(np.arange(1, 61))
        for _ in range(25):
            chosen = rng.choice(60, size=rng.integers(1, 40), replace=False)
            if rng.random() < 0.5:
                chosen.sort()
            (_, block), *more = everything.subset(chosen).blocks(60)
            assert not more
            np.testing.assert_array_equal(block, values[chosen])


def test_scattered_submissions_are_sorted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_RUNS", 2)
    values = np.random.default_rng(0).integers(0, 2, size=(9, 100)).astype(float)
    with Store.open(tmp_path / "a.duckdb") as store:
        store.put_solution(solution_of(100))
        store.add_submissions(
            [
                Incoming(f"t{row}", "f", f"{row}", value[:, np.newaxis])
                for row, value in enumerate(values)
            ]
        )
        (_, block), *_ = store.predictions([1, 3, 5, 9]).blocks(9)
        np.testing.assert_array_equal(block, values[[0, 2, 4, 8]])


def test_rows_that_come_in_another_order_are_sorted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = reading.query_of_runs
    monkeypatch.setattr(reading, "query_of_runs", lambda runs: query(runs) + " ORDER BY rowid DESC")
    values = np.random.default_rng(0).integers(0, 2, size=(3, 100)).astype(float)
    with Store.open(tmp_path / "a.duckdb") as store:
        store.put_solution(solution_of(100))
        store.add_submissions(
            [
                Incoming(f"t{row}", "f", f"{row}", value[:, np.newaxis])
                for row, value in enumerate(values)
            ]
        )
        (_, block), *_ = store.predictions([1, 2, 3]).blocks(9)
        np.testing.assert_array_equal(block, values)


@pytest.mark.slow
def test_an_audit_reads_every_prediction_once_and_compares_them_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(0).integers(0, 2, size=(6, 100)).astype(float)
    values[4] = values[1]
    monkeypatch.setattr(audit, "block_size", lambda cells: 4)
    counts: Counter[int] = Counter()
    read = reading.TableReader.read

    def counted(self: Any, submissions: Any, rows: Any) -> Any:
        counts.update(submissions.tolist())
        return read(self, submissions, rows)

    with Store.open(tmp_path / "a.duckdb") as store:
        store.put_solution(solution_of(100))
        incoming = [
            Incoming(f"t{row}", "f", f"{row}", value[:, np.newaxis])
            for row, value in enumerate(values)
        ]
        with store.transaction() as transaction:
            transaction.add_submissions(incoming)
            transaction.append_event("imported", "host", {})
        comparison = Comparison()
        with monkeypatch.context() as patched:
            patched.setattr(reading.TableReader, "read", counted)
            assert store.audit(compare=comparison) == ()
        assert counts == dict.fromkeys(range(1, 7), 1)
        teams = [f"t{number}" for number in range(6)]
        groups = comparison.similar(teams)
        stored = store.predictions(range(1, 7))
        assert groups == similar_submissions(stored, range(1, 7), teams, PredictionKind.LABEL)
        assert groups[0].submissions == (2, 5)


def test_what_is_read_once_is_not_kept(tmp_path: Path) -> None:
    """The limit of the memory is as before afterwards, also if reading fails."""
    values = np.random.default_rng(0).integers(0, 2, size=(20, 500)).astype(float)

    def limit() -> Any:
        with store.database.reading() as cursor:
            return cursor.execute("SELECT current_setting('memory_limit')").fetchone()

    with Store.open(tmp_path / "a.duckdb") as store:
        store.put_solution(solution_of(500))
        store.add_submissions(
            [
                Incoming(f"t{position}", "f", f"{position}", row_values[:, np.newaxis])
                for position, row_values in enumerate(values)
            ]
        )
        usual = limit()
        with store.reading_once():
            assert limit() != usual
            _, block = next(store.predictions(np.arange(1, 21)).blocks(20))
        assert (block == values).all()
        assert limit() == usual
        with pytest.raises(ZeroDivisionError), store.reading_once():
            raise ZeroDivisionError
        assert limit() == usual


def test_a_smaller_limit_of_memory_stays_after_a_read(tmp_path: Path) -> None:
    def limit() -> Any:
        with store.database.reading() as cursor:
            return cursor.execute("SELECT current_setting('memory_limit')").fetchone()[0]

    with Store.open(tmp_path / "a.duckdb") as store:
        usual = limit()
        for size, limit_text in ((0, "122.0 MiB"), (512 * 2**20, "512.0 MiB"), (10**12, usual)):
            store.limit_memory(size)
            assert limit() == limit_text
            with store.reading_once():
                assert limit() == "122.0 MiB"
            assert limit() == limit_text


@pytest.mark.slow
def test_equal_predictions_are_known_from_the_record(tmp_path: Path) -> None:
    """Whether one event recorded them or several did; without a record nothing is known."""
    values = np.random.default_rng(1).integers(0, 2, size=(7, 30)).astype(float)
    values[3] = values[5] = values[1]
    values[6] = values[0]
    with Store.open(tmp_path / "a.duckdb") as store:
        store.put_solution(solution_of(30))
        incoming = [
            Incoming(f"t{row}", "f", f"{row}", value[:, np.newaxis])
            for row, value in enumerate(values)
        ]
        for part in (incoming[:3], incoming[3:6]):
            with store.transaction() as transaction:
                transaction.add_submissions(part)
                transaction.append_event("imported", "host", {})
        with store.transaction() as transaction:
            transaction.add_submissions(incoming[6:])
        assert store.first_equal(range(1, 8)).tolist() == [0, 1, 2, 1, 4, 1, 6]
        assert store.first_equal([6, 4, 3]).tolist() == [0, 0, 2]
        with store.database.reading() as cursor:  # changed by another program
            cursor.execute("UPDATE events SET payload = '{' WHERE sequence = 1")
            cursor.execute("""UPDATE events SET payload = '{"facts":{"predictions":{"x":"y"}}}'
                              WHERE sequence = 2""")
        assert store.first_equal(range(1, 8)).tolist() == list(range(7))


def test_some_records_are_read_alone(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.duckdb") as store:
        store.put_solution(solution_of(2))
        store.add_submissions(
            [Incoming(f"t{number % 2}", "f", f"{number}", np.zeros((2, 1))) for number in range(5)]
        )
        every = store.submissions()
        assert store.submissions(numbers={4, 2, 99}) == (every[1], every[3])
        assert store.submissions("t1", numbers={2, 3}) == (every[1],)
        assert store.submissions(numbers=()) == ()


def test_memory_given_back_is_taken_again(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.duckdb") as store:
        database = store.database

        def limit() -> str:
            with database.reading() as cursor:
                return str(cursor.sql("SELECT current_setting('memory_limit')").fetchall()[0][0])

        before = limit()
        return_freed_memory()
        assert limit() == before
        with store.reading_once():
            within = limit()
            return_freed_memory()
            assert limit() == within != before
        assert limit() == before
    return_freed_memory()  # a closed database is passed over
