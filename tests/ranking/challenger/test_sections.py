"""The readings as sections of a report: what they say, what they show, what they cost."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import vl_convert

from arena.charts import as_altair
from arena.types import Section
from arena_ranking import provide_report_sections
from arena_ranking.analysis import Ranks
from arena_ranking.challenger.rank_charts import methods_chart
from kept import check_kept_document, with_short_curves

_FORBIDDEN = re.compile(r"bootstrap|resampl|p-value", re.IGNORECASE)
_HOSTILE = (
    "</script><b>x",
    'it\'s \\ "quoted"\n',
    "\u202egnp.exe",
    "=1+1",
    "é" * 100,
    "é" * 99 + "x",
)
StudyMaker = Callable[..., Any]


_made: dict[int, list[Section]] = {}


def sections_of(study: Any) -> list[Section]:
    """Return the sections of a study, made once."""
    if id(study) not in _made:
        _made[id(study)] = made(study)
    return _made[id(study)]


def made(study: Any) -> list[Section]:
    finding = Ranks().run(study, np.random.default_rng(0))
    result = SimpleNamespace(study=study, findings=(finding,), seed=7)
    return list(provide_report_sections(result))


@pytest.fixture(scope="session")
def rmse_study(study_of: StudyMaker, metrics: dict[str, Any]) -> Any:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=300)
    noise = np.linspace(0.5, 1.0, 8)[:, np.newaxis] * rng.normal(size=(8, 300))
    teams = (*_HOSTILE, "g", "h")
    return study_of(metrics["rmse"], truth, truth + noise, teams=teams)


@pytest.fixture(scope="session")
def accuracy_study(
    study_of: StudyMaker, metrics: dict[str, Any], correlated_labels: Callable[..., Any]
) -> Any:
    truth, predictions = correlated_labels(np.random.default_rng(1), np.linspace(0.8, 0.7, 55), 200)
    return study_of(metrics["accuracy"], truth, predictions, resamples=100)


@pytest.fixture(scope="session")
def black_box_study(
    study_of: StudyMaker, metrics: dict[str, Any], correlated_labels: Callable[..., Any]
) -> Any:
    truth, predictions = correlated_labels(np.random.default_rng(2), [0.9, 0.8, 0.6, 0.6], 150)
    return study_of(metrics["black_box"], truth, predictions, resamples=60)


@pytest.fixture(params=["rmse", "accuracy", "black_box"])
def study(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(f"{request.param}_study")


@pytest.mark.few(1)
def test_participants_read_plain_words(study: Any) -> None:
    sections = sections_of(study)
    assert [section.technical for section in sections].count(True) == 1
    for section in sections:
        assert not section.public
        if section.technical:
            continue
        tables = [(table.title, table.columns) for table in section.tables]
        charts = [(c.title, c.description, c.specification) for c in section.charts]
        text = json.dumps([section.title, section.text, tables, charts])
        assert not _FORBIDDEN.search(text)


@pytest.mark.slow
def test_every_chart_is_valid_and_has_marks(study: Any) -> None:
    charts = [chart for section in sections_of(study) for chart in section.charts]
    names = {chart.name.removeprefix("reading-") for chart in charts}
    assert len(names) == len(charts)
    # Where each row is right or wrong, a podium and ranks by row say nothing.
    assert {"stability", "methods", "agreement"} <= names
    assert study.metric.name != "rmse" or {"podium", "heatmap", "significance"} <= names
    for chart in charts:
        if study.metric.name == "rmse":  # altair checks it against Vega-Lite's schema, slowly
            as_altair(chart.specification)
        svg = vl_convert.vegalite_to_svg(dict(chart.specification))
        assert svg.count("<path") > 3, chart.name
        assert len(json.dumps(chart.specification)) < 150_000


def test_the_first_fifty_are_shown_and_that_is_said(accuracy_study: Any) -> None:
    sections = {section.title: section for section in sections_of(accuracy_study)}
    sentence = "Only the first 50 of 55 teams are shown."
    assert sentence in sections["How stable the ranks are"].text
    assert sentence in sections["Significance map"].text
    (table,) = sections["Ranks by other methods"].tables
    assert len(table.rows) == 10
    (chart,) = sections["Ranks by other methods"].charts
    assert len(chart.specification["data"]["values"]) == 10
    of_50 = "the first 10 teams, of 50 that were ranked by every method."
    assert of_50 in sections["Ranks by other methods"].text
    # Each row is right or wrong: most teams have the median 1 and tie on most rows.
    assert table.columns == ("team", "score", "mean rank", "tests")
    assert "the same rank: median, median rank." in sections["Ranks by other methods"].text
    assert "Ranks row by row" not in sections
    assert [row[1] for row in table.rows] == sorted(row[1] for row in table.rows)


def test_hostile_names_do_not_run_together(rmse_study: Any) -> None:
    (stability, *_) = sections_of(rmse_study)
    labels = [row["team"] for row in stability.charts[0].specification["data"]["values"]]
    assert len(set(labels)) == 8
    assert not any("\u202e" in label or "\n" in label for label in labels)


def test_a_metric_without_row_values_says_so(black_box_study: Any) -> None:
    sections = {section.title: section for section in sections_of(black_box_study)}
    assert "The podium" not in sections
    assert "all rows together" in sections["Significance map"].text
    technical = sections["Methods of the ranking analyses"].text
    assert "paired t tests" in technical
    assert "standard errors from resampled scores" in technical
    won = dict(row[:2] for row in sections["Significance map"].tables[0].rows)
    assert won["team 0"] == 3


def test_sections_of_small_boards_are_kept(
    study_of: StudyMaker, metrics: dict[str, Any], black_box_study: Any
) -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=40)
    predictions = truth + np.array([[0.4], [0.7], [0.9]]) * rng.normal(size=(3, 40))
    right = np.tile([0, 1], 10)
    flipped = np.where(np.arange(20) == np.array([[20], [3]]), 1 - right, right)
    groups = np.repeat(np.arange(8), 5)
    teams = ("ant", "bee", "cat")
    options = {"resamples": 40, "level": 0.9}
    boards = {
        "values": study_of(metrics["rmse"], truth, predictions, teams=teams, **options),
        "groups": study_of(
            metrics["rmse"], truth, predictions, teams=teams, clusters=groups, **options
        ),
        "tasks": replace(
            study_of(metrics["rmse"], truth, predictions, teams=teams, **options),
            tasks=np.arange(40) % 5,
            task_names=tuple("vwxyz"),
        ),
        "one row that differs": study_of(metrics["accuracy"], right, flipped, **options),
        "of all rows together": black_box_study,
    }
    charts_of: dict[str, Any] = dict.fromkeys(boards, lambda _: False)
    charts_of |= {
        "values": lambda _: True,
        "tasks": lambda chart: "task" in chart.name or "consensus" in chart.name,
    }
    documents: dict[str, Any] = {
        name: [
            asdict(replace(section, charts=tuple(filter(charts_of[name], section.charts))))
            for section in made(study)
        ]
        for name, study in boards.items()
    }
    finding = Ranks().run(boards["values"], np.random.default_rng(0))
    documents["finding"] = [finding.verdict, finding.document]
    check_kept_document("ranking-sections", with_short_curves(documents))


@pytest.mark.slow
def test_groups_are_compared_whole(study_of: StudyMaker, metrics: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(40), 5)
    shared = rng.normal(size=40)[clusters]
    truth = rng.normal(size=200)
    predictions = truth + np.array([[0.5], [0.7], [0.9]]) * (shared + rng.normal(size=(3, 200)))
    study = study_of(metrics["rmse"], truth, predictions, clusters=clusters, resamples=100)
    details = Ranks().run(study, rng).details
    squared = (predictions - truth) ** 2
    means = squared.reshape(3, 40, 5).mean(axis=2)
    assert details.values == pytest.approx(means[details.positions])
    assert details.n_cases == 40
    text = " ".join(section.text for section in made(study))
    assert "on single groups of rows" in text
    assert "40 cluster means of row values" in text


@pytest.mark.slow
def test_the_same_board_gives_the_same_sections(rmse_study: Any) -> None:
    assert made(rmse_study) == sections_of(rmse_study)


def test_a_board_of_one_team_or_of_none_has_no_readings(
    study_of: StudyMaker, metrics: dict[str, Any]
) -> None:
    study_of_one = study_of(metrics["accuracy"], np.array([0, 1, 1, 0]), np.array([[0, 1, 0, 0]]))
    assert made(study_of_one) == []
    for n_rows, has_readings in ((1, False), (2, True)):
        rows = np.array([[0, 1], [0, 0]])[:, :n_rows]
        assert bool(made(study_of(metrics["accuracy"], rows[0], rows))) is has_readings
    assert provide_report_sections(SimpleNamespace(study=None, findings=(), seed=0)) == []
    assert provide_report_sections({"anything": 1}) == []


@pytest.mark.parametrize(("n_differing", "is_drawn"), [(1, False), (2, True)])
def test_a_line_for_each_row_is_drawn_where_two_rows_differ(
    study_of: StudyMaker, metrics: dict[str, Any], n_differing: int, is_drawn: bool
) -> None:
    right = np.tile([0, 1], 10)
    wrong = np.where(np.arange(20) < n_differing, 1 - right, right)
    sections = made(study_of(metrics["accuracy"], right, np.stack([right, wrong])))
    (shown,) = (section for section in sections if section.title == "The podium")
    assert ("The second chart shows 2 rows without ties" in shown.text) == is_drawn
    assert len(shown.charts) == 1 + is_drawn


def test_identical_teams_are_never_shown_to_be_better(
    study_of: StudyMaker, metrics: dict[str, Any]
) -> None:
    truth = np.tile([0, 1], 30)
    study = study_of(metrics["accuracy"], truth, np.stack([truth] * 3))
    sections = {section.title: section for section in made(study)}
    shown = sections["Significance map"]
    assert "The podium" not in sections
    assert not shown.tables
    assert not shown.charts
    assert "No difference is significant" in shown.text


@pytest.mark.slow
def test_charts_of_results_are_those_of_the_report() -> None:
    from arena_ranking.challenger import podium, rank_frequencies, significance_map

    values = np.random.default_rng(0).normal(size=(4, 50))
    teams = ["a", "b", "c", "d"]
    ranks = values.argsort(axis=0).argsort(axis=0) + 1
    for chart in (
        significance_map(values).chart(teams),
        rank_frequencies(ranks).chart(teams),
        rank_frequencies(ranks).heatmap(teams),
        podium(values).chart(teams),
        podium(values).cases(teams),
    ):
        assert vl_convert.vegalite_to_svg(chart.to_dict()).count("<path") > 3


@pytest.mark.slow
def test_the_example_draws_its_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "challenger_readings.py"))
    example["main"](tmp_path / "out")
    assert len(list((tmp_path / "out").glob("*.svg"))) == 5
    assert "Kendall's tau: 1.00" in capsys.readouterr().out


def test_teams_that_share_the_last_rank_share_its_label() -> None:
    ranks = {"mean": [1, 2, 3], "median": [1, 2, 2], "Borda": [2, 1, 1]}
    chart: Any = methods_chart(
        ["ant", "bee", "cat"], {name: np.array(values) for name, values in ranks.items()}
    )
    assert chart["layer"][-1]["data"]["values"] == [
        {"method": "Borda", "rank": 2, "label": "ant"},
        {"method": "Borda", "rank": 1, "label": "bee + 1"},
    ]
