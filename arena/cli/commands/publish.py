"""Publish the private board, as a new version of the result."""

from __future__ import annotations

import typer

from arena.cli.console import console
from arena.cli.folder import Directory, Wait, open_competition

app = typer.Typer(add_completion=False)


@app.command()
def publish(directory: Directory = None, wait: Wait = 0.0) -> None:
    """Publish the finalized private board: arena serve shows it to everybody.

    Each time is a new version of the result; earlier ones stay as they were, marked.
    """
    with open_competition(directory, wait) as competition:
        version = competition.publish()
    console().print(f"The private board is published, as result {version}.")
