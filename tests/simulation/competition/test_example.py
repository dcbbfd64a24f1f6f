"""The example of simulated competitions runs; the slow run uses smaller numbers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "simulated_competition.py"
LESS = {
    "seeds=3": "seeds=2",
    " rows=2_000": " rows=400",
    "train_rows=1_500": "train_rows=300",
    "validation_rows=500": "validation_rows=150",
    "per_day=6": "per_day=3",
    "days=3": "days=2",
}
"""What the example says -> what takes seconds."""


@pytest.mark.parametrize(
    ("less", "seeds"),
    [
        pytest.param(LESS, 2, marks=pytest.mark.slow, id="less"),
        pytest.param({}, 3, marks=pytest.mark.campaign, id="whole"),
    ],
)
def test_own_competitor_takes_part_in_simulated_competitions(
    less, seeds, tmp_path, monkeypatch, capsys
):
    program = EXAMPLE.read_text(encoding="utf-8")
    for text, instead in less.items():
        assert program.count(text) == 1
        program = program.replace(text, instead)
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(tmp_path / "s")])
    exec(compile(program, str(EXAMPLE), "exec"), {"__name__": "__main__"})  # noqa: S102
    output = capsys.readouterr().out
    assert output.count("best won") == 2 * seeds
    assert "mean leaderboard error" in output
    for seed in range(seeds):
        assert (tmp_path / "s" / f"seed-{seed}" / "full" / "competition.toml").exists()
