"""The view of a result in a notebook: tables, charts and its report.

:class:`~arena.scoring.result.ScoreResult` lies below this package; its methods import these
functions when they are called.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena.plugin.manager import PluginManager
from arena.report.contents import board_report
from arena.report.embed import every_chart, prepared
from arena.report.file_output import check_target, write_file
from arena.report.html_page import page
from arena.report.text_tables import as_html, as_latex, as_markdown
from arena.scoring.result import ScoreResult

if TYPE_CHECKING:
    from arena.report.model import Report

__all__ = ["as_html", "as_latex", "as_markdown", "charts", "write_report"]


class NamedCharts(dict[str, Any]):
    """Charts by name; an unknown name is answered with the names that there are."""

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"There is no chart {name!r}. There are: {', '.join(self) or 'none'}.")


def charts(result: ScoreResult) -> Mapping[str, Any]:
    """Return every chart that ``--charts`` writes, by name, as Altair charts."""
    import altair as alt

    report = _report(result, "")
    charts = every_chart(prepared((*report.sections, *report.technical), report.words))
    return NamedCharts(
        (chart.name, alt.Chart.from_dict(dict(chart.specification))) for chart in charts
    )


def write_report(result: ScoreResult, path: Path, title: str) -> None:
    """Write the report of a result; raises as :func:`~arena.report.file_output.write_file`."""
    check_target(path)
    write_file(path, page(_report(result, title)))


def _report(result: ScoreResult, title: str) -> Report:
    return board_report(result, result.plugins or PluginManager(), title=title)
