"""The sandbox ``bwrap``: namespaces by bubblewrap, a control group, and a filter of system calls.

There are two bubblewraps. The outer one holds the processes and one file system in memory, of a
limited size, and ends with the runner. The inner one, which runs in it, holds the program, which
sees parts of that file system as ``/output``, ``/tmp`` and ``/dev/shm``. When the program has
ended, the runner takes the output from the outer one, and then ends that too.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from arena.errors import SandboxError
from arena.interfaces import Box, End, Job, Outcome
from arena.programs.environments import Environment, variables
from arena.utils.text import printable
from arena_sandboxes.devices import gpu_nodes
from arena_sandboxes.filter import program_filter
from arena_sandboxes.groups import OF_SANDBOX, SECONDS_TO_END, Group, group_for, has_groups
from arena_sandboxes.output import take_output
from arena_sandboxes.watch import Watch

_LAUNCH = """\
prlimit --core=1:1 --pid $$ 2>/dev/null || ulimit -c 0
ulimit -n 4096 2>/dev/null
ulimit -d "$1" 2>/dev/null
shift
while [ "$1" != -- ]; do echo 0 > "$1" || exit; shift; done
shift
exec "$@"
"""
"""Enters the groups, then becomes the outer bubblewrap.

A limit of 0 for cores does not keep the system from starting a collector of crashes; one of 1 does.
"""
_OUTER = """\
read -r start || exit
cd /arena-scratch || exit
mkdir output tmp shm
: > empty
echo 'user:x:1000:1000::/tmp:/bin/sh' > passwd
echo 'user:x:1000:' > group
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
_OF_SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
_OF_ETC = ("alternatives", "ld.so.cache", "localtime")
_REPLACED = {"dev", "input", "output", "proc", "program", "sys", "tmp"}
"""Folders of an environment's root that a run replaces."""
_OF_PROC = {"cmdline", "cpuinfo", "filesystems", "sysvipc", "version"}
_OF_PROC_WITH_GPUS = {"devices", "driver", "modules"}
"""What a program sees of ``/proc`` besides its own processes."""
_SCRATCH = "/arena-scratch"
_FREE = 0.01
"""A file system with a smaller share of free blocks or files is full."""
_ALLOW_NAMESPACES = (
    "AppArmor forbids bwrap user namespaces (Ubuntu 24.04): add a profile for bwrap with userns, "
    "or sysctl kernel.apparmor_restrict_unprivileged_userns=0."
)
_REMEDIES = {
    b"No permissions to create new namespace": "Let users make namespaces: sysctl "
    "kernel.unprivileged_userns_clone=1 (Debian), or sysctl user.max_user_namespaces=10000.",
    b"setting up uid map: Permission denied": _ALLOW_NAMESPACES,
    b"loopback: Failed RTM_NEWADDR": _ALLOW_NAMESPACES,
    b"Can't mount proc": "This machine is a container whose /proc is hidden in part: run it on the "
    "host, or start the container with --security-opt systempaths=unconfined.",
}
"""What bubblewrap says -> what to do about it."""
_TRY_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Namespaces of Linux by bubblewrap, in a few milliseconds; the kernel is shared.

    Parameters
    ----------
    gpu_devices
        The device nodes of GPUs, a pattern of file names. Those that end with a number are the
        GPUs, of which a run gets as many as its limits say; it gets all others.
    """

    gpu_devices: str = "/dev/nvidia*"

    name: ClassVar[str] = "bwrap"

    def check(self) -> Sequence[str]:
        """Return what this machine cannot hold: a sentence each, with what to do about it."""
        try:
            _program()
            program_filter()
        except SandboxError as error:
            return (str(error),)
        problem = self._problem()
        if problem is not None:
            return (problem,)
        sentences = []
        if os.geteuid() == 0:
            sentences.append(
                "The runner is root, so that a program which escapes is root as well. Run it as "
                "a separate user, such as arena-run (arena serve --print-units)."
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
        with tempfile.TemporaryDirectory(prefix="arena-") as folder:
            job = Job(
                program=_made(Path(folder) / "program"),
                command=("/bin/sh", "-c", "echo > /output/done"),
                inputs=_made(Path(folder) / "input"),
                outputs=("done",),
                target=_made(Path(folder) / "output"),
            )
            box = Box(
                seconds=_TRY_SECONDS,
                memory_mb=64,
                disk_mb=8,
                cores=1,
                processes=8,
                output_bytes=100,
            )
            try:
                outcome = self.run(job, box)
            except SandboxError as error:
                return str(error)
        if outcome.end is End.OK:
            return None
        return f"A small program ended with {outcome.end}: {_first_line(outcome.log)}"

    def versions(self) -> Mapping[str, str]:
        """Return the versions of bubblewrap and of the kernel."""
        answer = subprocess.run(  # noqa: S603 - the program that was found
            [_program(), "--version"], capture_output=True, text=True, check=False
        )
        return {"bwrap": answer.stdout.split()[-1], "linux": platform.release()}

    def run(self, job: Job, box: Box) -> Outcome:
        """Run a program; when this returns or raises, none of its processes is left.

        Raises
        ------
        SandboxError
            If the machine could not run it.
        """
        environment = None if job.environment is None else Environment.read(job.environment)
        devices = gpu_nodes(self.gpu_devices, box.gpus)
        outer = _outer_arguments(job, box, environment, devices)
        inner = _inner_arguments(box, environment, devices)
        with contextlib.ExitStack() as stack:
            started = _Started(stack)
            status, outer_status = (
                str(pipe[1].fileno()) for pipe in (started.status, started.outer_status)
            )
            inner += ["--seccomp", started.file(program_filter()), "--json-status-fd", status]
            outer += ["--json-status-fd", outer_status]
            processes = str(box.processes + OF_SANDBOX)
            supervisor = ("/bin/sh", "-c", _OUTER, "sh", started.file(_args(inner)), processes)
            outer_file = started.file(_args(outer))
            group = stack.enter_context(group_for(box))
            stack.enter_context(
                started.running(group, box, (outer_file, *supervisor, *job.command))
            )
            watch = Watch(box, group, started.log[0].fileno(), started.disk_is_full, stop=job.stop)
            started.begin()
            end = watch.until(started.status[0].fileno(), _exit_code)
            if end is None:
                reason = _first_line(watch.log) or "it was killed"
                raise SandboxError(f"bwrap could not run a program: {reason}. {_remedy(watch.log)}")
            output = None
            if end is End.OK:
                end, output = started.take(job, box)
        return Outcome(
            end=end,
            seconds=watch.seconds,
            cpu_seconds=watch.cpu_seconds,
            peak_mb=watch.peak / 2**20,
            log=watch.log,
            output=output,
        )


class _Started:
    """The pipes and files of a run."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._passed: list[int] = []
        self.orders, self.log, self.status, self.outer_status = (self._pipe() for _ in range(4))
        self._pid = 0
        self._first: int | None = None
        self._scratch: int | None = None

    def _pipe(self) -> tuple[IO[bytes], IO[bytes]]:
        reading, writing = os.pipe()
        return (
            self._stack.enter_context(open(reading, "rb", buffering=0)),  # noqa: PTH123
            self._stack.enter_context(open(writing, "wb", buffering=0)),  # noqa: PTH123
        )

    def file(self, content: bytes) -> str:
        """Return the descriptor, which bwrap inherits, of a file in memory."""
        opened = self._stack.enter_context(open(os.memfd_create("arena"), "wb", buffering=0))  # noqa: PTH123, SIM115
        opened.write(content)
        opened.seek(0)
        self._passed.append(opened.fileno())
        return str(opened.fileno())

    @contextlib.contextmanager
    def running(self, group: Group | None, box: Box, arguments: Sequence[str]) -> Iterator[None]:
        """Start the outer bubblewrap, which waits for :meth:`begin`; kill it at the end."""
        doors = [str(door) for door in group.doors] if group else []
        most_data = "unlimited" if group else str(box.memory_mb * 1024)
        launcher = ("/bin/sh", "-c", _LAUNCH, "sh", most_data, *doors, "--")
        reported = [pipe[1] for pipe in (self.status, self.outer_status)]
        process = subprocess.Popen(  # noqa: S603 - the program that was found
            [*launcher, _program(), "--args", *arguments],
            stdin=self.orders[0],
            stdout=self.log[1],
            stderr=self.log[1],
            pass_fds=(*self._passed, *(pipe.fileno() for pipe in reported)),
            start_new_session=True,
            cwd="/",
            env={},
        )
        try:
            for end in (self.orders[0], self.log[1], *reported):
                end.close()
            yield
        finally:
            process.kill()
            process.wait()
            if self._scratch is not None:
                os.close(self._scratch)
            if self._first is not None:
                # The first process of the namespace ends after all others, a moment later.
                ended = select.select([self._first], [], [], SECONDS_TO_END)[0]
                os.close(self._first)
                if not ended:
                    raise SandboxError(
                        "Processes of a program could not be ended. Restart this machine before it "
                        "runs another one."
                    )

    def begin(self) -> None:
        """Let the program start, if the outer bubblewrap could."""
        status = b""
        while b"\n" not in status and (part := self.outer_status[0].read(4096)):
            status += part
        if b"\n" in status:
            self._pid = json.loads(status.splitlines()[0])["child-pid"]
            with contextlib.suppress(ProcessLookupError):
                self._first = os.pidfd_open(self._pid)
            with contextlib.suppress(BrokenPipeError):
                self.orders[1].write(b"\n")

    def scratch(self) -> int | None:
        """Return a descriptor of the file system of the program; None: there is none yet."""
        if self._scratch is None:
            with contextlib.suppress(OSError):
                flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
                self._scratch = os.open(f"/proc/{self._pid}/root{_SCRATCH}", flags)
        return self._scratch

    def disk_is_full(self) -> bool:
        """Return whether the file system of the program is full."""
        scratch = self.scratch()
        if scratch is None:
            return False
        status = os.statvfs(scratch)
        free = min(status.f_bavail / status.f_blocks, status.f_favail / status.f_files)
        return free < _FREE

    def take(self, job: Job, box: Box) -> tuple[End, Path | None]:
        """Return the output, copied."""
        scratch = self.scratch()
        if scratch is None:
            raise SandboxError("The output of a program cannot be read: /proc hides it.")
        try:
            output = os.open("output", os.O_RDONLY | os.O_DIRECTORY, dir_fd=scratch)
        except OSError:  # the program may have removed the permission to read it
            return End.NO_OUTPUT, None
        try:
            return take_output(output, job, box)
        finally:
            os.close(output)


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
    arguments += ["--proc", "/proc", *_hidden_counters(box), "--remount-ro", "/proc"]
    arguments += ["--dev", "/dev"]
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
    is_image = root != Path("/")
    names = sorted(path.name for path in root.iterdir()) if is_image else _OF_SYSTEM
    for name in names:
        folder = root / name
        if folder.is_symlink():
            arguments += ["--symlink", str(folder.readlink()), f"/{name}"]
        elif folder.exists() and name not in _REPLACED:
            arguments += ["--ro-bind", f"{seen}/{name}", f"/{name}"]
    if not is_image:
        for name in _OF_ETC:
            arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return arguments


def _hidden_counters(box: Box) -> list[str]:
    """Return the arguments that cover what ``/proc`` shows of the machine and not of a process.

    Most of it are counters since the start of the machine, by which a program could pass
    information to a later one.
    """
    arguments: list[str] = []
    for path in sorted(Path("/proc").iterdir()):
        shown = path.name in _OF_PROC or (box.gpus and path.name in _OF_PROC_WITH_GPUS)
        if path.name.isdigit() or path.is_symlink() or shown:
            continue
        if path.is_dir():
            arguments += ["--tmpfs", str(path), "--remount-ro", str(path)]
        else:
            arguments += ["--ro-bind", f"{_SCRATCH}/empty", str(path)]
    return arguments


def _args(arguments: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(argument) + b"\0" for argument in arguments)


def _exit_code(status: bytes) -> int | None:
    """Return the exit code of the program from what the inner bubblewrap reports."""
    for line in status.splitlines():
        with contextlib.suppress(ValueError):  # the line is not complete yet
            code: int | None = json.loads(line).get("exit-code")
            if code is not None:
                return code
    return None


def _program() -> str:
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxError("There is no bubblewrap on this machine: apt-get install bubblewrap.")
    return program


def _first_line(log: bytes) -> str:
    return printable(log.decode("utf-8", "replace").strip().partition("\n")[0])


def _remedy(log: bytes) -> str:
    """Return what to do about a failure of bubblewrap."""
    for words, remedy in _REMEDIES.items():
        if words in log:
            return remedy
    return "Run arena programs check on this machine."


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
