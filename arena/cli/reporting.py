"""Options and output of the commands that write a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli import options
from arena.cli.console import console, print_document, say_note
from arena.errors import UsageError
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


@dataclass(frozen=True, slots=True)
class Output:
    """Where the result of a command goes."""

    report: Path | None = None
    charts: Path | None = None
    as_json: bool = False


_OUTPUT: dict[str, tuple[Any, Any]] = {
    "report": (ReportFile, None),
    "charts": (ChartFolder, None),
    "as_json": (options.AsJson, False),
}


def output_options() -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take ``output: Output``; it is checked before anything is computed."""

    def made(**given: Any) -> Output:
        chosen = Output(**given)
        check_outputs(chosen.report, chosen.charts)
        return chosen

    return options.filled("output", _OUTPUT, made)


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


def show_report(
    output: Output,
    document: Callable[[], Mapping[str, Any]],
    report: Callable[[], Report],
    printed: Callable[[], Report] | None = None,
) -> None:
    """Print a result as a document or as its report, and write the requested report and charts.

    Parameters
    ----------
    printed
        Makes what is printed, if the report contains more than a reader of a terminal looks for.

    Raises
    ------
    UsageError
        If charts are requested and there are none.
    InputError
        If something cannot be drawn or written.
    """
    made = report() if output.report or output.charts else None
    if output.charts and made is not None and not any(one.charts for one in made.sections):
        raise UsageError("This result has no charts: omit --charts.")
    if output.as_json:
        print_document(document())
    else:
        from arena.report.terminal import print_report

        print_report(printed() if printed else made or report(), console())
    write_outputs(made, output.report, output.charts)


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
