"""A program is unpacked, or refused with a sentence; nothing is written outside of its folder."""

from __future__ import annotations

import errno
import re
import stat
import struct
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from arena.programs.unpack import PackedLimits, unpack_here, unpack_program
from arena.types import Fault
from arena.utils.processes import Ended, Limits
from hostile_archives import HOSTILE, LIMITS, MAIN, archive, special
from kept import check_kept


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_is_refused(case: str, tmp_path: Path) -> None:
    content, kind = HOSTILE[case]
    (tmp_path / "program").write_bytes(content)
    (tmp_path / "folder").mkdir()
    faults = unpack_here(str(tmp_path / "program"), str(tmp_path / "folder"), "main.py", LIMITS)
    assert [fault for fault, _ in faults] == [kind]
    assert all(message.endswith(".") and message.isprintable() for _, message in faults)
    assert {path.name for path in tmp_path.iterdir()} == {"program", "folder"}
    written = sum(path.stat().st_size for path in (tmp_path / "folder").rglob("*"))
    assert written <= LIMITS.unpacked_bytes + 4096 * LIMITS.files


def test_what_a_team_is_told_of_its_archive_is_kept(tmp_path: Path) -> None:
    lines = []
    for number, (case, (content, _)) in enumerate(HOSTILE.items()):
        (tmp_path / "program").write_bytes(content)
        (folder := tmp_path / str(number)).mkdir()
        for _, message in unpack_here(str(tmp_path / "program"), str(folder), "main.py", LIMITS):
            # What Python says of a damaged archive differs between its versions.
            lines.append(re.sub(r"read \(.*\): send", "read (REASON): send", f"{case}: {message}"))
    check_kept("hostile-archives.txt", "\n".join(lines) + "\n")


def faults_of(folder: Path, content: bytes, name: str = "program.zip", **limits: int) -> list[str]:
    """Return the kinds of faults of a program."""
    with tempfile.TemporaryDirectory(dir=folder) as unpacked:
        path = folder / name
        path.write_bytes(content)
        bounds = replace(LIMITS, **limits)
        return [kind for kind, _ in unpack_here(str(path), unpacked, "main.py", bounds)]


def test_a_program_may_be_as_large_as_its_limits(tmp_path: Path) -> None:
    two = archive(MAIN, ("model/a", b"12"))  # two files of 8 and 2 bytes
    size = len(two)
    assert faults_of(tmp_path, two, packed_bytes=size, unpacked_bytes=10, files=2) == []
    assert faults_of(tmp_path, two, packed_bytes=size - 1) == ["file too large"]
    assert faults_of(tmp_path, two, unpacked_bytes=9) == ["file too large"]
    assert faults_of(tmp_path, two, files=1) == ["too many files"]
    assert faults_of(tmp_path, b"x" * 7, "a.py", packed_bytes=7) == []
    assert faults_of(tmp_path, b"x" * 8, "a.py", packed_bytes=7) == ["file too large"]
    assert faults_of(tmp_path, b"x", "a.py") == []
    assert PackedLimits() == PackedLimits(100_000_000, 2_000_000_000, 10_000)


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("a" * 200, []),
        ("a" * 201, ["bad name"]),
        ("é" * 100, []),  # of two bytes each
        ("é" * 101, ["bad name"]),
        ("/".join(["a" * 99] * 10), []),  # 10 * 99 + 9 = 999 characters
        ("/".join(["a" * 99] * 9 + ["a" * 100]), []),
        ("/".join(["a" * 99] * 9 + ["a" * 101]), ["bad name"]),
        (".", ["bad name"]),
        ("a/./b", ["bad name"]),
    ],
)
def test_names_are_as_long_as_a_file_system_takes(
    name: str, faults: list[str], tmp_path: Path
) -> None:
    assert faults_of(tmp_path, archive(MAIN, (name, b""))) == faults


def test_folders_may_be_listed_again_and_after_their_files(tmp_path: Path) -> None:
    again = archive(MAIN, ("a/b/c", b""), ("a/b/d", b""), ("a/", b""), ("a/b/", b""))
    assert faults_of(tmp_path, again) == []


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (
            MemoryError(),
            (
                "too much work",
                "The ZIP archive needs more than 512 MiB to be read: send fewer files.",
            ),
        ),
        (
            Ended(too_long=True, seconds=300.0),
            (
                "too much work",
                f"The ZIP archive cannot be unpacked: {Ended(too_long=True, seconds=300.0)}.",
            ),
        ),
        ((("encrypted", "It has a password."),), ("encrypted", "It has a password.")),
    ],
)
def test_the_process_that_reads_an_archive_has_limits(
    answer: object, fault: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def call(function: object, *task: object, **given: object) -> object:
        assert (function, task) == (unpack_here, ("a.zip", "folder", "main.py", PackedLimits()))
        assert given == {
            "seconds": 300.0, "limits": Limits(memory=512 * 2**20), "purpose": "programs",
        }  # fmt: skip
        if isinstance(answer, MemoryError):
            raise answer
        return answer

    monkeypatch.setattr("arena.programs.unpack.call_limited", call)
    assert unpack_program(Path("a.zip"), Path("folder"), "main.py") == (Fault(*fault),)


def test_faults_of_the_machine_are_none_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program.zip").write_bytes(archive(MAIN))
    (tmp_path / "folder").mkdir()
    task = (str(tmp_path / "program.zip"), str(tmp_path / "folder"), "main.py", LIMITS)
    for error in (OSError(errno.ENOSPC, "No space left on device"), MemoryError()):
        monkeypatch.setattr("arena.programs.unpack._write", raising(error))
        with pytest.raises(type(error)):
            unpack_here(*task)


def raising(error: Exception) -> Callable[..., int]:
    def fail(*arguments: object) -> int:
        raise error

    return fail


def test_a_good_archive_keeps_its_files(tmp_path: Path) -> None:
    runs = special("run.sh", stat.S_IFREG)
    content = archive(MAIN, ("model/", b""), ("model/größe.bin", b"x"), (runs, b"#!/bin/sh"))
    (tmp_path / "program.zip").write_bytes(content)
    (tmp_path / "folder").mkdir()
    task = (str(tmp_path / "program.zip"), str(tmp_path / "folder"), "main.py", LIMITS)
    assert unpack_here(*task) == ()
    assert (tmp_path / "folder/model/größe.bin").read_bytes() == b"x"
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "folder").glob("*.*")
    }
    assert modes == {"main.py": 0o644, "run.sh": 0o755}


def test_a_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").symlink_to("/etc/passwd")
    (tmp_path / "folder").mkdir()
    task = (str(tmp_path / "a.py"), str(tmp_path / "folder"), "main.py", LIMITS)
    assert unpack_here(*task)[0][0] == "not a file"


def listed_often(count: int) -> bytes:
    """Return an archive that lists its only file so many times."""
    packed = archive(("a", b""))
    start, end = packed.index(b"PK\x01\x02"), packed.index(b"PK\x05\x06")
    listed = packed[start:end] * count
    closing = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(listed), start, 0)
    return packed[:start] + listed + closing


MADE: dict[str, Callable[[], bytes]] = {
    "many files": lambda: listed_often(200_000),
    "a good one": lambda: archive(MAIN),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", MADE)
def test_a_process_with_limits_reads_it(case: str, tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(MADE[case]())
    (tmp_path / "folder").mkdir()
    faults = unpack_program(tmp_path / "program", tmp_path / "folder", "main.py")
    kinds = {fault.kind for fault in faults}
    assert kinds <= ({"too many files", "too much work"} if "many" in case else set())
    assert bool(kinds) is ("many" in case)


@pytest.mark.slow
def test_a_list_of_files_that_fills_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.programs.unpack.MEMORY", 2**26)
    (tmp_path / "program").write_bytes(listed_often(200_000))
    (tmp_path / "folder").mkdir()
    (fault,) = unpack_program(tmp_path / "program", tmp_path / "folder", "main.py")
    assert fault.message == "The ZIP archive needs more than 64 MiB to be read: send fewer files."
