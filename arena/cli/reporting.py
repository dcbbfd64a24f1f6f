"""Options and output of the commands that write a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli.console import console, print_document, say_failures, say_note
from arena.utils.formatting import size
from arena.utils.text import printable

if TYPE_CHECKING:
    from arena.plugin.manager import PluginManager
    from arena.report import Report
    from arena.scoring.result import ScoreResult
    from arena.utils.parallel import Progress

ReportFile = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Write the report, one HTML file, here."),
]
TableFile = Annotated[
    Path | None,
    typer.Option(
        "--table",
        metavar="FILE",
        help="Write the board as a table here: .tex (booktabs), .md or .html.",
    ),
]
ChartFolder = Annotated[
    Path | None,
    typer.Option(
        "--charts",
        metavar="FOLDER",
        help="Write each chart here: SVG, PNG, Vega-Lite, and PDF for papers.",
    ),
]


def check_outputs(file: Path | None, charts: Path | None, table: Path | None = None) -> None:
    """Check that files and a folder can be written, before anything is computed.

    Raises
    ------
    UsageError
        If a report or table cannot be written to its file, or charts to the folder.
    """
    if table is not None:
        from arena.report.text_tables import check_table_path

        check_table_path(table)
    from arena.report.file_output import check_folder, check_target

    for path in (file, table):
        if path is not None:
            check_target(path)
    if charts is not None:
        check_folder(charts)


def board_report_if(
    wanted: bool,
    result: ScoreResult,
    manager: PluginManager,
    progress: Progress,
    title: str = "",
) -> Report | None:
    """Return the report of a result; None if it is not wanted."""
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
    wide: bool = False,
    table: Path | None = None,
) -> None:
    """Print a result with its notes, and write the requested report and charts.

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
        from arena.cli.board import print_result

        print_result(result, console(wide=wide))
    if table is not None:
        from arena.report import write_file
        from arena.report.text_tables import board_table

        write_file(table, board_table(result, table))
        say_note(f"The table is {printable(str(table))}.")
    write_outputs(made, report, charts)


def write_outputs(report: Report | None, file: Path | None, charts: Path | None) -> None:
    """Write a report and its charts, and print on stderr where they are.

    Raises
    ------
    InputError
        If something cannot be drawn or written.
    """
    if report is None:
        return
    from arena.report import page, write_charts, write_file

    if file is not None:
        text = page(report)
        write_file(file, text)
        say_note(f"The report is {printable(str(file))}, {size(len(text.encode()))}.")
    if charts is not None:
        written = write_charts(report, charts)
        say_note(f"{len(written):,} files of charts are in {printable(str(charts))}.")
