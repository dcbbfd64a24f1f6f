"""Killed at any moment, ``arena import`` and ``arena submit`` leave nothing half there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATHS = [ROOT / name for name in (".", "plugins", "tests/support", "tests/benchmarks")]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--kills", "20"), marks=pytest.mark.slow),
        pytest.param(("--kills", "20", "--program"), marks=pytest.mark.slow),
        pytest.param(("--kills", "60", "--seed", "1"), marks=pytest.mark.slow),
    ],
    ids=["few", "installed program", "many"],
)
def test_kills_lose_nothing_and_leave_nothing_half_there(options: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PATHS[-1] / "kill_program.py", *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PATHS))},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stdout, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["wrong"] == []
    assert outcome["kills"] == int(options[1])
    assert outcome["submissions"] > 4 * outcome["kills"]
    assert outcome["left_to_the_last_import"] > 0
    assert done.returncode == 0
