"""Runs many tasks on the workers of this machine, with progress, through joblib.

A task's result depends on its arguments only, so the numbers are the same on any number of
workers.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

__all__ = ["Progress", "Silence", "available_workers", "one_thread_each", "run_tasks"]

_Result = TypeVar("_Result")


class Progress(Protocol):
    """Hears how far a long computation has come."""

    def say(self, message: str) -> None:
        """Hear one sentence about what comes next or what was decided."""

    def start(self, label: str, total: int) -> None:
        """Hear that a stage of ``total`` steps begins."""

    def advance(self, steps: int = 1) -> None:
        """Hear that some steps of the stage are done."""


class Silence:
    """The progress of a caller who does not want to hear anything."""

    def say(self, message: str) -> None:
        """Drop the message."""

    def start(self, label: str, total: int) -> None:
        """Drop the announcement."""

    def advance(self, steps: int = 1) -> None:
        """Drop the steps."""


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

    Tasks are drawn from the iterable as workers become free, so that a stream of large blocks
    never stands in memory as a whole: at most ``workers + 1`` are under way. Every task runs
    with one BLAS thread; otherwise its last digits would depend on the machine.

    Threads suit code that releases the interpreter's lock (compiled kernels, matrix products);
    processes suit everything else. An exception of a task is raised here.

    >>> list(run_tasks(pow, [(2, 3), (3, 2)], workers=2))
    [8, 9]
    """
    first = tuple(itertools.islice(tasks := iter(tasks), 2))
    tasks = itertools.chain(first, tasks)
    # A single task needs no other thread, whose start and end would take longer than it does.
    if workers == 1 or (len(first) < 2 and not processes):
        with one_thread_each():
            for task in tasks:
                yield function(*task)
        return
    from joblib import Parallel, delayed

    pool = Parallel(
        n_jobs=workers,
        backend="loky" if processes else "threading",
        return_as="generator",
        pre_dispatch=workers + 1,
        batch_size=1,
    )
    limited = _with_one_blas_thread if processes else _plain
    with one_thread_each():
        yield from pool(delayed(limited)(function, task) for task in tasks)


def _plain(function: Callable[..., _Result], task: tuple[Any, ...]) -> _Result:
    return function(*task)


def _with_one_blas_thread(function: Callable[..., _Result], task: tuple[Any, ...]) -> _Result:
    with one_thread_each():
        return function(*task)


def one_thread_each() -> AbstractContextManager[Any]:
    """Hold BLAS and OpenMP at one thread: how sums are split decides their last digits.

    >>> with one_thread_each():
    ...     pass
    """
    limited: AbstractContextManager[Any] = _thread_pools(len(sys.modules)).limit(limits=1)
    return limited


@functools.lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> Any:  # noqa: ARG001 - it is what the result is kept for
    """Find the libraries that have threads, which takes 4 ms, when modules were loaded since."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
