"""The program as a user runs it, and a small competition to run it on."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from competition_folder import IDS as FEW_IDS
from competition_folder import INIT, write_file, write_solution
from program import run_here, run_program, write_csv

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the width of the terminal in which the tests run."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def arena(tmp_path: Path) -> Run:
    """Run ``arena ARGUMENTS…`` as a process, in the folder of the test."""
    return partial(run_program, cwd=tmp_path)


@pytest.fixture
def arena_here(tmp_path: Path) -> Run:
    """Run ``arena ARGUMENTS…`` in this process, in the folder of the test."""
    return partial(run_here, cwd=tmp_path)


@pytest.fixture
def competition(tmp_path: Path) -> Path:
    """Write a small competition in the folder of the test."""
    return write_competition(tmp_path)


@pytest.fixture(scope="session")
def scored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Score a small competition once, for the tests that only read what came out."""
    folder = write_competition(tmp_path_factory.mktemp("scored"))
    called = run_here(
        "score", "solution.csv", "submissions", "--metric", "roc_auc", "--resamples", 200,
        "--json", cwd=folder,
    )  # fmt: skip
    assert called.returncode == 0, called.stderr
    return folder, json.loads(called.stdout)


def write_competition(tmp_path: Path) -> Path:
    """Write solution.csv and submissions/ of six teams, one of them refused."""
    rng = np.random.default_rng(11)
    n_rows = 300
    ids = [f"r{row:03d}" for row in range(n_rows)]
    truth = rng.random(n_rows) < 0.4
    labels = np.where(truth, "yes", "no")
    usage = np.where(rng.random(n_rows) < 0.3, "Public", "Private")
    usage[:5] = "Ignored"
    write_csv(
        tmp_path / "solution.csv",
        ["id", "outcome", "Usage"],
        list(zip(ids, labels, usage, strict=True)),
    )
    for strength, team in enumerate(["guess", "weak", "fair", "good", "best"]):
        score = rng.normal(size=n_rows) + 0.6 * strength * truth
        rows = [(i, repr(float(s))) for i, s in zip(ids, score, strict=True)]
        rng.shuffle(rows)
        write_csv(tmp_path / "submissions" / f"{team}.csv", ["id", "outcome"], rows)
    broken = [(i, "much") for i in ids[:-2]]
    write_csv(tmp_path / "submissions" / "broken" / "try 1.csv", ["id", "outcome"], broken)
    return tmp_path


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a competition once, with a folder of four submissions; one of them is rejected."""
    folder = tmp_path_factory.mktemp("made")
    write_solution(folder)
    for number, team in enumerate(["a", "b", "c"], start=1):
        write_file(folder / "files" / f"{team}.csv", number)
    write_csv(folder / "files" / "d.csv", ["id", "y"], [(i, "much") for i in FEW_IDS])
    called = run_here(*INIT, "--public-share", 0.5, "--title", "[red]Trial", cwd=folder)
    assert called.returncode == 0, called.stderr
    assert "20 public rows, 20 private" in called.stdout
    return folder


@pytest.fixture
def here(made_once: Path, tmp_path: Path) -> Path:
    """Return a competition of one's own, in a folder with its solution and files."""
    return Path(shutil.copytree(made_once, tmp_path / "work"))


@pytest.fixture
def arena_there(here: Path) -> Run:
    """Run a command in the folder of the competition, within this process."""
    return partial(run_here, cwd=here / "c")
