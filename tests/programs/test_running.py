"""A program runs at home as on the organiser's machine, in an environment of its own."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from arena.errors import InputError, SandboxError
from arena.interfaces import Box, End, Job, Outcome
from arena.programs.checked import last_check, record_check
from arena.programs.digests import digest_of_folder
from arena.programs.environments import Environment, make_environment
from arena.programs.running import (
    OUTPUTS,
    alone,
    environment_of,
    run_program,
    runner_folder,
)
from arena.testing import check_sandbox
from arena.testing.hostile_programs import PROGRAMS
from arena.types import Fault
from competition_folder import document
from program import run_here
from scripted_sandbox import ScriptedSandbox

WHEEL = "hello-1.0-py3-none-any.whl"
PROGRAM = """\
import hello
open("/output/predictions.csv", "w").write(hello.TEXT + open("/input/rows.csv").read())
"""


@pytest.fixture(autouse=True)
def _folder_of_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_RUNNER", str(tmp_path / "of" / "runner"))


def test_a_digest_follows_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_text("x")
    digests = {digest_of_folder(tmp_path)}
    changes = (
        lambda: (tmp_path / "a" / "b").write_text("y"),
        lambda: (tmp_path / "a" / "b").rename(tmp_path / "b"),
        lambda: (tmp_path / "c").symlink_to("b"),
        lambda: (tmp_path / "d").write_bytes(b""),
    )
    for change in changes:
        change()
        digests.add(digest_of_folder(tmp_path))
    assert len(digests) == 1 + len(changes)
    shutil.copytree(tmp_path, tmp_path.with_name("copy"), symlinks=True)
    assert digest_of_folder(tmp_path.with_name("copy")) == digest_of_folder(tmp_path)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not hold the environment sha256:12"):
        environment_of("sha256:12")
    with pytest.raises(InputError, match="holds no environment"):
        Environment.read(tmp_path)
    with pytest.raises(InputError, match="is no file"):
        make_environment(tmp_path / "missing", tmp_path)
    with pytest.raises(InputError, match="is no folder"):
        digest_of_folder(tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe is a pipe, socket or device: remove it"):
        digest_of_folder(tmp_path)


def test_one_program_runs_at_a_time() -> None:
    times = []

    def hold() -> None:
        with alone():
            times.append("begin")
            time.sleep(0.005)
            times.append("end")

    threads = [threading.Thread(target=hold) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert times == ["begin", "end"] * 3


def test_a_digest_is_that_of_names_and_contents_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "c").write_bytes(b"x")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "skipped").mkdir()
    (tmp_path / "skipped" / "c").touch()
    content = b"".join(
        len(name).to_bytes(8, "big") + name + hashlib.sha256(data).digest()
        for name, data in ((b"a/c", b"x"), (b"b", b"link a"))
    )
    digest = digest_of_folder(tmp_path, counts=lambda path: path != Path("skipped"))
    assert digest == f"sha256:{hashlib.sha256(content).hexdigest()}"


BOX = Box(
    **{"seconds": 1, "memory_mb": 1, "disk_mb": 1, "cores": 1, "processes": 1}, output_bytes=1
)


class Recorded(ScriptedSandbox):
    """Keeps the job, and fails like a machine without room if it is to."""

    error: OSError | None = None

    def run(self, job: Job, box: Box) -> Outcome:
        self.job, self.content = job, (job.program / "main.py").read_text()
        if self.error is not None:
            raise self.error
        return Outcome(end=End.OK, seconds=1, cpu_seconds=1, peak_mb=1, log=b"", output=None)


def test_a_program_runs_unpacked_and_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unpack(program: Path, folder: Path, entry: str) -> tuple[Fault, ...]:
        shutil.copyfile(program, folder / entry)
        return faults

    monkeypatch.setattr("arena.programs.running.unpack_program", unpack)
    (tmp_path / "sent.py").write_text("print(1)")
    sandbox, stop, faults = Recorded(), threading.Event(), ()
    run = partial(
        run_program, tmp_path / "sent.py", tmp_path, tmp_path / "target",
        command=["python3", "-u", "main.py"], environment=tmp_path, box=BOX, sandbox=sandbox,
        stop=stop,
    )  # fmt: skip
    assert isinstance(run(), Outcome)
    assert sandbox.content == "print(1)"
    folder = sandbox.job.program
    assert folder.parent == tmp_path / "of" / "runner" / "work"
    assert not folder.exists()
    assert sandbox.job == Job(
        program=folder,
        command=("python3", "-u", "main.py"),
        inputs=tmp_path,
        outputs=OUTPUTS,
        target=tmp_path / "target",
        environment=tmp_path,
        stop=stop,
    )
    sandbox.error = OSError("No space left")
    with pytest.raises(
        SandboxError, match=r"^This machine could not run a program: No space left\.$"
    ):
        run()
    faults = (Fault("encrypted", "It has a password."),)
    assert run() == faults
    with pytest.raises(InputError, match=r"^The folder of inputs missing does not exist\.$"):
        run_program(
            tmp_path / "sent.py", Path("missing"), tmp_path,
            command=["main.py"], environment=None, box=BOX, sandbox=sandbox,
        )  # fmt: skip


def test_a_run_begins_without_the_files_of_one_that_was_killed(tmp_path: Path) -> None:
    with alone() as work:
        (work / "left").touch()
        assert stat.S_IMODE(work.stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "of" / "runner").stat().st_mode) == 0o700
    with alone() as work:
        assert list(work.iterdir()) == []


def test_the_folder_of_a_runner_is_chosen_by_a_variable_the_machine_or_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert runner_folder() == tmp_path / "of" / "runner"
    assert environment_of("") is None
    (folder := tmp_path / "of/runner/environments/0123456789abcdef").mkdir(parents=True)
    assert environment_of("sha256:0123456789abcdef00") == folder
    monkeypatch.delenv("ARENA_RUNNER")
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ada"))
    for exists, expected in (
        (True, "/var/lib/arena-runner"),
        (False, "/home/ada/.local/share/arena-runner"),
    ):
        monkeypatch.setattr(Path, "is_dir", lambda path, exists=exists: exists)
        assert runner_folder() == Path(expected)


def test_the_last_check_of_a_sandbox_is_that_of_its_versions(tmp_path: Path) -> None:
    versions = {"podman": "4.9", "linux": "6.1"}
    assert last_check("podman(a=b)", versions) is None
    document = record_check("podman(a=b)", versions, ["It is root."])
    assert (document["sandbox"], document["versions"]) == ("podman(a=b)", versions)
    assert document["not_held"] == ["It is root."]
    assert datetime.now(UTC) - datetime.fromisoformat(document["time"]) < timedelta(minutes=9)
    assert last_check("podman(a=b)", versions) == document
    assert last_check("podman(a=b)", {**versions, "linux": "6.2"}) is None
    assert last_check("podman", versions) is None
    path = tmp_path / "of" / "runner" / "checked-podman-a-b-.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    document = record_check("podman(a=b)", versions, [])
    assert last_check("podman(a=b)", versions) == document
    path.write_text("{")
    assert last_check("podman(a=b)", versions) is None


def wheel(folder: Path) -> None:
    folder.mkdir()
    about = "Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n"
    tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(folder / WHEEL, "w") as made:
        made.writestr("hello.py", "TEXT = 'hello '")
        made.writestr("hello-1.0.dist-info/METADATA", about)
        made.writestr("hello-1.0.dist-info/WHEEL", tags)
        made.writestr("hello-1.0.dist-info/RECORD", "")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap")
def test_an_environment_and_a_trial_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    wheel(tmp_path / "wheels")
    (tmp_path / "requirements.txt").write_text("hello\n")
    (tmp_path / "model.py").write_text(PROGRAM)
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "rows.csv").write_text("rows")

    def arena(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "arena", "programs", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    made = arena("environment", "-r", "requirements.txt")
    digest = made.stdout.strip()
    assert digest.startswith("sha256:"), made.stderr
    for _ in range(2):  # the second one replaces what the first one wrote
        tried = arena("try", "model.py", "--inputs", "sample", "-o", "out", "--environment", digest)
        assert tried.returncode == 0, tried.stdout
    assert (tmp_path / "out" / "predictions.csv").read_text() == "hello rows"
    tried = arena("try", "model.py", "--inputs", "sample", "-o", "other")
    assert (tried.returncode, "No module named 'hello'" in tried.stdout) == (1, True)
    tried = arena("try", "requirements.txt", "--inputs", "sample", "-o", "other")
    assert (tried.returncode, tried.stdout.startswith("damaged file: ")) == (1, True)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap")
def test_a_check_prints_what_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [
        program for program in PROGRAMS if program.name in {"hidden-files", "network", "segfault"}
    ]
    monkeypatch.setattr("arena.testing.check_sandbox", partial(check_sandbox, programs=few))
    done = run_here("programs", "check", "--json", cwd=tmp_path)
    printed = document(done, "programs-check", int(os.geteuid() == 0))  # root is not held
    assert set(printed["programs"]) == {program.name for program in few}
    assert last_check("bwrap", printed["versions"])["not_held"] == printed["not_held"]  # type: ignore[index]
    impossible = [replace(few[0], ends=frozenset())]
    monkeypatch.setattr("arena.testing.check_sandbox", partial(check_sandbox, programs=impossible))
    done = run_here("programs", "check", cwd=tmp_path)
    assert done.returncode == 1
    assert "0 of 1 hostile programs were held." in done.stdout
    assert "Not held: " in done.stdout
    listed = document(run_here("programs", "sandboxes", "--json", cwd=tmp_path), "sandboxes")
    assert "bwrap" in {sandbox["name"] for sandbox in listed["sandboxes"]}
