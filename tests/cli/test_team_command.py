"""``arena team`` and the notes for the organiser, in the program."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from competition_folder import write_file
from program import run_here

pytestmark = pytest.mark.slow


def test_teams_are_renamed_and_merged_and_copies_named(made_once: Path, tmp_path: Path) -> None:
    here = Path(shutil.copytree(made_once, tmp_path / "x"))
    for number, team in enumerate(["one", "two", "three"]):
        file = write_file(here / f"{number}.csv", max(number, 1))  # one and two are the same
        called = run_here("submit", file, f"--team={team}", cwd=here / "c")
        assert called.returncode == 0, called.stderr
    called = run_here("audit", "--json", cwd=here / "c")
    (similar,) = json.loads(called.stdout)["similar"]
    assert (similar["identical"], similar["teams"]) == (True, ["one", "two"])
    called = run_here("team", "rename", "one", "Thr\u0435e", cwd=here / "c")  # a Cyrillic letter
    assert "The team one is now called" in called.stdout
    assert "looks like 'three'" in called.stderr
    called = run_here("team", "rename", "one", "thr\u0435e", cwd=here / "c")  # by its former name
    assert "looks like 'three'." in called.stderr
    called = run_here("team", "merge", "two", "one", cwd=here / "c")
    assert "now has 2 submissions" in called.stdout
    called = run_here("audit", cwd=here / "c")
    assert called.returncode == 0, called.stderr
    assert "Identical" not in called.stdout + called.stderr  # they are one team now
    called = run_here("team", "rename", "three", "x\x1b[2J", cwd=here / "c")
    assert called.returncode == 2
    assert "\x1b" not in called.stdout + called.stderr
