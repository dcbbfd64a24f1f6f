"""The example of simulated competitions runs as it stands there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "simulated_competition.py"


@pytest.mark.slow
def test_own_competitor_takes_part_in_simulated_competitions(tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(tmp_path / "s")],
        env={**os.environ, "PYTHONPATH": str(EXAMPLE.parents[1])},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("best won") == 6
    assert "mean leaderboard error" in done.stdout
    assert (tmp_path / "s" / "seed-2" / "full" / "competition.toml").exists()
