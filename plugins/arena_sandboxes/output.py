"""Takes the output of a program, which may have written anything, without following it."""

from __future__ import annotations

import contextlib
import errno
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
_ERRNOS_OF_PROGRAM = {errno.EACCES, errno.ELOOP, errno.ENOENT, errno.ENOTDIR, errno.ENXIO}
"""Errors by which something else than readable files and folders is found: no permission, a link,
nothing, no folder, a socket or device. All others are faults of this machine."""


class _TooLargeError(Exception):
    """The output has more bytes or files than it may."""


class _NoOutputError(Exception):
    """The output is something else than files."""


@contextlib.contextmanager
def _looking_at_output() -> Iterator[None]:
    """Take errors that the program caused for missing output, and let those of this machine pass.

    Raises
    ------
    _NoOutputError
        If it is something else than readable files and folders.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _ERRNOS_OF_PROGRAM:
            raise _NoOutputError from error
        raise


def take_output(scratch: int, job: Job, box: Box) -> tuple[End, Path | None]:
    """Copy the output of a program that has ended to :attr:`Job.target`.

    Links are not followed, and a pipe, socket or device is no output. A size is counted while it
    is copied.

    Parameters
    ----------
    scratch
        The descriptor of a folder whose ``output`` the program saw as ``/output``.

    Raises
    ------
    OSError
        If this machine cannot copy it.
    """
    try:
        with _looking_at_output():
            folder = os.open("output", _FOLDER, dir_fd=scratch)
        try:
            return End.OK, _take(folder, job, box)
        finally:
            os.close(folder)
    except _NoOutputError:
        return End.NO_OUTPUT, None
    except _TooLargeError:
        return End.OUTPUT_TOO_LARGE, None


def _take(folder: int, job: Job, box: Box) -> Path:
    """Return the copy of the first output that is in an open folder."""
    for name in job.outputs:
        file_name = name.rstrip("/")
        if not _exists(folder, file_name):
            continue
        target = job.target / (file_name + ".zip" if name.endswith("/") else file_name)
        try:
            with target.open("xb") as written:
                if name.endswith("/"):
                    _pack(folder, file_name, written, box)
                else:
                    _copy(folder, file_name, written, box.output_bytes)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        return target
    raise _NoOutputError


def _exists(folder: int, name: str) -> bool:
    with contextlib.suppress(_NoOutputError), _looking_at_output():
        os.lstat(name, dir_fd=folder)
        return True
    return False


def _copy(folder: int, name: str, written: IO[bytes], most: int) -> int:
    """Copy a file and return its size."""
    with _looking_at_output():
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
    bytes_left = box.output_bytes
    files = _files(folder, name, path="", depth=_DEEPEST, room=iter(range(box.output_files)))
    with zipfile.ZipFile(written, "w") as archive:
        for inner, path, file_name in files:
            with archive.open(zipfile.ZipInfo(path), "w", force_zip64=True) as member:
                bytes_left -= _copy(inner, file_name, member, bytes_left)


def _files(
    folder: int, name: str, *, path: str, depth: int, room: Iterator[int]
) -> Iterator[tuple[int, str, str]]:
    """Yield ``(open folder, path, name)`` of each file, in the order of the names.

    ``room`` has an element for each file or folder that there may be.
    """
    if not depth:
        raise _NoOutputError
    with _looking_at_output():
        opened = os.open(name, _FOLDER, dir_fd=folder)
    try:
        for inner in _names(opened, room):
            _check_name(inner)
            with _looking_at_output():  # a folder may be listed without permission to enter it
                status = os.lstat(inner, dir_fd=opened)
            if stat.S_ISDIR(status.st_mode):
                inner_path = f"{path}{inner}/"
                yield from _files(opened, inner, path=inner_path, depth=depth - 1, room=room)
            else:
                yield opened, path + inner, inner
    finally:
        os.close(opened)


def _names(folder: int, room: Iterator[int]) -> list[str]:
    """Return the sorted names in an open folder, as soon as it is known that there is room."""
    names = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if next(room, None) is None:
                raise _TooLargeError
            names.append(entry.name)
    return sorted(names)


def _check_name(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8
        raise _NoOutputError from None
