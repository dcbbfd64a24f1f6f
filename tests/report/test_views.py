"""What a result shows of itself: texts, tables, charts and its report."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arena
from arena.plugin.manager import PluginManager
from arena.report import views
from arena.report.contents import board_report
from arena.report.embed import as_script_data, every_chart, prepared
from arena.report.model import Report
from arena.types import Chart, Section
from board_results import a_result


@pytest.fixture(scope="module")
def board() -> arena.ScoreResult:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 80)
    teams = {name: 0.3 * y + rng.random(80) * 0.7 for name in ("a & b | 1 to 2", "<i>x</i>")}
    return arena.score(y, teams, metric="roc_auc", resamples=20)


def test_tables_escape_what_a_team_wrote(board: arena.ScoreResult) -> None:
    markdown, latex, html = board.to_markdown(), board.to_latex(), board._repr_html_()
    assert r"a & b \| 1 to 2" in markdown
    assert len({line.count(" | ") for line in markdown.replace(r"\|", "").splitlines()}) == 1
    assert r"a \& b | 1 to 2 &" in latex
    assert "--" in latex
    assert latex.count(r" \\") == 3
    assert "&lt;i&gt;x&lt;/i&gt;" in html
    assert "<i>" not in html
    assert html.count("background:#0a5c9c") == 2


def test_numbers_that_json_does_not_have_are_refused_in_a_chart() -> None:
    assert as_script_data({"value": 1e300}) == '{"value":1e+300}'
    for number in (math.nan, math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            as_script_data({"value": number})


@pytest.mark.slow
def test_the_charts_are_those_of_the_report(board: arena.ScoreResult, tmp_path: Path) -> None:
    assert board.plugins is not None
    report = board_report(board, board.plugins)
    expected = [
        chart.name for chart in every_chart(prepared((*report.sections, *report.technical)))
    ]
    charts = board.charts
    assert list(charts) == expected
    assert "rank-intervals" in charts
    with pytest.raises(KeyError, match="no chart 'rank'. There are: .*rank-intervals"):
        charts["rank"]
    assert all(hasattr(chart, "to_dict") for chart in charts.values())
    board.report(tmp_path / "report.html", title="My models")
    assert "My models" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_view_is_of_the_plugins_with_which_a_board_was_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chart = Chart(
        "a-bar", "T", description="D", specification={"mark": "bar", "data": {"values": []}}
    )
    section = Section("S", "text", tables=(), charts=(chart,))
    reports: list[tuple[Any, Any, str]] = []

    def report_of(result: Any, manager: Any, *, title: str) -> Report:
        reports.append((result, manager, title))
        return Report(title, (), verdicts=("Verdict.",), boards=(), sections=(section,))

    monkeypatch.setattr(views, "board_report", report_of)
    plugins = PluginManager(entry_points=False)
    with_plugins, without = a_result(plugins=plugins), a_result(plugins=None)
    drawn_charts = views.charts(with_plugins)
    assert {name: drawn_chart.to_dict()["mark"] for name, drawn_chart in drawn_charts.items()} == {
        "a-bar": "bar"
    }
    for charts, names in ((drawn_charts, "a-bar"), (views.NamedCharts(), "none")):
        with pytest.raises(KeyError) as unknown:
            charts["b"]
        assert unknown.value.args == (f"There is no chart 'b'. There are: {names}.",)
    views.write_report(without, tmp_path / "r.html", title="Title")
    assert "<title>Title</title>" in (tmp_path / "r.html").read_text(encoding="utf-8")
    (first, second) = reports
    assert first == (with_plugins, plugins, "")
    assert (second[0], second[2], type(second[1])) == (without, "Title", PluginManager)
