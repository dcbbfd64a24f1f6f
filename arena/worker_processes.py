"""Processes that can be ended in the middle of a call: for code that may never come back.

A thread cannot be stopped, and neither can a call that hangs in C. Here a call runs in a process
of its own, which a watchdog ends when the time is up: it needs neither the interpreter's lock nor
the process that waits, so that nothing is left behind if that one is killed.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.execution import one_thread_each

__all__ = ["Ended", "run_limited", "start_clock"]

_TIME_IS_UP = 1
"""The exit code that :mod:`faulthandler` ends a process with."""
_SLACK = 0.1
"""The share of the limit by which it may be overdrawn, so that short calls need not set it anew."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What stands for the result of a task whose process ended before it was done."""

    too_long: bool
    """Whether the time was up; otherwise the process crashed, or was killed from outside."""
    seconds: float
    """The limit."""

    def __str__(self) -> str:
        if self.too_long:
            return f"it took longer than {self.seconds:g} s and was stopped"
        return "its process crashed or was killed, for want of memory perhaps"


def run_limited(
    function: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    *,
    workers: int,
    seconds: float,
    purpose: str = "",
) -> Iterator[Any]:
    """Yield ``function(*task)`` for each task, in order, each in one of ``workers`` processes.

    Tasks are drawn as processes become free. What a task prints is dropped. Processes are kept
    for the next run of the same purpose; those that are busy when the iteration is given up, or
    interrupted, are killed.

    Parameters
    ----------
    function
        Of a module that a new process can import.
    tasks
        Their arguments are pickled.
    workers
        The number of processes.
    seconds
        How long a task may take, or, if it calls :func:`start_clock`, each part of it.
    purpose
        What the processes have imported: another purpose starts with new ones.

    Yields
    ------
    The result, or :class:`Ended` for a task whose process ended. An exception is raised here.

    Examples
    --------
    >>> list(run_limited(pow, [(2, 3), (3, 2)], workers=1, seconds=60.0))
    [8, 9]
    """
    from multiprocessing.connection import wait

    waiting = enumerate(tasks)
    busy: dict[Any, tuple[int, _Worker]] = {}
    done: dict[int, tuple[bool, Any]] = {}
    turn = 0
    try:
        while True:
            while len(busy) < workers and (drawn := next(waiting, None)) is not None:
                worker = _idle_worker(purpose)
                busy[worker.pipe] = (drawn[0], worker)
                worker.send(function, drawn[1], seconds)
            if not busy:
                return
            for pipe in wait(list(busy)):
                position, worker = busy.pop(pipe)
                done[position] = worker.answer(seconds)
            while turn in done:
                good, result = done.pop(turn)
                if not good:
                    raise result
                yield result
                turn += 1
    finally:
        for _, worker in busy.values():
            worker.kill()


def start_clock() -> None:
    """Give what begins now its full time; outside of such a process this does nothing."""
    if _clock is not None:
        _clock.start()


# -- in the process that waits ---------------------------------------------------------------------


class _Worker:
    """A process and the pipe to it."""

    def __init__(self, purpose: str) -> None:
        # Joblib's processes start without importing the caller's main module, which need not be
        # guarded then, and pass on sys.path.
        from joblib.externals.loky.backend import get_context

        context = get_context("loky")
        self.purpose = purpose
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _interrupts_held_back():
            self.process.start()
        theirs.close()

    def send(self, function: Callable[..., Any], task: tuple[Any, ...], seconds: float) -> None:
        self.started = time.monotonic()
        with contextlib.suppress(OSError):  # it died: so its answer will say
            self.pipe.send((function, task, seconds, Path.cwd()))

    def answer(self, seconds: float) -> tuple[bool, Any]:
        """Receive whether the task was done, and its result or what it raised."""
        try:
            good, result = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            took = time.monotonic() - self.started
            timed_out = self.process.exitcode == _TIME_IS_UP and took >= seconds
            self.kill()
            return True, Ended(timed_out, seconds)
        _idle.append(self)
        return good, result

    def kill(self) -> None:
        self.pipe.close()
        if self.process.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        self.process.join()


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Have a process that starts never hear of Ctrl-C: whoever waits for it does, and kills it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_idle: list[_Worker] = []


def _idle_worker(purpose: str) -> _Worker:
    while _idle:
        worker = _idle.pop()
        if worker.purpose == purpose and worker.process.is_alive():
            return worker
        worker.kill()
    return _Worker(purpose)


# -- in the process that works ---------------------------------------------------------------------


class _Clock:
    """Ends the process when a call takes too long."""

    def __init__(self, seconds: float, nowhere: Any) -> None:
        self._seconds, self._nowhere = seconds, nowhere
        self._set_at = -1e9

    def start(self) -> None:
        """Set it anew, unless that was done a moment ago: it starts a thread each time."""
        if time.monotonic() - self._set_at > _SLACK * self._seconds:
            self._set_at = time.monotonic()
            limit = (1 + _SLACK) * self._seconds
            faulthandler.dump_traceback_later(limit, exit=True, file=self._nowhere)

    @staticmethod
    def stop() -> None:
        faulthandler.cancel_dump_traceback_later()


_clock: _Clock | None = None


def _serve(pipe: Any) -> None:
    """Work until the other end of the pipe is closed."""
    global _clock  # noqa: PLW0603 - there is one clock in such a process
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever waits is interrupted, and kills
    nowhere = open(os.devnull, "w")  # noqa: PTH123, SIM115 - as long as the process lives
    for standard in (1, 2):
        os.dup2(nowhere.fileno(), standard)
    while True:
        try:
            function, task, seconds, folder = pipe.recv()
        except (EOFError, OSError):
            return
        except Exception as error:  # noqa: BLE001 - it is raised where the task came from
            pipe.send((False, _portable(error)))
            continue
        os.chdir(folder)
        _clock = _Clock(seconds, nowhere)
        _clock.start()
        with one_thread_each():
            answer = _done(function, task)
        _clock.stop()
        _reply(pipe, answer)


def _done(function: Callable[..., Any], task: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        return True, function(*task)
    except BaseException as error:  # noqa: BLE001 - it is raised where the task came from
        return False, _portable(error)


def _reply(pipe: Any, answer: tuple[bool, Any]) -> None:
    try:
        pipe.send(answer)
    except OSError:
        return
    except Exception as error:  # noqa: BLE001 - the result cannot be pickled
        pipe.send((False, _portable(error)))


def _portable(error: BaseException) -> Exception:
    """Return an exception that can be pickled, and is no order to stop."""
    import pickle

    with contextlib.suppress(Exception):
        if isinstance(error, Exception) and isinstance(
            pickle.loads(pickle.dumps(error)),  # noqa: S301 - our own
            type(error),
        ):
            return error
    return RuntimeError(f"{type(error).__name__}: {error}")
