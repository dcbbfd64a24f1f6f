"""Retract the published result, on record."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli.console import console
from arena.cli.folder import Directory, Phase, Wait, open_competition

app = typer.Typer(add_completion=False)


@app.command()
def retract(
    reason: Annotated[str, typer.Option(help="The reason, which everybody sees.")],
    phase: Phase = None,
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Retract the last published result: arena serve shows the reason instead of its rows."""
    with open_competition(directory, wait) as competition:
        version = competition.in_phase(phase).retract(reason)
    console().print(f"Result {version} is retracted.")
