"""Opens the DuckDB file, locks it for writing and translates its errors."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from arena.errors import LossError, StoreError, StoreFormatError
from arena.store.checkpoint import checkpoint, undo_interrupted_checkpoint
from arena.store.errors import of_the_machine, translate_error
from arena.store.facts import RECORD_KEY, Facts
from arena.store.journal import Journal, missing
from arena.store.keepers import Keeper
from arena.store.locks import lock_of, owner_only
from arena.store.prediction_table import PredictionTable
from arena.store.schema import Catalog
from arena.utils.file_errors import reason_of
from arena.utils.memory import remember_holder
from arena.utils.text import plural

if TYPE_CHECKING:
    from arena.store.prediction_objects import PredictionObjects

SCHEMA_VERSION = 10
"""The version of the tables in store.sql."""
FINGERPRINT = "0d9763cf325d3161aa42dd22d2d547d3c9f462f0e2938aa98c38d70aa9505e15"
"""Of the tables in store.sql, as the tested version of DuckDB describes them."""
_MOST_DIFFERENCES = 3
PLACE = "predictions"
"""The name in ``meta`` of the location of predictions, if they are not kept in the database."""
_OLDEST_VERSION = 2
"""The versions that can be upgraded."""

_APPLICATION = "arena"
_LEAST_MEMORY, _MOST_MEMORY = 128 * 10**6, 10**9
"""Bytes of a database that DuckDB keeps in memory."""
_KEPT_MEMORY = 16 * 10**6
"""Bytes that it keeps when memory is needed for other things."""
LONGEST_LOG = 16 * 2**20
"""A log of more bytes is written to the file after the transaction."""
_NEVER = "1TB"
_MAGIC, _MAGIC_AT = b"DUCK", 8
_BLOCK_SIZE = 2**16
"""A quarter of DuckDB's default. Each commit of a small submission leaves blocks partly empty: 500
submissions of 1,000 rows take 5 MB instead of 14. Large tables take as much as before."""
_SPACE_FACTOR, SPACE_RESERVE = 3, 64 * 2**20
"""New data is written to the log, then to the file; a checkpoint needs additional space."""


class Database:
    """A connection to one DuckDB file, safe to use from several threads.

    Parameters
    ----------
    path
        Created with access for its owner only, if it does not exist and ``create`` is true.
    journaled
        Whether a journal of acknowledged submissions and events is kept next to it.
    checked
        Whether to refuse a database that lacks an entry of its journal.
    older
        Whether to open a database of an older version, to upgrade it.
    read_only
        Whether to open read-only: no file is written, created or removed, and other processes can
        read as well. The exception: if a process was killed while it overwrote blocks of the file,
        they are put back first.
    objects
        A folder to use instead of the place of predictions outside the database, for a trial.
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
        objects: Path | None = None,
    ) -> None:
        self.path = path
        self._objects = objects
        self._read_only = read_only
        self.record_key = b""
        """The key of the digests; empty if the database had none when it was opened."""
        self.unbound = Facts()
        """What was stored since the last event; the next event records it."""
        self._failure: str | None = None
        self._keeper: Keeper | None = None
        """What keeps predictions outside the database."""
        self._has_failed = False
        """Whether DuckDB raised any error: then it may wait for ever in a checkpoint, for an index
        that it began to load and could not."""
        self._check_path(create and not read_only)
        if not read_only:
            self.require_space(0)
        self._lock = lock_of(path)
        self._memory_limit = _MOST_MEMORY
        self._limit_in_force = _MOST_MEMORY
        with (
            self._lock.held(),
            owner_only(),
            self._explaining(),
            contextlib.ExitStack() as opened,
        ):
            undo = partial(undo_interrupted_checkpoint, path, read_only=read_only)
            opened.enter_context(self._lock.opened(undo))
            self._require_duckdb()
            self._connection = self._connect(journaled)
            try:
                with self._explaining():  # while the connection is open
                    self._identity = self._prepare(create and not read_only, older)
                    file = journal_path(path)
                    self.journal = Journal(file, self._identity) if journaled else None
                    if self.journal is not None:
                        self.journal.set_aside(read_only=read_only)
                    if checked:
                        self._check_journal()
            except BaseException:
                with contextlib.suppress(duckdb.Error):
                    self._connection.close()
                raise
            # Not earlier: closing must not overwrite the log of a database that was refused.
            self._is_open = True
            self._opened = opened.pop_all()
        remember_holder(self)

    def close(self) -> None:
        """Write everything to the file and close it; closing again has no effect."""
        with self._lock.held(), owner_only(), self._explaining():
            if not self._is_open:
                return
            self._is_open = False
            with self._opened:
                self._write_log(longer_than=0)
                self._connection.close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a new cursor, so that threads do not share one."""
        if self._failure is not None:
            raise StoreError(self._failure)
        with self._explaining():
            cursor = self._connection.cursor()
            try:
                yield cursor
            finally:
                cursor.close()

    @contextlib.contextmanager
    def reading_once(self) -> Iterator[None]:
        """Keep little in memory of what is read in this context: it is not read again.

        DuckDB keeps what it read up to its limit, which is a gigabyte of a long history.
        """
        with self._limited(_LEAST_MEMORY):
            yield

    def use_all_processors(self) -> None:
        """Let DuckDB read with all processors from now on.

        Before, it has one thread: waking others takes a fifth of the time of small statements.
        """
        with self.reading() as cursor:
            cursor.execute("RESET threads")

    def limit_memory(self, size: int) -> None:
        """Set how many bytes DuckDB keeps in memory from now on: at most a gigabyte.

        What it read and wrote stays there up to this limit, for as long as the database is open.
        """
        self._memory_limit = min(max(size, _LEAST_MEMORY), _MOST_MEMORY)
        with self.reading() as cursor:
            self._set_limit(cursor, self._memory_limit)

    def return_freed_memory(self) -> None:
        """Make DuckDB return its cache of the file, and memory that it freed, to the system.

        Otherwise it keeps both, up to a gigabyte; what is needed later is read again.
        """
        if self._size <= _KEPT_MEMORY:
            return
        with contextlib.suppress(StoreError), self.reading() as cursor:
            in_force = self._limit_in_force
            for limit in (min(_KEPT_MEMORY, in_force), in_force):
                with contextlib.suppress(duckdb.Error):  # what is in use cannot be given up
                    self._set_limit(cursor, limit)

    def _set_limit(self, cursor: duckdb.DuckDBPyConnection, limit: int) -> None:
        cursor.execute(f"SET memory_limit = '{limit}B'")
        self._limit_in_force = limit

    @contextlib.contextmanager
    def _limited(self, limit: int) -> Iterator[None]:
        with self.reading() as cursor:
            with contextlib.suppress(duckdb.Error):  # what is in use cannot be given up
                self._set_limit(cursor, limit)
            try:
                yield
            finally:
                with contextlib.suppress(duckdb.Error):
                    self._set_limit(cursor, self._memory_limit)

    @contextlib.contextmanager
    def _explaining(self) -> Iterator[None]:
        """Translate errors of DuckDB, except those caused by a bug of this program."""
        try:
            yield
        except duckdb.ConnectionException as error:
            raise StoreError(f"The database '{self.path}' is closed: open it again.") from error
        except duckdb.Error as error:
            self._has_failed = True
            if of_the_machine(error):
                raise self._explained(error) from error
            problems: tuple[str, ...] = ()
            with contextlib.suppress(AttributeError, duckdb.Error):  # not open, or unreadable
                problems = self.changed_schema()
            self._refuse_changes(problems)
            raise

    def changed_schema(self) -> tuple[str, ...]:
        """Return a sentence on each object that is not as arena made it."""
        with contextlib.closing(Catalog(self._connection)) as catalog:
            return (*catalog.foreign_objects(), *catalog.differences(table_statements()))

    def _refuse_changes(self, problems: Sequence[str]) -> None:
        """Raise an error if another program changed the catalog: then no bug is ours."""
        if not problems:
            return
        more = len(problems) - _MOST_DIFFERENCES
        named = " ".join([
            *problems[:_MOST_DIFFERENCES],
            *([f"{more} more {'differs' if more == 1 else 'differ'}."] if more > 0 else []),
        ])  # fmt: skip
        raise StoreFormatError(
            f"The tables of '{self.path}' were changed by another program. {named} Restore a "
            "backup."
        )

    @contextlib.contextmanager
    def exclusively(self) -> Iterator[None]:
        """Hold the write lock; a transaction is opened inside.

        A long log is written to the file at the end.
        """
        with self._lock.held(), owner_only():
            yield
            self._write_log(longer_than=LONGEST_LOG)

    @property
    def must_be_reopened(self) -> bool:
        """Whether the log grew long after an error; only a new opening writes it to the file."""
        if not self._has_failed:
            return False
        try:
            return self._log.stat().st_size > LONGEST_LOG
        except OSError:
            return False

    @property
    def _size(self) -> int:
        """How many bytes the file and its log have."""
        size = 0
        for path in (self.path, self._log):
            with contextlib.suppress(OSError):  # there need not be a log
                size += path.stat().st_size
        return size

    @property
    def _log(self) -> Path:
        return self.path.with_name(f"{self.path.name}.wal")

    def _write_log(self, longer_than: int) -> None:
        """Write the log to the file; if that fails, keep it: it has everything that was stored.

        After an error of DuckDB it is kept until the database is opened again.
        """
        log = self._log
        try:
            if self._read_only or self.journal is None or self._has_failed:
                return
            if log.stat().st_size <= longer_than:
                return
            checkpoint(self.path, self._lock.descriptor(self.path), self._connection)
        except FileNotFoundError:
            return  # there is no log
        except (OSError, duckdb.Error) as error:
            if isinstance(error, duckdb.Error):
                self._explained(error)
            logging.getLogger("arena").warning(
                "The log of the database '%s' could not be written to its file (%s). Nothing is "
                "lost: the log '%s' has it.",
                self.path,
                str(error).partition("\n")[0],
                log,
            )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a cursor in a transaction, under the lock; everything is stored, or nothing.

        Raises
        ------
        StoreError
            If the database was opened read-only.
        """
        if self._read_only:
            raise StoreError(f"The database '{self.path}' was opened read-only.")
        with self.reading() as cursor:
            cursor.begin()
            try:
                yield cursor
                cursor.commit()
            except BaseException:
                with contextlib.suppress(duckdb.Error):
                    cursor.rollback()
                raise
            finally:
                self._lock.commits += 1  # a commit that failed may have been one

    @property
    def state(self) -> int | None:
        """A number that changes with the content; None: it cannot be read any more.

        No other process writes to the file while it is open.
        """
        return self._lock.commits if self._is_open and self._failure is None else None

    def require_space(self, size: int) -> None:
        """Check that the disk has space for ``size`` more bytes.

        Raises
        ------
        StoreError
            If there is not enough space; nothing was written.
        """
        needed = _SPACE_FACTOR * size + SPACE_RESERVE
        free = shutil.disk_usage(self.path.absolute().parent).free
        if free < needed:
            raise StoreError(
                f"The disk of the database '{self.path}' is nearly full: {free / 2**20:.0f} MB "
                f"are free, and {needed / 2**20:.0f} MB are needed. Nothing was written. "
                "Free some space and try again."
            )

    def _explained(self, error: duckdb.Error) -> StoreError:
        sentence = translate_error(error, self.path)
        if isinstance(error, duckdb.FatalException):
            self._failure = str(sentence)
        return sentence

    def _check_path(self, create: bool) -> None:
        path = self.path
        if path.is_dir():
            raise StoreError(f"'{path}' is a folder: give a file name for the database.")
        if not path.parent.is_dir():
            raise StoreError(f"There is no folder '{path.parent}' for the database: create it.")
        if not create and not path.exists():
            raise StoreError(f"There is no database '{path}': check the path.")

    def _require_duckdb(self) -> None:
        """Refuse other files: DuckDB would open a CSV file too, as a database in memory."""
        path = self.path
        if not path.exists():
            return
        try:
            begins = os.pread(self._lock.descriptor(path), len(_MAGIC), _MAGIC_AT)
        except OSError as error:
            reason = reason_of(error)
            message = (
                f"The database '{path}' cannot be opened: {reason}. "
                "Read and write permission for the file and its folder is needed."
            )
            raise StoreError(message) from error
        if begins != _MAGIC:
            message = (
                f"'{path}' is not a DuckDB database, or it is damaged: use another file, or "
                "restore a backup."
            )
            raise StoreFormatError(message)

    def _connect(self, journaled: bool) -> duckdb.DuckDBPyConnection:
        settings: dict[str, Any] = {
            "preserve_insertion_order": True,
            "default_block_size": str(_BLOCK_SIZE),  # of a new database
            "threads": 1,  # see use_all_processors
        }
        if journaled:
            settings["checkpoint_threshold"] = (
                _NEVER  # by DuckDB itself: see arena.store.checkpoint
            )
        try:
            connection = connect(self.path, read_only=self._read_only, **settings)
        except duckdb.Error as error:
            raise translate_error(error, self.path) from error
        if not self.path.exists():
            connection.close()
            raise StoreError(f"'{self.path}' cannot be a database: use a file name '*.duckdb'.")
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        connection.execute("SET TimeZone = 'UTC'")
        return connection

    def _prepare(self, create: bool, older: bool) -> str:
        """Create the tables in a new file; refuse a file with other objects or another version.

        Returns the identity of the database. Nothing is read from a table before it is known that
        it is one.
        """
        self.version = SCHEMA_VERSION
        foreign = StoreFormatError(
            f"'{self.path}' is a DuckDB database, but not of arena: use another file."
        )
        with contextlib.closing(Catalog(self._connection)) as catalog:
            as_tested = catalog.fingerprint() == FINGERPRINT
            if not as_tested and create and catalog.is_empty():
                return self._make_tables()
            if not as_tested:
                if not catalog.tables() >= {"meta", "submissions"}:
                    raise foreign
                self._refuse_changes(tuple(catalog.foreign_objects()))
        try:
            rows = self._connection.execute("SELECT name, value FROM meta").fetchall()
        except duckdb.BinderException as error:
            raise foreign from error
        if not all(isinstance(cell, str) for row in rows for cell in row):
            raise foreign
        meta: dict[str, str] = dict(rows)
        if meta.get("application") != _APPLICATION or "identity" not in meta:
            raise foreign
        self._check_version(meta.get("schema_version", ""), older)
        # Another version of DuckDB can describe the same tables in other words. Those of an older
        # version of arena are compared once they are upgraded.
        if not as_tested and self.version == SCHEMA_VERSION:
            with contextlib.closing(Catalog(self._connection)) as catalog:
                self._refuse_changes(tuple(catalog.differences(table_statements())))
        self.record_key = meta.get(RECORD_KEY, "").encode()
        if PLACE in meta:
            place = meta[PLACE] if self._objects is None else str(self._objects)
            objects = self.objects_at(place, meta["identity"])
            if self._objects is not None:
                objects.place.prepare()
            self._keeper = objects
        return meta["identity"]

    @property
    def keeper(self) -> Keeper:
        """What keeps the predictions."""
        # Not an attribute: a circle of references would delay the end of a closed connection.
        return self._keeper or PredictionTable(self.path, self.reading)

    @keeper.setter
    def keeper(self, keeper: Keeper) -> None:
        self._keeper = keeper if keeper.outside else None

    def keeper_at(self, cursor: duckdb.DuckDBPyConnection, url: str | None) -> Keeper:
        """Return what keeps predictions at another location from now on; None: in the database.

        Raises
        ------
        StoreError
            If nothing can be written there, if there are predictions in the database or would have
            to be moved into it, or if a copy of an object is missing.
        """
        if url is None:
            if cursor.execute("SELECT 1 FROM objects LIMIT 1").fetchall():
                raise StoreError(
                    f"The predictions of the database '{self.path}' are at {self.keeper.outside} "
                    f"and cannot be moved into it. Nothing was changed."
                )
            return PredictionTable(self.path, self.reading)
        keeper = self.objects_at(url)
        if cursor.execute("SELECT 1 FROM predictions LIMIT 1").fetchall():
            raise StoreError(
                f"The database '{self.path}' contains predictions of submissions, which cannot be "
                f"moved out of it. Nothing was changed."
            )
        keeper.place.prepare()
        if lacking := keeper.lacking(cursor):
            raise StoreError(
                f"{plural(len(lacking), 'object', 'are')} not at {keeper.place.url}, "
                f"such as {lacking[0]}. "
                f"Copy everything from {self.keeper.outside} first. Nothing was changed."
            )
        return keeper

    def objects_at(self, url: str, identity: str | None = None) -> PredictionObjects:
        """Return the objects of this database at a location."""
        from arena.store.object_places import place_at
        from arena.store.prediction_objects import PredictionObjects

        return PredictionObjects(place_at(url, self.path.parent, identity or self._identity))

    def _check_version(self, written: str, older: bool) -> None:
        self.version = int(written) if written.isdecimal() else SCHEMA_VERSION + 1
        if self.version == SCHEMA_VERSION:
            return
        versions = f"(version {written} of its tables, here {SCHEMA_VERSION})"
        if self.version > SCHEMA_VERSION:
            message = f"by a newer arena {versions}: upgrade arena to open it."
        elif self.version < _OLDEST_VERSION:
            message = f"by an arena that was never released {versions}: start a new database."
        elif older:
            return
        else:
            message = f"by an older arena {versions}: run `arena upgrade`."
        raise StoreFormatError(f"The database '{self.path}' was written {message}")

    def _make_tables(self) -> str:
        """Return the identity of the new database."""
        meta = {
            "application": _APPLICATION,
            "schema_version": str(SCHEMA_VERSION),
            "identity": secrets.token_hex(16),
            RECORD_KEY: secrets.token_hex(32),
        }
        with self.transaction() as cursor:
            cursor.execute(table_statements())
            cursor.execute(
                "INSERT INTO meta SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[])",
                [[*meta], [*meta.values()]],
            )
        self.record_key = meta[RECORD_KEY].encode()
        # Written to the file: a database that loses its log must keep its identity. In a new file
        # no block is overwritten.
        self._connection.execute("CHECKPOINT")
        return meta["identity"]

    def _check_journal(self) -> None:
        if self.journal is None:
            return
        sentence = missing(self._connection, self.journal.read_end()).sentence
        if sentence:
            raise LossError(
                f"The database '{self.path}' lacks acknowledged data: {sentence} Its write-ahead "
                "log was damaged or removed, or an older copy was restored: run `arena repair`."
            )

    def read_everything(self) -> None:
        """Read every value of every table once, to detect damage in any block.

        Raises
        ------
        StoreFormatError
            If a block is damaged.
        """
        self.use_all_processors()
        with self._explaining(), contextlib.closing(Catalog(self._connection)) as catalog:
            catalog.read_tables()


def connect(path: Path, *, read_only: bool, **settings: Any) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB file whose content is not trusted: it reads no other file and no variable.

    Raises
    ------
    duckdb.Error
        If it cannot be opened.
    """
    config = {
        "enable_external_access": False,
        "python_enable_replacements": False,
        "memory_limit": f"{_MOST_MEMORY}B",
        **settings,
    }
    return duckdb.connect(str(path.absolute()), read_only=read_only, config=config)


def table_statements() -> str:
    """Return the statements that make the tables of the current version."""
    return resources.files("arena.store").joinpath("store.sql").read_text("utf-8")


def journal_path(path: Path) -> Path:
    """Return the path of the journal of a database."""
    return path.with_name(f"{path.name}.journal")
