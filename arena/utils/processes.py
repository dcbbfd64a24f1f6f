"""Calls in worker processes with limits, for code that may hang, crash or use too much memory.

A thread cannot be stopped, and neither can a call that hangs in C, so a call runs in another
process. There are two kinds, for two kinds of code.

:func:`call_limited` is for arena's own code on untrusted data. A watchdog inside the worker
terminates it at the time limit. The watchdog needs neither the global interpreter lock nor the
parent process, so that no worker is left behind if the parent is killed. Memory and open files can
be limited too, if the system supports it (:data:`HAS_LIMITS`).

:func:`run_limited` is for third-party code, which may cancel timers and start processes. The parent
holds the deadline, so that nothing in the worker can change it. On Linux the worker is the child of
a small guard process, which only waits. The guard adopts every process that the worker starts, in
any session or process group (``PR_SET_CHILD_SUBREAPER``), and kills them all when the worker ends,
at the time limit, or when the parent dies. The worker can have a memory limit and, if the kernel
allows unprivileged namespaces, no network and a read-only folder (:class:`Confinement`). On other
systems a worker is killed with its process group, and there are no other limits. This protects
against faulty code, not against malicious code.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import functools
import gc
import itertools
import json
import math
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from arena.utils.parallel import one_thread_each, working_folder

HAS_LIMITS = sys.platform.startswith("linux")
"""Whether this system enforces :class:`Limits`. macOS accepts a memory limit and ignores it, and
Windows has no such limits; there only the time of a call is limited."""

_LINUX = HAS_LIMITS
_TIME_IS_UP = 1
"""The exit code of a process that :mod:`faulthandler` terminates."""
_CPU_IS_UP = getattr(signal, "SIGXCPU", 0)
"""The signal that terminates a process at its CPU time limit."""
_GRACE = 10.0
"""Seconds by which a process may exceed its time limit before the parent kills it."""
_SLACK = 0.1
"""Share by which a time limit may be exceeded, so that short calls need not restart the timer."""
_KEPT_SHARE = 0.25
"""Share of its memory limit that a process may still hold after a call to be kept for the next one.
Otherwise the next call could fail because of what earlier calls left behind."""
_SECONDS_TO_START, _SECONDS_TO_END = 60.0, 5.0
"""Time for a new guarded worker to become ready, and for a guard to kill all its descendants."""


_NEW_OBJECTS = 500_000
"""After which a worker for arena's own code looks for unreachable cycles during its first task; by
default 700, which takes a tenth of that task's time, while modules are imported."""
_ANY_MEMORY = -1
"""Stands for the memory limit of a prepared worker, whose first call decides it."""
_LONGEST_TRANSFER = 10**6
"""Seconds; the system's own limit is higher."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a task whose process ended before the task was finished."""

    too_long: bool
    """Whether the time limit was exceeded; otherwise the process crashed or was killed."""
    seconds: float
    """The time limit."""

    def __str__(self) -> str:
        if self.too_long:
            return f"it took longer than {self.seconds:g} s and was stopped"
        return "its process crashed or was killed, possibly out of memory"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on a call, besides its time."""

    memory: int
    """Bytes in addition to what the process holds when its first call starts."""
    open_files: int = 64
    processor_seconds: int | None = None
    """CPU time of one call; unlike wall-clock time it does not depend on the load of the machine.
    """


@dataclass(frozen=True, slots=True)
class Confinement:
    """Limits on a worker process. Each is enforced only if the system supports it."""

    memory: float | None = None
    """Megabytes that each of its processes may allocate (Linux); None: no limit."""
    network: bool = True
    """False: only a private loopback interface (Linux namespaces)."""
    read_only: Path | None = None
    """A folder that the worker can read but not change (Linux namespaces)."""


def call_limited(
    function: Callable[..., Any],
    *task: Any,
    seconds: float,
    limits: Limits | None = None,
    purpose: str = "",
    shared: Any = None,
) -> Any:
    """Return ``function(*task)`` from another process, or :class:`Ended` if that process died.

    Thread-safe: concurrent calls use different processes. A process is kept for the next call with
    the same purpose and memory limit, unless it still holds a quarter of that limit. An exception
    in the function is raised here.

    Parameters
    ----------
    function
        A function of a module that a new process can import.
    task
        Its arguments, which are pickled.
    seconds
        The time limit.
    limits
        Further limits; None: only the time is limited.
    purpose
        Identifies what the processes have imported: they are not shared between purposes.
    shared
        A last argument for the function that is the same object in many calls: it is sent to each
        process only once. None: there is no such argument.

    Examples
    --------
    >>> call_limited(pow, 2, 3, seconds=60.0)
    8
    """
    # The memory limit is part of the key: a process keeps memory that an earlier call reserved.
    worker = _idle_worker(_WatchedWorker, (purpose, limits and limits.memory))
    try:
        worker.send(function, task, seconds, limits, shared)
        # The watchdog is in the process itself; this is for a process that was suspended.
        if not worker.pipe.poll((1 + _SLACK) * seconds + _GRACE):
            worker.kill()
            return Ended(too_long=True, seconds=seconds)
        good, result = worker.answer(seconds)
    except BaseException:
        worker.kill()
        raise
    if not good:
        raise result
    return result


def prepare_limited(purpose: str) -> None:
    """Fork a worker process for the first call of :func:`call_limited` with this purpose.

    A new process spends a tenth of a second on imports that this one has done. The fork knows what
    this process knows: call it before this process has read anything that an attacker must not
    learn, and before it has started threads or opened a database. Does nothing where a process
    cannot be forked safely: outside Linux, or if there are other threads.
    """
    if _LINUX and threading.active_count() == 1:
        _keep(_WatchedWorker((purpose, _ANY_MEMORY), _fork))


def run_limited(
    function: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    *,
    workers: int,
    seconds: float,
    purpose: str = "",
    confinement: Confinement | None = None,
) -> Iterator[Any]:
    """Yield ``function(*task)`` for each task, in order, each in one of ``workers`` processes.

    Tasks are drawn as processes become free. Their output to the terminal is discarded. Processes
    are kept for the next run with the same purpose and confinement, unless a task left child
    processes behind. Processes that are busy when the iteration is closed or interrupted are
    killed.

    Parameters
    ----------
    function
        A function of a module that a new process can import.
    tasks
        Its arguments, which are pickled. A first argument that is the same object as in the last
        task of a process is not sent again: the function must not change it.
    workers
        The number of processes.
    seconds
        The time limit of a task, or of each part of a task that calls :func:`start_clock`.
    purpose
        Identifies what the processes have imported: they are not shared between purposes.
    confinement
        Further limits; None: only the time is limited.

    Yields
    ------
    The result, or :class:`Ended` for a task whose process ended. An exception is raised here.

    Examples
    --------
    >>> list(run_limited(pow, [(2, 3), (3, 2)], workers=1, seconds=60.0))
    [8, 9]
    """
    from multiprocessing.connection import wait

    key = (purpose, confinement or Confinement())
    waiting = enumerate(tasks)
    busy: dict[_GuardedWorker, int] = {}
    done: dict[int, tuple[bool, Any]] = {}
    turn = 0
    try:
        while True:
            while len(busy) < workers and (drawn := next(waiting, None)) is not None:
                worker = _idle_worker(_GuardedWorker, key)
                busy[worker] = drawn[0]
                worker.send(function, drawn[1], seconds)
            if not busy:
                return
            until = min(worker.deadline for worker in busy)
            wait([worker.pipe for worker in busy], timeout=max(0.0, until - time.monotonic()))
            for worker in list(busy):
                answer = worker.answer()
                if answer is not None:
                    done[busy.pop(worker)] = answer
            while turn in done:
                good, result = done.pop(turn)
                if not good:
                    raise result
                yield result
                turn += 1
    finally:
        for worker in busy:
            worker.kill()


def start_clock() -> None:
    """Restart the time limit of the current task; does nothing outside of a worker process."""
    if _clock is not None:
        _clock.start()


def in_worker() -> bool:
    """Return whether this process is a worker process."""
    return _clock is not None


# -- in the parent process -------------------------------------------------------------------------


_Start: TypeAlias = "Callable[..., subprocess.Popen[bytes] | _Forked]"


class _Worker:
    """A worker process and the pipe to it."""

    def __init__(self, key: Any, entry: str, *more_pipes: Any, start: _Start | None = None) -> None:
        from multiprocessing.connection import Pipe

        self.key = key
        self.owner = os.getpid()
        self.pipe, theirs = Pipe()
        with _interrupts_blocked():
            self.process: Any = (start or _start)(entry, theirs, *more_pipes)
        theirs.close()

    def suits(self, key: Any) -> bool:
        """Return whether the process can be used for tasks of this key."""
        return bool(self.key == key)

    def limit_transfers(self, seconds: float) -> None:
        """Let sending and receiving fail with BlockingIOError after this time without progress.

        Otherwise a suspended process that neither reads nor ends its answer would stop this one.
        """
        if sys.platform == "win32":
            return
        import socket

        limit = struct.pack("@ll", *divmod(int(min(seconds, _LONGEST_TRANSFER) * 10**6), 10**6))
        with socket.socket(fileno=os.dup(self.pipe.fileno())) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)

    def kill(self) -> None:
        self.pipe.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class _WatchedWorker(_Worker):
    """A worker with a watchdog; its key is the purpose and the memory limit."""

    def __init__(self, key: tuple[str, int | None], start: _Start | None = None) -> None:
        self._buffers = _shared_file()
        super().__init__(key, _watched_main.__name__, self._buffers, start=start)
        self._shared: Any = None
        self._suspended = False

    def suits(self, key: Any) -> bool:
        """Return whether the process can be used; a prepared one has no memory limit yet."""
        return super().suits(key) or self.key == (key[0], _ANY_MEMORY)

    def send(
        self,
        function: Callable[..., Any],
        task: tuple[Any, ...],
        seconds: float,
        limits: Limits | None = None,
        shared: Any = None,
    ) -> None:
        self.started = time.monotonic()
        is_new = shared is not None and shared is not self._shared
        last = (shared is not None, (shared,) if is_new else None)
        self._shared = shared if is_new else self._shared
        self.limit_transfers((1 + _SLACK) * seconds + _GRACE)
        sent = (function, task, last, seconds, limits, working_folder())
        try:
            self.pipe.send(sent)
        except BlockingIOError:
            self._suspended = True
            self.process.kill()
        except OSError:
            pass  # the process died: answer() reports it

    def answer(self, seconds: float) -> tuple[bool, Any]:
        """Return whether the task succeeded, and its result or its exception."""
        try:
            good, result, swollen = _receive(self.pipe, self._buffers)
        except BlockingIOError:
            self.kill()
            return True, Ended(too_long=True, seconds=seconds)
        except (EOFError, OSError):
            code = self.process.wait()
            took = time.monotonic() - self.started
            self.kill()
            too_long = code == -_CPU_IS_UP or (code == _TIME_IS_UP and took >= seconds)
            return True, Ended(too_long or self._suspended, seconds)
        if swollen:
            self.kill()
        else:
            _keep(self)
        return good, result

    def kill(self) -> None:
        self._buffers.close()
        super().kill()


class _GuardedWorker(_Worker):
    """A worker with a guard process; its key is the purpose and the confinement."""

    def __init__(self, key: tuple[str, Confinement]) -> None:
        from multiprocessing.connection import Pipe

        self._alive, theirs = Pipe()
        super().__init__(key, _guarded_main.__name__, theirs)
        theirs.close()
        self._tasks = 0
        self._first: tuple[Any, ...] = ()
        self.deadline = self._seconds = 0.0
        self._overdue = False
        with contextlib.suppress(OSError):
            self.pipe.send(key[1])

    def send(self, function: Callable[..., Any], task: tuple[Any, ...], seconds: float) -> None:
        self._tasks += 1
        self._seconds = seconds
        self._restart_clock()
        if self._tasks == 1:
            self.deadline += _SECONDS_TO_START  # until it reports that it has received the task
        known = bool(task and self._first) and task[0] is self._first[0]
        self._first = task[:1]
        sent = (
            self._tasks,
            function,
            known,
            task[1:] if known else task,
            seconds,
            working_folder(),
        )
        self.limit_transfers(self.deadline - time.monotonic() + _GRACE)
        try:
            self.pipe.send(sent)
        except BlockingIOError:
            self.deadline = 0.0  # it is suspended: answer() kills it
        except OSError:
            pass  # the process died: answer() reports it

    def _restart_clock(self) -> None:
        self.deadline = time.monotonic() + (1 + _SLACK) * self._seconds

    def answer(self) -> tuple[bool, Any] | None:
        """Return whether the task succeeded, and its result or exception; None: not finished."""
        dead = self.process.poll() is not None  # polled before the pipe, which may still hold data
        try:
            while self.pipe.poll():
                with self._ended_at_the_deadline():
                    number, good, result, clean = self.pipe.recv()
                if number != self._tasks:  # from a process that an earlier task forked
                    continue
                if good is None:
                    self._restart_clock()
                    continue
                if not good:
                    self._first = ()  # it may be the argument that could not be received
                if clean and not self._overdue:
                    _keep(self)
                else:
                    self.kill()
                return good, result
        except BlockingIOError:
            self.deadline = 0.0
        except (EOFError, OSError):
            dead = True
        except Exception as error:  # noqa: BLE001 - the answer cannot be unpickled
            self.kill()
            return False, _portable(error)
        if dead or time.monotonic() > self.deadline:
            self.kill()
            return True, Ended(not dead or self._overdue, self._seconds)
        return None

    @contextlib.contextmanager
    def _ended_at_the_deadline(self) -> Iterator[None]:
        """End the worker if it has begun an answer and does not complete it.

        The time limit of a transfer is no deadline: it starts again with every byte.
        """

        def end() -> None:
            self._overdue = True
            self._tell_guard()

        timer = threading.Timer(max(0.0, self.deadline - time.monotonic()) + _GRACE, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _tell_guard(self) -> None:
        with contextlib.suppress(OSError):
            self._alive.send_bytes(b"end")  # closing is not enough if a fork holds the pipe

    def kill(self) -> None:
        """Kill the worker and every process that it started."""
        if self.process.poll() is None:
            self._tell_guard()
        self._alive.close()
        if _LINUX:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_SECONDS_TO_END + 1)
        elif hasattr(os, "killpg"):
            with contextlib.suppress(OSError):
                if os.getpgid(self.process.pid) == self.process.pid:
                    os.killpg(self.process.pid, signal.SIGKILL)
        super().kill()


def _start(entry: str, *pipes: Any) -> subprocess.Popen[bytes]:
    """Start a process that imports only this module and calls one of its functions.

    A :mod:`multiprocessing` process would run the caller's main module again, and a joblib process
    takes more than twice as long to start.
    """
    program = (
        "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
        "from arena.utils import processes; "
        "getattr(processes, sys.argv[2])(*map(int, sys.argv[3:]))"
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


def _fork(entry: str, *pipes: Any) -> _Forked:
    """Fork this process, and call one of the functions of this module in the fork."""
    descriptors = [pipe.fileno() for pipe in pipes]
    pid = os.fork()
    if pid:
        return _Forked(pid)
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        # All other files of the parent. Of its own pipe, too: the worker ends when that is closed.
        ends = [2, *sorted(descriptors), os.sysconf("SC_OPEN_MAX")]
        for before, after in itertools.pairwise(ends):
            os.closerange(before + 1, after)
        globals()[entry](*descriptors)
    finally:
        os._exit(0)  # without what the parent does at its end


class _Forked:
    """A process that was forked, with what :class:`subprocess.Popen` has for a worker."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self, options: int = os.WNOHANG if _LINUX else 0) -> int | None:
        """Return the exit code; None: it is running."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self) -> int:
        """Return the exit code once the process has ended."""
        return self.poll(0) or 0

    def kill(self) -> None:
        """Kill the process, if it is running."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes with SIGINT blocked: on Ctrl-C the parent kills them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_idle: list[_Worker] = []
_idle_lock = threading.Lock()
_MOST_IDLE = 8
_Kind = TypeVar("_Kind", _WatchedWorker, _GuardedWorker)


def _idle_worker(kind: type[_Kind], key: Any) -> _Kind:
    """Return an idle process of this kind and key, or a new one."""
    with _idle_lock:
        # A fork of this process must not write to the pipes of its parent.
        own = [one for one in _idle if one.owner == os.getpid()]
        found = next((one for one in own if isinstance(one, kind) and one.suits(key)), None)
        _idle[:] = [one for one in own if one is not found]
    if found is not None and found.process.poll() is None:
        found.key = key
        return found
    if found is not None:
        found.kill()
    return kind(key)


def _keep(worker: _Worker) -> None:
    """Keep a process for the next call; of more than eight the oldest is killed."""
    with _idle_lock:
        _idle.append(worker)
        ended = [_idle.pop(0) for _ in range(len(_idle) - _MOST_IDLE)]
    for one in ended:
        one.kill()


@atexit.register
def _end_all() -> None:
    for worker in _idle:
        if worker.owner == os.getpid():
            worker.kill()


# -- the guard -------------------------------------------------------------------------------------

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


@functools.cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    _libc().prctl(option, value, 0, 0, 0)


def _guard(worker: int, watched: Any) -> None:
    """Wait until the worker ends or the pipe is closed, then kill all descendants."""
    from multiprocessing.connection import wait

    signal.signal(signal.SIGTERM, lambda *_: _end_descendants())
    try:
        wait([watched, os.pidfd_open(worker)])
    except (AttributeError, OSError):  # a kernel before 5.3, or a system call filter
        while not watched.poll(0.05) and os.waitpid(worker, os.WNOHANG)[0] == 0:
            pass
    _end_descendants()


def _end_descendants() -> None:
    """Kill all descendants of this process, then exit."""
    until = time.monotonic() + _SECONDS_TO_END
    while (found := descendants(os.getpid())) and time.monotonic() < until:
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.001)
    os._exit(0)


def descendants(root: int) -> list[int]:
    """Return the ids of the running descendants of a process (Linux).

    >>> descendants(2**22 + 1)
    []
    """
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                # State and parent follow the name, which is in brackets and may contain brackets.
                fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(folder.name))
    found: list[int] = []
    reached = [root]
    while reached:
        own = children.get(reached.pop(), [])
        found += own
        reached += own
    return found


# -- results with arrays ---------------------------------------------------------------------------

_KEPT_BYTES = 2**24
"""A shared file that is larger is emptied after each result."""


def _shared_file() -> Any:
    """Return an unbuffered file without a name, in memory if the system supports it."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("arena"), "r+b", buffering=0)
    import tempfile

    return tempfile.TemporaryFile(buffering=0)


def _send(pipe: Any, file: Any, answer: Any) -> None:
    """Send an object; the content of its arrays goes through the file, which needs no copies."""
    import pickle

    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(answer, protocol=5, buffer_callback=buffers.append)
    file.seek(0)
    for buffer in buffers:
        rest = buffer.raw()
        while rest:
            rest = rest[file.write(rest) :]
    pipe.send((head, [buffer.raw().nbytes for buffer in buffers]))


def _receive(pipe: Any, file: Any) -> Any:
    """Return an object from :func:`_send`."""
    import pickle

    head, sizes = pipe.recv()
    buffers = [bytearray(size) for size in sizes]
    file.seek(0)
    for buffer in buffers:
        rest = memoryview(buffer)
        while rest:
            count = file.readinto(rest)
            if not count:
                raise RuntimeError("a worker process wrote less than it announced")
            rest = rest[count:]
    if sum(sizes) > _KEPT_BYTES:
        file.truncate(0)
    return pickle.loads(head, buffers=buffers)  # noqa: S301 - from our own process


# -- in the worker process -------------------------------------------------------------------------


def _enter(folder: str | None) -> None:
    """Change to a folder; to the root if it was removed."""
    try:
        os.chdir(folder or "/")
    except OSError:
        os.chdir("/")


class _Watchdog:
    """Terminates the process when a call exceeds the time limit."""

    def __init__(self, seconds: float, null: Any) -> None:
        self._seconds, self._null = seconds, null
        self._set_at = -1e9

    def start(self) -> None:
        """Restart the timer, unless that was done a moment ago: each restart starts a thread."""
        if time.monotonic() - self._set_at > _SLACK * self._seconds:
            self._set_at = time.monotonic()
            limit = (1 + _SLACK) * self._seconds
            faulthandler.dump_traceback_later(limit, exit=True, file=self._null)

    @staticmethod
    def stop() -> None:
        faulthandler.cancel_dump_traceback_later()


class _Announcer:
    """Notifies the parent process when a part of a task begins."""

    def __init__(self, pipe: Any, number: int, seconds: float) -> None:
        self._pipe, self._number, self._seconds = pipe, number, seconds
        self._process = os.getpid()
        self._at = -1e9

    def start(self) -> None:
        """Restart the time limit of the task, unless that was done a moment ago."""
        if time.monotonic() - self._at > _SLACK * self._seconds and os.getpid() == self._process:
            self._at = time.monotonic()
            with contextlib.suppress(OSError):
                self._pipe.send((self._number, None, None, True))


_clock: _Watchdog | _Announcer | None = None


def _watched_main(descriptor: int, buffers_descriptor: int) -> None:
    """Run tasks under a watchdog until the pipe is closed."""
    global _clock  # noqa: PLW0603 - one clock per worker process
    from multiprocessing.connection import Connection

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and kills this process
    usual = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *usual[1:])
    # Arrow's default allocator reserves up to 1 GiB at once, which would count as memory in use.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    pipe, buffers = Connection(descriptor), os.fdopen(buffers_descriptor, "r+b", buffering=0)
    null = open(os.devnull, "w")  # noqa: PTH123, SIM115 - open until the process ends
    at_start: int | None = None
    shared: tuple[Any, ...] = ()
    while True:
        try:
            function, task, (takes_shared, sent), seconds, limits, folder = pipe.recv()
        except (EOFError, OSError):
            return
        except Exception as error:  # noqa: BLE001 - raised in the parent process
            _send(pipe, buffers, (False, _portable(error), False))
            continue
        _enter(folder)
        if limits is not None and HAS_LIMITS:
            at_start = at_start or _data_bytes()
            _limit(limits, at_start)
        _clock = watchdog = _Watchdog(seconds, null)
        watchdog.start()
        shared = sent or shared
        with one_thread_each():
            answer = _run(function, (*task, *shared) if takes_shared else task)
        watchdog.stop()
        gc.set_threshold(*usual)
        swollen = (
            at_start is not None
            and limits is not None
            and (_data_bytes() > at_start + _KEPT_SHARE * limits.memory)
        )
        try:
            _send(pipe, buffers, (*answer, swollen))
        except OSError:
            return
        except Exception as error:  # noqa: BLE001 - the result cannot be pickled
            _send(pipe, buffers, (False, _portable(error), swollen))


def _guarded_main(descriptor: int, watched_descriptor: int) -> None:
    """Fork a worker that runs tasks until the pipe is closed, and become its guard."""
    from multiprocessing.connection import Connection

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and kills this process
    pipe, watched = Connection(descriptor), Connection(watched_descriptor)
    if _LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        guard = os.getpid()
        worker = os.fork()  # safe: no library with threads is imported yet
        if worker:
            pipe.close()
            _guard(worker, watched)
        watched.close()
    else:
        if hasattr(os, "setpgrp"):
            os.setpgrp()
        threading.Thread(target=_end_with, args=(watched,), daemon=True).start()
    try:
        confinement = pipe.recv()
        if _LINUX:
            _confine(confinement)
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != guard:
                return
        _work(pipe)
    finally:
        os._exit(0)


def _end_with(watched: Any) -> None:
    with contextlib.suppress(EOFError, OSError):
        watched.recv_bytes()
    os._exit(1)


def _work(pipe: Any) -> None:
    """Run tasks; an answer holds the task's number and whether it left no child process behind."""
    global _clock  # noqa: PLW0603 - one clock per worker process
    own = os.getpid()
    number = 0
    first: tuple[Any, ...] = ()
    while True:
        try:
            number, function, known, task, seconds, folder = pipe.recv()
        except (EOFError, OSError):
            return
        except Exception as error:  # noqa: BLE001 - raised in the parent process
            pipe.send((number + 1, False, _portable(error), True))
            continue
        task = (*first, *task) if known else task
        first = task[:1]
        _enter(folder)
        _clock = _Announcer(pipe, number, seconds)
        _clock.start()
        with one_thread_each():
            answer = _run(function, task)
        if os.getpid() != own:
            os._exit(0)  # the task forked, and both processes returned
        clean = not (_LINUX and _left_behind(own))
        try:
            pipe.send((number, *answer, clean))
        except OSError:
            return
        except Exception as error:  # noqa: BLE001 - the result cannot be pickled
            pipe.send((number, False, _portable(error), clean))


def _left_behind(worker: int) -> bool:
    """Return whether processes that a task started are still running."""
    guard = os.getppid()
    try:
        tasks = [Path(f"/proc/{guard}/task/{guard}"), *Path(f"/proc/{worker}/task").iterdir()]
        found = " ".join((task / "children").read_text() for task in tasks).split()
    except OSError:  # a kernel without these lists, or a thread that has just ended
        found = [str(pid) for pid in descendants(guard)]
    return set(found) != {str(worker)}


def _data_bytes() -> int:
    """Return the bytes of this process that ``RLIMIT_DATA`` counts."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[5])
    return pages * resource.getpagesize()


def _limit(limits: Limits, at_start: int) -> None:
    import resource

    wanted = {
        resource.RLIMIT_DATA: at_start + limits.memory,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CORE: 0,
    }
    if limits.processor_seconds is not None:
        wanted[resource.RLIMIT_CPU] = math.ceil(time.process_time()) + limits.processor_seconds
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, hard))


def _run(function: Callable[..., Any], task: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        return True, function(*task)
    except BaseException as error:  # noqa: BLE001 - raised in the parent process
        return False, _portable(error)


def _portable(error: BaseException) -> Exception:
    """Return an exception that can be pickled and is no SystemExit or KeyboardInterrupt."""
    import pickle

    with contextlib.suppress(Exception):
        if isinstance(error, Exception) and isinstance(
            pickle.loads(pickle.dumps(error)),  # noqa: S301 - our own
            type(error),
        ):
            return error
    with contextlib.suppress(Exception):
        return RuntimeError(f"{type(error).__name__}: {error}")
    return RuntimeError(type(error).__name__)


# -- namespaces and limits (Linux) -----------------------------------------------------------------

_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
_LOCKED_FLAGS = {os.ST_NOSUID: 2, os.ST_NODEV: 4, os.ST_NOEXEC: 8} if _LINUX else {}


def _confine(confinement: Confinement) -> None:
    """Apply each limit that this kernel supports."""
    import resource

    if confinement.memory is not None:
        # Allocated memory, not address space: libraries map far more than they use.
        most = int(confinement.memory * 2**20)
        with contextlib.suppress(OSError, ValueError):
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            capped = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (capped, capped))
    if not confinement.network and _unshare(_CLONE_NEWNET):
        _start_loopback()
    if confinement.read_only is not None and _unshare(_CLONE_NEWNS):
        _make_read_only(confinement.read_only)


def _unshare(namespace: int) -> bool:
    """Enter a new namespace, together with a new user namespace if that needs privileges."""
    if _libc().unshare(namespace) == 0:
        return True
    user, group = os.geteuid(), os.getegid()
    if _libc().unshare(_CLONE_NEWUSER | namespace) != 0:
        return False
    # Keep the same user and group ids inside the user namespace.
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
    for name, own in (("uid_map", user), ("gid_map", group)):
        with contextlib.suppress(OSError):
            Path(f"/proc/self/{name}").write_text(f"{own} {own} 1")
    return True


def _start_loopback() -> None:
    import fcntl
    import socket
    import struct

    up_and_running = 0x1 | 0x40
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        set_flags = 0x8914
        fcntl.ioctl(one, set_flags, struct.pack("16sh22x", b"lo", up_and_running))


def _make_read_only(folder: Path) -> None:
    mount, path = _libc().mount, os.fsencode(folder)
    if mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) != 0:
        return
    if mount(path, path, None, _MS_BIND | _MS_REC, None) != 0:
        return
    with contextlib.suppress(OSError):
        now = os.statvfs(path).f_flag
        kept = sum(flag for shown, flag in _LOCKED_FLAGS.items() if now & shown)
        mount(path, path, None, _MS_BIND | _MS_REMOUNT | _MS_RDONLY | kept, None)
