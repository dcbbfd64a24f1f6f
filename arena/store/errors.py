"""Translates DuckDB's errors into sentences for the organiser."""

from __future__ import annotations

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
        r"different configuration",
        StoreBusyError,
        "The database '{path}' is already open in this process, with another mode (read-only or "
        "read-write): close it there first.",
    ),
    (
        r"[Pp]ermission denied|Read-only file system",
        StoreError,
        "The database '{path}' cannot be opened: permission denied. Read and write permission for "
        "the file and its folder is needed; for read-only access, read permission is enough.",
    ),
    (r"No space left|File too large|Disk quota exceeded", StoreError, _NO_ROOM),
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
    (
        r"is corrupt|Corrupt database|checksum|Could not read enough bytes|INTERNAL Error",
        StoreFormatError,
        _DAMAGED,
    ),
    (
        r"Catalog Error: Table",
        StoreFormatError,
        "The database '{path}' lacks a table: it is damaged or was changed by another program. "
        "Restore a backup.",
    ),
    (r"FATAL Error|invalidated", StoreError, _NO_ROOM),
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
"""Patterns of DuckDB's messages, with the error and the sentence for the organiser."""


def of_the_machine(error: duckdb.Error) -> bool:
    """Return whether the cause is the machine or the file, and not this program."""
    return isinstance(error, duckdb.CatalogException) or not isinstance(error, _OF_THE_PROGRAM)


def translate_error(error: duckdb.Error, path: Path) -> StoreError:
    """Return an error of DuckDB as a sentence for the organiser."""
    text = str(error)
    for pattern, kind, sentence in _REASONS:
        found = re.search(pattern, text, re.DOTALL)
        if found:
            return kind(sentence.format(*found.groups(), path=path))
    first_line = (text.splitlines() or [type(error).__name__])[0]
    return StoreError(f"The database '{path}' cannot be used: {first_line}")
