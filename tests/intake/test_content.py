"""Files that are too large, packed, damaged, or no files at all."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import tarfile
import threading
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pyarrow as pa
import pytest

from arena.intake import SubmissionForm, parse_submission
from arena.types import Solution
from submission_files import Send, kinds, only, rows_of, zipped

PLAIN = ("id,y\n" + rows_of()).encode()


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: bytes(pa.compress(data, "zstd", asbytes=True)),
}


@pytest.mark.parametrize(("suffix", "compress"), COMPRESSIONS.items(), ids=COMPRESSIONS)
def test_compressed_files_are_read_and_hashed_as_sent(
    send: Send, suffix: str, compress: Callable[[bytes], bytes]
) -> None:
    packed = compress(PLAIN)
    submission = send(packed, name=f"t.csv.{suffix}")
    assert submission.values is not None
    assert submission.sha256 == hashlib.sha256(packed).hexdigest()
    assert kinds(send(packed[:-10])) <= {"truncated file", "damaged file"}
    assert send(compress(PLAIN[:50]) + compress(PLAIN[50:])).values is not None
    assert (
        "decompresses to more"
        in only(send(compress(bytes(2**16)), max_bytes=2**15), "file too large").message
    )
    # The size after decompression counts: compressed, this text is much shorter.
    for size, is_read in ((2**15, True), (2**15 - 1, False)):
        submission = send(compress(PLAIN.ljust(2**15)), max_bytes=size)
        assert (submission.values is not None) is is_read
    assert "compressed twice" in only(send(gzip.compress(packed)), "wrong format").message


@pytest.mark.parametrize("can_start", [True, False])
def test_a_file_is_hashed_while_it_is_parsed(
    send: Send, monkeypatch: pytest.MonkeyPatch, can_start: bool
) -> None:
    started: list[threading.Thread] = []

    def start(thread: threading.Thread) -> None:
        started.append(thread)
        if not can_start:
            raise RuntimeError("can't start new thread")
        thread.run()

    monkeypatch.setattr("arena.intake.content.ALONGSIDE", 0)
    monkeypatch.setattr("threading.Thread.start", start)
    monkeypatch.setattr("threading.Thread.join", lambda _: None)
    for content, is_valid in ((PLAIN, True), (b"id\n", False)):
        read = send(content)
        assert read.sha256 == hashlib.sha256(content).hexdigest()
        assert (read.values is not None) == is_valid
    assert len(started) == 2


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


def test_by_default_a_file_has_200_mebibytes(tmp_path: Path, binary: Solution) -> None:
    path = tmp_path / "t.csv"
    path.touch()
    os.truncate(path, 200 * 2**20 + 1)
    message = only(parse_submission(path, SubmissionForm.of(binary)), "file too large").message
    assert "209,715,201 bytes" in message
    assert "209,715,200 are allowed" in message


@pytest.mark.slow
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
    assert "ZIP archive" in only(send(b"PK\x03\x04" + bytes(100)), "damaged file").message


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
    read = parse_submission(path, SubmissionForm.of(binary))
    assert kinds(read) == {kind}
    assert read.sha256 == ""


def test_unreadable_file(binary: Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "team.csv"
    path.write_bytes(PLAIN)

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("arena.intake.content.os.open", refuse)
    assert (
        "permission"
        in only(parse_submission(path, SubmissionForm.of(binary)), "unreadable file").message
    )


@pytest.mark.parametrize("name", ["a" * 300, "a\0b"])
def test_impossible_names_are_refused(binary: Solution, tmp_path: Path, name: str) -> None:
    assert kinds(parse_submission(tmp_path / name, SubmissionForm.of(binary))) == {
        "unreadable file"
    }


def tar_of(content: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        member = tarfile.TarInfo("team.csv")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"PK\x03\x04" + bytes(30) + b"xl/workbook.xml", "an Excel workbook (xlsx)"),
        (b'{\n "cells": [],\n "nbformat": 4}', "a Jupyter notebook"),
        (b"%PDF-1.7", "a PDF"),
        (b"\n<!DOCTYPE html><html>", "an HTML page"),
        (b"\x93NUMPY\x01", "a NumPy file"),
        (b"PK\x05\x06" + bytes(18), "an empty ZIP archive"),
        (b"FEA1", "a Feather file of version 1"),
        (tar_of(PLAIN), "a tar archive"),
        (gzip.compress(tar_of(PLAIN), mtime=0), "a tar archive"),
        (gzip.compress(b"\xd0\xcf\x11\xe0", mtime=0), "an old Excel workbook (xls)"),
        (
            b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
            "a LibreOffice spreadsheet (ods)",
        ),
    ],
)
def test_files_of_other_formats_are_named(send: Send, content: bytes, what: str) -> None:
    fault = only(send(content), "wrong format")
    assert fault.message.startswith(f"This is {what}: ")


@pytest.mark.slow
def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, binary: Solution, answers: list[list[str]]
) -> None:
    """Digest and predictions belong to the same bytes, also if another process changes the file."""
    path, form = tmp_path / "team.csv", SubmissionForm.of(binary)
    contents = [PLAIN.replace(b",0.5", f",0.{digit}5".encode()) for digit in (2, 7)]
    values = {hashlib.sha256(one).hexdigest(): parsed(path, one, form) for one in contents}
    assert len({value.tobytes() for value in values.values()}) == 2
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            for content in contents:
                with path.open("r+b") as file:
                    file.write(content)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        read = [parse_submission(path, form) for _ in range(60)]
    finally:
        stop.set()
        thread.join(timeout=600)
    answers.clear()  # chance decides which of them see a change
    for one in read:
        if one.sha256 in values:
            assert one.values is not None
            assert (one.values == values[one.sha256]).all()
        else:
            assert one.values is not None or one.faults


def parsed(path: Path, content: bytes, form: SubmissionForm) -> Any:
    path.write_bytes(content)
    read = parse_submission(path, form)
    assert read.sha256 == hashlib.sha256(content).hexdigest()
    return read.values


@pytest.mark.parametrize("change", ["grows", "shrinks", "goes"])
def test_a_file_whose_size_changes_while_it_is_read(
    tmp_path: Path, binary: Solution, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = tmp_path / "team.csv"
    path.write_bytes(PLAIN)
    status = os.fstat

    def changed(descriptor: int) -> os.stat_result:
        before = status(descriptor)
        if change == "grows":
            path.write_bytes(PLAIN + PLAIN)
        elif change == "shrinks":
            path.write_bytes(PLAIN[:40])
        else:
            path.unlink(missing_ok=True)
        return before

    monkeypatch.setattr("arena.intake.content.os.fstat", changed)
    read = parse_submission(path, SubmissionForm.of(binary))
    if change == "goes":  # its bytes are still there for the process that has it open
        assert read.values is not None
        return
    assert read.values is None
    if change == "grows":
        assert "while it was read" in read.faults[0].message


class _Written:
    """A file that is written at the moment when it is read for the first time."""

    def __init__(self, path: Path, write: Callable[[Path], None]) -> None:
        self._path, self._write = path, write
        self._fdopen = os.fdopen
        self.reads = 0

    def __call__(self, descriptor: int, mode: str) -> Any:
        file = self._fdopen(descriptor, mode)
        read = file.read

        def read_and_write(size: int = -1) -> bytes:
            if self.reads == 0:
                self._write(self._path)
            self.reads += 1
            return read(size)

        written = MagicMock(wraps=file)
        written.read = read_and_write
        written.__enter__.return_value = written
        written.__exit__.side_effect = lambda *_: file.close()
        return written


def _grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\n")


def _overwrite(path: Path) -> None:
    """Write other values of the same length, a second later."""
    with path.open("r+b") as file:
        file.seek(10)
        file.write(b"1")
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 10**9))


@pytest.mark.parametrize(
    "write",
    [_grow, _overwrite, lambda path: os.truncate(path, 20), lambda path: os.truncate(path, 0)],
    ids=["longer", "of the same length", "shorter", "empty"],
)
def test_a_file_that_is_written_while_it_is_read_is_refused(
    binary: Solution,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Path], None],
) -> None:
    path = tmp_path / "team.csv"
    path.write_bytes(PLAIN)
    written = _Written(path, write)
    monkeypatch.setattr("arena.intake.content.os.fdopen", written)
    read = parse_submission(path, SubmissionForm.of(binary))
    assert written.reads == 1
    assert "changed while it was read" in only(read, "unreadable file").message
    assert read.sha256 == ""


def test_a_file_that_is_replaced_while_it_is_read_is_read_as_it_was(
    binary: Solution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that was opened; its sha256 is that of what was read."""
    path, other = tmp_path / "team.csv", tmp_path / "other.csv"
    path.write_bytes(PLAIN)
    other.write_bytes(b"another")
    monkeypatch.setattr("arena.intake.content.os.fdopen", _Written(path, other.replace))
    read = parse_submission(path, SubmissionForm.of(binary))
    assert read.values is not None
    assert read.sha256 == hashlib.sha256(PLAIN).hexdigest()
    assert path.read_bytes() == b"another"


@pytest.mark.parametrize(
    ("name", "is_read"),
    [
        ("__MACOSX/a.csv", False),
        ("a/__MACOSX", True),
        ("a/.csv", False),
        ("Thumbs.db", False),
        ("a/desktop.INI", False),
        ("a/", False),
    ],
)
def test_files_of_a_system_in_an_archive_are_passed_over(
    send: Send, name: str, is_read: bool
) -> None:
    read = send(zipped({name: PLAIN, "t.csv": PLAIN}), name="t.zip")
    if is_read:
        assert "contains 2 files" in only(read, "wrong format").message
    else:
        assert read.values is not None
