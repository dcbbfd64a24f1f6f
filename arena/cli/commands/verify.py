"""Score an export again, and compare it with its record."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.console import console, say_error
from arena.competition.exports.claims import read_claims
from arena.competition.exports.receipts import receipt_problems
from arena.competition.exports.verify import verify_bundle
from arena.plugin.manager import PluginManager
from arena.utils.progress import ProgressDisplay

app = typer.Typer(add_completion=False)


@app.command()
def verify(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder that arena export wrote.")
    ],
    solution: options.SolutionFile,
    receipt: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Output of submit, import or leaderboard (--json), or a text with hashes: "
            "check that the record still holds them.",
        ),
    ] = None,
) -> None:
    """Score the final submissions of an export again, and compare every figure with the board.

    Solution, split, predictions, settings and the lists of submissions are compared with the
    record of events. Exits with 1 and names every difference.
    """
    manager = PluginManager()
    with ProgressDisplay() as progress:
        problems = verify_bundle(folder, solution, manager, progress)
    if receipt is not None:
        problems += receipt_problems(receipt, read_claims(folder).events)
    for problem in problems:
        say_error(problem)
    if problems:
        raise typer.Exit(1)
    console().print("Every figure of the board agrees, and the record is unbroken.")
