"""Processes the queued requests of a served competition, each exactly once.

Every request has a number in the queue and leaves one event, or one for each round for which its
file counts, written in the transaction that stores its result. The highest number among the events,
the cursor, therefore tells after any interruption which requests are done. Submissions are stored
in groups, because a commit takes as long as scoring does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from arena.competition.boards.final_document import ended_by_finalizing
from arena.competition.boards.results import require_end
from arena.competition.programs.program_runs import programs, record_run
from arena.competition.programs.runners import run_of
from arena.competition.queue.answers import (
    SET_ASIDE,
    SET_ASIDE_TEXT,
    answers_to,
    last_answer,
)
from arena.competition.queue.decisions import ANSWERED, DECISIONS, fitting_answers_of
from arena.competition.record.phases import Destination, destination_of_file
from arena.competition.state import CompetitionState
from arena.competition.submit import (
    SubmissionHandler,
    SubmissionRequest,
    read_for_phases,
)
from arena.errors import ArenaError, SandboxError, StoreError, UsageError
from arena.intake import named_file
from arena.requests import Answer, Request
from arena.utils.file_digest import file_sha256


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
        return [decide_request(state, first)]
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
    return request.answer(team, "set_aside", SET_ASIDE_TEXT)


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
    group = list(group_of_submissions(requests))
    if not group:
        return [set_aside(state, requests[0], "The uploaded file is missing.")]
    destinations: list[Destination] = []
    try:
        for request in group:
            require_in_time(state, request)
            name = request.payload.get("phase")
            destinations.append(destination_of_file(state.with_phases, name, request.received))
    except UsageError as error:
        if not destinations:
            return [_refuse(state, group[0], str(error))]
    by_id = {request.request: request for request in group[: len(destinations)]}
    queued, reason = read_group(state, list(by_id.values()), destinations, workers)
    if not queued:
        return [set_aside(state, requests[0], reason)]
    submissions = handler().submit_group(
        queued, seconds=seconds, before_each=lambda request: before_each(by_id[str(request.key)])
    )
    return [
        answer
        for request, submitted in zip(by_id.values(), submissions, strict=False)
        for answer in answers_to(request, submitted)
    ]


def require_in_time(state: CompetitionState, request: Request) -> None:
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


def group_of_submissions(requests: Sequence[Request]) -> Iterator[Request]:
    """Yield the first submissions whose files exist and are not too large together."""
    group_bytes = 0
    for position, request in enumerate(requests):
        if request.kind != "submit" or "run" in request.payload:
            return
        if request.path is None or not request.path.exists():
            return
        group_bytes += request.path.stat().st_size
        if position and group_bytes > _GROUP_BYTES:
            return
        yield request


def read_group(
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
                answers=fitting_answers_of(state, request),
            )
        )
    return queued, ""


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
        return [request.answer(team, "set_aside", SET_ASIDE_TEXT)]
    return answers_to(request, submitted)


# -- decisions -------------------------------------------------------------------------------------


def decide_request(state: CompetitionState, request: Request) -> Answer:
    """Carry out anything but a submission; a refusal is recorded with its reason."""
    for_request = _for(state, request)
    refused: str | None = None
    try:
        board = state
        decision = DECISIONS[request.kind]
        if request.team and not decision.from_teams:
            raise UsageError("Only organisers can do this.")
        if decision.of_phase:
            board = state.in_phase(request.payload.get("phase"))
            for_request = _for(board, request)
        require_in_time(state, request)
        # By the own clock: the web process writes the time of a request.
        require_deadline_passed(board, request.kind)
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


def require_deadline_passed(state: CompetitionState, kind: str) -> None:
    """Refuse to finalize or publish before the deadline: no file is received after either."""
    deadline = state.settings.competition.deadline
    if kind == "publish":
        require_end(state)
    if kind == "finalize" and deadline is not None and state.clock() <= deadline:
        raise UsageError(
            f"The competition ends at {deadline:%Y-%m-%d %H:%M} UTC: finalize after it, or set an "
            f"earlier [competition] deadline."
        )
