"""``arena reproduce``: the table, the document and the charts of a paper."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from arena.charts.theme import PAGE
from arena.hookspecs import hookimpl
from arena.interfaces import PaperOptions, Reproduced, Reproduction, rounded, within
from arena.plugin import manager
from arena.types import Chart
from competition_folder import document
from program import run_here


class Paper:
    name = "tables"
    title = "A. Nonymous (2020), Tables"

    def reproduce(self, options: PaperOptions, progress: Any) -> Reproduction:
        rows = (
            rounded("Table 1", "mean", 0.5, 0.5004, 3),
            rounded("Table 1", "spread", 0.5, 0.61, 2, "a misprint"),
            within("Figure 1", "end", 1.0, 1.05, 0.1),
            Reproduced("Figure 2", "start", None, 3.0, None, "not printed"),
        )
        values = {"values": [{"x": 1}]}
        bars = {"data": values, "mark": "bar", "encoding": {"x": {"field": "x"}}}
        data = "with data" if options.data else "without data"
        chart = Chart("figure-1", "A bar", "A bar; it is of height 1.", bars)
        return Reproduction(rows, (chart,), (f"Figure 3: {data}.",))


class Plugin:
    @hookimpl
    def provide_papers(self) -> list[Paper]:
        return [Paper()]


@pytest.fixture(autouse=True)
def _stranger(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    class WithPaper(manager.PluginManager):
        def __init__(self) -> None:
            super().__init__()
            self.register(Plugin(), "stranger")

    monkeypatch.setattr(manager, "PluginManager", WithPaper)
    return


def test_a_table_says_what_agrees_and_why_not(tmp_path: Any) -> None:
    process = run_here("reproduce", "tables", cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    assert "2 of 3 numbers agree." in process.stdout
    assert "Table 1, spread, does not agree: a misprint." in process.stdout
    assert "Missing: Figure 3: without data." in process.stdout
    lines = [" ".join(line.split()) for line in process.stdout.splitlines() if line.strip()]
    assert lines[0] == "A. Nonymous (2020), Tables"
    assert lines[1] == "where quantity published computed agrees note"
    assert [line.partition(" agrees")[0] for line in lines[3:7]] == [
        "Table 1 mean 0.5 0.5004 yes",
        "Table 1 spread 0.5 0.61 no a misprint",
        "Figure 1 end 1 1.05 yes they may differ by 0.1: both are simulated",
        "Figure 2 start 3 not printed",
    ]
    assert lines[7:] == [
        "2 of 3 numbers agree.",
        "Table 1, spread, does not agree: a misprint.",
        "Missing: Figure 3: without data.",
    ]


def test_charts_are_handed_to_the_renderer_with_their_titles(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    specifications = []

    def draw(specification: Any) -> str:
        specifications.append(specification)
        return "<svg>"

    png = {("<svg>", 1.5): b"png"}
    renderer = SimpleNamespace(vegalite_to_svg=draw, svg_to_png=lambda svg, scale: png[svg, scale])
    monkeypatch.setitem(sys.modules, "vl_convert", renderer)
    monkeypatch.setenv("COLUMNS", "16")
    process = run_here("reproduce", "tables", "--charts", "new/charts", cwd=tmp_path)
    assert process.stdout.splitlines()[-3:] == [
        "Table 1, spread, does not agree: a misprint.",
        "Missing: Figure 3: without data.",
        "The charts (1) are in new/charts.",
    ]
    (chart,) = specifications
    assert chart["title"] == {
        "text": "A bar", "subtitle": "it is of height 1.", "anchor": "start", "fontSize": 12,
    }  # fmt: skip
    assert (chart["mark"], chart["background"]) == ("bar", PAGE)
    folder = tmp_path / "new" / "charts"
    assert (folder / "figure-1.svg").read_text() == "<svg>"
    assert (folder / "figure-1.png").read_bytes() == b"png"
    again = run_here("reproduce", "tables", "--charts", "new/charts", cwd=tmp_path)
    assert again.returncode == 0
    (tmp_path / "file").touch()
    refused = run_here("reproduce", "tables", "--charts", "file", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "arena: --charts file: name a folder, not a file.\n"


@pytest.mark.slow
def test_charts_are_drawn_as_svg_and_png(tmp_path: Any) -> None:
    process = run_here("reproduce", "tables", "--charts", "c", cwd=tmp_path)
    assert "The charts (1) are in c." in process.stdout
    assert {path.name for path in (tmp_path / "c").iterdir()} == {"figure-1.svg", "figure-1.png"}
    text = (tmp_path / "c" / "figure-1.svg").read_text(encoding="utf-8")
    assert ">A bar</text>" in text
    assert ">it is of height 1.</text>" in text


def test_the_document(tmp_path: Any) -> None:
    called = run_here("reproduce", "tables", "--data", ".", "--quick", "--json", cwd=tmp_path)
    printed = document(called, "reproduce")
    assert [row["agrees"] for row in printed["figures"]] == [True, False, True, None]
    assert (printed["charts"], printed["missing"]) == (["figure-1"], ["Figure 3: with data."])


def test_papers_are_listed_and_unknown_ones_refused(tmp_path: Any) -> None:
    listed = run_here("reproduce", cwd=tmp_path).stdout
    for name in ("bayes-error", "ladder", "multiplicity", "tables", "winner-stability"):
        assert f"{name}: " in listed
    assert "Did you mean 'ladder'" in run_here("reproduce", "laddr", cwd=tmp_path).stderr
    refused = run_here("reproduce", "ladder", "--data", "nowhere", cwd=tmp_path)
    assert "nowhere is no folder" in refused.stderr
    refused = run_here("reproduce", "--json", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--json needs the name of a paper" in refused.stderr
