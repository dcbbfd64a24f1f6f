"""Lets the operating system fail at one place of arena's code, as a broken disk does."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import arena
import arena_sandboxes

_FOLDERS = tuple(str(Path(package.__path__[0])) for package in (arena, arena_sandboxes))
_AUDITED = ("open", "os.chmod", "os.listdir", "os.mkdir", "os.rename", "os.scandir", "subprocess.")
"""Beginnings of audit events of calls that may fail."""
_OTHERS = (
    "fstat", "fsync", "lstat", "memfd_create", "open", "pidfd_open", "pipe", "read", "replace",
    "stat", "statvfs",
)  # fmt: skip
"""Functions of ``os`` that may fail too."""


@dataclass
class FailingCalls:
    """Lists the places at which a thread calls the operating system; the call of one fails."""

    thread: int | None = None
    place: str | None = None
    """Where the first call fails; None: none does."""
    places: dict[str, None] = field(default_factory=dict)
    """Those so far, in their order: a file and a line each."""

    def __call__(self, event: str, *_: Any) -> None:
        if threading.get_ident() == self.thread and event.startswith(_AUDITED):
            place = _place()
            if place is None or place in self.places:
                return
            self.places[place] = None
            if place == self.place:
                raise OSError(errno.EIO, os.strerror(errno.EIO))


def _place() -> str | None:
    """Return the innermost line of arena's code that is being executed; None: there is none."""
    frame: Any = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.startswith(_FOLDERS):
        frame = frame.f_back
    return None if frame is None else f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


@functools.cache
def _installed() -> FailingCalls:
    calls = FailingCalls()
    sys.addaudithook(calls)  # it cannot be removed, so there is one
    for name in _OTHERS:
        setattr(os, name, _watched(getattr(os, name), calls))
    return calls


def _watched(function: Any, calls: FailingCalls) -> Any:
    @functools.wraps(function)
    def called(*arguments: Any, **options: Any) -> Any:
        if sys._getframe(1).f_globals["__name__"] != "subprocess":  # it would leave its child
            calls("open")
        return function(*arguments, **options)

    return called


@contextlib.contextmanager
def failing_call(place: str | None) -> Iterator[FailingCalls]:
    """Let the first call of this thread at a place fail in the block, by ``EIO``; None: none."""
    calls = _installed()
    calls.places, calls.place, calls.thread = {}, place, threading.get_ident()
    try:
        yield calls
    finally:
        calls.thread = None
