"""Clusters for tests: Dask with two worker processes, and one without processes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from arena.utils.engines import Cluster, Engine, open_engine


class LostError(Exception):
    """Every worker that held a shared object has ended."""


class GoneError(Exception):
    """The cluster has ended."""


class InProcess:
    """A cluster that runs a task when its result is asked for, on copies of the arguments."""

    def __init__(self, faults: Mapping[int, type[Exception]] | None = None) -> None:
        self.shared: list[Any] = []
        self.calls = self.most_under_way = 0
        self._faults = faults or {}
        self._under_way = 0

    def engine(self, workers: int = 2) -> Engine:
        cluster = Cluster(self._share, self._submit, self._result, (LostError,), (GoneError,))
        return Engine("dask", workers, cluster)

    def _share(self, objects: tuple[Any, ...]) -> list[Any]:
        self.shared.append(objects)
        self._under_way = 0
        return [pickle.dumps(value) for value in objects]

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        n_shared = len(self.shared[-1])
        shared_arguments = [pickle.loads(argument) for argument in arguments[:n_shared]]  # noqa: S301 - our own
        shared_arguments += pickle.loads(pickle.dumps(arguments[n_shared:]))  # noqa: S301
        self._under_way += 1
        self.most_under_way = max(self.most_under_way, self._under_way)
        return function, shared_arguments

    def _result(self, handle: Any) -> Any:
        self.calls += 1
        self._under_way -= 1
        if self.calls in self._faults:
            raise self._faults[self.calls]
        function, arguments = handle
        return pickle.loads(pickle.dumps(function(*arguments)))  # noqa: S301


@contextlib.contextmanager
def dask_cluster() -> Iterator[str]:
    """Start two worker processes, and yield the address of their scheduler, in this process."""
    from distributed import LocalCluster

    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2,
        threads_per_worker=1,
        scheduler_port=0,
        dashboard_address=None,
        worker_dashboard_address=None,
        memory_limit=0,
    ) as cluster:
        yield cluster.scheduler_address


@contextlib.contextmanager
def ray_here(workers: int, attempts: int = 10) -> Iterator[Engine]:
    """Start Ray on this machine; on a busy one it gives up after 30 s, and is started again."""
    with contextlib.ExitStack() as stack:
        for left in reversed(range(attempts)):
            try:
                engine = stack.enter_context(open_engine("ray", None, workers))
            except Exception as error:
                if "timed out during startup" not in str(error) or not left:
                    raise
            else:
                break
        yield engine


def killed_once(folder: Path, killed: int, number: int) -> int:
    """Return the square of a number; the first process that is to square ``killed`` is killed."""
    with (folder / "runs").open("a") as runs:
        fcntl.flock(runs, fcntl.LOCK_EX)
        runs.write(f"{number}\n")
    if number == killed and not (folder / "killed").exists():
        (folder / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.2)
    return number**2
