"""Translates DuckDB's errors into sentences for the organiser."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import duckdb

from arena.errors import DamagedLogError, StoreBusyError, StoreError, StoreFormatError

_OF_THE_PROGRAM = (
    duckdb.ProgrammingError,
    duckdb.DataError,
    duckdb.IntegrityError,
    duckdb.NotSupportedError,
)


_NO_ROOM = (
    "The database '{path}' cannot be written: the disk is full or failed. Data stored before "
    "is intact. Free some space and start again."
)

_DAMAGED = (
    "The database '{path}' is damaged: restore a backup, with its log (.wal) and its journal if "
    "it has them."
)

_CLASSES: tuple[tuple[type[duckdb.Error], type[StoreError], str], ...] = (
    (
        duckdb.FatalException,
        StoreError,
        "The database '{path}' cannot be used until it is opened again: DuckDB stopped "
        "({said}). Data stored before is intact. Free some space if the disk is full, and start "
        "again.",
    ),
    (
        duckdb.ConnectionException,
        StoreBusyError,
        "The database '{path}' is already open in this process, with another mode (read-only or "
        "read-write): close it there first.",
    ),
    (
        duckdb.CatalogException,
        StoreFormatError,
        "The database '{path}' lacks a table: it is damaged or was changed by another program. "
        "Restore a backup.",
    ),
    (duckdb.InternalException, StoreFormatError, _DAMAGED),
)
"""Classes of DuckDB's errors with one meaning each, with the error and the sentence."""

_REASONS: tuple[tuple[str, type[StoreError], str], ...] = (
    (
        r"lock on file.*\(PID (\d+)\)",
        StoreBusyError,
        "The database '{path}' is open in another process (PID {0}): wait until it ends and try "
        "again, or use --wait SECONDS.",
    ),
    (
        r"lock on file",
        StoreBusyError,
        "The database '{path}' is open in another process: wait until it ends and try again, or "
        "use --wait SECONDS.",
    ),
    (
        f"{os.strerror(errno.EACCES)}|{os.strerror(errno.EPERM)}|{os.strerror(errno.EROFS)}",
        StoreError,
        "The database '{path}' cannot be opened: permission denied. Read and write permission for "
        "the file and its folder is needed; for read-only access, read permission is enough.",
    ),
    (
        f"{os.strerror(errno.ENOSPC)}|{os.strerror(errno.EFBIG)}|{os.strerror(errno.EDQUOT)}",
        StoreError,
        _NO_ROOM,
    ),
    (
        # Replaying the log can reach a damaged block of the database, such as one of an index.
        r"Corrupt database file",
        StoreFormatError,
        _DAMAGED,
    ),
    (
        r"replaying WAL|Corrupt WAL",
        DamagedLogError,
        "The write-ahead log of the database '{path}' is damaged: run `arena repair`, which keeps "
        "a copy of all files and reports what was lost.",
    ),
    (r"is corrupt|checksum|Could not read enough bytes", StoreFormatError, _DAMAGED),
    (
        r"not a valid DuckDB",
        StoreFormatError,
        "'{path}' is not a DuckDB database, or it is damaged: use another file, or restore a "
        "backup.",
    ),
    (
        r"storage version|newer version|version number",
        StoreFormatError,
        "The database '{path}' was written by a newer DuckDB: upgrade the duckdb package.",
    ),
)
"""Patterns of the messages of all other errors: DuckDB gives them one class and no code."""


def of_the_machine(error: duckdb.Error) -> bool:
    """Return whether the cause is the machine or the file, and not this program."""
    return isinstance(error, duckdb.CatalogException) or not isinstance(error, _OF_THE_PROGRAM)


def translate_error(error: duckdb.Error, path: Path) -> StoreError:
    """Return an error of DuckDB as a sentence for the organiser."""
    text = str(error)
    first_line = (text.splitlines() or [type(error).__name__])[0]
    for meant, kind, sentence in _CLASSES:
        if isinstance(error, meant):
            return kind(sentence.format(path=path, said=first_line))
    for pattern, kind, sentence in _REASONS:
        match = re.search(pattern, text, re.DOTALL)
        if match:
            return kind(sentence.format(*match.groups(), path=path))
    return StoreError(f"The database '{path}' cannot be used: {first_line}")
