"""One lock and one descriptor per file for all its stores in this process, and a private umask."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from weakref import WeakValueDictionary


class FileLock:
    """A lock shared by all stores of one file in this process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._held = False
        self.commits = 0
        """How many transactions of this process changed the file."""
        self._users = 0
        self._descriptor: int | None = None

    @contextlib.contextmanager
    def opened(self, before: Callable[[], None]) -> Iterator[None]:
        """Keep one descriptor of the file until the last store in this process has closed it.

        The system drops all locks that a process has on a file, DuckDB's too, when it closes any
        descriptor of the file. So nothing else in this process may open it.

        Parameters
        ----------
        before
            Called first if no store in this process has the file open.
        """
        with self._lock:
            if not self._users:
                before()
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users and self._descriptor is not None:
                    os.close(self._descriptor)
                    self._descriptor = None

    def descriptor(self, path: Path) -> int:
        """Return the descriptor of the file, for reading; see :meth:`opened`."""
        with self._lock:
            if self._descriptor is None:
                self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            return self._descriptor

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; it is not reentrant.

        Raises
        ------
        RuntimeError
            If this thread already holds it: transactions do not nest.
        """
        with self._lock:
            if self._held:
                raise RuntimeError("a transaction is already open in this thread: they do not nest")
            self._held = True
            try:
                yield
            finally:
                self._held = False


_locks: WeakValueDictionary[str, FileLock] = WeakValueDictionary()
_guard = threading.Lock()


def lock_of(path: Path) -> FileLock:
    """Return the lock of a file."""
    with _guard:
        return _locks.setdefault(str(path.resolve()), FileLock())


class _Umask:
    """The umask is process-wide: the first user narrows it, the last one restores it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._depth = 0
        self._before = 0

    def narrow(self) -> None:
        with self._guard:
            if self._depth == 0:
                self._before = os.umask(0o077)
            self._depth += 1

    def restore(self) -> None:
        with self._guard:
            self._depth -= 1
            if self._depth == 0:
                os.umask(self._before)


_umask = _Umask()


@contextlib.contextmanager
def owner_only() -> Iterator[None]:
    """Create files, including DuckDB's log, with access for their owner only."""
    _umask.narrow()
    try:
        yield
    finally:
        _umask.restore()
