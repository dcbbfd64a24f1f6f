"""Runs tasks in parallel on this machine, and defines progress reporting.

The result of a task depends on its arguments only, so results do not depend on the number of
workers.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from arena.errors import InputError

_Result = TypeVar("_Result")


class Progress(Protocol):
    """Receives progress reports of a long computation."""

    def say(self, message: str) -> None:
        """Report a message, one sentence."""

    def start(self, label: str, total: int) -> None:
        """Report the start of a stage of ``total`` steps."""

    def advance(self, steps: int = 1) -> None:
        """Report that ``steps`` steps of the stage are done."""


class NoProgress:
    """Ignores all progress reports."""

    def say(self, message: str) -> None:
        """Ignore the message."""

    def start(self, label: str, total: int) -> None:
        """Ignore the stage."""

    def advance(self, steps: int = 1) -> None:
        """Ignore the steps."""


def available_workers() -> int:
    """Return the number of processors that this process may use.

    >>> available_workers() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_tasks(
    function: Callable[..., _Result],
    tasks: Iterable[tuple[Any, ...]],
    *,
    workers: int,
    processes: bool = False,
) -> Iterator[_Result]:
    """Yield ``function(*task)`` for each task, in order, on ``workers`` threads or processes.

    Tasks are drawn from the iterable as workers become free: at most ``workers + 1`` are in memory
    at a time. Every task runs with one BLAS thread; otherwise its last digits would depend on the
    machine.

    Use threads for code that releases the global interpreter lock (compiled kernels, matrix
    products) and processes for all other code. An exception in a task is raised here.

    Raises
    ------
    InputError
        If a worker process is killed.

    Examples
    --------
    >>> list(run_tasks(pow, [(2, 3), (3, 2)], workers=2))
    [8, 9]
    """
    if workers > 1 and not processes:
        tasks = iter(tasks)
        ahead = deque(itertools.islice(tasks, 2))
        if len(ahead) < 2:  # a single task: starting threads would only cost time
            workers = 1
        # Popped one by one, so that finished tasks are not kept in memory.
        tasks = itertools.chain((ahead.popleft() for _ in range(len(ahead))), tasks)
    with one_thread_each():
        if workers == 1:
            for task in tasks:
                yield function(*task)
        else:
            yield from (_in_processes if processes else _in_threads)(function, tasks, workers)


def _in_threads(
    function: Callable[..., _Result], tasks: Iterable[tuple[Any, ...]], workers: int
) -> Iterator[_Result]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        started = (pool.submit(function, *task) for task in tasks)
        under_way = deque(itertools.islice(started, workers + 1))
        try:
            while under_way:
                yield under_way.popleft().result()
                under_way.extend(itertools.islice(started, 1))
        finally:
            for future in under_way:
                future.cancel()


def _in_processes(
    function: Callable[..., _Result], tasks: Iterable[tuple[Any, ...]], workers: int
) -> Iterator[_Result]:
    from concurrent.futures import BrokenExecutor

    from joblib import Parallel, delayed

    pool = Parallel(
        n_jobs=workers,
        backend="loky",
        return_as="generator",
        pre_dispatch=workers + 1,
        batch_size=1,
    )
    folder = working_folder()  # joblib keeps its processes, with the folder of their start
    try:
        yield from pool(delayed(_call_in)(folder, function, *task) for task in tasks)
    except BrokenExecutor as error:
        raise InputError(
            "A worker process of this machine crashed or was killed, possibly out of "
            "memory. Start the command again, with fewer --workers if memory is short."
        ) from error


def working_folder() -> str | None:
    """Return the current folder, in which a task runs; None if it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109 - as it is, for another process
    except FileNotFoundError:
        return None


def enter_folder(folder: str | None) -> None:
    """Change to the folder of a caller; to the root if it was removed."""
    try:
        os.chdir(folder or "/")
    except OSError:
        os.chdir("/")


def _call_in(folder: str | None, function: Callable[..., _Result], *arguments: Any) -> _Result:
    """Call in the folder of the caller, which relative paths refer to."""
    enter_folder(folder)
    return call_with_one_thread(function, *arguments)


def call_with_one_thread(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """Return ``function(*arguments)``, computed with one BLAS thread."""
    with one_thread_each():
        return function(*arguments)


def one_thread_each() -> AbstractContextManager[Any]:
    """Limit BLAS and OpenMP to one thread: the number of threads changes the last digits of sums.

    >>> with one_thread_each():
    ...     pass
    """
    limited: AbstractContextManager[Any] = _thread_pools(len(sys.modules)).limit(limits=1)
    return limited


@functools.lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> Any:  # noqa: ARG001 - the key of the cache
    """Find the libraries with thread pools (4 ms); again after new modules were imported."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
