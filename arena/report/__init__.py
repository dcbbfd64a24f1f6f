"""From a result to one HTML file that needs no network, and to its charts as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.utils.lazy import lazy_exports

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

# A terminal needs the columns of a board, and nothing else of a report.
__getattr__, __dir__ = lazy_exports(__name__, __file__)
