"""Judge the final submissions on the private rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from arena.cli import options
from arena.cli.console import TerminalProgress
from arena.cli.folder import Directory, Wait, open_competition
from arena.cli.reporting import ChartFolder, ReportFile, check_outputs, show_result

if TYPE_CHECKING:
    from arena.competition import Competition
    from arena.execution import Progress
    from arena.report import Report
    from arena.score_result import ScoreResult

app = typer.Typer(add_completion=False)


@app.command()
def finalize(
    directory: Directory = None,
    wait: Wait = 0.0,
    as_json: options.AsJson = False,
    report: ReportFile = None,
    charts: ChartFolder = None,
) -> None:
    """Judge each team's final submissions on the private rows and keep the board.

    It may be run again: while nothing changed, the board is the same to the last digit.
    """
    check_outputs(report, charts)
    with open_competition(directory, wait) as competition, TerminalProgress() as progress:
        result = competition.finalize(progress=progress)
        made = _report(competition, result, progress) if report or charts else None
    manager = competition.manager
    show_result(result, manager, as_json=as_json, made=made, report=report, charts=charts)


def _report(competition: Competition, result: ScoreResult, progress: Progress) -> Report:
    from arena.report.of_competition import finalized_report

    return finalized_report(competition, result, progress=progress)
