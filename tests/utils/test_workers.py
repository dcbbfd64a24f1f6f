"""The parent of worker processes, with stand-ins for them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from arena.utils.processes import AnswerError, Confinement, Ended, calls, workers
from arena.utils.processes.messages import answer, receive
from arena.utils.processes.workers import ForkedProcess, WatchedWorker, Worker, wait_for


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
    assert ForkedProcess(7).poll() is None
    with pytest.raises(subprocess.TimeoutExpired) as late:
        ForkedProcess(7).wait(0.1)
    assert late.value.timeout == 0.1
    assert clock.now == pytest.approx(1000.1, abs=0.0021)
    process = ForkedProcess(7)
    assert process.wait(5.0) == 3
    assert clock.now == pytest.approx(1000.25, abs=0.0011)
    polls.clear()
    assert process.wait() == process.poll() == 3
    assert polls == []  # its exit code is known
    assert ForkedProcess(7).wait() == 3
    assert polls == [0]


def test_an_object_that_a_process_has_is_not_sent_again(
    started: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "working_folder", lambda: "/folder")
    worker = started(Plain)
    first, equal = (["one"],), (["one"],)
    shared_values = (first, first, (), first, equal, equal)
    for shared in shared_values:
        worker.send(pow, shared, task=(2, 3), seconds=20.0)
    with worker.process.pipe.makefile("rb") as requests:
        messages = [receive(requests, worker._file) for _ in range(7)]
    contents = [first, (), (), (), equal, ()]
    assert messages == [
        None,  # the limits
        *(
            (number + 1, pow, bool(shared), content, (2, 3), 20.0, "/folder")
            for number, (shared, content) in enumerate(zip(shared_values, contents, strict=True))
        ),
    ]


def test_a_call_that_failed_has_its_object_sent_again(started: Any, clock: Clock) -> None:
    worker = started(Plain)
    kept_workers: list[Any] = []
    shared = (["one"],)
    for number, (good, reusable) in enumerate(((True, True), (False, True), (True, False))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(workers, "keep_worker", kept_workers.append)
            worker.send(pow, shared, task=(), seconds=20.0)
            result = 7 if good else ValueError("no")
            # An answer to the previous task, from its fork; then the note that this task has begun.
            answer(worker.process.pipe, worker._file, (number, True, 3, True))
            assert worker.answer() is None
            clock.now += 6.0
            answer(worker.process.pipe, worker._file, (number + 1, None, None, True))
            assert worker.answer() is None
            assert worker.deadline == clock.now + 22.0
            answer(worker.process.pipe, worker._file, (number + 1, good, result, reusable))
            assert str(worker.answer()) == str((good, result))
            assert worker._shared == (shared if good else ())
    assert kept_workers == [worker, worker]
    assert worker.process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("message", [(1, False, "no exception", True), (1, True), 7])
def test_an_answer_of_another_form_ends_the_process(
    started: Any, clock: Clock, message: Any
) -> None:
    worker = started(Plain)
    worker.send(pow, (), task=(2, 3), seconds=20.0)
    answer(worker.process.pipe, worker._file, message)
    good, error = worker.answer()
    assert (good, type(error)) == (False, AnswerError)
    assert str(error) == "A process sent no valid answer."
    assert worker.process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("has_limits", "group", "code", "steps"),
    [
        (True, 7, None, ["end", 6.0, "kill", None]),
        (True, 7, 0, [6.0, None]),
        (False, 7, None, ["end", ("killpg", 7, signal.SIGKILL), "kill", None]),
        (False, 1, None, ["end", "kill", None]),  # the process has no group of its own yet
    ],
)
def test_a_guarded_process_is_told_to_end_and_then_killed(
    monkeypatch: pytest.MonkeyPatch,
    has_limits: bool,
    group: int,
    code: int | None,
    steps: list[Any],
) -> None:
    steps_seen: list[Any] = []

    class Guarded:
        pid, returncode = 7, code

        def __init__(self, entry: str, *pipes: Any) -> None:
            assert entry == "run_guarded"
            self.alive = pipes[2].dup()

        def poll(self) -> int | None:
            return self.returncode

        def kill(self) -> None:
            steps_seen.append("kill")

        def wait(self, timeout: float | None = None) -> None:
            steps_seen.append(timeout)
            if timeout is not None:
                raise subprocess.TimeoutExpired("a worker process", timeout)

    monkeypatch.setattr(workers, "_start", Guarded)
    monkeypatch.setattr(workers, "HAS_LIMITS", has_limits)
    monkeypatch.setattr(os, "getpgid", lambda pid: group)
    monkeypatch.setattr(os, "killpg", lambda *call: steps_seen.append(("killpg", *call)))
    worker: Any = workers.GuardedWorker(("purpose", Confinement()))
    worker.kill()
    with worker.process.alive as alive:
        messages = [message.decode() for message in (alive.recv(9), alive.recv(9)) if message]
    assert [*messages, *steps_seen] == steps


def test_the_first_deadline_of_several_workers_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    waited: list[float] = []

    class Poll:
        def __init__(self) -> None:
            self.pipes: list[Any] = []

        def register(self, *pipe: Any) -> None:
            self.pipes.append(pipe)

        def poll(self, milliseconds: float) -> None:
            assert self.pipes == [("first", 1), ("second", 1)]
            waited.append(milliseconds)

    monkeypatch.setitem(sys.modules, "select", SimpleNamespace(poll=Poll, POLLIN=1))
    for first, second in ((1000.25, 1002.0), (1002.0, 1000.5), (999.0, 1001.0), (1e7, 1e8)):
        wait_for(
            [
                SimpleNamespace(pipe="first", deadline=first),
                SimpleNamespace(pipe="second", deadline=second),
            ]  # type: ignore[list-item]
        )
    assert waited == [250.0, 500.0, 0.0, 1e9]  # the longest is a million seconds


def test_a_fork_keeps_no_file_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[Any] = []

    def close(descriptor: int) -> None:
        steps.append(("close", descriptor))
        if descriptor == 9:
            raise OSError

    class LeftError(BaseException):
        pass

    def leave(code: int) -> None:
        raise LeftError(code)

    pipes = [SimpleNamespace(fileno=lambda: 5), SimpleNamespace(fileno=lambda: 6)]
    pid = 70
    monkeypatch.setattr(os, "fork", lambda: pid)
    process = workers.fork_child("run_watched", *pipes)
    assert (process.pid, process.returncode) == (70, None)
    pid = 0
    monkeypatch.setattr(signal, "signal", lambda *handler: steps.append(handler))
    monkeypatch.setattr(os, "open", lambda *file: {(os.devnull, os.O_RDWR): 8}[file])
    monkeypatch.setattr(os, "dup2", lambda *call: steps.append(("dup2", *call)))
    monkeypatch.setattr(os, "listdir", {"/proc/self/fd": ["0", *"1234569"]}.__getitem__)
    monkeypatch.setattr(os, "close", close)
    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(
        "arena.utils.processes.child.run_watched", lambda *call: steps.append(("run", *call))
    )
    with pytest.raises(LeftError, match="0"):
        workers.fork_child("run_watched", *pipes)
    assert steps == [
        (signal.SIGTERM, signal.SIG_DFL),
        *(("dup2", 8, stream) for stream in (0, 1, 2)),
        *(("close", descriptor) for descriptor in (3, 4, 9)),
        ("run", 5, 6),
    ]


def test_a_fork_that_has_ended_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[Any] = []
    monkeypatch.setattr(os, "kill", lambda *call: killed.append(call))
    monkeypatch.setattr(os, "waitpid", lambda pid, _: (pid - 7, 0))
    for pid in (7, 8):  # waitpid says that 7 is running, and that 8 has ended
        ForkedProcess(pid).kill()
    assert killed == [(7, signal.SIGKILL)]


class AnyIdle:
    """A worker that is kept."""

    def __init__(self, key: Any, owner: int | None = None, code: int | None = None) -> None:
        self.key, self.owner = key, os.getpid() if owner is None else owner
        self.process = SimpleNamespace(poll=lambda: code)
        self.is_killed = False

    def kill(self) -> None:
        self.is_killed = True


class Idle(AnyIdle):
    """A worker of one kind."""


class OtherIdle(AnyIdle):
    """A worker of another kind."""


def test_a_process_of_the_same_kind_and_key_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    idle: list[Any] = []
    monkeypatch.setattr(workers, "idle_workers", idle)
    take: Any = workers.idle_worker
    forked, other_kind = Idle("b", owner=-1), OtherIdle("b")
    other_key, first, second = Idle("a"), Idle("b"), Idle("b")
    ended, prepared = Idle("c", code=0), Idle(("d", workers.ANY_LIMITS))
    idle[:] = [forked, other_kind, other_key, first, second, ended, prepared]
    assert take(Idle, "b") is first
    assert idle == [other_kind, other_key, second, ended, prepared]
    new = take(Idle, "c")  # the one that was kept has ended since
    assert (new.key, new in idle, ended.is_killed) == ("c", False, True)
    assert take(Idle, ("d", "limits")) is prepared
    assert prepared.key == ("d", "limits")
    assert take(Idle, "b") is second
    assert idle == [other_kind, other_key]
    idle.append(forked)
    workers.end_idle_workers()
    # A process does not end those of its parent.
    assert [worker.is_killed for worker in idle] == [True, True, False]


def test_of_nine_processes_the_oldest_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    idle: list[Any] = []
    monkeypatch.setattr(workers, "idle_workers", idle)
    idle_workers: list[Any] = [Idle(number) for number in range(9)]
    for worker in idle_workers[:8]:
        workers.keep_worker(worker)
    assert (idle, idle_workers[0].is_killed) == (idle_workers[:8], False)
    workers.keep_worker(idle_workers[8])
    assert idle == idle_workers[1:]
    assert [worker.is_killed for worker in idle_workers] == [True] + [False] * 8


@pytest.mark.parametrize(
    ("has_limits", "n_threads", "n_prepared"), [(True, 1, 3), (True, 2, 0), (False, 1, 0)]
)
def test_processes_are_forked_in_advance_where_that_is_safe(
    monkeypatch: pytest.MonkeyPatch, has_limits: bool, n_threads: int, n_prepared: int
) -> None:
    steps: list[Any] = []
    monkeypatch.setattr(calls, "HAS_LIMITS", has_limits)
    monkeypatch.setattr(calls, "threading", SimpleNamespace(active_count=lambda: n_threads))
    monkeypatch.setattr(
        workers, "WatchedWorker", lambda key, start: steps.append((key, start)) or "worker"
    )
    monkeypatch.setattr(workers, "keep_worker", steps.append)
    calls.prepare_limited("purpose", 2)
    calls.prepare_limited("other")
    keys = [("purpose", workers.ANY_LIMITS)] * 2 + [("other", workers.ANY_LIMITS)]
    assert steps == [
        item for key in keys[:n_prepared] for item in ((key, workers.fork_child), "worker")
    ]
