"""Upgrade a database of an older version of arena."""

from __future__ import annotations

import getpass

import typer

from arena.cli.console import console
from arena.cli.folder import Directory, find_folder
from arena.config import DATABASE_NAME
from arena.store.upgrade import upgrade as upgrade_database
from arena.utils.progress import stage
from arena.utils.text import printable

app = typer.Typer(add_completion=False)


@app.command()
def upgrade(directory: Directory = None) -> None:
    """Upgrade the tables of a database that an older version of arena wrote.

    Stored data are not changed, and the upgrade is recorded. Older versions cannot open the
    database afterwards: keep a copy if you need them.
    """
    path = find_folder(directory) / DATABASE_NAME
    with stage("Upgrading the database"):
        report = upgrade_database(path, actor=f"organiser {getpass.getuser()}")
    console().print(printable(report.sentence), soft_wrap=True)
