"""Limits and signals of processes on Linux, and compilation, with the calls replaced."""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from arena.utils.compilation import compiled
from arena.utils.processes import linux
from arena.utils.processes.limits import Confinement, Limits


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
        linux.end_descendants()
    assert end.value.code == 0
    assert set(killed) == {(7, signal.SIGKILL), (8, signal.SIGKILL)}
    if n_rounds is None:
        assert now == pytest.approx(105.0, abs=0.002)
    else:
        assert len(killed) == 2 * n_rounds
        assert now == pytest.approx(100.0, abs=0.01)


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


class Libc:
    """A C library that records its calls and returns the next of the answers, or else 0."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.answers: list[int] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            self.calls.append((name, *arguments))
            return self.answers.pop(0) if self.answers else 0

        return call


@pytest.fixture
def libc(monkeypatch: pytest.MonkeyPatch) -> Libc:
    libc = Libc()
    monkeypatch.setattr(linux, "_libc", lambda: libc)
    return libc


def test_a_process_adopts_descendants_and_ends_with_its_parent(libc: Libc) -> None:
    linux.adopt_descendants()
    linux.end_with_parent()
    # PR_SET_CHILD_SUBREAPER and PR_SET_PDEATHSIG of <linux/prctl.h>.
    assert libc.calls == [("prctl", 36, 1, 0, 0, 0), ("prctl", 1, 9, 0, 0, 0)]


@pytest.mark.parametrize(
    ("how", "calls"),
    [
        ("the worker ends", ["poll"]),
        ("the socket is closed", ["poll"]),
        ("no pidfd, the worker ends", ["poll 50", "wait 7", "poll 50", "wait 7"]),
        ("no pidfd, the socket is closed", ["poll 50", "wait 7", "poll 50"]),
    ],
)
def test_a_guard_waits_for_the_end_of_its_worker_or_of_its_parent(
    monkeypatch: pytest.MonkeyPatch, how: str, calls: list[str]
) -> None:
    steps: list[str] = []

    class Poll:
        registered: ClassVar[list[Any]] = []

        def register(self, *watched: Any) -> None:
            self.registered.append(watched)

        def poll(self, *milliseconds: int) -> list[Any]:
            steps.append(" ".join(["poll", *map(str, milliseconds)]))
            is_closed = how == "no pidfd, the socket is closed" and len(steps) == 3
            return ["event"] if is_closed or not milliseconds else []

    def pidfd_open(worker: int) -> int:
        assert worker == 7
        if how.startswith("no pidfd"):
            raise OSError
        return 70

    def waitpid(worker: int, options: int) -> tuple[int, int]:
        assert options == os.WNOHANG
        steps.append(f"wait {worker}")
        return (7, 0) if how.endswith("the worker ends") and len(steps) == 4 else (0, 0)

    handlers: list[Any] = []
    monkeypatch.setitem(sys.modules, "select", SimpleNamespace(poll=Poll, POLLIN=1))
    monkeypatch.setattr(os, "pidfd_open", pidfd_open, raising=False)
    monkeypatch.setattr(os, "waitpid", waitpid)
    monkeypatch.setattr(signal, "signal", lambda *handler: handlers.append(handler))
    monkeypatch.setattr(linux, "end_descendants", lambda: steps.append("end"))
    linux.guard(7, "socket")
    assert steps == [*calls, "end"]
    assert Poll.registered == [("socket", 1), (70, 1)][: 1 if how.startswith("no pidfd") else 2]
    ((terminated, handler),) = handlers
    assert terminated == signal.SIGTERM
    handler(terminated, None)
    assert steps[-2:] == ["end"] * 2


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that writes files under a folder that replaces the root folder."""
    (tmp_path / "proc").mkdir()

    def write(path: str, text: str) -> None:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    monkeypatch.setattr(linux, "Path", lambda path: tmp_path / path.removeprefix("/"))
    write.root = tmp_path  # type: ignore[attr-defined]
    return write


def test_descendants_are_the_children_of_children(proc: Any) -> None:
    # Process 7 has the children 8 and 9, and 9 the child 10; 11 has ended while it is read.
    for process, name, parent in ((7, "a", 1), (8, "b) R 1", 7), (9, "c d", 7), (10, "(", 9)):
        proc(f"proc/{process}/stat", f"{process} ({name}) S {parent} 7 7 0")
    (proc.root / "proc" / "11").mkdir()
    proc("proc/self/stat", "6 (e) S 7 7 7 0")
    assert [sorted(linux.descendants(root)) for root in (7, 9, 10, 11)] == [
        [8, 9, 10],
        [10],
        [],
        [],
    ]
    proc("proc/self/statm", "100 90 80 70 60 50 40")
    assert linux.data_bytes() == 50 * resource.getpagesize()


@pytest.mark.parametrize(
    ("of_guard", "of_threads", "has_left"),
    [
        ("9", ("", ""), False),
        ("9 ", ("", "12 "), True),
        ("9 ", ("12 ", ""), True),
        ("9 12 ", ("", ""), True),  # its own parent has ended
        (None, ("", ""), True),  # without lists of children: 9 and 10 are descendants of the guard
    ],
)
def test_processes_that_a_task_left_are_children_of_its_threads_or_of_its_guard(
    proc: Any,
    monkeypatch: pytest.MonkeyPatch,
    of_guard: str | None,
    of_threads: tuple[str, str],
    has_left: bool,
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 9)
    monkeypatch.setattr(os, "getppid", lambda: 7)
    monkeypatch.setattr(linux, "descendants", {7: [9, 10]}.__getitem__)
    if of_guard is not None:
        proc("proc/7/task/7/children", of_guard)
    for thread, children in zip((9, 90), of_threads, strict=True):
        proc(f"proc/9/task/{thread}/children", children)
    assert linux.has_left_processes() is has_left


@pytest.mark.parametrize(
    ("memory", "hard", "expected"),
    [
        (1.5, -1, [1_572_864]),  # 1.5 times 2^20
        (1.5, 1_000, [1_000]),
        (1.5, 2_000_000, [1_572_864]),
        (None, -1, []),
    ],
)
def test_a_confined_process_has_its_megabytes_within_those_of_the_system(
    libc: Libc,
    monkeypatch: pytest.MonkeyPatch,
    memory: float | None,
    hard: int,
    expected: list[int],
) -> None:
    limits_set: list[Any] = []
    monkeypatch.setitem(
        sys.modules,
        "resource",
        SimpleNamespace(
            RLIMIT_DATA="data", RLIM_INFINITY=-1, getrlimit=lambda _: (7, hard),
            setrlimit=lambda *limit: limits_set.append(limit),
        ),
    )  # fmt: skip
    linux.confine(Confinement(memory))
    assert limits_set == [("data", (most, most)) for most in expected]
    assert libc.calls == []


USER, NETWORK, MOUNTS = 0x10000000, 0x40000000, 0x20000
"""CLONE_NEWUSER, CLONE_NEWNET and CLONE_NEWNS of <sched.h>."""


@pytest.mark.parametrize(
    ("answers", "calls", "has_loopback", "has_ids"),
    [
        ((0,), [NETWORK], True, False),
        ((-1, 0), [NETWORK, USER + NETWORK], True, True),
        ((-1, -1), [NETWORK, USER + NETWORK], False, False),
    ],
)
def test_a_process_without_a_network_has_a_loopback_of_its_own(
    libc: Libc,
    proc: Any,
    monkeypatch: pytest.MonkeyPatch,
    answers: tuple[int, ...],
    calls: list[int],
    has_loopback: bool,
    has_ids: bool,
) -> None:
    requests: list[Any] = []
    libc.answers += answers
    monkeypatch.setattr(os, "geteuid", lambda: 5)
    monkeypatch.setattr(os, "getegid", lambda: 6)
    monkeypatch.setattr("fcntl.ioctl", lambda _, *request: requests.append(request))
    for file in ("setgroups", "uid_map", "gid_map"):
        proc(f"proc/self/{file}", "")
    linux.confine(Confinement(network=False))
    assert libc.calls == [("unshare", namespaces) for namespaces in calls]
    # SIOCSIFFLAGS: the name of the interface in 16 bytes, then IFF_UP and IFF_RUNNING, 1 + 64.
    flags = (65).to_bytes(2, sys.byteorder)
    request = 0x8914, b"lo".ljust(16, b"\0") + flags + bytes(22)
    assert requests == [request] * has_loopback
    texts = [(proc.root / "proc/self" / f).read_text() for f in ("setgroups", "uid_map", "gid_map")]
    assert texts == (["deny", "5 5 1", "6 6 1"] if has_ids else [""] * 3)


@pytest.mark.skipif(sys.platform != "linux", reason="no other system has these flags")
@pytest.mark.parametrize("n_refused", [None, 0, 1, 2])
def test_a_folder_is_mounted_again_to_be_read_only(
    libc: Libc, monkeypatch: pytest.MonkeyPatch, n_refused: int | None
) -> None:
    calls = [
        ("unshare", MOUNTS),
        ("mount", b"none", b"/", None, 16_384 + 262_144, None),  # MS_REC, MS_PRIVATE
        ("mount", b"/a", b"/a", None, 4_096 + 16_384, None),  # MS_BIND, MS_REC
        # MS_BIND, MS_REMOUNT and MS_RDONLY, and the flags of the folder: MS_NOSUID and MS_NOEXEC.
        ("mount", b"/a", b"/a", None, 4_096 + 32 + 1 + 2 + 8, None),
    ]
    libc.answers += [0] * 4
    if n_refused is not None:
        libc.answers[n_refused] = -1
        calls = calls[: n_refused + 1]
    if n_refused == 0:
        libc.answers.insert(1, -1)  # refused with a namespace of users too
        calls.append(("unshare", USER + MOUNTS))
    status = SimpleNamespace(f_flag=os.ST_NOSUID | os.ST_NOEXEC | os.ST_RDONLY)
    monkeypatch.setattr(os, "statvfs", {b"/a": status}.__getitem__)
    linux.confine(Confinement(read_only=Path("/a")))
    assert libc.calls == calls
