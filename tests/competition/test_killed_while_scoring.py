"""What reached the metric has used a place, even if the process was killed meanwhile."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from arena.competition.competition import Competition
from arena.errors import StoreError
from arena.store import Store, Transaction
from arena.store.journal import Journal
from arena.store.repair import repair
from killed_scoring import manager, submit
from scenario import START, Clock, Scenario

pytestmark = pytest.mark.slow

N_ROWS = 10
IDS = [f"r{row}" for row in range(N_ROWS)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    values = [row / 7 for row in range(N_ROWS)]
    solution = {"id": IDS, "y": values, "Usage": ["Public"] * 5 + ["Private"] * 5}
    scenario = Scenario(tmp_path, solution, manager=manager())
    scenario.create(metric="deadly", total=2).close()
    return scenario.folder


def opened(folder: Path, days: int = 0) -> Competition:
    clock = Clock(START + timedelta(days=days))
    return Competition.open(folder, manager=manager(), clock=clock)


def file_of(folder: Path, value: float) -> Path:
    return Scenario(folder.parent).write(str(value), {"id": IDS, "y": [value] * N_ROWS})


def kill(folder: Path, file: Path, *, before_the_journal: bool = False) -> None:
    arguments = (folder, file, "a", before_the_journal)
    process = multiprocessing.get_context("spawn").Process(target=submit, args=arguments)
    process.start()
    process.join(120.0)
    assert process.exitcode == -signal.SIGKILL


def used(folder: Path) -> list[int]:
    with Store.open(folder / "arena.duckdb", create=False, read_only=True) as store:
        assert store.audit() == ()
        return [store.quota_used("a", day) for day in (None, START.date())]


def test_an_interrupt_after_the_commit_is_not_counted_twice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acknowledge = Transaction.acknowledge

    def interrupted(transaction: Transaction) -> None:
        monkeypatch.setattr(Transaction, "acknowledge", acknowledge)
        acknowledge(transaction)
        raise KeyboardInterrupt

    with opened(folder) as competition:
        monkeypatch.setattr(Transaction, "acknowledge", interrupted)
        with pytest.raises(KeyboardInterrupt):
            competition.submit(file_of(folder, 1.0), "a")
        assert [submission["status"] for submission in competition.submissions()] == ["accepted"]
        assert [event.kind for event in competition.events()] == ["created", "submission"]
    assert used(folder) == [1, 1]


def test_a_file_that_kills_the_process_has_used_a_place(folder: Path) -> None:
    kill(folder, file_of(folder, 1000.0))
    assert used(folder) == [0, 0]  # reading alone changes nothing
    for _ in range(2):  # it is counted once
        with opened(folder) as competition:
            notes = " ".join(competition.notes)
            assert competition.submissions() == []
            (event,) = [e for e in competition.events() if e.kind == "submission interrupted"]
            assert event.payload["team"] == "a"
        assert used(folder) == [1, 1]
    assert "killed" not in notes
    kill(folder, file_of(folder, 1000.0))  # the same file at the same time is another attempt
    with opened(folder) as competition:
        assert "while it scored 1000.0.csv of a" in " ".join(competition.notes)
        assert competition.submit(file_of(folder, 1.0), "a").faults[0].kind == "limit"


def test_what_was_stored_before_the_kill_is_counted_once(folder: Path) -> None:
    kill(folder, file_of(folder, 1.0), before_the_journal=True)
    with opened(folder) as competition:
        assert [row["status"] for row in competition.submissions()] == ["accepted"]
        assert competition.submit(file_of(folder, 1.0), "a").known
    assert used(folder) == [1, 1]


def test_a_kill_is_still_counted_after_a_repair(folder: Path) -> None:
    with opened(folder) as competition:
        competition.submit(file_of(folder, 1.0), "a")
    old = (folder / "arena.duckdb").read_bytes()
    with opened(folder) as competition:
        competition.disqualify(1, "a reason")
    kill(folder, file_of(folder, 1000.0))
    (folder / "arena.duckdb").write_bytes(old)  # an older copy was put back
    (folder / "arena.duckdb.wal").unlink(missing_ok=True)
    assert repair(folder / "arena.duckdb").lost_events == 1
    assert used(folder) == [1, 1]
    opened(folder, days=10_000).close()  # after the repair, which has the time of this machine
    assert used(folder) == [2, 2]


def test_nothing_is_scored_if_the_journal_cannot_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with opened(folder) as competition, monkeypatch.context() as patched:
        patched.setattr(Journal, "write", full)
        with pytest.raises(StoreError, match="no space left on device. Nothing was scored"):
            competition.submit(file_of(folder, 1000.0), "a")  # it would kill this process
    assert used(folder) == [0, 0]


def test_a_disk_that_is_full_after_the_commit_loses_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, lines = Journal.write, []

    def full(journal: Journal, text: bytes, *, sync: bool) -> None:
        if sync:  # not what is written before scoring
            lines.append(text)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(journal, text, sync=sync)

    with opened(folder) as competition, monkeypatch.context() as patched:
        patched.setattr(Journal, "write", full)
        with pytest.raises(StoreError, match="is stored, and can be sent again"):
            competition.submit(file_of(folder, 1.0), "a")
    assert lines
    with opened(folder) as competition:
        again = competition.submit(file_of(folder, 1.0), "a")
        assert (again.known, again.status, again.submission) == (True, "accepted", 1)
    assert used(folder) == [1, 1]


def test_a_full_disk_does_not_use_a_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreError("The disk is full.")

    with opened(folder) as competition, monkeypatch.context() as patched:
        patched.setattr(Transaction, "append_event", full)
        with pytest.raises(StoreError):
            competition.submit(file_of(folder, 1.0), "a")
    with opened(folder) as competition:
        assert "submission interrupted" not in {event.kind for event in competition.events()}
    assert used(folder) == [0, 0]
    assert repair(folder / "arena.duckdb").quarantine is None
