"""Copy a competition, also while it is served."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli.console import console, say_note
from arena.cli.folder import Directory, Wait, borrow_served, find_folder
from arena.competition.competition import Competition
from arena.utils.locations import folder_of
from arena.utils.progress import stage

app = typer.Typer(add_completion=False)


@app.command()
def backup(
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="A new folder for the copy.")],
    directory: Directory = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the server's queue and uploads.  [default: server/ in DIR]"),
    ] = None,
    wait: Wait = 30.0,
) -> None:
    """Copy a competition with its labels, submissions, accounts and queue.

    While it is served, uploads are received and wait until the copy is complete. To restore it,
    serve the copy. The copy holds secrets: only its owner can enter it.
    """
    from arena.server.backup import backup as copy
    from arena.server.marker import records_folder_of
    from arena.server.records.layout import Layout

    folder = find_folder(directory)
    layout = Layout(data or records_folder_of(folder))
    with stage("Copying the competition"), borrow_served(folder, wait):
        with Competition.open(folder, wait=wait) as competition:  # closing writes the log
            place = competition.settings.store.predictions
            inside = place is not None and _is_inside(place, folder)
            lacking = competition.missing_predictions() if inside else 0
        size = copy(folder, layout, target)
    if lacking:
        say_note(
            f"Files of predictions that are missing at {place}, and in the copy: {lacking:,}. "
            f"Their names: arena audit."
        )
    if place is not None and not inside:
        say_note(
            f"The predictions are at {place} and are not in the copy, which needs them: keep them, "
            "and back them up there."
        )
    console().print(f"Copied {size / 1e6:,.1f} MB to {target}.", soft_wrap=True, markup=False)


def _is_inside(place: str, folder: Path) -> bool:
    folder_inside = folder_of(place, folder)
    return folder_inside is not None and folder_inside.resolve().is_relative_to(folder.resolve())
