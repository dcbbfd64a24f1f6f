"""The SQLite files of a server: how they are opened, and what their records share."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

_BUSY_SECONDS = 10.0


def connect(
    path: Path, *, read_only: bool = False, durable: bool = True, wal: bool = True
) -> sqlite3.Connection:
    """Open a database in WAL mode, so that readers never wait for the writer.

    The connection can be used by any thread, but by one at a time. Transactions are explicit: see
    :func:`transaction`. Rows are :class:`sqlite3.Row`.

    Parameters
    ----------
    read_only
        Open without write permission; the file must exist.
    durable
        Whether a commit is on disk when it returns (``synchronous=FULL``). Without it a crash of
        the machine can lose the last commits, but never damages the file.
    wal
        False: the journal mode of the file stays as it is.

    Raises
    ------
    sqlite3.OperationalError, OSError
        If the file cannot be opened.
    """
    mode = "ro" if read_only else "rw"
    if not read_only:
        # SQLite would create it without write permission for the group; its log has the same mode.
        # An existing file is not opened here: closing it would release this process's locks on it.
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o660))
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.row_factory = sqlite3.Row
    # Every text that arena stores is valid; another one must not end the process that reads it.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    try:
        # Views and triggers, which arena does not make, may call no function with side effects.
        connection.execute("PRAGMA trusted_schema=0")
        if read_only:
            connection.execute("PRAGMA query_only=1")
        else:
            if wal:
                connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            connection.execute("PRAGMA foreign_keys=1")
    except BaseException:
        connection.close()
        raise
    return connection


def digest_of(secret: str) -> bytes:
    """Return the digest by which a secret is stored and found."""
    return hashlib.sha256(secret.encode()).digest()


def time_of(seconds: float) -> datetime:
    """Return a stored time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def time_or_none(seconds: float | None) -> datetime | None:
    """Return a stored time in UTC, if there is one."""
    return None if seconds is None else time_of(seconds)


def identity(path: Path) -> tuple[int, int]:
    """Return the device and number of a file, which another file in its place does not have.

    ``(0, 0)`` if there is none.

    >>> identity(Path("no file"))
    (0, 0)
    """
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


def damage(path: Path) -> str:
    """Return what SQLite finds wrong with a file; empty if it is well, missing or cannot be opened.

    Reads the whole file.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "file.sqlite"
    >>> damage(path)
    ''
    >>> _ = path.write_bytes(b"no database")
    >>> damage(path)
    'file is not a database'
    """
    if not path.exists():
        return ""
    try:
        with contextlib.closing(connect(path, wal=False)) as connection:
            check_text = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except (sqlite3.OperationalError, OSError):
        return ""
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if check_text == "ok" else check_text.splitlines()[-1]


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Commit the writes of the block, or nothing if it raises; the write lock is taken first.

    Examples
    --------
    >>> import tempfile
    >>> connection = connect(Path(tempfile.mkdtemp()) / "file.sqlite")
    >>> with transaction(connection):
    ...     _ = connection.execute("CREATE TABLE t(x)")
    >>> connection.close()
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


class Records:
    """Tables of one kind in a file. Safe to use from several threads.

    Parameters
    ----------
    path
        The SQLite file. The tables are created if they are missing.
    clock
        Returns the current time in UTC.
    """

    tables: ClassVar[str]
    """The statements that create the tables."""

    def __init__(
        self, path: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._database = connect(path)
        self._database.executescript(self.tables)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def _now(self) -> float:
        return self._clock().timestamp()

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """Store everything that the block changes, or nothing; no other change comes between."""
        with self._change():
            yield

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._database.in_transaction:  # a part of what this thread changes
                yield self._database
                return
            with transaction(self._database) as database:
                yield database

    def _rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        with self._lock:
            return self._database.execute(query, values).fetchall()

    def _row(self, query: str, *values: Any) -> sqlite3.Row | None:
        rows = self._rows(query, *values)
        return rows[0] if rows else None


def close(connection: sqlite3.Connection) -> None:
    """Close the connection of the writer so that another user can still read the file.

    A clean close removes the write-ahead log, and a reader without write permission cannot create
    it again. The mode DELETE needs no log.
    """
    try:
        connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.OperationalError:
        pass  # another process has it open, which keeps the log in place
    finally:
        connection.close()
