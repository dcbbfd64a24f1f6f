"""Conformance checks of sandboxes: hostile programs, and what each leaves on the machine."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arena.errors import SandboxError
from arena.interfaces import Box, End, Job, Outcome, Sandbox
from arena.plugin.returned import checked
from arena.testing.conformance import Check, Conformance, Verdict, run_checks
from arena.testing.conformance import Outcome as CheckOutcome
from arena.testing.hostile_programs import PRELUDE, PROGRAMS, HostileProgram
from arena.utils.text import plural

LIMITS: Mapping[str, Any] = {
    "seconds": 10.0,
    "memory_mb": 128,
    "disk_mb": 32,
    "cores": 1,
    "processes": 32,
    "output_bytes": 10_000,
    "output_files": 100,
    "log_bytes": 5_000,
}
_FIRST = "hidden-files"
"""The program that only looks around: where it sees this machine's files, no other one is run."""
_LATE_SECONDS = 3.0
"""How long after its time limit a program may be ended, on a loaded machine."""
_MORE_CORES = 1.5
"""By which factor a program may exceed its processor time, which is counted in short periods."""


def check_sandbox(
    sandbox: Sandbox,
    *,
    environment: Path | None = None,
    programs: Iterable[HostileProgram] = PROGRAMS,
) -> Conformance:
    """Run hostile programs in a sandbox; each is one check, and nothing of it may be left.

    Takes half a minute, and needs ``python3`` in the environment.

    Parameters
    ----------
    environment
        As in :attr:`~arena.interfaces.Job.environment`.

    Examples
    --------
    >>> class Broken:
    ...     name = "broken"
    ...
    ...     def run(self, job, box):
    ...         raise OSError("no such file")
    >>> check_sandbox(Broken(), programs=PROGRAMS[:1]).failed[0].message
    'It raised OSError: no such file'
    """
    ordered = sorted(programs, key=lambda program: program.name != _FIRST)
    with _machine() as machine:
        checks = [(program.name, _check(program, machine, environment)) for program in ordered]
        first = run_checks(sandbox.name, checks[:1], sandbox)
        if first.failed and ordered[0].name == _FIRST:
            untried = [
                Check(name, CheckOutcome.NOT_TRIED, "It could harm this machine.")
                for name, _ in checks[1:]
            ]
            return Conformance(sandbox.name, (*first.checks, *untried))
        others = run_checks(sandbox.name, checks[1:], sandbox)
        return Conformance(sandbox.name, (*first.checks, *others.checks))


@dataclass(frozen=True, slots=True)
class _Machine:
    """The machine on which programs run, with what they look for."""

    folder: Path
    facts: Mapping[str, Any]

    def traces(self) -> Mapping[str, object]:
        """Return what a program may leave here, by name."""
        return {
            "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
            "shared memory": _lines("/proc/sysvipc/shm"),
            "semaphores": _lines("/proc/sysvipc/sem"),
            "message queues": _lines("/proc/sysvipc/msg"),
            "control groups": groups_of(os.getpid()),
            "files in /dev/shm": sorted(Path("/dev/shm").glob("arena-left*")),  # noqa: S108
            "descriptors": len(os.listdir("/proc/self/fd")),  # noqa: PTH208
        }


def groups_of(runner: int) -> list[str]:
    """Return the control groups of the runs of a process; others may come and go meanwhile."""
    return sorted(
        folder
        for folder, _, _ in os.walk("/sys/fs/cgroup")
        if Path(folder).name.startswith(f"arena-run-{runner}-")
    )


def _lines(path: str) -> int:
    with contextlib.suppress(OSError):
        return len(Path(path).read_text().splitlines())
    return 0


@contextlib.contextmanager
def _machine() -> Iterator[_Machine]:
    """Yield this machine with a secret in a file and a variable, and with listening sockets."""
    secret = f"secret-{secrets.token_hex(8)}"
    os.environ["ARENA_HOSTILE_SECRET"] = secret
    try:
        with (
            tempfile.TemporaryDirectory(prefix="hidden-") as folder,
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.socket(socket.AF_UNIX) as local,
        ):
            local.bind("\0" + secret)
            local.listen()
            (Path(folder) / "labels.csv").write_text(secret)
            facts = {
                "port": server.getsockname()[1],
                "socket": secret,
                "secret": secret,
                "folder": folder,
                "host": platform.node(),
                "processes": LIMITS["processes"],
            }
            yield _Machine(Path(folder), facts)
    finally:
        del os.environ["ARENA_HOSTILE_SECRET"]


def _check(
    program: HostileProgram, machine: _Machine, environment: Path | None
) -> Callable[[Sandbox], Verdict]:
    def check(sandbox: Sandbox) -> Verdict:
        before = machine.traces()
        with tempfile.TemporaryDirectory(prefix="arena-") as folder:
            job = _job(Path(folder), program, machine, environment)
            box = Box(**{**LIMITS, **program.limits})
            marker = f"arena-{secrets.token_hex(8)}"
            try:
                outcome = checked(sandbox.run(_marked(job, marker), box), Outcome)
            except SandboxError as error:
                return CheckOutcome.FAILED, f"The machine could not run it: {error}"
            problems = [
                *_problems(program, outcome, box),
                *_left(marker),
                *(
                    f"It left {name}: {after}, before {before[name]}."
                    for name, after in machine.traces().items()
                    if after != before[name]
                ),
            ]
            if (job.program / "main.py").read_text() != PRELUDE + program.code:
                problems.append("It changed its program.")
        if problems:
            return CheckOutcome.FAILED, " ".join(problems)
        return CheckOutcome.OK, f"{outcome.end} after {outcome.seconds:.1f} s"

    return check


def _job(folder: Path, program: HostileProgram, machine: _Machine, environment: Path | None) -> Job:
    for name in ("program", "input", "output"):
        (folder / name).mkdir()
    (folder / "program" / "main.py").write_text(PRELUDE + program.code)
    (folder / "input" / "facts.json").write_text(json.dumps(machine.facts))
    return Job(
        program=folder / "program",
        command=("python3", "main.py"),
        inputs=folder / "input",
        outputs=program.outputs,
        target=folder / "output",
        environment=environment,
    )


def _marked(job: Job, marker: str) -> Job:
    """Return the job with an argument by which its processes are found."""
    return replace(job, command=(*job.command, marker))


def _problems(program: HostileProgram, outcome: Outcome, box: Box) -> Iterator[str]:
    log = outcome.log.decode("utf-8", "replace")
    if outcome.end not in program.ends:
        last = (log.strip().splitlines() or ["nothing"])[-1]
        expected = " or ".join(sorted(program.ends))
        yield f"It ended with {outcome.end} instead of {expected}; it printed {last!r}."
    yield from (line for line in log.splitlines() if line.startswith("BROKEN"))
    if len(outcome.log) > box.log_bytes:
        yield f"Its log has {plural(len(outcome.log), 'byte')} instead of {box.log_bytes:,}."
    if outcome.seconds > box.seconds + _LATE_SECONDS:
        yield f"It ran {outcome.seconds:.1f} s instead of {box.seconds:g}."
    most = box.cores * outcome.seconds * _MORE_CORES + 0.2
    if outcome.cpu_seconds > most:
        yield f"It used {outcome.cpu_seconds:.1f} s of processors instead of {most:.1f}."
    if outcome.peak_mb > box.memory_mb:
        yield f"It used {outcome.peak_mb:.0f} MB instead of {box.memory_mb}."
    yield from _problems_of_output(program, outcome)


def _problems_of_output(program: HostileProgram, outcome: Outcome) -> Iterator[str]:
    if (outcome.output is not None) != (outcome.end is End.OK):
        yield "An output is there exactly if the end is ok."
    if outcome.output is not None:
        content = outcome.output.read_bytes()
        if program.name == "bad-output-bytes" and content != bytes(range(256)):
            yield "The output has other bytes."
        if b"root:" in content:
            yield "The output is a file of the machine."


def _left(marker: str) -> Iterator[str]:
    """Yield a sentence if processes that have the marker as an argument still run."""
    processes = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                processes += marker.encode() in (folder / "cmdline").read_bytes()
    if processes:
        yield f"{processes} of its processes still run."
