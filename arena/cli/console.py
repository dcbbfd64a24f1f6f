"""What the commands share to talk to people and to programs.

Results go to stdout; progress, warnings and errors to stderr.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from arena.text import printable_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from arena.plugin_manager import PluginManager

__all__ = [
    "TerminalProgress",
    "console",
    "print_document",
    "say_error",
    "say_failures",
    "say_note",
]

_SECONDS_BEFORE_A_BAR = 2.0
_WIDTH_OF_A_FILE = 200


def console(*, stderr: bool = False) -> Console:
    """Return a console that interprets no markup: text of participants is shown as it is."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    # A file or a pipe has no width of its own, and nothing is to be left out in it.
    width = None if stream.isatty() or "COLUMNS" in os.environ else _WIDTH_OF_A_FILE
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, width=width)


def print_document(document: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout; a number that JSON does not know is an error."""
    json.dump(document, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def say_error(message: str) -> None:
    """Say on stderr what went wrong."""
    sys.stderr.write(f"arena: {printable_lines(message)}\n")


def say_note(message: str) -> None:
    """Say on stderr something that the user should know."""
    sys.stderr.write(f"{printable_lines(message)}\n")


def say_failures(manager: PluginManager) -> None:
    """Say on stderr which plugins failed; what they would have added is missing.

    With ``--verbose`` the traceback follows.
    """
    for failure in manager.failures:
        say_error(str(failure))
        trace = "".join(traceback.format_exception(failure.error)).rstrip()
        logging.getLogger("arena").debug("%s", trace)


class TerminalProgress:
    """Progress on stderr of any stage that lasts: a bar, or a line where stderr is no terminal.

    A stage of one step has nothing to count: its bar only moves, until it is over. A stage is shown
    by a thread of its own, since a long step does not come back to say that it takes long.
    """

    def __init__(self) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._console = console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._stage: TaskID | None = None
        self._label, self._total, self._done = "", 0, 0
        self._said = ""
        self._lock = threading.Lock()
        self._alarm: threading.Timer | None = None

    def __enter__(self) -> TerminalProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_stage()
        if self._bar.live.is_started:  # stopping prints an empty line otherwise
            self._bar.stop()

    def say(self, message: str) -> None:
        """Print a sentence above the bar."""
        self._console.print(printable_lines(message))

    def start(self, label: str, total: int) -> None:
        """Begin a stage; it is shown once it has lasted two seconds."""
        self._end_stage()
        self._label, self._total, self._done = label, total, 0
        self._alarm = threading.Timer(_SECONDS_BEFORE_A_BAR, self._show)
        self._alarm.daemon = True
        self._alarm.start()

    def advance(self, steps: int = 1) -> None:
        """Move the bar on."""
        with self._lock:
            self._done += steps
            if self._stage is not None:
                self._bar.update(self._stage, completed=self._done)

    def _end_stage(self) -> None:
        with self._lock:
            if self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None
            if self._stage is not None:
                self._bar.remove_task(self._stage)
                self._stage = None

    def _show(self) -> None:
        with self._lock:
            if self._alarm is not threading.current_thread():
                return  # it is over
            if not self._console.is_terminal:
                self._say_once()
                return
            self._bar.start()
            counted = self._total if self._total > 1 else None
            self._stage = self._bar.add_task(self._label, total=counted, completed=self._done)

    def _say_once(self) -> None:
        """Say in a line what a log or a pipe cannot show as a bar."""
        if self._said != self._label:
            self._said = self._label
            steps = f": {self._done:,} of {self._total:,}" if self._total > 1 else ""
            self._console.print(f"{self._label}{steps} …")
