"""Upgrade a database of an older version of arena."""

from __future__ import annotations

import getpass

import typer

from arena.cli.console import console
from arena.cli.folder import Directory, find_folder
from arena.competition.record.earlier_settings import upgrade_competition
from arena.utils.progress import stage
from arena.utils.text import printable

app = typer.Typer(add_completion=False)


@app.command()
def upgrade(directory: Directory = None) -> None:
    """Upgrade the database and competition.toml of an older version of arena.

    Stored data are not changed, and the upgrade is recorded. Older versions cannot open the
    database afterwards: keep a copy if you need them.
    """
    folder, actor = find_folder(directory), f"organiser {getpass.getuser()}"
    with stage("Upgrading the competition"):
        sentences = upgrade_competition(folder, actor=actor)
    for sentence in sentences:
        console().print(printable(sentence), soft_wrap=True)
