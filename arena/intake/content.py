"""Reads the bytes of an untrusted file and decompresses them, within a size limit."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import io
import lzma
import os
import stat
import threading
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from arena.interfaces.faults import FaultList
from arena.utils.file_errors import reason_of
from arena.utils.host_errors import is_of_host
from arena.utils.text import plural

CHANGED = "The file changed while it was read: send it again."
"""What is read must be what its sha256 is of, and one state of the file."""

MAX_BYTES = 200 * 2**20
"""Default maximum size of a submission file, compressed and decompressed: 200 MiB."""

_CHUNK = 2**20
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    ValueError,
    RuntimeError,
)
_ZIP = b"PK\x03\x04"
_WORKBOOK = b"xl/workbook.xml"
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"
_TAR, _TAR_AT = b"ustar", 257
_PROBE = 4096
_EXPORT = "export it as CSV (UTF-8) or Parquet"
_UNPACK = "unpack it, or compress the file by gzip"
_COMPRESSED: dict[bytes, tuple[str, Callable[[Any], Any]]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ": ("xz", lzma.open),
    b"\x28\xb5\x2f\xfd": ("Zstandard", lambda file: pa.input_stream(file, compression="zstd")),
}
"""First bytes of a compressed file -> its format, and what opens it."""
_FORMATS = {
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook (xls)", _EXPORT),
    b"%PDF-": ("a PDF", _EXPORT),
    b"\x89PNG": ("a picture", _EXPORT),
    b"\xff\xd8\xff": ("a picture", _EXPORT),
    b"\x93NUMPY": ("a NumPy file", _EXPORT),
    b"\x89HDF": ("an HDF5 file", _EXPORT),
    b"MATLAB ": ("a MATLAB file", _EXPORT),
    b"<stata_dta>": ("a Stata file", _EXPORT),
    b"<?xml": ("an XML document", _EXPORT),
    b"ORC": ("an ORC file", _EXPORT),
    b"Obj\x01": ("an Avro file", _EXPORT),
    b"SQLite format 3": ("an SQLite database", _EXPORT),
    b"7z\xbc\xaf": ("a 7z archive", _UNPACK),
    b"Rar!": ("a RAR archive", _UNPACK),
    b"PK\x05\x06": ("an empty ZIP archive", _EXPORT),
    b"FEA1": ("a Feather file of version 1", _EXPORT),
    b"ccopy_reg\n": ("a Python pickle", _EXPORT),
    **{b"\x80" + bytes([protocol]): ("a Python pickle", _EXPORT) for protocol in range(2, 6)},
    b"version https://git-lfs": ("a pointer of Git LFS", "send the file, which git lfs pull gets"),
}
"""First bytes of a file -> its format, and what to do."""
_OF_WINDOWS = ("thumbs.db", "desktop.ini")

ALONGSIDE = 2**20
"""Fewer bytes are hashed in less time than it takes to start a thread."""


class Sha256:
    """The sha256 of bytes, computed by another thread while this one parses them.

    >>> Sha256(b"id,y").hexdigest()[:8]
    'cc080836'
    """

    def __init__(self, data: bytes) -> None:
        self._hash = hashlib.sha256()
        self._thread: threading.Thread | None = None
        if len(data) >= ALONGSIDE:
            thread = threading.Thread(target=self._hash.update, args=(data,), daemon=True)
            # There may be no memory for the stack of a thread.
            with contextlib.suppress(RuntimeError):
                thread.start()
                self._thread = thread
        if self._thread is None:
            self._hash.update(data)

    def hexdigest(self) -> str:
        """Return the 64 hexadecimal digits; waits until all bytes are hashed."""
        if self._thread is not None:
            self._thread.join()
        return self._hash.hexdigest()


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file in memory, decompressed."""

    data: bytes
    sha256: Sha256
    """The sha256 of the file as sent, before decompression."""


def read_content(path: Path, max_bytes: int, faults: FaultList) -> FileContent:
    """Return the bytes of a regular file of at most ``max_bytes``.

    The size is checked before anything is read. A file compressed by gzip, bzip2, xz or Zstandard,
    or a ZIP archive with one file, is decompressed in two passes; the first only counts bytes, so
    that a decompression bomb uses no memory.

    Raises
    ------
    Refused
        If the file is not valid; the fault has been added.
    """
    raw = read_raw(path, max_bytes, faults)
    sha256 = Sha256(raw)
    data = raw
    _refuse_other_format(data, faults)
    compression = _compression(data)
    if compression is not None:
        data = (
            _unzip(data, max_bytes, faults)
            if compression == _ZIP
            else _unpack(data, compression, max_bytes, faults)
        )
        _refuse_other_format(data, faults)
        if _compression(data) is not None:
            faults.refuse("wrong format", "The file is compressed twice: compress it only once.")
    if not data:
        faults.refuse("empty file", "The file is empty: send a header line and one row per id.")
    return FileContent(data, sha256)


def _compression(data: bytes) -> bytes | None:
    """Return the first bytes of a compressed file, which say how it is compressed."""
    return next((start for start in (_ZIP, *_COMPRESSED) if data.startswith(start)), None)


def _refuse_other_format(data: bytes, faults: FaultList) -> None:
    other = _other_format(data)
    if other is not None:
        what, advice = other
        faults.refuse("wrong format", f"This is {what}: {advice}.")


def _other_format(raw: bytes) -> tuple[str, str] | None:
    """Return the format of a file that is sent by mistake, and what to do; None: it is usable."""
    start = raw[:_PROBE].lstrip()
    is_notebook = start.startswith(b"{") and (b'"cells"' in start or b'"nbformat"' in raw)
    formats = (
        (raw.startswith(_ZIP) and _WORKBOOK in raw, ("an Excel workbook (xlsx)", _EXPORT)),
        (
            raw.startswith(_ZIP) and _OPEN_DOCUMENT in raw[:_PROBE],
            ("a LibreOffice spreadsheet (ods)", _EXPORT),
        ),
        (raw.startswith(_TAR, _TAR_AT), ("a tar archive", _UNPACK)),
        *((raw.startswith(first), other) for first, other in _FORMATS.items()),
        (is_notebook, ("a Jupyter notebook", _EXPORT)),
        (start.lower().startswith((b"<!doctype html", b"<html")), ("an HTML page", _EXPORT)),
    )
    return next((other for is_other, other in formats if is_other), None)


def read_raw(path: Path, max_bytes: int, faults: FaultList) -> bytes:
    """Return the bytes of a regular file of at most ``max_bytes`` as they are.

    Raises
    ------
    Refused
        If it is not one; the fault has been added.
    OSError
        If this machine fails while it is read.
    """
    try:
        _check_regular(path.stat(), faults)
        # The file may have been replaced by a pipe in between: do not block on it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            _check_regular(status, faults)
            # One byte more than expected detects a file that grows while it is read.
            raw = b"" if status.st_size > max_bytes else file.read(status.st_size + 1)
            size = max(status.st_size, len(raw))
            after = os.fstat(descriptor)
    except (OSError, ValueError) as error:
        if is_of_host(error):
            raise
        kind = "file not found" if isinstance(error, FileNotFoundError) else "unreadable file"
        faults.refuse(kind, f"The file cannot be read: {reason_of(error)}.")
    if size <= max_bytes and (len(raw) != status.st_size or was_written(status, after)):
        faults.refuse("unreadable file", CHANGED)
    if size > max_bytes:
        faults.refuse(
            "file too large",
            f"The file has {plural(size, 'byte')}, but at most {max_bytes:,} are allowed: "
            "write fewer digits, or send Parquet.",
        )
    return raw


def was_written(before: os.stat_result, after: os.stat_result) -> bool:
    """Return whether an open file was written between two calls of ``fstat``."""
    # Not ctime, which also changes when the file gets another name.
    return (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)


def _check_regular(status: os.stat_result, faults: FaultList) -> None:
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe, socket or device"
        faults.refuse("not a file", f"This is {what}, not a file: send a CSV or Parquet file.")


def _unpack(raw: bytes, compression: bytes, max_bytes: int, faults: FaultList) -> bytes:
    name, open_file = _COMPRESSED[compression]
    try:
        return _decompressed(lambda: open_file(io.BytesIO(raw)), len(raw), max_bytes, faults)
    except EOFError:
        faults.refuse("truncated file", f"The {name} file ends too early: compress it again.")
    except (OSError, zlib.error, lzma.LZMAError):
        faults.refuse("damaged file", f"The {name} file is damaged: compress and send it again.")


def _unzip(raw: bytes, max_bytes: int, faults: FaultList) -> bytes:
    """Return the only file of a ZIP archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = [member for member in archive.infolist() if not _is_of_a_system(member)]
            if len(members) != 1:
                faults.refuse(
                    "wrong format",
                    f"The ZIP archive contains {plural(len(members), 'file')}: send an archive "
                    "with one CSV or Parquet file, or the file itself.",
                )
            if stat.S_ISLNK(members[0].external_attr >> 16):
                faults.refuse(
                    "not a file", "The ZIP archive contains a link: send the file itself."
                )
            return _decompressed(lambda: archive.open(members[0]), len(raw), max_bytes, faults)
    except (*_DAMAGED, OSError) as error:
        locked = isinstance(error, RuntimeError) and "encrypted" in str(error)
        why = "is encrypted" if locked else "is damaged"
        faults.refuse("damaged file", f"The ZIP archive {why}: compress and send it again.")


def _decompressed(opened: Callable[[], Any], size: int, max_bytes: int, faults: FaultList) -> bytes:
    """Return what an archive of ``size`` bytes contains; it is counted before it is kept."""
    total = 0
    with opened() as file:
        while total <= max_bytes and (piece := file.read(_CHUNK)):
            total += len(piece)
    if total > max_bytes:
        faults.refuse(
            "file too large",
            f"The file has {plural(size, 'byte')} and decompresses to more than the allowed "
            f"{max_bytes:,}; decompression was stopped.",
        )
    with opened() as file:
        return bytes(file.read())


def _is_of_a_system(member: zipfile.ZipInfo) -> bool:
    parts = PurePosixPath(member.filename).parts
    hidden = not parts or parts[0] == "__MACOSX" or parts[-1].startswith(".")
    hidden = hidden or parts[-1].lower() in _OF_WINDOWS
    return hidden or member.is_dir()  # which fails for an empty name before Python 3.13
