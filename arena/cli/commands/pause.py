"""Refuse submissions for a while, on record."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli.console import console
from arena.cli.folder import Directory, Wait, open_competition

app = typer.Typer(add_completion=False)


@app.command()
def pause(
    reason: Annotated[str, typer.Option(help="The reason, which participants see.")],
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Refuse files from now on, uncounted, until arena resume. Participants see the reason."""
    with open_competition(directory, wait) as competition:
        competition.pause(reason)
    console().print("The competition is paused.")
