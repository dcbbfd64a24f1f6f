"""What the commands that write a report share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli.board import print_result
from arena.cli.console import console, print_document, say_failures, say_note
from arena.text import printable

if TYPE_CHECKING:
    from arena.execution import Progress
    from arena.plugin_manager import PluginManager
    from arena.report import Report
    from arena.score_result import ScoreResult

__all__ = [
    "ChartFolder",
    "ReportFile",
    "board_report_if",
    "check_outputs",
    "show_result",
    "write_outputs",
]

ReportFile = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Write the report, one HTML file, here."),
]
ChartFolder = Annotated[
    Path | None,
    typer.Option(
        "--charts", metavar="FOLDER", help="Write each chart here: SVG, PNG and Vega-Lite."
    ),
]


def check_outputs(file: Path | None, charts: Path | None) -> None:
    """Refuse what cannot be written to, before anything is computed.

    Raises
    ------
    UsageError
        If a report cannot be written to the file, or charts to the folder.
    """
    from arena.report.file_output import check_folder, check_target

    if file is not None:
        check_target(file)
    if charts is not None:
        check_folder(charts)


def board_report_if(
    wanted: bool,
    result: ScoreResult,
    manager: PluginManager,
    progress: Progress,
    title: str = "",
) -> Report | None:
    """Return the report of a result; None if nothing of it is wanted."""
    if not wanted:
        return None
    from arena.report.contents import ASSEMBLING, board_report

    progress.start(ASSEMBLING, 1)
    return board_report(result, manager, title=title)


def show_result(
    result: ScoreResult,
    manager: PluginManager,
    *,
    as_json: bool,
    made: Report | None,
    report: Path | None,
    charts: Path | None,
) -> None:
    """Show a result that was judged, what is to be known of it, and write what is wanted of it.

    Raises
    ------
    InputError
        If something cannot be drawn or written.
    """
    say_failures(manager)
    for note in result.notes:
        say_note(note)
    if as_json:
        print_document(result.to_dict())
    else:
        print_result(result, console())
    write_outputs(made, report, charts)


def write_outputs(report: Report | None, file: Path | None, charts: Path | None) -> None:
    """Write a report and its charts where they are wanted, and say so on stderr.

    Raises
    ------
    InputError
        If something cannot be drawn or written.
    """
    from arena.report import page, write_charts, write_file

    if report is None:
        return
    if file is not None:
        text = page(report)
        write_file(file, text)
        say_note(f"The report is {printable(str(file))}, {len(text) / 1e6:.1f} MB.")
    if charts is not None:
        written = write_charts(report, charts)
        say_note(f"{len(written):,} files of charts are in {printable(str(charts))}.")
