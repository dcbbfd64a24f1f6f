"""Tasks on a cluster: their order, what is shared, and workers that end."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import clusters
from arena.errors import InputError, UsageError
from arena.utils import engines
from arena.utils.distribution import DISTRIBUTION
from arena.utils.engines import (
    Engine,
    OneThreadOutput,
    call_checked,
    check_scheduler,
    check_versions,
    cluster_in_use,
    open_engine,
    ray_engine,
    using,
    versions_here,
    worker_versions,
)
from arena.utils.processes import Ended
from checkout import python_path
from clusters import GoneError, InProcess, LostError, dask_cluster, killed_once

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "bench_engines.py"


def power(base, exponent):
    return base**exponent


def test_results_come_in_order_and_two_tasks_a_worker_are_under_way():
    cluster = InProcess()
    found = list(cluster.engine(3).run(power, (2,), ((n,) for n in range(20))))
    assert found == [2**n for n in range(20)]
    assert cluster.shared == [(2,)]
    assert cluster.most_under_way == 6


def test_shared_objects_that_are_lost_are_sent_again():
    cluster = InProcess({4: LostError, 9: LostError})
    assert list(cluster.engine().run(power, (3,), ((n,) for n in range(9)))) == [
        3**n for n in range(9)
    ]
    assert cluster.shared == [(3,), (3,), (3,)]
    assert cluster.calls == 11  # a result that was received is not computed again


@pytest.mark.parametrize("faults", [dict.fromkeys(range(2, 9), LostError), {2: GoneError}])
def test_a_cluster_that_ends_is_given_up_with_a_sentence(faults):
    run = InProcess(faults).engine().run(power, (3,), [(1,), (2,)])
    assert next(run) == 3
    with pytest.raises(InputError, match="dask gave up a task.*Error"):
        next(run)


def test_workers_that_ended_between_two_runs_are_a_sentence():
    def share(objects):
        raise TimeoutError("no workers")

    cluster = InProcess().engine().cluster
    engine = Engine("dask", 2, dataclasses.replace(cluster, share=share))
    with pytest.raises(InputError, match="dask gave up a task.*TimeoutError"):
        list(engine.run(power, (3,), [(1,)]))


def test_a_worker_that_joins_late_is_refused_if_its_versions_differ():
    assert call_checked(versions_here(), power, 2, 3) == 8
    others = tuple(
        (name, "0.0" if name == "numba" else version) for name, version in versions_here()
    )
    for _ in range(2):
        with pytest.raises(
            InputError, match=r"worker on .* has numba .*, but this machine has 0\.0"
        ):
            call_checked(others, power, 2, 3)


def test_what_other_threads_print_is_not_on_the_standard_output(capsys):
    with contextlib.redirect_stdout(OneThreadOutput()):
        print("own")
        thread = threading.Thread(target=print, args=("a worker has died",))
        thread.start()
        thread.join()
    said = capsys.readouterr()
    assert (said.out, said.err) == ("own\n", "a worker has died\n")


class PrintsAtTheEnd:
    """As much of Ray as is called when nothing is computed."""

    exceptions = SimpleNamespace(ObjectLostError=LostError, RayError=GoneError)

    def init(self, **options):
        return SimpleNamespace(address_info={"session_dir": "/no-such-folder"})

    def remote(self, *function, **options):
        # The versions are asked for even if all processors are busy.
        assert options == ({} if function else {"num_cpus": 0})
        return lambda _: SimpleNamespace(remote=lambda: None)

    def cluster_resources(self):
        return self.resources

    def get(self, _):
        return dict(versions_here())

    def shutdown(self):
        print("Task call_checked failed. [repeated 2x across cluster]")


@pytest.mark.parametrize(("resources", "workers"), [({"CPU": 6.0}, 6), ({}, 1)])
def test_ray_has_a_worker_for_each_of_its_processors(resources, workers):
    ray = PrintsAtTheEnd()
    ray.resources = resources
    for n_wanted, expected in ((0, workers), (4, 4)):
        with contextlib.contextmanager(ray_engine)(ray, "a:1", n_wanted, {}) as engine:
            assert engine.workers == expected


def test_what_ray_prints_at_its_end_is_not_on_the_standard_output(capsys):
    with contextlib.contextmanager(ray_engine)(PrintsAtTheEnd(), "a:1", 2, {}) as engine:
        assert engine.workers == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "repeated" in said.err


class Head:
    """The part of Ray that tells whether it runs."""

    def __init__(self):
        self.connected, self.n_checks = False, 0
        self.alive = [("n1", True), ("n2", False)]
        self.exceptions = SimpleNamespace(RaySystemError=GoneError)
        self.util = SimpleNamespace(client=SimpleNamespace(ray=self))

    def is_connected(self):
        self.n_checks += 1
        return self.connected

    def get_runtime_context(self):
        return SimpleNamespace(gcs_address="head:6379", get_node_id=lambda: "n1")

    def nodes(self):
        return [{"NodeID": node, "Alive": alive} for node, alive in self.alive]


@pytest.mark.parametrize("silence", ["no connection", "this node is dead", "it left"])
def test_ray_is_asked_every_ten_seconds_and_given_up_after_twenty_five(monkeypatch, silence):
    now, head = [100.0], Head()

    def connect(place, timeout):
        assert (place, timeout) == (("head", 6379), 5.0)
        if silent and silence == "no connection":
            raise ConnectionRefusedError
        return io.BytesIO()

    monkeypatch.setattr(engines, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr("socket.create_connection", connect)
    silent = False
    check = engines.RayCheck(head)
    for seconds, n_checks in ((109.9, 0), (110.0, 1), (119.9, 1), (120.0, 2)):
        now[0] = seconds
        check()
        assert head.n_checks == n_checks
    silent = True
    if silence != "no connection":
        head.alive = [("n2", True), *([("n1", False)] if silence == "this node is dead" else [])]
    for seconds in (130.0, 144.9):  # it answered at 120 last
        now[0] = seconds
        check()
    now[0] = 154.9
    with pytest.raises(GoneError, match="Ray has ended"):
        check()
    head.connected = True
    now[0] = 165.0
    check()
    head.connected = False
    now[0] = 190.0
    with pytest.raises(GoneError):
        check()


def test_a_cluster_is_in_use_until_it_is_closed():
    outer, inner = InProcess().engine(), InProcess().engine()
    with using(outer):
        with using(inner):
            assert cluster_in_use() is inner
        assert cluster_in_use() is outer
        with open_engine("local", None, 1) as local:
            assert local.workers == 1
            assert cluster_in_use() is outer
    assert cluster_in_use() is None


LOCAL = (
    "--scheduler names a cluster, and --engine local uses none: add --engine dask or --engine ray, "
    "or leave --scheduler out."
)


@pytest.mark.parametrize(
    ("name", "address", "sentence"),
    [
        ("spark", None, "There is no engine 'spark'; there are local, dask, ray."),
        ("local", "a:1", LOCAL),
        ("dask", "host", "The address 'host' of dask is not of the form host:port."),
        ("ray", "ray://host", "The address 'ray://host' of ray is not of the form host:port."),
        ("dask", ":8786", "The address ':8786' of dask is not of the form host:port."),
        ("dask", "a:x", "The address 'a:x' of dask is not of the form host:port."),
    ],
)
def test_an_engine_that_cannot_be_opened_is_refused_in_a_sentence(name, address, sentence):
    with pytest.raises(UsageError) as refused, open_engine(name, address):
        pass
    assert str(refused.value) == sentence


def test_an_address_where_nothing_listens_is_refused_at_once(monkeypatch):
    asked = []

    def refuse(place, *, timeout):
        asked.append((place, timeout))
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr("socket.create_connection", refuse)
    for address in ("tcp://host:8786", "host:8786"):
        with pytest.raises(InputError) as refused, open_engine("dask", address):
            pass
        assert str(refused.value) == (
            f"dask does not answer at {address}: connection refused. Start it there, or use this "
            "machine with --engine local."
        )
    assert asked == [(("host", 8786), 5.0)] * 2


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_a_service_that_listens_and_is_silent_is_refused_after_a_trial(monkeypatch, name):
    trials, answer = [], None

    def run_limited(function, tasks, **limits):
        trials.append((tasks[0][1], limits))
        return [answer]

    @contextlib.contextmanager
    def opened(address, workers):
        yield (address, workers)

    monkeypatch.setattr("socket.create_connection", lambda *_, **__: io.BytesIO())
    monkeypatch.setattr(engines, "run_limited", run_limited)
    monkeypatch.setattr(engines, f"{name}_engine_at", opened)
    with open_engine(name, "host:1", workers=3) as engine:
        assert engine == ("host:1", 3)
        assert cluster_in_use() is engine
    assert trials == [("host:1", {"workers": 1, "seconds": 60.0, "purpose": "engine"})]
    answer = Ended(too_long=True, seconds=60.0)
    with pytest.raises(InputError) as refusal, open_engine(name, "host:1", workers=3):
        pass
    hint = " If its cluster was started with tokens, set RAY_AUTH_MODE=token here, too."
    assert str(refusal.value) == (
        f"{name} does not answer at host:1, although something listens there: it took longer than "
        f"60 s and was stopped. Check that it is {name}, or use this machine with --engine local."
        + (hint if name == "ray" else "")
    )


def test_workers_and_schedulers_of_other_versions_are_refused():
    here = dict(versions_here())
    check_versions({"w": here}, "a:1")
    check_scheduler(here, "a:1")
    with pytest.raises(InputError) as none:
        check_versions({}, "a:1")
    assert str(none.value) == "The scheduler at a:1 has no workers. Start some and try again."
    with pytest.raises(InputError) as other:
        check_versions({"w2": here, "w1": {**here, "numpy": "0"}}, "a:1")
    assert str(other.value) == (
        f"The worker w1 has numpy 0, but this machine has {here['numpy']}. Install the same there: "
        "the numbers depend on it."
    )
    own = here[DISTRIBUTION]
    with pytest.raises(InputError) as scheduler:
        check_scheduler({**here, DISTRIBUTION: "0"}, "a:1")
    assert str(scheduler.value) == (
        f"The scheduler at a:1 has arena 0, but this machine has {own}. Install the same where it "
        "runs: it reads the tasks."
    )
    assert worker_versions((DISTRIBUTION, "no-such-package")) == {
        DISTRIBUTION: own,
        "no-such-package": "none",
    }


@pytest.mark.parametrize(
    ("address", "message", "sentence"),
    [
        ("a:1", "No answer.\nMore", "Ray does not answer at a:1: No answer. If its cluster"),
        (None, "", "Ray does not start here: ValueError. If its cluster was started with tokens,"),
    ],
)
def test_ray_that_cannot_be_reached_is_a_sentence(address, message, sentence):
    class Silent(PrintsAtTheEnd):
        def init(self, **options):
            assert options["address"] == (address or "local")
            raise ValueError(message)

    with (
        pytest.raises(InputError) as refused,
        contextlib.contextmanager(ray_engine)(Silent(), address, 0, {}),
    ):
        pass
    assert str(refused.value).startswith(sentence)
    assert str(refused.value).endswith("set RAY_AUTH_MODE=token here, too.")


def test_shared_objects_that_are_lost_a_fourth_time_are_given_up():
    for losses, is_given_up in ((3, False), (4, True)):
        cluster = InProcess(dict.fromkeys(range(1, losses + 1), LostError))
        run = cluster.engine(1).run(power, (3,), [(1,)])
        if is_given_up:
            with pytest.raises(InputError, match="dask gave up a task"):
                list(run)
        else:
            assert list(run) == [3]


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("distributed"), reason="dask is not installed")
@pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="ray is not installed")
def test_the_benchmark_of_the_engines_ends_with_its_ratios():
    called = subprocess.run(
        [sys.executable, BENCHMARK, "--tasks", "4", "--seconds", "0.1", "--repeats", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert called.returncode == 0, called.stderr
    ratios = json.loads(called.stdout.splitlines()[-1])["ratios"]
    assert list(ratios) == ["local", "dask", "ray"]
    assert all(own["waiting"] >= 1 for own in ratios.values())


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("distributed"), reason="dask is not installed")
@pytest.mark.filterwarnings("default")
def test_a_killed_worker_costs_its_tasks_only(tmp_path):
    with dask_cluster() as address, open_engine("dask", address) as engine:
        assert engine.workers == 2
        tasks = [(number,) for number in range(12)]
        assert list(engine.run(pow, (), [(2, 3), (3, 2)])) == [8, 9]
        found = list(engine.run(killed_once, (tmp_path, 5), tasks))
    assert found == [number**2 for number in range(12)]
    assert (tmp_path / "killed").exists()
    runs = collections.Counter((tmp_path / "runs").read_text().split())
    assert set(runs) == {str(number) for number in range(12)}
    assert runs["5"] == 2
    # Beside it, what was under way: two tasks a worker, with results not yet fetched.
    assert runs.total() - 12 <= 4


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="ray is not installed")
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("part", ["gcs_server", "raylet"])
def test_ray_that_ends_is_a_sentence_before_it_ends_this_process(part):
    code = f"""
import os, signal, subprocess, sys, time
from arena.errors import InputError, UsageError
from arena.utils.distribution import DISTRIBUTION
from arena.utils import engines
from clusters import ray_here

engines._SECONDS_TO_NOTICE = engines._SECONDS_OF_SILENCE = 2.0
with ray_here(1) as engine:
    results = engine.run(time.sleep, (), [(0.0,), *[(600.0,)] * 3])
    next(results)
    (number,) = subprocess.check_output(["pgrep", "-P", str(os.getpid()), "{part}"]).split()
    os.kill(int(number), signal.SIGKILL)
    try:
        next(results)
    except InputError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**os.environ, "PYTHONPATH": python_path(Path(clusters.__file__).parent)},
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert "ray gave up a task" in done.stdout, done.stderr[-2_000:]


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="ray is not installed")
@pytest.mark.filterwarnings("default")
def test_ray_that_was_started_here_leaves_no_process_and_no_folder():
    import ray

    with clusters.ray_here(1) as engine:
        assert list(engine.run(pow, (2,), [(3,)])) == [8]
        name = ray.get_runtime_context().get_session_name()
        started = children_named(name)
        assert len(started) >= 2
        folder = Path(tempfile.gettempdir(), "ray", name)
        assert folder.is_dir()
    assert not folder.exists()
    assert not children_named(name)


def children_named(part):
    """Return the command lines of this process's children that contain a text."""
    found = subprocess.run(
        ["pgrep", "-a", "-f", "-P", str(os.getpid()), part],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.splitlines()


class Later:
    """A result of Dask: after some waits it is a value or an error."""

    def __init__(self, value, waits=0):
        self.value, self.waits = value, waits

    def result(self, timeout=None):
        if self.waits and timeout is not None:
            assert timeout == 10.0
            self.waits -= 1
            raise TimeoutError
        if isinstance(self.value, Exception):
            raise self.value
        return self.value

    def done(self):
        return not self.waits


class Client:
    """The part of Dask's client that arena calls."""

    def __init__(self, address, *, timeout, set_as_default):
        assert (address, timeout, set_as_default) == ("a:1", 60.0, False)
        self.threads, self.calls = {"w1": 2, "w2": 1}, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.calls.append("closed")

    def run_on_scheduler(self, call):
        return call()

    def run(self, call):
        return {"w1": call()}

    def nthreads(self):
        if isinstance(self.threads, Exception):
            raise self.threads
        return self.threads

    def scatter(self, objects, *, broadcast, hash):
        assert (broadcast, hash) == (True, False)
        return [f"shared {shared_object}" for shared_object in objects]

    def submit(self, function, versions, *call, pure):
        assert (function, versions, pure) == (call_checked, versions_here(), False)
        return Later(call)


@pytest.fixture
def dask(monkeypatch):
    """Return a module in the place of Dask, whose clients are kept."""
    clients = []

    def connect(*arguments, **options):
        clients.append(Client(*arguments, **options))
        return clients[-1]

    fake = SimpleNamespace(Client=connect, made=clients)
    for name, module in {
        "distributed": fake,
        "distributed.comm.core": SimpleNamespace(CommClosedError=GoneError),
        "distributed.scheduler": SimpleNamespace(KilledWorker=LostError),
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    return fake


def test_dask_has_a_worker_for_each_thread_and_gets_calls_with_versions(dask):
    for n_wanted, expected in ((0, 3), (2, 2)):
        with engines.dask_engine_at("a:1", n_wanted) as engine:
            assert (engine.name, engine.workers) == ("dask", expected)
            cluster = engine.cluster
            assert cluster.share(()) == []
            assert cluster.share(("x", "y")) == ["shared x", "shared y"]
            assert cluster.submit(pow, 2, 3).value == (pow, 2, 3)
            assert cluster.gone == (LostError, GoneError)
        assert dask.made[-1].calls == ["closed"]


def test_a_cluster_of_dask_without_workers_is_waited_for_with_one_warning(dask, caplog):
    with engines.dask_engine_at("a:1", 0) as engine:
        result, (client,) = engine.cluster.result, dask.made
        assert result(Later(7)) == 7
        client.threads = OSError("no answer")
        assert result(Later(8, waits=2)) == 8
        assert caplog.text == ""
        client.threads = {}
        assert result(Later(9, waits=3)) == 9
        assert [record.message for record in caplog.records] == [
            "The scheduler at a:1 has no workers: its tasks wait for new ones."
        ]
        for error in (TimeoutError("of the task"), ZeroDivisionError()):
            with pytest.raises(type(error)):
                result(Later(error))


def test_dask_that_cannot_be_reached_is_a_sentence(dask, monkeypatch):
    with pytest.raises(UsageError, match="^--engine dask needs --scheduler, such as tcp://host:87"):
        engines.dask_engine_at(None, 0).__enter__()

    def refuse(*_, **__):
        raise OSError("Timed out.\nmore")

    dask.Client = refuse
    with pytest.raises(InputError) as refusal:
        engines.dask_engine_at("a:1", 0).__enter__()
    assert str(refusal.value) == (
        "No scheduler of Dask answers at a:1 (Timed out). Check the address, and that the "
        "versions of Dask are the same."
    )
    for name, opener in (("distributed", engines.dask_engine_at), ("ray", engines.ray_engine_at)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(InputError, match=rf"is not installed here \({name}.*\): pip install"):
            opener("a:1", 0).__enter__()


def test_a_result_of_ray_is_waited_for_and_its_error_is_that_of_the_task(monkeypatch):
    class Slow(PrintsAtTheEnd):
        exceptions = SimpleNamespace(
            **vars(PrintsAtTheEnd.exceptions),
            GetTimeoutError=type("GetTimeoutError", (Exception,), {}),
            RayTaskError=type("RayTaskError", (Exception,), {"cause": ZeroDivisionError("of it")}),
        )
        answers = ()

        def get(self, handle, timeout=None):
            if timeout is None:
                return super().get(handle)
            assert (handle, timeout) == ("handle", 10.0)
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        def put(self, shared_object):
            return f"shared {shared_object}"

    ray = Slow()
    monkeypatch.setattr(engines, "RayCheck", lambda _: lambda: None)
    with contextlib.contextmanager(ray_engine)(ray, "a:1", 2, {}) as engine:
        cluster = engine.cluster
        assert cluster.share(("x",)) == ["shared x"]
        ray.answers = [ray.exceptions.GetTimeoutError(), 7]
        assert cluster.result("handle") == 7
        ray.answers = [ray.exceptions.RayTaskError()]
        with pytest.raises(ZeroDivisionError, match="of it"):
            cluster.result("handle")
        assert cluster.lost == (LostError,)
        assert cluster.gone == (GoneError, ConnectionError)


@pytest.mark.parametrize(
    ("address", "workers", "options"),
    [(None, 2, {"num_cpus": 2}), (None, 0, {}), ("a:1", 2, {}), ("a:1", 0, {})],
)
def test_ray_that_is_started_here_has_as_many_processors_as_workers(
    monkeypatch, address, workers, options
):
    monkeypatch.setitem(sys.modules, "ray", "ray")
    monkeypatch.setattr(engines, "ray_engine", lambda *arguments: iter([arguments]))
    with engines.ray_engine_at(address, workers) as arguments:
        assert arguments == ("ray", address, workers, options)
