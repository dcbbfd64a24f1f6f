"""Control groups of Linux, versions 1 and 2: limits on all processes of a run together."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from arena.errors import SandboxError
from arena.interfaces import Box
from arena.utils.file_errors import reason_of

MOUNTS, MEMBERSHIPS = Path("/proc/self/mountinfo"), Path("/proc/self/cgroup")
_CONTROLLERS = ("cpu", "memory", "pids")
_PERIOD = 100_000
"""Microseconds in which the processor time of a group is counted."""
_FOR_FILES = 64 * 2**20
"""Bytes that a group may have above its limit of memory, for copies of files and for the kernel.

Without room for its own code, a program near its limit would read that from the disk all the time.
"""
OF_SANDBOX = 5
"""Processes of the sandbox itself, which its limit must admit too."""
SECONDS_TO_END = 10.0
"""Within which killed processes must have ended."""
_numbers = itertools.count()


@dataclass(frozen=True)
class Group(ABC):
    """The group of a run, which exists while a ``with`` statement is open."""

    folders: Mapping[str, Path]
    """The folder of each controller; one and the same in version 2."""

    memory_files: ClassVar[tuple[str, ...]]
    """Lines of ``memory.stat`` that count: neither copies of files nor the kernel's tables."""

    @abstractmethod
    def limit(self, box: Box) -> None:
        """Set the limits."""

    @abstractmethod
    def forget(self) -> None:
        """Drop the copies of files that its processes made the system keep.

        A later program could see by the time of reading which files an earlier one had read.
        """

    @abstractmethod
    def cpu_seconds(self) -> float:
        """Return the processor time of all processes that were in the group."""

    @abstractmethod
    def is_out_of_memory(self) -> bool:
        """Return whether the system ended one of its processes because memory ran out."""

    def memory(self) -> int:
        """Return the bytes in use now, without the system's copies of files."""
        lines = (self.folders["memory"] / "memory.stat").read_text().split("\n")
        values = dict(line.split() for line in lines if line)
        return sum(int(values[name]) for name in self.memory_files)

    def limit_processes(self, most: int) -> None:
        """Set the limit of processes and threads."""
        _write(self.folders["pids"] / "pids.max", most)

    @property
    def doors(self) -> tuple[Path, ...]:
        """The files to which a process writes 0 to enter."""
        return tuple(folder / "cgroup.procs" for folder in dict.fromkeys(self.folders.values()))

    def processes(self) -> set[int]:
        """Return the processes in the group."""
        return {int(pid) for door in self.doors for pid in door.read_text().split()}

    def kill(self) -> None:
        """Kill all processes of the group and wait until none is left.

        Raises
        ------
        SandboxError
            If some are left.
        """
        until = time.monotonic() + SECONDS_TO_END
        while processes := self.processes():
            self._kill(processes)
            if time.monotonic() > until:
                raise SandboxError(
                    f"Of the processes of a program {len(processes)} could not be ended within "
                    f"{SECONDS_TO_END:g} s. Restart this machine before it runs another one."
                )
            time.sleep(0.002)

    def _kill(self, processes: set[int]) -> None:
        for pid in processes:
            # Those of another user, which podman runs, end with the first one of their namespace.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    @contextlib.contextmanager
    def made(self) -> Iterator[None]:
        """Make the folders; at the end, kill all processes in the group and remove the folders."""
        with contextlib.ExitStack() as stack:
            for folder in [door.parent for door in self.doors]:
                remove_left_groups(folder.parent)
                folder.mkdir()
                stack.callback(remove_group, folder)
                stack.callback(os.close, lock_group(folder))
            stack.callback(self._end)
            yield

    def _end(self) -> None:
        self.kill()
        with contextlib.suppress(OSError):  # the system could not drop all, or is too old to
            self.forget()


def lock_group(group: Path) -> int:
    """Return a descriptor that holds a lock on a group: while its runner lives, it has it.

    Raises
    ------
    BlockingIOError
        If it is locked already.
    """
    folder = os.open(group, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(folder)
        raise
    return folder


def remove_left_groups(parent: Path) -> None:
    """End and remove the groups of runs whose runner was killed.

    A bubblewrap whose parent is killed while it starts waits forever, before it starts anything.
    """
    for group in parent.glob("arena-run-*"):
        if Path(f"/proc/{group.name.split('-')[2]}").exists():
            continue
        with contextlib.suppress(OSError):  # its runner is seen elsewhere only, or removes it
            lock = lock_group(group)
            try:
                pids = [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
                if 0 in pids:  # a process that cannot be named here
                    continue
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                remove_group(group)
            finally:
                os.close(lock)


def remove_group(folder: Path) -> None:
    """Remove the folder of a group; SandboxError if processes stay in it."""
    until = time.monotonic() + SECONDS_TO_END
    while True:
        try:
            folder.rmdir()
        except OSError as error:  # the kernel has not removed the last process yet
            if time.monotonic() > until:
                raise SandboxError(
                    f"The control group of a run is left: {reason_of(error)}."
                ) from error
            time.sleep(0.002)
        else:
            return


class _Version1(Group):
    memory_files = ("total_rss", "total_shmem")

    def forget(self) -> None:
        _write(self.folders["memory"] / "memory.force_empty", 0)

    def limit(self, box: Box) -> None:
        memory = self.folders["memory"]
        for name in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"):
            if (memory / name).exists():
                _write(memory / name, box.memory_mb * 2**20 + _FOR_FILES)
        self.limit_processes(box.processes + OF_SANDBOX)
        _write(self.folders["cpu"] / "cpu.cfs_period_us", _PERIOD)
        _write(self.folders["cpu"] / "cpu.cfs_quota_us", int(box.cores * _PERIOD))

    def cpu_seconds(self) -> float:
        return int((self.folders["cpuacct"] / "cpuacct.usage").read_text()) / 1e9

    def is_out_of_memory(self) -> bool:
        return _count(self.folders["memory"] / "memory.oom_control", "oom_kill") > 0


class _Version2(Group):
    memory_files = ("anon", "shmem")

    def forget(self) -> None:
        folder = self.folders["memory"]  # memory.reclaim is there from Linux 5.19 on
        _write(folder / "memory.reclaim", (folder / "memory.current").read_text().strip())

    def limit(self, box: Box) -> None:
        folder = self.folders["memory"]
        _write(folder / "memory.max", box.memory_mb * 2**20 + _FOR_FILES)
        if (folder / "memory.swap.max").exists():
            _write(folder / "memory.swap.max", 0)
        _write(folder / "memory.oom.group", 1)
        self.limit_processes(box.processes + OF_SANDBOX)
        _write(folder / "cpu.max", f"{int(box.cores * _PERIOD)} {_PERIOD}")

    def cpu_seconds(self) -> float:
        return _count(self.folders["cpu"] / "cpu.stat", "usage_usec") / 1e6

    def is_out_of_memory(self) -> bool:
        return _count(self.folders["memory"] / "memory.events", "oom_kill") > 0

    def _kill(self, processes: set[int]) -> None:
        switch = self.folders["pids"] / "cgroup.kill"  # from Linux 5.14 on
        if switch.exists():
            _write(switch, 1)
        else:
            super()._kill(processes)


def _write(file: Path, value: object) -> None:
    file.write_text(str(value))


def _count(file: Path, name: str) -> int:
    lines = (line.split() for line in file.read_text().splitlines())
    return next((int(line[1]) for line in lines if line and line[0] == name), 0)


@contextlib.contextmanager
def group_for(box: Box) -> Iterator[Group | None]:
    """Make a group with these limits; None where this user cannot make groups.

    All its processes are ended, and it is removed, at the end of the ``with`` statement.

    Raises
    ------
    SandboxError
        If a group cannot be limited, or processes are left in it.
    """
    group = new_group()
    if group is None:
        yield None
        return
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(group.made())
            group.limit(box)
        except OSError as error:
            raise SandboxError(
                f"The control group of a run cannot be limited: {reason_of(error)}."
            ) from error
        yield group


def has_groups() -> bool:
    """Return whether this user can make control groups with all limits."""
    return new_group() is not None


def new_group() -> Group | None:
    """Return a group that does not exist yet."""
    name = f"arena-run-{os.getpid()}-{next(_numbers)}"
    parent = _delegated()
    if parent is not None:
        return _Version2(dict.fromkeys(_CONTROLLERS, parent / name))
    mounts = {
        controller: folder
        for folder, options in _mounts("cgroup")
        for controller in options
        if controller in {*_CONTROLLERS, "cpuacct"}
    }
    paths = {
        controller: path
        for _, controllers, path in _memberships()
        for controller in controllers.split(",")
    }
    folders = {controller: mounts[controller] / paths[controller] for controller in mounts}
    if len(folders) < 4 or not all(os.access(folder, os.W_OK) for folder in folders.values()):
        return None
    return _Version1({controller: folder / name for controller, folder in folders.items()})


def _delegated() -> Path | None:
    """Return the highest group of version 2 below which this user can make limited groups."""
    root = next((folder for folder, _ in _mounts("cgroup2")), None)
    if root is None:
        return None
    present = root / next(path for number, _, path in _memberships() if number == "0")
    for group in reversed([present, *present.parents]):
        if not group.is_relative_to(root) or not os.access(group / "cgroup.procs", os.W_OK):
            continue
        if not set(_CONTROLLERS) <= set((group / "cgroup.controllers").read_text().split()):
            continue
        if hands_down(group) or (group == present and _vacates(group) and hands_down(group)):
            return group
    return None


def hands_down(group: Path) -> bool:
    """Return whether groups below this one have the controllers; let them, if possible."""
    switch = group / "cgroup.subtree_control"
    if set(_CONTROLLERS) <= set(switch.read_text().split()):
        return True
    try:
        switch.write_text(" ".join(f"+{controller}" for controller in _CONTROLLERS))
    except OSError:  # not permitted, or it holds processes itself
        return False
    return True


def _vacates(group: Path) -> bool:
    """Move the processes of a group into a new one below it: only then may others be below it."""
    below = group / "arena-own"
    try:
        below.mkdir(exist_ok=True)
        for pid in (group / "cgroup.procs").read_text().split():
            (below / "cgroup.procs").write_text(pid)
    except OSError:
        return False
    return True


def _mounts(kind: str) -> Iterator[tuple[Path, Sequence[str]]]:
    """Yield where file systems of a kind are mounted, and their options."""
    for line in MOUNTS.read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.split()[0] == kind:
            yield Path(before.split()[4]), after.split()[2].split(",")


def _memberships() -> Iterator[tuple[str, str, str]]:
    """Yield number, controllers and relative path of each group of this process."""
    for line in MEMBERSHIPS.read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        yield number, controllers, path.lstrip("/")
