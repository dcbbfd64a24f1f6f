"""Judge the final submissions on the private rows."""

from __future__ import annotations

import typer

from arena.cli import options
from arena.cli.board import print_result
from arena.cli.console import TerminalProgress, console, print_document, say_failures, say_note
from arena.cli.folder import Directory, Wait, open_competition

app = typer.Typer()


@app.command()
def finalize(
    directory: Directory = None, wait: Wait = 0.0, as_json: options.AsJson = False
) -> None:
    """Judge each team's final submissions on the private rows and keep the board.

    It may be run again: while nothing changed, the board is the same to the last digit.
    """
    with open_competition(directory, wait) as competition:
        with TerminalProgress() as progress:
            result = competition.finalize(progress=progress)
        say_failures(competition.manager)
    for note in result.notes:
        say_note(note)
    if as_json:
        print_document(result.to_dict())
    else:
        print_result(result, console())
