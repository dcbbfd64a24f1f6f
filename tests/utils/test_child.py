"""What a worker process does with its clock and its memory, called in this process."""

from __future__ import annotations

import faulthandler
import gc
import os
from types import SimpleNamespace
from typing import Any

import pytest

from arena.utils.processes import child
from arena.utils.processes.limits import Limits


def test_a_clock_is_restarted_after_a_tenth_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, started, announced = 1000.0, [], []
    monkeypatch.setattr(child, "time", SimpleNamespace(monotonic=lambda: now))

    def announce() -> None:
        announced.append(now)
        raise BrokenPipeError  # the parent has ended, which is noticed elsewhere

    policy: Any = SimpleNamespace(start_clock=started.append)
    clock = child._Clock(20.0, policy, announce=announce)
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
    policy = child._Watched(limits)
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
