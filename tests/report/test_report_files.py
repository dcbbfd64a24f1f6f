"""A report and its charts as files: written whole or not at all, and the same in a notebook."""

from __future__ import annotations

import json
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import altair as alt
import numpy as np
import pytest

from arena import Competition, score
from arena.errors import InputError, UsageError
from arena.evaluation.best_score import CorrectedBest
from arena.evaluation.winner_intervals import WinnerIntervals
from arena.plugin.manager import PluginManager
from arena.report import Report, check_target, write_charts, write_file
from arena.report.chart_files import svg
from arena.report.competition import final_board
from arena.report.contents import board_report
from arena.report.heading import picture_of
from arena.types import Chart, Section
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
    with pytest.raises(InputError, match="cannot be written: no space left on device"):
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


@pytest.mark.slow
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


LAYERED = {
    "config": {"axis": {"labelColor": "#111111"}},
    "width": 640,
    "height": {"step": 20},
    "layer": [
        {
            "data": {"values": [{"team": "a", "x": 1}]},
            "mark": "point",
            "encoding": {"x": {"field": "x", "type": "quantitative"}},
        }
    ],
}


def names_across(*names: str) -> dict[str, Any]:
    """Return a chart with names along its horizontal axis."""
    x = {"field": "x", "type": "nominal", "scale": {"domain": list(names)}}
    return {**LAYERED, "layer": [{**LAYERED["layer"][0], "encoding": {"x": x}}]}


@pytest.mark.parametrize(
    ("specification", "widths"),
    [
        (LAYERED, ["1column", "2columns"]),
        ({**LAYERED, "width": "container"}, []),  # no single view of a width
        # A column has 241 points, of which 90 are for labels: 151 hold 12 names of 12 points.
        (names_across(*ascii_lowercase[:12]), ["1column", "2columns"]),
        (names_across(*ascii_lowercase[:13]), ["2columns"]),
        # Two columns have 504 - 90 = 414 points: 34 names.
        (names_across(*map(str, range(34))), ["2columns"]),
        (names_across(*map(str, range(35))), []),
    ],
)
def test_a_chart_is_drawn_on_paper_where_its_names_fit(
    specification: dict[str, Any],
    widths: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    papers: list[dict[str, Any]] = []

    def to_pdf(paper: dict[str, Any], **_: Any) -> bytes:
        papers.append(paper)
        return b"%PDF"

    def to_png(drawn: str, scale: float) -> bytes:
        assert (drawn, scale) == ("<svg/>", 2.0)  # two dots for each point
        return PNG

    monkeypatch.setattr("vl_convert.vegalite_to_pdf", to_pdf)
    monkeypatch.setattr("vl_convert.vegalite_to_svg", lambda *_, **__: "<svg/>")
    monkeypatch.setattr("vl_convert.svg_to_png", to_png)
    monkeypatch.setattr("vl_convert.get_vegalite_versions", lambda: ["5.8", "5.20", "6.1"])
    chart = Chart("one", "A title", "", specification)
    report = Report("", (), (), (), sections=(Section("", "", charts=(chart,)),))
    written = [path.name for path in write_charts(report, tmp_path / "new" / "charts")]
    assert written == [
        "one.svg", "one.png", *(f"one-{width}.pdf" for width in widths), "one.vl.json"
    ]  # fmt: skip
    assert [paper["width"] for paper in papers] == [
        {"1column": 241, "2columns": 504}[width] for width in widths
    ]
    for paper in papers:
        assert paper["height"] == {"step": 12}
        assert paper["autosize"] == {"type": "fit-x", "contains": "padding"}
        for part in ("axis", "legend"):
            config = paper["config"][part]
            assert (config["labelFontSize"], config["titleFontSize"]) == (8, 8)
            assert config["labelLimit"] == 90
        assert paper["config"]["axis"]["labelColor"] == "#111111"
    text = (tmp_path / "new" / "charts" / "one.vl.json").read_text(encoding="utf-8")
    kept = json.loads(text)
    assert (kept["title"], kept["width"]) == ("A title", specification["width"])
    assert kept["config"]["background"] == "#ffffff"
    newest = '"https://vega.github.io/schema/vega-lite/v6.1.json"'
    assert text.startswith(f'{{\n "$schema": {newest},\n "title"')
    assert text.endswith("\n}\n")


def test_a_label_that_cannot_be_cut_is_drawn_without_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[dict[str, Any]] = []

    def refuse(specification: dict[str, Any], **_: Any) -> str:
        tried.append(specification)
        if specification["layer"][0]["labelLimit"]:
            raise ValueError
        return "<svg/>"

    monkeypatch.setattr("vl_convert.vegalite_to_svg", refuse)
    limited = {**LAYERED, "layer": [{**LAYERED["layer"][0], "labelLimit": 90}]}
    assert svg(Chart("one", "", "", limited)) == "<svg/>"
    assert [specification["layer"][0]["labelLimit"] for specification in tried] == [90, 0]
    assert tried[0]["padding"] == {"left": 35, "top": 5, "right": 5, "bottom": 5}
    monkeypatch.setattr(
        "vl_convert.vegalite_to_svg", lambda *_, **__: (_ for _ in ()).throw(ValueError)
    )
    assert svg(Chart("one", "", "", limited)) is None


def test_a_chart_that_asks_for_data_is_no_file(tmp_path: Path) -> None:
    chart = Chart("one", "", "", {**LAYERED, "data": {"url": "https://example.org"}})
    report = Report("", (), (), (), technical=(Section("", "", charts=(chart,)),))
    with pytest.raises(InputError) as refused:
        write_charts(report, tmp_path)
    assert str(refused.value) == (
        "The chart one cannot be drawn: it is not valid Vega-Lite, or loads data from elsewhere."
    )
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError) as refused_folder:
        write_charts(report, tmp_path / "file")
    assert str(refused_folder.value).startswith(f"The folder {tmp_path / 'file'} cannot be made: ")


@pytest.mark.parametrize("suffix", [".svg", ".PNG", ".webp", ".jpg", ".jpeg"])
def test_a_logo_of_half_a_megabyte_stands_in_the_page(suffix: str, tmp_path: Path) -> None:
    logo = tmp_path / f"logo{suffix}"
    logo.write_bytes(b"\0" * 500_000)
    kind = {".svg": "svg+xml", ".PNG": "png", ".webp": "webp"}.get(suffix, "jpeg")
    # Base64 writes four letters for three bytes: 500,000 bytes are 166,667 times four letters.
    address = picture_of(logo)
    assert address.startswith(f"data:image/{kind};base64,AAAA")
    assert len(address) == len(f"data:image/{kind};base64,") + 4 * 166_667
    logo.write_bytes(b"\0" * 500_001)
    with pytest.raises(InputError, match="has 500,001 bytes; a logo has at most 500,000"):
        picture_of(logo)
    with pytest.raises(InputError, match=r"cannot be read: there is no such file or folder\."):
        picture_of(tmp_path / f"none{suffix}")
    with pytest.raises(UsageError, match=r"must be one of \.svg, \.png, \.webp, \.jpg, \.jpeg\."):
        picture_of(tmp_path / "logo.gif")
