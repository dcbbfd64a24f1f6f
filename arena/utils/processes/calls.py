"""Calls of one function in worker processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from arena.utils.processes.limits import HAS_LIMITS, Confinement, Ended, Limits
from arena.utils.processes.workers import (
    GuardedWorker,
    WatchedWorker,
    idle_worker,
    prepare,
    wait_for,
)


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
    the same purpose and limits, unless it still holds a quarter of the memory limit. The result has
    a type of :mod:`~arena.utils.processes.plain`, because the process may have read a hostile file.
    An exception in the function is raised here. If a process ends within its limits, the call is
    made once more: something else may have killed it.

    Parameters
    ----------
    function
        A function of a module that a new process can import.
    task
        Its arguments, which are pickled.
    seconds
        The time limit, or that of each part of a task that calls :func:`start_clock`.
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
    call = (purpose, limits), function, task, seconds, shared
    good, result = _call_once(*call)
    if _was_killed(result):
        good, result = _call_once(*call)
    if not good:
        raise result
    return result


def _call_once(
    key: tuple[str, Limits | None],
    function: Callable[..., Any],
    task: tuple[Any, ...],
    seconds: float,
    shared: Any,
) -> tuple[bool, Any]:
    """Return whether a call succeeded, and its result or exception."""
    worker = idle_worker(WatchedWorker, key)
    try:
        if shared is None:
            worker.send(function, (), task, seconds)
        else:
            worker.send(_with_shared_last, (shared,), (function, *task), seconds)
        while (answer := worker.answer()) is None:
            wait_for([worker])
    except BaseException:
        worker.kill()
        raise
    return answer


def _was_killed(result: Any) -> bool:
    """Return whether a process ended, and no limit of time was the reason."""
    return isinstance(result, Ended) and not result.too_long


def prepare_limited(purpose: str, processes: int = 1) -> None:
    """Fork worker processes for the first calls of :func:`call_limited` with this purpose.

    A new process spends a tenth of a second on imports that this one has done. A fork has the
    memory of this process: call it before this process has read anything that an attacker must not
    learn, and before it has started threads or opened a database. Does nothing where a process
    cannot be forked safely: outside Linux, or if there are other threads.
    """
    if HAS_LIMITS and threading.active_count() == 1:
        for _ in range(processes):
            prepare(purpose)


def _with_shared_last(shared: Any, function: Callable[..., Any], *task: Any) -> Any:
    return function(*task, shared)


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
    killed. If a process ends within its limits, its task runs once more: something else may have
    killed it.

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
    The result, of a type of :mod:`~arena.utils.processes.plain`, or :class:`Ended` for a task whose
    process ended. An exception is raised here.

    Examples
    --------
    >>> list(run_limited(pow, [(2, 3), (3, 2)], workers=1, seconds=60.0))
    [8, 9]
    """
    key = (purpose, confinement or Confinement())
    waiting = enumerate(tasks)
    busy: dict[GuardedWorker, tuple[int, tuple[Any, ...]]] = {}
    repeated: set[int] = set()
    done: dict[int, tuple[bool, Any]] = {}
    turn = 0

    def start(position: int, task: tuple[Any, ...]) -> None:
        worker = idle_worker(GuardedWorker, key)
        busy[worker] = position, task
        worker.send(function, task[:1], task[1:], seconds)

    try:
        while True:
            while len(busy) < workers and (drawn := next(waiting, None)) is not None:
                start(*drawn)
            if not busy:
                return
            wait_for(busy)
            for worker in list(busy):
                answer = worker.answer()
                if answer is None:
                    continue
                position, task = busy.pop(worker)
                if _was_killed(answer[1]) and position not in repeated:
                    repeated.add(position)
                    start(position, task)
                else:
                    done[position] = answer
            while turn in done:
                good, result = done.pop(turn)
                if not good:
                    raise result
                yield result
                turn += 1
    finally:
        for worker in busy:
            worker.kill()
