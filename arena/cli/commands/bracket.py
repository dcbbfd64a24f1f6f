"""Put a team into a bracket, or take it out, on record."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli.completion import complete_team
from arena.cli.console import console, say_note
from arena.cli.folder import Directory, Wait, open_competition
from arena.utils.text import printable

app = typer.Typer(add_completion=False)


@app.command()
def bracket(
    team: Annotated[
        str, typer.Argument(help="The team.", metavar="TEAM", autocompletion=complete_team)
    ],
    name: Annotated[str, typer.Argument(help="The bracket.", metavar="NAME")],
    remove: Annotated[bool, typer.Option("--remove", help="Take the team out of it.")] = False,
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Put a team into a bracket of competition.toml, [bracket.NAME]. It may be in several."""
    with open_competition(directory, wait) as competition:
        competition.assign_bracket(team, name, member=not remove)
        stored = bool(competition.submissions(team))
        outdated = competition.outdated()
    where = "no longer in" if remove else "in"
    console().print(
        f"The team {printable(team)} is {where} the bracket {printable(name)}.", soft_wrap=True
    )
    if not stored:
        say_note("No submission of this team is stored yet.")
    if outdated:
        say_note(outdated)
