"""The derived tables follow from the history, and are computed again where they do not."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from arena.public_board.instances import InstanceRelease, MemoryLog
from arena.store import Incoming, Standing, Store, Transaction
from arena.store import derived as derived_tables
from arena.store.repair import repair
from arena.types import FloatArray, Release
from submit_work import make_solution

TIME = datetime(2026, 3, 1, tzinfo=UTC)
RELEASED = [
    # team, epoch, score, ranked by
    ("a", 1, 0.5, None),
    ("b", 1, 0.7, 0.65),
    ("a", 1, 0.6, None),
    ("b", 1, 0.7, 0.65),
    ("c", 1, 0.65, None),
    ("a", 1, 0.4, None),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "c.duckdb"
    with Store.open(path) as store:
        store.put_solution(make_solution(3))
        for number, (team, epoch, score, ranked_by) in enumerate(RELEASED, 1):
            values = np.zeros((3, 1)) + number
            with store.transaction() as transaction:
                record = store_one(transaction, team, number, values)
                release = Release(score, True, {"number": number}, ranked_by)
                transaction.add_release(record, team, epoch, release, TIME)
                assert transaction.mechanism_state(team) == {"number": number}
                transaction.append_event("submission", "host", {"submission": record})
        store.add_submission("d", "f", "x", None)
        for submission, rank in ((1, 1), (2, 1), (3, 2), (5, 3)):
            with store.transaction() as transaction:
                transaction.add_release(submission, f"rank {rank}", 3, Release(0.5, True), TIME)
    return path


def store_one(transaction: Transaction, team: str, number: int, values: FloatArray) -> int:
    incoming = Incoming(team, f"{number}.csv", f"{number}", values, received=TIME)
    return transaction.add_submission(incoming).submission


def edit(store: Store, query: str) -> None:
    with store.database.transaction() as cursor:
        cursor.execute(query)


def standings(store: Store, *, greater_is_better: bool, excluded: tuple[int, ...] = ()) -> object:
    records = store.standings(1, greater_is_better=greater_is_better, excluded=excluded)
    return sorted(records, key=lambda record: record.team)


def test_the_audit_reads_the_board_by_the_query_of_the_board(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, bool, bool]] = []
    original = derived_tables.best_releases

    def counted(cursor: Any, epoch: int, phase: str, **keys: Any) -> Any:
        calls.append((epoch, keys["greater_is_better"], keys.get("computed", False)))
        return original(cursor, epoch, phase, **keys)

    monkeypatch.setattr(derived_tables, "best_releases", counted)
    with Store.open(path) as store:
        standings(store, greater_is_better=True)
        assert calls == [(1, True, False)]
        assert store.changed_tables() == []
    # In both directions, since the database does not hold that of the metric.
    both = [(direction, computed) for direction in (True, False) for computed in (False, True)]
    assert sorted(calls[1:]) == sorted((epoch, *row) for epoch in (1, 3) for row in both)


def test_standings_are_the_best_release_of_each_team_the_earlier_if_tied(path: Path) -> None:
    with Store.open(path) as store:
        assert standings(store, greater_is_better=True) == [
            Standing("a", 3, 0.6, 0.6),
            Standing("b", 2, 0.7, 0.65),
            Standing("c", 5, 0.65, 0.65),
        ]
        assert standings(store, greater_is_better=False) == [
            Standing("a", 6, 0.4, 0.4),
            Standing("b", 2, 0.7, 0.65),
            Standing("c", 5, 0.65, 0.65),
        ]
        assert standings(store, greater_is_better=True, excluded=(3, 2, 5)) == [
            Standing("a", 1, 0.5, 0.5),
            Standing("b", 4, 0.7, 0.65),
        ]
        for until, teams in ((TIME, ["a", "b", "c"]), (TIME - timedelta(microseconds=1), [])):
            held = store.standings(1, greater_is_better=True, until=until)
            assert sorted(standing.team for standing in held) == teams
        assert store.standings(2, greater_is_better=True) == []
        assert store.accepted_counts() == {"a": 3, "b": 2, "c": 1, "d": 0}
        assert store.teams() == ("a", "b", "c", "d")
        assert store.changed_tables() == []
        edit(store, "DELETE FROM holders; DELETE FROM team_counts")
        edit(store, "UPDATE instances SET release = 99")
        assert store.changed_tables() == ["team_counts", "instances", "holders"]
        with store.transaction() as transaction:
            transaction.rebuild_derived()
            # Submission 1 had rank 1, 2 took it; 3, of the same team as 1, and 5 came after them.
            for outside, teams in (
                ((), ["b", "a", "c"]),
                (("a",), ["b", "c"]),
                (("d",), ["b", "a", "c"]),
            ):
                held_ranks = transaction.rank_holders(3, outside)
                assert [holder.team for holder in held_ranks] == teams
        assert store.changed_tables() == []
        edit(store, "DELETE FROM standings WHERE team = 'c'")
        assert store.changed_tables() == ["standings"]


@pytest.mark.slow
def test_a_transaction_that_fails_leaves_them_as_they_were(path: Path) -> None:
    with Store.open(path) as store:
        before = standings(store, greater_is_better=True)
        with suppress(ZeroDivisionError), store.transaction() as transaction:
            record = store_one(transaction, "a", 99, np.zeros((3, 1)))
            transaction.add_release(record, "a", 1, Release(0.9, True, {}), TIME)
            assert transaction.mechanism_state("a") == {}
            raise ZeroDivisionError
        assert standings(store, greater_is_better=True) == before
        assert store.changed_tables() == []


@pytest.mark.slow
def test_ranks_are_held_as_the_releases_say_one_by_one_and_at_once(path: Path) -> None:
    """The same as a list from which the team is removed and into which it is inserted."""
    rng = np.random.default_rng(3)
    log = MemoryLog()
    with Store.open(path) as store:
        team = {submission.submission: submission.team for submission in store.submissions()}
        for number in range(100, 140):
            name = f"t{rng.integers(8)}"
            incoming = Incoming(name, "f", f"{number}", np.zeros((3, 1)), received=TIME)
            team[store.add_submissions([incoming])[0].submission] = name
        numbers = sorted(number for number in team if team[number] != "d")
        board: list[str] = []
        # Epoch 4 stores each release in a transaction, epoch 5 all of them in one.
        for number in numbers:
            name = team[number]
            former = board.index(name) if name in board else len(board)
            rank = int(rng.integers(former + 1))
            board[:] = [team for team in board if team != name]
            board.insert(rank, name)
            release = Release(rng.random(), bool(rng.integers(2)), {"n": number})
            log.add(number, name, InstanceRelease(f"rank {rank + 1}", release))
            with store.transaction() as transaction:
                transaction.add_release(number, f"rank {rank + 1}", 4, release, TIME)
        with store.transaction() as transaction:
            for one in log.releases:
                released = one.released
                transaction.add_release(
                    one.submission, released.instance, 5, released.release, TIME
                )
        assert store.changed_tables() == []
        with store.transaction() as transaction:
            for epoch in (4, 5):
                held = list(transaction.rank_holders(epoch))
                assert held == list(log.holders())
                assert [holder.team for holder in held] == board
            # A team that was named the baseline later holds no rank, and did not hold one.
            others = [release for release in log.releases if release.team != "t3"]
            without = MemoryLog()
            for one in others:
                without.add(one.submission, one.team, one.released)
            assert list(transaction.rank_holders(4, ["t3"])) == list(without.holders())


@pytest.mark.slow
@pytest.mark.parametrize("table", ["team_counts", "standings", "instances", "holders"])
def test_repair_computes_them_again(path: Path, table: str) -> None:
    with Store.open(path) as store:
        store_all = standings(store, greater_is_better=True)
        with store.transaction() as transaction:
            transaction.bind_everything()
            transaction.append_event("note", "host", {})
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"DELETE FROM {table}")  # noqa: S608
    with Store.open(path) as store:
        assert any(f"table {table}, which is derived" in problem for problem in store.audit())
    report = repair(path)
    assert f"rebuilt ({table}). Nothing else was checked" in report.sentence
    with Store.open(path) as store:
        assert store.audit() == ()
        assert standings(store, greater_is_better=True) == store_all
        assert store.events("repair")[-1].payload["rebuilt"] == [table]
    assert "nothing was changed" in repair(path).sentence


SENT = [("a", 0.5, False), ("a", 0.9, True), ("b", 0.7, False), ("a", 0.6, False)]
"""The team, score and lateness of some submissions."""


@pytest.mark.few(1)
@pytest.mark.parametrize("settled", ["each alone", "each in one transaction", "all at once"])
def test_submissions_are_entered_alike_one_by_one_and_together(
    tmp_path: Path, settled: str
) -> None:
    with Store.open(tmp_path / "c.duckdb") as store:
        store.put_solution(make_solution(3))
        incoming = [
            Incoming(team, "f.csv", f"{score}", np.full((3, 1), score), received=TIME, late=late)
            for team, score, late in SENT
        ]
        releases = [Release(score, True, ranked_by=score - 0.1) for _, score, _ in SENT]
        groups = [[0], [1], [2], [3]] if settled == "each alone" else [[0, 1, 2, 3]]
        for group in groups:
            with store.transaction() as transaction:
                for position in group:
                    (record,) = transaction.add_submissions([incoming[position]])
                    release = releases[position]
                    transaction.add_release(
                        record.submission, "rank 1", epoch=1, release=release, time=TIME
                    )
                    if settled == "each in one transaction":
                        transaction.settle()
                transaction.append_event("submission", "host", {"submission": group[0] + 1})
        assert standings(store, greater_is_better=True) == [
            Standing("a", 4, 0.6, 0.5),
            Standing("b", 3, 0.7, 0.6),
        ]
        with store.transaction() as transaction:
            assert [holder.team for holder in transaction.rank_holders(1)] == ["a", "b"]
        assert store.accepted_counts() == {"a": 3, "b": 1}
        assert store.changed_tables() == []
