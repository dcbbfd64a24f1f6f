"""Limits and signals of processes on Linux, and compilation, with the calls replaced."""

from __future__ import annotations

import os
import signal
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from arena.utils.compilation import compiled
from arena.utils.processes import linux
from arena.utils.processes.limits import Limits


@pytest.mark.parametrize(
    ("limits", "hard", "expected"),
    [
        (Limits(memory=1000), -1, {"data": 1500, "files": 64, "core": 0}),
        (
            Limits(memory=1000, open_files=9, processor_seconds=60),
            -1,
            # 2.5 seconds were used before the task.
            {"data": 1500, "files": 9, "core": 0, "cpu": 63},
        ),
        (Limits(memory=1000), 40, {"data": 40, "files": 40, "core": 0}),
    ],
)
def test_limits_are_beyond_what_a_process_has_used_and_within_those_of_the_system(
    monkeypatch: pytest.MonkeyPatch, limits: Limits, hard: int, expected: dict[str, int]
) -> None:
    limits_set: dict[str, tuple[int, int]] = {}
    resource = SimpleNamespace(
        RLIMIT_DATA="data", RLIMIT_NOFILE="files", RLIMIT_CORE="core", RLIMIT_CPU="cpu",
        RLIM_INFINITY=-1, getrlimit=lambda _: (7, hard), setrlimit=limits_set.__setitem__,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "resource", resource)
    monkeypatch.setattr(linux, "time", SimpleNamespace(process_time=lambda: 2.5))
    linux.limit(limits, 500)
    assert limits_set == {kind: (value, hard) for kind, value in expected.items()}


@pytest.mark.parametrize("n_rounds", [3, None])
def test_a_guard_kills_descendants_until_there_are_none_or_for_five_seconds(
    monkeypatch: pytest.MonkeyPatch, n_rounds: int | None
) -> None:
    now, killed = 100.0, []

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    def leave(code: int) -> None:
        raise SystemExit(code)

    def descendants(root: int) -> list[int]:
        assert root == os.getpid()
        return [7, 8] if n_rounds is None or len(killed) < 2 * n_rounds else []

    monkeypatch.setattr(linux, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    monkeypatch.setattr(linux, "descendants", descendants)
    monkeypatch.setattr(os, "kill", lambda *call: killed.append(call))
    monkeypatch.setattr(os, "waitpid", lambda *_: (0, 0))
    monkeypatch.setattr(os, "_exit", leave)
    with pytest.raises(SystemExit) as end:
        linux._end_descendants()
    assert end.value.code == 0
    assert set(killed) == {(7, signal.SIGKILL), (8, signal.SIGKILL)}
    if n_rounds is None:
        assert now == pytest.approx(105.0, abs=0.002)
    else:
        assert len(killed) == 2 * n_rounds


@pytest.mark.parametrize("has_cache", [True, False])
def test_loops_are_compiled_to_run_beside_threads_also_without_a_cache(
    monkeypatch: pytest.MonkeyPatch, has_cache: bool
) -> None:
    def njit(**options: Any) -> Any:
        def compile_with(function: Any) -> Any:
            if options.get("cache") and not has_cache:
                raise RuntimeError("no locator available")
            return options

        return compile_with

    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(njit=njit))
    options: Any = compiled.__wrapped__(lambda: None)
    assert options == {"nogil": True, **({"cache": True} if has_cache else {})}
