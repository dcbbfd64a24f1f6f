"""The code that runs in a worker process."""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import gc
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from arena.utils.parallel import enter_folder, one_thread_each
from arena.utils.processes import linux
from arena.utils.processes.limits import HAS_LIMITS, SLACK, Limits
from arena.utils.processes.messages import answer as send_answer
from arena.utils.processes.messages import receive

_KEPT_SHARE = 0.25
"""Share of its memory limit that a process may still hold after a call to be kept for the next one.
Otherwise the next call could fail because of what earlier calls left behind."""
_NEW_OBJECTS = 500_000
"""After which a worker for arena's own code looks for unreachable cycles during its first task; by
default 700, which takes a tenth of that task's time, while modules are imported."""


class TaskClock:
    """Restarts the time limit of a task, here and in the parent process."""

    def __init__(self, seconds: float, policy: _Policy, announce: Callable[[], None]) -> None:
        self._seconds, self._policy, self._announce = seconds, policy, announce
        self._process = os.getpid()
        self._at = -1e9

    def start(self) -> None:
        """Restart the time limit, unless that was done a moment ago: it takes a message."""
        if time.monotonic() - self._at > SLACK * self._seconds and os.getpid() == self._process:
            self._at = time.monotonic()
            self._policy.start_clock(self._seconds)
            with contextlib.suppress(OSError):
                self._announce()


_clock: TaskClock | None = None


def start_clock() -> None:
    """Restart the time limit of the current task; does nothing outside of a worker process."""
    if _clock is not None:
        _clock.start()


def in_worker() -> bool:
    """Return whether this process is a worker process."""
    return _clock is not None


class _Policy(Protocol):
    """The steps of a kind of worker around each task."""

    def begin(self) -> None:
        """Apply the limits, just before a task."""

    def start_clock(self, seconds: float) -> None:
        """Start the time limit again."""

    def end(self) -> bool:
        """Stop the time limit; return whether the process can run another task."""


class WatchedTask:
    """Ends the process at the time limit, and limits what a task adds to it."""

    def __init__(self, limits: Limits | None) -> None:
        self._limits = limits if HAS_LIMITS else None
        self._at_start: int | None = None
        self._null = open(os.devnull, "w")  # noqa: PTH123, SIM115 - open until the process ends
        self._usual = gc.get_threshold()
        gc.set_threshold(_NEW_OBJECTS, *self._usual[1:])
        # Arrow's default allocator reserves up to 1 GiB at once, which would count as in use.
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

    def begin(self) -> None:
        """Limit what the task adds to the memory that this process has."""
        if self._limits is not None:
            self._at_start = self._at_start or linux.data_bytes()
            linux.limit(self._limits, self._at_start)

    def start_clock(self, seconds: float) -> None:
        """End this process after the time limit, if the parent process does not."""
        faulthandler.dump_traceback_later((1 + SLACK) * seconds, exit=True, file=self._null)

    def end(self) -> bool:
        """Stop the time limit; return whether the task left enough memory for another one."""
        faulthandler.cancel_dump_traceback_later()
        gc.set_threshold(*self._usual)
        if self._limits is None or self._at_start is None:
            return True
        return linux.data_bytes() <= self._at_start + _KEPT_SHARE * self._limits.memory


class _Guarded:
    """Leaves the time limit to the parent process, and looks for processes of a task."""

    def begin(self) -> None:
        pass

    def start_clock(self, seconds: float) -> None:
        pass

    def end(self) -> bool:
        return not (HAS_LIMITS and linux.has_left_processes())


def run_watched(descriptor: int, file_descriptor: int) -> None:
    """Run tasks under a watchdog until the socket is closed."""
    import socket

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and kills this process
    os.setpgrp()  # a task that kills its group ends neither its parent nor the guard
    pipe = socket.socket(fileno=descriptor)
    requests, file = _opened(pipe, file_descriptor)
    with contextlib.suppress(EOFError, OSError):
        run_tasks(pipe, requests, file, WatchedTask(receive(requests, file)))


def run_guarded(descriptor: int, file_descriptor: int, watched_descriptor: int) -> None:
    """Fork a worker that runs tasks until the socket is closed, and become its guard."""
    import socket

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and kills this process
    pipe, watched = socket.socket(fileno=descriptor), socket.socket(fileno=watched_descriptor)
    if HAS_LIMITS:
        linux.adopt_descendants()
        guard = os.getpid()
        worker = os.fork()  # safe: no library with threads is imported yet
        if worker:
            pipe.close()
            os.close(file_descriptor)
            linux.guard(worker, watched)
        watched.close()
        os.setpgrp()
    else:
        os.setpgrp()
        threading.Thread(target=end_with_parent, args=(watched,), daemon=True).start()
    try:
        requests, file = _opened(pipe, file_descriptor)
        confinement = receive(requests, file)
        if HAS_LIMITS:
            linux.confine(confinement)
            linux.end_with_parent()
            if os.getppid() != guard:
                return
        run_tasks(pipe, requests, file, _Guarded())
    finally:
        os._exit(0)


def _opened(pipe: Any, file_descriptor: int) -> tuple[Any, Any]:
    """Return the requests that the socket receives, and the shared file."""
    return pipe.makefile("rb"), os.fdopen(file_descriptor, "r+b", buffering=0)


def end_with_parent(watched: Any) -> None:
    """End this process as soon as the socket of its parent closes."""
    with contextlib.suppress(OSError):
        watched.recv(1)
    os._exit(1)


def run_tasks(pipe: Any, requests: Any, file: Any, policy: _Policy) -> None:
    """Answer requests until EOFError or OSError: the socket is closed."""
    global _clock  # noqa: PLW0603 - one clock per worker process

    def answer(*message: Any) -> None:
        send_answer(pipe, file, message)

    own_pid = os.getpid()
    number = 0
    shared_values: tuple[Any, ...] = ()
    while True:
        try:
            number, function, takes_shared, shared, task, seconds, folder = receive(requests, file)
        except (EOFError, OSError):
            return
        except Exception as error:  # noqa: BLE001 - raised in the parent process
            answer(number + 1, False, error, True)
            continue
        shared_values = shared or shared_values
        enter_folder(folder)
        policy.begin()
        _clock = TaskClock(seconds, policy, functools.partial(answer, number, None, None, True))
        _clock.start()
        with one_thread_each():
            good, result = _call(function, (*shared_values, *task) if takes_shared else task)
        if os.getpid() != own_pid:
            os._exit(0)  # the task forked, and both processes returned
        reusable = policy.end()
        try:
            answer(number, good, result, reusable)
        except OSError:
            return
        except Exception as error:  # noqa: BLE001 - the result cannot be sent
            answer(number, False, error, reusable)


def _call(function: Callable[..., Any], task: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        return True, function(*task)
    except BaseException as error:  # noqa: BLE001 - raised in the parent process
        return False, error
