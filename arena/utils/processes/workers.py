"""Worker processes as their parent sees them: start, send, answer, keep for later, kill."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any, ClassVar, TypeVar

from arena.utils.parallel import working_folder
from arena.utils.processes.limits import HAS_LIMITS, SLACK, Confinement, Ended, Limits
from arena.utils.processes.messages import Messages, send, shared_file
from arena.utils.processes.plain import AnswerError

_TIME_IS_UP = 1
"""The exit code of a process that :mod:`faulthandler` terminates."""
_CPU_IS_UP = getattr(signal, "SIGXCPU", 0)
"""The signal that terminates a process at its CPU time limit."""
GRACE = 10.0
"""Seconds by which a worker that ends itself may exceed its time limit: then it is suspended."""
_SECONDS_TO_START = 60.0
"""Time for a new worker to receive its first task."""
_SECONDS_TO_END = 6.0
"""Time for a worker or a guard to end by itself."""
_LONGEST_WAIT = 10**6
"""Seconds; the system's own limits are higher."""
_MOST_IDLE = 8
_NO_ANSWER = "A process sent no valid answer."
ANY_LIMITS: Any = object()
"""Stands for the limits of a prepared worker, which its first task decides."""


class Worker:
    """A worker process and the socket to it; its key is the purpose and the limits.

    A subclass says which function starts the process, and how the process is ended.
    """

    entry: ClassVar[str]
    """The function of :mod:`arena.utils.processes.child` that the process calls."""
    deadline: float
    """When the current task has run for too long, by :func:`time.monotonic`."""
    _sent_at: float
    _seconds: float

    def __init__(
        self,
        key: tuple[str, Limits | Confinement | None],
        *more_pipes: Any,
        start: Callable[..., subprocess.Popen[bytes] | ForkedProcess] | None = None,
    ) -> None:
        import socket

        self.key = key
        self.owner = os.getpid()
        self.pipe, theirs = socket.socketpair()
        self._file = shared_file()
        with _interrupts_blocked():
            self.process = (start or _start)(self.entry, theirs, self._file, *more_pipes)
        theirs.close()
        self._number = 0
        self._shared: tuple[Any, ...] = ()
        self._messages = Messages(self.pipe, self._file)
        self.pipe.setblocking(False)

    def send(
        self, function: Any, shared: tuple[Any, ...], task: tuple[Any, ...], seconds: float
    ) -> None:
        """Let the process call ``function(*shared, *task)``.

        ``shared`` is empty or one object, which is sent only if the last request had another one.
        """
        self._number += 1
        self._seconds, self._sent_at = seconds, time.monotonic()
        has_shared = bool(shared and self._shared) and shared[0] is self._shared[0]
        sent_values = () if has_shared else shared
        self._shared = shared or self._shared
        request = (
            self._number,
            function,
            bool(shared),
            sent_values,
            task,
            seconds,
            working_folder(),
        )
        with contextlib.suppress(OSError):  # the process died: answer() reports it
            if self._number == 1:
                send(self.pipe, self._file, self.key[1])
            send(self.pipe, self._file, request)
        self._restart_clock()
        if self._number == 1:
            self.deadline += _SECONDS_TO_START  # until it has received the task

    def _restart_clock(self) -> None:
        self.deadline = time.monotonic() + (1 + SLACK) * self._seconds

    def answer(self) -> tuple[bool, Any] | None:
        """Return whether the task succeeded, and its result or exception; None: not finished."""
        dead = self.process.poll() is not None  # polled before the pipe, which may still hold data
        try:
            for number, good, result, reusable in self._messages:
                if good is False and not isinstance(result, Exception):
                    raise AnswerError(_NO_ANSWER)
                if number != self._number:  # from a process that an earlier task forked
                    continue
                if good is None:
                    self._restart_clock()
                    continue
                if not good:
                    self._shared = ()  # it may be the object that could not be received
                if reusable:
                    keep_worker(self)
                else:
                    self.kill()
                return good, result
        except (EOFError, OSError):
            dead = True
        except Exception as error:  # noqa: BLE001 - it is no answer
            self.kill()
            return False, error if isinstance(error, AnswerError) else AnswerError(_NO_ANSWER)
        if dead:
            too_long = self._was_too_long()
            self.kill()
            return True, Ended(too_long, self._seconds)
        if time.monotonic() > self.deadline:
            self.kill()
            return True, Ended(True, self._seconds)
        return None

    def _was_too_long(self) -> bool:
        """Return whether the process, which is dead, ended itself at its time limit."""
        return False

    def kill(self) -> None:
        """End the process at once."""
        self.pipe.close()
        self._file.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class WatchedWorker(Worker):
    """A worker that ends itself; the parent's deadline is for one that is suspended."""

    entry = "run_watched"

    def _restart_clock(self) -> None:
        super()._restart_clock()
        self.deadline += GRACE

    def _was_too_long(self) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_SECONDS_TO_END)  # it closes its pipe before it has an exit code
        code, took = self.process.returncode, time.monotonic() - self._sent_at
        return code == -_CPU_IS_UP or (code == _TIME_IS_UP and took >= self._seconds)


class GuardedWorker(Worker):
    """A worker that its guard process ends, with every process that it started."""

    entry = "run_guarded"

    def __init__(self, key: tuple[str, Confinement]) -> None:
        import socket

        self._alive, theirs = socket.socketpair()
        super().__init__(key, theirs)
        theirs.close()

    def kill(self) -> None:
        """Kill the worker and every process that it started."""
        if self.process.poll() is None:
            with contextlib.suppress(OSError):
                self._alive.send(b"end")  # closing is not enough if a fork holds the socket
        self._alive.close()
        if HAS_LIMITS:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_SECONDS_TO_END)
        else:
            with contextlib.suppress(OSError):
                if os.getpgid(self.process.pid) == self.process.pid:
                    os.killpg(self.process.pid, signal.SIGKILL)
        super().kill()


def wait_for(workers: Collection[Worker]) -> None:
    """Wait until a worker has sent something or ended, or until the first deadline."""
    import select

    until = min(worker.deadline for worker in workers)
    poll = select.poll()
    for worker in workers:
        poll.register(worker.pipe, select.POLLIN)
    poll.poll(1000 * min(max(0.0, until - time.monotonic()), _LONGEST_WAIT))


def _start(entry: str, *pipes: Any) -> subprocess.Popen[bytes]:
    """Start a process that imports only this package and calls one function of its child module.

    A :mod:`multiprocessing` process would run the caller's main module again, and a joblib process
    takes more than twice as long to start.
    """
    program = (
        "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
        "from arena.utils.processes import child; "
        "getattr(child, sys.argv[2])(*map(int, sys.argv[3:]))"
    )
    descriptors = [pipe.fileno() for pipe in pipes]
    arguments = [json.dumps(sys.path), entry, *map(str, descriptors)]
    return subprocess.Popen(  # noqa: S603 - this interpreter, on our own code
        [sys.executable, "-c", program, *arguments],
        pass_fds=descriptors,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def fork_child(entry: str, *pipes: Any) -> ForkedProcess:
    """Fork this process, and call one function of the child module in the fork (Linux)."""
    streams = range(3)
    kept_descriptors = {*streams, *(pipe.fileno() for pipe in pipes)}
    pid = os.fork()
    if pid:
        return ForkedProcess(pid)
    try:
        from arena.utils.processes import child

        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in streams:
            os.dup2(null, stream)
        # All other files of the parent. Of its own socket, too: the worker ends when it is closed.
        for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - only the numbers
            if descriptor not in kept_descriptors:
                with contextlib.suppress(OSError):  # that of the listing itself
                    os.close(descriptor)
        getattr(child, entry)(*(pipe.fileno() for pipe in pipes))
    finally:
        os._exit(0)  # without the steps at the end of the parent


class ForkedProcess:
    """A forked process, with the methods of :class:`subprocess.Popen` that a worker needs."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code; None: it is running."""
        return self._wait(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int | None:
        """Return the exit code once the process has ended.

        Raises
        ------
        subprocess.TimeoutExpired
            If it is still running after ``timeout`` seconds.
        """
        if timeout is None:
            return self._wait(0)
        until = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("a worker process", timeout)
            time.sleep(0.001)
        return self.returncode

    def kill(self) -> None:
        """Kill the process, if it is running."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def _wait(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes with SIGINT blocked: on Ctrl-C the parent kills them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


idle_workers: list[Worker] = []
_idle_lock = threading.Lock()
_Kind = TypeVar("_Kind", WatchedWorker, GuardedWorker)


def idle_worker(kind: type[_Kind], key: Any) -> _Kind:
    """Return an idle process of this kind and key, or a new one."""
    with _idle_lock:
        # A fork of this process must not write to the pipes of its parent.
        own_workers = [worker for worker in idle_workers if worker.owner == os.getpid()]
        keys = (key, (key[0], ANY_LIMITS))
        fitting = next(
            (worker for worker in own_workers if isinstance(worker, kind) and worker.key in keys),
            None,
        )
        idle_workers[:] = [worker for worker in own_workers if worker is not fitting]
    if fitting is not None and fitting.process.poll() is None:
        fitting.key = key
        return fitting
    if fitting is not None:
        fitting.kill()
    return kind(key)


def prepare(purpose: str) -> None:
    """Keep a fork of this process for the first task of watched workers with this purpose."""
    keep_worker(WatchedWorker((purpose, ANY_LIMITS), start=fork_child))


def keep_worker(worker: Worker) -> None:
    """Keep a process for the next call; of more than eight the oldest is killed."""
    with _idle_lock:
        idle_workers.append(worker)
        ended = [idle_workers.pop(0) for _ in range(len(idle_workers) - _MOST_IDLE)]
    for ended_worker in ended:
        ended_worker.kill()


@atexit.register
def end_idle_workers() -> None:
    """Kill the idle processes that this one started."""
    for worker in idle_workers:
        if worker.owner == os.getpid():
            worker.kill()
