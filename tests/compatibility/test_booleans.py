"""Truth values are numbers, and labels equal to 1 and 0, in every kind of file."""

from __future__ import annotations

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


@pytest.mark.few(1)
@pytest.mark.parametrize("metric", ["accuracy", "f1", "mae", "brier", "roc_auc"])
def test_truth_values_are_scored_as_1_and_0(metric: str) -> None:
    scores = set()
    for name, form in FORMS.items():
        teams = {}
        for sent_as, values in FORMS.items():
            predictions = [values[index] for index in (1, 0, 2, 3)]
            predictions[2] = predictions[0]  # c is wrong
            teams[sent_as] = {"id": list("badc"), "y": predictions}
        board = arena.score({"id": list("abcd"), "y": form}, teams, metric=metric, intervals=False)
        assert not board.rejected, (name, board.rejected)
        assert len(board.standings) == len(FORMS)
        scores |= {row["score"] for row in board.standings}
    assert len(scores) == 1


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
    team = {"id": list("ab"), "y": ["0.5", "true"]}
    board = arena.score(solution, {"t": team}, metric="mae", intervals=False)
    assert [fault.row for fault in board.rejected[0].faults] == [2]
