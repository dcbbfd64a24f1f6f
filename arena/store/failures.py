"""What DuckDB reports, said as sentences for the organiser."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from arena.errors import DamagedLogError, StoreBusyError, StoreError, StoreFormatError

__all__ = ["explained", "of_the_machine"]

_OF_THE_PROGRAM = (
    duckdb.ProgrammingError,
    duckdb.DataError,
    duckdb.IntegrityError,
    duckdb.NotSupportedError,
)


_NO_ROOM = (
    "The database '{path}' cannot be written: the disk is full or failed. What was stored "
    "before is intact. Free some space and start again."
)

_REASONS: tuple[tuple[str, type[StoreError], str], ...] = (
    (
        r"lock on file.*\(PID (\d+)\)",
        StoreBusyError,
        "The database '{path}' is held open by another process (PID {0}): wait until it ends and "
        "try again, or give --wait SECONDS.",
    ),
    (
        r"lock on file",
        StoreBusyError,
        "The database '{path}' is held open by another process: wait until it ends and try again, "
        "or give --wait SECONDS.",
    ),
    (
        r"different configuration",
        StoreBusyError,
        "The database '{path}' is open in this very process, to write or only to look: close it "
        "there first.",
    ),
    (
        r"[Pp]ermission denied|Read-only file system",
        StoreError,
        "The database '{path}' cannot be opened: permission denied. "
        "Allow reading and writing of the file and its folder; only to look, reading is enough.",
    ),
    (r"No space left|File too large|Disk quota exceeded", StoreError, _NO_ROOM),
    (
        r"replaying WAL|Corrupt WAL",
        DamagedLogError,
        "The write-ahead log beside the database '{path}' is damaged: run `arena repair`, which "
        "keeps a copy of everything and says what was lost.",
    ),
    (
        r"is corrupt|Corrupt database|checksum|Could not read enough bytes|INTERNAL Error",
        StoreFormatError,
        "The database '{path}' is damaged: put back a backup of it, with its log (.wal) and its "
        "journal if it has them.",
    ),
    (
        r"Catalog Error: Table",
        StoreFormatError,
        "The database '{path}' lacks a table of arena, so another program changed it or it is "
        "damaged: put back a backup.",
    ),
    (r"FATAL Error|invalidated", StoreError, _NO_ROOM),
    (
        r"not a valid DuckDB",
        StoreFormatError,
        "'{path}' is no DuckDB database, or it is damaged: name another file, or put back a "
        "backup.",
    ),
    (
        r"storage version|newer version|version number",
        StoreFormatError,
        "The database '{path}' was written by a newer DuckDB: upgrade the duckdb package.",
    ),
)
"""What DuckDB says, and what that means to a person."""


def of_the_machine(error: duckdb.Error) -> bool:
    """Tell whether the machine or the file, and not the program, is to blame."""
    return isinstance(error, duckdb.CatalogException) or not isinstance(error, _OF_THE_PROGRAM)


def explained(error: duckdb.Error, path: Path) -> StoreError:
    """Return what DuckDB reports as a sentence for the organiser."""
    text = str(error)
    for pattern, kind, sentence in _REASONS:
        found = re.search(pattern, text, re.DOTALL)
        if found:
            return kind(sentence.format(*found.groups(), path=path))
    first_line = (text.splitlines() or [type(error).__name__])[0]
    return StoreError(f"The database '{path}' cannot be used: {first_line}")
