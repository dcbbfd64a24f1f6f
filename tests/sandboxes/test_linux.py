"""The course of a run, from what was observed of its program to the outcome."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from arena.errors import SandboxError
from arena.interfaces import Box, End, Job, Outcome
from arena_sandboxes.linux import LinuxSandbox

BOX = Box(
    **{"seconds": 5, "memory_mb": 64, "disk_mb": 8, "cores": 1, "processes": 10}, output_bytes=1
)
JOB = Job(
    program=Path("program"),
    command=("main",),
    inputs=Path("inputs"),
    outputs=("done",),
    target=Path("target"),
)


class Told(LinuxSandbox):
    """A sandbox that notes each step of a run."""

    name = "told"
    remedies: ClassVar[Mapping[bytes, str]] = {b"no rights": "Give rights."}
    require_software = None  # type: ignore[assignment]

    def __init__(self) -> None:
        self.steps: list[str] = []

    def supervisor(self, stack: contextlib.ExitStack, job: Job) -> Any:
        def step(name: str, answer: Any = None) -> Any:
            self.steps.append(name)
            return answer

        @contextlib.contextmanager
        def running(command: list[str]) -> Iterator[None]:
            self.steps.append(f"run {command}")
            yield
            self.steps.append("kill")

        log, status = (SimpleNamespace(fileno=lambda end=end: end) for end in ("log", "status"))
        other_end = SimpleNamespace(fileno=lambda: "other end")
        return SimpleNamespace(
            log=(log, other_end),
            status=(status, other_end),
            disk_is_full="disk",
            running=running,
            begin=lambda: step("begin"),
            take=lambda job, box: step("take", (End.DISK, Path("target/done"))),
        )

    def command(self, supervisor: Any, job: Job, box: Box, group: Any) -> list[str]:
        return [*job.command, group]

    def started(self, supervisor: Any, group: Any, box: Box) -> None:
        self.steps.append("started")

    def ended(self, supervisor: Any, group: Any) -> None:
        self.steps.append("ended")


def run(monkeypatch: pytest.MonkeyPatch, end: End | None, log: bytes) -> tuple[Told, Outcome]:
    """Return a sandbox, and the outcome of a run whose program ends like this."""

    class Watched:
        seconds, cpu_seconds, peak = 1.5, 2.5, 3 * 2**19

        def __init__(self, *arguments: Any, stop: Any) -> None:
            assert (arguments, stop) == ((BOX, "group", "log", "disk"), None)
            self.log = log

        def until(self, status: str, exit_code: Any) -> End | None:
            assert (status, exit_code(b'{"exit-code": 3}')) == ("status", 3)
            return end

    monkeypatch.setattr("arena_sandboxes.linux.Watch", Watched)
    monkeypatch.setattr(
        "arena_sandboxes.linux.group_for", lambda box: contextlib.nullcontext("group")
    )
    return (sandbox := Told()), sandbox.run(JOB, BOX)


def test_the_output_of_a_program_that_ended_well_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox, outcome = run(monkeypatch, End.OK, b"printed")
    began = ["run ['main', 'group']", "begin", "started"]
    assert sandbox.steps == [*began, "ended", "take", "kill"]
    assert outcome == Outcome(
        end=End.DISK, seconds=1.5, cpu_seconds=2.5, peak_mb=1.5, log=b"printed",
        output=Path("target/done"),
    )  # fmt: skip
    sandbox, outcome = run(monkeypatch, End.TIME, b"")
    assert (sandbox.steps, outcome.end, outcome.output) == ([*began, "kill"], End.TIME, None)


def test_a_program_that_did_not_run_is_a_fault_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check = "Run arena programs check on this machine."
    for log, reason in (
        (b"", f"it was killed. {check}"),
        (b"\nbroken pipe\nmore", f"broken pipe. {check}"),
        (b"has no rights\n", "has no rights. Give rights."),
    ):
        with pytest.raises(SandboxError) as refusal:
            run(monkeypatch, None, log)
        assert str(refusal.value) == f"told could not run a program: {reason}"
