"""A competition that is looked at: everything that can be read of one, and nothing written."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Self

from arena import finale
from arena.competition_state import CompetitionState, read_state
from arena.config import CONFIG_NAME, Settings, read_settings
from arena.execution import Progress, Silence
from arena.final_selection import public_board
from arena.founding import DATABASE_NAME
from arena.intake.folder import team_name
from arena.plugin_manager import PluginManager
from arena.public_mechanism import find_mechanism
from arena.replay import Replay, replay
from arena.scopes import Scope
from arena.score_result import ScoreResult
from arena.store import Event, Store
from arena.types import Solution, SubmissionRecord

__all__ = ["CompetitionView", "now", "open_state", "organiser"]


def now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


def organiser() -> str:
    """Return how this user stands in the record."""
    return f"organiser {getpass.getuser()}"


def open_state(
    folder: Path,
    manager: PluginManager | None,
    wait: float,
    clock: Callable[[], datetime] = now,
    actor: str | None = None,
    *,
    view: bool = False,
) -> CompetitionState:
    """Open the store of a competition's folder and take up what it holds; ``view``: to look only.

    ``actor`` is on record as doing what is done; None: this user, as the organiser. The caller
    closes the store. Raises what :meth:`CompetitionView.open` does.
    """
    settings = read_settings(folder / CONFIG_NAME)
    manager = manager or PluginManager()
    find_mechanism(settings, manager)
    store = Store.open(folder / DATABASE_NAME, create=False, wait=wait, read_only=view)
    try:
        return read_state(folder, store, manager, settings, actor or organiser(), clock, view=view)
    except BaseException:
        store.close()
        raise


class CompetitionView:
    r"""A competition in a folder, opened to look only. A context manager.

    Nothing is written: leave to read its files is enough, and any number of processes may look at
    once, as long as none has it open as a :class:`~arena.competition.Competition`. What changed
    in ``competition.toml`` is looked at as it will be, but not recorded, and no epoch is opened.

    Examples
    --------
    >>> import tempfile
    >>> from arena.competition import Competition
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "solution.csv").write_text("id,y\na,1\nb,0\nc,1\nd,0\n")
    >>> Competition.create(folder / "c", folder / "solution.csv", "roc_auc").close()
    >>> with CompetitionView.open(folder / "c") as competition:
    ...     competition.leaderboard()
    []
    """

    _only_looks: ClassVar[bool] = True

    def __init__(self, state: CompetitionState) -> None:
        self._state = state

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        manager: PluginManager | None = None,
        wait: float = 0.0,
        clock: Callable[[], datetime] = now,
    ) -> Self:
        """Open the competition of a folder.

        Parameters
        ----------
        wait
            Seconds to wait for another process that holds it.

        Raises
        ------
        InputError
            If there is none, or its settings are wrong.
        StoreBusyError
            If another process holds it: to write, or also to look only if this is to write.
        """
        return cls(open_state(folder, manager, wait, clock, view=cls._only_looks))

    def close(self) -> None:
        """Let go of the database."""
        self._state.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what it is ----------------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """Where ``competition.toml`` and the database stand."""
        return self._state.folder

    @property
    def manager(self) -> PluginManager:
        """The plugins."""
        return self._state.manager

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._state.settings

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the settings."""
        return self._state.notes

    @property
    def solution(self) -> Solution:
        """The solution, labels included: the organiser's only."""
        return self._state.solution

    # -- submissions ---------------------------------------------------------------------------

    def submissions(self, team: str | None = None) -> list[dict[str, Any]]:
        """Return every submission, or those of a team, in the order in which they came."""
        return self._state.ledger.submissions(None if team is None else team_name(team))

    def records(self) -> tuple[SubmissionRecord, ...]:
        """Return every submission as it is stored, its faults included: the organiser's only."""
        return tuple(self._state.store.submissions())

    # -- boards --------------------------------------------------------------------------------

    def leaderboard(self) -> list[dict[str, Any]]:
        """Return the public standings, best first, from what was released and nothing else."""
        ledger, settings = self._state.ledger, self._state.settings
        return public_board(
            ledger.candidates(),
            greater_is_better=self._state.metric.greater_is_better,
            ties=settings.final.ties,
            baseline=settings.competition.baseline,
            sent=ledger.sent(),
        )

    def private_leaderboard(self) -> list[dict[str, Any]]:
        """Return the private standings, best first, with the columns of ``arena score``.

        The organiser's baseline comes last, marked and without a rank.

        Raises
        ------
        UsageError
            If the competition was not finalized.
        """
        return finale.private_standings(self.final_result(), self._state.ledger.sent())

    def replay(
        self,
        mechanisms: Sequence[str],
        scope: Scope | None = None,
        *,
        progress: Progress | None = None,
    ) -> Replay:
        """Return what other mechanisms would have released for the same history; store nothing.

        Parameters
        ----------
        mechanisms
            Such as ``ladder(eta=0.01)``.
        scope
            An instance for each ``team`` or for each ``rank``; None: as in force.

        Raises
        ------
        UnknownNameError, UsageError
            If there is no such mechanism, or it refuses its parameters.
        InputError
            If a mechanism does not suit the metric or the settings.
        """
        return replay(self._state, mechanisms, scope, progress or Silence())

    def judge(self, *, progress: Progress | None = None) -> ScoreResult:
        """Judge as :meth:`finalize` does, and keep and announce nothing.

        Raises
        ------
        UsageError
            If no submission can count.
        MetricError
            If the metric is not defined on the private rows.
        """
        return finale.judge(self._state, progress or Silence())

    def final_result(self) -> dict[str, Any]:
        """Return the document of the private board as it was last finalized.

        Raises
        ------
        UsageError
            If it was not.
        """
        return finale.final_document(self._state.store)

    def outdated(self) -> str | None:
        """Return a sentence on what the private board is older than, or None; nothing is judged.

        That is a rescore, a setting of ``[final]`` or ``[analysis]``, or a selection,
        disqualification or submission by which others count now. None without a private board.
        """
        return finale.outdated(self._state)

    # -- the record ----------------------------------------------------------------------------

    def events(self) -> tuple[Event, ...]:
        """Return everything that happened, in order."""
        return self._state.store.events()

    def verify_events(self) -> str | None:
        """Return a sentence on the first event that does not follow from the others, or None."""
        return self._state.store.verify_events()
