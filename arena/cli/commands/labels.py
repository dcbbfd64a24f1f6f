"""Add labels that arrive after the competition was created."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.commands.rescore import print_changes
from arena.cli.console import say_note
from arena.cli.folder import Directory, Wait, open_competition
from arena.utils.progress import ProgressDisplay
from arena.utils.requests import HERE, EngineChoice

app = typer.Typer(no_args_is_help=True, help=__doc__, add_completion=False)


@app.callback()
def _group() -> None:
    """Keep `add` a command of its own."""


@app.command()
@options.engine()
def add(
    labels: Annotated[
        Path, typer.Argument(help="CSV or Parquet: ids and labels of any rows.", metavar="FILE")
    ],
    directory: Directory = None,
    wait: Wait = 0.0,
    where: EngineChoice = HERE,
    as_json: options.AsJson = False,
) -> None:
    """Add labels of rows that had none, and score all submissions with them, on record.

    Labels that the solution has may be repeated; to correct one, use arena rescore.
    """
    with open_competition(directory, wait) as competition:
        with where.open(), ProgressDisplay() as progress:
            changes = competition.add_labels(labels, workers=where.workers, progress=progress)
        stale = competition.outdated() is not None
    print_changes(changes, applied=True, as_json=as_json)
    if stale:
        say_note("Run arena finalize to compute the private board again.")
