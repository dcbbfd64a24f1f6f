"""The DuckDB file: opened by one process, written under one lock, its errors said in sentences."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import duckdb

from arena.errors import StoreBusyError, StoreError, StoreFormatError

__all__ = ["SCHEMA_VERSION", "Database"]

SCHEMA_VERSION = 1
"""Of the tables in store.sql."""

_APPLICATION = "arena"
_MEMORY_LIMIT = "1GB"
_MAGIC, _MAGIC_AT = b"DUCK", 8

_Errors = (
    duckdb.FatalException,
    duckdb.IOException,
    duckdb.OutOfMemoryException,
    duckdb.SerializationException,
    duckdb.TransactionException,
)

_REASONS: tuple[tuple[str, type[StoreError], str], ...] = (
    (
        r"lock on file.*\(PID (\d+)\)",
        StoreBusyError,
        "The database '{path}' is held open by another process (PID {0}): wait until it ends, "
        "or end it.",
    ),
    (
        r"lock on file",
        StoreBusyError,
        "The database '{path}' is held open by another process: wait until it ends, or end it.",
    ),
    (
        r"[Pp]ermission denied|Read-only file system",
        StoreError,
        "The database '{path}' cannot be opened: permission denied. "
        "Allow reading and writing of the file and its folder.",
    ),
    (
        r"No space left|FATAL Error|File too large|Disk quota exceeded",
        StoreError,
        "The database '{path}' cannot be written: the disk is full or failed. What was stored "
        "before is intact. Free some space and start again.",
    ),
    (
        r"replaying WAL",
        StoreFormatError,
        "The write-ahead log beside the database '{path}' is damaged: "
        "keep a copy of both files before anything else.",
    ),
    (
        r"not a valid DuckDB|is corrupt|checksum",
        StoreFormatError,
        "'{path}' is no DuckDB database, or it is damaged: name another file.",
    ),
    (
        r"storage version|newer version|version number",
        StoreFormatError,
        "The database '{path}' was written by a newer DuckDB: upgrade the duckdb package.",
    ),
)
"""What DuckDB says, and what that means to a person."""

_locks: WeakValueDictionary[str, _Lock] = WeakValueDictionary()
_locks_guard = threading.Lock()


class _Lock:
    """A lock that several stores of one file share while any of them lives."""

    def __init__(self) -> None:
        self.lock = threading.RLock()


class Database:
    """A connection to one DuckDB file, safe to use from several threads.

    Parameters
    ----------
    path
        Made, readable by its owner only, if it does not exist and ``create`` is true.
    """

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self.path = path
        self._check_path(create)
        with _locks_guard:
            self._shared = _locks.setdefault(str(path.resolve()), _Lock())
        with self._shared.lock, _owner_only():
            self._connection = self._connect()
            try:
                self._prepare(create)
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Write everything to the file and let go of it; to close again is nothing."""
        with self._shared.lock, _owner_only():
            self._connection.close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give a cursor of its own, so that threads do not share one."""
        try:
            cursor = self._connection.cursor()
            try:
                yield cursor
            finally:
                cursor.close()
        except duckdb.ConnectionException as error:
            raise StoreError(f"The database '{self.path}' is closed: open it again.") from error
        except _Errors as error:
            raise _explained(error, self.path) from error

    @contextlib.contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give a cursor inside a transaction, alone; all of it is stored, or nothing."""
        with self._shared.lock, _owner_only(), self.reading() as cursor:
            cursor.begin()
            try:
                yield cursor
                cursor.commit()
            except BaseException:
                with contextlib.suppress(duckdb.Error):
                    cursor.rollback()
                raise

    def _check_path(self, create: bool) -> None:
        path = self.path
        if path.is_dir():
            raise StoreError(f"'{path}' is a folder: name a file for the database.")
        if not path.parent.is_dir():
            raise StoreError(f"There is no folder '{path.parent}' for the database: make it first.")
        if not create and not path.exists():
            raise StoreError(f"There is no database '{path}': check the path.")
        # DuckDB opens a CSV file, too, as a database in memory.
        if path.exists() and not _begins_as_duckdb(path):
            message = f"'{path}' is no DuckDB database, or it is damaged: name another file."
            raise StoreFormatError(message)

    def _connect(self) -> duckdb.DuckDBPyConnection:
        settings: dict[str, Any] = {
            "memory_limit": _MEMORY_LIMIT,
            "enable_external_access": False,
            "preserve_insertion_order": True,
        }
        try:
            connection = duckdb.connect(str(self.path.absolute()), config=settings)
        except duckdb.Error as error:
            raise _explained(error, self.path) from error
        if not self.path.exists():
            connection.close()
            raise StoreError(f"'{self.path}' cannot be a database: name a file '*.duckdb'.")
        connection.execute("SET TimeZone = 'UTC'")
        return connection

    def _prepare(self, create: bool) -> None:
        """Make the tables in a new file; refuse a file with other tables, or other versions."""
        found = self._connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        tables = {name for (name,) in found}
        if not tables and create:
            self._make_tables()
            return
        if not {"meta", "submissions"} <= tables:
            message = f"'{self.path}' is a DuckDB database, but not one of arena: name another."
            raise StoreFormatError(message)
        rows = self._connection.execute("SELECT name, value FROM meta").fetchall()
        meta: dict[str, str] = dict(rows)
        if meta.get("application") != _APPLICATION:
            message = f"'{self.path}' is a DuckDB database, but not one of arena: name another."
            raise StoreFormatError(message)
        self._check_version(meta.get("schema_version", ""))

    def _check_version(self, written: str) -> None:
        if written == str(SCHEMA_VERSION):
            return
        if written.isdecimal() and int(written) < SCHEMA_VERSION:
            message = (
                f"The database '{self.path}' was written by an older arena (version {written} of "
                f"its tables, here {SCHEMA_VERSION}): run `arena upgrade`."
            )
        else:
            message = (
                f"The database '{self.path}' was written by a newer arena (version {written} of "
                f"its tables, here {SCHEMA_VERSION}): upgrade arena to open it."
            )
        raise StoreFormatError(message)

    def _make_tables(self) -> None:
        statements = resources.files("arena.store").joinpath("store.sql").read_text("utf-8")
        with self.writing() as cursor:
            cursor.execute(statements)
            cursor.executemany(
                "INSERT INTO meta VALUES (?, ?)",
                [["application", _APPLICATION], ["schema_version", str(SCHEMA_VERSION)]],
            )


def _begins_as_duckdb(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC) + _MAGIC_AT)[_MAGIC_AT:] == _MAGIC
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        message = (
            f"The database '{path}' cannot be opened: {reason}. "
            "Allow reading and writing of the file and its folder."
        )
        raise StoreError(message) from error


@contextlib.contextmanager
def _owner_only() -> Iterator[None]:
    """Let files that DuckDB makes be readable by their owner only, its write-ahead log too."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _explained(error: duckdb.Error, path: Path) -> StoreError:
    """Return what DuckDB reports as a sentence for the organiser."""
    text = str(error)
    for pattern, kind, sentence in _REASONS:
        found = re.search(pattern, text, re.DOTALL)
        if found:
            return kind(sentence.format(*found.groups(), path=path))
    first_line = (text.splitlines() or [type(error).__name__])[0]
    return StoreError(f"The database '{path}' cannot be used: {first_line}")
