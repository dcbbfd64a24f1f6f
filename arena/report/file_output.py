"""Write a file atomically, or refuse before anything is computed."""

from __future__ import annotations

import os
from pathlib import Path

from arena.errors import InputError, UsageError
from arena.utils.atomic_write import atomic_write
from arena.utils.file_errors import reason_of


def check_target(path: Path) -> None:
    """Refuse a path that no file can be written to, before anything is computed.

    Raises
    ------
    UsageError
        If it is a folder, or its folder does not exist or may not be written to.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it, such as {path / 'report.html'}.")
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {path.parent} for {path.name}; make it first.")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"Nothing can be written to the folder {path.parent}.")


def check_folder(folder: Path) -> None:
    """Make a folder for files, or refuse.

    Raises
    ------
    UsageError
        If it is a file, or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"The folder {folder} cannot be made: {reason_of(error)}.") from error


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file atomically: a reader sees either the old or the new content.

    Raises
    ------
    UsageError
        If it is a folder, or its folder does not exist.
    InputError
        If it cannot be written.
    """
    check_target(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        atomic_write(path, data, 0o666 & ~_umask())
    except OSError as error:
        raise InputError(f"{path} cannot be written: {reason_of(error)}.") from error


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
