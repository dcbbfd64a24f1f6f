"""What is named for one role is not taken for another, and nothing is chosen without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

import arena
from arena.errors import UsageError
from arena.intake import CaseColumns, read_case_table, read_solution
from arena.types import PredictionKind, SolutionColumns
from program import run_here

LONG = "algorithm,case,task,model,value,id\na,1,x,p,0.5,7\nb,1,x,q,0.25,8\n"


@pytest.mark.parametrize("name", ["task", "model", "id", "case"])
def test_a_column_of_cases_has_no_other_role(tmp_path: Path, name: str) -> None:
    path = tmp_path / "long.csv"
    path.write_text(LONG)
    scores = read_case_table(path, CaseColumns(case=name, value="value"))
    assert (scores.tasks is None) == (name == "task")
    assert list(map(str, scores.algorithms)) == ["a", "b"]


def test_a_column_of_algorithms_has_no_other_role(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("task,method,value\nx,p,0.5\ny,q,0.25\n")
    scores = read_case_table(path, CaseColumns(algorithm="task", case="method"))
    assert scores.tasks is None
    assert list(map(str, scores.algorithms)) == ["x", "y"]


def test_a_table_of_one_number_for_each_team_is_sent_where_it_belongs(tmp_path: Path) -> None:
    path = tmp_path / "teams.csv"
    path.write_text("team,score\na,0.9\nb,0.8\n")
    with pytest.raises(UsageError, match="One number for each team has no cases: see arena"):
        read_case_table(path)


@pytest.mark.parametrize(
    ("header", "target", "id"),
    [
        ("y,key", "y", "key"),
        ("id,key", "id", "key"),
        ("key,y", "y", "key"),
        ("Usage,id", "Usage", "id"),
    ],
)
def test_a_target_is_neither_id_nor_usage(
    tmp_path: Path, header: str, target: str, id: str
) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f"{header}\n1,2\n3,4\n")
    columns = SolutionColumns(targets=(target,))
    solution = read_solution(path, kind=PredictionKind.VALUE, columns=columns)
    assert (solution.id_column, solution.columns) == (id, (target,))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "said"),
    [("f1", True), ("sklearn:precision_score", True), ("accuracy", False), ("mcc", False)],
)
def test_the_positive_class_of_labels_is_said(metric: str, said: bool) -> None:
    rows = {"id": ["a", "b", "c", "d"], "y": ["normal", "anomaly", "normal", "anomaly"]}
    board = arena.score(rows, {"t": rows}, metric=metric, intervals=False)
    assert ("The positive class of column y is normal" in " ".join(board.notes)) == said


@pytest.mark.slow
def test_an_option_is_given_once(tmp_path: Path) -> None:
    for name in ("gold", "team"):
        (tmp_path / f"{name}.csv").write_text("id,y\na,1\nb,0\n")
    ask = ["score", "gold.csv", "team.csv", "--metric", "accuracy", "--no-intervals"]
    done = run_here(*ask, "--level", "0.9", "--level", "0.8", cwd=tmp_path)
    assert done.returncode == 2
    assert "--level is given 2 times, and takes one value" in " ".join(done.stderr.split())
    assert run_here(*ask, "--json", "--json", "--target", "y", cwd=tmp_path).returncode == 0
    nested = run_here("simulate", "ranks", "--seed", "1", "--seed", "2", cwd=tmp_path)
    assert nested.returncode == 2
    assert "--seed is given 2 times" in " ".join(nested.stderr.split())
