"""Files that are too large, packed, damaged, or no files at all."""

from __future__ import annotations

import gzip
import hashlib
import os
import tracemalloc
import zlib
from pathlib import Path

import pytest

from arena.intake import read_submission
from arena.types import Solution
from submission_files import Send, kinds, only, rows_of

PLAIN = ("id,y\n" + rows_of()).encode()


def test_gzip_is_read_and_hashed_as_sent(send: Send) -> None:
    packed = gzip.compress(PLAIN)
    read = send(packed, name="t.csv.gz")
    assert read.values is not None
    assert read.sha256 == hashlib.sha256(packed).hexdigest()


def test_gzip_of_several_members_is_read(send: Send) -> None:
    assert send(gzip.compress(PLAIN[:50]) + gzip.compress(PLAIN[50:])).values is not None


def test_truncated_gzip(send: Send) -> None:
    assert kinds(send(gzip.compress(PLAIN)[:-10])) == {"truncated file"}


def test_damaged_gzip(send: Send) -> None:
    packed = bytearray(gzip.compress(PLAIN))
    packed[-6] ^= 0xFF
    assert kinds(send(bytes(packed))) == {"damaged file"}
    assert kinds(send(gzip.compress(PLAIN) + b"garbage")) == {"damaged file"}


def test_size_is_checked_before_reading(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("hashed, so it was read")

    monkeypatch.setattr(hashlib, "sha256", refuse)
    message = only(send(PLAIN, max_bytes=100), "file too large").message
    assert f"{len(PLAIN):,} bytes" in message
    assert "100 are allowed" in message


def test_gzip_bomb_is_stopped_and_costs_no_memory(send: Send, tmp_path: Path) -> None:
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    zeros = bytes(2**20)
    bomb = b"".join(packer.compress(zeros) for _ in range(300)) + packer.flush()
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(bomb)
    tracemalloc.start()
    read = send(bomb, name="bomb.csv.gz")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    message = only(read, "file too large").message
    assert f"{len(bomb):,} bytes" in message
    assert "209,715,200" in message
    assert peak < 16 * 2**20


def test_archives_are_recognised(send: Send) -> None:
    assert "Excel" in only(send(b"PK\x03\x04" + bytes(100)), "wrong format").message


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda path: path.mkdir(), "not a file"),
        (os.mkfifo, "not a file"),
        (lambda path: path.symlink_to("/dev/zero"), "not a file"),
        (lambda path: path.symlink_to(path), "unreadable file"),
        (lambda _: None, "file not found"),
    ],
    ids=["folder", "pipe", "device", "loop", "nothing"],
)
def test_what_is_no_file_is_refused(
    binary: Solution, tmp_path: Path, make: object, kind: str
) -> None:
    path = tmp_path / "team.csv"
    make(path)  # type: ignore[operator]
    read = read_submission(path, binary)
    assert kinds(read) == {kind}
    assert read.sha256 == ""


def test_unreadable_file(binary: Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "team.csv"
    path.write_bytes(PLAIN)

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("arena.intake.content.os.open", refuse)
    assert "permission" in only(read_submission(path, binary), "unreadable file").message


@pytest.mark.parametrize("name", ["a" * 300, "a\0b"])
def test_impossible_names_are_refused(binary: Solution, tmp_path: Path, name: str) -> None:
    assert kinds(read_submission(tmp_path / name, binary)) == {"unreadable file"}
