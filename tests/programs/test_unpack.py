"""A program is unpacked, or refused with a sentence; nothing is written outside of its folder."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.programs.unpack import PackedLimits, _unpack, unpack_program

LIMITS = PackedLimits(packed_bytes=10_000, unpacked_bytes=50_000, files=8)
MAIN = ("main.py", b"print(1)")


def archive(*members: tuple[str | zipfile.ZipInfo, bytes], packing: int = 8) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as made:
        for name, content in members:
            made.writestr(name, content)
    return file.getvalue()


def special(name: str, kind: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (kind | 0o777) << 16
    return info


def renamed(name: bytes) -> bytes:
    """Return an archive with a member whose name has these bytes."""
    return archive(MAIN, ("?" * len(name), b"")).replace(b"?" * len(name), name)


def encrypted() -> bytes:
    data = bytearray(archive(MAIN))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


HOSTILE: dict[str, tuple[bytes, str]] = {
    "a link": (archive(MAIN, (special("a", stat.S_IFLNK), b"/etc/passwd")), "not a file"),
    "a device": (archive(MAIN, (special("a", stat.S_IFBLK), b"")), "not a file"),
    "a pipe": (archive(MAIN, (special("a", stat.S_IFIFO), b"")), "not a file"),
    "an absolute name": (archive(MAIN, ("/a", b"")), "bad name"),
    "a way out": (archive(MAIN, ("a/../../b", b"")), "bad name"),
    "a way on": (archive(MAIN, ("a//b", b"")), "bad name"),
    "a drive": (archive(MAIN, ("..\\a", b"")), "bad name"),
    "a NUL": (renamed(b"a\0b"), "bad name"),
    "a line": (renamed(b"a\nb"), "bad name"),
    "a long name": (archive(MAIN, ("a" * 201, b"")), "bad name"),
    "a long path": (archive(MAIN, ("a/" * 600, b"")), "bad name"),
    "another encoding": (renamed(b"caf\xe9"), "wrong encoding"),
    "a repeated name": (
        archive(MAIN, ("Main.py", b"")).replace(b"Main.py", b"main.py"), "repeated name",
    ),
    "a file as a folder": (archive(MAIN, ("main.py/a", b"")), "repeated name"),
    "a folder as a file": (archive(("a/b", b""), MAIN, ("a", b"")), "repeated name"),
    "a bomb": (archive(MAIN, ("a", bytes(10**6))), "file too large"),
    "a bomb of LZMA": (archive(MAIN, ("a", bytes(10**6)), packing=14), "file too large"),
    "many files": (archive(MAIN, *((str(name), b"") for name in range(8))), "too many files"),
    "a large file": (archive(MAIN, ("a", bytes(10_000)), packing=0), "file too large"),
    "a password": (encrypted(), "encrypted"),
    "no entry point": (archive(("model/main.py", b"")), "no entry point"),
    "a folder main.py": (archive(("main.py/", b"")), "no entry point"),
    "an empty file": (b"", "empty file"),
    "an empty archive": (archive(), "no entry point"),
    "noise": (bytes(range(256)), "damaged file"),
    "half an archive": (archive(MAIN, ("a", bytes(9000)), packing=0)[4000:], "damaged file"),
    "other content": (archive(MAIN, packing=0).replace(b"print(1)", b"print(2)"), "damaged file"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_is_refused(case: str, tmp_path: Path) -> None:
    content, kind = HOSTILE[case]
    (tmp_path / "program").write_bytes(content)
    (tmp_path / "folder").mkdir()
    faults = _unpack(str(tmp_path / "program"), str(tmp_path / "folder"), "main.py", LIMITS)
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
    assert _unpack(*task) == ()
    assert (tmp_path / "folder/model/größe.bin").read_bytes() == b"x"
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "folder").glob("*.*")
    }
    assert modes == {"main.py": 0o644, "run.sh": 0o755}


def test_a_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").symlink_to("/etc/passwd")
    (tmp_path / "folder").mkdir()
    task = (str(tmp_path / "a.py"), str(tmp_path / "folder"), "main.py", LIMITS)
    assert _unpack(*task)[0][0] == "not a file"


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
