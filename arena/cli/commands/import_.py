"""Import a folder of submissions, without limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.console import console, print_document, say_error
from arena.cli.folder import Directory, Wait, open_competition
from arena.cli.submission_output import count_answers, print_answer
from arena.utils.progress import ProgressDisplay

app = typer.Typer(add_completion=False)

_FAULTS_SHOWN = 5


@app.command(name="import")
def import_(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="A folder of team.csv or team/anything.csv, or one file."
        ),
    ],
    manifest: Annotated[
        Path | None,
        typer.Option(
            help="A CSV file with the columns file, received (ISO 8601) and optionally team: the "
            "original times.",
            readable=False,
        ),
    ] = None,
    directory: Directory = None,
    wait: Wait = 0.0,
    as_json: options.AsJson = False,
    strict: options.Strict = False,
) -> None:
    """Import submissions in the order of their paths or times, without limits or deadline.

    Can be resumed: files that are already stored are not stored twice, and their first answer is
    returned again.
    """
    with open_competition(directory, wait) as competition:
        with ProgressDisplay() as progress:
            answers = list(competition.import_folder(folder, manifest=manifest, progress=progress))
        display = competition.settings.display(public=True)
        files = {one["submission"]: one["file"] for one in competition.submissions()}
    if as_json:
        document = {"schema": "arena/import/1", "answers": [one.to_dict() for one in answers]}
        print_document(document)
    else:
        out = console()
        for answer in answers:
            if answer.status != "accepted":
                print_answer(
                    answer, out, display, file=files[answer.submission], most=_FAULTS_SHOWN
                )
        out.print(f"{count_answers(answers) or 'No file was found'}.")
    accepted = sum(answer.status == "accepted" for answer in answers)
    if not accepted:
        say_error("No submission was accepted.")
    if not accepted or (strict and accepted < len(answers)):
        raise typer.Exit(1)
