"""Read-only access to a competition."""

from __future__ import annotations

import getpass
import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from arena.competition.boards.board_notes import board_notes, empty_board_sentence
from arena.competition.boards.consequences import consequences_since, with_marks_of_settings
from arena.competition.record.admission import Admission
from arena.competition.record.rebuild import rebuilt_mark
from arena.competition.state import (
    CompetitionState,
    board_metric,
    clock_set_back,
    frozen_since,
    late_files,
    public_standings,
    read_state,
    with_answers,
)
from arena.config import CONFIG_NAME, DATABASE_NAME, Settings, read_settings
from arena.errors import UsageError
from arena.plugin.manager import PluginManager
from arena.public_board.mechanism import find_mechanism
from arena.store import Event, Store
from arena.store.events import TimeCheck
from arena.types import Mark, Solution, SubmissionRecord
from arena.utils.parallel import Progress
from arena.utils.pending_labels import PendingLabels
from arena.utils.progress import shown

if TYPE_CHECKING:
    from arena.competition.boards.released_boards import ReleasedBoard
    from arena.competition.boards.released_numbers import ReleasedNumbers
    from arena.competition.record.programs import ProgramRecord
    from arena.competition.replay import Replay
    from arena.evaluation.similar import SimilarSubmissions
    from arena.interfaces import Scope
    from arena.requests import Answer
    from arena.scoring.board import BoardStudy
    from arena.scoring.result import ScoreResult


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def organiser() -> str:
    """Return the name of the current user for the record."""
    return f"organiser {getpass.getuser()}"


def open_state(
    folder: Path,
    manager: PluginManager | None,
    wait: float,
    clock: Callable[[], datetime] = now,
    actor: str | None = None,
    *,
    view: bool = False,
    store: Store | None = None,
) -> CompetitionState:
    """Open the store of a competition's folder and read its state; ``view``: read-only.

    ``actor`` is recorded as the author of events; None: the current user, as the organiser.
    ``store``: the one that was just created, still open. The caller closes the store. Raises what
    :meth:`CompetitionView.open` raises, and ``UsageError`` if a clock other than that of the
    machine would record events before the last one.
    """
    settings = read_settings(folder / CONFIG_NAME)
    manager = manager or PluginManager()
    find_mechanism(settings, manager)
    if store is None:
        path = folder / DATABASE_NAME
        store = Store.open(path, create=False, wait=wait, read_only=view)
    try:
        if not view and clock is not now and (notes := clock_set_back(store, clock())):
            raise UsageError(notes[0])
        recorded = store.meta("settings")
        state = read_state(
            folder,
            store,
            manager=manager,
            new_settings=settings,
            actor=actor or organiser(),
            clock=clock,
            view=view,
        )
        return state if view or recorded is None else with_marks_of_settings(state, recorded)
    except BaseException:
        store.close()
        raise


class CompetitionView:
    r"""A competition in a folder, opened read-only. A context manager.

    Nothing is written, so read permission is enough. Any number of processes can read at once
    while none has it open as a :class:`~arena.competition.competition.Competition`. Changes in
    ``competition.toml`` apply to the view, but are not recorded, and no score is released.

    Examples
    --------
    >>> import tempfile
    >>> from arena.competition.competition import Competition
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
        folder: str | Path,
        *,
        manager: PluginManager | None = None,
        wait: float = 0.0,
        clock: Callable[[], datetime] = now,
    ) -> Self:
        """Open the competition of a folder.

        Parameters
        ----------
        wait
            Seconds to wait for another process that has it open.

        Raises
        ------
        InputError
            If there is none, or its settings are wrong.
        StoreBusyError
            If another process has it open for writing.
        """
        return cls(open_state(Path(folder), manager, wait, clock, view=cls._only_looks))

    @property
    def _board(self) -> CompetitionState:
        """The state of the phase whose boards are asked for: see :meth:`in_phase`."""
        return self._state.in_phase()

    def in_phase(self, name: str | None = None) -> Self:
        """Return the same open competition with the boards and the settings of a phase.

        None: of the phase that is open, or that ended last, as the boards are without it. A
        competition without phases is returned as it is.

        Raises
        ------
        UsageError
            If there is no such phase.
        """
        return type(self)(self._state.in_phase(name))

    @property
    def phase_names(self) -> tuple[str, ...]:
        """The names of all phases; empty without phases."""
        return tuple(self._state.with_phases.phase)

    def in_each_phase(self) -> list[Self]:
        """Return the competition with the boards of each phase, in order; without phases itself."""
        return [self.in_phase(name) for name in self._state.with_phases.phase] or [self]

    @property
    def phase(self) -> str:
        """The phase of the boards; empty without phases."""
        return self._board.phase or ""

    def phases(self) -> list[dict[str, Any]]:
        """Return every phase, in the order of ``competition.toml``; empty without phases.

        Each has ``phase``, ``state`` (``open``, ``next`` or ``ended``), ``start`` and ``end``
        (times or None), ``metric`` with ``greater_is_better``, ``decimals`` and ``unit``,
        ``mechanism``, ``scores``, ``freeze`` and the limits of its settings, ``mark`` (when and why
        its board was released again, or None), ``public_rows`` and ``private_rows`` (numbers),
        ``shares`` (other phases with the same public rows), ``submissions``, the number of accepted
        ones, ``admit`` (which teams may submit) and ``qualified``, the teams that were named for it
        (None: none were).
        """
        from arena.competition.phase_overview import describe_phases

        return describe_phases(self._state)

    def released_numbers(self) -> tuple[ReleasedNumbers, ...]:
        """Return how many scores each team was shown on each set of public rows.

        Phases that share their public rows are counted together. For the organiser only.
        """
        from arena.competition.boards.released_numbers import released_numbers

        return released_numbers(self._state)

    def qualified_follow(self, phase: str) -> bool:
        """Return whether the teams named for a phase are those that its settings admit now.

        A list of teams is a decision: it stays when the board before it changes.
        """
        from arena.competition.qualification import follows

        return follows(self._state, phase)

    def close(self) -> None:
        """Close the database."""
        self._state.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- settings and solution -----------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """The folder with ``competition.toml`` and the database."""
        return self._state.folder

    @property
    def manager(self) -> PluginManager:
        """The plugins."""
        return self._state.manager

    @property
    def settings(self) -> Settings:
        """The current settings."""
        return self._state.settings

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the settings, for the organiser."""
        return self._state.notes

    @property
    def solution(self) -> Solution:
        """The solution including its labels, for the organiser only."""
        return self._state.solution

    # -- submissions ---------------------------------------------------------------------------

    def submissions(self, team: str | None = None) -> list[dict[str, Any]]:
        """Return every submission, or those of a team, in the order of arrival."""
        if team is None:
            return self._state.ledger.submissions()
        from arena.intake.folder import team_name  # and the parsers of files

        return self._state.ledger.submissions(team_name(team))

    def records(self) -> tuple[SubmissionRecord, ...]:
        """Return every stored submission including its faults, for the organiser only."""
        return tuple(self._state.ledger.records())

    def quota_used(self, team: str, day: date | str | None = None) -> int:
        """Return how many submissions of a team count on a UTC day, in a week, or in total.

        A week is named as 2026-W49.
        """
        from arena.intake.folder import team_name

        teams = self._state.ledger.teams()
        members = teams.members(teams.current(team_name(team)))
        return sum(self._state.store.quota_used(member, day) for member in members)

    def paused(self) -> dict[str, str] | None:
        """Return since when (``time``) and why (``reason``) files are refused; None: they are not.

        See ``Competition.pause``.
        """
        paused = Admission.read(self._state.store).paused
        return None if paused is None else dict(paused)

    def exemptions(self) -> list[dict[str, Any]]:
        """Return what exempted teams may do: ``team``, ``until``, ``extra`` and ``reason``."""
        exempted = Admission.read(self._state.store).exemptions
        teams = self._state.ledger.teams()
        return [{"team": teams.current(team), **exemption} for team, exemption in exempted.items()]

    def brackets(self) -> dict[str, tuple[str, ...]]:
        """Return the teams of each bracket of the settings, by their current names."""
        return dict(self._state.roster.brackets)

    def answers_of_teams(self) -> dict[str, Mapping[str, str]]:
        """Return the last answers of each team to the questions about teams, by their keys."""
        return dict(self._state.answers_at(None).of_teams)

    def disqualified_teams(self) -> dict[str, str]:
        """Return the disqualified teams, each with the reason."""
        return self._state.ledger.disqualified_teams()

    def selections(self) -> dict[str, list[int]]:
        """Return the last selection of each team that selected, by its current name."""
        return self._state.ledger.selections()

    def current_names(self) -> dict[str, str]:
        """Return the current name of each team that was renamed or merged, by its former name."""
        return self._state.ledger.teams().former()

    def answers(self) -> dict[str, list[Answer]]:
        """Return the answers to each request of a served competition, by its id.

        There is one; to a file of several rounds one for each of them.
        """
        from arena.competition.queue.answers import answers_in

        return answers_in(self._state.store.events())

    def last_answer(self) -> Answer | None:
        """Return the answer to the last request of a served competition, or None."""
        from arena.competition.queue.answers import last_answer

        return last_answer(self._state.store)

    def requests_set_aside(self) -> frozenset[str]:
        """Return the ids of the requests that could not be judged."""
        from arena.competition.queue.answers import SET_ASIDE, answers_in

        return frozenset(answers_in(self._state.store.events(SET_ASIDE)))

    def waiting_programs(self) -> list[ProgramRecord]:
        """Return the programs whose run on the hidden inputs is not on record, in their order."""
        from arena.competition.programs.program_runs import waiting

        return waiting(self._state)

    def results(self) -> list[dict[str, Any]]:
        """Return every version of the private board that was published, without its rows.

        Each has ``version``, ``published`` and ``replaced`` (times), ``state`` (``published``,
        ``replaced`` or ``retracted``), ``retracted`` (time and reason) and ``mark``, since when
        it is out of date and why.
        """
        from arena.competition.boards.results import published_results

        return [result.about() for result in published_results(self._board)]

    def published_private_leaderboard(self, version: int | None = None) -> dict[str, Any] | None:
        """Return a published private board for everybody; None: the last one. None without one.

        It has the rows of :meth:`private_leaderboard` under ``leaderboard``, what :meth:`results`
        says about it, and otherwise the content of the final page for participants: no file names,
        counts of labels, faults or copies. Its ``public_score`` is the score that the mechanism had
        released for the submission, and ``public_rank`` is the team's rank on the public board. A
        retracted one has no rows.
        """
        from arena.competition.boards import results

        published = results.published_results(self._board)
        chosen_results = [result for result in published if version in (None, result.version)][-1:]
        board = self.leaderboard(live=True) if chosen_results else ()
        return next(
            (results.for_participants(self._board, result, board) for result in chosen_results),
            None,
        )

    def next_result(self) -> dict[str, Any] | None:
        """Return the private board as it would be published next, for the organiser only.

        None if nothing is finalized, or it is out of date or published already.
        """
        from arena.competition.boards import results

        return results.next_result(self._board, self.leaderboard())

    def ranks_at(self, time: datetime) -> dict[str, int]:
        """Return the rank of each team on the public board by what was received until a time.

        By what is known now: a file that was disqualified since does not count.
        """
        rows = public_standings(self._state, until=time)
        return {row["team"]: row["rank"] for row in rows if row["rank"] is not None}

    def last_entries(self) -> dict[str, str]:
        """Return when each team's last accepted submission was received; none after a freeze."""
        frozen = self.frozen_since
        return {
            row["team"]: row["received"]
            for row in self.submissions()
            if row["status"] == "accepted"
            and (frozen is None or datetime.fromisoformat(row["received"]) <= frozen)
        }

    def private_scores_for_teams(self) -> dict[int, tuple[float, int]]:
        """Return the private score of each submission, and the rank it would have.

        Empty unless a result is published, and ``[server] private_scores`` is ``own``. The rank is
        that among the final submissions of the teams: 1 + the number of those that are better.
        """
        from arena.competition.boards import finalize

        results = self.results()
        published = bool(results) and results[-1]["state"] == "published"
        if not published or self.settings.server.private_scores != "own":
            return {}
        is_better = operator.gt if self.greater_is_better else operator.lt
        finals = [
            row["score"]
            for row in self.private_leaderboard()
            if row["rank"] is not None and row["score"] is not None
        ]
        return {
            number: (score, 1 + sum(is_better(final, score) for final in finals))
            for number, score in finalize.private_scores(self._board).items()
        }

    def released_again(self) -> frozenset[int]:
        """Return the submissions whose score was released again by a rebuild of the board."""
        from arena.competition.record.rebuild import REBUILT

        rebuilt = self._state.store.events(REBUILT)
        return frozenset(number for event in rebuilt for number, _ in event.payload["released"])

    def mark(self, *, private: bool) -> Mark | None:
        """Return when and why the facts of a board last changed after it was shown, or None.

        The public board was released again since; the private board is out of date.
        """
        if not private:
            return rebuilt_mark(self._state.store, self.phase)
        from arena.competition.boards import outdated_board

        return outdated_board.final_mark(self._board)

    def pending_labels(self, *, private: bool) -> PendingLabels | None:
        """Return how many rows of a board have no label yet; None: all have one.

        See ``Competition.add_labels``.
        """
        return self._board.pending_labels("private" if private else "public")

    @property
    def published_scores(self) -> tuple[str, ...]:
        """The columns of secondary metrics and of targets that the published final board shows."""
        from arena.competition.boards.results import published_scores

        return published_scores(self._board)

    def has_submissions(self) -> bool:
        """Return whether anything was submitted, of any status."""
        return bool(self._state.store.teams())

    def consequences_of_disqualifying(
        self,
        submission: int | None = None,
        *,
        team: str | None = None,
        reason: str,
        undo: bool = False,
    ) -> str:
        """Return what disqualifying a submission or a team would change, as a sentence.

        How many teams' scores it releases again, and which published results it marks. Nothing is
        changed. ``undo``: what undoing a disqualification would change.

        Raises
        ------
        UsageError
            If the decision would be refused.
        """
        from arena.competition import decisions
        from arena.competition.boards.consequences import consequences_text

        consequences = decisions.consequences_of_disqualifying(
            self._state, submission, team, reason=reason, undo=undo
        )
        return consequences_text(consequences.fields)

    def consequences_since(self) -> Callable[[], str | None]:
        """Return a function that says what was released again and marked since this call.

        It returns a sentence, or None if nothing was. What follows from changed settings is in
        :attr:`notes`.
        """
        state = self._state.of_all_phases
        changed = consequences_since(state)
        return lambda: changed(self._state.of_all_phases)

    def disqualified(self) -> dict[int, str]:
        """Return the submissions that do not count, each with the reason."""
        return self._state.ledger.disqualified()

    def withdrawn(self) -> frozenset[int]:
        """Return the submissions that their teams withdrew."""
        return self._state.ledger.withdrawn()

    def similar_submissions(self) -> tuple[SimilarSubmissions, ...]:
        """Return accepted submissions of different teams that are identical or nearly so.

        This is for the organiser only: a sign of several accounts or of a shared file, no proof.
        Predictions with the same recorded digest are read once.
        """
        return self._state.ledger.similar()

    # -- boards --------------------------------------------------------------------------------

    def leaderboard(self, *, live: bool = False) -> list[dict[str, Any]]:
        """Return the public standings, best first, computed from released scores only.

        They are empty while ``[public] scores`` hides them from the board; while the board is
        frozen, they are those at the freeze. ``live``: the current ones in either case, for the
        organiser only.
        """
        return public_standings(self._state, live=live)

    @property
    def released_boards(self) -> tuple[str, ...]:
        """The names of the boards that :meth:`released_board` takes."""
        boards = self._state.with_phases.board.items()
        return tuple(name for name, board in boards if board.phases)

    def released_board(self, name: str, *, live: bool = False) -> ReleasedBoard:
        """Return the public board over the phases of ``[board.NAME]``, from released scores only.

        It is a combination of what :meth:`leaderboard` shows of each phase.

        Raises
        ------
        UsageError
            If the settings name no board of this name over phases.
        """
        from arena.competition.boards.released_boards import released_board

        return released_board(self._state, name, live=live)

    def late_files(self) -> list[dict[str, Any]]:
        """Return the files after the deadline, which are listed apart: the last one first.

        Each has ``team``, ``score`` (the released one), ``submission`` and ``received``.
        """
        return late_files(self._state)

    @property
    def frozen_since(self) -> datetime | None:
        """When the public board was frozen; None if it is not."""
        return frozen_since(self._state)

    @property
    def board_metric(self) -> str:
        """The metric of the public board in words: bounded, if the mechanism bounds its values."""
        return board_metric(self._board)

    @property
    def greater_is_better(self) -> bool:
        """The direction of the metric, of the phase of the boards."""
        return self._board.greater_is_better

    @property
    def ends_when_finalized(self) -> bool:
        """Whether no date ends the competition, so that a server ends it with the private board."""
        settings = self._state.with_phases
        return not settings.phase and settings.competition.deadline is None

    @property
    def has_ended(self) -> bool:
        """Whether the deadline has passed; with phases, the end of the last one.

        See also :attr:`ends_when_finalized`.
        """
        if self.ends_when_finalized:
            return self.is_finalized
        settings = self._state.with_phases
        ends = [settings.in_phase(name).competition.deadline for name in settings.phase or ("",)]
        last = None if None in ends else max(filter(None, ends))
        return last is not None and self._state.clock() >= last

    @property
    def is_finalized(self) -> bool:
        """Whether a private board is stored."""
        from arena.competition.boards.final_document import FINAL_RESULT

        return self._state.store.meta(self._board.name_of(FINAL_RESULT)) is not None

    def board_notes(self, board: Sequence[Mapping[str, Any]] | None = None) -> tuple[str, ...]:
        """Return warnings on the public board, for the organiser only: some depend on labels.

        They are given if the board shows every score at full precision, if the best area under the
        ROC curve is far below 0.5, or if the mechanism bounds the values of the leader's rows.
        ``board`` is :meth:`leaderboard`, if it is known already.
        """
        return board_notes(self._board, self.leaderboard() if board is None else board)

    @property
    def empty_board_sentence(self) -> str:
        """Why an empty public board shows no score, and what the organiser can do."""
        return empty_board_sentence(self._board)

    def private_leaderboard(self, *, board: str | None = None) -> list[dict[str, Any]]:
        """Return the private standings, best first, with the columns of ``arena score``.

        ``board``: those of a combined board, ``[board.NAME]``.

        Teams that are not ranked, such as the baselines, are listed by their scores too. Once a
        submission was verified, ``verification`` (``verified``, ``failed`` or None) and
        ``verification_note`` follow.

        Raises
        ------
        UsageError
            If the competition was not finalized.
        """
        from arena.competition.boards import final_document
        from arena.competition.verification import verifications, with_verifications

        result = self.final_result(board=board)
        rows = final_document.private_standings(result, self._board.ledger)
        rows = with_answers(self._board, rows)
        return with_verifications(rows, verifications(self._board))

    def private_leaderboards(self) -> dict[str, list[dict[str, Any]]]:
        """Return :meth:`private_leaderboard` of the final board, named "", and of combined boards.

        Raises
        ------
        UsageError
            If the competition was not finalized.
        """
        from arena.competition.record.combined_documents import combined_boards

        combined = {
            name: self.private_leaderboard(board=name)
            for name in combined_boards(self.final_result())
        }
        return {"": self.private_leaderboard(), **combined}

    def publication_warnings(self) -> tuple[str, ...]:
        """Return what to know before the private board is published; empty if nothing is.

        Teams that may be first on one of the boards and are not verified, and ranked teams whose
        verification failed.

        Raises
        ------
        UsageError
            If the competition was not finalized.
        """
        from arena.competition.verification import warnings_of

        return warnings_of(self.private_leaderboards().values())

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
            Specifications such as ``ladder(eta=0.01)``.
        scope
            What has an instance of the mechanism: each ``team``, each ``rank``, or the whole
            ``competition``; None: as now.

        Raises
        ------
        UnknownNameError, UsageError
            If there is no such mechanism, or its parameters are invalid.
        InputError
            If a mechanism does not suit the metric or the settings.
        """
        from arena.competition.replay import replay

        with shown(progress) as display:
            return replay(self._board, mechanisms, scope, display)

    def evaluate(self, *, workers: int = 0, progress: Progress | None = None) -> ScoreResult:
        """Return the result of :meth:`finalize` without storing or announcing anything.

        ``workers`` is the number of workers on this machine; 0: one per processor.

        Raises
        ------
        UsageError
            If there is no accepted submission that is not disqualified.
        MetricError
            If the metric is not defined on the private rows.
        """
        from arena.competition.boards import finalize

        with shown(progress) as display:
            return finalize.evaluate(self._board, display, workers=workers)

    def study(self, *, workers: int = 0, progress: Progress | None = None) -> BoardStudy:
        """Return what :meth:`evaluate` ranks, with the same arguments and exceptions.

        Nothing is computed but the scores and their resamples.
        """
        from arena.competition.boards import finalize

        with shown(progress) as display:
            return finalize.study(self._board, display, workers=workers)

    def final_result(self, *, board: str | None = None) -> dict[str, Any]:
        """Return the document of the private board as it was last finalized.

        ``board``: that of a combined board, ``[board.NAME]``.

        Raises
        ------
        UsageError
            If the competition was not finalized, or it has no such board.
        """
        from arena.competition.boards import final_document
        from arena.competition.record.combined_documents import combined_boards

        document = final_document.final_document(self._board)
        if board is None:
            return document
        boards = combined_boards(document)
        if board not in boards:
            raise UsageError(
                f"The private board has no combined board {board!r}. There are: "
                f"{', '.join(boards) or 'none'}."
            )
        return boards[board]

    def as_finalized(self) -> ScoreResult | None:
        """Return the private board as it was finalized, with all that its report shows.

        Nothing is computed. None if it must be computed again, by :meth:`evaluate`: something
        changed since, or other versions of arena or a plugin finalized it.

        Raises
        ------
        UsageError
            If the competition was not finalized.
        """
        from arena.competition.boards import finalize

        return finalize.as_finalized(self._board)

    def outdated(self) -> str | None:
        """Return a sentence that says why the private board is out of date, or None.

        It is after a rescore, a changed setting of ``[final]`` or ``[analysis]``, or a change in
        which submissions count. None without a private board. Nothing is computed.
        """
        from arena.competition.boards import outdated_board

        return outdated_board.outdated(self._board)

    # -- the record ----------------------------------------------------------------------------

    def events(self, *kinds: str) -> tuple[Event, ...]:
        """Return everything that happened, in order, or the events of some kinds."""
        return self._state.store.events(*kinds)

    def last_event(self) -> Event | None:
        """Return what happened last; None if nothing did."""
        return next(self._state.store.last_events(1), None)

    def verify_events(self) -> str | None:
        """Return a sentence on the first event that breaks the chain of hashes, or None."""
        return self._state.store.verify_events()

    def audit(self) -> tuple[str, ...]:
        """Return a sentence on each difference between the stored data and the record.

        Every digest in the events is computed again, from the submissions, their predictions, the
        solution, the releases, the scores, the counts of the limits and the settings. Events at
        which time runs backwards are named too.
        """
        times = TimeCheck()
        return (*self._state.store.audit(watch=times.add), *times.problems)

    def head(self) -> str | None:
        """Return the hash of the last event; note it to prove later that no event was changed."""
        return self._state.store.head()
