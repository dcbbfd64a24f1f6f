"""Take one submission of a team, and release its public score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.answers import print_answer
from arena.cli.console import console, print_document, say_failures
from arena.cli.folder import Directory, Wait, open_competition

app = typer.Typer(add_completion=False)


@app.command()
def submit(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet, as sample_submission.csv.")],
    team: options.Team,
    key: Annotated[
        str | None,
        typer.Option(
            help="Whatever comes under this key again is the same submission.  [default: the file]"
        ),
    ] = None,
    directory: Directory = None,
    wait: Wait = 0.0,
    as_json: options.AsJson = False,
) -> None:
    """Take one submission: check, count, score and store it, and release its public score.

    Exits with 1 if it is rejected for its faults, or refused for a limit or the deadline. The same
    file of the same team again gives the first answer again and uses up no place.
    """
    with open_competition(directory, wait) as competition:
        answer = competition.submit(file, team, key=key)
        say_failures(competition.manager)
    if as_json:
        print_document({"schema": "arena/submit/1", **answer.to_dict()})
    else:
        print_answer(answer, console())
    if answer.status != "accepted":
        raise typer.Exit(1)
