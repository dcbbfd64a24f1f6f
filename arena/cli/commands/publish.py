"""Publish the private board, as a new version of the result."""

from __future__ import annotations

import typer

from arena.cli.console import console
from arena.cli.folder import Directory, Phase, Wait, open_competition
from arena.utils.text import printable

app = typer.Typer(add_completion=False)


@app.command()
def publish(phase: Phase = None, directory: Directory = None, wait: Wait = 0.0) -> None:
    """Publish the finalized private board: arena serve shows it to everybody.

    Each time is a new version of the result; earlier ones stay as they were, marked.
    """
    with open_competition(directory, wait) as competition:
        board = competition.in_phase(phase)
        warnings = board.publication_warnings()
        version = board.publish()
    for warning in warnings:
        console().print(printable(f"Warning: {warning}"), soft_wrap=True)
    console().print(f"The private board is published, as result {version}.")
