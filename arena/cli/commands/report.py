"""Write the report of a competition, one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli.folder import Directory, Phase, Wait, look_at_competition
from arena.cli.reporting import ChartFolder, check_outputs, heading_options, write_outputs
from arena.errors import UsageError
from arena.report.heading import Heading
from arena.utils.progress import ProgressDisplay

app = typer.Typer(add_completion=False)


@app.command()
@heading_options()
def report(
    heading: Heading,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")],
    public: Annotated[
        bool, typer.Option("--public", help="Only what participants may see before the end.")
    ] = False,
    final: Annotated[
        bool,
        typer.Option(
            "--final",
            help="The final board for participants: winners, uncertainty and rules; no faults.",
        ),
    ] = False,
    charts: ChartFolder = None,
    phase: Phase = None,
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Write the report of the private board as it was finalized: one HTML file, no network.

    With --public it holds the public board only, nothing of the private rows; available any time.
    With --final it is the page to publish after arena finalize. Without either it is for the
    organiser only.
    """
    from arena.report.competition import competition_report, public_competition_report
    from arena.report.final_page import final_page

    if public and final:
        raise UsageError("--public and --final exclude each other.")
    check_outputs(out, charts)
    with look_at_competition(directory, wait) as opened:
        competition = opened.in_phase(phase)
        if public:
            made_report = public_competition_report(competition)
        else:
            with ProgressDisplay() as progress:
                make = final_page if final else competition_report
                made_report = make(competition, progress=progress)
    write_outputs(made_report, out, charts, heading)
