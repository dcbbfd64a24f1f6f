"""Environments of programs: what is installed or unpacked, its name, and what a program finds."""

from __future__ import annotations

import io
import json
import stat
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.errors import InputError
from arena.interfaces import Box
from arena.programs.digests import digest_of_folder
from arena.programs.environments import (
    Environment,
    environment_folder,
    make_environment,
    unpack_environment,
    variables,
)


def write(folder: Path, **document: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "environment.json").write_text(json.dumps(document))
    return folder


@pytest.mark.parametrize(
    ("cores", "folders", "path", "threads"),
    [
        (1, (), "/usr/local/bin:/usr/bin:/bin", "1"),
        (0.5, ("root",), "/usr/local/bin:/usr/bin:/bin", "1"),
        (2.9, ("packages", "python"), "/python/bin:/usr/local/bin:/usr/bin:/bin", "2"),
    ],
)
def test_a_program_gets_these_variables(
    cores: float, folders: Sequence[str], path: str, threads: str
) -> None:
    box = Box(
        **{"seconds": 1, "memory_mb": 1, "disk_mb": 1, "processes": 1}, cores=cores, output_bytes=1
    )
    libraries = {"PYTHONPATH": "/packages"} if "packages" in folders else {}
    assert variables(box, dict.fromkeys(folders, Path("/"))) == {
        "PATH": path,
        "HOME": "/tmp",  # noqa: S108 - in the sandbox
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        **libraries,
    }


def test_an_environment_shows_its_folders(tmp_path: Path) -> None:
    folder = write(tmp_path / "image", digest="sha256:1")
    (folder / "root").mkdir()
    assert Environment.read(folder) == Environment(folder, "sha256:1", {"root": folder / "root"})
    folder, python = tmp_path / "libraries", tmp_path / "python"
    write(folder, digest="sha256:2", python=str(python))
    (folder / "packages").mkdir()
    python.mkdir()
    of_libraries = {"packages": folder / "packages", "python": python}
    assert Environment.read(folder).folders == of_libraries
    write(folder, digest="sha256:2", python="/usr")  # which every sandbox shows
    assert Environment.read(folder).folders == {"packages": folder / "packages"}


def test_what_is_no_environment_is_refused(tmp_path: Path) -> None:
    for document in ("{", "[]", "{}", "null"):
        (tmp_path / "environment.json").write_text(document)
        with pytest.raises(InputError) as refused:
            Environment.read(tmp_path)
        assert str(refused.value) == (
            f"{tmp_path} holds no environment: make one with arena programs environment "
            f"--requirements FILE."
        )
    write(tmp_path, digest="sha256:1", python="/no/python")
    with pytest.raises(InputError) as refused:
        Environment.read(tmp_path)
    assert str(refused.value) == (
        f"The Python of the environment {tmp_path} is not in /no/python any more: make the "
        f"environment again."
    )


def test_a_folder_is_named_by_sixteen_digits() -> None:
    digest = "sha256:0123456789abcdef0123"
    assert environment_folder(Path("all"), digest) == Path("all/0123456789abcdef")


class Pip:
    """Stands for the programs that install; ``commands`` are what was called."""

    def __init__(self, *, code: int = 0, stdout: str = "", stderr: str = "") -> None:
        self.commands: list[Sequence[str]] = []
        self.done = SimpleNamespace(returncode=code, stdout=stdout, stderr=stderr)

    def __call__(self, command: Sequence[str], **given: Any) -> SimpleNamespace:
        assert given.pop("env")["PIP_DISABLE_PIP_VERSION_CHECK"] == "1"
        assert given == {"capture_output": True, "text": True, "check": False}
        self.commands.append(command)
        if "pip" in command:
            packages = Path(command[command.index("--target") + 1])
            for name in ("bin/run", "a/__init__.py", "a/__pycache__/a.pyc", "a.dist-info/RECORD"):
                (packages / name).parent.mkdir(parents=True, exist_ok=True)
                (packages / name).write_text(packages.parents[1].name)
            (packages / "a" / "__init__.py").write_text("a = 1")
        return self.done


def test_libraries_are_installed_and_named_by_what_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", pip := Pip())
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("a\n")
    environment = make_environment(requirements, tmp_path / "of" / "all")
    again = make_environment(requirements, tmp_path / "of" / "all")
    assert environment == again  # the copies of code and of RECORD, which differ, do not count
    assert [path.name for path in (tmp_path / "of" / "all").iterdir()] == [environment.folder.name]
    assert sorted(path.name for path in (environment.folder / "packages").iterdir()) == [
        "a",
        "a.dist-info",
    ]
    described = environment.folder / "environment.json"
    assert stat.S_IMODE(described.stat().st_mode) == 0o644
    document = json.loads(described.read_text())
    assert document == {
        "digest": environment.digest,
        "python": str(Path(sys.base_prefix).resolve()),
    }
    python = f"{document['python']}/bin/python3.{sys.version_info[1]}"
    new = Path(pip.commands[0][-1]).parent  # of the first of the two
    packages = f"{new}/environment/packages"
    assert pip.commands[:3] == [
        [python, "-m", "venv", f"{new}/installer"],
        [
            *(f"{new}/installer/bin/python", "-m", "pip", "install", "--no-compile"),
            *("--target", packages, "-r", str(requirements)),
        ],
        [
            *(python, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"),
            *("-s", packages, "-p", "/packages", packages),
        ],
    ]


@pytest.mark.parametrize(
    ("printed", "sentence"),
    [
        ({"stderr": "a warning\nNo such library.\n", "stdout": "x"}, "No such library."),
        ({"stdout": "one\ntwo\n"}, "two"),
        ({}, "it printed nothing"),
    ],
)
def test_the_last_line_says_why_nothing_was_installed(
    printed: dict[str, str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", Pip(code=1, **printed))
    (tmp_path / "requirements.txt").touch()
    with pytest.raises(InputError) as refused:
        make_environment(tmp_path / "requirements.txt", tmp_path / "of" / "all")
    assert str(refused.value) == f"The environment cannot be made: {sentence}"
    assert list((tmp_path / "of" / "all").iterdir()) == []
    with pytest.raises(InputError) as refused:
        make_environment(tmp_path / "missing", tmp_path / "of" / "all")
    assert str(refused.value) == (
        f"{tmp_path / 'missing'} is no file: write one with a line for each library."
    )


def image(path: Path, **members: tuple[bytes, int]) -> Path:
    """Write an archive of a system: its members by name, with their kind and mode."""
    with tarfile.open(path, "w") as archive:
        for name, (kind, mode) in members.items():
            member = tarfile.TarInfo(name.replace("_", "/"))
            member.type, member.mode = kind, mode
            archive.addfile(member, io.BytesIO())
    return path


def test_an_image_is_unpacked_without_devices_and_rights_of_others(tmp_path: Path) -> None:
    packed = image(
        tmp_path / "image.tar",
        usr=(tarfile.DIRTYPE, 0o755),
        usr_run=(tarfile.REGTYPE, 0o4755),
        usr_null=(tarfile.CHRTYPE, 0o666),
    )
    environment = unpack_environment(packed, tmp_path / "of" / "all")
    root = environment.folder / "root"
    assert environment.folders == {"root": root}
    assert environment.digest == digest_of_folder(root)
    assert environment.folder == environment_folder(tmp_path / "of" / "all", environment.digest)
    assert [path.name for path in (root / "usr").iterdir()] == ["run"]
    assert stat.S_IMODE((root / "usr" / "run").stat().st_mode) == 0o755


def test_what_is_no_image_is_refused(tmp_path: Path) -> None:
    empty = image(tmp_path / "empty.tar", etc=(tarfile.DIRTYPE, 0o755))
    with pytest.raises(InputError) as refused:
        unpack_environment(empty, tmp_path / "of" / "all")
    assert str(refused.value) == (
        f"{empty} holds no file system: write one with podman export CONTAINER."
    )
    (tmp_path / "noise.tar").write_bytes(b"x" * 600)
    with pytest.raises(InputError, match=r"^The image .*noise\.tar cannot be unpacked: [\w ]*\.$"):
        unpack_environment(tmp_path / "noise.tar", tmp_path / "of" / "all")
    assert list((tmp_path / "of" / "all").iterdir()) == []
