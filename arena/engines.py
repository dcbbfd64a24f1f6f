"""Where many trainings run: on this machine, on a Dask cluster or on Ray, through joblib.

What a task returns depends on its arguments only, and every task has one BLAS thread: the numbers
are the same on any engine and any number of workers.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import urlsplit

from arena.errors import InputError, UsageError
from arena.execution import available_workers, one_thread_each, run_tasks
from arena.worker_processes import Ended, run_limited

__all__ = ["ENGINES", "Engine", "local_engine", "open_engine"]

ENGINES = ("local", "dask", "ray")
_Result = TypeVar("_Result")
_SECONDS_TO_ANSWER = 5.0
_SECONDS_TO_CONNECT = 30.0
_SAME_EVERYWHERE = ("arena", "lightgbm", "numpy", "scikit-learn")


@dataclass(frozen=True, slots=True, eq=False)
class Engine:
    """Runs tasks somewhere."""

    name: str
    workers: int
    """How many tasks run at once."""
    run_batch: Callable[[Callable[..., Any], tuple[Any, ...], list[tuple[Any, ...]]], list[Any]]
    """Takes function, shared arguments and tasks; unused on this machine."""

    def run(
        self,
        function: Callable[..., _Result],
        shared: tuple[Any, ...],
        tasks: Iterable[tuple[Any, ...]],
    ) -> Iterator[_Result]:
        """Yield ``function(*shared, *task)`` for each task, in order.

        ``shared`` is sent to each machine once, not with each task. On a cluster two batches of as
        many tasks as there are workers are what an interruption can lose.

        >>> list(local_engine(1).run(pow, (2,), [(3,), (4,)]))
        [8, 16]
        """
        if self.name == "local":
            whole = ((*shared, *task) for task in tasks)
            yield from run_tasks(function, whole, workers=self.workers, processes=True)
            return
        pending = iter(tasks)
        while batch := list(islice(pending, 2 * self.workers)):
            yield from self.run_batch(function, shared, batch)


def _none(*_: Any) -> list[Any]:
    return []


def local_engine(workers: int) -> Engine:
    """Return the engine of this machine; 0: one process per processor."""
    return Engine("local", workers or available_workers(), _none)


@contextlib.contextmanager
def open_engine(name: str, address: str | None = None, workers: int = 0) -> Iterator[Engine]:
    """Connect to an engine, and let go of it in the end.

    Parameters
    ----------
    name
        ``local``, ``dask`` or ``ray``.
    address
        Of Dask's scheduler (``tcp://host:8786``) or of Ray (``ray://host:10001``, or
        ``host:6379`` from a machine of its cluster); None: a Ray on this machine for the while.
    workers
        0: as many as the engine has.

    Raises
    ------
    UsageError
        If there is no such engine, or it needs an address.
    InputError
        If it does not answer, is not installed, has no workers, or other versions.
    """
    if name not in ENGINES:
        raise UsageError(f"There is no engine {name!r}; there are {', '.join(ENGINES)}.")
    if name == "local":
        yield local_engine(workers)
        return
    opener = _dask if name == "dask" else _ray
    if address is not None:
        _probe(address, name)
        _try(opener, name, address)
    with opener(address, workers) as engine:
        yield engine


def _probe(address: str, name: str) -> None:
    """Refuse an address where nobody listens: the clients would try again for minutes."""
    parts = urlsplit(address if "//" in address else f"//{address}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or port is None:
        raise UsageError(f"The address {address!r} of {name} is not of the form host:port.")
    try:
        socket.create_connection((host, port), timeout=_SECONDS_TO_ANSWER).close()
    except OSError as error:
        reason = error.strerror or error
        raise InputError(
            f"{name} does not answer at {address}: {reason}. Start it there, or train on this "
            f"machine with --engine local."
        ) from error


def _try(opener: Callable[..., Any], name: str, address: str) -> None:
    """Connect in a process that can be ended: a client waits for ever where somebody is silent."""
    (answer,) = run_limited(
        _connect, [(opener, address)], workers=1, seconds=_SECONDS_TO_CONNECT, purpose="engine"
    )
    if isinstance(answer, Ended):
        raise InputError(
            f"{name} does not answer at {address}, although something listens there: {answer}. "
            f"Look whether it is {name}, or train on this machine with --engine local.{_hint(name)}"
        )


def _hint(name: str) -> str:
    """Say what a cluster of Ray may want: it leaves who has no token without an answer."""
    said = " If its cluster was started with tokens, set RAY_AUTH_MODE=token here, too."
    return said if name == "ray" else ""


def _connect(opener: Callable[..., Any], address: str) -> None:
    with opener(address, 0):
        pass


def _missing(name: str, error: ImportError) -> InputError:
    return InputError(
        f"The engine {name} is not installed here ({error.name}): pip install 'arena[{name}]'."
    )


@contextlib.contextmanager
def _dask(address: str | None, workers: int) -> Iterator[Engine]:
    try:
        from distributed import Client
    except ImportError as error:
        raise _missing("dask", error) from error
    if address is None:
        raise UsageError("--engine dask needs --scheduler, such as tcp://host:8786.")
    try:
        client = Client(address, timeout=_SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise InputError(f"No scheduler of Dask answers at {address}: {error}") from error
    with client:
        _check_versions(client.run(_by_value(_versions)), address)
        found = workers or sum(client.nthreads().values())
        yield Engine("dask", found, _joblib_batches("dask", found, client=client))


def _by_value(function: Callable[[tuple[str, ...]], Any]) -> Callable[[], Any]:
    """Return a call that a worker without arena can make: it is sent as code, not as a name."""
    import types

    copied = types.FunctionType(function.__code__, {"__builtins__": __builtins__})

    def call(names: tuple[str, ...] = _SAME_EVERYWHERE) -> Any:
        return copied(names)

    call.__module__ = copied.__module__ = "__main__"
    return call


def _versions(names: tuple[str, ...]) -> Any:
    from importlib import metadata as found

    versions = {}
    for name in names:
        try:
            versions[name] = found.version(name)
        except found.PackageNotFoundError:
            versions[name] = "none"
    return versions


def _check_versions(found: Mapping[str, Mapping[str, str]], address: str) -> None:
    """Refuse workers on which a task would fail, or give other numbers."""
    if not found:
        raise InputError(f"The scheduler at {address} has no workers. Start some, then try again.")
    here = {name: metadata.version(name) for name in _SAME_EVERYWHERE}
    for worker, versions in sorted(found.items()):
        for name, version in here.items():
            if versions[name] != version:
                raise InputError(
                    f"The worker {worker} has {name} {versions[name]}, but this machine has "
                    f"{version}. Install the same there: the numbers depend on it."
                )


@contextlib.contextmanager
def _ray(address: str | None, workers: int) -> Iterator[Engine]:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise _missing("ray", error) from error
    options: dict[str, Any] = {"num_cpus": workers} if address is None and workers else {}
    try:
        ray.init(address=address or "local", logging_level="ERROR", log_to_driver=False, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"Ray does not answer at {address}: {reason}.{_hint('ray')}") from error
    try:
        register_ray()
        found = workers or int(ray.cluster_resources().get("CPU", 1))
        yield Engine("ray", found, _ray_batches(found))
    finally:
        ray.shutdown()


def _joblib_batches(backend: str, workers: int, **options: Any) -> Callable[..., list[Any]]:
    def run(
        function: Callable[..., Any], shared: tuple[Any, ...], batch: list[tuple[Any, ...]]
    ) -> list[Any]:
        from joblib import Parallel, delayed, parallel_config

        scattered = {"scatter": list(shared)} if backend == "dask" and shared else {}
        with parallel_config(backend=backend, n_jobs=workers, **options, **scattered):
            calls = (delayed(_limited)(function, *shared, *task) for task in batch)
            return list(Parallel(batch_size=1)(calls))

    return run


def _ray_batches(workers: int) -> Callable[..., list[Any]]:
    run = _joblib_batches("ray", workers)
    put: dict[int, Any] = {}

    def run_shared(
        function: Callable[..., Any], shared: tuple[Any, ...], batch: list[tuple[Any, ...]]
    ) -> list[Any]:
        import ray

        reference = put.setdefault(id(shared), ray.put(shared))
        return run(_fetched, (), [(function, [reference], task) for task in batch])

    return run_shared


def _fetched(function: Callable[..., Any], references: list[Any], task: tuple[Any, ...]) -> Any:
    import ray

    return function(*ray.get(references[0]), *task)


def _limited(function: Callable[..., Any], *arguments: Any) -> Any:
    with one_thread_each():
        return function(*arguments)
