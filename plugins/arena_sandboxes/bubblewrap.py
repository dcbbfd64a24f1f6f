"""The sandbox ``bwrap``: namespaces by bubblewrap, a control group, and a filter of system calls.

There are two bubblewraps. The outer one holds the processes and one file system in memory, of a
limited size, and ends with the runner. The inner one, which runs in it, holds the program, which
sees parts of that file system as ``/output``, ``/tmp`` and ``/dev/shm``. When the program has
ended, the runner takes the output from the outer one, and then ends that too.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from arena.errors import SandboxError
from arena.interfaces import Box, Job
from arena.programs.environments import Environment, variables
from arena_sandboxes.devices import gpu_nodes
from arena_sandboxes.filter import program_filter
from arena_sandboxes.groups import OF_SANDBOX, Group
from arena_sandboxes.linux import (
    ENTER_GROUPS,
    GROUPS,
    OF_ETC,
    OPEN_FILES,
    USERS,
    LinuxSandbox,
    hidden_of_proc,
    shown_of,
)
from arena_sandboxes.supervisor import Supervisor

_LAUNCH = f"""\
prlimit --core=1:1 --pid $$ 2>/dev/null || ulimit -c 0
ulimit -n {OPEN_FILES} 2>/dev/null
ulimit -d "$1" 2>/dev/null
shift
{ENTER_GROUPS}
exec "$@"
"""
"""Enters the groups, then becomes the outer bubblewrap.

A limit of 0 for cores does not keep the system from starting a collector of crashes; one of 1 does.
"""
_OUTER = f"""\
read -r start || exit
cd /arena-scratch || exit
mkdir output tmp shm
: > empty
printf '{USERS.rstrip()}\\n' > passwd
printf '{GROUPS.rstrip()}\\n' > group
arguments=$1
ulimit -p "$2" 2>/dev/null
shift 2
/job/bwrap --args "$arguments" -- "$@" < /dev/null
read -r taken
"""
"""Runs the inner bubblewrap, and waits until the output was taken. The limit of processes counts
those of this namespace only, from Linux 5.14 on; a control group counts them on all."""
_NAMESPACES = (
    "--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--die-with-parent",
    "--new-session", "--clearenv", "--cap-drop", "ALL", "--hostname", "arena",
)  # fmt: skip
_SCRATCH = "/arena-scratch"
_ALLOW_NAMESPACES = (
    "AppArmor forbids bwrap user namespaces (Ubuntu 24.04): add a profile for bwrap with userns, "
    "or sysctl kernel.apparmor_restrict_unprivileged_userns=0."
)


@dataclass(frozen=True, slots=True)
class Bubblewrap(LinuxSandbox):
    """Namespaces of Linux by bubblewrap, in a few milliseconds; the kernel is shared.

    Parameters
    ----------
    gpu_devices
        The device nodes of GPUs, a pattern of file names. Those that end with a number are the
        GPUs, of which a run gets as many as its limits say; it gets all others.
    """

    gpu_devices: str = "/dev/nvidia*"

    name: ClassVar[str] = "bwrap"
    remedies: ClassVar[Mapping[bytes, str]] = {
        b"No permissions to create new namespace": "Let users make namespaces: sysctl "
        "kernel.unprivileged_userns_clone=1 (Debian), or sysctl user.max_user_namespaces=10000.",
        b"setting up uid map: Permission denied": _ALLOW_NAMESPACES,
        b"loopback: Failed RTM_NEWADDR": _ALLOW_NAMESPACES,
        b"Can't mount proc": "This machine is a container whose /proc is hidden in part: run it on "
        "the host, or start the container with --security-opt systempaths=unconfined.",
    }

    def require_software(self) -> None:
        """Raise SandboxError if bubblewrap or libseccomp is missing."""
        _program()
        program_filter()

    def versions(self) -> Mapping[str, str]:
        """Return the versions of bubblewrap and of the kernel."""
        answer = subprocess.run(  # noqa: S603 - the program that was found
            [_program(), "--version"], capture_output=True, text=True, check=False
        )
        return {"bwrap": answer.stdout.split()[-1], "linux": platform.release()}

    def supervisor(self, stack: contextlib.ExitStack, job: Job) -> Supervisor:  # noqa: ARG002
        """Return the supervisor of a run, which has the file system in its own root."""
        return Supervisor(stack, Path(_SCRATCH))

    def command(
        self, supervisor: Supervisor, job: Job, box: Box, group: Group | None
    ) -> Sequence[str]:
        """Return the command that starts the outer bubblewrap."""
        environment = None if job.environment is None else Environment.read(job.environment)
        devices = gpu_nodes(self.gpu_devices, box.gpus)
        inner = _inner_arguments(box, environment, devices)
        inner += ["--seccomp", supervisor.file(program_filter())]
        inner += ["--json-status-fd", str(supervisor.status[1].fileno())]
        outer = _outer_arguments(job, box, environment, devices)
        outer += ["--json-status-fd", str(supervisor.outer_status[1].fileno())]
        doors = [str(door) for door in group.doors] if group else []
        most_data = "unlimited" if group else str(box.memory_mb * 1024)
        processes = str(box.processes + OF_SANDBOX)
        return (
            *("/bin/sh", "-c", _LAUNCH, "sh", most_data, *doors, "--"),
            *(_program(), "--args", supervisor.file(_args(outer))),
            *("/bin/sh", "-c", _OUTER, "sh", supervisor.file(_args(inner)), processes),
            *job.command,
        )

    def started(self, supervisor: Supervisor, group: Group | None, box: Box) -> None:
        """Return at once: bubblewrap starts the program within milliseconds."""

    def ended(self, supervisor: Supervisor, group: Group | None) -> None:
        """Return at once: the program is the runner's user outside of its namespace."""


def _outer_arguments(
    job: Job, box: Box, environment: Environment | None, devices: Sequence[Path]
) -> list[str]:
    sources = {"program": job.program, "input": job.inputs, "bwrap": Path(_program())}
    if environment is not None:
        sources |= environment.folders
    arguments = [*_NAMESPACES, *_system(Path("/"), "")]
    # The host's /proc, because the inner bwrap may mount its own only where one is seen entirely.
    arguments += ["--bind", "/proc", "/proc", "--dev", "/dev", "--dir", "/tmp"]  # noqa: S108
    for name, source in sources.items():
        arguments += ["--ro-bind", str(source.resolve()), f"/job/{name}"]
    for device in devices:
        arguments += ["--dev-bind", str(device), str(device)]
    arguments += ["--size", str(box.disk_mb * 2**20), "--tmpfs", _SCRATCH]
    return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]


def _inner_arguments(
    box: Box, environment: Environment | None, devices: Sequence[Path]
) -> list[str]:
    arguments = [*_NAMESPACES, "--disable-userns"]
    folders = {} if environment is None else environment.folders
    if "root" in folders:
        arguments += _system(folders["root"], "/job/root")
    else:
        arguments += _system(Path("/"), "")
        for name in ("passwd", "group"):
            arguments += ["--ro-bind", f"{_SCRATCH}/{name}", f"/etc/{name}"]
    for name in sorted(folders.keys() - {"root"}):
        arguments += ["--ro-bind", f"/job/{name}", f"/{name}"]
    arguments += ["--proc", "/proc"]
    for path in hidden_of_proc(box):
        if path.is_dir():
            arguments += ["--tmpfs", str(path), "--remount-ro", str(path)]
        else:
            arguments += ["--ro-bind", f"{_SCRATCH}/empty", str(path)]
    arguments += ["--remount-ro", "/proc", "--dev", "/dev"]
    for device in devices:
        arguments += ["--dev-bind", str(device), str(device)]
    for source, place in (("output", "/output"), ("tmp", "/tmp"), ("shm", "/dev/shm")):  # noqa: S108
        arguments += ["--bind", f"{_SCRATCH}/{source}", place]
    arguments += ["--ro-bind", "/job/program", "/program", "--ro-bind", "/job/input", "/input"]
    for name, value in variables(box, folders).items():
        arguments += ["--setenv", name, value]
    return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/program"]


def _system(root: Path, seen: str) -> list[str]:
    """Return the arguments that show the system of a root folder, which bwrap sees elsewhere."""
    arguments: list[str] = []
    for path in shown_of(root):
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), f"/{path.name}"]
        else:
            arguments += ["--ro-bind", f"{seen}/{path.name}", f"/{path.name}"]
    if root == Path("/"):
        for name in OF_ETC:
            arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return arguments


def _args(arguments: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(argument) + b"\0" for argument in arguments)


def _program() -> str:
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxError("There is no bubblewrap on this machine: apt-get install bubblewrap.")
    return program
