"""The parent of worker processes, with stand-ins for them: deadlines, ends and waiting."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from arena.utils.processes import Ended, workers
from arena.utils.processes.workers import WatchedWorker, Worker, _Forked


class Clock:
    """A clock that stands still, or runs by what is slept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.now, sleep=self.sleep)
        monkeypatch.setattr(workers, "time", clock)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


class Silent:
    """A process that holds the other end of its socket, and has an exit code or none yet."""

    def __init__(self, entry: str, pipe: socket.socket, *others: Any) -> None:
        self.entry = entry
        self.pipe = pipe.dup()
        self.returncode: int | None = None
        self.waited: list[float | None] = []

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        self.waited.append(timeout)
        return self.returncode

    def kill(self) -> None:
        self.returncode = -signal.SIGKILL


class Watched(WatchedWorker):
    entry = "run_watched"


class Plain(Worker):
    entry = "plain"


@pytest.fixture
def started() -> Iterator[Any]:
    workers_started: list[Any] = []

    def start(kind: type[Worker]) -> Any:
        workers_started.append(kind(("purpose", None), start=Silent))  # type: ignore[arg-type]
        return workers_started[-1]

    yield start
    for worker in workers_started:
        worker.process.pipe.close()
        worker.kill()


@pytest.mark.parametrize(("kind", "grace"), [(Plain, 0.0), (Watched, 10.0)])
def test_a_call_may_take_a_tenth_longer_and_the_first_one_a_minute(
    started: Any, clock: Clock, kind: type[Worker], grace: float
) -> None:
    worker = started(kind)
    assert worker.process.entry == kind.entry
    worker.send(pow, (), task=(2, 3), seconds=20.0)
    # The first is sent to a process that still starts: 1000 + 22 + 60.
    assert worker.deadline == 1082.0 + grace
    clock.now += 5.0
    worker.send(pow, (), task=(2, 3), seconds=20.0)
    assert worker.deadline == 1027.0 + grace
    assert worker.answer() is None
    clock.now = worker.deadline
    assert worker.answer() is None
    clock.now += 0.001
    assert worker.answer() == (True, Ended(too_long=True, seconds=20.0))
    assert worker.process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("kind", "code", "took", "too_long"),
    [
        (Watched, -signal.SIGXCPU, 0.0, True),  # its processor time is up
        (Watched, 1, 20.0, True),  # its time is up
        (Watched, 1, 19.9, False),
        (Watched, 0, 20.0, False),
        (Watched, 2, 20.0, False),
        (Watched, -signal.SIGKILL, 20.0, False),
        (Plain, 1, 20.0, False),
    ],
)
def test_a_process_that_ended_was_too_long_if_it_ended_itself_at_its_limit(
    started: Any, clock: Clock, kind: type[Worker], code: int, took: float, too_long: bool
) -> None:
    worker = started(kind)
    worker.send(pow, (), task=(2, 3), seconds=20.0)
    clock.now += took
    worker.process.returncode = code
    assert worker.answer() == (True, Ended(too_long, seconds=20.0))
    assert worker.process.waited == ([6.0, None] if kind is Watched else [None])


def test_a_fork_is_waited_for_until_the_timeout(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    polls: list[int] = []

    def waitpid(pid: int, options: int) -> tuple[int, int]:
        polls.append(options)
        return (pid, 3 << 8) if clock.now >= 1000.25 or not options else (0, 0)

    monkeypatch.setattr(os, "waitpid", waitpid)
    assert _Forked(7).poll() is None
    with pytest.raises(subprocess.TimeoutExpired) as late:
        _Forked(7).wait(0.1)
    assert late.value.timeout == 0.1
    assert clock.now == pytest.approx(1000.1, abs=0.0021)
    process = _Forked(7)
    assert process.wait(5.0) == 3
    assert clock.now == pytest.approx(1000.25, abs=0.0011)
    polls.clear()
    assert process.wait() == process.poll() == 3
    assert polls == []  # its exit code is known
    assert _Forked(7).wait() == 3
    assert polls == [0]
