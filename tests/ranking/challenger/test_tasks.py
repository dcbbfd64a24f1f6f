"""Several tasks in one competition: scores, ranks and consensus of each."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import vl_convert
from scipy import stats

from arena.types import TEAMS
from arena_ranking import provide_report_sections
from arena_ranking.analysis import Ranks
from arena_ranking.challenger import consensus_ranking, task_scores
from arena_ranking.challenger.task_sections import task_sections, task_technical
from arena_ranking.challenger.tasks import TaskScores

StudyMaker = Callable[..., Any]


@pytest.fixture
def board(study_of: StudyMaker, metrics: dict[str, Any]) -> Any:
    """Return a board on which "b" is best in the small tasks and "a" in the large one."""
    rng = np.random.default_rng(0)
    tasks = np.repeat([0, 1, 3], [160, 25, 15])
    truth = rng.normal(size=200)
    noise = np.where(tasks == 0, [[0.4], [0.6], [0.9]], [[0.9], [0.3], [1.5]])
    predictions = truth + noise * rng.normal(size=(3, 200))
    study = study_of(metrics["rmse"], truth, predictions, teams=("a", "b", "c"), resamples=80)
    names = ("left </b>", "it's", "of no row", "right")
    return dataclasses.replace(study, tasks=tasks, task_names=names)


def test_scores_are_those_of_the_rows_of_each_task(board: Any) -> None:
    by_task = task_scores(board, np.array([2, 0, 1]), seed=0)
    assert by_task is not None
    assert by_task.names == ("left </b>", "it's", "right")
    assert by_task.n_rows.tolist() == [160, 25, 15]
    for column, task in enumerate((0, 1, 3)):
        rows = board.tasks == task
        for line, position in enumerate((2, 0, 1)):
            task_score = board.metric.score(
                board.truth[rows], board.predictions.values[position][rows]
            )
            assert by_task.scores[line, column] == pytest.approx(task_score)
    assert by_task.ranks.tolist() == [[3, 3, 3], [1, 2, 2], [2, 1, 1]]


def test_resamples_keep_the_size_of_each_task(board: Any) -> None:
    by_task = task_scores(board, np.arange(3), seed=0)
    again = task_scores(board, np.arange(3), seed=0, workers=2)
    assert by_task is not None
    assert again is not None
    pairs = zip(by_task.resampled, again.resampled, strict=True)
    for (resampled, repeated), scores in zip(pairs, by_task.scores.T, strict=True):
        assert resampled.shape == (3, 80)
        assert np.array_equal(resampled, repeated)
        assert resampled.std(axis=1).min() > 0
        assert np.abs(resampled.mean(axis=1) / scores - 1).max() < 0.1
    spread = [resampled.std(axis=1).mean() for resampled in by_task.resampled]
    assert spread[0] < spread[2]


def test_the_consensus_weighs_tasks_alike(board: Any) -> None:
    by_score = stats.rankdata(board.scores, method="min").tolist()
    assert by_score == [1, 2, 3]
    by_task = task_scores(board, np.arange(3), seed=0)
    assert by_task is not None
    assert consensus_ranking(by_task.ranks).rank.tolist() == [2, 1, 3]


def test_a_metric_that_is_called_as_a_whole_is_not_resampled(
    study_of: StudyMaker, metrics: dict[str, Any]
) -> None:
    truth = np.tile([0, 1], 20)
    study = study_of(metrics["black_box"], truth, np.stack([truth, 1 - truth]), resamples=20)
    study = dataclasses.replace(study, tasks=np.repeat([0, 1], 20), task_names=("x", "y"))
    by_task = task_scores(study, np.arange(2), seed=0)
    assert by_task is not None
    assert by_task.scores.tolist() == [[0, 0], [1, 1]]
    assert by_task.agreements(0.95) == {}
    titles = [section.title for section in sections_of(study)]
    assert "Consensus of the tasks" in titles
    assert "Agreement of the ranking within each task" not in titles


def test_a_task_that_a_group_misses_is_resampled_without_it(
    study_of: StudyMaker, metrics: dict[str, Any]
) -> None:
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(12), 5)
    truth = rng.normal(size=60)
    predictions = truth + rng.normal(size=(2, 60))
    study = study_of(metrics["rmse"], truth, predictions, clusters=clusters, resamples=200)
    tasks = (clusters == 0).astype(np.intp)
    study = dataclasses.replace(study, tasks=tasks, task_names=("most", "one group"))
    by_task = task_scores(study, np.arange(2), seed=0)
    assert by_task is not None
    most, one_group = (resampled.shape[1] for resampled in by_task.resampled)
    assert most == 200
    assert 90 < one_group < 160  # 1 - (11 / 12) ** 12 = 0.65 of them


def sections_of(study: Any) -> list[Any]:
    finding = Ranks().run(study, np.random.default_rng(0))
    return list(provide_report_sections(SimpleNamespace(study=study, findings=(finding,), seed=0)))


@pytest.mark.slow
def test_the_sections_of_tasks(board: Any) -> None:
    sections = {section.title: section for section in sections_of(board)}
    consensus = sections["Consensus of the tasks"]
    assert consensus.tables[0].columns[3:] == ("left </b>", "it's", "right")
    assert [row[:2] for row in consensus.tables[0].rows] == [("b", 1), ("a", 2), ("c", 3)]
    assert "tasks with more rows have more weight" in consensus.text
    assert "Ranks across tasks" in sections
    assert "Agreement of the ranking within each task" in sections
    technical = sections["Methods of the ranking analyses"]
    assert "it's: 25 rows" in technical.text
    for section in sections.values():
        if not section.technical:
            tables = [(table.title, table.columns) for table in section.tables]
            charts = [(c.title, c.description, c.specification) for c in section.charts]
            text = json.dumps([section.title, section.text, tables, charts])
            assert not re.search(r"bootstrap|resampl|p-value", text, re.IGNORECASE)
    charts = [
        c for s in sections.values() for c in s.charts if "task" in c.name or "cons" in c.name
    ]
    assert len(charts) == 5
    for chart in charts:
        assert vl_convert.vegalite_to_svg(dict(chart.specification)).count("<path") > 3


def test_one_task_is_none(board: Any) -> None:
    of_one_task = dataclasses.replace(board, tasks=np.zeros(200, dtype=np.intp))
    assert task_scores(of_one_task, np.arange(3), seed=0) is None
    assert task_scores(dataclasses.replace(board, tasks=None), np.arange(3), seed=0) is None
    assert "Consensus of the tasks" not in {section.title for section in sections_of(of_one_task)}


def test_tasks_without_a_score_are_left_out_and_named(board: Any) -> None:
    @dataclasses.dataclass(frozen=True)
    class Picky:
        """Not defined on so few rows."""

        fewest: int = 20
        name: str = "picky"
        greater_is_better: bool = False
        prediction: Any = board.metric.prediction

        def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
            if len(truth) < self.fewest:
                return float("nan")
            return float(np.abs(truth - prediction).mean())

    study = dataclasses.replace(board, metric=Picky())
    by_task = task_scores(study, np.arange(3), seed=0)
    assert by_task is not None
    assert by_task.left_out == ("right",)
    assert by_task.scores.shape == (3, 2)
    (section,) = [s for s in sections_of(study) if s.title == "Consensus of the tasks"]
    assert "score in them: right." in section.text
    alone = dataclasses.replace(board, metric=Picky(fewest=100))
    assert "Consensus of the tasks" not in {section.title for section in sections_of(alone)}


def test_of_many_tasks_the_first_ones_are_shown_and_that_is_said() -> None:
    teams, resampled = ("a", "b"), np.array([[1.0, 2.0], [2.0, 1.0]])
    for n, n_left_out, angle, columns in ((4, 0, 0, 4), (5, 10, -40, 5), (31, 11, -40, 8)):
        names, left_out = (
            tuple(f"{letter}{number}" for number in range(count))
            for letter, count in (("t", n), ("u", n_left_out))
        )
        scores = np.tile([[1.0], [2.0]], n)
        by_task = TaskScores(
            names, np.arange(n), scores=scores, resampled=(resampled,) * n, left_out=left_out,
            greater_is_better=True,
        )  # fmt: skip
        consensus, between, agreement = task_sections(teams, by_task, 0.9, " Shown.", TEAMS)
        sentence = " Only the first 30 of 31 tasks are shown." * (n == 31)
        assert f"The rows belong to {n} tasks." in consensus.text
        assert consensus.tables[0].columns[3:] == names[:columns]
        assert ("u9" in consensus.text, "u10" in consensus.text) == (n_left_out > 9, False)
        assert ("…" in consensus.text) == (n_left_out > 10)
        for section in (between, agreement):
            assert section.text.endswith(sentence or ("." if section is agreement else "place."))
        chart_texts = [
            json.dumps(section.charts[0].specification, ensure_ascii=False)
            for section in (between, agreement)
        ]
        assert f'"labelAngle": {angle},' in chart_texts[0]
        assert [f'"t{min(n, 30) - 1}"' in text for text in chart_texts] == [True, True]
        assert ['"t30"' in text for text in chart_texts] == [False, False]
        technical = task_technical(by_task, TEAMS)
        assert (f"t{min(n, 30) - 1}: " in technical, "t30: " in technical) == (True, False)
