"""Record the final submissions that a team selected."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli import options
from arena.cli.completion import complete_submission
from arena.cli.console import console, say_note
from arena.cli.folder import Directory, Phase, Wait, open_competition
from arena.intake.folder import team_name
from arena.utils.text import printable

app = typer.Typer(add_completion=False)


@app.command()
def select(
    submissions: Annotated[
        list[int] | None,
        typer.Argument(
            help="The selected submissions; none: withdraw the selection.",
            metavar="ID",
            autocompletion=complete_submission,
        ),
    ] = None,
    *,
    team: options.Team,
    late: Annotated[
        bool, typer.Option("--late", help="Record it although the deadline has passed.")
    ] = False,
    phase: Phase = None,
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Record the final submissions that a team selected, replacing an earlier selection.

    Refused if there are more than competition.toml allows, or after the deadline without --late.
    The phase is that of the submissions; --phase names the one whose selection is withdrawn.
    """
    name, chosen = team_name(team), submissions or []
    with open_competition(directory, wait) as competition:
        of_phase = competition if phase is None else competition.in_phase(phase)
        rule = of_phase.select(name, chosen, late=late)
    listed = ", ".join(map(str, sorted(set(chosen)))) or "no submissions"
    console().print(f"{printable(name)} chose {listed}.", soft_wrap=True)
    if rule != "chosen":
        say_note(f"The rule of the final selection is {rule}: selections are not used.")
