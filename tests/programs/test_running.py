"""A program runs at home as on the organiser's machine, in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from arena.errors import InputError
from arena.programs.checked import last_check
from arena.programs.digests import digest_of_folder
from arena.programs.environments import Environment, make_environment
from arena.programs.running import alone, environment_of
from arena.testing import check_sandbox
from arena.testing.hostile_programs import PROGRAMS
from competition_folder import document
from program import run_here

WHEEL = "hello-1.0-py3-none-any.whl"
PROGRAM = """\
import hello
open("/output/predictions.csv", "w").write(hello.TEXT + open("/input/rows.csv").read())
"""


@pytest.fixture(autouse=True)
def _folder_of_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_RUNNER", str(tmp_path / "runner"))


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
