"""Calls in other processes: results, errors, deadlines, and kernels that refuse confinement."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import escaping_tasks as tasks
from arena.utils.processes import (
    AnswerError,
    Confinement,
    Ended,
    Limits,
    call_limited,
    descendants,
    in_worker,
    run_limited,
    workers,
)
from arena.utils.processes.workers import WatchedWorker
from checkout import python_path

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the guard is Linux's")
SUPPORT = Path(tasks.__file__).parent


@pytest.mark.slow
def test_results_come_in_the_order_of_the_tasks() -> None:
    results = run_limited(tasks.sleep_and_return, [(0.3, 1), (0.0, 2)], workers=2, seconds=60.0)
    assert list(results) == [1, 2]


@pytest.mark.slow
def test_one_ended_task_costs_no_other() -> None:
    given = [(2,), (0,), (3,)]
    assert list(run_limited(tasks.end_at_zero, given, workers=2, seconds=60.0)) == [
        2,
        Ended(too_long=False, seconds=60.0),
        3,
    ]


@pytest.mark.slow
def test_a_process_that_is_killed_costs_its_task_only(tmp_path: Path) -> None:
    given = [(str(tmp_path), value) for value in range(4)]
    assert list(run_limited(tasks.killed_the_first_time, given, workers=2, seconds=60.0)) == [
        0,
        1,
        2,
        3,
    ]
    runs = [(tmp_path / f"runs-{value}").stat().st_size for value in range(4)]
    assert runs == [2, 1, 1, 1]
    (tmp_path / "runs-0").unlink()
    assert call_limited(tasks.killed_the_first_time, str(tmp_path), 0, seconds=60.0) == 0


@pytest.mark.slow
def test_both_kinds_of_call_tell_a_long_one_from_a_crash() -> None:
    assert call_limited(tasks.end_at_zero, 0, seconds=60.0) == Ended(False, 60.0)
    assert call_limited(tasks.hang, seconds=0.3) == Ended(True, 0.3)
    assert list(run_limited(tasks.hang, [()], workers=1, seconds=0.3)) == [Ended(True, 0.3)]
    assert call_limited(pow, 2, 3, seconds=60.0) == 8


@pytest.mark.slow
@LINUX
def test_a_prepared_process_is_used_once_and_has_the_limits_of_its_call() -> None:
    """In a process of its own: pytest may run threads, and then nothing is forked."""
    code = """
import os
import escaping_tasks as tasks
from arena.utils import processes
from arena.utils.processes import Ended, Limits, call_limited, prepare_limited

def call(function, *task, purpose="x"):
    limits = Limits(100 * 2**20)
    return call_limited(function, *task, seconds=60.0, limits=limits, purpose=purpose)

prepare_limited("x")
(prepared,) = processes.workers.idle_workers
assert call(os.getpid, purpose="y") != prepared.process.pid
assert call(os.getpid) == call(os.getpid) == prepared.process.pid
assert call(os.readlink, "/proc/self/fd/1") == os.devnull
try:
    call(bytes, 2**30)
except MemoryError:
    pass
else:
    raise AssertionError("no limit")
assert call(tasks.end_at_zero, 0) == Ended(False, 60.0)
assert call(os.getpid) != prepared.process.pid
prepare_limited("z")
"""
    called = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=900,
        env={**os.environ, "PYTHONPATH": python_path(SUPPORT)},
    )  # fmt: skip
    assert (called.returncode, called.stdout, called.stderr) == (0, "", "")


@pytest.mark.slow
def test_a_caller_whose_folder_was_removed_has_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed = tmp_path / "removed"
    removed.mkdir()
    monkeypatch.chdir(removed)
    removed.rmdir()
    assert call_limited(os.getcwd, seconds=60.0) == "/"
    assert list(run_limited(os.getcwd, [()], workers=1, seconds=60.0)) == ["/"]


@pytest.mark.slow
def test_each_part_of_a_task_has_the_full_time() -> None:
    (result,) = run_limited(tasks.take_two_parts, [(5.0,)], workers=1, seconds=9.0)
    assert result == "done"


def test_a_shared_argument_is_sent_once_and_again_after_another_or_a_crash() -> None:
    one, other = [1], [2]

    def call(shared: list[int] | None) -> object:
        return call_limited(tasks.end_or_count, seconds=60.0, purpose="shared", shared=shared)

    # The function changes what it was given: a copy that was sent again would be unchanged.
    assert [call(one), call(one), call(other), call(other), call(one)] == [2, 3, 2, 3, 2]
    assert call(None) == "nothing"
    assert call(one) == 3
    assert call([0]) == Ended(False, 60.0)
    assert call(one) == 2


@pytest.mark.slow
def test_a_shared_argument_that_could_not_be_received_is_sent_again() -> None:
    unreadable_at_first = tasks.UnreadableAtFirst()

    def call(shared: object) -> object:
        return call_limited(tasks.identity, seconds=60.0, purpose="unreadable", shared=shared)

    assert call("other") == "other"
    with pytest.raises(ValueError, match="not at first"):
        call(unreadable_at_first)
    assert call(unreadable_at_first) == "received"


def test_a_worker_knows_that_it_is_one() -> None:
    assert not in_worker()
    assert list(run_limited(in_worker, [()], workers=1, seconds=60.0)) == [True]
    assert call_limited(in_worker, seconds=60.0)


@pytest.mark.slow
def test_confinement_and_purpose_choose_the_process() -> None:
    def process(purpose: str, confinement: Confinement | None = None) -> int:
        (pid,) = run_limited(
            os.getpid, [()], workers=1, seconds=60.0, purpose=purpose, confinement=confinement
        )
        return int(pid)

    first = process("first")
    assert len({first, process("second"), process("first", Confinement(memory=2000))}) == 3
    assert process("first") == first


def test_a_result_that_cannot_be_sent_is_an_error() -> None:
    with pytest.raises(TypeError, match="a Unsendable cannot be sent"):
        list(run_limited(tasks.Unsendable, [()], workers=1, seconds=60.0))
    assert list(run_limited(pow, [(2, 3)], workers=1, seconds=60.0)) == [8]


@pytest.mark.slow
@pytest.mark.parametrize("content", ["pickle", "name", "shape", "order", "array", "error", "deep"])
def test_no_answer_of_a_hijacked_process_is_executed(tmp_path: Path, content: str) -> None:
    for call in (
        lambda *task: call_limited(tasks.forge, *task, seconds=60.0),
        lambda *task: list(run_limited(tasks.forge, [task], workers=1, seconds=60.0)),
    ):
        with pytest.raises(AnswerError, match="no valid answer"):
            call(content, str(tmp_path / "executed"))
    assert not (tmp_path / "executed").exists()
    assert call_limited(pow, 2, 3, seconds=60.0) == 8


@LINUX
def test_a_process_that_still_holds_memory_is_replaced() -> None:
    """What one file leaves behind must not make the next one fail."""
    limits = Limits(memory=256 * 2**20)

    def process(size: int) -> object:
        return call_limited(tasks.hold_bytes, size, seconds=60.0, limits=limits, purpose="hold")

    first = process(0)
    assert [process(0), process(128 * 2**20)] == [first, first]
    assert process(0) != first


REFUSING = """
import ctypes
import os

REFUSED = {refused!r}


class Refusing(ctypes.CDLL):
    def __getattr__(self, name):
        return (lambda *_: -1) if name in REFUSED else super().__getattr__(name)


def refuse(*_):
    raise PermissionError(1, "refused")


ctypes.CDLL = Refusing
if "pidfd_open" in REFUSED:
    os.pidfd_open = refuse
"""
CALLS = ["unshare", "mount", "prctl", "pidfd_open"]


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize("refused", [*([call] for call in CALLS), CALLS], ids="-".join)
def test_a_system_that_refuses_a_confinement_runs_without_it(
    refused: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(REFUSING.format(refused=refused))
    monkeypatch.setenv("PYTHONPATH", python_path(tmp_path))
    confinement = Confinement(memory=2000, network=False, read_only=tmp_path)
    named = {"workers": 1, "purpose": f"refused {refused}", "confinement": confinement}
    (said,) = run_limited(tasks.write, [(str(tmp_path),)], seconds=60.0, **named)
    if {"unshare", "mount"} & set(refused):
        assert said == "written"
    assert list(run_limited(tasks.end_at_zero, [(0,)], seconds=60.0, **named)) == [
        Ended(too_long=False, seconds=60.0)
    ]
    before = set(descendants(os.getpid()))
    (ended,) = run_limited(tasks.start_a_session, [()], seconds=1.0, **named)
    assert ended == Ended(too_long=True, seconds=1.0)
    until = time.monotonic() + 600
    while set(descendants(os.getpid())) - before and time.monotonic() < until:
        time.sleep(0.05)
    assert set(descendants(os.getpid())) <= before


@pytest.mark.slow
@LINUX
def test_nothing_outlives_the_process_that_waits() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(SUPPORT)!r}); import escaping_tasks\n"
        "from arena.utils.processes import run_limited\n"
        "list(run_limited(escaping_tasks.start_a_session, [()], workers=1, seconds=600.0))\n"
    )
    waiting = subprocess.Popen([sys.executable, "-c", program], cwd=Path.cwd())
    until = time.monotonic() + 600
    # The guard, the worker, and what the worker started.
    while len(found := descendants(waiting.pid)) < 3 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(found) == 3
    waiting.send_signal(signal.SIGKILL)
    waiting.wait(timeout=600)
    until = time.monotonic() + 600
    while any(is_alive(pid) for pid in found) and time.monotonic() < until:
        time.sleep(0.05)
    assert [pid for pid in found if is_alive(pid)] == []


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.mark.slow
def test_a_first_argument_is_sent_once_while_it_is_the_same_object():
    one, two = tasks.Counted(1), tasks.Counted(2)
    options = {"workers": 1, "seconds": 60.0, "purpose": "first argument"}
    given = [(one, 0), (one, 1), (two, 2), (two, 3), (one, 4)]
    found = list(run_limited(tasks.seen, given, **options))
    assert found == [(1, 0, 1), (1, 1, 1), (2, 2, 2), (2, 3, 2), (1, 4, 3)]
    with pytest.raises(ValueError, match="fails on 1"):
        list(run_limited(tasks.fails_on, [(one,)], **options))
    assert list(run_limited(tasks.seen, [(one, 5)], **options)) == [(1, 5, 4)]


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be suspended")
@pytest.mark.parametrize("guarded", [False, pytest.param(True, marks=LINUX)])
def test_what_is_sent_to_a_suspended_process_does_not_stop_the_caller(
    monkeypatch: pytest.MonkeyPatch, guarded: bool
) -> None:
    def call(function: Callable[..., Any], *task: object, seconds: float) -> Any:
        if not guarded:
            return call_limited(function, *task, seconds=seconds, purpose="suspended")
        return next(run_limited(function, [task], workers=1, seconds=seconds, purpose="suspended"))

    more_than_a_pipe_holds = bytes(10**7)
    os.kill(call(os.getpid, seconds=60.0), signal.SIGSTOP)
    monkeypatch.setattr("arena.utils.processes.workers.GRACE", 0.5)
    assert call(len, more_than_a_pipe_holds, seconds=0.5) == Ended(True, 0.5)
    monkeypatch.undo()
    assert call(len, more_than_a_pipe_holds, seconds=60.0) == 10**7


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize("kind", ["run_limited", "call_limited"])
def test_a_task_that_kills_its_process_group_ends_only_itself(kind: str) -> None:
    """In a session of its own: otherwise it could end these tests."""
    calls = {
        "run_limited": "list(run_limited(t.kill_the_own_group, [(2,), (0,), (3,)], workers=2, "
        "seconds=60.0))",
        "call_limited": "[call_limited(t.kill_the_own_group, n, seconds=60.0) for n in (2, 0, 3)]",
    }
    program = (
        "import escaping_tasks as t; from arena.utils.processes import *; "
        f"print([getattr(one, 'too_long', one) for one in {calls[kind]}])"
    )
    called = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": python_path(SUPPORT)},
        start_new_session=True,
        check=False,
        timeout=600,
    )
    assert (called.returncode, called.stdout.strip()) == (0, "[2, False, 3]"), called.stderr


@pytest.mark.parametrize(
    ("code", "took", "too_long"),
    [
        (-signal.SIGXCPU, 0.5, True),  # the limit of processor time
        (1, 2.0, True),  # it ended itself when its two seconds were over
        (1, 1.9, False),
        (0, 9.0, False),
        (signal.SIGXCPU, 9.0, False),
        (-signal.SIGKILL, 9.0, False),
    ],
)
def test_a_worker_that_ended_itself_at_its_limit_was_too_long(
    monkeypatch: pytest.MonkeyPatch, code: int, took: float, too_long: bool
) -> None:
    worker: Any = object.__new__(WatchedWorker)
    worker.process = SimpleNamespace(wait=lambda _: code, returncode=code)
    worker._sent_at, worker._seconds = 100.0, 2.0
    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=lambda: 100.0 + took))
    assert worker._was_too_long() == too_long
