"""Every benchmark starts as a script, and ends with one line of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
SMALLEST = {
    "bench_attack": "--scale 0.01 --runs 1",
    "bench_auc_ranks": "--scale 0.01 --rows 1000",
    "bench_bayes_error": "--scale 0.001",
    "bench_commands": "--submissions 10,20 --teams 5 --rows 40 --until audit",
    "bench_foreign": "--scale 0.002 --workers 1",
    "bench_growth": "--submissions 10 --teams 5 --team 1 --repeats 1 --scope team",
    "bench_intake": "--scale 0.01",
    "bench_objects": "--scale 0.01",
    "bench_pointwise_ranks": "--scale 0.01 --rows 1000",
    "bench_rank_intervals": "--scale 0.01",
    "bench_release": "--scale 0.01 --repeats 1 --metric accuracy",
    "bench_serve": "--seconds 1 --kills 0 --rows 200",
    "bench_simulate": "--rows 200 --models 1 --runs 1",
    "bench_slow_clients": "--clients 30 --most-seconds 600",
    "bench_sota": "--scale 0.01 --repeats 1",
    "bench_store": "--scale 0.01",
    "bench_submit": "--scale 0.01",
    "bench_team_training": "--rounds 1 --runs 1",
}
"""Options of the smallest run of each script.

That of bench_slow_clients fails if a slow client is not closed or a read beside them fails. It
measures how soon; here a busy machine may take longer.
"""


def run(name: str, *options: str) -> str:
    called = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert called.returncode == 0, called.stderr
    return called.stdout


def test_every_script_is_run() -> None:
    assert {path.stem for path in FOLDER.glob("bench_*.py")} == set(SMALLEST)


@pytest.mark.campaign  # a small run of each is in the slow run
@pytest.mark.parametrize("name", SMALLEST)
def test_a_script_explains_its_options(name: str) -> None:
    assert "--help" in run(name, "--help")


@pytest.mark.parametrize("name", ["bench_serve", "bench_slow_clients"])
def test_a_missing_extra_is_named_in_one_sentence(name: str) -> None:
    script = str(FOLDER / f"{name}.py")
    without = f"""
import importlib.util, runpy, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "uvicorn" else find(name, *more)
sys.argv = [{script!r}]
sys.path.insert(0, {str(FOLDER)!r})
runpy.run_path({script!r}, run_name="__main__")
"""
    called = subprocess.run(
        [sys.executable, "-c", without], capture_output=True, text=True, check=False
    )
    assert called.returncode == 1
    assert called.stderr == f'{name}.py needs the extra serve: pip install ".[serve]".\n'


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name == "bench_slow_clients" else ())
        for name in SMALLEST
    ],
)
def test_a_small_run_ends_with_its_result(name: str) -> None:
    assert isinstance(json.loads(run(name, *SMALLEST[name].split()).splitlines()[-1]), dict)
