"""A column of tasks in the solution: read, stored, and handed to the analyses of a board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.competition.competition import Competition
from arena.config import Settings
from arena.config_sections import DataSection, MetricSection
from arena.errors import InputError
from arena.intake import read_solution
from arena.interfaces import CaseScores
from arena.plugin.manager import PluginManager
from arena.scoring.case_matrix import case_matrix
from arena.scoring.result import ScoreResult
from arena.scoring.score import score
from arena.scoring.settings import BoardSettings, ScoreSettings
from arena.scoring.summaries import last_decimal_place, summarizes_columns, without_summaries
from arena.store import Store
from arena.types import PredictionKind, SolutionColumns
from program import UNPROTECTED, run_here, write_csv

NAMES = ["north, east", "</script>", "süd"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a solution of three tasks, 60 rows of them private, and two submissions."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=90)
    usage = np.where(np.arange(90) % 3 == 0, "Public", "Private")
    rows = [
        (f"r{row}", value, use, NAMES[row % 9 // 4])
        for row, (value, use) in enumerate(zip(truth.tolist(), usage, strict=True))
    ]
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage", "task"], rows)
    for number, team in enumerate(("a", "b"), start=1):
        values = truth + 0.1 * number * rng.normal(size=90)
        predicted = [(f"r{row}", value) for row, value in enumerate(values.tolist())]
        write_csv(tmp_path / "submissions" / f"{team}.csv", ["id", "y"], predicted)
    return tmp_path


def tasks_of(result: ScoreResult) -> Any:
    assert result.study is not None
    return result.study.tasks, result.study.task_names


def scored(folder: Path, **columns: Any) -> ScoreResult:
    settings = ScoreSettings("mae", SolutionColumns(**columns), board=BoardSettings(50))
    return score(folder / "solution.csv", [folder / "submissions"], settings)


@pytest.mark.slow
def test_the_tasks_of_the_ranked_rows_reach_the_analyses(folder: Path) -> None:
    result = scored(folder, tasks="task", targets=("y",))
    tasks, names = tasks_of(result)
    private = [row for row in range(90) if row % 3]
    assert [names[task] for task in tasks] == [NAMES[row % 9 // 4] for row in private]
    titles = {section.title for section in PluginManager().provide_report_sections(result)}
    assert "Consensus of the tasks" in titles
    without = scored(folder, targets=("y",))
    assert tasks_of(without) == (None, ())
    assert without.standings == result.standings  # tasks are looked at apart: no score changes


def test_a_stored_solution_has_its_tasks(folder: Path) -> None:
    path = folder / "solution.csv"
    read = read_solution(path, kind=PredictionKind.VALUE, columns=SolutionColumns(tasks="task"))
    assert read.targets[0].name == "y"
    with Store.open(folder / "arena.duckdb") as store:
        store.put_solution(read)
        stored = store.solution()
    assert stored.tasks is not None
    assert stored.task_names == read.task_names == tuple(NAMES)
    assert np.array_equal(stored.tasks, read.tasks)
    other = read_solution(path, kind=PredictionKind.VALUE, columns=SolutionColumns(cluster="task"))
    assert other.tasks is None
    assert np.array_equal(other.clusters, read.tasks)


def test_a_row_without_a_task_is_a_fault(folder: Path) -> None:
    text = (folder / "solution.csv").read_text().replace("süd", "", 1)
    (folder / "solution.csv").write_text(text)
    with pytest.raises(InputError, match="The task is missing"):
        scored(folder, tasks="task")
    with pytest.raises(InputError, match="no column 'tusk'"):
        scored(folder, tasks="tusk")


@pytest.mark.slow
def test_a_competition_keeps_its_tasks(folder: Path) -> None:
    settings = Settings(
        metric=MetricSection(name="mae"), data=DataSection(tasks="task", cluster=None)
    )
    place = folder / "c"
    with Competition.create(place, folder / "solution.csv", settings, seed=1) as competition:
        for team in ("a", "b"):
            competition.submit(folder / "submissions" / f"{team}.csv", team)
        result = competition.finalize()
    assert tasks_of(result)[1] == tuple(NAMES)


@pytest.mark.slow
def test_the_option_is_taken_by_every_command_that_reads_a_solution(folder: Path) -> None:
    arguments = ("solution.csv", "submissions", "--metric", "mae", "--tasks", "task")
    assert run_here("validate", *arguments, cwd=folder).returncode == 0
    called = run_here("score", *arguments, "--resamples", 50, cwd=folder)
    assert called.returncode == 0, called.stderr
    init = (
        "init",
        "d",
        "--solution",
        "solution.csv",
        *UNPROTECTED,
        "--metric",
        "mae",
        "--tasks",
        "task",
    )
    creation = run_here(*init, cwd=folder)
    assert creation.returncode == 0, creation.stderr
    assert 'tasks = "task"' in (folder / "d" / "competition.toml").read_text()


def test_a_summary_sums_up_the_cases_of_its_task() -> None:
    values = {"a": [1, 3, 2, 5, 7, 6], "b": [2, 4, 3, 0, 2, 1]}  # the means of two each: 2, 6, 3, 1
    scores = CaseScores(
        [name for name in values for _ in range(6)],
        ["x", "y", "Mean"] * 4,
        np.array([*values["a"], *values["b"]], dtype=float),
        tasks=[task for _ in values for task in "tttuuu"],
    )
    matrix, notes = without_summaries(case_matrix(scores))
    assert matrix.cases == ("t/x", "t/y", "u/x", "u/y")
    assert notes == (
        "'t/Mean' sums up other cases and does not count as one.",
        "'u/Mean' sums up other cases and does not count as one.",
    )


@pytest.mark.parametrize(
    ("summary", "others", "sums_up"),
    [
        ([4.5], [[3.0], [6.0]], True),
        ([4.7], [[3.0], [6.0]], False),  # the mean 4.5 differs, and whole numbers imply no rounding
        ([0.5], [[0.3], [0.6]], False),  # the mean 0.45 differs by more than a tenth of the range
        ([0.5], [[0.3], [0.8]], True),
        ([3.0, 2.0, 1.0], [[1.0, 5.0, 9.0], [2.0, 6.0, 10.0]], True),  # the same ranks
        ([1.0, 2.0, 3.0], [[1.0, 5.0, 9.0], [2.0, 6.0, 10.0]], True),  # the reversed ranks
        ([2.0, 3.0, 4.0], [[1.0, 5.0, 9.0], [2.0, 6.0, 10.0]], False),
    ],
)
def test_a_summary_is_within_its_rounding_of_what_it_sums_up(
    summary: list[float], others: list[list[float]], sums_up: bool
) -> None:
    assert summarizes_columns(np.array(summary), np.array(others)) == sums_up


def test_decimals_are_counted_up_to_nine() -> None:
    values = (2.0, 0.5, 0.12345678, 0.123456789, 1 / 3)
    assert [last_decimal_place(np.array([value])) for value in values] == [
        1.0,
        0.1,
        1e-8,
        1e-9,
        1e-9,
    ]
