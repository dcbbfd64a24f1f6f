"""What a transaction notes to be recorded, and which cells of a row a digest covers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from arena.store import ScoreRecord, Store
from arena.store.facts import Facts, all_facts, numbers_of, numbers_text, recorded_cells
from arena.types import Release
from submit_work import make_solution, submit, values_of

TIME = datetime(2026, 3, 1, tzinfo=UTC)


def test_facts_of_two_transactions_are_merged_and_cells_read_again() -> None:
    cells = np.zeros((3, 1))
    facts = Facts(
        {"a"},
        {1},
        submissions={1, 2},
        predictions={1: cells},
        releases={1},
        results={1},
        scores={1: {1}},
        places={("t", "total")},
    )
    facts.take_over(
        Facts(
            {"b"},
            {2},
            submissions={3},
            predictions={1: cells + 1, 3: cells},
            releases={2},
            results={2},
            scores={1: {3}, 2: {1}},
            places={("u", "total")},
        )
    )
    assert facts.predictions[1] is cells
    assert (facts.meta, facts.solutions, facts.submissions) == ({"a", "b"}, {1, 2}, {1, 2, 3})
    assert (facts.releases, facts.results) == ({1, 2}, {1, 2})
    assert facts.predictions.keys() == {1, 3}
    assert facts.predictions[3] is None
    assert facts.scores == {1: {1, 3}, 2: {1}}
    assert facts.places == {("t", "total"), ("u", "total")}


@pytest.mark.parametrize(
    ("table", "row", "covered"),
    [
        ("submissions", (1, "t", False, ""), 2),
        ("submissions", (1, "t", True, ""), 3),
        ("submissions", (1, "t", False, "final"), 4),
        ("releases", (1, 3, 0.5, 3), 3),
        ("releases", (1, 3, 0.5, 2), 4),
        ("releases", (1, 3, 1.0, 3), 3),
        ("solutions", (1, "x", None), 2),
        ("solutions", (1, "x", "metric"), 3),
        ("scores", (1, 2, None), 3),
    ],
)
def test_a_digest_covers_later_columns_where_they_differ_from_before(
    table: str, row: tuple[Any, ...], covered: int
) -> None:
    assert recorded_cells(table, row) == row[:covered]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([7], "7"), ([8, 7], "7-8"), ([1, 2, 3, 5, 9, 10], "1-3,5,9-10")],
)
def test_numbers_are_written_with_runs(numbers: list[int], text: str) -> None:
    assert numbers_text(numbers) == text
    assert not text or list(numbers_of(text)) == sorted(numbers)


@pytest.mark.slow
def test_all_that_a_database_holds_can_be_recorded_again() -> None:
    with Store.open() as store:
        with store.transaction() as transaction:
            transaction.put_solution(make_solution(3))
            transaction.put_meta("settings", "{}")
        for number in (1, 2):
            submit(store, number, values_of(number, 3))
        store.add_submission("t1", "f", "", None)
        with store.transaction() as transaction:
            transaction.put_all_scores(2, [ScoreRecord(1, 0.5, private=0.0)])
            transaction.add_result({"board": 1})
            transaction.add_release(1, "t1", epoch=2, release=Release(0.5, True), time=TIME)
        with store.database.reading() as cursor:
            facts = all_facts(cursor)
    assert facts.meta == {"identity", "record_key", "settings"}
    assert (facts.solutions, facts.submissions, facts.results) == ({1}, {1, 2, 3}, {1})
    assert (facts.predictions, facts.releases) == ({1: None, 2: None}, {1, 2, 3})
    assert facts.scores == {1: {1, 2}, 2: {1}}
    assert facts.places == {(team, day) for team in ("t1", "t2") for day in ("total", "2026-01-01")}
