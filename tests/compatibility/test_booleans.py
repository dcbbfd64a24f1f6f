"""Truth values are numbers, and labels equal to 1 and 0, in every kind of file."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import arena
from arena.intake import read_case_table

FORMS: dict[str, list[Any]] = {
    "booleans": [True, False, True, False],
    "Python": ["True", "False", "True", "False"],
    "JSON": ["true", "false", "true", "false"],
    "SQL": ["TRUE", "FALSE", "TRUE", "FALSE"],
    "numbers": [1, 0, 1, 0],
}


@pytest.mark.parametrize("metric", ["accuracy", "f1", "mae", "roc_auc", "brier"])
def test_truth_values_are_scored_as_1_and_0(metric: str) -> None:
    teams = {}
    expected = None
    for name, form in itertools.product(FORMS, FORMS):
        solution = {"id": list("abcd"), "y": FORMS[name]}
        sent = {"id": list("badc"), "y": [FORMS[form][at] for at in (1, 0, 2, 3)]}
        sent["y"][2] = sent["y"][0]  # c is wrong
        teams = {"t": sent}
        board = arena.score(solution, teams, metric=metric, intervals=False)
        assert not board.rejected, (name, form, board.rejected)
        expected = expected or board.standings[0]["score"]
        assert board.standings[0]["score"] == expected


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_tables_of_truth_values_are_ranked(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame({"algorithm": list("aabb"), "case": list("1212"),
                          "value": [True, False, True, True]})  # fmt: skip
    path = tmp_path / f"t.{suffix}"
    write = {"csv": lambda: frame.to_csv(path, index=False),
             "json": lambda: frame.to_json(path, orient="records"),
             "parquet": lambda: frame.to_parquet(path)}  # fmt: skip
    write[suffix]()
    assert read_case_table(path).values.tolist() == [1.0, 0.0, 1.0, 1.0]


def test_a_word_among_numbers_is_a_fault() -> None:
    solution = {"id": list("ab"), "y": [0.5, 2.0]}
    board = arena.score(solution, {"t": {"id": list("ab"), "y": ["0.5", "true"]}}, metric="mae")
    assert [fault.row for fault in board.rejected[0].faults] == [2]
