"""The competition that a command is about: a folder, found upwards from the current one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

import typer

from arena.cli.console import say_note
from arena.competition import Competition
from arena.competition_view import CompetitionView
from arena.config import CONFIG_NAME
from arena.errors import InputError

__all__ = ["Directory", "Wait", "find_folder", "look_at_competition", "open_competition"]

Directory = Annotated[
    Path | None,
    typer.Option("-C", metavar="DIR", help="The competition's folder.  [default: here or above]"),
]
_Opened = TypeVar("_Opened", bound=CompetitionView)
Wait = Annotated[
    float, typer.Option(help="Seconds to wait for another process that holds the competition.")
]


def find_folder(directory: Path | None) -> Path:
    """Return the folder that holds ``competition.toml``: this one, or one above it.

    Raises
    ------
    InputError
        If there is none.
    """
    start = (directory or Path()).resolve()
    for folder in (start, *start.parents):
        if (folder / CONFIG_NAME).is_file():
            return folder
    raise InputError(
        f"There is no {CONFIG_NAME} in {start} or above it. Go to a competition's folder, name it "
        f"with -C DIR, or make one with arena init."
    )


def open_competition(directory: Path | None, wait: float = 0.0) -> Competition:
    """Open the competition, and say what a person should know of its settings."""
    return _noted(Competition.open(find_folder(directory), wait=wait))


def look_at_competition(directory: Path | None, wait: float = 0.0) -> CompetitionView:
    """Open the competition to look only, and say the same: nothing is written."""
    return _noted(CompetitionView.open(find_folder(directory), wait=wait))


def _noted(competition: _Opened) -> _Opened:
    for note in competition.notes:
        say_note(note)
    return competition
