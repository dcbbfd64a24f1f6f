"""Handles a submission: checks, counts, judges, stores and releases it in one transaction.

Four records describe a submission on its way: what is asked (:class:`SubmissionRequest`), what was
read (:class:`~arena.intake.ReadSubmission`), what is stored
(:class:`~arena.types.SubmissionRecord`) and what is answered (:class:`Submitted`).
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy.typing as npt

from arena.competition.judging import COULD_NOT_BE_SCORED, Judge, Judgement
from arena.competition.judging_plugins import record_plugins
from arena.competition.record.admission import Admission
from arena.competition.record.answers import ANSWERED
from arena.competition.record.phases import (
    Destination,
    InstanceGroup,
    destination_of_file,
    group_of,
)
from arena.competition.record.programs import ProgramRecord, ProgramRun, concealed
from arena.competition.record.quota import Quota
from arena.competition.record.team_names import ConfusableNames
from arena.competition.record.teams import Teams
from arena.competition.release_log import PublicRowReader, StoredLog
from arena.competition.state import CompetitionState
from arena.errors import StoreError
from arena.intake import ReadSubmission, SubmissionFile
from arena.public_board.releaser import Releaser, ScoredSubmission, make_releaser
from arena.scoring.submissions import competition_info
from arena.store import Incoming, Scoring, Transaction
from arena.store.events import DATED
from arena.types import RULE_FAILED, Fault, Release, SubmissionRecord
from arena.utils.parallel import available_workers
from arena.utils.questions import is_kept


@dataclass(frozen=True, slots=True, eq=False)
class SubmissionRequest:
    """A team asks that a file, which was read and checked, is judged."""

    file: SubmissionFile
    read: ReadSubmission
    received: datetime
    """The deadline and the limits of a day follow it."""
    actor: str
    """The name that the event records as its author."""
    key: str | None = None
    """The idempotency key; None: the digest of the file."""
    limited: bool = True
    """Whether the deadline and the limits apply."""
    event_fields: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of its event."""
    program: ProgramRecord | None = None
    """The program that wrote the file. It took its place in the limits when it was received."""
    run: ProgramRun | None = None
    """The program's run on the hidden inputs."""
    phase: str = ""
    """The phase for which it counts."""
    closed_rounds: tuple[str, ...] = ()
    """The rounds whose rows the file has, and for which it comes too late or too early."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Of the team to the questions; they are recorded if the file is accepted."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """The answer to a submission."""

    submission: int
    """The id of the submission."""
    team: str
    """The team's current name."""
    status: str
    """``accepted``, ``rejected`` (the file has faults) or ``refused`` (a limit, the deadline)."""
    released: float | None
    """The score on the public board; None without public rows."""
    faults: tuple[Fault, ...]
    """Why it was rejected; empty: it was not."""
    source: int | None = None
    """The submission whose score was released, if the mechanism repeated an earlier score."""
    late: bool = False
    """Whether it came after the deadline: it is listed apart, and not ranked."""
    phase: str = ""
    """The phase for which it counts; empty where a competition has no named phases."""
    rounds: tuple[Submitted, ...] = field(default=(), compare=False)
    """The answers for the further rounds for which the file counts."""
    closed_rounds: tuple[str, ...] = field(default=(), compare=False)
    """The rounds whose rows the file has, and for which it does not count: they are not open."""
    receipt: str | None = field(default=None, compare=False)
    """The hash of the event that stored it, which proves later that the record still has it."""
    known: bool = field(default=False, compare=False)
    """Whether it was stored before; this is then its first answer."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON; a repeated answer gives the same document."""
        return {
            "submission": self.submission,
            "team": self.team,
            "status": self.status,
            "released": self.released,
            "source": self.source,
            "late": self.late,
            "phase": self.phase,
            "faults": [asdict(fault) for fault in self.faults],
            "receipt": self.receipt,
            **({"rounds": [answer.to_dict() for answer in self.rounds]} if self.rounds else {}),
            **({"closed_rounds": list(self.closed_rounds)} if self.closed_rounds else {}),
        }

    @classmethod
    def of_rounds(cls, answers: Sequence[Submitted]) -> Submitted:
        """Return the answers for the rounds of a file as one: the first with the others."""
        first, *others = answers
        return replace(first, rounds=tuple(others))


def submit_files(
    handler: SubmissionHandler,
    files: Sequence[SubmissionFile],
    *,
    limited: bool,
    key: str | None = None,
    times: Sequence[datetime] | None = None,
    phase: str | None = None,
    answers: Mapping[str, str] | None = None,
) -> Iterator[Submitted]:
    """Submit files in the given order, and yield each answer once it is stored.

    ``times`` are those at which the files were received; None: now. ``phase``: the one for which
    they count; None: the one that was open then. A file of rounds counts for each that was open
    and whose rows it has: its answer has those for the further ones.

    A new team name that looks like another team's name is logged as a warning.
    """
    state, teams = handler.state, handler.teams
    team_names = set(map(teams.current, state.store.teams()))
    confusable: ConfusableNames | None = None
    received = [state.clock()] * len(files) if times is None else times
    destinations = [destination_of_file(state.with_phases, phase, time) for time in received]
    read_files = read_for_phases(state, files, destinations, workers=available_workers())
    for position, read_file in enumerate(read_files):
        team_name = teams.current(read_file.file.team)
        if team_name not in team_names:
            confusable = confusable or ConfusableNames(sorted(team_names))
            team_names.add(team_name)
            if note := confusable.add(team_name):
                logging.getLogger("arena").warning("%s", note)
        requests = read_file.requests(
            received=state.clock() if times is None else received[position],
            actor=state.actor,
            key=key,
            limited=limited,
            event_fields={} if times is None else {DATED: "manifest"},
            answers=answers or {},
        )
        yield Submitted.of_rounds([handler.submit(request) for request in requests])


@dataclass(frozen=True, slots=True, eq=False)
class ReadFile:
    """A file as it is read for each phase for which it counts."""

    file: SubmissionFile
    by_phase: Mapping[str, ReadSubmission]
    closed_rounds: tuple[str, ...] = ()
    """The rounds whose rows it has, and that are not open."""

    @property
    def crashed(self) -> bool:
        """Whether the process that read it ended."""
        return any(read.crashed for read in self.by_phase.values())

    def requests(self, **fields: Any) -> list[SubmissionRequest]:
        """Return a request for each phase; ``fields``: the other ones of the requests.

        The first one says which rounds are closed.
        """
        first, *others = [
            SubmissionRequest(file=self.file, read=read, phase=phase, **fields)
            for phase, read in self.by_phase.items()
        ]
        return [replace(first, closed_rounds=self.closed_rounds), *others]


def read_for_phases(
    state: CompetitionState,
    files: Sequence[SubmissionFile],
    destinations: Sequence[Destination],
    *,
    workers: int,
) -> Iterator[ReadFile]:
    """Yield each file as it is read for the phases for which it counts."""
    for destination, group in groupby(zip(destinations, files, strict=True), key=itemgetter(0)):
        of_destination = [file for _destination, file in group]
        if destination.series:
            yield from (_read_for_rounds(state, file, destination) for file in of_destination)
            continue
        of_phase = state.in_phase(destination.phase)
        workers_needed = min(workers, len(of_destination))
        for file, read in of_phase.examine(of_destination, workers=workers_needed):
            yield ReadFile(file, {destination.phase: read})


def _read_for_rounds(
    state: CompetitionState, file: SubmissionFile, destination: Destination
) -> ReadFile:
    read, rounds = state.read_rounds(file, destination.series)
    phases, closed_rounds = destination.split(rounds)
    by_phase = {name: state.in_phase(name).in_round(file, read) for name in phases}
    return ReadFile(file, by_phase, closed_rounds)


_OPTIONAL = {"source", "late", "phase", "closed_rounds"}
"""The fields of an answer that its event has only where they say something."""


def _payload(
    answer: Submitted, record: SubmissionRecord, request: SubmissionRequest, detail: str
) -> dict[str, Any]:
    """Return the payload of the event that stores a submission."""
    answered = answer.to_dict()
    del answered["receipt"]  # it is the hash of this event
    payload = {
        **{key: value for key, value in answered.items() if value or key not in _OPTIONAL},
        **request.event_fields,
        "file": record.file,
        "sha256": record.sha256,
    }
    if record.team != answer.team:
        payload["stored_as"] = record.team
    if detail:
        payload["for_organiser"] = detail
    return payload


class _StoredOutcome(NamedTuple):
    """The outcome of a submission's transaction."""

    answer: Submitted
    record: SubmissionRecord | None
    """With the current name of the team; None: it was stored before."""
    release: Release | None


def judge_of(state: CompetitionState) -> Judge:
    """Return what scores predictions of a phase, or of a competition without phases."""
    plugin = state.manager.metrics.plugin_of(state.settings.metric.specification)
    return Judge(state.solution, state.metric, plugin)


@dataclass(frozen=True, slots=True, eq=False)
class _PhaseHandler:
    """Judges the files of a phase and releases their scores."""

    state: CompetitionState
    """Of the phase."""
    judge: Judge
    reader: PublicRowReader
    releaser: Releaser

    @classmethod
    def of(
        cls, state: CompetitionState, group: InstanceGroup, sharing: _PhaseHandler | None
    ) -> _PhaseHandler:
        """Make the handler of a phase.

        ``sharing``: that of another phase of the group. Both have one releaser: it knows the files
        of the other phase which a new one is compared with.
        """
        judge = judge_of(state)
        if sharing is not None:
            return cls(state, judge, sharing.reader, sharing.releaser)
        reader = PublicRowReader(state.store, judge.public_rows)
        releaser = make_releaser(
            group.settings,
            state.solution,
            read=reader,
            manager=state.manager,
            seed=state.seed,
            prefix=group.prefix,
        )
        return cls(state, judge, reader, releaser)

    def release(
        self, record: SubmissionRecord, values: npt.NDArray[Any], score: float, log: StoredLog
    ) -> Release | None:
        """Release the public score of a stored submission; None if the mechanism releases none."""
        block = self.judge.block(values, self.judge.public_rows)
        self.reader.uncommitted[record.submission] = block
        scored = ScoredSubmission(record.submission, record.team, block, score, late=record.late)
        released = self.releaser.release(scored, log)
        return None if released is None else released.release


class SubmissionHandler:
    """Handles the submissions of an open competition, each in one transaction.

    It keeps what it computed for earlier submissions, so it is reused from file to file; it must
    not be used again once the state is read again, or a group of submissions failed.
    """

    def __init__(self, state: CompetitionState) -> None:
        record_plugins(state)
        self.state = state
        ledger = state.ledger
        self.teams: Teams = ledger.teams()
        self.epoch = ledger.epoch
        """The epoch of the releases; in another one, another handler is needed."""
        self._chosen_brackets: dict[str, dict[str, str]] = {}
        """Team -> its answers that choose brackets for good, in the files that were handled."""
        self._by_phase: dict[str, _PhaseHandler] = {}
        self._of_phase(next(iter(state.with_phases.phase), ""))

    def _of_phase(self, name: str) -> _PhaseHandler:
        """Return what judges and releases the files of a phase, made when it is needed first."""
        if name not in self._by_phase:
            group = group_of(self.state.with_phases, name)
            others = (self._by_phase.get(phase) for phase in group.phases or ())
            sharing = next((handler for handler in others if handler is not None), None)
            self._by_phase[name] = _PhaseHandler.of(self.state.in_phase(name), group, sharing)
        return self._by_phase[name]

    def submit(self, request: SubmissionRequest) -> Submitted:
        """Store a submission file and release its public score.

        A submission with the team and key of a stored one is not stored again: its first answer
        is returned. Next come the deadline and the limits: their answer is the same for every
        file, and nothing is scored if they refuse it. Each scored file counts against the team's
        limits, also when it cannot be scored, unless the store itself fails; if the process is
        killed while scoring, the next opening counts it.
        """
        transaction: Transaction | None = None
        try:
            with self.state.store.transaction() as transaction:
                stored = self._store(transaction, request, announced=request.limited)
        except BaseException as error:
            if transaction is not None and transaction.scoring is not None:
                self._count_failure(error, request, transaction.scoring)
            raise
        finally:
            self._forget_uncommitted()
        self._announce(stored)
        return stored.answer

    def submit_group(
        self,
        files: Sequence[Sequence[SubmissionRequest]],
        *,
        seconds: float,
        before_each: Callable[[SubmissionRequest], None],
    ) -> list[Submitted]:
        """Store files of a queue in one transaction; return the answers to the first of them.

        As :meth:`submit`, for a caller that judges each submission again if the process is killed:
        nothing is announced in the journal, and a failure counts for no team.

        Parameters
        ----------
        files
            The requests of each file: one for each phase for which it counts.
        seconds
            The transaction ends after the file that exceeds this time.
        before_each
            Called before each file is judged, with its first request.
        """
        until = time.monotonic() + seconds
        group: list[list[_StoredOutcome]] = []
        try:
            with self.state.store.transaction() as transaction:
                for requests in files:
                    before_each(requests[0])
                    group.append(
                        [self._store(transaction, request, announced=False) for request in requests]
                    )
                    if time.monotonic() > until:
                        break
        finally:
            self._forget_uncommitted()
        for stored in chain.from_iterable(group):
            self._announce(stored)
        return [Submitted.of_rounds([stored.answer for stored in of_file]) for of_file in group]

    def _forget_uncommitted(self) -> None:
        for handler in self._by_phase.values():
            handler.reader.uncommitted.clear()

    def _store(
        self, transaction: Transaction, request: SubmissionRequest, *, announced: bool
    ) -> _StoredOutcome:
        """Check, count, judge, store and release a submission inside a transaction."""
        handler, team_name = self._of_phase(request.phase), self.teams.current(request.file.team)
        state = handler.state
        incoming = self._incoming(request)
        first = self._find(transaction, incoming)
        if first is not None:
            answer = replace(self._first_answer(first), closed_rounds=request.closed_rounds)
            return _StoredOutcome(answer, None, None)
        quota = self._quota(request) if request.limited else None
        refusal = None if quota is None else quota.refusal(transaction)
        judgement = Judgement()
        if quota is not None and quota.is_late and refusal is None:
            incoming = replace(incoming, late=True)
        if refusal is not None:
            incoming = replace(incoming, values=None, faults=(refusal,), refused=True)
        elif incoming.refused:
            judgement = Judgement(detail=" ".join(fault.message for fault in incoming.faults))
            logging.getLogger("arena").warning(
                "%s of %s: %s", incoming.file, team_name, judgement.detail
            )
        else:
            values = None if incoming.faults else incoming.values
            if quota is not None and (values is not None or state.settings.limits.count_rejected):
                quota.use(transaction)
            if values is not None:
                if announced:
                    transaction.announce_scoring(incoming)
                submission_name = f"{request.file.name} of {request.file.team}"
                judgement = handler.judge.judge(values, submission_name)
                incoming = self._with_judgement(incoming, judgement)
        incoming, judgement = self._concealed(transaction, request, incoming, judgement)
        record = transaction.add_submission(incoming)
        release = None
        if judgement.public is not None:
            transaction.put_scores(state.revision, record.submission, judgement.public, None)
        hidden = state.settings.public.scores == "hidden"
        if judgement.public is not None and incoming.values is not None and not hidden:
            log = StoredLog(transaction, self.epoch, state.revision, request.received)
            release = handler.release(record, incoming.values, judgement.public, log)
        answer = replace(self._answer(record, release), closed_rounds=request.closed_rounds)
        payload = _payload(answer, record, request, judgement.detail)
        event = transaction.append_event(
            "submission", request.actor, payload, time=request.received
        )
        answer = replace(answer, receipt=event.hash)
        answers = self._answers_to_record(request) if record.status == "accepted" else {}
        if answers:
            fields = {"submission": record.submission, "team": team_name}
            answered = {**fields, "answers": answers}
            transaction.append_event(ANSWERED, request.actor, answered, time=request.received)
        return _StoredOutcome(answer, replace(record, team=team_name), release)

    def _answers_to_record(self, request: SubmissionRequest) -> dict[str, str]:
        """Return the answers of a file, without a bracket that its team chose in this group."""
        chosen = self._chosen_brackets.setdefault(self.teams.current(request.file.team), {})
        answers = {key: text for key, text in request.answers.items() if key not in chosen}
        questions = self.state.settings.question
        chosen |= {
            key: text for key, text in answers.items() if is_kept(questions[key].model_dump())
        }
        return answers

    def _concealed(
        self,
        transaction: Transaction,
        request: SubmissionRequest,
        incoming: Incoming,
        judgement: Judgement,
    ) -> tuple[Incoming, Judgement]:
        """Remove what faults quote of a run's output, and return the place of one that is free."""
        program, run = request.program, request.run
        settings = self._of_phase(request.phase).state.settings
        if program is None or run is None or not incoming.faults:
            return incoming, judgement
        faults, detail = concealed(incoming.faults, run, settings)
        if not settings.programs.count_failed:
            self._quota(request).give_back(transaction)
        detail = " ".join(filter(None, (judgement.detail, detail)))
        return replace(incoming, faults=faults), replace(judgement, detail=detail)

    def _incoming(self, request: SubmissionRequest) -> Incoming:
        read = request.read
        return Incoming(
            team=self.teams.stored(self.teams.current(request.file.team)),
            file=request.file.name,
            sha256=read.sha256,
            values=read.values,
            faults=read.faults,
            key=request.key,
            received=request.received,
            refused=any(fault.kind == RULE_FAILED for fault in read.faults),
            late=request.program is not None and request.program.late,
            phase=request.phase,
        )

    def _quota(self, request: SubmissionRequest) -> Quota:
        team_name = self.teams.current(request.file.team)
        section = self.state.with_phases.phase.get(request.phase)
        return Quota(
            settings=self._of_phase(request.phase).state.settings,
            team=self.teams.stored(team_name),
            now=request.received,
            members=self.teams.members(team_name),
            admission=Admission.read(self.state.store),
            phase=request.phase,
            is_open_to_all=section is None or section.admit == "all",
        )

    def answer_to_program(self, program: ProgramRecord) -> Submitted | None:
        """Return the first answer to a program; None: it has not been run."""
        key, phase = program.program, program.phase
        with self.state.store.transaction() as transaction:
            for member in self.teams.members(self.teams.current(program.team)):
                if (record := transaction.find_submission(member, key, phase)) is not None:
                    return self._first_answer(record)
        return None

    def _first_answer(self, record: SubmissionRecord) -> Submitted:
        store = self.state.store
        recorded = store.first_release(record.submission)
        answer = self._answer(record, None if recorded is None else recorded.release)
        return replace(answer, receipt=store.receipt(record.submission), known=True)

    def _announce(self, stored: _StoredOutcome) -> None:
        """Announce a stored submission to the plugins."""
        if stored.record is not None:
            state = self.state
            title = state.settings.competition.title
            info = competition_info(state.metric, state.solution, title)
            state.manager.submission_scored(stored.record, stored.release, info)

    def _count_failure(
        self, error: BaseException, request: SubmissionRequest, scoring: Scoring
    ) -> None:
        """Count a submission that reached the metric, unless the store failed or has it."""
        store = self.state.store
        if isinstance(error, StoreError):
            with contextlib.suppress(StoreError):
                store.scoring_ended()
            return
        with store.transaction() as transaction:
            # Ctrl-C can arrive after the commit.
            if self._find(transaction, self._incoming(request)) is not None:
                return
            self._quota(request).use(transaction)
            transaction.append_event(
                "submission failed", request.actor, asdict(scoring), time=request.received
            )

    def _find(self, transaction: Transaction, incoming: Incoming) -> SubmissionRecord | None:
        """Return the stored submission of the same team and key, if there is one."""
        keys = [incoming.idempotency_key or ""]
        if incoming.key is None:
            keys.append(self._unscored_key(incoming))
        members = self.teams.members(self.teams.current(incoming.team))
        return transaction.find_first_submission(
            [
                (member, incoming.phase, key)
                for member in dict.fromkeys((incoming.team, *members))
                for key in keys
            ]
        )

    def _unscored_key(self, incoming: Incoming) -> str:
        """Return the key of a file that could not be scored: a rescore may fix the metric."""
        return f"{incoming.sha256} could not be scored in revision {self.state.revision}"

    def _with_judgement(self, incoming: Incoming, judgement: Judgement) -> Incoming:
        if judgement.fault is None:
            return incoming
        incoming = replace(incoming, values=None, faults=(judgement.fault,))
        if judgement.fault is COULD_NOT_BE_SCORED and incoming.key is None:
            return replace(incoming, key=self._unscored_key(incoming))
        return incoming

    def _answer(self, record: SubmissionRecord, release: Release | None) -> Submitted:
        if self._of_phase(record.phase).state.settings.public.scores == "hidden":
            release = None
        released = release.score if release else None
        team_name = self.teams.current(record.team)
        return Submitted(
            record.submission,
            team_name,
            status=record.status,
            released=released,
            faults=record.faults,
            source=None if release is None else release.source,
            late=record.late,
            phase=record.phase,
        )
