"""Rank the final submissions on the private rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from arena.cli import options
from arena.cli.folder import Directory, Phase, Wait, open_competition
from arena.cli.reporting import Output, output_options, show_result
from arena.cli.similar import say_similar
from arena.utils.progress import ProgressDisplay
from arena.utils.requests import HERE, EngineChoice

if TYPE_CHECKING:
    from arena.competition.competition import Competition
    from arena.report import Report
    from arena.scoring.result import ScoreResult
    from arena.utils.parallel import Progress

app = typer.Typer(add_completion=False)


@app.command()
@options.engine()
@output_options(of_board=True)
def finalize(
    output: Output,
    phase: Phase = None,
    directory: Directory = None,
    wait: Wait = 0.0,
    intervals: options.Intervals = True,
    where: EngineChoice = HERE,
) -> None:
    """Rank each team's final submissions on the private rows and store the board.

    Can be run again: if nothing changed, the board is identical to the last digit. Identical
    and nearly identical submissions of different teams are listed on stderr.
    """
    options.check_intervals(intervals, output.report, output.charts)
    with (
        open_competition(directory, wait) as opened,
        where.open(),
        ProgressDisplay() as progress,
    ):
        competition = opened.in_phase(phase)
        result = competition.finalize(
            workers=where.workers, progress=progress, intervals=None if intervals else False
        )
        report = _report(competition, result, progress) if output.needs_report else None
        similar = competition.similar_submissions()
    say_similar(similar)
    show_result(result, output, report, phase=competition.phase)


def _report(competition: Competition, result: ScoreResult, progress: Progress) -> Report:
    from arena.report.competition import finalized_report

    return finalized_report(competition, result, progress=progress)
