"""Judge an export again and compare, with the solution file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.bundle import verify_bundle
from arena.cli import options
from arena.cli.console import TerminalProgress, console, say_error, say_failures
from arena.plugin_manager import PluginManager

app = typer.Typer(add_completion=False)


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="What arena export wrote.")],
    solution: options.SolutionFile,
) -> None:
    """Judge the final submissions of an export again and compare every figure of the board.

    Exits with 1 and says what differs, if anything does.
    """
    manager = PluginManager()
    with TerminalProgress() as progress:
        problems = verify_bundle(folder, solution, manager, progress)
    say_failures(manager)
    for problem in problems:
        say_error(problem)
    if problems:
        raise typer.Exit(1)
    console().print("Every figure of the board agrees, and the record is unbroken.")
