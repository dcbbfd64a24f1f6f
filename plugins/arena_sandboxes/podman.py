"""The sandbox ``podman``: a container of podman, without an image and without control groups.

One process holds namespaces of processes and mounts, and one file system in memory, of a limited
size. It ends with the runner, and podman with it. The root of the container is put together from
the environment, as ``bwrap`` does it: there is no image whose settings could count, and no storage
of podman that outlives a run.

podman calls a runtime such as crun to make the container. A script in between enters the control
group of the run, so that its limits hold for the program alone, and reports the start.
"""

from __future__ import annotations

import contextlib
import os
import platform
import resource
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import ClassVar

from arena.errors import SandboxError
from arena.interfaces import Box, Job
from arena.programs.environments import Environment, variables
from arena_sandboxes.devices import gpu_nodes
from arena_sandboxes.filter import container_profile
from arena_sandboxes.groups import Group
from arena_sandboxes.linux import (
    GROUPS,
    OF_ETC,
    OPEN_FILES,
    USERS,
    LinuxSandbox,
    hidden_of_proc,
    shown_of,
)
from arena_sandboxes.supervisor import Supervisor

_HOLD = """\
umask 022
read -r pid rest < /proc/self/stat
cd "$1" || exit
export CONTAINERS_CONF="$1/containers.conf" HOME="$1"
mount -t proc proc /proc || exit
mount -t tmpfs -o size=64m arena /run || exit
mount -t tmpfs -o "size=$2" arena scratch || exit
mkdir scratch/output scratch/tmp scratch/shm || exit
chown 1000:1000 scratch/*
own=/proc/1/fd/$3 program=/proc/1/fd/$4
shift 4
echo "{\\"child-pid\\": $pid}" > $own
read -r start || exit
"$@" < /dev/null
code=$?
[ -e started ] || exit
echo "{\\"exit-code\\": $code}" > $program
echo > $own
read -r ended || exit
timeout 20 find scratch/output ! -type l -exec chmod a+rX {} + 2> /dev/null
echo > $own
read -r taken
"""
"""Runs podman, and waits until the output was taken. Only once all processes of the program have
ended, its files are made readable for the runner, who may be another user than the program."""
_RUNTIME = """\
#!/bin/sh
for word; do
    case $word in
    create)
        for door in {doors}; do echo 0 > "$door" || exit; done
        if [ -d /sys/fs/cgroup/unified ]; then
            mount --bind /sys/fs/cgroup/unified /sys/fs/cgroup || exit
        fi;;
    start)
        : > {folder}/started
        echo > /proc/1/fd/{own};;
    esac
done
exec {runtime} "$@"
"""
"""crun refuses machines with control groups of both versions, even if it is to use none."""
_CONFIGURATION = """\
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
runtime = "crun"
runtime_supports_nocgroups = ["crun"]
[engine.runtimes]
crun = ["{folder}/runtime"]
"""
"""podman lets only runtimes that it knows by name run without control groups of its own."""
_STORAGE = (
    "--root=/run/arena/root", "--runroot=/run/arena/run", "--tmpdir=/run/arena/tmp",
    "--storage-driver=vfs", "--log-level=fatal",
)  # fmt: skip
"""What podman and its runtime keep is in memory, and gone with the run."""
_PROCESSES_OF_PODMAN = 40
"""Threads that podman may have while a program starts."""
_OF_OTHERS = ("/dev/mqueue", "/run", "/sys")
"""What podman shows besides ``/proc``, and is covered."""
_OF_PODMAN = ("hostname", "hosts", "resolv.conf")
"""Files in ``/etc`` that podman makes."""


@dataclass(frozen=True, slots=True)
class Podman(LinuxSandbox):
    """Containers by podman, whose runtime may separate programs further than the kernel does.

    Parameters
    ----------
    oci_runtime
        The program that makes the container: crun, or one that takes the same commands.
    gpu_devices
        The device nodes of GPUs, as those of ``bwrap``.
    """

    oci_runtime: str = "crun"
    gpu_devices: str = "/dev/nvidia*"

    name: ClassVar[str] = "podman"
    remedies: ClassVar[Mapping[bytes, str]] = {
        b"newuidmap": "Give the runner's user subordinate users: apt-get install uidmap, and "
        "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER.",
        b"Operation not permitted": "Let users make namespaces: sysctl "
        "kernel.unprivileged_userns_clone=1 (Debian), or on Ubuntu 24.04 sysctl "
        "kernel.apparmor_restrict_unprivileged_userns=0.",
    }

    def require_software(self) -> None:
        """Raise SandboxError if podman or its runtime is missing."""
        _program("podman", "podman")
        _program("unshare", "util-linux")
        _program(self.oci_runtime, self.oci_runtime)

    def versions(self) -> Mapping[str, str]:
        """Return the versions of podman, of its runtime and of the kernel."""
        answers = {
            name: subprocess.run(  # noqa: S603 - the program that was found
                [_program(name, name), "--version"],
                capture_output=True,
                text=True,
                check=False,
            ).stdout.split("\n")[0]
            for name in ("podman", self.oci_runtime)
        }
        versions = {name: answer.split()[-1] for name, answer in answers.items() if answer}
        return {**versions, "linux": platform.release()}

    def supervisor(self, stack: contextlib.ExitStack, job: Job) -> Supervisor:
        """Return the supervisor of a run, with a folder next to the program for its files."""
        folder = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="podman-", dir=job.program.parent)
            )
        )
        for name in ("root", "scratch"):
            (folder / name).mkdir()
        return Supervisor(stack, folder / "scratch")

    def command(
        self, supervisor: Supervisor, job: Job, box: Box, group: Group | None
    ) -> Sequence[str]:
        """Return the command that starts the outer process."""
        self.require_software()
        folder = supervisor.scratch_path.parent
        environment = None if job.environment is None else Environment.read(job.environment)
        outer_status, program = (
            str(pipe[1].fileno()) for pipe in (supervisor.outer_status, supervisor.status)
        )
        runtime = folder / "runtime"
        doors = () if group is None else group.doors
        runtime.write_text(
            _RUNTIME.format(
                doors=" ".join(quote(str(door)) for door in doors),
                folder=quote(str(folder)),
                own=outer_status,
                runtime=quote(_program(self.oci_runtime, self.oci_runtime)),
            )
        )
        runtime.chmod(0o700)
        (folder / "containers.conf").write_text(_CONFIGURATION.format(folder=folder))
        (folder / "filter.json").write_text(container_profile())
        require_readable(job.inputs)
        _let_read(job.program)
        # Only a user needs a namespace of users: root has all rights that podman needs.
        users = () if os.geteuid() == 0 else ("--user", "--map-root-user", "--map-auto")
        return (
            *(_program("setpriv", "util-linux"), "--pdeathsig", "KILL"),
            *(_program("unshare", "util-linux"), "--mount", "--pid", "--fork", "--kill-child"),
            *users,
            *(
                "/bin/sh",
                "-c",
                _HOLD,
                "sh",
                str(folder),
                str(box.disk_mb * 2**20),
                outer_status,
                program,
            ),
            *(_program("podman", "podman"), *_STORAGE, "run"),
            *_limits(box, group),
            *_view(
                folder,
                job,
                box=box,
                environment=environment,
                devices=gpu_nodes(self.gpu_devices, box.gpus),
            ),
            *job.command,
        )

    def started(self, supervisor: Supervisor, group: Group | None, box: Box) -> None:
        """Wait until the runtime has made the container, and has left the group."""
        supervisor.report()
        if group is not None:
            group.limit_processes(box.processes)

    def ended(self, supervisor: Supervisor, group: Group | None) -> None:
        """End what podman may have left of the program, and make its files readable."""
        if group is not None:
            group.kill()
        supervisor.report()
        supervisor.order()
        supervisor.report()


def _limits(box: Box, group: Group | None) -> Iterator[str]:
    most_processes = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    limits = {"core": 1, "nofile": OPEN_FILES, "nproc": most_processes}
    if group is None:
        limits["data"] = box.memory_mb * 2**20
        if os.geteuid() != 0:  # of root, the processes of the whole machine would count
            limits["nproc"] = box.processes + _PROCESSES_OF_PODMAN
    for name, limit in limits.items():
        yield f"--ulimit={name}={limit}:{limit}"


def _view(
    folder: Path, job: Job, box: Box, environment: Environment | None, devices: Sequence[Path]
) -> Iterator[str]:
    """Yield the arguments for what the program sees; links are made in the root."""
    hidden = ":".join([*map(str, hidden_of_proc(box)), *_OF_OTHERS])
    yield from (
        "--cgroups=disabled", "--cgroupns=private", "--network=none", "--hostname=arena",
        "--no-hosts", "--log-driver=none", "--read-only", "--read-only-tmpfs=false",
        "--user=1000:1000", "--cap-drop=all", "--security-opt=no-new-privileges",
        f"--security-opt=seccomp={folder}/filter.json", f"--security-opt=mask={hidden}",
        "--http-proxy=false", "--passwd=false", "--workdir=/program",
    )  # fmt: skip
    folders = {} if environment is None else environment.folders
    for variable, value in variables(box, folders).items():
        yield f"--env={variable}={value}"
    for device in devices:
        yield f"--device={device}"
    for scratch, place in (("output", "/output"), ("tmp", "/tmp"), ("shm", "/dev/shm")):  # noqa: S108
        yield f"--volume={folder}/scratch/{scratch}:{place}:rw,nosuid,nodev"
    mounts = {"program": job.program, "input": job.inputs, **folders}
    root = mounts.pop("root", Path("/"))
    root_of_program = folder / "root"
    (root_of_program / "etc").mkdir()
    if root == Path("/"):
        (root_of_program / "etc" / "passwd").write_text(USERS)
        (root_of_program / "etc" / "group").write_text(GROUPS)
    for path in shown_paths(root):
        place = str(path.relative_to(root))
        if path.is_symlink():
            (root_of_program / place).symlink_to(path.readlink())
        else:
            mounts[place] = path
    empty = folder / "empty"
    empty.touch()
    mounts["etc/resolv.conf"] = empty  # otherwise podman shows that of the machine
    for number, (place, source) in enumerate(mounts.items()):
        link = folder / f"shown-{number}"  # the arguments of podman cannot name every path
        link.symlink_to(source.resolve())
        yield f"--volume={link}:/{place}:ro,nosuid,nodev"
    _let_read(root_of_program)
    _let_read(empty)
    yield from ("--rootfs", str(root_of_program))


def shown_paths(root: Path) -> Iterator[Path]:
    """Yield what a program sees of a system; of ``/etc`` each entry, because podman adds some.

    Names with a colon are left out: the arguments of podman cannot name them.
    """
    etc = root / "etc"
    yield from (path for path in shown_of(root) if path.name != "etc" and ":" not in path.name)
    if etc.is_symlink():  # of an image: it could lead to that of the machine
        return
    for path in sorted(etc.glob("*")):
        is_shown = path.name in OF_ETC if root == Path("/") else path.name not in _OF_PODMAN
        if is_shown and ":" not in path.name:
            yield path


def _let_read(folder: Path) -> None:
    """Make a file or folder readable for all users of this machine who can enter the one above."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))


def require_readable(inputs: Path) -> None:
    """Refuse inputs that only the runner can read: the program has another user.

    Raises
    ------
    SandboxError
        If there are some.
    """
    for path in (inputs, *inputs.rglob("*")):
        mode = path.lstat().st_mode
        needed = 0o5 if stat.S_ISDIR(mode) else 0o4
        if not stat.S_ISLNK(mode) and mode & needed != needed:
            raise SandboxError(
                f"{path} cannot be read by the user of the program: chmod -R o+rX {inputs}. "
                f"A folder above it, which other users cannot enter, keeps it from them."
            )


def _program(name: str, package: str) -> str:
    """Return the path of a program; raise SandboxError, with its package, if it is missing."""
    program = shutil.which(name)
    if program is None:
        raise SandboxError(f"There is no {name} on this machine: apt-get install {package}.")
    return program
