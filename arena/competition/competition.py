"""The facade of a competition, for the command line and for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from arena.competition import decisions
from arena.competition.boards.consequences import consequences_text
from arena.competition.record.phases import destination_of_check
from arena.competition.state import read_state
from arena.competition.submit import (
    SubmissionHandler,
    SubmissionRequest,
    Submitted,
    read_for_phases,
    submit_files,
)
from arena.competition.view import CompetitionView, now, open_state, organiser
from arena.config import UNFINISHED_NAME, Settings
from arena.errors import InputError, UsageError
from arena.intake import (
    SubmissionFile,
    find_submissions,
    named_file,
    ordered_by_manifest,
    solution_source,
    submission_file,
)
from arena.intake.folder import team_name
from arena.plugin.manager import PluginManager
from arena.server_section import ServerSection
from arena.types import Fault
from arena.utils.collection import collection_paused
from arena.utils.finished_tasks import resumable
from arena.utils.parallel import Progress
from arena.utils.progress import shown, stage
from arena.utils.questions import check_answers
from arena.utils.strict_json import parse_json

# Modules that only the start or the end of a competition or a server needs are imported there:
# ranking loads scipy, which would take a third of the time of a submission.
if TYPE_CHECKING:
    from arena.competition.added_rows import AddedRows
    from arena.competition.programs.local_runs import SubmittedProgram
    from arena.competition.programs.reruns import Rerun
    from arena.competition.qualification import Qualification
    from arena.competition.record.programs import ProgramRecord
    from arena.competition.rescore import RankChange, Rescored
    from arena.requests import Answer, Request
    from arena.scoring.result import ScoreResult


_SUBMISSIONS_IN_MEMORY = 16
"""More than a transaction needs to store a group of them."""


class Competition(CompetitionView):
    r"""A competition in a folder: ``competition.toml`` and a DuckDB file. A context manager.

    Only one process at a time can open a competition. Each method stores everything or nothing,
    even if the process is killed. Opening a competition records what changed in
    ``competition.toml``; use :class:`~arena.competition.view.CompetitionView` for read-only
    access. The rows of the best submissions that mechanisms compare are cached between
    submissions: at most ``128 * n`` bytes for n public rows.

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
    _handler: SubmissionHandler | None = None

    @classmethod
    def create(
        cls,
        folder: str | Path,
        solution: Any,
        settings: Settings | str | None = None,
        *,
        metric: str | None = None,
        public_share: float | None = None,
        seed: int | None = None,
        manager: PluginManager | None = None,
        clock: Callable[[], datetime] = now,
        protected: bool = False,
        **keys: Any,
    ) -> Self:
        """Create a competition in a new or empty folder, and open it.

        Parameters
        ----------
        folder
            Where ``competition.toml``, the database and ``sample_submission.csv`` are written.
        solution
            The path of a CSV or Parquet file, a data frame, or a dictionary of columns. Without a
            usage column, a share of the rows is made public, stratified by class and drawn with a
            stored seed.
        settings
            All settings, or the metric only.
        metric
            The metric, if there is no settings object.
        public_share
            In [0, 1); 0 makes every row private. None: the usage column decides, or 0.3 without
            one. A given share is also drawn if the usage column makes every row private.
        seed
            Random seed of the split and of everything random later; None: a secret seed.
        protected
            Whether the mechanism of the settings is replaced by the one that protects the public
            rows by default.
        keys
            Further settings by their keys in ``competition.toml``, such as ``target``,
            ``mechanism``, ``per_day`` and ``deadline``; see :meth:`arena.Settings.of`.

        Raises
        ------
        InputError
            If the solution cannot be used, or the folder already contains a competition.
        UsageError
            If the share is out of range, or a setting is unknown, invalid or given twice.
        """
        from arena.competition.create import create_competition
        from arena.scoring.settings import refuse_keywords

        manager = manager or PluginManager()
        if isinstance(settings, Settings):
            refuse_keywords([*(["metric"] if metric is not None else ()), *keys])
        else:
            if (settings is None) == (metric is None):
                raise UsageError('Give the metric once, such as metric="roc_auc".')
            settings = Settings.of(metric=str(settings or metric), **keys)
        folder, source = Path(folder), solution_source(solution)
        with stage("Storing the solution"):
            store = create_competition(
                folder,
                source,
                settings=settings,
                public_share=public_share,
                seed=seed,
                manager=manager,
                actor=organiser(),
                now=clock(),
                protected=protected,
            )
        return cls(open_state(folder, manager, 0.0, clock, store=store))

    # -- submissions ---------------------------------------------------------------------------

    def submit(
        self,
        file: Any,
        team: str,
        *,
        key: str | None = None,
        phase: str | None = None,
        answers: Mapping[str, str] | None = None,
    ) -> Submitted:
        """Submit one file of a team: check, count, score, store and release it.

        Submitting the same file of the same team (or the same ``key``) again returns the first
        answer.

        Parameters
        ----------
        file
            A path, a data frame, a dictionary of columns, or an array ``(n,)`` or
            ``(n, n_columns)`` in the order of the solution's rows.
        phase
            The phase for which it counts; None: the one that is open. A file of rounds counts for
            each open one whose rows it has: the answer is that of the first, and has the others as
            ``rounds``.
        answers
            Key of a question, ``[question.KEY]`` -> the answer, which is public.

        Raises
        ------
        InputError
            If the file does not exist.
        UsageError
            If it is something else; the message names the value. If there is no such phase, or
            several are open and none is named.
        StoreError
            If it cannot be stored; nothing is stored then.
        """
        submitted = submission_file(file, team, self._state.solution)
        checked = self._checked_answers(submitted.team, answers or {})
        with stage("Checking and scoring the submission"):
            (answer,) = submit_files(
                self._open_handler(),
                [submitted],
                limited=True,
                key=key,
                phase=self._state.phase if phase is None else phase,
                answers=checked,
            )
        return answer

    def _checked_answers(self, team: str, answers: Mapping[str, str]) -> dict[str, str]:
        questions = self.settings.public_questions
        if not questions and not answers:
            return {}
        of_team = self.answers_of_teams().get(self._state.ledger.teams().current(team), {})
        documents = {key: question.model_dump() for key, question in questions.items()}
        return check_answers(documents, answers, of_team)

    def submit_program(
        self, file: str | Path, team: str, *, phase: str | None = None
    ) -> SubmittedProgram:
        """Submit a program of a team: run its trial, then run it on the hidden inputs and score it.

        A program that a team sent before is not run again; one whose run was interrupted is run
        without another trial. It is received when this is called: the deadline and the limits of a
        day follow that time.

        Parameters
        ----------
        phase
            The phase for which it counts; None: the one that is open.

        Raises
        ------
        UsageError
            If the competition takes no programs, or a limit or the dates refuse it. If there is no
            such phase, or several are open and none is named.
        InputError
            If the file or the inputs cannot be read.
        SandboxError
            If this machine could not run it. Nothing is counted then.
        """
        from arena.competition.programs.local_runs import submit_program

        phase = self._state.phase if phase is None else phase
        return submit_program(
            self._state, self._open_handler(), file=Path(file), team=team, phase=phase
        )

    def run_waiting_program(self, program: ProgramRecord) -> Submitted:
        """Run a program that waits on the hidden inputs of this machine, and score it.

        Raises
        ------
        SandboxError
            If this machine could not run it; the program is set aside, and nothing is counted.
        """
        from arena.competition.programs.local_runs import run_waiting

        return run_waiting(self._state, self._open_handler(), program)

    def rerun_program(self, submission: int) -> Rerun:
        """Run the program of a submission again, and compare what it writes with the record.

        The same predictions make it a verified submission; the board does not change. The result
        is "no program" if no program wrote the submission.

        Raises
        ------
        UsageError
            If there is no accepted submission of this number.
        SandboxError
            If this machine could not run it.
        """
        from arena.competition.programs.reruns import rerun

        return rerun(self._state, submission)

    def write_reruns(self, submissions: Sequence[int], folder: str | Path) -> list[Rerun]:
        """Write the programs of submissions to a new folder, for ``arena runner --work``.

        Returns a result for each submission that no program wrote.

        Raises
        ------
        UsageError
            If the folder exists, or there is no accepted submission of a number.
        """
        from arena.competition.programs.reruns import write_reruns

        return write_reruns(self._state, submissions, Path(folder))

    def read_reruns(self, folder: str | Path) -> Iterator[Rerun]:
        """Compare what a runner wrote to such a folder with the record, as :meth:`rerun_program`.

        Raises
        ------
        UsageError, InputError
            If the folder is not one of this competition, or a run has no result.
        """
        from arena.competition.programs.reruns import read_reruns

        return read_reruns(self._state, Path(folder))

    def finalists(self) -> list[int]:
        """Return the final submissions of every phase; a UsageError before finalize."""
        from arena.competition.programs.reruns import finalists

        return finalists(self._state)

    def import_folder(
        self,
        folder: str | Path,
        *,
        manifest: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Submitted]:
        """Submit a folder of files, ordered by name, without limits; yield each answer.

        If it is interrupted, run it again: files that were stored are not stored twice.

        Parameters
        ----------
        folder
            A folder of ``team.csv`` or ``team/anything.csv``, or one file.
        manifest
            A CSV file with the columns ``file``, ``received`` and optionally ``team``: the files
            are stored with these times, the earliest first. None: with the time of the import.
        progress
            Receives progress reports; None: shown as :class:`~arena.ProgressDisplay` does.

        Raises
        ------
        InputError
            If the folder does not exist, or the manifest does not fit it.
        """
        files: Sequence[SubmissionFile] = find_submissions([Path(folder)])
        times = None
        if manifest is not None:
            dated = ordered_by_manifest(files, Path(manifest), self._state.clock())
            files, times = [file for file, _ in dated], [time for _, time in dated]
        with shown(progress) as display:
            display.start("Importing submissions", len(files))
            handler = self._open_handler()
            for answer in submit_files(handler, files, limited=False, times=times):
                display.advance()
                yield answer

    def _open_handler(self) -> SubmissionHandler:
        if self._handler is None or self._handler.epoch != self._state.epoch:
            self._handler = SubmissionHandler(self._state)
        return self._handler

    # -- the queue of a served competition -----------------------------------------------------

    @cached_property
    def _cursor(self) -> list[int]:
        from arena.competition.queue.answers import cursor_of

        return [cursor_of(self._state.store)]

    @property
    def cursor(self) -> int:
        """The number of the last request of the queue that the record has; 0 without one."""
        return self._cursor[0]

    @property
    def must_be_reopened(self) -> bool:
        """Whether to close and open it again: the log of its database grows since an error."""
        return self._state.store.must_be_reopened

    def has_new_settings(self) -> bool:
        """Return whether ``competition.toml`` says something else than what was read from it."""
        from arena.competition.configure import has_new_settings

        return has_new_settings(self._state)

    def settings_fault(self) -> str:
        """Return why ``competition.toml``, as it is now, cannot be adopted; empty if it can be."""
        from arena.competition.configure import settings_fault

        return settings_fault(self._state)

    def missing_predictions(self) -> int:
        """Return how many files of predictions outside the database are missing; none is read."""
        return len(self._state.store.lacking_objects())

    def keep_little_in_memory(self) -> None:
        """Keep little of the database in memory: 128 MB, or more for large submissions.

        A process that judges submissions for weeks would otherwise fill a gigabyte with predictions
        that it does not read again.
        """
        solution = self._state.solution
        size = 8 * solution.n_rows * len(solution.columns)
        self._state.store.limit_memory(_SUBMISSIONS_IN_MEMORY * size)

    def record_server(self, server: ServerSection, rules: str | None) -> None:
        """Record the settings with which it is served from now on, if they changed.

        ``rules`` is the text that participants accept. See :mod:`arena.competition.server_settings`
        for the parts that are left out.
        """
        from arena.competition.server_settings import record_server_settings

        record_server_settings(self._state, server, rules)

    def process(
        self,
        requests: Sequence[Request],
        *,
        seconds: float = 1.0,
        workers: int = 1,
        before_each: Callable[[Request], None] = lambda _: None,
    ) -> list[Answer]:
        """Judge the first of some requests of a queue; return their answers, which are stored.

        Each request is judged once, even if the process is killed: its event and everything else
        that it changes are stored in one transaction, and :attr:`cursor` is read from the events.
        Submissions are stored together; their deadline and their day follow
        :attr:`~arena.requests.Request.received`.

        Parameters
        ----------
        requests
            In the order of their numbers. Those up to :attr:`cursor` must not be among them.
        seconds
            A group of submissions ends after the one that exceeds this time.
        workers
            Processes that read files.
        before_each
            Called before each request is judged; reading files comes earlier.

        Raises
        ------
        UsageError
            If a request was processed before.
        StoreError
            If nothing could be stored. Any other error concerns these requests; try them alone.
        """
        from arena.competition.queue.answers import cursor_of
        from arena.competition.queue.processing import process_requests

        if [request.seq for request in requests if request.seq <= self.cursor] or not requests:
            raise UsageError(f"Requests up to {self.cursor} were processed before.")
        try:
            answers = process_requests(
                self._state,
                self._open_handler,
                requests,
                seconds=seconds,
                workers=workers,
                before_each=before_each,
            )
        except BaseException:
            self._handler = None  # its cache may hold results that were not stored
            self._cursor[0] = cursor_of(
                self._state.store
            )  # the failure may have followed the commit
            raise
        self._cursor[0] = answers[-1].seq
        if answers[-1].kind in {"rename", "merge", "rescore"}:
            self._handler = None
        if answers[-1].kind == "rescore":
            self._read_again()
        return answers

    def check_file(self, path: Path, name: str) -> tuple[Fault, ...]:
        """Return the faults of a file, as if it were submitted; nothing is stored or counted.

        It is read in a process that has no labels. ``name`` is the file's name in messages.
        """
        state = self._state
        destination = destination_of_check(state.with_phases, state.clock())
        file = replace(named_file(Path(name), "check"), path=path)
        (read_file,) = read_for_phases(state, [file], [destination], workers=1)
        faults = (fault for read in read_file.by_phase.values() for fault in read.faults)
        return tuple(dict.fromkeys(faults))

    def set_aside(self, request: Request, reason: str) -> Answer:
        """Record that a request cannot be judged, which counts against no limit; return the answer.

        ``reason`` is for the organiser only.
        """
        from arena.competition.queue.processing import set_aside

        answer = set_aside(self._state, request, reason)
        self._cursor[0] = request.seq
        return answer

    # -- decisions of the teams and of the organiser -------------------------------------------

    def select(self, team: str, submissions: Sequence[int], *, late: bool = False) -> str:
        """Record which submissions a team selected as final; an empty list clears the selection.

        Returns the final rule of their phase: selections count if it is ``chosen``.

        Raises
        ------
        UsageError
            If there are more than a team may select, if one is not an accepted submission of this
            team, if the deadline has passed and ``late`` is false, or if there are none and
            several phases are open: choose one by :meth:`in_phase`.
        """
        return decisions.select(self._state, team_name(team), submissions, late=late)

    def withdraw(self, team: str, submission: int) -> None:
        """Record that a team withdraws one of its submissions: it leaves every board, for good.

        No released score changes: the mechanism remembers the file, and its place counts against
        the limits as before.

        Raises
        ------
        UsageError
            If it is not an accepted submission of this team, it was withdrawn before, the team is
            the organiser's baseline, or the deadline has passed.
        """
        decisions.withdraw(self._state, team_name(team), submission)

    def pause(self, reason: str) -> None:
        """Refuse files from now on, uncounted, and record why; see :meth:`resume`.

        Raises
        ------
        UsageError
            If it is paused already, or no reason is given.
        """
        decisions.pause(self._state, reason)

    def resume(self) -> None:
        """Receive files again, and record it; UsageError if the competition is not paused."""
        decisions.resume(self._state)

    def exempt(
        self, team: str, *, until: datetime | None = None, extra: int = 0, reason: str
    ) -> None:
        """Let a team submit until a time after the deadline, or more often; record why.

        ``extra``: submissions more than others, a day, a week and in total. It replaces an earlier
        exemption of the team.

        Raises
        ------
        UsageError
            If neither is given, the time is not after the deadline, or no reason is given.
        """
        decisions.exempt(self._state, team_name(team), until=until, extra=extra, reason=reason)

    def assign_bracket(self, team: str, bracket: str, *, member: bool = True) -> None:
        """Record that a team is in a bracket, ``[bracket.NAME]`` of ``competition.toml``, or not.

        A team may be in several. No released score changes; a private board that is stored is out
        of date.

        Raises
        ------
        UsageError
            If there is no such bracket, the team is a baseline, or nothing would change.
        """
        decisions.assign_bracket(self._state, team_name(team), bracket, member=member)

    def qualify(
        self, phase: str, teams: Sequence[str] = (), *, apply: bool = False
    ) -> Qualification:
        """Return which teams a phase admits by its settings; with ``apply``, record that.

        Where the phase carries files, the final files of these teams in the phase before it are
        then submitted again in this one, without limits.

        Parameters
        ----------
        teams
            Their names, if ``admit`` of the phase is ``listed``.

        Raises
        ------
        UsageError
            If there is no such phase, nothing is to be decided, or the board that decides was not
            finalized or is out of date.
        """
        from arena.competition import qualification

        state = self._state
        admitted = qualification.qualification(state, phase, [*map(team_name, teams)])
        if apply:
            qualification.record(state, admitted)
            handler = self._open_handler()
            for number, file, read in qualification.carried_files(state, admitted):
                handler.submit(
                    SubmissionRequest(
                        file=file,
                        read=read,
                        received=state.clock(),
                        actor=state.actor,
                        limited=False,
                        event_fields={"carried": number},
                        phase=phase,
                    )
                )
        return admitted

    def disqualify_team(self, team: str, reason: str) -> None:
        """Disqualify a team: none of its submissions counts, present or future. Record why.

        Raises
        ------
        UsageError
            If there is no such team, no reason is given, or it is disqualified already.
        """
        decisions.disqualify_team(self._state, team_name(team), reason)

    def reinstate(
        self, *, submission: int | None = None, team: str | None = None, reason: str
    ) -> None:
        """Undo the disqualification of a submission or a team. Both stay on record, with reasons.

        Raises
        ------
        UsageError
            If it is not disqualified, or no reason is given.
        """
        name = None if team is None else team_name(team)
        decisions.reinstate(self._state, submission=submission, team=name, reason=reason)

    def rename_team(self, team: str, name: str) -> None:
        """Rename a team and record it: its submissions, limits and decisions continue.

        Its former name refers to it from then on.

        Raises
        ------
        UsageError
            If there is no such team, it is the organiser's baseline, or another team has or had
            the new name.
        """
        decisions.rename_team(self._state, team_name(team), team_name(name))
        self._handler = None

    def merge_teams(self, team: str, into: str) -> None:
        """Merge a team into another one and record it; this cannot be undone.

        The merged team has the submissions and the selections of both, and its limits count the
        submissions of both. Its instance of the mechanism is that of ``into``.

        Raises
        ------
        UsageError
            If one of them does not exist, is disqualified or is the organiser's baseline, or if
            they are the same team.
        """
        decisions.merge_teams(self._state, team_name(team), team_name(into))
        self._handler = None

    def disqualify(self, submission: int, reason: str) -> str | None:
        """Disqualify a submission and record why; return the previous reason.

        The previous reason is None unless the submission was already disqualified. The new reason
        replaces it.

        Raises
        ------
        UsageError
            If there is no such submission, or the reason is empty or the current one.
        """
        return decisions.disqualify(self._state, submission, reason)

    def publish(self) -> int:
        """Publish the finalized private board as the next version of the result; return that.

        ``arena serve`` shows it to everybody. Earlier versions stay as they were, marked.

        Raises
        ------
        UsageError
            If files are still received, nothing was finalized, the private board is out of date, or
            this one is published.
        """
        from arena.competition.boards.results import publish, require_end

        require_end(self._board)
        return publish(self._board, self.leaderboard(live=True))

    def retract(self, reason: str) -> int:
        """Retract the last published result: its rows are no longer shown; return its version.

        Raises
        ------
        UsageError
            If no result is published, or no reason is given.
        """
        from arena.competition.boards.results import retract

        return retract(self._board, reason)

    def verify_winner(self, submission: int, state: str, *, note: str = "") -> None:
        """Record what the verification of a final submission found; it changes no rank.

        ``state`` is ``verified``, ``failed`` (with a note) or ``open``, which removes an earlier
        finding. Published results and the next one show it.

        Raises
        ------
        UsageError
            If it is no accepted submission that counts, or a failure has no note.
        """
        from arena.competition.verification import verify_winner

        verify_winner(self._state, submission, state, note)

    # -- the end -------------------------------------------------------------------------------

    def finalize(
        self,
        *,
        workers: int = 0,
        progress: Progress | None = None,
        intervals: bool | None = None,
        report: bool = True,
    ) -> ScoreResult:
        """Rank the final submissions on the private rows and store the private board.

        ``intervals`` is whether to compute intervals; None: as the settings say. ``report`` is
        whether to keep what a report shows; otherwise a report computes it.

        It can be run again: if nothing changed, nothing is recorded and the board is the same.
        ``workers`` is the number of workers on this machine; 0: one per processor.

        Calls of a slow metric are kept in the folder ``unfinished`` of the competition until the
        board is stored: after an interruption they are not made again.

        Raises
        ------
        UsageError
            If there is no accepted submission that is not disqualified.
        MetricError
            If the metric is not defined on the private rows.
        """
        from arena.competition.boards.finalize import finalize

        with shown(progress) as display, resumable(self._unfinished, display) as tasks:
            result = finalize(
                self._board, display, workers=workers, intervals=intervals, report=report
            )
            if tasks is not None:
                tasks.remove()
            return result

    @collection_paused()
    def export(self, folder: str | Path) -> list[Path]:
        """Write the files with which another person can verify the private board.

        The same competition gives the same bytes; :mod:`arena.competition.exports.export` lists
        the files.

        Raises
        ------
        UsageError
            If the competition was not finalized.
        InputError
            If the folder is not empty, or the private board is out of date: see :meth:`outdated`.
        """
        from arena.competition.exports.export import Bundle, write_bundle

        result = self.final_result()
        if old := self.outdated():
            raise InputError(old)
        bundle = Bundle(
            # As recorded: an earlier arena did not have every key.
            settings=parse_json(self._state.store.meta("settings") or "{}"),
            result=result,
            finals=self._board.events("finalized")[-1].payload["finals"],
            public=self.leaderboard(live=True),
            submissions=self._board.ledger.submissions(),
            events=self._state.store.each_event(),
            solution=self._state.stored_solution,
        )
        with stage("Exporting the competition"):
            return write_bundle(Path(folder), bundle, self._state.store)

    def rescore(
        self,
        solution: Any = None,
        *,
        apply: bool = False,
        workers: int = 0,
        progress: Progress | None = None,
    ) -> list[RankChange]:
        """Score every submission again, with a corrected solution or with a new metric.

        The new metric is the one in ``competition.toml``. Returns every team's rank on the private
        board before and after. The change is made and recorded only with ``apply``; the public
        board is then released again, and earlier scores stay on record as they were shown.
        ``progress`` reports in how many rows the labels of a corrected solution differ, in how
        many the usage, which is ignored, and without ``apply`` what it would release again and
        mark.
        ``workers`` is the number of workers on this machine; 0: one per processor.

        Calls of a slow metric are kept in the folder ``unfinished`` of the competition until the
        change is made, or the competition is finalized.

        Raises
        ------
        InputError
            If the corrected solution has other rows, columns or classes, or the new metric needs
            another kind of prediction.
        """
        from arena.competition.rescore import rescore

        source = None if solution is None else solution_source(solution)
        score = partial(rescore, self._state.of_all_phases, source, workers=workers)
        return self._score_again(score, apply=apply, progress=progress)

    def add_labels(
        self, labels: Any, *, workers: int = 0, progress: Progress | None = None
    ) -> list[RankChange]:
        """Add labels of rows that had none, and score every submission with them, on record.

        ``[data] pending_labels`` must have been true when the competition was created. The public
        board is released again, and a published result is marked, if they depend on these labels.
        Returns every team's rank on the private board before and after.

        Parameters
        ----------
        labels
            A CSV or Parquet file, a data frame or a dictionary of columns: ids and labels of any
            rows. Labels that the solution has may be repeated, and not changed.
        workers
            The number of workers on this machine; 0: one per processor.

        Raises
        ------
        UsageError
            If labels of this competition do not arrive later.
        InputError
            If the file cannot be used, contradicts labels that the solution has, or has no new
            label, or if there are too few for the metric.
        """
        from arena.competition.rescore import score_with_labels

        source = solution_source(labels)
        score = partial(score_with_labels, self._state.of_all_phases, source, workers=workers)
        return self._score_again(score, apply=True, progress=progress)

    def add_rows(self, rows: Any, *, progress: Progress | None = None) -> AddedRows:
        """Add rows to phases without submissions, and a round of each date that is new; on record.

        Scores and boards stay. Participants predict the new rows from now on.

        Parameters
        ----------
        rows
            A CSV or Parquet file, a data frame or a dictionary of columns, as the solution. Rows
            that the solution has may be repeated; their labels are not read.

        Raises
        ------
        UsageError
            If the metric reads whole files.
        InputError
            If the file cannot be used or has no new row, a phase with submissions would have new
            rows, or a round would be before one that was finalized.
        """
        from arena.competition.added_rows import read_added_rows, store_added_rows

        state = self._state.of_all_phases
        added = read_added_rows(state, solution_source(rows))
        self._state = replace(self._state, wanted=store_added_rows(state, added))
        self._read_again()
        with shown(progress) as display:
            display.say(added.sentence)
        return added

    def _score_again(
        self, score: Callable[[Progress], Rescored], *, apply: bool, progress: Progress | None
    ) -> list[RankChange]:
        from arena.competition.rescore import apply as store_rescored

        with shown(progress) as display, resumable(self._unfinished, display) as tasks:
            rescored = score(display)
            if apply:
                store_rescored(self._state.of_all_phases, rescored)
            else:
                display.say(consequences_text(rescored.consequences.fields))
            if tasks is not None and (apply or not tasks.kept_any):
                tasks.remove()  # what took less than ten seconds is not worth a file
        if apply:
            self._read_again()
        return rescored.changes

    @property
    def _unfinished(self) -> Path:
        return self._state.folder / UNFINISHED_NAME

    def _read_again(self) -> None:
        state, self._handler = self._state, None
        again = read_state(
            state.folder,
            state.store,
            manager=state.manager,
            new_settings=state.wanted,
            actor=state.actor,
            clock=state.clock,
        )
        self._state = again if state.phase is None else again.in_phase(state.phase)
