"""Export the board for others to verify, or as web pages."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from arena.cli.console import console
from arena.cli.folder import (
    Directory,
    Phase,
    Wait,
    look_at_competition,
    open_competition,
    served_name,
)
from arena.errors import InputError, UsageError
from arena.utils.distribution import how_to_install
from arena.utils.file_errors import reason_of
from arena.utils.progress import ProgressDisplay
from arena.utils.text import plural, printable

app = typer.Typer(add_completion=False)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder.")],
    site: Annotated[
        bool,
        typer.Option("--site", help="Static web pages for an archive: pages, rules, both boards."),
    ] = False,
    phase: Phase = None,
    directory: Directory = None,
    wait: Wait = 0.0,
) -> None:
    """Export the finalized competition: boards, settings, record, and the final submissions.

    With it and the solution file anyone can check the board: arena verify FOLDER SOLUTION.
    The same competition gives the same bytes. With --site the folder holds web pages instead, with
    a citation file, so that a finished competition can stay on any web server.
    """
    if site:
        if phase is not None:
            raise UsageError("--site excludes --phase: the pages have every phase.")
        _export_site(folder, directory, wait)
        return
    with open_competition(directory, wait) as competition:
        files = competition.in_phase(phase).export(folder)
    console().print(f"{plural(len(files), 'file')} in {printable(str(folder))}.", soft_wrap=True)


def _export_site(folder: Path, directory: Path | None, wait: float) -> None:
    if importlib.util.find_spec("markdown_it") is None:
        raise UsageError(f"--site needs the extra serve: {how_to_install('serve')}.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists and is not an empty folder: choose another one.")
    from arena.server.archive import write_site

    with look_at_competition(directory, wait) as competition, ProgressDisplay() as progress:
        name = served_name(competition.folder)
        try:
            count = write_site(competition, name, folder, progress=progress)
        except OSError as error:
            raise InputError(f"{folder} cannot be written: {reason_of(error)}.") from error
    console().print(
        f"{plural(count, 'file')} in {printable(str(folder))}; the first page is index.html.",
        soft_wrap=True,
    )
