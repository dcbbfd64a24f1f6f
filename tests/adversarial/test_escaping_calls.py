"""Nothing that a call starts outlives its limit, and no way to end breaks the next call."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import escaping_tasks as tasks
from arena.utils.processes import Confinement, Ended, descendants, run_limited, workers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the guard is Linux's")

_CLONE_NEWNS, _CLONE_NEWNET = 0x20000, 0x40000000
SECONDS = 1.5


def run(function: Callable[..., Any], *task: Any, **options: Any) -> Any:
    options = {"seconds": SECONDS, "purpose": "adversarial", **options}
    (result,) = run_limited(function, [task], workers=1, **options)
    return result


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Any:
    run(pow, 2, 3)  # joblib's resource tracker is started once and stays
    for worker in workers.idle_workers[:]:
        workers.idle_workers.remove(worker)
        worker.kill()
    before = set(descendants(os.getpid()))
    yield
    for worker in workers.idle_workers[:]:
        workers.idle_workers.remove(worker)
        worker.kill()
    until = time.monotonic() + 600
    while set(descendants(os.getpid())) - before and time.monotonic() < until:
        time.sleep(0.05)
    assert not set(descendants(os.getpid())) - before


@pytest.mark.slow
@pytest.mark.parametrize(
    "task", [tasks.cancel_the_watchdog, tasks.start_a_session, tasks.become_daemons]
)
def test_the_process_that_waits_holds_the_deadline(task: Callable[[], None]) -> None:
    assert run(task) == Ended(too_long=True, seconds=SECONDS)


@pytest.mark.slow
def test_a_hanging_call_is_ended_in_time() -> None:
    run(pow, 2, 3)  # the start of the process is not counted
    started = time.monotonic()
    assert run(tasks.hang) == Ended(too_long=True, seconds=SECONDS)
    assert time.monotonic() - started < SECONDS + 300


@pytest.mark.slow
def test_an_answer_without_end_is_ended_at_the_deadline() -> None:
    assert run(tasks.answer_without_end) == Ended(too_long=True, seconds=SECONDS)


@pytest.mark.slow
def test_a_fork_that_keeps_the_pipe_does_not_hide_the_end() -> None:
    assert run(tasks.fork_and_keep_the_pipe, seconds=60.0) == Ended(too_long=False, seconds=60.0)


@pytest.mark.slow
def test_a_call_that_returns_twice_answers_once() -> None:
    assert run(tasks.return_twice, seconds=60.0) == 7
    assert run(pow, 2, 5, seconds=60.0) == 32


@pytest.mark.slow
def test_what_a_call_leaves_behind_is_ended() -> None:
    assert run(tasks.leave_a_session_behind, seconds=60.0) == 5


@pytest.mark.slow
def test_a_call_may_use_multiprocessing() -> None:
    assert run(tasks.use_a_pool, seconds=60.0) == [1, 4, 9]


@pytest.mark.slow
def test_an_order_to_stop_is_an_error_like_any_other() -> None:
    with pytest.raises(RuntimeError, match="KeyboardInterrupt"):
        run(tasks.raise_order_to_stop, seconds=60.0)


@pytest.mark.slow
def test_memory_is_limited() -> None:
    with pytest.raises(MemoryError):
        run(tasks.allocate, seconds=60.0, confinement=Confinement(memory=400))


def _namespace(flag: int) -> None:
    if not run(tasks.may_make_namespaces, flag, seconds=60.0, purpose="may it"):
        pytest.skip("this kernel grants no such namespace")


@pytest.mark.slow
def test_there_is_no_network() -> None:
    _namespace(_CLONE_NEWNET)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert run(tasks.connect, port, seconds=60.0) == "connected"
        cut_off = Confinement(network=False)
        assert run(tasks.connect, port, seconds=60.0, confinement=cut_off) != "connected"


@pytest.mark.slow
def test_a_folder_is_read_only(tmp_path: Path) -> None:
    _namespace(_CLONE_NEWNS)
    confined = Confinement(read_only=tmp_path)
    assert run(tasks.write, str(tmp_path), seconds=60.0, confinement=confined) == (
        "Read-only file system"
    )
    assert run(tasks.write, str(tmp_path), seconds=60.0) == "written"
