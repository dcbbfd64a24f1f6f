"""The same numbers from this machine, a Dask cluster and Ray; both only where installed."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from arena.engines import _check_versions, _versions, local_engine, open_engine
from arena.errors import ArenaError, InputError, UsageError
from arena.simulation.models_folder import ModelsFolder
from arena.simulation.training import describe_models, train_models

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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_local_workers_give_the_same_models(world, search, tmp_path):
    one = trained(world, search, tmp_path / "one", local_engine(1))
    two = trained(world, search, tmp_path / "two", local_engine(2))
    assert all((a == b).all() for a, b in zip(one, two, strict=True))
    assert not (one[0] == one[1]).all()


def test_more_models_leave_the_first_as_they_are(world, search, tmp_path):
    few = ModelsFolder.open(
        tmp_path / "m", describe_models(world, search, 7), world.population.n_rows
    )
    train_models(world, search, few, 2, seed=7, engine=local_engine(1))
    first = np.array(few.get(1))
    assert train_models(world, search, few, 3, seed=7, engine=local_engine(1)) == 1
    assert (few.get(1) == first).all()


def test_versions_are_compared():
    here = _versions(("arena", "lightgbm", "numpy", "scikit-learn", "no-such-package"))
    assert here.pop("no-such-package") == "none"
    _check_versions({"tcp://a:1": here}, "tcp://s:1")
    with pytest.raises(InputError, match="arena 0.0 but|has arena 0.0"):
        _check_versions({"tcp://a:1": {**here, "arena": "0.0"}}, "tcp://s:1")
    with pytest.raises(InputError, match="no workers"):
        _check_versions({}, "tcp://s:1")


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_engines_that_are_not_there(name):
    started = time.monotonic()
    with pytest.raises(ArenaError, match="does not answer"), open_engine(name, "127.0.0.1:1"):
        pass
    with pytest.raises(UsageError, match="host:port"), open_engine(name, "here"):
        pass
    assert time.monotonic() - started < 20


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("distributed"), reason="dask is not installed")
@pytest.mark.filterwarnings("default")
def test_a_listener_that_is_silent_is_given_up(monkeypatch):
    monkeypatch.setattr("arena.engines._SECONDS_TO_CONNECT", 10.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        started = time.monotonic()
        with pytest.raises(InputError, match="although"), open_engine("dask", address):
            pass
    assert time.monotonic() - started < 60


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("distributed"), reason="dask is not installed")
@pytest.mark.filterwarnings("default")
def test_dask_cluster_gives_the_same_models(world, search, tmp_path):
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    tool = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    local = ["--host", "127.0.0.1", "--port", str(port), "--dashboard-address", "127.0.0.1:0"]
    started = [subprocess.Popen([*tool, *local], cwd=tmp_path)]
    try:
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", address]
        for _ in range(2):
            own = ["--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
            started.append(subprocess.Popen([*worker, *own], cwd=tmp_path))
        wait_for_workers(address)
        with open_engine("dask", address) as engine:
            assert engine.workers == 2
            there = trained(world, search, tmp_path / "dask", engine)
    finally:
        for one in reversed(started):
            one.terminate()
            one.wait(timeout=30)
    here = trained(world, search, tmp_path / "here", local_engine(1))
    assert all((a == b).all() for a, b in zip(here, there, strict=True))


def wait_for_workers(address):
    from distributed import Client

    for _ in range(60):
        try:
            with Client(address, timeout=2, set_as_default=False) as client:
                client.wait_for_workers(2, timeout=30)
            return
        except (OSError, TimeoutError):
            time.sleep(0.5)
    raise AssertionError("the cluster did not come up")


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="ray is not installed")
@pytest.mark.filterwarnings("default")
def test_ray_gives_the_same_models(world, search, tmp_path):
    with open_engine("ray", None, 2) as engine:
        there = trained(world, search, tmp_path / "ray", engine)
    here = trained(world, search, tmp_path / "here", local_engine(1))
    assert all((a == b).all() for a, b in zip(here, there, strict=True))
