"""Takes the output of a program, which may have written anything, without following it."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from arena.interfaces import Box, End, Job

_PART = 2**20
_DEEPEST = 16
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = _FILE | os.O_DIRECTORY


class _TooLargeError(Exception):
    """The output has more bytes or files than it may."""


class _NoOutputError(Exception):
    """The output is something else than files."""


def take_output(folder: int, job: Job, box: Box) -> tuple[End, Path | None]:
    """Copy the output of a program that has ended to :attr:`Job.target`.

    Links are not followed, and a pipe, socket or device is no output. A size is counted while it
    is copied.

    Parameters
    ----------
    folder
        The descriptor of what the program saw as ``/output``.
    """
    for name in job.outputs:
        file_name = name.rstrip("/")
        try:
            os.lstat(file_name, dir_fd=folder)
        except OSError:  # also if the program removed the permission to read the folder
            continue
        target = job.target / (file_name + ".zip" if name.endswith("/") else file_name)
        try:
            with target.open("xb") as written:
                if name.endswith("/"):
                    _pack(folder, file_name, written, box)
                else:
                    _copy(folder, file_name, written, box.output_bytes)
        except (_NoOutputError, _TooLargeError, OSError) as error:
            target.unlink(missing_ok=True)
            large = isinstance(error, _TooLargeError)
            return (End.OUTPUT_TOO_LARGE if large else End.NO_OUTPUT), None
        return End.OK, target
    return End.NO_OUTPUT, None


def _copy(folder: int, name: str, written: IO[bytes], most: int) -> int:
    """Copy a file and return its size."""
    opened = os.open(name, _FILE, dir_fd=folder)
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            raise _NoOutputError
        if status.st_size > most:  # a sparse file costs its writer nothing
            raise _TooLargeError
        size = 0
        while part := os.read(opened, _PART):
            size += len(part)
            if size > most:
                raise _TooLargeError
            written.write(part)
        return size
    finally:
        os.close(opened)


def _pack(folder: int, name: str, written: IO[bytes], box: Box) -> None:
    """Write the files of a folder to a ZIP archive, with the same bytes for the same files."""
    bytes_left, files = box.output_bytes, 0
    with zipfile.ZipFile(written, "w") as archive:
        for inner, path, file_name in _files(folder, name, "", _DEEPEST):
            files += 1
            if files > box.output_files:
                raise _TooLargeError
            with archive.open(zipfile.ZipInfo(path), "w", force_zip64=True) as member:
                bytes_left -= _copy(inner, file_name, member, bytes_left)


def _files(folder: int, name: str, path: str, depth: int) -> Iterator[tuple[int, str, str]]:
    """Yield ``(open folder, path, name)`` of each file, in the order of the names."""
    if not depth:
        raise _NoOutputError
    opened = os.open(name, _FOLDER, dir_fd=folder)
    try:
        names = sorted(os.listdir(opened))  # noqa: PTH208 - of a descriptor
        for inner in names:
            _check_name(inner)
            if stat.S_ISDIR(os.lstat(inner, dir_fd=opened).st_mode):
                yield from _files(opened, inner, f"{path}{inner}/", depth - 1)
            else:
                yield opened, path + inner, inner
    finally:
        os.close(opened)


def _check_name(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8
        raise _NoOutputError from None
