"""Hostile files that a team may send as its program."""

from __future__ import annotations

import io
import stat
import zipfile

from arena.programs.unpack import PackedLimits

LIMITS = PackedLimits(packed_bytes=10_000, unpacked_bytes=50_000, files=8)
"""With which each of them is refused."""
MAIN = ("main.py", b"print(1)")


def archive(*members: tuple[str | zipfile.ZipInfo, bytes], packing: int = 8) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as zip_file:
        for name, content in members:
            zip_file.writestr(name, content)
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


def packed_by_another_method() -> bytes:
    data = bytearray(archive(MAIN))
    data[8] = data[data.index(b"PK\x01\x02") + 10] = 99
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
    "another method": (packed_by_another_method(), "damaged file"),
    "no entry point": (archive(("model/main.py", b"")), "no entry point"),
    "a folder main.py": (archive(("main.py/", b"")), "no entry point"),
    "an empty file": (b"", "empty file"),
    "an empty archive": (archive(), "no entry point"),
    "noise": (bytes(range(256)), "damaged file"),
    "half an archive": (archive(MAIN, ("a", bytes(9000)), packing=0)[4000:], "damaged file"),
    "other content": (archive(MAIN, packing=0).replace(b"print(1)", b"print(2)"), "damaged file"),
}  # fmt: skip
"""A name -> the content, and the kind of its fault."""
