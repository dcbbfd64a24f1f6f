"""What sandboxes of Linux have in common: the course of a run, and the check of a machine."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from arena.errors import SandboxError
from arena.interfaces import Box, End, Job, Outcome
from arena.utils.text import printable
from arena_sandboxes.groups import Group, group_for, has_groups
from arena_sandboxes.supervisor import Supervisor
from arena_sandboxes.watch import Watch

SYSTEM_FOLDERS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
_REPLACED = {"dev", "input", "output", "proc", "program", "sys", "tmp"}
"""Folders of an environment's root that a run replaces."""
_OF_PROC = {"cmdline", "cpuinfo", "filesystems", "sysvipc", "version"}
_OF_PROC_WITH_GPUS = {"devices", "driver", "modules"}
"""What a program sees of ``/proc`` besides its own processes."""
OF_ETC = ("alternatives", "ld.so.cache", "localtime")
"""What it sees of the machine's ``/etc``, if its environment is no image."""
USERS = "user:x:1000:1000::/tmp:/bin/sh\n"
GROUPS = "user:x:1000:\n"
OPEN_FILES = 4096
"""How many files a process of the program may have open."""
ENTER_GROUPS = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit; shift; done; shift'
"""A line of a shell that enters the groups whose doors are its arguments before ``--``."""
_TRY_SECONDS = 20


class LinuxSandbox(ABC):
    """A sandbox that shares the kernel: namespaces, a control group, a filter of system calls."""

    __slots__ = ()

    name: ClassVar[str]
    remedies: ClassVar[Mapping[bytes, str]]
    """What its software prints if it cannot run a program -> what to do about it."""

    @abstractmethod
    def require_software(self) -> None:
        """Raise SandboxError, with what to do about it, if software is missing."""

    @abstractmethod
    def supervisor(self, stack: contextlib.ExitStack, job: Job) -> Supervisor:
        """Return the supervisor of a run; ``stack`` removes at the end what it needs."""

    @abstractmethod
    def command(
        self, supervisor: Supervisor, job: Job, box: Box, group: Group | None
    ) -> Sequence[str]:
        """Return the command that starts the outer process."""

    @abstractmethod
    def started(self, supervisor: Supervisor, group: Group | None, box: Box) -> None:
        """Wait until the program starts: its time counts from here on."""

    @abstractmethod
    def ended(self, supervisor: Supervisor, group: Group | None) -> None:
        """Make the output of a program readable for the runner."""

    def check(self) -> Sequence[str]:
        """Return what this machine cannot hold: a sentence each, with what to do about it."""
        try:
            self.require_software()
            problem = self._problem()
        except SandboxError as error:
            problem = str(error)
        if problem is not None:
            return (problem,)
        sentences = []
        if os.geteuid() == 0:
            sentences.append(
                "The runner is root, so that a program which escapes may become root as well. Run "
                "it as a separate user, such as arena-run (arena serve --print-units)."
            )
        if not has_groups():
            sentences.append(
                "The memory of a run's processes together and their cores are not limited, because "
                "this user can make no control groups. Start the runner by systemd with "
                "Delegate=yes (arena serve --print-units), or try systemd-run --user --scope -p "
                "Delegate=yes arena ..."
            )
        return sentences

    def _problem(self) -> str | None:
        """Return why no program runs at all; None: one was run."""
        with tempfile.TemporaryDirectory(prefix="arena-") as name:
            program, inputs, target = (Path(name) / part for part in ("program", "input", "output"))
            for folder in (program, inputs, target):
                folder.mkdir()
            job = Job(
                program=program,
                command=("/bin/sh", "-c", "echo > /output/done"),
                inputs=inputs,
                outputs=("done",),
                target=target,
            )
            box = Box(
                seconds=_TRY_SECONDS,
                memory_mb=64,
                disk_mb=8,
                cores=1,
                processes=8,
                output_bytes=100,
            )
            outcome = self.run(job, box)
        if outcome.end is End.OK:
            return None
        return f"A small program ended with {outcome.end}: {_first_line(outcome.log)}"

    def run(self, job: Job, box: Box) -> Outcome:
        """Run a program; when this returns or raises, none of its processes is left.

        Raises
        ------
        SandboxError
            If the machine could not run it.
        """
        with contextlib.ExitStack() as stack:
            supervisor = self.supervisor(stack, job)
            group = stack.enter_context(group_for(box))
            command = self.command(supervisor, job, box, group)
            stack.enter_context(supervisor.running(command))
            watch = Watch(
                box, group, supervisor.log[0].fileno(), supervisor.disk_is_full, stop=job.stop
            )
            supervisor.begin()
            self.started(supervisor, group, box)
            end = watch.until(supervisor.status[0].fileno(), reported_exit_code)
            if end is None:
                reason = _first_line(watch.log) or "it was killed"
                raise SandboxError(
                    f"{self.name} could not run a program: {reason}. {self._remedy(watch.log)}"
                )
            output = None
            if end is End.OK:
                self.ended(supervisor, group)
                end, output = supervisor.take(job, box)
        return Outcome(
            end=end,
            seconds=watch.seconds,
            cpu_seconds=watch.cpu_seconds,
            peak_mb=watch.peak / 2**20,
            log=watch.log,
            output=output,
        )

    def _remedy(self, log: bytes) -> str:
        """Return what to do about a failure of its software."""
        for words, remedy in self.remedies.items():
            if words in log:
                return remedy
        return "Run arena programs check on this machine."


def shown_of(root: Path) -> Iterator[Path]:
    """Yield what a program sees of a system at the top of its root, links as such."""
    is_image = root != Path("/")
    names = sorted(path.name for path in root.iterdir()) if is_image else SYSTEM_FOLDERS
    for name in names:
        path = root / name
        if name not in _REPLACED and (path.exists() or path.is_symlink()):
            yield path


def hidden_of_proc(box: Box) -> Iterator[Path]:
    """Yield what ``/proc`` shows of the machine and not of a process, and must be covered.

    Most of it are counters since the start of the machine, by which a program could pass
    information to a later one.
    """
    for path in sorted(Path("/proc").iterdir()):
        is_shown = path.name in _OF_PROC or (box.gpus and path.name in _OF_PROC_WITH_GPUS)
        if not (path.name.isdigit() or path.is_symlink() or is_shown):
            yield path


def reported_exit_code(status: bytes) -> int | None:
    """Return the exit code of the program from what the supervisor reports."""
    for line in status.splitlines():
        with contextlib.suppress(ValueError):  # the line is not complete yet
            code: int | None = json.loads(line).get("exit-code")
            if code is not None:
                return code
    return None


def _first_line(log: bytes) -> str:
    return printable(log.decode("utf-8", "replace").strip().partition("\n")[0])
