"""Show whether winners were verified, or record it."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli.console import console, say_note
from arena.cli.folder import Directory, Phase, Wait, open_competition
from arena.competition.verification import VerificationState, may_be_first
from arena.errors import UsageError
from arena.utils.text import printable

app = typer.Typer(add_completion=False)


@app.command()
def winners(
    submission: Annotated[
        int | None, typer.Argument(help="A submission of the private board.", metavar="SUBMISSION")
    ] = None,
    state: Annotated[
        VerificationState | None, typer.Option(help="What was found; open: nothing yet.")
    ] = None,
    note: Annotated[str, typer.Option(help="What was done; everybody can see it.")] = "",
    phase: Phase = None,
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Show who may be first and is verified, or record what the verification of a file found."""
    if (submission is None) != (state is None):
        raise UsageError("Name both the submission and --state, or neither to see the winners.")
    with open_competition(directory, wait) as competition:
        if submission is not None and state is not None:
            competition.verify_winner(submission, state, note=note)
            console().print(f"Submission {submission}: {state}.")
            return
        board = competition.in_phase(phase)
        boards, warnings = board.private_leaderboards(), board.publication_warnings()
        if outdated := board.outdated():
            say_note(outdated)
    for name, rows in boards.items():
        if name:
            console().print(printable(f"{name}:"), soft_wrap=True)
        for row in rows:
            if may_be_first(row) or row.get("verification"):
                outcome = row.get("verification") or "not verified"
                text = f"{row['rank']}  {row['team']}  submission {row['submission']}  {outcome}"
                about = row.get("verification_note")
                console().print(printable(f"{text}: {about}" if about else text), soft_wrap=True)
    for warning in warnings:
        console().print(printable(warning), soft_wrap=True)
