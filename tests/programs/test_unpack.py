"""A program is unpacked, or refused with a sentence; nothing is written outside of its folder."""

from __future__ import annotations

import stat
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.programs.unpack import unpack_here, unpack_program
from hostile_archives import HOSTILE, LIMITS, MAIN, archive, special


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
