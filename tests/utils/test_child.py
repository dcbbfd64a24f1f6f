"""What a worker process does, called in this process: its tasks, its clock and its memory."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import io
import os
import signal
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from arena.utils.processes import child
from arena.utils.processes.limits import Confinement, Limits
from arena.utils.processes.messages import Messages, send, shared_file


def test_a_clock_is_restarted_after_a_tenth_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, started, announced = 1000.0, [], []
    monkeypatch.setattr(child, "time", SimpleNamespace(monotonic=lambda: now))

    def announce() -> None:
        announced.append(now)
        raise BrokenPipeError  # the parent has ended, which is noticed elsewhere

    policy: Any = SimpleNamespace(start_clock=started.append)
    clock = child.TaskClock(20.0, policy, announce=announce)
    for seconds, n_starts in ((0.0, 1), (2.0, 1), (0.5, 2), (2.0, 2), (0.5, 3)):
        now += seconds
        clock.start()
        assert started == [20.0] * n_starts
        assert len(announced) == n_starts
    now += 100.0
    monkeypatch.setattr(os, "getpid", lambda: -1)  # a process that the task forked
    clock.start()
    assert len(started) == 3


@pytest.mark.parametrize("limits", [None, Limits(memory=1000)])
def test_a_process_that_holds_a_quarter_of_its_limit_is_kept(
    monkeypatch: pytest.MonkeyPatch, limits: Limits | None
) -> None:
    held_bytes, limited, stopped, threshold = 500, [], [], gc.get_threshold()
    monkeypatch.setattr(child, "HAS_LIMITS", True)
    monkeypatch.setattr(child.linux, "data_bytes", lambda: held_bytes)
    monkeypatch.setattr(child.linux, "limit", lambda *arguments: limited.append(arguments))
    monkeypatch.setattr(
        faulthandler,
        "dump_traceback_later",
        lambda seconds, exit, file: stopped.append((seconds, exit)),
    )
    monkeypatch.setattr(faulthandler, "cancel_dump_traceback_later", lambda: stopped.append(None))
    monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", "system")
    policy = child.WatchedTask(limits)
    policy.begin()
    policy.start_clock(20.0)
    assert stopped == [(pytest.approx(22.0), True)]
    for bytes_now, is_kept in ((500, True), (750, True), (751, limits is None)):
        held_bytes = bytes_now
        assert policy.end() is is_kept
        policy.begin()
    assert stopped[1:] == [None] * 3
    # The limit is beyond what the process held before its first task.
    assert limited == [(limits, 500)] * 4 * (limits is not None)
    assert gc.get_threshold() == threshold
    policy._null.close()


class Refuses:
    """Can be pickled, but not unpickled."""

    def __reduce__(self) -> Any:
        return int, ("no number",)


def stop() -> None:
    raise KeyboardInterrupt("now")


def fork() -> str:
    """Return in a process with another number, as the fork of a task does."""
    os.getpid = lambda: -1  # undone by the test
    return "twice"


class Counted:
    """A kind of worker that cannot run another task after the first one."""

    def __init__(self, *_: Any) -> None:
        self.steps: list[Any] = []

    def begin(self) -> None:
        self.steps.append("begin")

    def start_clock(self, seconds: float) -> None:
        self.steps.append(seconds)

    def end(self) -> bool:
        self.steps.append("end")
        return len(self.steps) > 3


class Left(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return both ends of a worker's connection, in a process that no call ends or changes."""
    pair = SimpleNamespace(calls=[])
    pair.own, pair.other = socket.socketpair()
    pair.file = shared_file()

    def leave(code: int) -> None:
        raise Left(code)

    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(os, "getpid", os.getpid)
    monkeypatch.setattr(os, "setpgrp", lambda: pair.calls.append("own group"))
    monkeypatch.setattr(signal, "signal", lambda *call: pair.calls.append(call))
    monkeypatch.setattr(
        os, "fdopen", lambda *file, buffering: {(6, "r+b", 0): pair.file}[*file, buffering]
    )
    monkeypatch.setattr(child, "enter_folder", pair.calls.append)
    monkeypatch.setattr(child, "_clock", None)
    yield pair
    for end in (pair.own, pair.other, pair.file):
        end.close()


def answers_of(pair: Any) -> list[Any]:
    """Return what a worker has answered."""
    pair.own.setblocking(False)
    answers = []
    with contextlib.suppress(EOFError):
        answers.extend(Messages(pair.own, pair.file))
    return [
        (*start, str(result) if isinstance(result, Exception) else result, reusable)
        for *start, result, reusable in answers
    ]


def test_requests_are_answered_in_turn_until_the_socket_is_closed(pair: Any) -> None:
    shared = ([1, 2],)
    for request in (
        (1, pow, False, (), (2, 3), 5.0, "/folder"),
        (2, [].count, True, shared, (), 6.0, None),
        (3, list, True, (), (), 7.0, None),  # of the object that was sent last
        (4, Refuses(), False, (), (), 8.0, None),
        (5, stop, False, (), (), 8.0, None),
        (6, set, False, (), ([1],), 8.0, None),
    ):
        send(pair.own, pair.file, request)
    pair.own.shutdown(socket.SHUT_WR)
    policy = Counted()
    child.run_tasks(pair.other, pair.other.makefile("rb"), pair.file, policy)
    assert child.in_worker()
    assert answers_of(pair) == [
        (1, None, None, True),
        (1, True, 8, False),
        (2, None, None, True),
        (2, True, 0, True),
        (3, None, None, True),
        (3, True, [1, 2], True),
        (4, False, "invalid literal for int() with base 10: 'no number'", True),
        (5, None, None, True),
        (5, False, "KeyboardInterrupt: now", True),
        (6, None, None, True),
        (6, False, "a set cannot be sent to another process", True),
    ]
    assert policy.steps == [
        step for seconds in (5.0, 6.0, 7.0, 8.0, 8.0) for step in ("begin", seconds, "end")
    ]
    assert pair.calls == ["/folder", None, None, None, None]


def test_a_process_that_a_task_forked_ends_and_answers_nothing(pair: Any) -> None:
    send(pair.own, pair.file, (1, fork, False, (), (), 5.0, None))
    with pytest.raises(Left, match="0"):
        child.run_tasks(pair.other, pair.other.makefile("rb"), pair.file, Counted())
    assert answers_of(pair) == [(1, None, None, True)]


def test_a_watched_process_runs_tasks_in_a_group_of_its_own(
    pair: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    received_limits: list[Any] = []

    def watched(limits: Limits | None) -> Counted:
        received_limits.append(limits)
        return Counted()

    monkeypatch.setattr(child, "WatchedTask", watched)
    send(pair.own, pair.file, Limits(memory=7))
    send(pair.own, pair.file, (1, pow, False, (), (2, 3), 5.0, None))
    pair.own.shutdown(socket.SHUT_WR)
    monkeypatch.setattr(socket, "socket", lambda fileno: {5: pair.other}[fileno])
    child.run_watched(5, 6)
    assert received_limits == [Limits(memory=7)]
    assert answers_of(pair)[1:] == [(1, True, 8, False)]
    assert pair.calls == [(signal.SIGINT, signal.SIG_IGN), "own group", None]


@pytest.mark.parametrize(
    ("has_limits", "guard_lives", "steps"),
    [
        (True, True, ["adopt", "own group", Confinement(7.0), "end with parent", None]),
        (True, False, ["adopt", "own group", Confinement(7.0), "end with parent"]),
        (False, False, ["own group", "thread", None]),
    ],
)
def test_a_guarded_process_confines_itself_and_runs_tasks(
    pair: Any,
    monkeypatch: pytest.MonkeyPatch,
    has_limits: bool,
    guard_lives: bool,
    steps: list[Any],
) -> None:
    watched = io.BytesIO()

    def thread(target: Any, args: Any, daemon: bool) -> Any:
        assert target is child.end_with_parent
        assert daemon
        assert args == (watched,)
        return SimpleNamespace(start=lambda: pair.calls.append("thread"))

    monkeypatch.setattr(child, "HAS_LIMITS", has_limits)
    monkeypatch.setattr(child.threading, "Thread", thread)
    monkeypatch.setattr(os, "fork", lambda: 0)
    monkeypatch.setattr(os, "getppid", lambda: os.getpid() if guard_lives else -1)
    monkeypatch.setattr(child.linux, "has_left_processes", lambda: True)
    monkeypatch.setattr(child.linux, "adopt_descendants", lambda: pair.calls.append("adopt"))
    monkeypatch.setattr(child.linux, "confine", pair.calls.append)
    monkeypatch.setattr(
        child.linux, "end_with_parent", lambda: pair.calls.append("end with parent")
    )
    send(pair.own, pair.file, Confinement(7.0))
    send(pair.own, pair.file, (1, pow, False, (), (2, 3), 5.0, None))
    pair.own.shutdown(socket.SHUT_WR)
    monkeypatch.setattr(socket, "socket", lambda fileno: {5: pair.other, 7: watched}[fileno])
    with pytest.raises(Left, match="0"):
        child.run_guarded(5, 6, 7)
    assert watched.closed is has_limits
    assert pair.calls == [(signal.SIGINT, signal.SIG_IGN), *steps]
    # A process that the task started still runs, which is noticed only with limits.
    has_run = steps[-1] is None
    assert answers_of(pair)[1:] == [(1, True, 8, not has_limits)] * has_run


def test_the_process_that_forks_a_guarded_one_guards_it(
    pair: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[int] = []

    def guard(*call: Any) -> None:
        assert call == (9, pair.own)
        raise Left

    monkeypatch.setattr(child, "HAS_LIMITS", True)
    monkeypatch.setattr(os, "fork", lambda: 9)
    monkeypatch.setattr(os, "close", closed.append)
    monkeypatch.setattr(child.linux, "adopt_descendants", lambda: None)
    monkeypatch.setattr(child.linux, "guard", guard)
    monkeypatch.setattr(socket, "socket", lambda fileno: {5: pair.other, 7: pair.own}[fileno])
    with pytest.raises(Left):
        child.run_guarded(5, 6, 7)
    # The worker's ends of both connections are closed.
    assert closed == [6]
    assert pair.other.fileno() == -1


@pytest.mark.parametrize("how", ["told", "closed", "lost"])
def test_a_process_without_a_guard_ends_when_its_parent_says_so_or_ends(
    pair: Any, how: str
) -> None:
    if how == "told":
        pair.own.send(b"end")
    elif how == "closed":
        pair.own.close()
    else:
        pair.other.close()
    with pytest.raises(Left, match="1"):
        child.end_with_parent(pair.other)


def test_a_process_ends_when_the_socket_of_its_parent_is_closed(pair: Any) -> None:
    """It waits for a byte, which no parent sends."""
    sizes: list[int] = []

    def closed(size: int) -> bytes:
        sizes.append(size)
        return b""

    def broken(size: int) -> bytes:
        raise ConnectionResetError(size)

    for receive in (closed, broken):
        with pytest.raises(Left, match="^1$"):
            child.end_with_parent(SimpleNamespace(recv=receive))
    assert sizes == [1]
