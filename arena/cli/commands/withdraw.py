"""Withdraw a submission of a team from every board, on record."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli import options
from arena.cli.completion import complete_submission
from arena.cli.console import console
from arena.cli.folder import Directory, Wait, open_competition

app = typer.Typer(add_completion=False)


@app.command()
def withdraw(
    submission: Annotated[
        int,
        typer.Argument(
            help="The number of the submission.", metavar="ID", autocompletion=complete_submission
        ),
    ],
    *,
    team: options.Team,
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Withdraw a submission, for good, as its team asked: it leaves every board.

    It stays counted by the limits, and no other score changes: the mechanism remembers it.
    Refused after the deadline; to exclude a submission then, use arena disqualify.
    """
    with open_competition(directory, wait) as competition:
        competition.withdraw(team, submission)
    console().print(f"Submission {submission} is withdrawn.")
