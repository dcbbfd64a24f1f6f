"""Rename a team, or merge two teams into one, on record."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli.completion import complete_team
from arena.cli.console import console, say_note
from arena.cli.folder import Directory, Wait, open_competition
from arena.competition.record.team_names import ConfusableNames
from arena.intake.folder import team_name
from arena.utils.text import plural, printable

app = typer.Typer(no_args_is_help=True, help=__doc__, add_completion=False)


@app.command()
def rename(
    old: Annotated[
        str, typer.Argument(help="The team's name.", metavar="OLD", autocompletion=complete_team)
    ],
    new: Annotated[str, typer.Argument(help="Its new name.", metavar="NEW")],
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Rename a team. Its submissions, limits and decisions continue under the new name.

    Files sent under the old name are still assigned to the team.
    """
    with open_competition(directory, wait) as competition:
        competition.rename_team(old, new)
        others = {record.team for record in competition.records()} - {team_name(new)}
    console().print(f"The team {printable(old)} is now called {printable(new)}.", soft_wrap=True)
    if note := ConfusableNames(others).add(team_name(new)):
        say_note(note)


@app.command()
def merge(
    team: Annotated[
        str,
        typer.Argument(
            help="The team that joins the other.", metavar="TEAM", autocompletion=complete_team
        ),
    ],
    into: Annotated[
        str,
        typer.Argument(help="The team that remains.", metavar="INTO", autocompletion=complete_team),
    ],
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Merge a team into another one. This cannot be undone.

    The merged team has the submissions and selections of both. Its limits count the submissions of
    both teams, so it may have used up its submissions already.
    """
    with open_competition(directory, wait) as competition:
        competition.merge_teams(team, into)
        rows = competition.submissions(into)
    console().print(
        f"{printable(team)} joined {printable(into)}, which now has "
        f"{plural(len(rows), 'submission')}.",
        soft_wrap=True,
    )
