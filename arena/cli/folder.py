"""Finds the competition of a command: a folder, searched upwards from the current one."""

from __future__ import annotations

import contextlib
import re
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from arena.cli.console import say_note
from arena.errors import InputError
from arena.server.marker import borrow, served_folder
from arena.utils.progress import stage

if TYPE_CHECKING:
    from arena.competition.competition import Competition
    from arena.competition.view import CompetitionView

Directory = Annotated[
    Path | None,
    typer.Option("-C", metavar="DIR", help="The competition's folder.  [default: here or above]"),
]
Phase = Annotated[
    str | None,
    typer.Option(
        "--phase",
        metavar="PHASE",
        help="The phase (arena phases).  [default: the open one, or the last]",
    ),
]
_PATIENCE = 30.0
"""Seconds in which the scorer of a served competition must finish its current requests."""
_found: list[Path] = []
"""The folder that this command found, if any."""
_Opened = TypeVar("_Opened", bound="CompetitionView")
Wait = Annotated[
    float, typer.Option(help="Seconds to wait while another process has the competition open.")
]


def find_folder(directory: Path | None) -> Path:
    """Return the folder that holds ``competition.toml``: this one, or one above it.

    Raises
    ------
    InputError
        If there is no such folder.
    """
    from arena.config import CONFIG_NAME  # which a plan from files does not need

    start = (directory or Path()).resolve()
    for folder in (start, *start.parents):
        if (folder / CONFIG_NAME).is_file():
            _found[:] = [folder]
            return folder
    raise InputError(
        f"There is no {CONFIG_NAME} in {start} or above it. Go to a competition's folder, name it "
        f"with -C DIR, or create one with arena init."
    )


def changed_outside() -> str | None:
    """Return the error if the database of this command is not as arena left it.

    Values that another program wrote can end a command in any line of the code, so that nothing
    but the record tells such a fault from one of arena.
    """
    from arena.config import DATABASE_NAME
    from arena.store import Store

    if not _found:
        return None
    (folder,) = _found
    path = folder / DATABASE_NAME
    try:
        with (
            stage("Comparing the stored data with the record"),
            Store.open(path, create=False, read_only=True) as store,
        ):
            problems = store.audit(outside=False)
    except Exception:  # noqa: BLE001 - the first error is reported
        return None
    if not problems:
        return None
    return (
        f"The database '{path}' was changed by another program: {problems[0]} Restore a backup; "
        "`arena audit` names every difference."
    )


@contextlib.contextmanager
def open_competition(
    directory: Path | None, wait: float = 0.0, *, is_decision_said: bool = False
) -> Iterator[Competition]:
    """Open the competition, and print notes on its settings; borrow it if it is served.

    At the end say which scores were released again and which published results were marked, unless
    the command says it before (``is_decision_said``).
    """
    from arena.competition.competition import Competition  # more than a view needs

    folder = find_folder(directory)
    borrowed = borrow_served(folder, wait)
    with _noted(Competition.open(folder, wait=wait), borrowed) as competition:
        consequences = competition.consequences_since()
        yield competition
        if not is_decision_said and (changed := consequences()) is not None:
            say_note(changed)


def look_at_competition(directory: Path | None, wait: float = 0.0) -> CompetitionView:
    """Open the competition for reading, and print the same notes; nothing is written."""
    from arena.competition.view import CompetitionView

    folder = find_folder(directory)
    borrowed = borrow_served(folder, wait)
    return _noted(CompetitionView.open(folder, wait=wait), borrowed)


def borrow_served(folder: Path, wait: float) -> contextlib.ExitStack:
    """Let the server of a folder, if there is one, close it until the result is closed."""
    borrowed = contextlib.ExitStack()
    served = served_folder(folder)
    if served is not None and (asked := borrow(folder, max(wait, _PATIENCE))) is not None:
        borrowed.enter_context(asked)
        say_note(
            f"This competition is served at {served.url}: submissions wait until this command ends."
        )
    return borrowed


def _noted(competition: _Opened, borrowed: contextlib.ExitStack) -> _Opened:
    weakref.finalize(competition, borrowed.close)  # the command has ended
    for note in competition.notes:
        say_note(note)
    return competition


def served_name(folder: Path) -> str:
    """Return the name of a competition's folder as it appears in an address.

    >>> served_name(Path("/srv/My Race_2"))
    'my-race-2'
    """
    return re.sub("[^a-z0-9]+", "-", folder.name.lower()).strip("-") or "competition"
