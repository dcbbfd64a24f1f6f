"""Bring a database of an older arena to this one."""

from __future__ import annotations

import getpass

import typer

from arena.cli.console import console
from arena.cli.folder import Directory, find_folder
from arena.founding import DATABASE_NAME
from arena.store.upgrade import upgrade as upgrade_database
from arena.text import printable

app = typer.Typer(add_completion=False)


@app.command()
def upgrade(directory: Directory = None) -> None:
    """Bring the tables of a database that an older arena wrote to those of this one.

    What was stored stays as it was, and the upgrade is recorded. An older arena cannot open the
    database any more: keep a copy if it should.
    """
    path = find_folder(directory) / DATABASE_NAME
    report = upgrade_database(path, actor=f"organiser {getpass.getuser()}")
    console().print(printable(report.sentence), soft_wrap=True)
