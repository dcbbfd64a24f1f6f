"""Exclude a submission or a team from every board, on record."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli.completion import complete_submission, complete_team
from arena.cli.console import console, say_note
from arena.cli.folder import Directory, Wait, open_competition
from arena.errors import UsageError
from arena.utils.text import printable

app = typer.Typer(add_completion=False)


@app.command()
def disqualify(
    reason: Annotated[str, typer.Option(help="The reason, kept on record.")],
    submission: Annotated[
        int | None,
        typer.Argument(
            help="The number of a submission.", metavar="ID", autocompletion=complete_submission
        ),
    ] = None,
    team: Annotated[
        str | None,
        typer.Option(
            help="A team: all its submissions, later ones too.", autocompletion=complete_team
        ),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Include it again.")] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="Only say what it changes; change nothing.")
    ] = False,
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Exclude a submission or a team from every board. It stays on record, with the reason.

    First it says how many teams' scores are released again and which published results it marks.
    """
    if (submission is None) == (team is None):
        raise UsageError("Name either the number of a submission or --team.")
    named = f"Submission {submission}" if team is None else f"The team {printable(team)}"
    out = console()
    with open_competition(directory, wait, is_decision_said=True) as competition:
        consequences = competition.consequences_of_disqualifying(
            submission, team=team, reason=reason, undo=undo
        )
        say_note(consequences)
        if preview:
            return
        if undo:
            competition.reinstate(submission=submission, team=team, reason=reason)
            out.print(f"{named} counts again.")
            return
        if team is not None:
            competition.disqualify_team(team, reason)
            out.print(f"{named} does not count any more.")
            return
        before = competition.disqualify(submission or 0, reason)
    if before is None:
        out.print(f"{named} does not count any more.")
    else:
        text = f"{named} was excluded already, for the reason: {before}"
        out.print(f"{printable(text)}\nThe new reason replaces it; both stay on record.")
