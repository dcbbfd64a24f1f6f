"""Killed at any moment, a command that writes leaves nothing half there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkout import python_path

ROOT = Path(__file__).parents[2]
PATHS = [ROOT / name for name in ("tests/support", "tests/benchmarks")]
FILES_OF_AN_IMPORT = 4


def run_harness(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the benchmarks that kills commands and prints one JSON object last."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", PATHS[-1] / name, *options],
        env={**os.environ, "PYTHONPATH": python_path(*PATHS)},
        capture_output=True,
        text=True,
        timeout=3_000,
        check=False,
    )


@pytest.mark.long
@pytest.mark.timeout(3_600)  # on a busy machine the start of a program can take a minute
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--kills", "6"), marks=pytest.mark.slow),
        pytest.param(("--kills", "6", "--predictions", "objects"), marks=pytest.mark.slow),
        pytest.param(("--kills", "3", "--program"), marks=pytest.mark.slow),
        pytest.param(("--kills", "60", "--seed", "1"), marks=pytest.mark.campaign),
        pytest.param(("--kills", "20", "--program"), marks=pytest.mark.campaign),
    ],
    ids=["few", "predictions outside", "installed program", "many", "installed program, many"],
)
def test_kills_lose_nothing_and_leave_nothing_half_there(options: tuple[str, ...]) -> None:
    done = run_harness("kill_program.py", *options)
    assert done.stdout, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["wrong"] == [], done.stderr
    assert outcome["kills"] == int(options[1])
    # Every third process that is killed submits, after the files that the others import.
    assert outcome["submissions"] >= outcome["files"] + outcome["kills"] // 3
    assert outcome["left_to_the_last_import"] >= FILES_OF_AN_IMPORT
    assert done.returncode == 0


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(
    "kills",
    [pytest.param(14, marks=pytest.mark.slow), pytest.param(280, marks=pytest.mark.campaign)],
)
def test_every_command_that_writes_is_killed(kills: int) -> None:
    done = run_harness("kill_commands.py", "--kills", str(kills))
    assert done.stdout, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["wrong"] == []
    assert len(outcome["came"]) >= 14
    assert sum(sum(counts.values()) for counts in outcome["came"].values()) == kills
    assert done.returncode == 0


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--runs", "1", "--command", "score"), marks=pytest.mark.slow),
        pytest.param(("--runs", "2"), marks=pytest.mark.campaign),
    ],
    ids=["one command", "every command"],
)
def test_killed_workers_change_nothing(options: tuple[str, ...]) -> None:
    done = run_harness("kill_workers.py", "--engine", "local", *options)
    assert done.stdout, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["wrong"] == []
    assert sum(counts["kills"] for counts in outcome["came"].values()) > 0
    assert done.returncode == 0
