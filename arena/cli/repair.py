"""Open a damaged database again, and say what was lost."""

from __future__ import annotations

import getpass

import typer

from arena.cli.console import console
from arena.cli.folder import Directory, find_folder
from arena.founding import DATABASE_NAME
from arena.store.repair import repair as repair_database
from arena.text import printable

app = typer.Typer(add_completion=False)


@app.command()
def repair(directory: Directory = None) -> None:
    """Open a database whose write-ahead log is damaged or lost, and say what was lost with it.

    Everything is copied first, into a folder beside the database. A whole one is left alone.
    """
    path = find_folder(directory) / DATABASE_NAME
    report = repair_database(path, actor=f"organiser {getpass.getuser()}")
    console().print(printable(report.sentence), soft_wrap=True)
