"""Add rows after the competition was created."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli.folder import Directory, Wait, open_competition
from arena.utils.progress import ProgressDisplay

app = typer.Typer(no_args_is_help=True, help=__doc__, add_completion=False)


@app.callback()
def _group() -> None:
    """Keep `add` a command of its own."""


@app.command()
def add(
    rows: Annotated[
        Path,
        typer.Argument(help="CSV or Parquet: further rows of the solution.", metavar="FILE"),
    ],
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Add rows to phases without submissions, and a round of each new date, on record.

    Rows that the solution has may be repeated. The sample submission gets the new ones too.
    """
    with open_competition(directory, wait) as competition, ProgressDisplay() as progress:
        competition.add_rows(rows, progress=progress)
