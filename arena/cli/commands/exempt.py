"""Let a team submit later or more often than others, on record."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli.completion import complete_team
from arena.cli.console import console, say_note
from arena.cli.folder import Directory, Wait, open_competition
from arena.utils.text import printable
from arena.utils.times import time_of

app = typer.Typer(add_completion=False)


@app.command()
def exempt(
    team: Annotated[
        str, typer.Argument(help="The team.", metavar="TEAM", autocompletion=complete_team)
    ],
    reason: Annotated[str, typer.Option(help="The reason, which everybody can see.")],
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="It may submit until then, such as 2027-01-05T12:00Z."),
    ] = None,
    extra: Annotated[
        int, typer.Option(min=0, help="Additional submissions: a day, a week and in total.")
    ] = 0,
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Let a team submit after the deadline or more often. It replaces an earlier exemption."""
    time = None if until is None else time_of(until)
    with open_competition(directory, wait) as competition:
        competition.exempt(team, until=time, extra=extra, reason=reason)
        unknown = not competition.submissions(team)
    console().print(f"The team {printable(team)} is exempted.", soft_wrap=True)
    if unknown:
        say_note("No team of this name has sent a file yet.")
