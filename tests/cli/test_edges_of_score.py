"""Boards at the edge: perfect scores, codes as labels, few rows, closed streams."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from program import ARENA, write_csv

N_ROWS = 100


def competition(folder: Path, truth: list[Any], files: dict[str, list[Any]]) -> None:
    ids = [f"r{row}" for row in range(len(truth))]
    write_csv(folder / "solution.csv", ["id", "y"], list(zip(ids, truth, strict=True)))
    for team, values in files.items():
        rows = list(zip(ids, values, strict=True))
        write_csv(folder / "s" / f"{team}.csv", ["id", "y"], rows)


def scored(arena_here: Any, *arguments: str) -> Any:
    called = arena_here("score", "solution.csv", "s", "--json", *arguments)
    assert called.returncode == 0, called.stderr
    return json.loads(called.stdout), called.stderr


@pytest.mark.slow
def test_a_perfect_score_is_not_certain(arena_here: Any, tmp_path: Path) -> None:
    truth = [row % 2 for row in range(N_ROWS)]
    competition(tmp_path, truth, {"perfect": truth})
    document, _ = scored(arena_here, "--metric", "accuracy", "--resamples", "1000")
    best = document["best_score_corrected"]
    assert best["high"] == 1.0
    assert best["low"] == pytest.approx(0.9638, abs=0.0001)  # Clopper and Pearson


@pytest.mark.slow
def test_no_interval_leaves_the_range_of_the_metric(arena_here: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = [row % 2 for row in range(N_ROWS)]
    near = [value + rng.normal() * 0.4 for value in truth]
    far = [value + rng.normal() for value in truth]
    competition(tmp_path, truth, {"perfect": truth, "near": near, "far": far})
    document, _ = scored(arena_here, "--metric", "roc_auc", "--resamples", "200")
    best = document["best_score_corrected"]
    assert best["low"] < best["estimate"] <= best["high"] <= 1.0


@pytest.mark.slow
def test_labels_with_leading_zeros_are_codes(arena_here: Any, tmp_path: Path) -> None:
    truth = ["007", "7", "07"] * 20
    competition(tmp_path, truth, {"right": truth, "lost": ["7"] * 60})
    document, _ = scored(arena_here, "--metric", "accuracy", "--resamples", "50")
    scores = {row["team"]: row["score"] for row in document["standings"]}
    assert scores["right"] == 1.0
    assert scores["lost"] == pytest.approx(1 / 3)


@pytest.mark.slow
def test_few_rows_and_few_resamples_are_said(arena_here: Any, tmp_path: Path) -> None:
    competition(tmp_path, [1.0, 2.0], {"a": [1.0, 2.5], "b": [3.0, 0.0]})
    _, errors = scored(arena_here, "--metric", "mae", "--resamples", "20")
    assert "based on only 20 resamples" in errors
    assert "2 rows are too few" in errors


@pytest.mark.slow
def test_one_row_prints_no_nan(arena_here: Any, tmp_path: Path) -> None:
    competition(tmp_path, [1.0], {"a": [1.0], "b": [3.0]})
    called = arena_here("score", "solution.csv", "s", "--metric", "mae", "--resamples", "20")
    assert called.returncode == 0
    assert "nan" not in called.stdout


@pytest.mark.slow
def test_several_targets_are_split_at_commas(arena_here: Any, tmp_path: Path) -> None:
    rows = [(f"r{row}", row, 2 * row, "x") for row in range(N_ROWS)]
    write_csv(tmp_path / "solution.csv", ["id", "a", "b", "note"], rows)
    sent = [(f"r{row}", row + 1, 2 * row + 3) for row in range(N_ROWS)]
    write_csv(tmp_path / "s" / "t.csv", ["id", "a", "b"], sent)
    document, _ = scored(arena_here, "--metric", "mae", "--target", "a,b", "--resamples", "20")
    (row,) = document["standings"]
    assert (row["score"], row["mae of a"], row["mae of b"]) == (2.0, 1.0, 3.0)


@pytest.mark.slow
def test_scores_are_shown_with_the_digits_and_the_unit_asked_for(
    arena_here: Any, tmp_path: Path
) -> None:
    competition(tmp_path, [0.0] * N_ROWS, {"one": [0.125] * N_ROWS})
    arguments = ("--metric", "mae", "--no-intervals", "--decimals", "1", "--unit")
    for unit, score in (("ms", "0.1 ms"), ("%", "12.5%")):
        called = arena_here("score", "solution.csv", "s", *arguments, unit)
        assert called.returncode == 0, called.stderr
        assert score in called.stdout


@pytest.mark.slow
def test_closed_and_full_streams_are_no_fault_of_arena(tmp_path: Path) -> None:
    truth = [row % 2 for row in range(N_ROWS)]
    competition(tmp_path, truth, {"a": truth})
    command = f"{ARENA} score solution.csv s --metric accuracy --resamples 20"
    for redirection, code in ((">&-", 0), ("2>&-", 0), ("> /dev/full", 1)):
        done = subprocess.run(
            ["bash", "-c", f"{command} {redirection}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
            env=os.environ,
        )
        assert done.returncode == code, (redirection, done.stderr)
        assert "fault in arena" not in done.stderr


@pytest.mark.few(1)
@pytest.mark.parametrize("arguments", ["--version", "--help", "score --help", "metrics --json"])
def test_a_full_disk_is_one_line_whatever_was_to_be_written(arguments: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{ARENA} {arguments} > /dev/full"],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env=os.environ,
    )
    message = "arena: No space left on device. Nothing more was written.\n"
    assert (done.returncode, done.stderr) == (1, message)
