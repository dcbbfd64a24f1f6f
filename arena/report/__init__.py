"""From a result to one HTML file that needs no network, and to its charts as files."""

from arena.report.chart_files import write_charts
from arena.report.contents import board_report, public_report
from arena.report.file_output import check_target, write_file
from arena.report.model import Board, Column, Rejection, Report
from arena.report.page import page

__all__ = [
    "Board",
    "Column",
    "Rejection",
    "Report",
    "board_report",
    "check_target",
    "page",
    "public_report",
    "write_charts",
    "write_file",
]
