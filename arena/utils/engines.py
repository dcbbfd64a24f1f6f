"""Engines that run many tasks: this machine, a Dask cluster or Ray.

The result of a task depends on its arguments only, and every task has one BLAS thread: the numbers
are the same on any engine and any number of workers.

A cluster that :func:`open_engine` has connected to is in use until it is closed, as with
``joblib.parallel_config``: scoring finds it by :func:`cluster_in_use`, also if an analysis of a
plugin calls it.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import shutil
import socket
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import metadata
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from arena.errors import InputError, UsageError
from arena.utils.distribution import DISTRIBUTION, how_to_install, installed_version
from arena.utils.file_errors import reason_of
from arena.utils.parallel import available_workers, call_with_one_thread, run_tasks
from arena.utils.processes import Ended, run_limited

ENGINES = ("local", "dask", "ray")
_Result = TypeVar("_Result")
_SECONDS_TO_ANSWER = 5.0
SECONDS_TO_CONNECT = 60.0
"""Until a cluster that does not answer is refused."""
_SECONDS_TO_NOTICE = 10.0
"""After which a result that does not come makes this process ask whether there are workers."""
_SECONDS_OF_SILENCE = 25.0
"""A head of Ray that does not answer for so long is given up. Ray ends this process after 60."""
SAME_EVERYWHERE = (DISTRIBUTION, "lightgbm", "numba", "numpy", "pandas", "scikit-learn", "scipy")
_MOST_LOSSES = 3
"""How often shared objects are sent again after all workers that held them have ended."""


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """The three calls by which a cluster runs tasks."""

    share: Callable[[tuple[Any, ...]], list[Any]]
    """Sends objects to the cluster, and returns references that ``submit`` takes as arguments."""
    submit: Callable[..., Any]
    """Starts ``function(*arguments)`` with one BLAS thread, and returns a handle at once."""
    result: Callable[[Any], Any]
    """Waits for the result of a handle; a task whose worker ended is started on another one."""
    lost: tuple[type[BaseException], ...]
    """What ``result`` raises if every worker that held a shared object has ended."""
    gone: tuple[type[BaseException], ...]
    """What ``result`` raises if the cluster gave up the task, or ended itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Engine:
    """Runs tasks on workers."""

    name: str
    workers: int
    """The number of tasks that run at once."""
    cluster: Cluster | None = None
    """None: this machine."""

    def run(
        self,
        function: Callable[..., _Result],
        shared: tuple[Any, ...],
        tasks: Iterable[tuple[Any, ...]],
    ) -> Iterator[_Result]:
        """Yield ``function(*shared, *task)`` for each task, in order.

        ``shared`` is sent to each machine once, not with each task. On a cluster two tasks per
        worker are under way at a time: an interruption loses no more than those.

        >>> list(local_engine(1).run(pow, (2,), [(3,), (4,)]))
        [8, 16]
        """
        if self.cluster is None:
            whole = ((*shared, *task) for task in tasks)
            yield from run_tasks(function, whole, workers=self.workers, processes=True)
            return
        cluster, waiting, losses = self.cluster, iter(tasks), 0
        references = self._shared(cluster, shared)
        under_way: deque[tuple[Any, tuple[Any, ...]]] = deque()
        while True:
            for task in itertools.islice(waiting, 2 * self.workers - len(under_way)):
                under_way.append((cluster.submit(function, *references, *task), task))
            if not under_way:
                return
            try:
                result = cluster.result(under_way[0][0])
            except cluster.lost as error:
                losses += 1
                if losses > _MOST_LOSSES:
                    raise _given_up(self.name, error) from error
                references = self._shared(cluster, shared)
                for _ in range(len(under_way)):
                    _, task = under_way.popleft()
                    under_way.append((cluster.submit(function, *references, *task), task))
                continue
            except cluster.gone as error:
                raise _given_up(self.name, error) from error
            under_way.popleft()
            yield result

    def _shared(self, cluster: Cluster, objects: tuple[Any, ...]) -> list[Any]:
        """Send shared objects; the workers may have ended since the last run."""
        unreachable: tuple[type[BaseException], ...]
        unreachable = (*cluster.lost, *cluster.gone, OSError, TimeoutError)
        try:
            return cluster.share(objects)
        except unreachable as error:
            raise _given_up(self.name, error) from error


def _given_up(name: str, error: BaseException) -> InputError:
    return InputError(
        f"{name} gave up a task, because the workers that ran it ended, or the cluster did "
        f"({type(error).__name__}). Look at the memory and the logs of the workers, and start the "
        f"command again."
    )


_in_use: ContextVar[Engine | None] = ContextVar("the cluster in use", default=None)


def cluster_in_use() -> Engine | None:
    """Return the innermost cluster that is open; None: tasks run on this machine.

    >>> cluster_in_use() is None
    True
    """
    return _in_use.get()


@contextlib.contextmanager
def using(cluster: Engine) -> Iterator[None]:
    """Let :func:`cluster_in_use` return this cluster in the body."""
    before = _in_use.set(cluster)
    try:
        yield
    finally:
        _in_use.reset(before)


def local_engine(workers: int) -> Engine:
    """Return the engine of this machine; 0: one process per processor."""
    return Engine("local", workers or available_workers())


@contextlib.contextmanager
def open_engine(name: str, address: str | None = None, workers: int = 0) -> Iterator[Engine]:
    """Connect to an engine, and disconnect at the end; until then a cluster is in use.

    Parameters
    ----------
    name
        ``local``, ``dask`` or ``ray``.
    address
        Of Dask's scheduler (``tcp://host:8786``) or of Ray (``ray://host:10001``, or
        ``host:6379`` from a machine of its cluster); None: start Ray on this machine.
    workers
        0: as many as the engine has.

    Raises
    ------
    UsageError
        If there is no such engine, or it needs an address, or takes none.
    InputError
        If it does not answer, is not installed, has no workers, or other versions.
    """
    if name not in ENGINES:
        raise UsageError(f"There is no engine {name!r}; there are {', '.join(ENGINES)}.")
    if name == "local":
        if address is not None:
            raise UsageError(
                "--scheduler names a cluster, and --engine local uses none: add --engine dask or "
                "--engine ray, or leave --scheduler out."
            )
        yield local_engine(workers)
        return
    opener = dask_engine_at if name == "dask" else ray_engine_at
    if address is not None:
        _probe(address, name)
        _try(opener, name, address)
    with opener(address, workers) as engine, using(engine):
        yield engine


def _probe(address: str, name: str) -> None:
    """Refuse an address where nothing listens: the clients would retry for minutes."""
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
        reason = reason_of(error)
        raise InputError(
            f"{name} does not answer at {address}: {reason}. Start it there, or use this "
            f"machine with --engine local."
        ) from error


def _try(opener: Callable[..., Any], name: str, address: str) -> None:
    """Connect in a process that can be stopped: a client waits forever for a silent server."""
    (answer,) = run_limited(
        _connect, [(opener, address)], workers=1, seconds=SECONDS_TO_CONNECT, purpose="engine"
    )
    if isinstance(answer, Ended):
        raise InputError(
            f"{name} does not answer at {address}, although something listens there: {answer}. "
            f"Check that it is {name}, or use this machine with --engine local.{_hint(name)}"
        )


def _hint(name: str) -> str:
    """Return a hint for Ray: it does not answer clients without a token."""
    advice = " If its cluster was started with tokens, set RAY_AUTH_MODE=token here, too."
    return advice if name == "ray" else ""


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0].rstrip(".") or type(error).__name__


def _connect(opener: Callable[..., Any], address: str) -> None:
    with opener(address, 0):
        pass


def _missing(name: str, error: ImportError) -> InputError:
    return InputError(
        f"The engine {name} is not installed here ({error.name}): {how_to_install(name)}."
    )


@contextlib.contextmanager
def dask_engine_at(address: str | None, workers: int) -> Iterator[Engine]:
    """Yield an engine of a Dask cluster; without an address, of a new one on this machine."""
    try:
        from concurrent.futures import CancelledError

        from distributed import Client
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker
    except ImportError as error:
        raise _missing("dask", error) from error
    if address is None:
        raise UsageError("--engine dask needs --scheduler, such as tcp://host:8786.")
    try:
        client = Client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except Exception as error:  # another service at this address sends bytes that Dask cannot parse
        raise InputError(
            f"No scheduler of Dask answers at {address} ({_first_line(error)}). Check the address, "
            "and that the versions of Dask are the same."
        ) from error
    with client:
        check_scheduler(client.run_on_scheduler(_by_value(worker_versions)), address)
        check_versions(client.run(_by_value(worker_versions)), address)
        n_workers, versions = workers or sum(client.nthreads().values()), versions_here()

        def share(objects: tuple[Any, ...]) -> list[Any]:
            # Keys that are made of the content would name the same objects in two runs, and the
            # end of the first run could take them away from the second.
            futures = client.scatter(list(objects), broadcast=True, hash=False) if objects else ()
            return list(futures)

        def submit(*call: Any) -> Any:
            with warnings.catch_warnings():  # of arguments of 10 MB: blocks of submissions
                warnings.simplefilter("ignore")
                return client.submit(call_checked, versions, *call, pure=False)

        def result(future: Any) -> Any:
            has_warned = False
            while True:
                try:
                    return future.result(timeout=_SECONDS_TO_NOTICE)
                except TimeoutError:
                    if future.done():  # a task may raise it as well
                        return future.result()
                if not has_warned and not _has_workers(client):
                    has_warned = True
                    logging.getLogger("arena").warning(
                        "The scheduler at %s has no workers: its tasks wait for new ones.", address
                    )

        yield Engine(
            "dask",
            n_workers,
            Cluster(
                share,
                submit,
                result,
                lost=(CancelledError,),
                gone=(KilledWorker, CommClosedError),
            ),
        )


def _has_workers(client: Any) -> bool:
    try:
        return bool(client.nthreads())
    except OSError:  # the scheduler does not answer, for which the client waits
        return True


def _by_value(function: Callable[[tuple[str, ...]], Any]) -> Callable[[], Any]:
    """Return a call that a worker without arena can run: it is sent as code, not by name."""
    import types

    copied = types.FunctionType(function.__code__, {"__builtins__": __builtins__})

    def call(names: tuple[str, ...] = SAME_EVERYWHERE) -> Any:
        return copied(names)

    call.__module__ = copied.__module__ = "__main__"
    return call


def worker_versions(names: tuple[str, ...]) -> Any:
    """Return the versions of packages in this process, as each worker is asked for them."""
    from importlib import metadata

    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "none"
    return versions


def versions_here() -> tuple[tuple[str, str], ...]:
    """Return the versions that every worker must have as well."""
    return tuple((name, metadata.version(name)) for name in SAME_EVERYWHERE)


def check_versions(versions_by_worker: Mapping[str, Mapping[str, str]], address: str) -> None:
    """Refuse workers on which a task would fail, or give other numbers."""
    if not versions_by_worker:
        raise InputError(f"The scheduler at {address} has no workers. Start some and try again.")
    for worker, versions in sorted(versions_by_worker.items()):
        _compare_versions(versions_here(), worker, versions)


def check_scheduler(versions: Mapping[str, str], address: str) -> None:
    """Refuse a scheduler without this arena: it reads the tasks, but does not compute them."""
    here = installed_version()
    if versions[DISTRIBUTION] != here:
        raise InputError(
            f"The scheduler at {address} has arena {versions[DISTRIBUTION]}, but this machine has "
            f"{here}. Install the same where it runs: it reads the tasks."
        )


def _compare_versions(
    expected_versions: Iterable[tuple[str, str]], worker: str, versions: Mapping[str, str]
) -> None:
    for name, version in expected_versions:
        if versions[name] != version:
            raise InputError(
                f"The worker {worker} has {name} {versions[name]}, but this machine has "
                f"{version}. Install the same there: the numbers depend on it."
            )


def call_checked(
    expected_versions: tuple[tuple[str, str], ...],
    function: Callable[..., _Result],
    *arguments: Any,
) -> _Result:
    """Call with one BLAS thread on a worker that has these versions; it may have joined late.

    >>> call_checked((), pow, 2, 3)
    8
    """
    _check_once(expected_versions)
    return call_with_one_thread(function, *arguments)


@functools.lru_cache(maxsize=8)
def _check_once(expected_versions: tuple[tuple[str, str], ...]) -> None:
    names = tuple(name for name, _ in expected_versions)
    _compare_versions(expected_versions, f"on {socket.gethostname()}", worker_versions(names))


class OneThreadOutput:
    """The standard output for the thread that made it, and the standard error for any other.

    A thread of Ray prints on the standard output that a worker has died: no JSON would be left.
    """

    def __init__(self) -> None:
        self._thread, self._stdout = threading.get_ident(), sys.stdout

    def __getattr__(self, name: str) -> Any:
        is_own_thread = threading.get_ident() == self._thread
        return getattr(self._stdout if is_own_thread else sys.stderr, name)


class RayCheck:
    """Asks every ten seconds whether Ray's head answers, and whether Ray runs on this machine.

    If the head does not answer for a minute, Ray ends this process without an exception. If Ray's
    process on this machine has ended, Ray waits forever.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._asked = self._answered = time.monotonic()

    def __call__(self) -> None:
        """Ask if it is time to.

        Raises
        ------
        ray.exceptions.RaySystemError
            If there was no answer for a while.
        """
        now = time.monotonic()
        if now - self._asked < _SECONDS_TO_NOTICE:
            return
        self._asked = now
        if self._answers():
            self._answered = now
        elif now - self._answered >= _SECONDS_OF_SILENCE:
            raise self._ray.exceptions.RaySystemError("Ray has ended.")

    def _answers(self) -> bool:
        if self._ray.util.client.ray.is_connected():
            return True  # to ray://, which raises ConnectionError by itself
        context = self._ray.get_runtime_context()
        host, _, port = context.gcs_address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=_SECONDS_TO_ANSWER).close()
        except OSError:
            return False
        here = context.get_node_id()
        return any(node["Alive"] for node in self._ray.nodes() if node["NodeID"] == here)


@contextlib.contextmanager
def ray_engine_at(address: str | None, workers: int) -> Iterator[Engine]:
    """Yield an engine of Ray; without an address, of a new one on this machine."""
    try:
        import ray
    except ImportError as error:
        raise _missing("ray", error) from error
    options: dict[str, Any] = {"num_cpus": workers} if address is None and workers else {}
    with contextlib.redirect_stdout(cast(Any, OneThreadOutput())):
        yield from ray_engine(ray, address, workers, options)


def ray_engine(
    ray: Any, address: str | None, workers: int, options: Mapping[str, Any]
) -> Iterator[Engine]:
    """Yield the engine of a Ray cluster, or of a Ray that is started here."""
    try:
        context = ray.init(
            address=address or "local", logging_level="ERROR", log_to_driver=False, **options
        )
    except Exception as error:
        where = "does not start here" if address is None else f"does not answer at {address}"
        raise InputError(f"Ray {where}: {_first_line(error)}.{_hint('ray')}") from error
    # Ray's own folder below /tmp/ray; it would stay there.
    session_folder = context.address_info["session_dir"] if address is None else None
    try:
        versions = ray.remote(num_cpus=0)(_by_value(worker_versions))
        check_versions({str(address): ray.get(versions.remote())}, str(address))
        n_workers = workers or int(ray.cluster_resources().get("CPU", 1))
        expected_versions, checked = versions_here(), ray.remote(call_checked)

        def share(objects: tuple[Any, ...]) -> list[Any]:
            return [ray.put(object) for object in objects]

        check = RayCheck(ray)

        def result(handle: Any) -> Any:
            while True:
                check()
                try:
                    return ray.get(handle, timeout=_SECONDS_TO_NOTICE)
                except ray.exceptions.GetTimeoutError:
                    continue
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from None  # without the text of Ray's own stack

        yield Engine(
            "ray",
            n_workers,
            Cluster(
                share,
                lambda *call: checked.remote(expected_versions, *call),
                result,
                lost=(ray.exceptions.ObjectLostError,),
                gone=(ray.exceptions.RayError, ConnectionError),
            ),
        )
    except InputError:
        session_folder = None  # its logs may say why
        raise
    finally:
        # It prints how often it has suppressed a repeated message, in this thread.
        with contextlib.redirect_stdout(sys.stderr):
            ray.shutdown()
        if session_folder is not None:
            shutil.rmtree(session_folder, ignore_errors=True)
