"""A report and its charts as files: written whole or not at all, and the same in a notebook."""

from __future__ import annotations

import json
from pathlib import Path

import altair as alt
import numpy as np
import pytest

from arena import Competition, score
from arena.errors import InputError, UsageError
from arena.evaluation.best_score import CorrectedBest, WinnerIntervals
from arena.plugin.manager import PluginManager
from arena.report import Report, check_target, write_charts, write_file
from arena.report.competition import final_board
from arena.report.contents import board_report
from arena_ranking.bootstrap_ranks import bootstrap_rank_ranges
from arena_ranking.simultaneous import rank_intervals
from hostile_competition import SCRIPT

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    write_file(path, "new ✓")
    assert path.read_text(encoding="utf-8") == "new ✓"
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o644


def test_what_cannot_be_written_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        write_file(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_and_missing_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder; name a file in it"):
        check_target(tmp_path)
    with pytest.raises(UsageError, match="There is no folder"):
        check_target(tmp_path / "nowhere" / "page.html")


@pytest.mark.slow
def test_every_chart_is_written_in_every_form(report: Report, tmp_path: Path) -> None:
    written = write_charts(report, tmp_path / "new" / "charts")
    names = [path.name for path in written]
    assert len(set(names)) == len(names)
    stems = {name.split(".")[0] for name in names if not name.endswith(".pdf")}
    narrow, two = (tmp_path / "new" / "charts" / f"wins-{n}.pdf" for n in ("1column", "2columns"))
    assert b"/FontFile" in narrow.read_bytes()
    assert b"/MediaBox [0 0 241" in narrow.read_bytes()
    assert b"/MediaBox [0 0 504" in two.read_bytes()
    drawn = {chart.name for section in report.sections for chart in section.charts}
    assert stems == drawn
    assert {"rank-intervals", "wins", "score-intervals", "best-score", "shake-up"} <= drawn
    for stem in stems:
        folder = tmp_path / "new" / "charts"
        assert (folder / f"{stem}.png").read_bytes().startswith(PNG)
        assert (folder / f"{stem}.svg").read_text(encoding="utf-8").startswith("<svg")
        specification = json.loads((folder / f"{stem}.vl.json").read_text(encoding="utf-8"))
        assert specification["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
        assert alt.Chart.from_dict(specification).to_dict()["title"]


@pytest.mark.slow
def test_names_of_teams_are_text_in_a_picture(report: Report, tmp_path: Path) -> None:
    write_charts(report, tmp_path)
    svg = (tmp_path / "rank-intervals.svg").read_text(encoding="utf-8")
    assert SCRIPT not in svg
    assert "&lt;/script&gt;&lt;b&gt;x" in svg
    assert "🦊" in svg


@pytest.mark.slow
def test_a_file_is_no_folder_for_charts(report: Report, tmp_path: Path) -> None:
    (tmp_path / "charts").write_text("")
    with pytest.raises(UsageError, match="cannot be made"):
        write_charts(report, tmp_path / "charts")


@pytest.mark.slow
def test_a_result_refuses_a_chart_that_it_has_not(competition: Competition) -> None:
    result = final_board(competition)
    with pytest.raises(UsageError, match="There is no chart 'pie'. There are: rank-intervals"):
        result.chart("pie")


def test_statistics_have_frames_documents_and_charts() -> None:
    scores = np.array([0.7, 0.9, 0.8])
    resampled = scores[:, None] + 0.02 * np.random.default_rng(0).normal(size=(3, 100))
    teams = ["c", "a", "b"]
    intervals, spread = rank_intervals(scores, resampled), bootstrap_rank_ranges(resampled)
    assert intervals.to_frame().columns.tolist() == ["low", "high", "tier", "possible_winner"]
    assert intervals.to_frame().attrs["level"] == 0.95
    assert spread.to_frame()["median"].tolist() == [3.0, 1.0, 2.0]
    assert "ranks" not in spread.to_dict()
    assert json.dumps(intervals.to_dict())
    for chart in (intervals.chart(teams), spread.chart(teams)):
        assert isinstance(chart, alt.LayerChart)
        encoding = chart.to_dict()["layer"][0]["encoding"]
        assert encoding["y"]["scale"]["domain"] == ["a", "b", "c"]


def test_the_corrected_best_score_has_a_chart() -> None:
    winners = WinnerIntervals(np.arange(2), np.full(2, 0.75), np.full(2, 0.9), 0.95, 2, (None,) * 2)
    best = CorrectedBest(
        estimate=0.8,
        low=0.75,
        high=0.9,
        level=0.95,
        observed=0.83,
        selected=np.array([0.5, 0.5]),
        choices=400,
        choices_left_out=0,
        effective_units=100.0,
        assumption="Independent rows.",
        reason=None,
        winner_low=0.75,
        winner_high=0.89,
        winner_reason=None,
        winners=winners,
    )
    layers = best.chart().to_dict()["layer"]
    assert [layer["data"]["values"][0].get("at") for layer in layers] == [None, 0.83, 0.8]
    assert best.to_dict()["estimate"] == 0.8
    assert best.to_frame()["selected"].tolist() == [0.5, 0.5]


@pytest.mark.slow
def test_long_names_with_emoji_are_drawn_on_paper(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 80)
    teams = {
        ("\N{UNICORN FACE}" * n + "long name ") * 2: np.clip(0.3 * truth + rng.random(80) / 2, 0, 1)
        for n in range(1, 8)
    }
    result = score({"id": range(80), "y": truth}, teams, metric="roc_auc", resamples=20)
    written = {path.name for path in write_charts(board_report(result, PluginManager()), tmp_path)}
    assert {"rank-intervals-1column.pdf", "rank-intervals-2columns.pdf"} <= written
