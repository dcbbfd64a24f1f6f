"""What keeps writers of one process apart, and the files they make to their owner."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from weakref import WeakValueDictionary

__all__ = ["FileLock", "lock_of", "owner_only"]


class FileLock:
    """A lock that all stores of one file share while any of them lives."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._held = False

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; a thread that holds it must not ask again.

        Raises
        ------
        RuntimeError
            If this thread holds it: transactions do not nest.
        """
        with self._lock:
            if self._held:
                raise RuntimeError("a transaction is open in this thread: they do not nest")
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
    """The umask belongs to the process: the first to come narrows it, the last restores it."""

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
    """Let files that are made be readable by their owner only, DuckDB's log too."""
    _umask.narrow()
    try:
        yield
    finally:
        _umask.restore()
