"""A competition that lasts: the facade that the command line and a notebook use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Self

from arena import choices, finale, rescoring
from arena.bundle import Bundle, write_bundle
from arena.competition_state import read_state
from arena.competition_view import CompetitionView, now, organiser
from arena.config import Settings
from arena.errors import InputError
from arena.execution import Progress, Silence
from arena.founding import found
from arena.intake import SubmissionFile, find_submissions, named_file
from arena.intake.folder import team_name
from arena.plugin_manager import PluginManager
from arena.reception import Reception, Submitted, open_reception, receive
from arena.rescoring import RankChange
from arena.score_result import ScoreResult

__all__ = ["Competition"]


class Competition(CompetitionView):
    r"""A competition in a folder: ``competition.toml`` and a DuckDB file. A context manager.

    One process holds a competition open at a time. Whatever a method stored is whole, or not
    there at all, whenever the process ends. To open one records what changed in
    ``competition.toml``; to look only, there is
    :class:`~arena.competition_view.CompetitionView`.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "solution.csv").write_text(
    ...     "id,y,Usage\na,1,Public\nb,0,Public\nc,1,Private\nd,0,Private\n")
    >>> _ = (folder / "team.csv").write_text("id,y\na,0.9\nb,0.2\nc,0.6\nd,0.1\n")
    >>> with Competition.create(folder / "c", folder / "solution.csv", "roc_auc") as competition:
    ...     competition.submit(folder / "team.csv", "team").released
    1.0
    """

    _only_looks = False
    _reception: Reception | None = None

    @classmethod
    def create(
        cls,
        folder: Path,
        solution: Path,
        settings: Settings | str,
        *,
        public_share: float = 0.3,
        seed: int | None = None,
        manager: PluginManager | None = None,
        clock: Callable[[], datetime] = now,
    ) -> Self:
        """Make a competition in a new or empty folder, and open it.

        Parameters
        ----------
        folder
            Gets ``competition.toml``, the database and ``sample_submission.csv``.
        solution
            CSV or Parquet. Without public rows, a share of the rows is made public, within
            classes, by a stored seed.
        settings
            All of them, or the metric.
        public_share
            In [0, 1); 0 leaves every row private.
        seed
            Of the split and of all later chance; None: a secret one.

        Raises
        ------
        InputError
            If the solution cannot be used, or the folder holds a competition.
        UsageError
            If the share is out of range.
        """
        manager = manager or PluginManager()
        if isinstance(settings, str):
            settings = Settings.model_validate({"metric": {"name": settings}})
        found(folder, solution, settings, public_share, seed, manager, organiser(), clock())
        return cls.open(folder, manager=manager, clock=clock)

    # -- submissions ---------------------------------------------------------------------------

    def submit(self, file: Path, team: str, *, key: str | None = None) -> Submitted:
        """Take one file of a team: check, count, score, store and release.

        The same file of the same team again (or the same ``key``) gives the first answer again.

        Raises
        ------
        InputError
            If the file does not exist.
        StoreError
            If it cannot be stored; then nothing is.
        """
        if not file.exists():
            raise InputError(f"There is no file {file}.")
        (answer,) = self._receive([named_file(file, team)], limited=True, key=key)
        return answer

    def import_folder(
        self, folder: Path, *, progress: Progress | None = None
    ) -> Iterator[Submitted]:
        """Take a folder of files, in the order of their names, without limits; yield each answer.

        Run again, it goes on where it stopped: what was stored is not stored twice.

        Raises
        ------
        InputError
            If the folder does not exist.
        """
        files = find_submissions([folder])
        progress = progress or Silence()
        progress.start("Importing submissions", len(files))
        for answer in self._receive(files, limited=False):
            progress.advance()
            yield answer

    def _receive(
        self, files: Sequence[SubmissionFile], *, limited: bool, key: str | None = None
    ) -> Iterator[Submitted]:
        """Take files where submissions arrive: open as long as this is, for what it holds."""
        if self._reception is None:
            self._reception = open_reception(self._state)
        return receive(self._reception, self._state, files, limited=limited, key=key)

    # -- choices of the teams and of the organiser ---------------------------------------------

    def select(self, team: str, submissions: Sequence[int]) -> None:
        """Record which submissions a team chose as its final ones; none takes its choice back.

        Raises
        ------
        UsageError
            If they are more than a team may choose, or not this team's accepted submissions.
        """
        choices.select(self._state, team_name(team), submissions)

    def disqualify(self, submission: int, reason: str) -> str | None:
        """Record that a submission does not count, and why; return the reason on record so far.

        That is None unless it did not count already: then the reason is another from now on.

        Raises
        ------
        UsageError
            If there is no such submission, no reason is given, or this is the reason on record.
        """
        return choices.disqualify(self._state, submission, reason)

    # -- the end -------------------------------------------------------------------------------

    def finalize(self, *, progress: Progress | None = None) -> ScoreResult:
        """Judge the final submissions on the private rows and keep the board.

        It may be run again: while nothing changed, nothing is recorded and the board is the same.

        Raises
        ------
        UsageError
            If no submission can count.
        MetricError
            If the metric is not defined on the private rows.
        """
        return finale.finalize(self._state, progress or Silence())

    def export(self, folder: Path) -> list[Path]:
        """Write the bundle with which another person can verify the private board.

        The same competition gives the same bytes; see :mod:`arena.bundle` for what is in it.

        Raises
        ------
        UsageError
            If the competition was not finalized.
        InputError
            If the folder is not empty, or the private board is out of date: see :meth:`outdated`.
        """
        result = self.final_result()
        if old := self.outdated():
            raise InputError(old)
        bundle = Bundle(
            settings=self.settings.to_document(),
            result=result,
            finals=self._state.store.events("finalized")[-1].payload["finals"],
            public=self.leaderboard(),
            submissions=self.submissions(),
            events=self.events(),
            solution=self.solution,
        )
        return write_bundle(folder, bundle, self._state.store)

    def rescore(
        self,
        solution: Path | None = None,
        *,
        apply: bool = False,
        progress: Progress | None = None,
    ) -> list[RankChange]:
        """Score everything anew, by a corrected solution or by the metric that the settings want.

        Returns every team's place on the private board before and after. Only with ``apply`` is
        the change made and recorded. Released public scores stay on record as they were shown.
        ``progress`` hears in how many rows a corrected solution has other labels, and another
        usage, which is ignored.

        Raises
        ------
        InputError
            If the corrected solution is not of the same rows, columns and classes, or the new
            metric asks for another kind of prediction.
        """
        state = self._state
        rescored = rescoring.rescore(state, solution, progress or Silence())
        if apply:
            rescoring.apply(state, rescored)
            self._reception = None
            self._state = read_state(
                state.folder, state.store, state.manager, state.wanted, state.actor, state.clock
            )
        return rescored.changes
