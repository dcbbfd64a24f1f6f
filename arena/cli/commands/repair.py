"""Repair a damaged database and report lost data."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from arena.cli.console import console
from arena.cli.folder import Directory, find_folder
from arena.config import DATABASE_NAME
from arena.store import Store
from arena.store.repair import repair as repair_database
from arena.utils.progress import stage
from arena.utils.text import plural, printable

app = typer.Typer(add_completion=False)


@app.command()
def repair(
    directory: Directory = None,
    remove_unused: Annotated[
        bool,
        typer.Option(
            "--remove-unused",
            help="Instead, remove files of predictions outside the database that belong to no "
            "submission. Not while a copy of the competition is in use.",
        ),
    ] = False,
) -> None:
    """Repair a database with a damaged or missing write-ahead log, and report lost data.

    All files are first copied to a folder next to the database. An intact one is not changed.
    """
    path = find_folder(directory) / DATABASE_NAME
    if remove_unused:
        with stage("Looking for unused files"), Store.open(path, create=False) as store:
            removed = store.remove_unused_objects()
        console().print(f"Removed {plural(len(removed), 'unused file')} of predictions.")
        return
    with stage("Repairing the database"):
        report = repair_database(path, actor=f"organiser {getpass.getuser()}")
    console().print(printable(report.sentence), soft_wrap=True)
