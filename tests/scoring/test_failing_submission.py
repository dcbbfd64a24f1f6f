"""A submission on which the metric fails is set apart; the others are ranked as without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from program import run_here, write_csv

N = 8


def _runs(length: int) -> list[tuple[str, str]]:
    return [(f"i{at}", f"{11 + at} {length + at}") for at in range(N)]


@pytest.mark.few(1)
@pytest.mark.parametrize("metric", ["hausdorff", "surface_dice"])
def test_one_bad_mask_does_not_end_the_score_of_the_others(
    tmp_path: Path, metric: str, caplog: pytest.LogCaptureFixture
) -> None:
    header = ["id", "mask", "height", "width"]
    write_csv(tmp_path / "solution.csv", header, [(*row, 8, 8) for row in _runs(5)])
    for team, length in (("a", 5), ("b", 3)):
        write_csv(tmp_path / "sent" / f"{team}.csv", ["id", "mask"], _runs(length))
    beyond = [("i0", "60 9"), *_runs(5)[1:]]
    write_csv(tmp_path / "with" / "a.csv", ["id", "mask"], _runs(5))
    write_csv(tmp_path / "with" / "b.csv", ["id", "mask"], _runs(3))
    write_csv(tmp_path / "with" / "late.csv", ["id", "mask"], beyond)
    boards = {}
    for folder in ("sent", "with"):
        command = ("score", "solution.csv", folder, "--metric", metric, "--resamples", 20)
        called = run_here(*command, "--json", cwd=tmp_path)
        assert called.returncode == 0, called.stderr
        boards[folder] = called
    assert "late.csv" in boards["with"].stdout
    assert "late.csv" in caplog.text
    assert "beyond the last pixel" in caplog.text
    of = {name: _standings(called.stdout) for name, called in boards.items()}
    assert of["with"] == of["sent"]


def _standings(text: str) -> list[tuple[str, float]]:
    return [(row["team"], row["score"]) for row in json.loads(text)["standings"]]
