"""From a result to one HTML file that needs no network, and to its charts as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.utils.lazy import lazy_attributes

if TYPE_CHECKING:
    from arena.report.chart_files import write_charts
    from arena.report.competition import competition_report, public_competition_report
    from arena.report.contents import board_report, public_report
    from arena.report.file_output import check_target, write_file
    from arena.report.html_page import page
    from arena.report.model import Board, Column, Rejection, Report

__all__ = [
    "Board",
    "Column",
    "Rejection",
    "Report",
    "board_report",
    "check_target",
    "competition_report",
    "page",
    "public_competition_report",
    "public_report",
    "write_charts",
    "write_file",
]

_MODULES = {
    "Board": "model",
    "Column": "model",
    "Rejection": "model",
    "Report": "model",
    "board_report": "contents",
    "check_target": "file_output",
    "competition_report": "competition",
    "page": "html_page",
    "public_competition_report": "competition",
    "public_report": "contents",
    "write_charts": "chart_files",
    "write_file": "file_output",
}
"""Name -> its module. They are imported on first use: a terminal needs the columns of a board, and
nothing else of a report."""

__getattr__ = lazy_attributes(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
