"""Programs and leases: the order of runs, when a lease ends, and limits of teams."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from arena.server.records.runs import (
    LeaseLostError,
    Program,
    ProgramState,
    Runs,
    TrialLimitError,
)

PAYLOAD = {"upload": "u", "file": "main.py", "bytes": 9, "sha256": "ab"}


class Queue:
    """Programs of a server whose clock is moved by the test."""

    def __init__(self, path: Path) -> None:
        self.now = datetime(2026, 5, 6, 12, tzinfo=UTC)
        self.runs = Runs(path, clock=lambda: self.now)

    def add(self, team: str, **options: Any) -> Program:
        arguments = {
            "member": "1", "key": None, "payload": PAYLOAD, "received": self.now,
            "trials_per_day": 9, "most_waiting": 9, **options,
        }  # fmt: skip
        return self.runs.add("race", team=team, **arguments)

    def lease(self, **kinds: bool) -> Program | None:
        return self.runs.lease("race", **kinds)


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    program_queue = Queue(tmp_path / "runs.sqlite")
    yield program_queue
    program_queue.runs.close()


def test_a_team_has_one_run_on_hidden_inputs_and_lost_runs_come_last(queue: Queue) -> None:
    runs = queue.runs
    first_of_ants, second_of_ants, of_bees = (queue.add(team) for team in ("ants", "ants", "bees"))
    places = [runs.place(program) for program in (first_of_ants, second_of_ants, of_bees)]
    assert places == [1, 2, 3]
    for program in (first_of_ants, second_of_ants):
        assert runs.change(program, ProgramState.RUN_WAITS)
        assert not runs.change(program, ProgramState.RUN_WAITS)  # it has left its state
    first = queue.lease()
    assert first is not None
    assert first.program == first_of_ants.program
    assert (first.state, first.lease) == (ProgramState.RUNS, 1)
    assert runs.place(first) is None
    assert queue.lease(trials=False) is None  # the second one of the team must wait
    trial = queue.lease(hidden=False)
    assert trial is not None
    assert (trial.program, trial.state) == (of_bees.program, ProgramState.TRIAL_RUNS)
    assert runs.fail(first_of_ants.program, 1)  # the machine of the runner failed
    assert (runs.n_lost("race"), runs.n_lost("other")) == (1, 0)
    second = queue.lease()
    assert second is not None
    assert second.program == second_of_ants.program  # before the one that was lost
    with pytest.raises(LeaseLostError):
        runs.beat(first_of_ants.program, 1)
    assert runs.uploads() == {"u"}


def test_a_renamed_team_has_one_run_and_one_program_for_a_key(queue: Queue) -> None:
    before = queue.add("ants", key="k")
    after = queue.add("wasps", former={"ants"})
    assert queue.add("wasps", former={"ants"}, key="k") == before
    for program in (before, after):
        assert queue.runs.change(program, ProgramState.RUN_WAITS)
    leases = [queue.runs.lease("race", current_names={"ants": "wasps"}) for _ in range(2)]
    assert [leased and leased.program for leased in leases] == [before.program, None]
    current = queue.runs.get(before.program)
    assert current is not None
    assert queue.runs.change(current, ProgramState.REFUSED)  # it may be sent again
    assert queue.add("wasps", former={"ants"}, key="k").program not in (
        before.program,
        after.program,
    )


def test_a_lease_lasts_a_minute_after_its_last_sign_of_life(queue: Queue) -> None:
    runs, program = queue.runs, queue.add("ants")
    for lease, state in ((1, ProgramState.TRIAL_WAITS), (3, ProgramState.TRIAL_RUNS)):
        leased = queue.lease()
        assert leased is not None
        assert leased.lease == lease
        queue.now += timedelta(seconds=50)
        runs.beat(program.program, lease)
        queue.now += timedelta(seconds=60)
        assert runs.expire("race") == []
        queue.now += timedelta(seconds=1)
        # After the first lost runner the program waits for another one, after the second not.
        lost = runs.expire("race")
        assert [lost_program.program for lost_program in lost] == [program.program] * (lease == 3)
        current = runs.get(program.program)
        assert current is not None
        assert (current.state, current.lease, current.losses) == (state, lease + 1, 1)
        with pytest.raises(LeaseLostError, match="no longer yours"):
            runs.fail(program.program, lease)


def test_a_team_has_so_many_trials_a_day_and_programs_that_wait(queue: Queue) -> None:
    queue.add("ants", trials_per_day=1, key="k")
    assert queue.add("ants", trials_per_day=1, key="k") == queue.runs.find("race", "ants", key="k")
    with pytest.raises(TrialLimitError, match="at most 1 "):
        queue.add("ants", trials_per_day=1)
    with pytest.raises(TrialLimitError, match="at most 1 "):
        queue.add("wasps", trials_per_day=1, former={"ants"})
    queue.add("bees", trials_per_day=1)
    queue.now += timedelta(hours=12)  # midnight
    queue.add("ants", trials_per_day=1, most_waiting=2)
    with pytest.raises(TrialLimitError, match=r"^Programs of your team that wait: 2\."):
        queue.add("ants", most_waiting=2)


def test_damaged_files_get_numbers_and_unreadable_programs_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    path = tmp_path / "runs.sqlite"
    for _ in range(2):
        path.write_bytes(b"no database" * 900)
        with closing(Runs(path)) as runs:
            file_names = runs.files_set_aside()
    assert file_names == ["runs.sqlite.damaged-1", "runs.sqlite.damaged-2"]
    assert [record.getMessage() for record in caplog.records] == [
        f"{path} is damaged (file is not a database) and was set aside."
    ] * 2
    path.write_bytes(b"no database" * 900)
    (tmp_path / "runs.sqlite-wal").touch()  # its log goes with it
    Runs(path).close()
    assert sorted(tmp_path.glob("runs.sqlite*3*")) == [
        tmp_path / "runs.sqlite.damaged-3", tmp_path / "runs.sqlite.damaged-3-wal"
    ]  # fmt: skip
    for number in range(4, 11):
        (tmp_path / f"runs.sqlite.damaged-{number}").touch()
    queue = Queue(path)
    assert queue.runs.files_set_aside() == [f"runs.sqlite.damaged-{n}" for n in range(1, 11)]
    queue.add("ants")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE programs SET until = -1")
    for _ in range(2):
        assert queue.runs.of_team("race", "ants") == []
    assert (queue.runs.n_unreadable(), len(caplog.records)) == (1, 4)
    queue.runs.close()
