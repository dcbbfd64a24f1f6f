"""Record which submissions a team chose as its final ones."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli import options
from arena.cli.console import console, say_note
from arena.cli.folder import Directory, Wait, open_competition
from arena.intake.folder import team_name
from arena.text import printable

app = typer.Typer(add_completion=False)


@app.command()
def select(
    submissions: Annotated[
        list[int] | None,
        typer.Argument(help="What it chose; nothing: take its choice back.", metavar="ID…"),
    ] = None,
    *,
    team: options.Team,
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Record which submissions a team chose as its final ones, in place of its earlier choice.

    More than competition.toml allows are refused, and nothing is changed then.
    """
    name, chosen = team_name(team), submissions or []
    with open_competition(directory, wait) as competition:
        competition.select(name, chosen)
        rule = competition.settings.final.rule
    listed = ", ".join(map(str, sorted(set(chosen)))) or "nothing any more"
    console().print(f"{printable(name)} chose {listed}.", soft_wrap=True)
    if rule != "chosen":
        say_note(f"The rule of the final selection is {rule}: choices do not count.")
