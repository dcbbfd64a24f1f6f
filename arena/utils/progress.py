"""Shows the progress of long computations: in a notebook, in a terminal, or in a log.

A computation reports to a :class:`~arena.utils.parallel.Progress`. :class:`ProgressDisplay` is the
one that people see, in every command and every public function; :func:`shown` opens it for a
function whose caller gave none.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from arena.utils.parallel import NoProgress, Progress
from arena.utils.text import printable_lines

if TYPE_CHECKING:
    from rich.console import Console


SECONDS_BEFORE_A_BAR = 2.0
_SECONDS_BETWEEN_LINES = 10.0


class _Bar(Protocol):
    def update(self, done: int) -> None:
        """Show how many steps are done."""

    def close(self) -> None:
        """Remove the bar."""


class ProgressDisplay:
    """Shows the stages of a long computation, each once it has lasted two seconds.

    In a notebook a stage is a bar of tqdm, in a terminal one of rich, both removed at the end. A
    log or a pipe gets a line, and another one every ten seconds. A stage of one step has nothing to
    count: it shows its name and how long it has taken. All of it goes to stderr.
    ``ARENA_PROGRESS=0`` in the environment hides stages; sentences are still printed.

    A context manager. Every function of :mod:`arena` with an argument ``progress`` opens one if
    that argument is None. Pass one to share it, or ``arena.utils.parallel.NoProgress()`` for
    silence.

    >>> with ProgressDisplay() as progress:
    ...     progress.start("Counting", 3)
    ...     progress.advance(3)
    """

    _n_open = 0
    _opening = threading.Lock()

    def __init__(self) -> None:
        self._bar: _Bar | None = None
        self._label, self._total, self._done = "", 0, 0
        self._said, self._said_done, self._said_at, self._started_at = "", 0, 0.0, 0.0
        self._lock = threading.RLock()
        self._alarm: threading.Timer | None = None

    def __enter__(self) -> ProgressDisplay:
        with ProgressDisplay._opening:
            ProgressDisplay._n_open += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._end_stage()
        with ProgressDisplay._opening:
            ProgressDisplay._n_open -= 1

    @functools.cached_property
    def _console(self) -> Console:
        # Most computations end before anything is shown: rich is not imported for them.
        from arena.utils.plain_console import PlainConsole

        return PlainConsole(stderr=True)

    def say(self, message: str) -> None:
        """Print a sentence above the bar."""
        with self._lock:
            self._console.print(printable_lines(message))

    def start(self, label: str, total: int) -> None:
        """Begin a stage of ``total`` steps; the stage before ends."""
        self._end_stage()
        with self._lock:
            self._label, self._total, self._done = label, total, 0
            self._started_at = time.monotonic()
            if os.environ.get("ARENA_PROGRESS") != "0":
                self._wait(SECONDS_BEFORE_A_BAR)

    def advance(self, steps: int = 1) -> None:
        """Count steps of the stage as done."""
        with self._lock:
            self._done += steps
            if self._bar is not None:
                self._bar.update(self._done)

    def _wait(self, seconds: float) -> None:
        """Show the stage after a time: a thread does, since a long step reports nothing."""
        self._alarm = threading.Timer(seconds, self._show)
        self._alarm.daemon = True
        self._alarm.start()

    def _end_stage(self) -> None:
        with self._lock:
            if self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None
            if self._bar is not None:
                self._bar.close()
                self._bar = None

    def _show(self) -> None:
        with self._lock:
            if self._alarm is not threading.current_thread():
                return  # the stage has ended
            total = self._total if self._total > 1 else None
            if self._console.is_jupyter:
                self._bar = _NotebookBar(self._label, total)
            elif self._console.is_terminal:
                self._bar = _TerminalBar(self._label, total, self._console)
            else:
                now = time.monotonic()  # a stage that begins again and again gets no more lines
                again = self._said == self._label
                if not again or now - self._said_at >= _SECONDS_BETWEEN_LINES:
                    came = f": {self._done:,} of {total:,}" if total else ""
                    if again and (not total or self._done == self._said_done):
                        came += f", {now - self._started_at:.0f} s"  # no line is said twice
                    self._said, self._said_done, self._said_at = self._label, self._done, now
                    self._console.print(f"{printable_lines(self._label)}{came} …")
                self._wait(_SECONDS_BETWEEN_LINES)
                return
            self._bar.update(self._done)


class _TerminalBar:
    def __init__(self, label: str, total: int | None, console: Console) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        counted = (MofNCompleteColumn(), TimeRemainingColumn())
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            *(counted if total else (TimeElapsedColumn(),)),
        )
        self._rich = Progress(*columns, console=console, transient=True)
        self._rich.start()
        self._task = self._rich.add_task(printable_lines(label), total=total)

    def update(self, done: int) -> None:
        self._rich.update(self._task, completed=done)

    def close(self) -> None:
        self._rich.stop()


class _NotebookBar:
    def __init__(self, label: str, total: int | None) -> None:
        with warnings.catch_warnings():  # of a notebook without ipywidgets: the bar is text then
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm

            self._tqdm: Any = tqdm(desc=printable_lines(label), total=total, leave=False)

    def update(self, done: int) -> None:
        self._tqdm.update(done - self._tqdm.n)

    def close(self) -> None:
        self._tqdm.close()


@contextlib.contextmanager
def shown(progress: Progress | None) -> Iterator[Progress]:
    """Yield ``progress``; None: a display that is open during the body.

    Inside another display of this process there is no second one: the outer stage is shown. A
    worker process shows nothing: its tasks are counted where they were started.

    >>> with shown(None) as progress:
    ...     progress.start("Counting", 3)
    """
    if progress is not None:
        yield progress
    elif ProgressDisplay._n_open or _is_worker():
        yield NoProgress()
    else:
        with ProgressDisplay() as display:
            yield display


def _is_worker() -> bool:
    processes = sys.modules.get("multiprocessing.process")  # every worker has imported it
    return processes is not None and processes.parent_process() is not None


@contextlib.contextmanager
def stage(label: str) -> Iterator[None]:
    """Show the body as one stage, once it has lasted two seconds.

    >>> with stage("Counting"):
    ...     pass
    """
    with shown(None) as progress:
        progress.start(label, 1)
        yield
