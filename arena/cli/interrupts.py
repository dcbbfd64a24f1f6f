"""Ends a command on Ctrl-C or SIGTERM, also where other code would swallow the exception or crash.

Python raises ``KeyboardInterrupt`` in the code that the main thread runs when the signal comes. If
that is an import by a compiled module, the module may go on without what it imports, or abort the
process, as DuckDB's does. Callbacks of weak references cannot raise it, and a library may catch it
in a bare ``except``. Therefore an import is finished first, and a lost exception is raised again.
"""

from __future__ import annotations

import _thread
import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

received: list[int] = []
"""The numbers of the signals (SIGINT, SIGTERM) that this command received."""
_SECONDS_TO_REPEAT = 0.1
_SECONDS_OF_IMPORTS = 5.0
"""For which an interrupt waits for the end of an import; a plugin's could compute for minutes."""
_running: list[threading.Event] = []
"""The commands that run, each with what is set at its end."""
_repeats = threading.Event()
"""Whether the next signal repeats an earlier one."""
_first: list[float] = []
"""When this command received its first signal."""


def note_interrupt(number: int, frame: FrameType | None) -> None:
    """Note a signal that ends the command, and raise KeyboardInterrupt, or do so soon."""
    is_repeated = _repeats.is_set()
    _repeats.clear()
    received.append(number)
    if _running:
        if not _first:
            _first.append(time.monotonic())
            # Not by the class of threading: its lock may be held by what was interrupted.
            _thread.start_new_thread(_repeat_until, (_running[-1],))
        if is_repeated and sys.exc_info()[0] is not None:
            return  # an exception is on its way
        if time.monotonic() - _first[0] < _SECONDS_OF_IMPORTS and _is_importing(frame):
            return
    signal.default_int_handler(number, frame)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _repeat_until(end: threading.Event) -> None:
    main_thread = threading.main_thread().ident or 0
    while not end.wait(_SECONDS_TO_REPEAT):
        _repeats.set()
        signal.pthread_kill(main_thread, received[-1])


@contextlib.contextmanager
def repeated_until_handled() -> Iterator[None]:
    """Raise an interrupt in the body again while nothing handles it."""

    def say(lost: Any) -> None:
        if not received or not issubclass(lost.exc_type, KeyboardInterrupt):
            said_before(lost)

    received.clear()
    _first.clear()
    said_before, sys.unraisablehook = sys.unraisablehook, say
    _running.append(threading.Event())
    try:
        yield
    finally:
        _running.pop().set()
        sys.unraisablehook = said_before
