"""Name the teams that may submit in a phase, on record."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli.completion import complete_team
from arena.cli.console import console, say_note
from arena.cli.folder import Directory, Wait, open_competition
from arena.utils.text import plural, printable

app = typer.Typer(add_completion=False)


@app.command()
def qualify(
    phase: Annotated[str, typer.Argument(metavar="PHASE", help="The phase.")],
    team: Annotated[
        list[str] | None,
        typer.Option(
            "--team",
            "-t",
            help="A team; several times. Only with admit = listed.",
            autocompletion=complete_team,
        ),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Record it and carry files over.")] = False,
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Name the teams that may submit in a phase, as its key admit says.

    Without --apply nothing is changed. Notes name the teams whose rank interval crosses the limit.
    The list is a decision: it stays when the board of the earlier phase changes, and arena phases
    says so.
    """
    with open_competition(directory, wait) as competition:
        admitted = competition.qualify(phase, team or (), apply=apply)
    out = console()
    for name in admitted.teams:
        out.print(printable(name), soft_wrap=True, markup=False)
    for note in admitted.notes:
        say_note(note)
    count = plural(len(admitted.teams), "team")
    say_note(
        f"{count} may submit in the phase {phase}."
        if apply
        else f"{count} would be admitted. Nothing was changed; --apply makes the change."
    )
