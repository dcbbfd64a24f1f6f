"""The sample submission: a valid one, whose values are the same on every row and tell no label."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from arena.competition.competition import Competition


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("metric", "labels", "columns", "values"),
    [
        ("accuracy", ["yes", "no", "yes"], ["y"], ["no"]),
        ("log_loss", ["b", "c", "a"], ["a", "b", "c"], [1 / 3, 1 / 3, 1 / 3]),
        ("brier", ["no", "yes", "no"], ["y"], [0.5]),
        ("roc_auc", ["no", "yes", "no"], ["y"], [0.0]),
        ("mae", [3.5, 7.5, 1.0], ["y"], [0.0]),
        ("dice", ["1 2", "-1", "3 4"], ["y"], [""]),
    ],
)
def test_a_sample_has_a_valid_value_for_each_kind_of_prediction(
    tmp_path: Path, metric: str, labels: list[Any], columns: list[str], values: list[Any]
) -> None:
    solution = {"id": list("rst"), "y": labels, "Usage": ["Private"] * 3}
    with Competition.create(tmp_path / "c", solution, metric, seed=1) as competition:
        sample = tmp_path / "c" / "sample_submission.csv"
        header, *rows = csv.reader(sample.read_text().splitlines())
        assert header == ["id", *columns]
        assert rows == [[id, *map(str, values)] for id in "rst"]
        assert competition.submit(sample, "ant").status == "accepted"
