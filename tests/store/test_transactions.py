"""One transaction holds all that belongs together; limits hold under any race."""

from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena.errors import StoreError, StoreFormatError
from arena.store import Incoming, ReleaseRecord, ScoreRecord, Store, database
from arena.store.journal import Scoring
from arena.types import Fault, PredictionKind, Release, Solution, Target

DAY = date(2026, 3, 1)
LIMIT = Fault("limit", "The team has no place left today.")


def _values(solution: Solution) -> np.ndarray:
    return np.full((solution.n_rows, len(solution.columns)), 0.25)


def test_places_are_taken_until_none_is_left(store: Store, database: Path) -> None:
    with store.transaction() as transaction:
        assert [transaction.take_place("a", DAY, 2) for _ in range(3)] == [True, True, False]
        assert transaction.take_place("a", DAY + timedelta(days=1), 1)
        assert transaction.take_place("b", DAY, 1)
        assert transaction.take_place("a", None, 1)
        assert not transaction.take_place("a", None, 1)
        assert not transaction.take_place("c", None, 0)
        assert [transaction.take_place("d", None, None) for _ in range(2)] == [True, True]
        assert not transaction.take_place("d", None, 2)
        assert transaction.quota_used("a", DAY) == 2
        transaction.return_places("a", [None])
        transaction.return_places("a", [None])
        assert transaction.quota_used("a", None) == 0
        assert transaction.take_place("a", None, 1)
        for day in (DAY, DAY + timedelta(days=1)):
            transaction.take_places("e", [None, day])
        transaction.return_places("e", [None, DAY, "2026-W09"])
        used = [transaction.quota_used("e", day) for day in (None, DAY, "2026-W09")]
        assert used == [1, 0, 0]
    store.close()
    with Store.open(database) as again:
        used = [again.quota_used(team, day) for team in "abc" for day in (DAY, None)]
    assert used == [2, 1, 1, 0, 0, 0]


@pytest.mark.slow
def test_of_sixteen_threads_one_gets_the_last_place(store: Store, solution: Solution) -> None:
    rounds, n_threads = 20, 16
    barrier = threading.Barrier(n_threads, timeout=600)

    def race(thread: int) -> list[bool]:
        granted = []
        for number in range(rounds):
            barrier.wait()
            with store.transaction() as transaction:
                is_taken = transaction.take_place(f"t{number}", None, 1)
                if is_taken:
                    incoming = Incoming(f"t{number}", f"{thread}", f"{thread}", _values(solution))
                    transaction.add_submission(incoming)
                granted.append(is_taken)
        return granted

    with ThreadPoolExecutor(n_threads) as pool:
        winners = np.array(list(pool.map(race, range(n_threads))))
    assert winners.sum(axis=0).tolist() == [1] * rounds
    by_team = [record.team for record in store.submissions()]
    assert sorted(by_team) == sorted(f"t{number}" for number in range(rounds))


@pytest.mark.slow
def test_all_of_a_transaction_is_stored_or_nothing(
    store: Store, database: Path, solution: Solution
) -> None:
    def everything() -> None:
        with store.transaction() as transaction:
            transaction.take_place("a", None, 1)
            record = transaction.add_submission(Incoming("a", "f", "s", _values(solution)))
            transaction.add_release(record.submission, "a", 1, Release(0.5, True, {"best": 1}))
            transaction.put_scores(1, record.submission, 0.5, 0.25)
            transaction.append_event("submission", "host", {})
            transaction.put_meta("revision", "1")
            assert transaction.mechanism_state("a") == {"best": 1}
            if not store.submissions() and not may_pass:
                raise KeyboardInterrupt

    def kept(opened: Store) -> list[int]:
        tables = (opened.submissions(), opened.releases(), opened.scores(1), opened.events())
        counts = [len(table) for table in tables]
        return [*counts, opened.quota_used("a", None), opened.meta("revision") is not None]

    may_pass = False
    with pytest.raises(KeyboardInterrupt):
        everything()
    assert kept(store) == [0] * 6
    may_pass = True
    everything()
    store.close()
    with Store.open(database) as again:
        assert kept(again) == [1] * 6


def test_transactions_do_not_nest_and_the_store_goes_on(store: Store, solution: Solution) -> None:
    with pytest.raises(RuntimeError, match="do not nest"), store.transaction():
        store.add_submission("a", "f", "s", _values(solution))
    assert store.add_submission("a", "f", "s", _values(solution)).submission == 1


def test_refused_submission_leaves_its_reason_and_may_be_sent_again(
    store: Store, database: Path, solution: Solution
) -> None:
    refused = Incoming("a", "f", "s", _values(solution), (LIMIT,), key="k", refused=True)
    with store.transaction() as transaction:
        record = transaction.add_submission(refused)
        assert (record.status, record.faults) == ("refused", (LIMIT,))
        assert transaction.find_submission("a", "k") is None
        assert transaction.add_submission(refused).submission == 2
        sent = transaction.add_submission(Incoming("a", "f", "s", _values(solution), key="k"))
        assert (sent.submission, sent.status) == (3, "accepted")
        assert transaction.find_submission("a", "k") == sent
        assert transaction.find_submission("b", "k") is None
    with pytest.raises(StoreError, match="no predictions"):
        store.predictions([1])
    store.close()
    with Store.open(database) as again:
        assert [submission.status for submission in again.submissions("a")] == [
            "refused",
            "refused",
            "accepted",
        ]
        assert again.submissions("b") == ()


def test_an_announced_scoring_counts_as_interrupted_until_it_ends(
    store: Store, solution: Solution
) -> None:
    incoming = Incoming("a", "f.csv", sha256="s", values=_values(solution), phase="final")

    def announce(*, stored: bool) -> None:
        with store.transaction() as transaction:
            transaction.announce_scoring(incoming)
            if not stored:
                raise ZeroDivisionError
            transaction.add_submission(incoming)

    for end in (store.scoring_ended, lambda: announce(stored=True)):
        assert store.interrupted() is None
        with pytest.raises(ZeroDivisionError):
            announce(stored=False)
        scoring = store.interrupted()
        assert scoring is not None
        assert (scoring.team, scoring.file, scoring.sha256, scoring.phase) == (
            ("a", "f.csv", "s", "final")
        )
        end()
    assert store.interrupted() is None


def test_the_first_of_several_names_that_is_stored_is_found(
    store: Store, solution: Solution
) -> None:
    names = [("b", "", "k"), ("a", "final", "k"), ("a", "", "k")]
    with store.transaction() as transaction:
        assert transaction.find_first_submission(names) is None
        values = _values(solution)
        last = transaction.add_submission(Incoming("a", "f", sha256="s", values=values, key="k"))
        assert transaction.find_first_submission(names) == last
        first = transaction.add_submission(Incoming("b", "f", sha256="s", values=values, key="k"))
        assert transaction.find_first_submission(names) == first
        assert (
            transaction.add_submission(Incoming("a", "f", sha256="s", values=values, key="k"))
            == last
        )


# -- releases and scores -----------------------------------------------------------------------


def test_scores_of_a_submission_are_replaced_in_the_transaction_that_stored_it(
    store: Store, solution: Solution
) -> None:
    with store.transaction() as transaction:
        number = transaction.add_submission(
            Incoming("a", "f", sha256="s", values=_values(solution))
        ).submission
        transaction.put_scores(1, number, public=0.5, private=None)
        transaction.append_event("scored", "host", payload={})
        transaction.put_scores(1, number, public=0.6, private=0.7)
        transaction.put_scores(2, number, public=0.8, private=None)
    assert store.scores(1) == (ScoreRecord(number, 0.6, private=0.7),)
    assert store.scores(2) == (ScoreRecord(number, 0.8, private=None),)


def test_state_is_that_of_the_last_release_of_its_instance_and_epoch(
    store: Store, database: Path
) -> None:
    time = datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2)))
    first = Release(0.5, True, {"best": 1, "noise": [0.1, None]}, ranked_by=0.512345678901234)
    infinite = Release(math.inf, False, {"best": 1, "score": math.inf})
    with store.transaction() as transaction:
        assert transaction.mechanism_state("a") == {}
        transaction.add_release(1, "a", 1, first, time)
        transaction.add_release(2, "b", 1, Release(0.1, True), time)
        transaction.add_release(3, "a", 1, infinite, time)
        transaction.add_release(1, "a", 2, first, time)
    store.close()
    with Store.open(database) as again:
        time_text = "2026-03-01T12:00:00.000000+00:00"
        assert again.releases(2) == (ReleaseRecord(1, 2, "a", first, time_text),)
        assert [release.submission for release in again.releases()] == [1, 2, 3, 1]
        assert again.releases(1)[2].release == infinite
        with again.transaction() as transaction:
            assert transaction.mechanism_state("a") == infinite.state
            assert transaction.mechanism_state("a", epoch=2) == first.state
            assert transaction.mechanism_state("b") == {}
            assert transaction.mechanism_state("b", epoch=2) == {}


def test_a_submission_is_released_once_in_an_epoch(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.add_release(1, "a", 1, Release(0.5, True))
    with pytest.raises(ValueError, match="epoch 1 before"), store.transaction() as transaction:
        transaction.add_release(1, "b", 1, Release(0.5, True))
    assert len(store.releases()) == 1


def test_scores_are_replaced_within_a_revision_only(store: Store, database: Path) -> None:
    with store.transaction() as transaction:
        transaction.put_scores(1, 2, 0.1, 0.2)
        transaction.put_scores(1, 1, 1 / 3, None)
        transaction.put_scores(1, 2, 0.3, 0.4)
        transaction.put_scores(2, 2, 0.5, 0.6)
    with store.transaction() as transaction:
        transaction.put_scores(1, 2, 0.7, 0.8)
    store.close()
    with Store.open(database) as again:
        assert again.scores(1) == (ScoreRecord(1, 1 / 3, None), ScoreRecord(2, 0.7, 0.8))
        assert again.scores(2) == (ScoreRecord(2, 0.5, 0.6),)
        assert again.scores(3) == ()


def test_scores_of_all_are_put_at_once(store: Store) -> None:
    scores = [ScoreRecord(i, i / 7, None if i % 3 else math.inf) for i in range(1, 5001)]
    with store.transaction() as transaction:
        transaction.put_scores(1, 17, 0.5, 0.5)
        transaction.put_all_scores(1, [])
        transaction.put_all_scores(1, scores)
        transaction.put_scores(2, 1, math.nan, None)
    assert list(store.scores(1)) == scores
    (record,) = store.scores(2)
    assert math.isnan(record.public or 0)


def test_meta_is_put_and_replaced_but_not_that_of_the_store(store: Store) -> None:
    assert store.meta("seed") is None
    for value in ("1", "é"):
        with store.transaction() as transaction:
            transaction.put_meta("seed", value)
        assert store.meta("seed") == value
    assert store.metas(["none", "seed"]) == [None, "é"]
    with pytest.raises(ValueError, match="identity"), store.transaction() as transaction:
        transaction.put_meta("identity", "x")


def test_a_value_that_another_program_changed_is_replaced_only_if_it_can_be_computed(
    store: Store,
) -> None:
    with store.transaction() as transaction:
        transaction.put_meta("seed", "1")
        transaction.append_event("created", "host", {})
    with store.database.transaction() as cursor:
        cursor.execute("UPDATE meta SET value = '2' WHERE name = 'seed'")
    with (
        pytest.raises(StoreFormatError, match="The value 'seed' in the database .* was changed by"),
        store.transaction() as transaction,
    ):
        transaction.put_meta("seed", "3")
    with store.transaction() as transaction:
        transaction.put_meta("seed", "3", computed=True)
    assert store.meta("seed") == "3"


# -- corrected solutions -----------------------------------------------------------------------


def test_what_is_kept_until_a_commit_follows_every_store_of_the_file(
    store: Store, solution: Solution, database: Path
) -> None:
    def read() -> tuple[object, ...]:
        return store.meta("seed"), store.latest_solution(), len(store.events("disqualification"))

    with Store.open(database) as other:
        assert read() == read() == (None, 1, 0)
        assert store.events("created") is store.events("created")
        with other.transaction() as transaction:
            transaction.put_meta("seed", "1")
            transaction.put_solution(replace(solution, sha256="another"), number=2)
            transaction.append_event("disqualification", "someone", {})
            assert read() == (None, 1, 0)
        assert read() == ("1", 2, 1)
    store.close()
    for read_again in (read, store.latest_solution, lambda: store.events("disqualification")):
        with pytest.raises(StoreError, match="is closed"):
            read_again()


def test_a_value_is_read_once_until_a_commit(store: Store) -> None:
    keys_read: list[str] = []

    def value_of(key: str) -> str:
        def count(_: object) -> str:
            keys_read.append(key)
            return key

        return store._read_once(key, count)

    for _ in range(3):
        assert (value_of("a"), value_of("b")) == ("a", "b")
    assert keys_read == ["a", "b"]
    with store.transaction() as transaction:
        transaction.put_meta("x", "1")
    assert value_of("a") == value_of("a") == "a"
    assert keys_read == ["a", "b", "a"]


def test_corrected_solution_is_the_next_number(
    store: Store, database: Path, solution: Solution
) -> None:
    corrected = replace(solution, truth=np.array([0, 2, 1, 0, 1]), kind=PredictionKind.SCORE)
    store.put_solution(corrected, "roc_auc", number=2)
    store.put_solution(corrected, "roc_auc", number=2)
    store.close()
    with Store.open(database) as again:
        np.testing.assert_array_equal(again.solution().truth, corrected.truth)
        np.testing.assert_array_equal(again.solution(2).truth, corrected.truth)
        np.testing.assert_array_equal(again.solution(1).truth, solution.truth)
        with pytest.raises(StoreError, match="no solution"):
            again.solution(3)
        with pytest.raises(ValueError, match="number 3, not 4"):
            again.put_solution(corrected, number=4)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"ids": pa.array(["7", "007", "a b", "ü", "x"])}, "ids or their order"),
        ({"columns": ("dog", "cat", "é")}, "columns"),
        ({"targets": (Target("y", ("cat", "dog", "e")),)}, "targets and labels"),
        ({"kind": PredictionKind.LABEL}, "kind of prediction"),
    ],
)
def test_corrected_solution_of_other_rows_is_refused(
    store: Store, solution: Solution, change: dict[str, object], named: str
) -> None:
    with pytest.raises(StoreError, match=f"corrected .* differ in {named}: .* another competition"):
        store.put_solution(replace(solution, **change), number=2)  # type: ignore[arg-type]
    assert store.solution() is solution


def test_a_database_with_a_long_log_is_reopened_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LONGEST_LOG", 3)
    log = tmp_path / "x.wal"
    must_be_reopened = database.Database.must_be_reopened.fget
    assert must_be_reopened is not None
    for has_failed, log_text, must_reopen in (
        (True, None, False),  # without a log
        (True, "abc", False),
        (True, "abcd", True),
        (False, "abcd", False),
    ):
        if log_text is not None:
            log.write_text(log_text)
        store_database = SimpleNamespace(_has_failed=has_failed, _log=log)
        assert must_be_reopened(store_database) == must_reopen


def test_an_announced_scoring_was_interrupted_if_nothing_was_stored_of_it() -> None:
    scoring = Scoring("a", "f.csv", "sha", "2026-03-01T12:00:00+00:00")
    same, other = "2026-03-01T13:00:00+01:00", "2026-03-01T12:00:01+00:00"
    for announced, attempts, stored, interrupted in (
        (None, (), (), None),
        (scoring, (), (), scoring),
        (scoring, ("another",), (), scoring),
        (scoring, (scoring.attempt,), (), None),
        (scoring, (), (("sha", same),), None),
        (scoring, (), (("sha", other), ("another", same)), scoring),
    ):
        store: Any = SimpleNamespace(
            database=SimpleNamespace(
                journal=SimpleNamespace(last_scoring=lambda announced=announced: announced)
            ),
            events=lambda *kinds, attempts=attempts: [
                SimpleNamespace(payload={"attempt": attempt}) for attempt in attempts
            ],
            submissions=lambda team, stored=stored: [
                SimpleNamespace(sha256=sha256, received=received) for sha256, received in stored
            ],
        )
        assert Store.interrupted(store) == interrupted
    store.database.journal = None
    assert Store.interrupted(store) is None
