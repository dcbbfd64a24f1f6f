"""Receive submissions again after a pause, on record."""

from __future__ import annotations

import typer

from arena.cli.console import console
from arena.cli.folder import Directory, Wait, open_competition

app = typer.Typer(add_completion=False)


@app.command()
def resume(
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Receive files again after arena pause."""
    with open_competition(directory, wait) as competition:
        competition.resume()
    console().print("Files are received again.")
