"""How a run ends, by what is observed of its program: its report, time, memory, disk and log."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from arena.errors import SandboxError
from arena.interfaces import Box, End
from arena_sandboxes.linux import reported_exit_code
from arena_sandboxes.watch import Watch

MB = 2**20
BOX = Box(
    **{"seconds": 2, "memory_mb": 1, "disk_mb": 1, "cores": 1, "processes": 1},
    output_bytes=1,
    log_bytes=4,
)


class Clock:
    """Shows the times of a list, one after the other, and then its last."""

    def __init__(self, *times: float) -> None:
        self.times = [*times]

    def __call__(self) -> float:
        return self.times.pop(0) if len(self.times) > 1 else self.times[0]


class Usage:
    """A control group with one use of memory and, at the start and the end, of processors."""

    def __init__(self, memory: int = 0, *, out_of_memory: bool = False) -> None:
        self.memory, self.is_out_of_memory = (lambda: memory), (lambda: out_of_memory)
        self.cpu_seconds = Clock(3.0, 5.5)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[End | None, Watch]]]:
    """Return a function that watches a program which has printed and reported already."""
    opened: list[int] = []

    def watch(
        report: bytes = b"",
        printed: bytes = b"",
        times: tuple[float, ...] = (100.0,),
        *,
        ended: bool = True,
        disk_is_full: bool = False,
        usage: Any = None,
        **given: Any,
    ) -> tuple[End | None, Watch]:
        log, status = os.pipe(), os.pipe()
        opened.extend((*log, status[0]))
        os.write(log[1], printed)
        os.write(status[1], report)
        if ended:
            os.close(status[1])
        else:
            opened.append(status[1])
        monkeypatch.setattr("arena_sandboxes.watch.time.monotonic", Clock(*times))
        watch = Watch(BOX, usage, log_pipe=log[0], disk_is_full=lambda: disk_is_full, **given)
        end = watch.until(status[0], reported_exit_code)
        monkeypatch.undo()
        return end, watch

    yield watch
    for descriptor in opened:
        os.close(descriptor)


Watched = Callable[..., tuple[End | None, Watch]]


@pytest.mark.parametrize(
    ("report", "disk_is_full", "end"),
    [
        (b'{"exit-code": 0}\n', False, End.OK),
        (b'{"exit-code": 0}\n', True, End.OK),
        (b'{"exit-code": 1}\n', False, End.CRASH),
        (b'{"exit-code": 1}\n', True, End.DISK),
        (b'{"child-pid": 7}\n{"exit-code": 139}\n', False, End.CRASH),
        (b'{"child-pid": 7}\n{"exit-co', False, None),
        (b"", False, None),
    ],
)
def test_a_report_says_how_a_program_ended(
    report: bytes, disk_is_full: bool, end: End | None, watched: Watched
) -> None:
    assert watched(report, disk_is_full=disk_is_full)[0] is end


def test_nothing_is_observed_before_a_program_runs() -> None:
    watch = Watch(BOX, None, log_pipe=0, disk_is_full=lambda: False)
    assert (watch.log, watch.peak, watch.seconds, watch.cpu_seconds) == (b"", 0, 0.0, 0.0)


def test_a_program_may_run_as_long_as_its_limit(watched: Watched) -> None:
    # It starts at 100 s, is looked at after 2 s, which is its limit, and after 2.25 s.
    end, watch = watched(times=(100.0, 102.0, 102.25, 102.5), ended=False)
    assert (end, watch.seconds) == (End.TIME, 2.5)


def test_time_and_memory_of_a_run_are_those_of_its_group(watched: Watched) -> None:
    end, watch = watched(b'{"exit-code": 0}\n', usage=Usage(MB), times=(100.0, 100.5, 101.25))
    assert (end, watch.seconds, watch.cpu_seconds, watch.peak) == (End.OK, 1.25, 2.5, MB)
    end, watch = watched(b'{"exit-code": 0}\n')  # without a group they are not known
    assert (end, watch.cpu_seconds, watch.peak) == (End.OK, 0.0, 0)


@pytest.mark.parametrize("usage", [Usage(MB + 1), Usage(5, out_of_memory=True)])
def test_memory_above_the_limit_ends_a_run(usage: Usage, watched: Watched) -> None:
    end, watch = watched(usage=usage, ended=False)
    assert (end, watch.peak) == (End.MEMORY, MB)


@pytest.mark.parametrize(
    ("printed", "log"), [(b"", b""), (b"abc", b"abc"), (b"abcd", b"abcd"), (b"abcde", b"abcd")]
)
def test_a_log_is_cut(printed: bytes, log: bytes, watched: Watched) -> None:
    assert watched(b'{"exit-code": 0}\n', printed)[1].log == log


def test_a_run_can_be_stopped(watched: Watched) -> None:
    stop = threading.Event()
    assert watched(b'{"exit-code": 0}\n', stop=stop)[0] is End.OK
    stop.set()
    with pytest.raises(SandboxError, match=r"^The run was stopped\.$"):
        watched(b'{"exit-code": 0}\n', stop=stop)


def test_the_rest_of_a_log_is_read_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    log, end = os.pipe()
    os.write(end, b"ab")
    watch = Watch(BOX, None, log_pipe=log, disk_is_full=lambda: False)
    timeouts: list[float] = []
    select_of_system = select.select

    def noted(*arguments: Any) -> Any:
        timeouts.append(arguments[3])
        return select_of_system(*arguments[:3], 0)

    monkeypatch.setattr("arena_sandboxes.watch.select.select", noted)
    watch._read_rest_of_log()
    assert (watch.log, timeouts) == (b"ab", [0, 0])
    os.close(end)
    watch._read_rest_of_log()  # it is closed: nothing more comes
    assert timeouts == [0, 0, 0]
    os.close(log)


def test_what_is_printed_beyond_the_limit_is_read_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    log, end = os.pipe()
    watch, pauses = Watch(BOX, None, log_pipe=log, disk_is_full=lambda: False), list[float]()
    monkeypatch.setattr("arena_sandboxes.watch.time.sleep", pauses.append)
    for part, stored, count in ((b"abcd", b"abcd", 0), (b"e", b"abcd", 1), (b"f", b"abcd", 2)):
        os.write(end, part)
        assert watch._read_log()
        assert (watch.log, len(pauses)) == (stored, count)
    assert set(pauses) == {0.005}
    os.close(end)
    assert not watch._read_log()
    assert len(pauses) == 2
    os.close(log)
