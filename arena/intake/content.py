"""The bytes of a file that nobody has checked yet: bounded in size, unpacked within the bound."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path

from arena.intake.faults import FaultList

__all__ = ["MAX_BYTES", "FileContent", "read_content"]

MAX_BYTES = 200 * 2**20
"""The largest file that is taken from a participant, packed or unpacked: 200 MiB."""

_CHUNK = 2**20
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"

_OPENING = {
    errno.ENOENT: ("file not found", "There is no such file."),
    errno.EACCES: ("unreadable file", "The file cannot be read: permission denied. Allow reading."),
    errno.ELOOP: ("unreadable file", "The file is a link that leads to itself."),
    errno.ENAMETOOLONG: ("unreadable file", "The name of the file is too long."),
}


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file in memory, unpacked."""

    data: bytes
    sha256: str
    """Of the file as it was sent, packed or not."""


def read_content(path: Path, max_bytes: int, faults: FaultList) -> FileContent | None:
    """Return the bytes of a regular file of at most ``max_bytes``, or None and a fault.

    The size is looked at before anything is read. A gzip file is unpacked, in two passes: the
    first counts and keeps nothing, so that a file made to burst costs no memory.
    """
    raw = _read_raw(path, max_bytes, faults)
    if raw is None:
        return None
    sha256 = hashlib.sha256(raw).hexdigest()
    if raw.startswith(_ZIP):
        faults.add(
            "wrong format",
            "This is a ZIP archive or an Excel workbook: save it as CSV (UTF-8) or Parquet.",
        )
        return None
    data = _unpack(raw, max_bytes, faults) if raw.startswith(_GZIP) else raw
    if data is not None and not data:
        faults.add("empty file", "The file is empty: send a header line and one row per id.")
        data = None
    return None if data is None else FileContent(data, sha256)


def _read_raw(path: Path, max_bytes: int, faults: FaultList) -> bytes | None:
    try:
        if not _is_regular(path.stat(), faults):
            return None
        # The file may have been exchanged since: a pipe must not be waited for.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not _is_regular(status, faults):
                return None
            # One byte more than promised tells a file that grows while it is read.
            raw = b"" if status.st_size > max_bytes else file.read(status.st_size + 1)
            size = max(status.st_size, len(raw))
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None) or 0
        reason = f"The file cannot be read ({os.strerror(number) if number else 'bad name'})."
        kind, message = _OPENING.get(number, ("unreadable file", reason))
        faults.add(kind, message)
        return None
    if len(raw) > status.st_size:
        faults.add("unreadable file", "The file was written to while it was read: send it again.")
        return None
    if size > max_bytes:
        faults.add(
            "file too large",
            f"The file has {size:,} bytes, and {max_bytes:,} are allowed: "
            "write fewer digits, or send Parquet.",
        )
        return None
    return raw


def _is_regular(status: os.stat_result, faults: FaultList) -> bool:
    if stat.S_ISREG(status.st_mode):
        return True
    what = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe, socket or device"
    faults.add("not a file", f"This is {what}, not a file: name a CSV or Parquet file.")
    return False


def _unpack(raw: bytes, max_bytes: int, faults: FaultList) -> bytes | None:
    try:
        if _bursts(raw, max_bytes):
            faults.add(
                "file too large",
                f"The file has {len(raw):,} bytes and unpacks to more than the {max_bytes:,} "
                "that are allowed; unpacking was stopped there.",
            )
            return None
        with gzip.open(io.BytesIO(raw)) as file:
            return file.read()
    except EOFError:
        faults.add("truncated file", "The gzip file ends too early: pack and send it again.")
    except (OSError, zlib.error):
        faults.add("damaged file", "The gzip file is damaged: pack and send it again.")
    return None


def _bursts(raw: bytes, max_bytes: int) -> bool:
    """Return whether a gzip file unpacks to more than ``max_bytes``, keeping nothing of it."""
    total = 0
    with gzip.open(io.BytesIO(raw)) as file:
        while total <= max_bytes and (piece := file.read(_CHUNK)):
            total += len(piece)
    return total > max_bytes
