"""The same numbers from this machine, a Dask cluster and Ray; both only where installed."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import socket
import socketserver
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import clusters
from arena.errors import ArenaError, InputError, UsageError
from arena.simulation.ranks.model_cache import ModelsFolder
from arena.simulation.ranks.training import describe_models, train_models
from arena.utils.distribution import DISTRIBUTION
from arena.utils.engines import (
    SAME_EVERYWHERE,
    check_scheduler,
    check_versions,
    local_engine,
    open_engine,
    worker_versions,
)
from checkout import python_path

GRID = """
rounds = 8
early_stopping = 3
[search]
num_leaves = [4, 8, 16]
"""
N_MODELS = 5


@pytest.fixture
def search(manager, tmp_path):
    (tmp_path / "grid.toml").write_text(GRID, encoding="utf-8")
    return manager.competitors.resolve(f"lightgbm(grid={str(tmp_path / 'grid.toml')!r})")


def trained(world, search, path, engine):
    about = describe_models(world, search, 7)
    folder = ModelsFolder.open(path, about, world.population.n_rows)
    assert train_models(world, search, folder, N_MODELS, seed=7, engine=engine) == N_MODELS
    return [np.asarray(folder.get(number)) for number in range(N_MODELS)]


@pytest.mark.slow
def test_local_workers_give_the_same_models(world, search, tmp_path):
    by_one = trained(world, search, tmp_path / "one", local_engine(1))
    two = trained(world, search, tmp_path / "two", local_engine(2))
    assert all((a == b).all() for a, b in zip(by_one, two, strict=True))
    assert not (by_one[0] == by_one[1]).all()


def test_more_models_leave_the_first_as_they_are(world, search, tmp_path):
    few = ModelsFolder.open(
        tmp_path / "m", describe_models(world, search, 7), world.population.n_rows
    )
    train_models(world, search, few, 2, seed=7, engine=local_engine(1))
    first = np.array(few.get(1))
    assert train_models(world, search, few, 3, seed=7, engine=local_engine(1)) == 1
    assert (few.get(1) == first).all()


def test_versions_are_compared():
    here = worker_versions((*SAME_EVERYWHERE, "no-such-package"))
    assert here.pop("no-such-package") == "none"
    check_versions({"tcp://a:1": here}, "tcp://s:1")
    with pytest.raises(InputError, match="arena-leaderboard 0.0"):
        check_versions({"tcp://a:1": {**here, DISTRIBUTION: "0.0"}}, "tcp://s:1")
    with pytest.raises(InputError, match="no workers"):
        check_versions({}, "tcp://s:1")
    check_scheduler({**here, "numpy": "none"}, "tcp://s:1")
    with pytest.raises(InputError, match="scheduler at tcp://s:1 has arena none, but"):
        check_scheduler(worker_versions((DISTRIBUTION,)) | {DISTRIBUTION: "none"}, "tcp://s:1")


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_engines_that_are_not_there(name):
    started = time.monotonic()
    with pytest.raises(ArenaError, match="does not answer"), open_engine(name, "127.0.0.1:1"):
        pass
    with pytest.raises(UsageError, match="host:port"), open_engine(name, "here"):
        pass
    assert time.monotonic() - started < 120


def test_a_scheduler_without_an_engine_that_uses_it_is_refused():
    with pytest.raises(UsageError, match="--engine dask or"), open_engine("local", "127.0.0.1:1"):
        pass


class Answers(socketserver.BaseRequestHandler):
    """Sends bytes that begin with no length of a message of Dask."""

    def handle(self):
        with contextlib.suppress(OSError):
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("distributed"), reason="dask is not installed")
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("scheme", ["tcp", "http", "tls", "foo"])
def test_what_is_no_scheduler_of_dask_is_refused_with_a_sentence(scheme):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        with (
            pytest.raises(InputError, match=f"No scheduler of Dask answers at {address} "),
            open_engine("dask", address),
        ):
            pass
        server.shutdown()


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("distributed"), reason="dask is not installed")
@pytest.mark.filterwarnings("default")
def test_a_listener_that_is_silent_is_given_up(monkeypatch):
    monkeypatch.setattr("arena.utils.engines.SECONDS_TO_CONNECT", 10.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        started = time.monotonic()
        with pytest.raises(InputError, match="although"), open_engine("dask", address):
            pass
    assert time.monotonic() - started < 200


def with_other_numba(folder, monkeypatch):
    """Let processes that are started from now on find another version of numba."""
    (folder / "numba-0.0.dist-info").mkdir()
    (folder / "numba-0.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: numba\nVersion: 0.0\n"
    )
    monkeypatch.setenv("PYTHONPATH", python_path(folder))


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("distributed"), reason="dask is not installed")
@pytest.mark.filterwarnings("default")
def test_a_worker_of_other_versions_is_refused_also_if_it_joins_late(tmp_path, monkeypatch):
    with clusters.dask_cluster() as address, open_engine("dask", address) as engine:
        with_other_numba(tmp_path, monkeypatch)
        call = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"]
        worker = subprocess.Popen([*call, "--no-nanny", "--no-dashboard", "--name", "late"])
        try:
            with pytest.raises(InputError, match=r"The worker on .* has numba 0\.0, but"):
                for _ in engine.run(pow, (2,), ((n % 7,) for n in itertools.count())):
                    pass
            with (
                pytest.raises(InputError, match=r"The worker tcp://.* has numba 0\.0, but"),
                open_engine("dask", address),
            ):
                pass
        finally:
            worker.kill()
            worker.wait(60)


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("distributed"), reason="dask is not installed")
@pytest.mark.filterwarnings("default")
def test_dask_cluster_gives_the_same_models(world, search, tmp_path):
    with clusters.dask_cluster() as address, open_engine("dask", address) as engine:
        assert engine.workers == 2
        on_cluster = trained(world, search, tmp_path / "dask", engine)
    here = trained(world, search, tmp_path / "here", local_engine(1))
    assert all((a == b).all() for a, b in zip(here, on_cluster, strict=True))


@pytest.mark.slow
@pytest.mark.timeout(1_500)
@pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="ray is not installed")
@pytest.mark.filterwarnings("default")
def test_ray_gives_the_same_models_and_a_killed_worker_costs_its_task_only(
    world, search, tmp_path, monkeypatch
):
    # Ray starts its workers without the sys.path of this process.
    monkeypatch.setenv("PYTHONPATH", python_path(Path(clusters.__file__).parent))
    with clusters.ray_here(2) as engine:
        on_cluster = trained(world, search, tmp_path / "ray", engine)
        tasks = [(number,) for number in range(8)]
        squares = list(engine.run(clusters.killed_once, (tmp_path, 5), tasks))
    assert squares == [number**2 for number in range(8)]
    assert sorted((tmp_path / "runs").read_text().split()) == list("012345567")
    here = trained(world, search, tmp_path / "here", local_engine(1))
    assert all((a == b).all() for a, b in zip(here, on_cluster, strict=True))
