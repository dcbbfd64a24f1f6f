"""The outer process of a run: its whole command, its supervisor, and the order of the steps."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from arena.errors import SandboxError
from arena.interfaces import Box, End, Job, Outcome
from arena_sandboxes import linux, podman
from arena_sandboxes.bubblewrap import Bubblewrap
from arena_sandboxes.devices import gpu_nodes
from arena_sandboxes.linux import LinuxSandbox, hidden_of_proc, shown_of
from arena_sandboxes.podman import Podman
from arena_sandboxes.supervisor import Supervisor
from kept import check_kept

BOX = Box(
    **{"seconds": 5, "memory_mb": 64, "disk_mb": 8, "cores": 2.5, "processes": 10, "gpus": 1},
    output_bytes=1,
)
DOORS = SimpleNamespace(doors=(Path("/sys/fs/cgroup/arena run/cgroup.procs"),))
SANDBOXES: dict[str, LinuxSandbox] = {"bwrap": Bubblewrap(), "podman": Podman()}


def made_environment(folder: Path, **document: str) -> Path:
    (folder / "environment.json").write_text(json.dumps({"digest": "sha256:1", **document}))
    return folder


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Return the run of a program; its folder has environments of libraries and of an image."""
    for name in ("input", "program", "target", "python", "libraries/packages"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "input" / "rows.csv").touch(0o644)
    (tmp_path / "program" / "main.py").touch(0o600)
    root = tmp_path / "image" / "root"
    for name in ("usr", "proc", "a:b", "etc/c:d"):  # the last three are not shown
        (root / name).mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    for name in ("hosts", "os-release"):
        (root / "etc" / name).touch()
    made_environment(tmp_path / "libraries", python=str(tmp_path / "python"))
    made_environment(tmp_path / "image")
    return Job(
        program=tmp_path / "program",
        command=("python3", "main.py"),
        inputs=tmp_path / "input",
        outputs=("predictions.csv",),
        target=tmp_path / "target",
    )


@pytest.fixture
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Imitate the programs, folders, devices and limits of a machine."""
    host = tmp_path / "host"
    for name in ("usr", "bus"):
        (host / name).mkdir(parents=True)
    (host / "bin").symlink_to("usr/bin")
    (host / "keys").touch()
    of_image = podman.shown_paths

    def shown(root: Path) -> Iterator[Path]:
        return iter((host / "usr", host / "bin")) if root == Path("/") else shown_of(root)

    def shown_by_podman(root: Path) -> Iterator[Path]:
        return iter([Path("/usr")]) if root == Path("/") else of_image(root)

    for module in ("bubblewrap", "podman"):
        replaced: dict[str, object] = {
            "shutil.which": lambda name: f"/usr/bin/{name}",
            "hidden_of_proc": lambda box: [host / "bus", host / "keys"],
            "gpu_nodes": lambda pattern, count: [Path("/dev/nvidia0")] * count,
        }
        for name, value in replaced.items():
            monkeypatch.setattr(f"arena_sandboxes.{module}.{name}", value)
    monkeypatch.setattr("arena_sandboxes.bubblewrap.shown_of", shown)
    monkeypatch.setattr("arena_sandboxes.bubblewrap.program_filter", lambda: b"system calls")
    monkeypatch.setattr("arena_sandboxes.podman.shown_paths", shown_by_podman)
    monkeypatch.setattr("arena_sandboxes.podman.resource.getrlimit", lambda limit: (300, 400))
    before = os.umask(0o022)
    yield
    os.umask(before)


def printed_command(sandbox: LinuxSandbox, job: Job, box: Box, group: Any) -> str:
    """Return the command of a run with its files, an argument on each line."""
    files: list[bytes] = []

    def file(content: bytes) -> str:
        files.append(content)
        return f"<file {len(files)}>"

    with contextlib.ExitStack() as stack:
        folder = sandbox.supervisor(stack, job).scratch_path
        pipes = {
            name: (None, SimpleNamespace(fileno=lambda name=name: f"<{name}>"))
            for name in ("status", "outer_status")
        }
        given: Any = SimpleNamespace(file=file, scratch_path=folder, **pipes)
        lines = [*sandbox.command(given, job, box, group)]
        for number, content in enumerate(files, 1):
            lines += [f"-- file {number}", *content.decode().rstrip("\0").split("\0")]
        if isinstance(sandbox, Podman):
            for path in sorted(folder.parent.rglob("*")):
                mode = "" if path.is_symlink() else f" {path.stat().st_mode & 0o777:o}"
                lines.append(f"-- {path}{mode}")
                if path.is_symlink():
                    lines.append(f"-> {path.readlink()}")
                elif path.is_file() and path.name != "filter.json":
                    lines.append(path.read_text())
        printed = "\n".join(lines)
        if folder.parent != Path("/"):
            printed = printed.replace(str(folder.parent), "FOLDER")
    return printed.replace(str(job.program.parent), "/srv")


@pytest.mark.usefixtures("_machine")
@pytest.mark.parametrize("name", SANDBOXES)
def test_the_commands_of_runs_are_kept(
    name: str, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a user without control groups, and of root with them."""
    parts = []
    for kind, user, group, gpus in (
        ("", 1000, None, 0),
        ("libraries", 0, DOORS, 1),
        ("image", 0, None, 0),
    ):
        monkeypatch.setattr("arena_sandboxes.podman.os.geteuid", lambda user=user: user)
        environment = job.program.with_name(kind) if kind else None
        job_in_environment = replace(job, environment=environment)
        command = printed_command(
            SANDBOXES[name], job_in_environment, replace(BOX, gpus=gpus), group
        )
        parts.append(f"== {kind or 'the machine'}, user {user}\n{command}\n")
    check_kept(f"sandbox-{name}.txt", "\n".join(parts))
    assert (job.program / "main.py").stat().st_mode & 0o777 == (
        0o644 if name == "podman" else 0o600
    )


def test_inputs_that_others_cannot_read_are_refused_by_podman(job: Job) -> None:
    (job.inputs / "link").symlink_to("missing")  # which has no permissions of its own
    podman.require_readable(job.inputs)
    for path, mode in ((job.inputs / "rows.csv", 0o640), (job.inputs, 0o751), (job.inputs, 0o754)):
        before = path.stat().st_mode
        path.chmod(mode)
        with pytest.raises(SandboxError) as refused:
            podman.require_readable(job.inputs)
        assert str(refused.value) == (
            f"{path} cannot be read by the user of the program: chmod -R o+rX {job.inputs}. "
            f"A folder above it, which other users cannot enter, keeps it from them."
        )
        path.chmod(before)


@pytest.mark.parametrize("sandbox", [Podman(), Bubblewrap()])
def test_versions_are_those_that_the_programs_print(
    sandbox: LinuxSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = {
        "podman": "podman version 4.9.3\n",
        "crun": "crun version 1.14\ncommit: 66\n",
        "bwrap": "bubblewrap 0.9.0\n",
    }

    def run(command: Sequence[str], **given: Any) -> SimpleNamespace:
        assert (command[1:], given.pop("capture_output")) == (["--version"], True)
        assert given == {"text": True, "check": False}
        return SimpleNamespace(stdout=printed[Path(command[0]).name])

    for module in ("bubblewrap", "podman"):
        monkeypatch.setattr(f"arena_sandboxes.{module}.shutil.which", lambda name: f"/bin/{name}")
        monkeypatch.setattr(f"arena_sandboxes.{module}.platform.release", lambda: "6.1")
    monkeypatch.setattr(subprocess, "run", run)
    versions = sandbox.versions()  # type: ignore[attr-defined]
    if isinstance(sandbox, Podman):
        assert versions == {"podman": "4.9.3", "crun": "1.14", "linux": "6.1"}
        printed["crun"] = ""  # one that says nothing
        assert sandbox.versions() == {"podman": "4.9.3", "linux": "6.1"}
    else:
        assert versions == {"bwrap": "0.9.0", "linux": "6.1"}


@pytest.mark.parametrize(
    ("missing", "sandbox", "package"),
    [
        ("podman", Podman(), "podman"),
        ("unshare", Podman(), "util-linux"),
        ("crun", Podman(), "crun"),
        ("runsc", Podman(oci_runtime="runsc"), "runsc"),
        ("bubblewrap", Bubblewrap(), "bubblewrap"),
    ],
)
def test_missing_software_is_named(
    missing: str, sandbox: LinuxSandbox, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("bubblewrap", "podman"):
        monkeypatch.setattr(
            f"arena_sandboxes.{module}.shutil.which",
            lambda name: None if name in {missing, "bwrap"} else f"/bin/{name}",
        )
    sentence = f"There is no {missing} on this machine: apt-get install {package}."
    assert sandbox.check() == (sentence,)


def test_podman_starts_and_ends_a_program_in_this_order() -> None:
    steps: list[object] = []
    supervisor: Any = SimpleNamespace(
        report=lambda: steps.append("report"), order=lambda: steps.append("order")
    )
    group: Any = SimpleNamespace(kill=lambda: steps.append("kill"), limit_processes=steps.append)
    for of_run in (group, None):
        Podman().started(supervisor, of_run, BOX)
        Podman().ended(supervisor, of_run)
    with_group = ["report", 10, "kill", "report", "order", "report"]
    assert steps == [*with_group, "report", "report", "order", "report"]


def test_a_run_gets_as_many_gpus_as_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-file"):
        (tmp_path / name).touch()
    monkeypatch.setattr(Path, "is_char_device", lambda path: "file" not in path.name)
    pattern = str(tmp_path / "nvidia*")
    names = {count: [node.name for node in gpu_nodes(pattern, count)] for count in (0, 1, 2)}
    assert names == {
        0: [], 1: ["nvidia0", "nvidiactl"], 2: ["nvidia0", "nvidia1", "nvidiactl"],
    }  # fmt: skip
    with pytest.raises(SandboxError) as refused:
        gpu_nodes(pattern, 3)
    assert str(refused.value) == f"A run needs 3 GPUs, and {pattern} are 2 on this machine."


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """Return a supervisor whose outer process is this one."""
    with contextlib.ExitStack() as stack:
        yield Supervisor(stack, tmp_path / "scratch")


def test_reports_are_lines(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena_sandboxes.supervisor._MOST_SECONDS", 0.01)
    for written in (b"one\ntw", b"o\nthree"):
        supervisor.outer_status[1].write(written)
    assert [supervisor.report(), supervisor.report()] == [b"one", b"two"]
    with pytest.raises(SandboxError) as refused:
        supervisor.report()
    assert str(refused.value) == "A sandbox did nothing for 0.01 s: the machine is overloaded."
    supervisor.outer_status[1].close()
    assert supervisor.report() == b""


def test_a_file_in_memory_is_read_from_its_start(supervisor: Supervisor) -> None:
    descriptor = int(supervisor.file(b"arguments"))
    assert os.read(descriptor, 100) == b"arguments"
    assert supervisor._passed == [descriptor]


def test_a_program_that_did_not_start_has_no_disk(supervisor: Supervisor, job: Job) -> None:
    supervisor.outer_status[1].close()  # the outer process has ended at once
    supervisor.begin()
    assert not supervisor.disk_is_full()
    with pytest.raises(SandboxError) as refused:
        supervisor.take(job, BOX)
    assert str(refused.value) == "The output of a program cannot be read: /proc hides it."


def begun(supervisor: Supervisor) -> None:
    """Let the outer process report that the program starts in this process."""
    supervisor.outer_status[1].write(json.dumps({"child-pid": os.getpid()}).encode() + b"\n")
    supervisor.begin()
    assert os.read(supervisor.orders[0].fileno(), 10) == b"\n"


def test_a_disk_with_less_than_a_hundredth_free_is_full(
    supervisor: Supervisor, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(supervisor)
    assert not supervisor.disk_is_full()  # it is not mounted yet
    supervisor.scratch_path.touch()
    assert supervisor.scratch() is None  # a file is no file system
    supervisor.scratch_path.unlink()
    (supervisor.scratch_path / "output").mkdir(parents=True)
    (supervisor.scratch_path / "output" / "predictions.csv").write_bytes(b"x")
    for blocks, files, is_full in ((1, 4, False), (0, 4, True), (50, 1, True), (50, 2, False)):
        # One block of 100 is a hundredth; two files of 200 are, and one is less.
        free = SimpleNamespace(f_bavail=blocks, f_blocks=100, f_favail=files, f_files=200)
        monkeypatch.setattr(
            "arena_sandboxes.supervisor.os.statvfs", lambda scratch, free=free: free
        )
        assert supervisor.disk_is_full() is is_full
    assert supervisor.take(job, BOX) == (End.OK, job.target / "predictions.csv")
    scratch = supervisor.scratch()
    assert scratch is not None
    assert fcntl.fcntl(scratch, fcntl.F_GETFL) & os.O_PATH  # nothing can be read by it
    assert not os.get_inheritable(scratch)


class Process:
    """Stands for the outer process; ``steps`` is what was done to it."""

    steps: ClassVar[list[object]] = []

    def __init__(self, command: Sequence[str], **given: object) -> None:
        self.steps[:] = [command, given]

    def kill(self) -> None:
        self.steps.append("kill")

    def wait(self) -> None:
        self.steps.append("wait")


@pytest.mark.parametrize("ends", [True, False])
def test_the_outer_process_is_killed_at_the_end(
    ends: bool, supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, other = os.pipe()  # stands for the first process of the program, which ends or does not
    killed: list[tuple[int, signal.Signals]] = []
    monkeypatch.setattr(subprocess, "Popen", Process)
    monkeypatch.setattr("arena_sandboxes.supervisor.SECONDS_TO_END", 0.01)
    monkeypatch.setattr("arena_sandboxes.supervisor.os.pidfd_open", lambda pid: first)
    monkeypatch.setattr(
        "arena_sandboxes.supervisor.signal.pidfd_send_signal", lambda *sent: killed.append(sent)
    )
    (tmp_path / "scratch").mkdir()
    file = int(supervisor.file(b"arguments"))
    reported = [pipe[1].fileno() for pipe in (supervisor.status, supervisor.outer_status)]
    given = {
        "stdin": supervisor.orders[0], "stdout": supervisor.log[1], "stderr": supervisor.log[1],
        "pass_fds": (file, *reported), "start_new_session": True, "cwd": "/", "env": {},
    }  # fmt: skip
    outer_status = os.dup(supervisor.outer_status[1].fileno())
    refused = (
        contextlib.nullcontext()
        if ends
        else pytest.raises(SandboxError, match="Processes of a program could not be ended. Restart")
    )
    with refused, supervisor.running(["sandbox"]):
        assert Process.steps == [["sandbox"], given]
        ends_of_process = (
            supervisor.orders[0], supervisor.log[1], supervisor.status[1],
            supervisor.outer_status[1],
        )  # fmt: skip
        assert all(end.closed for end in ends_of_process)
        os.write(outer_status, json.dumps({"child-pid": os.getpid()}).encode() + b"\n")
        supervisor.begin()
        scratch = supervisor.scratch()
        assert scratch is not None
        if ends:
            os.close(other)
    os.close(outer_status)
    assert Process.steps[2:] == ["kill", "wait"]
    assert killed == [(first, signal.SIGKILL)]
    for descriptor in (first, scratch):
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
    if not ends:
        os.close(other)


class Tried(LinuxSandbox):
    """A sandbox of which a check sees how one run ended."""

    name = "tried"
    remedies: ClassVar[Mapping[bytes, str]] = {b"no rights": "Give rights."}
    command = supervisor = started = ended = None  # type: ignore[assignment]

    def __init__(self, end: End, log: bytes = b"") -> None:
        self.outcome = Outcome(end=end, seconds=1, cpu_seconds=1, peak_mb=1, log=log, output=None)

    def require_software(self) -> None:
        pass

    def run(self, job: Job, box: Box) -> Outcome:
        self.tried, self.box = job, box
        assert all(folder.is_dir() for folder in (job.program, job.inputs, job.target))
        return self.outcome


def test_a_check_runs_a_small_program(monkeypatch: pytest.MonkeyPatch) -> None:
    user, has_groups = 1000, True
    monkeypatch.setattr("arena_sandboxes.linux.os.geteuid", lambda: user)
    monkeypatch.setattr("arena_sandboxes.linux.has_groups", lambda: has_groups)
    sandbox = Tried(End.OK)
    assert sandbox.check() == []
    assert (sandbox.tried.command, sandbox.tried.outputs) == (
        ("/bin/sh", "-c", "echo > /output/done"), ("done",),
    )  # fmt: skip
    assert sandbox.box == Box(
        **{"seconds": 20, "memory_mb": 64, "disk_mb": 8, "cores": 1, "processes": 8},
        output_bytes=100,
    )
    user, has_groups = 0, False
    root, groups = sandbox.check()
    assert root.startswith("The runner is root, so that a program which escapes may become root")
    assert groups.startswith("The memory of a run's processes together and their cores are not ")
    assert Tried(End.CRASH, b"\nno rights\nmore\n").check() == (
        "A small program ended with crash: no rights",
    )
    assert sandbox._remedy(b"there are no rights") == "Give rights."
    assert sandbox._remedy(b"") == "Run arena programs check on this machine."


def test_a_program_sees_of_proc_what_is_of_no_other() -> None:
    hidden = [path.name for path in hidden_of_proc(replace(BOX, gpus=0))]
    with_gpus = {path.name for path in hidden_of_proc(BOX)}
    assert hidden == sorted(hidden)
    assert {"loadavg", "meminfo", "stat", "uptime", "devices"} <= {*hidden}
    assert not {"cmdline", "cpuinfo", "filesystems", "version", "self", "1"} & {*hidden}
    assert {*hidden} - with_gpus <= {"devices", "driver", "modules"}
    assert not {"devices", "driver", "modules"} & with_gpus


def test_of_a_machine_a_program_sees_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {path.name for path in shown_of(Path("/"))}
    assert {"usr", "bin", "lib"} <= shown <= set(linux.SYSTEM_FOLDERS)
