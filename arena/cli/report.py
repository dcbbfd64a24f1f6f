"""Write the report of a competition, one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli.console import TerminalProgress, say_failures
from arena.cli.folder import Directory, Wait, look_at_competition
from arena.cli.reporting import ChartFolder, check_outputs, write_outputs

app = typer.Typer(add_completion=False)


@app.command()
def report(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")],
    public: Annotated[
        bool, typer.Option("--public", help="Only what participants may see before the end.")
    ] = False,
    charts: ChartFolder = None,
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Write the report of the private board as it was finalized: one HTML file, no network.

    With --public it holds the public board, and nothing of the private rows, at any time.
    """
    from arena.report.of_competition import competition_report, public_competition_report

    check_outputs(out, charts)
    with look_at_competition(directory, wait) as competition:
        if public:
            made = public_competition_report(competition)
        else:
            with TerminalProgress() as progress:
                made = competition_report(competition, progress=progress)
        say_failures(competition.manager)
    write_outputs(made, out, charts)
