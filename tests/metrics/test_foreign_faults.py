"""An exception or bad value of a foreign metric is a fault of one file; scoring goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from program import run_here, write_csv

pytestmark = pytest.mark.slow

METRIC = """
import numpy as np


class Stop(BaseException):
    def __str__(self):
        raise self


class Broken(float):
    def __float__(self):
        raise Stop


def endless():
    return endless()


WAYS = {
    1: lambda: (_ for _ in ()).throw(Stop),
    2: lambda: 10**400,
    3: lambda: Broken(0.5),
    4: lambda: (_ for _ in ()).throw(KeyboardInterrupt),
    5: lambda: (_ for _ in ()).throw(SystemExit(0)),
    6: lambda: (_ for _ in ()).throw(GeneratorExit),
    7: endless,
    8: lambda: np.array([1.0, 2.0]),
    9: lambda: 1j,
    10: lambda: np.ma.masked,
}


def mae(truth, sent):
    way = WAYS.get(int(sent[0]))
    return way() if way else float(np.abs(truth - sent).mean())


def of_distinct(truth, sent):
    if len(np.unique(sent)) < len(sent):
        raise Stop
    return mae(truth, sent)
"""
N_ROWS, N_WAYS = 8, 10
FEW_WAYS = 3
"""These end the metric's process; the others return a bad value."""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a solution, a file that is scored, and one for each way to fail."""
    (tmp_path / "bad.py").write_text(METRIC)
    rows = [(f"r{row}", 0.5) for row in range(N_ROWS)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], rows)
    write_csv(tmp_path / "files" / "good.csv", ["id", "y"], rows)
    for way in range(1, N_WAYS + 1):
        write_csv(tmp_path / "files" / f"way{way}.csv", ["id", "y"], [("r0", way), *rows[1:]])
    return tmp_path


def keep(work: Path, ways: int) -> None:
    """Leave only the first ways to fail."""
    for way in range(ways + 1, N_WAYS + 1):
        (work / "files" / f"way{way}.csv").unlink()


@pytest.mark.parametrize("ways", [FEW_WAYS, pytest.param(N_WAYS, marks=pytest.mark.slow)])
def test_each_way_to_fail_is_a_fault_of_its_file(work: Path, ways: int) -> None:
    keep(work, ways)
    called = run_here(
        *("score", "solution.csv", "files", "-m", "bad:mae", "--lower-is-better"),
        *("--resamples", 3, "--json"),
        cwd=work,
    )
    assert called.returncode == 0, called.stderr
    document = json.loads(called.stdout)
    assert [row["team"] for row in document["standings"]] == ["good"]
    kinds = {
        rejected["file"]: [fault["kind"] for fault in rejected["faults"]]
        for rejected in document["rejected"]
    }
    assert kinds == {f"way{way}.csv": ["metric failed"] for way in range(1, ways + 1)}
    assert "Traceback" not in called.stderr


def test_no_file_that_can_be_scored_is_an_answer_too(work: Path) -> None:
    (work / "files" / "good.csv").unlink()
    keep(work, 2)
    called = run_here(
        "score", "solution.csv", "files", "-m", "bad:mae", "--lower-is-better", cwd=work
    )
    assert called.returncode == 1, called.stderr
    assert called.stderr.endswith(
        "arena: No submission could be ranked: every file was rejected.\n"
    )


def test_a_metric_that_fails_on_all_drawn_rows_gets_rows_without_copies(work: Path) -> None:
    distinct = [(f"r{row}", 0.1 + row / 100) for row in range(N_ROWS)]
    write_csv(work / "distinct" / "good.csv", ["id", "y"], distinct)
    called = run_here(
        *("score", "solution.csv", "distinct", "-m", "bad:of_distinct", "--lower-is-better"),
        *("--resamples", 20, "--json"),
        cwd=work,
    )
    assert called.returncode == 0, called.stderr
    assert "bad:of_distinct is going to be called 41 times for 1 submission" in called.stderr
    assert "drawn without replacement" in called.stderr
    for text in (called.stdout, called.stderr):
        assert "failed with Stop" not in text
        assert "bad.py" not in text
    assert json.loads(called.stdout)["resamples"] == 20
