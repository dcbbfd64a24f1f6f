"""A stranger's plugin, installed into an environment of its own, stands where ours do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import venv
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from checkout import python_path
from program import write_csv

EXAMPLE = Path(__file__).parents[2] / "examples" / "third_party_plugin"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an environment that sees arena as it is installed here, and install the example."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder / "venv", with_pip=True)
    site = next((folder / "venv" / "lib").glob("python*/site-packages"))
    here = sysconfig.get_paths()["purelib"]
    (site / "arena_of_the_tests.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    shutil.copytree(EXAMPLE, folder / "example")
    _run(folder, "python", "-m", "pip", "install", "--quiet", "--no-deps", "./example")
    return folder


def _run(folder: Path, program: str, *arguments: object) -> str:
    executable = folder / "venv" / "bin" / program
    done = subprocess.run(
        [str(executable), *map(str, arguments)],
        cwd=folder,
        env={
            "PATH": f"{executable.parent}:/usr/bin:/bin",
            "HOME": str(folder),
            "COLUMNS": "120",
            "PYTHONPATH": python_path(),
            **{key: os.environ[key] for key in ("NUMBA_CACHE_DIR",) if key in os.environ},
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _arena(folder: Path, *arguments: object) -> str:
    return _run(folder, "python", "-m", "arena", *arguments)


@pytest.fixture(scope="module")
def files(environment: Path) -> Path:
    rng = np.random.default_rng(8)
    truth = rng.lognormal(size=200)
    usage = ["Public" if row % 3 == 0 else "Private" for row in range(200)]
    rows = [(f"r{row}", repr(float(truth[row])), usage[row]) for row in range(200)]
    write_csv(environment / "solution.csv", ["id", "y", "Usage"], rows)
    (environment / "submissions").mkdir()
    for noise in (1, 2, 3):
        guess = truth * np.exp(0.06 * noise * rng.normal(size=200))
        cells = [(f"r{row}", repr(float(guess[row]))) for row in range(200)]
        write_csv(environment / "submissions" / f"team-{noise}.csv", ["id", "y"], cells)
    return environment


def test_its_own_tests_pass(environment: Path) -> None:
    output = _run(environment, "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "example")
    assert "5 passed" in output


def test_it_is_listed_with_its_version(environment: Path) -> None:
    output = _arena(environment, "plugins")
    assert "arena_example" in output
    assert "arena-example 0.1.0" in output
    assert "margin" in _arena(environment, "--help")
    assert "None of 13 checks failed" in _arena(environment, "metrics", "within", "--check")


def test_its_metric_analysis_and_command_are_used(files: Path) -> None:
    output = _arena(
        files, "score", "solution.csv", "submissions", "--metric", "within(percent=5)", "--json"
    )
    document = json.loads(output)
    findings = {finding["analysis"]: finding for finding in document["findings"]}
    first, second = document["standings"][:2]
    assert findings["lead"]["verdict"].startswith(f"{first['team']} is ")
    (files / "board.json").write_text(output)
    lead = first["score"] - second["score"]
    assert f"{lead:.4g} ahead of {second['team']}" in _arena(files, "margin", "board.json")


def test_its_mechanism_releases(files: Path) -> None:
    _arena(
        files, "init", "race", "--solution", "solution.csv", "--metric", "within",
        "--mechanism", "steps(step=0.3)",
    )  # fmt: skip
    answers = [
        json.loads(_arena(files, "submit", path, "--team", "one", "-C", "race", "--json"))
        for path in sorted((files / "submissions").iterdir(), reverse=True)
    ]
    released = [answer["released"] for answer in answers]
    assert released[0] < 1
    assert released == sorted(released)
    steps = [after - before for before, after in pairwise(released)]
    assert all(step == 0 or step >= 0.3 for step in steps)
