"""Boards of brackets are boards of their teams, and hold all at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.errors import InputError, UsageError
from arena.evaluation.predictions import ArrayPredictions
from arena.interfaces import Candidates, Study
from arena.plugin.manager import PluginManager
from arena.scoring.brackets import boards_of_brackets, read_brackets, study_of_teams
from arena.scoring.score import score
from arena.scoring.settings import BoardSettings
from arena.types import Finding
from program import run_here, write_csv

N = 400
BRACKETS = {"students": ["t3", "t1", "absent"], "staff": ["t0", "t2", "t1"], "none": ["absent"]}


def files_of(accuracies: Any, seed: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, N)
    right = rng.random((len(accuracies), N)) < np.array(accuracies)[:, None]
    table = {"id": np.arange(N), "y": truth, "task": np.arange(N) % 3}
    return table, {f"t{j}": np.where(own, truth, 1 - truth) for j, own in enumerate(right)}


def board_of(table: Any, files: Any, **settings: Any) -> Any:
    shared = {"metric": "accuracy", "target": "y", "tasks": "task", "workers": 1}
    return score(table, files, **{"resamples": 100, **shared, **settings})


def boards(result: Any) -> Any:
    (bracket_finding,) = [finding for finding in result.findings if finding.analysis == "brackets"]
    assert isinstance(bracket_finding, Finding)
    return bracket_finding


def test_ranks_within_brackets_are_those_worked_out_by_hand() -> None:
    n_right = {"t0": 9, "t1": 8, "t2": 6, "t3": 8}
    table = {"id": range(10), "y": [0, 1] * 5}
    files = {
        team: [label if row < right else 1 - label for row, label in enumerate(table["y"])]
        for team, right in n_right.items()
    }
    finding = boards(
        score(table, files, metric="accuracy", brackets=BRACKETS, resamples=20, workers=1)
    )
    ranks = {
        name: [(row["rank"], row["team"], row["score"]) for row in rows]
        for name, rows in finding.document.items()
    }
    assert ranks == {
        "students": [(1, "t1", 0.8), (1, "t3", 0.8)],
        "staff": [(1, "t0", 0.9), (2, "t1", 0.8), (3, "t2", 0.6)],
    }
    for name in ("students", "none"):
        assert f"Not on the board, of {name}: 'absent'." in finding.verdict
    assert [table.title for table in finding.tables] == [
        f"{name}: ranks among its own, with all 3 brackets at once at 95%" for name in ranks
    ]
    students_only = {"students": BRACKETS["students"]}
    alone = boards(
        score(table, files, metric="accuracy", brackets=students_only, resamples=20, workers=1)
    )
    assert [table.title for table in alone.tables] == ["students: ranks among its own at 95%"]


@pytest.mark.slow
@pytest.mark.parametrize("combine", [None, "mean", "mean_rank"])
def test_a_bracket_is_the_board_of_its_teams_at_a_level_of_its_own(combine: str | None) -> None:
    """The same figures as of a board on which only these teams are, at 1 - .05 / 3."""
    table, files = files_of((0.9, 0.8, 0.7, 0.6))
    whole = board_of(table, files, combine=combine, brackets=BRACKETS)
    document = boards(whole).document
    assert "Not on the board, of students: 'absent'." in boards(whole).verdict
    assert list(document) == ["students", "staff"]
    for name, rows in document.items():
        own = {team: values for team, values in files.items() if team in BRACKETS[name]}
        alone = board_of(table, own, combine=combine, level=1 - 0.05 / 3)
        assert [row["team"] for row in rows] == [row["team"] for row in alone.standings]
        for row, other in zip(rows, alone.standings, strict=True):
            for column, value in row.items():
                assert value == pytest.approx(other[column], nan_ok=True), column
    # The best of the students cannot be the best of all.
    assert document["students"][0]["possible_winner"]
    winners = [row["team"] for row in whole.standings if row["possible_winner"]]
    assert combine == "mean_rank" or winners == ["t0"]


def test_brackets_keep_all_candidates_of_their_teams() -> None:
    rng = np.random.default_rng(0)
    scores, resampled = np.array([0.8, 0.9, 0.7]), rng.random((3, 5))
    predictions = ArrayPredictions(np.zeros((3, 4)))
    order = np.array([1, 2])
    study = Study(
        metric=PluginManager().metrics.resolve("accuracy"),
        truth=np.zeros(4),
        teams=("one", "two"),
        submissions=order + 1,
        predictions=predictions.subset(order),
        scores=scores[order],
        resampled=resampled[order],
        level=0.95,
        candidates=Candidates(scores, resampled, predictions, order, np.array([0, 0, 1])),
    )
    first, second = (
        study_of_teams(study, np.array([bracket]), 0.9).candidates for bracket in (0, 1)
    )
    assert first is not None
    assert second is not None
    assert (first.counting.tolist(), first.team.tolist()) == ([1], [0, 0])
    assert (second.counting.tolist(), second.team.tolist()) == ([0], [0])
    with pytest.raises(UsageError, match="no bracket"):
        boards_of_brackets(replace(study, candidates=None), {}, BoardSettings(), PluginManager())


def test_a_file_of_brackets_names_teams(tmp_path: Path) -> None:
    file = tmp_path / "brackets.csv"
    for text, message in (
        ("team,bracket\nA,\n", "line 2: a row names a team and its bracket"),
        ("name,bracket\nA,x\n", "line 2: a row names a team"),
        ("team,bracket\n", "has no rows"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            read_brackets(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_brackets(tmp_path / "absent.csv")
    file.write_text("team;bracket\nA;x, y\n")
    assert read_brackets(file) == {"x, y": ("A",)}


@pytest.mark.slow
def test_the_command_ranks_brackets(tmp_path: Path) -> None:
    table, files = files_of((0.9, 0.8, 0.7))
    write_csv(tmp_path / "solution.csv", list(table), zip(*table.values(), strict=True))
    for team, values in files.items():
        rows = zip(table["id"], values, strict=True)
        write_csv(tmp_path / "submissions" / f"{team}.csv", ["id", "y"], rows)
    write_csv(tmp_path / "b.csv", ["team", "bracket"], [("t1", "students"), ("t2", "students")])
    arguments = ("score", "solution.csv", "submissions", "--metric", "accuracy", "--target", "y")
    done = run_here(*arguments, "--tasks", "task", "--brackets", "b.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "In the bracket students, t1 may truly be the best." in " ".join(done.stdout.split())


@pytest.mark.long
@pytest.mark.parametrize(
    ("n_boards", "most_wrong"),  # at .05 more are wrong with probability .001
    [
        pytest.param(15, 4, marks=pytest.mark.slow),
        pytest.param(120, 14, marks=pytest.mark.campaign),
    ],
)
def test_brackets_hold_at_once(n_boards: int, most_wrong: int) -> None:
    """Three brackets of equal teams, the second and third weaker: any wrong on at most 5%."""
    wrong = 0
    for seed in range(n_boards):
        table, files = files_of((0.9,) * 5 + (0.8,) * 5 + (0.7,) * 5, seed)
        names = {str(start): [f"t{start + number}" for number in range(5)] for start in (0, 5, 10)}
        result = board_of(table, files, resamples=500, brackets=names)
        first_wrong = False
        for rows in boards(result).document.values():
            places = {row["team"]: row for row in rows}
            best, *others = sorted(places, key=lambda team: int(team[1:]))
            # All are equal; the first is the best one, named in advance.
            first_wrong |= places[best]["rank_low"] > 1
            first_wrong |= any(places[team]["rank_low"] > 2 for team in others)
            first_wrong |= any(row["rank_high"] < 5 for row in rows)
        wrong += first_wrong
    assert wrong <= most_wrong
