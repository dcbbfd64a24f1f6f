"""The examples run as they stand there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def _run(name: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), str(folder)],
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


pytestmark = pytest.mark.slow


def test_a_competition_runs_cell_by_cell(tmp_path: Path) -> None:
    shown = _run("a_competition.py", tmp_path)
    assert "week 3: owls is shown" in shown
    assert "None host 0.5 1 sent" in shown
    assert "16 events, unbroken" in shown
    assert "rank_low" in shown
    assert (tmp_path / "export" / "result.json").exists()
    report, public = ((tmp_path / name).read_text() for name in ("report.html", "public.html"))
    assert "Who is ill?" in report
    assert "rank interval" in report
    assert "rank interval" not in public


def test_the_pictures_of_the_readme_are_drawn(tmp_path: Path) -> None:
    _run("readme_pictures.py", tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in (EXAMPLES / "images").iterdir()}


def test_the_papers_on_sample_maxima_are_reproduced(tmp_path: Path) -> None:
    shown = _run("sample_maximum.py", tmp_path)
    assert "0.9173" in shown
    assert "0.9213" in shown
    assert any(path.suffix == ".svg" for path in tmp_path.rglob("*"))
