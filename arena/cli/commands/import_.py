"""Import a folder of submissions, without limits."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from arena.cli import options
from arena.cli.console import console, print_document, say_error, say_note
from arena.cli.folder import Directory, Wait, open_competition
from arena.cli.submission_output import count_answers, print_answer
from arena.errors import UsageError
from arena.utils.progress import ProgressDisplay
from arena.utils.text import printable

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
    codabench: Annotated[
        Path | None,
        typer.Option(
            metavar="BUNDLE",
            help="Write settings from an unpacked Codabench or CodaLab bundle into FOLDER.",
        ),
    ] = None,
    evalai: Annotated[
        Path | None,
        typer.Option(
            metavar="CHALLENGE",
            help="Write settings from the unpacked files of an EvalAI challenge into FOLDER.",
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

    With --codabench or --evalai nothing is submitted: settings.toml and pages are written for arena
    init, and everything that was left out is listed.
    """
    if codabench is not None or evalai is not None:
        others = manifest is not None or directory is not None or as_json
        if others or None not in (codabench, evalai):
            raise UsageError("--codabench and --evalai exclude other options and each other.")
        _import_settings(folder, codabench, evalai)
        return
    with open_competition(directory, wait) as competition:
        with ProgressDisplay() as progress:
            answers = list(competition.import_folder(folder, manifest=manifest, progress=progress))
        if competition.settings.programs.sandbox:
            say_note(
                "This competition runs programs, and no program wrote these files: arena programs "
                "rerun cannot verify them."
            )
        display = competition.settings.display(public=True)
        files = {
            submission["submission"]: submission["file"] for submission in competition.submissions()
        }
    if as_json:
        document = {"schema": "arena/import/1", "answers": [answer.to_dict() for answer in answers]}
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


def _import_settings(folder: Path, codabench: Path | None, evalai: Path | None) -> None:
    from arena.competition.other_platforms.codabench import settings_from_codabench
    from arena.competition.other_platforms.evalai import settings_from_evalai

    if codabench is not None:
        imported = settings_from_codabench(codabench)
    else:
        imported = settings_from_evalai(evalai or folder)
    files, out = imported.write(folder), console()
    for path in files:
        out.print(f"Written: {printable(str(path))}", soft_wrap=True, markup=False)
    if imported.row_sets:
        out.print("Write the labels into one solution, with these values in the column Usage:")
        for usage, reference in imported.row_sets.items():
            out.print(f"  {usage}: {printable(reference)}", soft_wrap=True, markup=False)
    out.print("Left out:")
    for line in imported.left_out:
        out.print(f"  {printable(line)}", soft_wrap=True, markup=False)
    out.print(
        f"Then: arena init {shlex.quote(str(folder))} --solution FILE --settings "
        f"{shlex.quote(str(files[0]))}",
        soft_wrap=True,
        markup=False,
    )
