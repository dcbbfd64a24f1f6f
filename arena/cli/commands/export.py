"""Export what another person needs to verify the board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli.console import console
from arena.cli.folder import Directory, Wait, open_competition
from arena.utils.text import printable

app = typer.Typer(add_completion=False)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder.")],
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Export the finalized competition: boards, settings, record, and the final submissions.

    With it and the solution file anyone can check the board: arena verify FOLDER SOLUTION.
    The same competition gives the same bytes.
    """
    with open_competition(directory, wait) as competition:
        files = competition.export(folder)
    console().print(f"{len(files):,} files in {printable(str(folder))}.", soft_wrap=True)
