"""The pages of a competition, whole: their text, and their charts with the data."""

from __future__ import annotations

import io

from rich.console import Console

from arena import Competition
from arena.report import Report, page
from arena.report.final_page import final_page
from arena.report.terminal import print_report
from kept import check_kept, check_kept_document, masked
from page_text import charts_of, lines_of


def test_pages_are_the_kept_ones(html: str, public_html: str, competition: Competition) -> None:
    final = page(final_page(competition))
    for name, text in (("report", html), ("public-report", public_html), ("final-page", final)):
        check_kept(f"{name}.txt", masked(lines_of(text)))
    check_kept_document("report-charts", charts_of(html))


def test_the_terminal_shows_the_kept_report(report: Report) -> None:
    printed = io.StringIO()
    print_report(report, Console(file=printed, width=100))
    check_kept("report-in-terminal.txt", masked(printed.getvalue()))
