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
from arena.report.heading import NO_HEADING, Heading, picture_of
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


Title = Annotated[str, typer.Option(help="The title of the report.")]
Organiser = Annotated[str, typer.Option(help="Who organises, at the head of the report.")]
Date = Annotated[str, typer.Option(help="The date at the head of the report, printed as given.")]
Logo = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A picture at the head of the report.")
]


@dataclass(frozen=True, slots=True)
class Output:
    """How the result of a command is printed, and which files it is written to."""

    report: Path | None = None
    charts: Path | None = None
    table: Path | None = None
    as_json: bool = False
    wide: bool = False
    heading: Heading = NO_HEADING

    @property
    def needs_report(self) -> bool:
        """Whether a report is written, or charts, which are drawn from it."""
        return self.report is not None or self.charts is not None


_OUTPUT: dict[str, tuple[Any, Any]] = {
    "as_json": (options.AsJson, False),
    "report": (ReportFile, None),
    "charts": (ChartFolder, None),
}
_HEADING: dict[str, tuple[Any, Any]] = {
    "title": (Title, ""),
    "organiser": (Organiser, ""),
    "date": (Date, ""),
    "logo": (Logo, None),
}
_OF_BOARDS: dict[str, tuple[Any, Any]] = {"table": (TableFile, None), "wide": (options.Wide, False)}


def output_options(
    *, of_board: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take ``output: Output``; it is checked before anything is computed."""

    def made(**options: Any) -> Output:
        heading = _heading(**{name: options.pop(name) for name in _HEADING})
        output = Output(**options, heading=heading)
        if output.report is None and output.heading != NO_HEADING:
            raise UsageError("--title, --organiser, --date and --logo need --report FILE.")
        check_outputs(output.report, output.charts, output.table)
        return output

    chosen = _OUTPUT | (_OF_BOARDS if of_board else {}) | _HEADING
    return options.filled("output", chosen, made)


def heading_options() -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command that only writes a report take ``heading: Heading``."""
    return options.filled("heading", _HEADING, _heading)


def _heading(title: str, organiser: str, date: str, logo: Path | None) -> Heading:
    return Heading(title, organiser, date, "" if logo is None else picture_of(logo))


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


def show_result(
    result: ScoreResult, output: Output, report: Report | None, *, phase: str = ""
) -> None:
    """Print a result with its notes, and write the requested report, charts and table.

    Raises
    ------
    InputError
        If something cannot be drawn or written.
    """
    for note in result.notes:
        say_note(note)
    if output.as_json:
        print_document(result.to_dict())
    else:
        from arena.cli.board import print_result

        print_result(result, console(wide=output.wide), phase=phase)
    if output.table is not None:
        from arena.report import write_file
        from arena.report.text_tables import board_table

        write_file(output.table, board_table(result, output.table))
        say_note(f"The table is {printable(str(output.table))}.")
    write_outputs(report, output.report, output.charts, output.heading)


def board_report_if(
    is_asked: bool, result: ScoreResult, manager: PluginManager, *, progress: Progress
) -> Report | None:
    """Return the report of a result; None if it is not wanted."""
    if not is_asked:
        return None
    from arena.report.contents import ASSEMBLING, board_report

    progress.start(ASSEMBLING, 1)
    return board_report(result, manager)


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
    made_report = report() if output.needs_report else None
    if (
        output.charts
        and made_report is not None
        and not any(section.charts for section in made_report.sections)
    ):
        raise UsageError("This result has no charts: omit --charts.")
    if output.as_json:
        print_document(document())
    else:
        from arena.report.terminal import print_report

        print_report(printed() if printed else made_report or report(), console())
    write_outputs(made_report, output.report, output.charts, output.heading)


def write_outputs(
    report: Report | None, file: Path | None, charts: Path | None, heading: Heading = NO_HEADING
) -> None:
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
        text = page(report.under(heading))
        write_file(file, text)
        say_note(f"The report is {printable(str(file))}, {size(len(text.encode()))}.")
    if charts is not None:
        written = write_charts(report, charts)
        say_note(f"Files of charts in {printable(str(charts))}: {len(written):,}.")
