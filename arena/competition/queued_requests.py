"""Processes the queued requests of a served competition, each exactly once.

Every request has a number in the queue and leaves one event, or one for each round for which its
file counts, written in the transaction that stores its result. The highest number among the events,
the cursor, therefore tells after any interruption which requests are done. Submissions are stored
in groups, because a commit takes as long as scoring does.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from arena.competition import decisions
from arena.competition.answers import fitting_answers
from arena.competition.epochs import with_metrics_of
from arena.competition.final_document import ended_by_finalizing
from arena.competition.phases import Destination, destination_of_file, in_each_phase
from arena.competition.program_runs import programs, receive, record_run
from arena.competition.programs import SET_ASIDE as PROGRAM_SET_ASIDE
from arena.competition.results import consequences_text, require_end
from arena.competition.runners import run_of
from arena.competition.state import CompetitionState, public_standings
from arena.competition.submit import (
    SubmissionHandler,
    SubmissionRequest,
    Submitted,
    read_for_phases,
)
from arena.config import CONFIG_NAME
from arena.errors import ArenaError, SandboxError, StoreError, UsageError
from arena.intake import named_file
from arena.intake.folder import team_name
from arena.requests import Answer, Request, name_without_request
from arena.store import Event, Store
from arena.store.events import is_of_queue
from arena.utils.file_digest import file_sha256
from arena.utils.parallel import NoProgress
from arena.utils.questions import is_kept
from arena.utils.times import time_of

SET_ASIDE = "request set aside"
ANSWERED = "request answered"
"""The kinds of events that only a served competition has."""
CORRECTED_NAME = "corrected_solution.csv"
"""In the competition's folder: the solution with which a served competition is rescored. Labels
never pass through the web process."""


_SET_ASIDE_TEXT = (
    "This could not be judged because of a fault that is not yours, and it counts against no "
    "limit. The organiser has been notified. You can send it again."
)


def last_answer(store: Store) -> Answer | None:
    """Return the answer to the last request that the record has, or None.

    Requests are processed in the order of their numbers, so the record is read from its end.
    """
    for _id, events in groupby(filter(is_of_queue, store.last_events()), key=_id_of_request):
        return next(iter(answers_in(reversed([*events])).values()))[0]
    return None


def cursor_of(store: Store) -> int:
    """Return the number of the last request that the record has; 0 without one."""
    last = last_answer(store)
    return 0 if last is None else last.seq


def _id_of_request(event: Event) -> str:
    return str(event.payload["request"]["id"])


def answers_in(events: Iterable[Event]) -> dict[str, list[Answer]]:
    """Return the answers to every request that these events record, by its id.

    There is one; to a file of several rounds one for each of them.
    """
    answers: dict[str, list[Answer]] = {}
    for event in filter(is_of_queue, events):
        request, payload = event.payload["request"], event.payload
        answer = Answer(
            request=request["id"],
            seq=request["seq"],
            kind=request["kind"],
            team=str(payload.get("team", "")),
            status="done",
        )
        if event.kind == "submission":
            of_rounds = [
                earlier for earlier in answers.get(answer.request, ()) if earlier.submission
            ]
            document = {**payload, "receipt": event.hash}
            answers[answer.request] = [*of_rounds, _of_round(answer, document, of_rounds)]
            continue
        if event.kind in {SET_ASIDE, PROGRAM_SET_ASIDE}:
            answer = replace(answer, status="set_aside", message=_SET_ASIDE_TEXT)
        elif (refused := payload.get("refused")) is not None:
            answer = replace(answer, status="refused", message=str(refused))
        else:
            answer = replace(answer, message=_done(answer.kind, payload))
        answers[answer.request] = [answer]
    return answers


_OF_SUBMISSION = (
    "team",
    "status",
    "submission",
    "released",
    "source",
    "late",
    "phase",
    "faults",
    "closed_rounds",
    "receipt",
)
"""The fields of an answer that are in the document of a submission's answer, and in its event."""


def _of_round(answer: Answer, document: Mapping[str, Any], of_rounds: Collection[Answer]) -> Answer:
    """Return the answer to a submission; ``of_rounds``: those for the rounds before."""
    fields = {name: document[name] for name in _OF_SUBMISSION if name in document}
    answered = Answer.of({**asdict(answer), **fields})
    if not of_rounds:
        return answered
    request = name_without_request(document["submission"])
    return replace(answered, request=request, of_request=answer.request)


def _answers_to(request: Request, submitted: Submitted) -> list[Answer]:
    """Return the answers to a request that is a submission, one for each round."""
    answers: list[Answer] = []
    for of_round in (submitted, *submitted.rounds):
        answer = request.answer(of_round.team, of_round.status)
        answers.append(_of_round(answer, of_round.to_dict(), answers))
    return answers


def process_requests(
    state: CompetitionState,
    handler: Callable[[], SubmissionHandler],
    requests: Sequence[Request],
    *,
    seconds: float,
    workers: int,
    before_each: Callable[[Request], None],
) -> list[Answer]:
    """Process the first requests; return their answers, which are stored.

    Submissions are processed together, anything else one at a time.

    Raises
    ------
    StoreError
        If nothing could be stored, for example because the disk is full.
    """
    first = requests[0]
    if first.kind != "submit":
        before_each(first)
        return [_decide(state, first)]
    if "run" in first.payload:
        before_each(first)
        return _judge_run(state, handler(), first)
    return _process_submissions(
        state, handler, requests=requests, seconds=seconds, workers=workers, before_each=before_each
    )


def set_aside(state: CompetitionState, request: Request, reason: str) -> Answer:
    """Record that a request cannot be judged; it counts against no limit.

    ``reason`` is for the organiser only.
    """
    team = state.ledger.teams().current(request.team)
    payload = {
        "team": team,
        "file": request.payload.get("file"),
        "sha256": _digest(request.path),
        "for_organiser": reason,
    }
    _for(state, request).record(SET_ASIDE, payload)
    return request.answer(team, "set_aside", _SET_ASIDE_TEXT)


def _digest(path: Path | None) -> str | None:
    return None if path is None or not path.exists() else file_sha256(path)


def _for(state: CompetitionState, request: Request) -> CompetitionState:
    """Return the state in which events have the author, the time and the number of a request."""
    return replace(
        state,
        actor=request.actor,
        clock=lambda: request.received,
        event_fields=request.event_fields,
    )


# -- submissions -----------------------------------------------------------------------------------

_GROUP_BYTES = 64 * 2**20
"""Of the files of a group, the first one not included."""


def _process_submissions(
    state: CompetitionState,
    handler: Callable[[], SubmissionHandler],
    requests: Sequence[Request],
    seconds: float,
    workers: int,
    before_each: Callable[[Request], None],
) -> list[Answer]:
    group = list(_group(requests))
    if not group:
        return [set_aside(state, requests[0], "The uploaded file is missing.")]
    destinations: list[Destination] = []
    try:
        for request in group:
            _require_in_time(state, request)
            name = request.payload.get("phase")
            destinations.append(destination_of_file(state.with_phases, name, request.received))
    except UsageError as error:
        if not destinations:
            return [_refuse(state, group[0], str(error))]
    by_id = {request.request: request for request in group[: len(destinations)]}
    queued, reason = _read(state, list(by_id.values()), destinations, workers)
    if not queued:
        return [set_aside(state, requests[0], reason)]
    submissions = handler().submit_group(
        queued, seconds=seconds, before_each=lambda request: before_each(by_id[str(request.key)])
    )
    return [
        answer
        for request, submitted in zip(by_id.values(), submissions, strict=False)
        for answer in _answers_to(request, submitted)
    ]


def _require_in_time(state: CompetitionState, request: Request) -> None:
    """Refuse what a team asks for after a competition that no date ends was finalized.

    Otherwise its private board would be published while files are received, and each would show
    more of the labels.
    """
    ended = ended_by_finalizing(state) if request.team else None
    if ended is not None and request.received > ended:
        raise UsageError("The competition is over: its final result was computed.")


def _refuse(state: CompetitionState, request: Request, message: str) -> Answer:
    """Record that a file came too late or counts for no phase; it is not read."""
    for_request = _for(state, request)
    team = state.ledger.teams().current(request.team)
    for_request.record(ANSWERED, {"team": team, "refused": message})
    return request.answer(team, "refused", message)


def _group(requests: Sequence[Request]) -> Iterator[Request]:
    """Yield the first submissions whose files exist and are not too large together."""
    held = 0
    for position, request in enumerate(requests):
        if request.kind != "submit" or "run" in request.payload:
            return
        if request.path is None or not request.path.exists():
            return
        held += request.path.stat().st_size
        if position and held > _GROUP_BYTES:
            return
        yield request


def _read(
    state: CompetitionState,
    group: Sequence[Request],
    destinations: Sequence[Destination],
    workers: int,
) -> tuple[list[list[SubmissionRequest]], str]:
    """Read the files of a group up to the first that cannot be judged; also return why."""
    files = [
        replace(named_file(Path(str(request.payload["file"])), request.team), path=request.path)
        for request in group
        if request.path is not None
    ]
    queued: list[list[SubmissionRequest]] = []
    read_files = read_for_phases(state, files, destinations, workers=workers)
    for request, destination, first in zip(group, destinations, read_files, strict=True):
        # Its process may have been killed because of another file: alone again.
        alone = read_for_phases(state, [first.file], [destination], workers=1)
        read_file = next(alone) if first.crashed else first
        if read_file.crashed:
            return queued, "The process that reads files crashed twice while it read this one."
        digests = {read.sha256 for read in read_file.by_phase.values()} - {""}
        if digests and request.payload.get("sha256") not in {None, *digests}:
            return queued, "The uploaded file was changed or damaged after it was received."
        queued.append(
            read_file.requests(
                received=request.received,
                actor=request.actor,
                key=request.request,
                event_fields=request.event_fields,
                answers=_fitting_answers(state, request),
            )
        )
    return queued, ""


def _fitting_answers(state: CompetitionState, request: Request) -> dict[str, str]:
    """Return the answers of a request that fit the questions and what its team answered before."""
    team_answers = request.payload.get("answers")
    if not team_answers:
        return {}
    team = state.ledger.teams().current(request.team)
    answered = state.answers_at(None).of_teams.get(team)
    return fitting_answers(state.settings, team_answers, answered)


# -- programs --------------------------------------------------------------------------------------


def _judge_run(
    state: CompetitionState, handler: SubmissionHandler, request: Request
) -> list[Answer]:
    """Make a submission of a program's run on the hidden inputs, or set the program aside."""
    payload = request.payload
    program = programs(state).get(str(payload.get("program")))
    if program is None or handler.answer_to_program(program) is not None:
        return [set_aside(state, request, "There is no such program that waits for its run.")]
    document = payload["run"] if isinstance(payload["run"], dict) else {}
    for_request = _for(state, replace(request, received=program.received))
    run = run_of(
        state,
        program,
        document=document,
        signature=str(payload.get("signature", "")),
        output=request.path,
    )
    try:
        submitted = record_run(for_request, handler, program, run)
    except SandboxError:
        team = state.ledger.teams().current(program.team)
        return [request.answer(team, "set_aside", _SET_ASIDE_TEXT)]
    return _answers_to(request, submitted)


def _receive_program(state: CompetitionState, request: Request) -> None:
    program, path = str(request.payload["program"]), request.path
    if path is None or program in programs(state):
        raise UsageError("The uploaded program is missing, or was received before.")
    receive(
        state,
        path,
        team=team_name(request.team),
        program=program,
        file=str(request.payload["file"]),
        received=request.received,
        sha256=str(request.payload["sha256"]),
        phase=request.payload.get("phase"),
    )


# -- decisions -------------------------------------------------------------------------------------


def _done(kind: str, payload: Mapping[str, Any]) -> str:
    """Return the result of a request in a sentence, from the event that records it."""
    if answer := payload.get("answer"):
        return str(answer)
    return _DECISIONS[kind].sentence(payload) if kind in _DECISIONS else ""


def _decide(state: CompetitionState, request: Request) -> Answer:
    """Carry out anything but a submission; a refusal is recorded with its reason."""
    for_request = _for(state, request)
    refused: str | None = None
    try:
        board = state
        decision = _DECISIONS[request.kind]
        if request.team and not decision.from_teams:
            raise UsageError("Only organisers can do this.")
        if decision.of_phase:
            board = state.in_phase(request.payload.get("phase"))
            for_request = _for(board, request)
        _require_in_time(state, request)
        # By the own clock: the web process writes the time of a request.
        _require_end(board, request.kind)
        decision.carry_out(for_request, request)
    except StoreError:
        raise
    except ArenaError as error:
        refused = str(error)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        refused = "The request is incomplete."
    if refused is not None or request.kind == "finalize":
        payload = {"refused": refused} if refused is not None else {}
        for_request.record(ANSWERED, {"team": request.team, **payload})
    # The text of the event is published again when the server starts again.
    answer = last_answer(state.store)
    if answer is None or answer.request != request.request:
        raise AssertionError(f"{request.kind} recorded no event.")
    return replace(answer, team=request.team)


def _require_end(state: CompetitionState, kind: str) -> None:
    """Refuse to finalize or publish before the deadline: no file is received after either."""
    deadline = state.settings.competition.deadline
    if kind == "publish":
        require_end(state)
    if kind == "finalize" and deadline is not None and state.clock() <= deadline:
        raise UsageError(
            f"The competition ends at {deadline:%Y-%m-%d %H:%M} UTC: finalize after it, or set an "
            f"earlier [competition] deadline."
        )


def _disqualify(state: CompetitionState, request: Request) -> None:
    payload = request.payload
    if payload.get("team") is not None:
        decisions.disqualify_team(state, team_name(payload["team"]), payload["reason"])
    else:
        decisions.disqualify(state, payload["submission"], payload["reason"])


def _undo(state: CompetitionState, request: Request) -> None:
    payload = request.payload
    team = None if payload.get("team") is None else team_name(payload["team"])
    decisions.reinstate(
        state, submission=payload.get("submission"), team=team, reason=payload["reason"]
    )


def _select(state: CompetitionState, request: Request) -> None:
    decisions.select(state, team_name(request.team), request.payload["submissions"])


def _rename(state: CompetitionState, request: Request) -> None:
    # A team that sent nothing is not on record, but its submissions may wait under this name.
    payload = request.payload
    decisions.rename_team(
        state, team_name(payload["team"]), team_name(payload["to"]), on_record=False
    )


def _merge(state: CompetitionState, request: Request) -> None:
    # A team that sent nothing is not on record: its members only belong to the other one.
    team, into = (team_name(request.payload[key]) for key in ("team", "into"))
    if request.team:  # otherwise the organiser asked
        _require_same_brackets(state, team, into)
    has_sent, into_sent = (bool(state.ledger.records(name)) for name in (team, into))
    if has_sent and into_sent:
        decisions.merge_teams(state, team, into)
    elif has_sent:
        decisions.rename_team(state, team, into)
    else:
        state.record(
            ANSWERED, {"team": request.team, "answer": f"The team {team} joined the team {into}."}
        )


def _require_same_brackets(state: CompetitionState, *team_names: str) -> None:
    """Refuse a merge by which participants would leave a bracket.

    The web process checks it, too, but one of the teams may have chosen its bracket since.
    """
    of_teams, current = state.answers_at(None).of_teams, state.ledger.teams().current
    answers = [of_teams.get(current(name), {}) for name in team_names]
    for key, question in state.settings.public_questions.items():
        chosen = {of_team[key] for of_team in answers if key in of_team}
        if is_kept(question.model_dump()) and len(chosen) > 1:
            names = ", ".join(sorted(chosen))
            raise UsageError(f"The teams chose different brackets: {names}. Ask the organiser.")


@contextmanager
def _without_quotes(command: str, *shown_errors: type[ArenaError]) -> Iterator[None]:
    """Replace errors that can quote the solution: the web process reads the answer."""
    try:
        yield
    except (ArenaError, ValueError) as error:
        if isinstance(error, (StoreError, *shown_errors)):
            raise
        raise UsageError(
            f"The solution or the metric cannot be used. The reason can quote labels, so it is not "
            f"shown here: run {command} in the competition's folder to read it."
        ) from error


class _KeptMessages(NoProgress):
    """Keeps the messages."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def say(self, message: str) -> None:
        self.messages.append(message)


def _rescore(state: CompetitionState, request: Request) -> None:
    """Preview a rescore and return a code for it; with this code, apply it.

    The answer has counts only, because the web process reads it. The code is keyed by the secret
    seed: it depends on private ranks and labels.
    """
    from arena.competition import rescore

    path = state.folder / CORRECTED_NAME
    if not path.exists() and with_metrics_of(state.wanted, state.settings) == state.settings:
        raise UsageError(
            f"There is nothing to rescore: put the corrected solution into the competition's "
            f"folder as {CORRECTED_NAME}, or change [metric] in {CONFIG_NAME}."
        )
    progress = _KeptMessages()
    with _without_quotes("arena rescore"):
        rescored = rescore.rescore(state, path if path.exists() else None, progress)
    changes = rescored.changes
    about = [
        rescored.solution.sha256,
        *(settings.metric.specification for settings in in_each_phase(rescored.settings)),
        rescored.code,
        *(astuple(change) for change in changes),
    ]
    key = str(state.seed).encode()
    code = hmac.new(key, json.dumps(about).encode(), hashlib.sha256).hexdigest()[:12]
    preview_code = str(request.payload.get("preview") or "").strip()
    if not preview_code:
        answer = " ".join(
            (
                *progress.messages,
                rescore.sentence_of(changes, preview=True),
                consequences_text(rescored.consequences.fields),
                f"Nothing was changed. To apply it, enter the code {code}.",
            )
        )
        state.record(ANSWERED, {"team": request.team, "answer": answer})
        return
    if not hmac.compare_digest(preview_code.encode(), code.encode()):
        raise UsageError(
            "The code is not that of the current preview: a submission or the corrected solution "
            "changed since. Preview the rescore again."
        )
    rescore.apply(state, rescored)


def _finalize(state: CompetitionState, _: Request) -> None:
    from arena.competition.finalize import finalize

    with _without_quotes("arena finalize", UsageError):
        finalize(state, NoProgress())


def _publish(state: CompetitionState, _: Request) -> None:
    from arena.competition.results import publish

    publish(state, public_standings(state, live=True))


def _retract(state: CompetitionState, request: Request) -> None:
    from arena.competition.results import retract

    retract(state, request.payload["reason"])


def _verification(state: CompetitionState, request: Request) -> None:
    from arena.competition.verification import verify_winner

    payload = request.payload
    verify_winner(state, payload["submission"], payload["state"], payload["note"])


def _configure(state: CompetitionState, request: Request) -> None:
    from arena.competition.configure import configure

    answer = configure(state, request.payload["changes"], request.payload["texts"])
    state.record(ANSWERED, {"team": request.team, "answer": answer})


def _pause(state: CompetitionState, request: Request) -> None:
    decisions.pause(state, request.payload["reason"])


def _resume(state: CompetitionState, _: Request) -> None:
    decisions.resume(state)


def _exempt(state: CompetitionState, request: Request) -> None:
    payload = request.payload
    until = payload.get("until")
    decisions.exempt(
        state,
        team_name(payload["team"]),
        until=None if until is None else time_of(until),
        extra=payload.get("extra", 0),
        reason=payload["reason"],
    )


def _bracket(state: CompetitionState, request: Request) -> None:
    payload = request.payload
    team, member = team_name(payload["team"]), bool(payload["member"])
    decisions.assign_bracket(state, team, payload["bracket"], member=member)


def _answer(state: CompetitionState, request: Request) -> None:
    questions = state.settings.question
    answers = {
        key: answer
        for key, answer in _fitting_answers(state, request).items()
        if questions[key].of == "team"
    }
    if not answers:
        raise UsageError("None of the answers fits a question about teams.")
    decisions.answer(state, team_name(request.team), answers)


def _withdraw(state: CompetitionState, request: Request) -> None:
    decisions.withdraw(state, team_name(request.team), request.payload["submission"])


@dataclass(frozen=True, slots=True)
class _Decision:
    """A kind of request that is not a submission."""

    carry_out: Callable[[CompetitionState, Request], None]
    """Records one event, from which the answer is read; ``finalize`` needs another for it."""
    done: str = ""
    """The result in a sentence; empty: its event says it."""
    detailed: str = ""
    """The same with fields of its event, used if the event has them."""
    from_teams: bool = False
    """Whether teams send it, too; otherwise only organisers do."""
    of_phase: bool = False
    """Whether it concerns the boards of a phase."""
    tells_consequences: bool = False
    """Whether the answer says what was released again and marked."""

    def sentence(self, payload: Mapping[str, Any]) -> str:
        """Return the result in a sentence, from the event that records it."""
        whom = "submission {submission}" if payload.get("submission") is not None else "team {team}"
        try:
            text = self.detailed.replace("{whom}", whom).format_map(payload)
        except KeyError:
            text = ""
        if self.tells_consequences and "rebuilds" in payload:
            first = text or self.done
            stop = "" if first.endswith((".", "!", "?")) else "."  # of a reason
            return f"{first}{stop} {consequences_text(payload, past=True)}"
        return text or self.done


_DECISIONS: Mapping[str, _Decision] = {
    "select": _Decision(_select, "The selection is recorded.", from_teams=True),
    "withdraw": _Decision(
        _withdraw,
        "The submission is withdrawn.",
        "Submission {submission} is withdrawn.",
        from_teams=True,
    ),
    "disqualify": _Decision(
        _disqualify,
        "The disqualification is recorded.",
        "The {whom} is disqualified: {reason}",
        tells_consequences=True,
    ),
    "undo": _Decision(
        _undo,
        "The disqualification is undone.",
        "The disqualification of the {whom} is undone: {reason}",
        tells_consequences=True,
    ),
    "rename": _Decision(
        _rename,
        "The new name is recorded.",
        "The team {team} is called {to} now.",
        from_teams=True,
    ),
    "merge": _Decision(
        _merge,
        "The teams are merged.",
        "The team {team} joined the team {to}.",
        from_teams=True,
        tells_consequences=True,
    ),
    "rescore": _Decision(
        _rescore,
        "All submissions are rescored. Finalize again if the private board is computed.",
        tells_consequences=True,
    ),
    "finalize": _Decision(
        _finalize,
        "The private leaderboard is computed. Look at it, then publish it.",
        of_phase=True,
    ),
    "publish": _Decision(
        _publish,
        "The private leaderboard is published.",
        "The private leaderboard is published, as result {version}.",
        of_phase=True,
    ),
    "retract": _Decision(
        _retract,
        "The result is retracted.",
        "Result {version} is retracted: {reason}",
        of_phase=True,
    ),
    "verification": _Decision(
        _verification, "The verification is recorded.", "Submission {submission} is {state}."
    ),
    "pause": _Decision(_pause, "The competition is paused.", "The competition is paused: {reason}"),
    "resume": _Decision(_resume, "Files are received again."),
    "exempt": _Decision(
        _exempt, "The exemption is recorded.", "The team {team} is exempted: {reason}"
    ),
    "answer": _Decision(_answer, "The answers are recorded.", from_teams=True),
    "bracket": _Decision(
        _bracket,
        "The brackets are recorded.",
        "The brackets of the team {team} are recorded.",
    ),
    "program": _Decision(_receive_program, from_teams=True),
    "configure": _Decision(_configure),
}
"""By the kind of the request."""
