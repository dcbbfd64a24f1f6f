"""The DuckDB file: opened by one process, written under one lock, its errors said in sentences."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb

from arena.errors import LossError, StoreError, StoreFormatError
from arena.store.failures import explained, of_the_machine
from arena.store.journal import Journal, missing
from arena.store.locks import lock_of, owner_only

__all__ = ["SCHEMA_VERSION", "Database", "journal_path"]

SCHEMA_VERSION = 2
"""Of the tables in store.sql."""

_APPLICATION = "arena"
_MEMORY_LIMIT = "1GB"
_MAGIC, _MAGIC_AT = b"DUCK", 8
_SPACE_FACTOR, _SPACE_RESERVE = 3, 64 * 2**20
"""What comes is written to the log, then to the file; a checkpoint needs room beside that."""


class Database:
    """A connection to one DuckDB file, safe to use from several threads.

    Parameters
    ----------
    path
        Made, readable by its owner only, if it does not exist and ``create`` is true.
    journaled
        Whether a journal of what was acknowledged is kept beside it.
    checked
        Whether to refuse a database that lacks what its journal says was acknowledged.
    older
        Whether to open one with the tables of an older version, to upgrade it.
    read_only
        Whether to look only: no file is written to, made or removed, and others may look as well.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        journaled: bool = True,
        checked: bool = True,
        older: bool = False,
        read_only: bool = False,
    ) -> None:
        self.path = path
        self._read_only = read_only
        self._failure: str | None = None
        self._check_path(create and not read_only)
        if not read_only:
            self.require_space(0)
        self._lock = lock_of(path)
        with self._lock.held(), owner_only(), self._explaining():
            self._connection = self._connect()
            try:
                self._prepare(create and not read_only, older)
                identity = self._identity()
                self.journal = Journal(journal_path(path), identity) if journaled else None
                if self.journal is not None:
                    self.journal.set_aside(read_only=read_only)
                if checked:
                    self._check_journal()
                # Only now: closing must not overwrite the log of a database that was refused.
                if not read_only:
                    self._connection.execute("PRAGMA enable_checkpoint_on_shutdown")
            except BaseException:
                with contextlib.suppress(duckdb.Error):
                    self._connection.close()
                raise

    def close(self) -> None:
        """Write everything to the file and let go of it; to close again is nothing."""
        with self._lock.held(), owner_only(), self._explaining():
            self._connection.close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give a cursor of its own, so that threads do not share one."""
        if self._failure is not None:
            raise StoreError(self._failure)
        with self._explaining():
            cursor = self._connection.cursor()
            try:
                yield cursor
            finally:
                cursor.close()

    @contextlib.contextmanager
    def _explaining(self) -> Iterator[None]:
        """Say what DuckDB reports in a sentence, unless it is a fault of this program."""
        try:
            yield
        except duckdb.ConnectionException as error:
            raise StoreError(f"The database '{self.path}' is closed: open it again.") from error
        except duckdb.Error as error:
            if not of_the_machine(error):
                raise
            raise self._explained(error) from error

    @contextlib.contextmanager
    def exclusively(self) -> Iterator[None]:
        """Hold the lock for writing; a transaction is opened inside."""
        with self._lock.held(), owner_only():
            yield

    @contextlib.contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give a cursor inside a transaction, under the lock; all of it is stored, or nothing.

        Raises
        ------
        StoreError
            If the database was opened to look only.
        """
        if self._read_only:
            raise StoreError(f"The database '{self.path}' was opened to look only.")
        with self.reading() as cursor:
            cursor.begin()
            try:
                yield cursor
                cursor.commit()
            except BaseException:
                with contextlib.suppress(duckdb.Error):
                    cursor.rollback()
                raise

    def require_space(self, size: int) -> None:
        """Make sure that the disk has room for ``size`` bytes to come.

        Raises
        ------
        StoreError
            If it has not; nothing was written then.
        """
        needed = _SPACE_FACTOR * size + _SPACE_RESERVE
        free = shutil.disk_usage(self.path.absolute().parent).free
        if free < needed:
            raise StoreError(
                f"The disk of the database '{self.path}' is nearly full: {free / 2**20:.0f} MB "
                f"are free, and {needed / 2**20:.0f} MB are needed. Nothing was written. "
                "Free some space and try again."
            )

    def _explained(self, error: duckdb.Error) -> StoreError:
        sentence = explained(error, self.path)
        if isinstance(error, duckdb.FatalException):
            self._failure = str(sentence)
        return sentence

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
            message = (
                f"'{path}' is no DuckDB database, or it is damaged: name another file, or put "
                "back a backup."
            )
            raise StoreFormatError(message)

    def _connect(self) -> duckdb.DuckDBPyConnection:
        settings: dict[str, Any] = {
            "memory_limit": _MEMORY_LIMIT,
            "enable_external_access": False,
            "preserve_insertion_order": True,
        }
        try:
            connection = duckdb.connect(
                str(self.path.absolute()), read_only=self._read_only, config=settings
            )
        except duckdb.Error as error:
            raise explained(error, self.path) from error
        if not self.path.exists():
            connection.close()
            raise StoreError(f"'{self.path}' cannot be a database: name a file '*.duckdb'.")
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        connection.execute("SET TimeZone = 'UTC'")
        return connection

    def _prepare(self, create: bool, older: bool) -> None:
        """Make the tables in a new file; refuse a file with other tables, or other versions."""
        foreign = f"'{self.path}' is a DuckDB database, but not one of arena: name another."
        try:
            rows = self._connection.execute("SELECT name, value FROM meta").fetchall()
            self._connection.execute("SELECT submission FROM submissions LIMIT 0")
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            # Asked for only now: to list the tables takes a third of what opening takes.
            query = "SELECT count(*) FROM duckdb_tables()"
            if create and self._connection.execute(query).fetchall() == [(0,)]:
                self._make_tables()
                return
            raise StoreFormatError(foreign) from error
        meta: dict[str, str] = dict(rows)
        if meta.get("application") != _APPLICATION or "identity" not in meta:
            raise StoreFormatError(foreign)
        self._check_version(meta.get("schema_version", ""), older)

    def _check_version(self, written: str, older: bool) -> None:
        is_older = written.isdecimal() and int(written) < SCHEMA_VERSION
        if written == str(SCHEMA_VERSION) or (older and is_older):
            return
        if is_older:
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
        meta = {
            "application": _APPLICATION,
            "schema_version": str(SCHEMA_VERSION),
            "identity": secrets.token_hex(16),
        }
        with self.transaction() as cursor:
            cursor.execute(statements)
            cursor.executemany(
                "INSERT INTO meta VALUES (?, ?)", [list(row) for row in meta.items()]
            )
        # Out of the log: a database that lost its log must still be known as the one it is.
        self._connection.execute("CHECKPOINT")

    def _identity(self) -> str:
        query = "SELECT value FROM meta WHERE name = 'identity'"
        return str(self._connection.execute(query).fetchall()[0][0])

    def _check_journal(self) -> None:
        if self.journal is None:
            return
        sentence = missing(self._connection, self.journal.read_end()).sentence
        if sentence:
            raise LossError(
                f"The database '{self.path}' lacks what was acknowledged: {sentence} Its "
                "write-ahead log was damaged or removed, or an older copy was put back: "
                "run `arena repair`."
            )

    def read_everything(self) -> None:
        """Read every value of every table once, so that damage of any block is met.

        Raises
        ------
        StoreFormatError
            If a block is damaged.
        """
        with self.reading() as cursor:
            tables = cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()
            for (name,) in tables:
                cursor.execute(f'SELECT sum(hash(COLUMNS(*))) FROM "{name}"').fetchall()  # noqa: S608


def journal_path(path: Path) -> Path:
    """Return where the journal of a database lies."""
    return path.with_name(f"{path.name}.journal")


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
