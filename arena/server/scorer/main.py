"""The scorer as a process: opens the competition, judges until SIGTERM, and closes it."""

from __future__ import annotations

import logging
import signal
import threading
from functools import partial
from pathlib import Path

from arena.competition.competition import Competition
from arena.config import CONFIG_NAME, DATABASE_NAME, read_settings
from arena.errors import StoreError
from arena.intake.reader import read_by
from arena.server.checker import RemoteReader
from arena.server.failures import failures_logged
from arena.server.marker import Lender, lending
from arena.server.records.layout import Layout
from arena.server.records.sqlite import identity
from arena.server.scorer.scorer import Scorer

_LOGGER = logging.getLogger("arena.server.scorer")


def run(folder: Path, name: str, layout: Layout, stop: threading.Event) -> None:
    """Judge the requests of a competition until the event is set.

    While another command asks for the folder, it is closed and nothing is judged. It is also opened
    again when the log of its database grows since an error.

    Raises
    ------
    ArenaError
        If the competition cannot be opened or nothing can be stored.
    """
    with lending(folder) as lender:
        while not stop.is_set():
            server = read_settings(folder / CONFIG_NAME).server
            with Competition.open(folder, wait=30.0) as competition:
                for note in competition.notes:
                    _LOGGER.info("%s", note)
                place = folder / DATABASE_NAME, identity(folder / DATABASE_NAME)
                must_end = partial(_must_end, competition, lender, stop, *place)
                with Scorer(competition, name, layout, server) as scorer:
                    scorer.run(must_end)
            lender.lend()


def _must_end(
    competition: Competition,
    lender: Lender,
    stop: threading.Event,
    path: Path,
    opened: tuple[int, int],
) -> bool:
    """Return whether the competition must be closed.

    Raises
    ------
    StoreError
        If its database was removed: what is stored in it would be gone when this process ends.
    """
    if identity(path) != opened:
        raise StoreError(
            f"The database {path} was removed or replaced while it was open. Restore it: the "
            f"journal beside it says which submissions it must have."
        )
    return stop.is_set() or lender.asked or competition.must_be_reopened


def main(folder: str, name: str, root: str, *, checker: bool = False) -> None:
    """Run as a process until SIGTERM or SIGINT; exit with 1 after an error.

    With ``checker``, another process reads the files: the one at :meth:`Layout.checker`.
    """
    logging.basicConfig(format="%(levelname)s scorer: %(message)s", level=logging.INFO)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    layout = Layout(Path(root))
    if checker:
        read_by(RemoteReader(layout.checker(name)))
    with failures_logged(layout, _LOGGER):
        run(Path(folder), name, layout, stop)
