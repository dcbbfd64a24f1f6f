"""Take a whole folder of submissions, without limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.answers import count_answers, print_answer
from arena.cli.console import TerminalProgress, console, print_document, say_error, say_failures
from arena.cli.folder import Directory, Wait, open_competition

app = typer.Typer(add_completion=False)

_FAULTS_SHOWN = 5


@app.command(name="import")
def import_(
    folder: Annotated[
        Path, typer.Argument(help="A folder of team.csv or team/anything.csv, or one file.")
    ],
    directory: Directory = None,
    wait: Wait = 0.0,
    as_json: options.AsJson = False,
    strict: options.Strict = False,
) -> None:
    """Take a folder of submissions in the order of their paths, without limits or deadline.

    Run again after it was stopped, it goes on: what was stored is not stored twice, and its first
    answer is given again.
    """
    with open_competition(directory, wait) as competition:
        with TerminalProgress() as progress:
            answers = list(competition.import_folder(folder, progress=progress))
        say_failures(competition.manager)
        files = {one["submission"]: one["file"] for one in competition.submissions()}
    if as_json:
        document = {"schema": "arena/import/1", "answers": [one.to_dict() for one in answers]}
        print_document(document)
    else:
        out = console()
        for answer in answers:
            if answer.status != "accepted":
                print_answer(answer, out, file=files[answer.submission], most=_FAULTS_SHOWN)
        out.print(f"{count_answers(answers) or 'No file was found'}.")
    accepted = sum(answer.status == "accepted" for answer in answers)
    if not accepted:
        say_error("No submission was accepted.")
    if not accepted or (strict and accepted < len(answers)):
        raise typer.Exit(1)
