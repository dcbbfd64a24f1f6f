"""The actions of people, by a page or by a program."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.concurrency import run_in_threadpool

from arena.errors import UsageError
from arena.requests import Answer, Kind, Request
from arena.server.records.published import CompetitionFacts, TeamFacts
from arena.server.records.runs import FINAL, Program, ProgramState
from arena.server.records.teams import Team
from arena.server.web import programs
from arena.server.web.body import ANSWER, Received
from arena.server.web.call import Call, rules_not_accepted
from arena.server.web.language import _, ngettext
from arena.server.web.mail import address_of
from arena.server.web.problems import Problem
from arena.utils.formatting import minute
from arena.utils.questions import check_answers

OVER = {"closed", "finalized", "published"}
LISTED = 500
"""The most submissions of a team that its page lists, and from which it chooses."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request and its answer, or its place in the queue."""

    request: Request | None
    answer: Answer | None
    place: int | None
    """1 is judged next; ``None`` if it was judged."""
    seconds: float | None
    """The expected wait."""
    program: Program | None = None
    """The program that it is, if it is one."""
    state: tuple[str, str] = ("waiting", "")
    """The status before there is an answer, and a sentence about it."""
    rounds: tuple[Answer, ...] = ()
    """The answers for the further rounds of a file."""

    @property
    def id(self) -> str:
        """The random identifier."""
        return self.answer.request if self.answer else self.request.request  # type: ignore[union-attr]

    @property
    def status(self) -> str:
        """The status of the answer, or ``waiting``; or how a program ended without one."""
        return self.answer.status if self.answer else self.state[0]

    @property
    def message(self) -> str:
        """A sentence about it before there is an answer; of programs only."""
        return self.state[1]

    @property
    def file(self) -> str:
        """The name of the uploaded file, or an empty text."""
        if self.answer is not None and self.answer.file:
            return self.answer.file
        return str(self.request.payload.get("file", "")) if self.request else ""

    @property
    def received(self) -> str:
        """When the last byte arrived: ISO 8601, UTC."""
        if self.answer is not None:
            return self.answer.received
        return self.request.received.isoformat() if self.request else ""


@dataclass(frozen=True, slots=True)
class Left:
    """How many submissions a team has left; ``None`` where there is no limit."""

    today: int | None
    total: int | None
    waiting: int
    resets: str
    """When a new day starts: ISO 8601, UTC."""

    @property
    def none(self) -> bool:
        """Whether the team has used all of today's, or all."""
        return self.today == 0 or self.total == 0


def check_open(call: Call, time: datetime, *, late: bool = False) -> None:
    """Refuse a request after the deadline, or that of an exempted team, or the end: 409.

    ``late``: not before the time until which late files are received.
    """
    deadline, team = call.competition.deadline(), call.own_team
    last = call.competition.facts.late_until if late else None
    if call.competition.state().phase in OVER - {"closed"}:
        raise Problem(409, _("The competition is over: its final result was computed."))
    if team is not None and deadline is not None:
        until = call.competition.published.team(record_name(call, team)).until
        deadline = deadline if until is None else max(deadline, datetime.fromisoformat(until))
    if deadline is not None and last is not None:
        deadline = max(deadline, datetime.fromisoformat(last))
    if deadline is not None and time > deadline:
        raise Problem(
            409,
            _("The competition ended at {deadline} UTC.").format(
                deadline=deadline.strftime("%Y-%m-%d %H:%M")
            ),
        )


def end_of_files(call: Call) -> Problem | None:
    """Return why no file of this person can come any more, also none that is late."""
    try:
        check_open(call, call.site.clock(), late=True)
    except Problem as problem:
        return problem
    return None


def check_receives(call: Call, time: datetime) -> None:
    """Refuse a file while none is received: 409."""
    facts = call.competition.facts
    if facts.paused is not None:
        raise Problem(409, _("The competition is paused:") + f" {facts.paused['reason']}")
    if facts.start is not None and time < datetime.fromisoformat(facts.start):
        raise Problem(
            409,
            _("The competition starts at {start} UTC.").format(start=minute(facts.start)),
        )
    check_open(call, time, late=True)


def check_phase(call: Call, phase: str, time: datetime) -> None:
    """Refuse a file that counts for no phase: one that does not exist, or one of several open ones.

    422. The scorer decides again by its own clock whether the phase is open.
    """
    _check_phase_name(call, phase)
    facts = call.competition.facts
    names = open_phases(call, time)
    rows_decide = facts.programs is None and are_rounds(facts, names)
    if not phase and not rows_decide:
        _check_single_phase(names)


def _check_single_phase(names: Sequence[str]) -> None:
    """Refuse a request that names no phase while several are open: 422."""
    if len(names) > 1:
        message = _("Several phases are open. Name one of them:") + f" {', '.join(names)}."
        raise Problem(422, message)


def _check_phase_name(call: Call, phase: str) -> None:
    _check_name("phase", phase, call.competition.facts.phase_names, status=422)


def requested_name(call: Call, kind: str, names: Collection[str]) -> str:
    """Return the bracket, phase or board that a request names; empty: none is named.

    404 if there is none of this name.
    """
    name = call.request.query_params.get(kind, "")
    _check_name(kind, name, names, status=404)
    return name


def _check_name(kind: str, name: str, names: Collection[str], *, status: int) -> None:
    if not name or name in names:
        return
    refusal, without_any = {
        "bracket": (_("There is no such bracket."), _("This competition has no brackets.")),
        "phase": (_("There is no such phase."), _("This competition has no phases.")),
        "board": (_("There is no such board."), _("This competition has no combined boards.")),
    }[kind]
    choose = _("Choose one of these: {names}.").format(names=", ".join(names))
    choices = choose if names else without_any
    raise Problem(status, f"{refusal} {choices}")


def open_phases(call: Call, time: datetime) -> list[str]:
    """Return the names of the phases that are open at a time."""
    return [phase["phase"] for phase in call.competition.facts.phases if _is_open(phase, time)]


def are_rounds(facts: CompetitionFacts, phases: Sequence[str]) -> bool:
    """Return whether phases are rounds of one series: a file counts for those whose rows it has."""
    # Another arena, which knows no series, may have published the facts.
    series = {phase.get("series", "") for phase in facts.phases if phase["phase"] in phases}
    return len(series) == 1 and "" not in series


def _is_open(phase: Mapping[str, Any], time: datetime) -> bool:
    start, end = phase["start"], phase["end"]
    return (start is None or datetime.fromisoformat(start) <= time) and (
        end is None or time <= datetime.fromisoformat(end)
    )


def check_may_submit(call: Call) -> Team:
    """Return the team of a person who may submit; 403 otherwise."""
    team = team_not_merging(call)
    call.check_approved()
    if not call.has_accepted_rules:
        raise rules_not_accepted()
    return team


def team_not_merging(call: Call) -> Team:
    """Return the own team; 409 while it is being merged with another one."""
    # In this order: reading the merges moves accounts to the teams of those that are finished.
    merging, team = call.merging, call.team
    if team.team in merging:
        raise Problem(
            409, _("Your team is being merged with another one. Try again in a minute."),
            {"Retry-After": "10"},
        )  # fmt: skip
    return team


async def submit(call: Call, received: Received, key: str | None) -> tuple[Request, bool]:
    """Store an upload as a request of the team, and return it and whether it is new.

    A repeated key returns the first request. The file is removed unless a new request has it.
    """
    stored = received.stored
    payload: dict[str, Any] = {
        "upload": stored.name,
        "file": received.file,
        "bytes": stored.bytes,
        "sha256": stored.sha256,
    }
    description = " ".join(received.fields.get("description", "").split())[:200]
    if description:
        payload["description"] = description
    if phase := received.fields.get("phase", ""):
        payload["phase"] = phase
    new = False
    try:
        team = check_may_submit(call)
        check_phase(call, phase, received.complete)
        if not (key and _is_stored(call, team, key)):
            check_receives(call, received.complete)
            payload |= _answers(call, team, received.fields)
        names = all_names(call, team)
        if call.competition.facts.programs is not None:
            opened, facts = open_phases(call, received.complete), call.competition.facts
            # It decides on which inputs the trial runs: teams may not see those of a later one yet.
            phase = payload.setdefault("phase", (*opened, facts.current_phase)[0])
            if phase not in opened and facts.phases and not (key and _is_stored(call, team, key)):
                raise Problem(409, _("This phase is not open."))
            program = await run_in_threadpool(
                lambda: programs.add(call, team, received, key=key, payload=payload, names=names)
            )
            new = program.payload["upload"] == stored.name
            return programs.as_request(program), new
        request, new = await run_in_threadpool(
            call.site.intake.append,
            competition=call.competition.name,
            team=team.name,
            member=call.account.account,
            kind="submit",
            payload=payload,
            key=key,
            fingerprint=stored.sha256,
            received=received.complete,
            room=call.competition.room(team),
            former=names - {team.name},
        )
        return request, new
    finally:
        if not new:
            await run_in_threadpool(call.site.uploads.drop, stored.name)


def _is_stored(call: Call, team: Team, key: str) -> bool:
    """Return whether a file with this idempotency key is stored and need not be sent again."""
    has_programs = call.competition.facts.programs is not None
    records = call.site.runs if has_programs else call.site.intake
    return records.find(call.competition.name, *all_names(call, team), key=key) is not None


def given_answers(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the answers in the fields of a form or a query, by the keys of the questions."""
    return {
        key.removeprefix(ANSWER): answer for key, answer in fields.items() if key.startswith(ANSWER)
    }


def _answers(call: Call, team: Team, fields: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the public and the private answers in the fields of a form or a query, by their kind.

    422 if one is wrong or missing. A question about the team needs one answer of the team, or one
    of the sender if the answers are not public.
    """
    team_answers = given_answers(fields)
    competition, questions = call.competition, call.competition.facts.questions
    sender = call.account.account
    answered = {
        **dict.fromkeys(call.site.intake.answered_privately(competition.name, sender), ""),
        **competition.published.team(record_name(call, team)).answers,
    }
    of_team = {
        key: answer
        for key, answer in answered.items()
        if questions.get(key, {}).get("of") == "team"
    }
    try:
        checked = check_answers(questions, team_answers, of_team)
    except UsageError as error:
        raise Problem(422, str(error)) from None
    answers: dict[str, dict[str, str]] = {}
    for key, answer in checked.items():
        kind = "answers" if questions[key]["shown"] == "board" else "private"
        answers.setdefault(kind, {})[key] = answer
    return answers


def select_in_phases(call: Call, submissions: Sequence[int]) -> list[Request]:
    """Choose the final submissions of the team in every phase, and return the requests.

    A phase whose choice stays has no request.
    """
    facts = call.competition.facts
    if not facts.phases:
        return [select(call, submissions)]
    before, chosen = chosen_by_phase(call), chosen_by_phase(call, submissions)
    strangers = set(submissions).difference(*chosen.values())
    _check_accepted(call, check_may_submit(call), sorted(strangers))
    return [
        select(call, chosen[phase], phase) for phase in chosen if chosen[phase] != before[phase]
    ]


def select_by_number(call: Call, submissions: Sequence[int], phase: str) -> Request:
    """Choose the final submissions of the team in the phase that has them.

    422 if there are none, ``phase`` names no phase, and several are open.
    """
    _check_phase_name(call, phase)
    if not submissions and not phase:
        _check_single_phase(open_phases(call, call.site.clock()))
    return select(call, submissions, phase)


def chosen_by_phase(call: Call, submissions: Collection[int] | None = None) -> dict[str, list[int]]:
    """Return phase -> those of some submissions of the own team that are in it, sorted.

    ``submissions``: those that are chosen, if None.
    """
    team = call.team
    if submissions is None:
        submissions = call.competition.published.team(record_name(call, team)).selected
    by_phase: dict[str, list[int]] = {name: [] for name in call.competition.facts.phase_names}
    for sending in sent(call, team, limit=LISTED):
        number = sending.answer.submission if sending.answer else None
        if sending.answer is not None and number is not None and number in submissions:
            by_phase[sending.answer.phase].append(number)
    return {phase: sorted(numbers) for phase, numbers in by_phase.items()}


def select(call: Call, submissions: Sequence[int], phase: str = "") -> Request:
    """Choose the final submissions of the team; of a phase, if ``phase`` names it."""
    team = check_may_submit(call)
    facts, now = call.competition.facts, call.site.clock()
    check_open(call, now)
    if facts.final_rule != "chosen":
        raise Problem(409, _("In this competition the final submission is not chosen by the team."))
    is_limited = phase in {"", facts.current_phase}  # the scorer knows how many of others
    if is_limited and len(set(submissions)) > facts.final_count:
        raise Problem(
            422,
            ngettext(
                "Choose at most {count} submission.",
                "Choose at most {count} submissions.",
                facts.final_count,
            ).format(count=facts.final_count),
        )
    _check_accepted(call, team, submissions)
    payload: dict[str, Any] = {"submissions": sorted(set(submissions))}
    if phase:
        payload["phase"] = phase
    return _append(call, "select", payload, team=team, received=now)


def withdraw_submission(call: Call, submission: int) -> Request:
    """Withdraw a submission of the team: it leaves every board, for good."""
    team, now = check_may_submit(call), call.site.clock()
    check_open(call, now)
    _check_accepted(call, team, [submission])
    return _append(call, "withdraw", {"submission": submission}, team=team, received=now)


def _check_accepted(call: Call, team: Team, submissions: Sequence[int]) -> None:
    """Refuse numbers that are not those of accepted submissions of the team: 422."""
    statuses = {
        sending.answer.submission: sending.answer.status
        for sending in sent(call, team, limit=LISTED)
        if sending.answer
    }
    for number in submissions:
        if statuses.get(number) != "accepted":
            raise Problem(
                422,
                _("Submission {number} is not an accepted submission of your team.").format(
                    number=number
                ),
            )


def _append(
    call: Call, kind: Kind, payload: Mapping[str, Any], *, team: Team, received: datetime
) -> Request:
    """Store a request of a team without a file, if there is room for it."""
    request, _new = call.site.intake.append(
        competition=call.competition.name,
        team=team.name,
        member=call.account.account,
        kind=kind,
        payload=payload,
        received=received,
        room=call.competition.room(team),
    )
    return request


def retract(call: Call, reason: str, phase: str) -> Request:
    """Retract the published result, which needs a sign-in within the last hour."""
    call.check_fresh()
    _check_phase_name(call, phase)
    if not call.competition.facts.phases and call.competition.state().phase != "published":
        raise Problem(409, _("No result is published, so there is nothing to retract."))
    return admin(call, "retract", {"reason": reason, **_in_phase(phase)})


def record_name(call: Call, team: Team) -> str:
    """Return the team's name in the record: an earlier one while a new name waits to be judged."""
    return call.competition.published.current_name(team.name)


def all_names(call: Call, team: Team) -> set[str]:
    """Return the name of a team and the former ones."""
    current, names = record_name(call, team), call.competition.published.names()
    return {team.name, *(name for name, now in names.items() if now == current)}


def has_sent(call: Call, team: Team) -> bool:
    """Return whether a team has sent anything: counted files, programs, or requests that wait."""
    n_used = call.competition.published.team(record_name(call, team)).used_ever
    return bool(n_used or _unjudged(call, team) or _programs_of(call, team))


def has_unfinished_programs(call: Call, team: Team) -> bool:
    """Return whether programs of a team wait or run."""
    return any(program.state not in FINAL for program in _programs_of(call, team))


def _programs_of(call: Call, team: Team) -> list[Program]:
    return call.site.runs.of_team(call.competition.name, *all_names(call, team))


def _unjudged(call: Call, team: Team) -> list[Request]:
    """Return the requests of a team that wait, those under its former names included."""
    competition = call.competition
    cursor = competition.state().cursor
    requests = (
        request
        for name in all_names(call, team)
        for request in call.site.intake.after(competition.name, cursor, 1_000, team=name)
    )
    return sorted(requests, key=lambda request: request.seq)


def waiting_answers(call: Call, team: Team) -> dict[str, str]:
    """Return the answers that a team gave when it was founded, and that are not recorded yet."""
    return {
        key: answer
        for request in _unjudged(call, team)
        if request.kind == "answer"
        for key, answer in request.payload["answers"].items()
    }


def sent(call: Call, team: Team, *, before: int | None = None, limit: int = 200) -> list[Sent]:
    """Return the requests of a team, newest first: waiting requests, then answers."""
    # Before the answers: a request that is judged meanwhile is in both lists rather than in none.
    unjudged = _unjudged(call, team)
    answers = call.competition.published.answers(
        record_name(call, team), before=before, limit=limit
    )
    judged = {answer.request for answer in answers}
    waiting = [
        _waiting(call, request)
        for request in unjudged
        if before is None and request.request not in judged and not _is_of_program(request)
    ]
    if before is None:
        waiting += _programs_without_answer(call, team)
    return [*reversed(waiting), *(Sent(None, answer, None, None) for answer in answers)]


def _is_of_program(request: Request) -> bool:
    """Return whether a request was made of a program, which its team sees in its place."""
    return "program" in request.payload


def _programs_without_answer(call: Call, team: Team) -> list[Sent]:
    """Return the programs of a team that have no submission, in the order in which they came."""
    if call.competition.facts.programs is None:
        return []
    programs.advance(call)
    published = call.competition.published
    return [
        _program(call, program)
        for program in _programs_of(call, team)
        if program.state is not ProgramState.RAN or not published.answer(program.request or "")
    ]


def _program(call: Call, program: Program) -> Sent:
    """Return a program: the answer to its submission, or where it is."""
    answer = None
    if program.state is ProgramState.RAN:
        answer = call.competition.published.answer(program.request or "")
    place = call.site.runs.place(program)
    state = programs.state_of(program, place)
    return Sent(
        programs.as_request(program),
        answer,
        place=place,
        seconds=None,
        program=program,
        state=state,
    )


def _waiting(call: Call, request: Request) -> Sent:
    state = call.competition.state()
    place = call.site.intake.waiting(call.competition.name, state.cursor, before=request.seq) + 1
    return Sent(request, None, place, round(place * state.seconds_each, 1))


def sent_request(call: Call, request: str) -> Sent:
    """Return one request of the own team; 404 for those of others and those that do not exist."""
    stored, published = call.site.intake.get(request), call.competition.published
    program = call.site.runs.get(request)
    if program is not None:
        stored = programs.as_request(program)
    answer, team = published.answer(request), call.own_team
    missing = Problem(404, _("Your team has no such request."))
    if stored is not None and stored.competition == call.competition.name:
        names = {published.current_name(stored.team), stored.team}
    elif stored is None and answer is not None:  # submitted by another command than the server
        names = {answer.team}
    else:
        raise missing
    if not call.person.organiser and (
        team is None or not names & {team.name, record_name(call, team)}
    ):
        raise missing
    if program is not None:
        programs.advance(call)
        return _program(call, call.site.runs.get(request) or program)
    if answer is not None:
        return Sent(stored, answer, None, None, rounds=tuple(published.further_rounds(answer)))
    if stored is None:
        raise missing
    return _waiting(call, stored)


def left(call: Call, team: Team) -> Left:
    """Return how many submissions a team has left today and in total."""
    facts = call.competition.facts
    team_facts: TeamFacts = call.competition.published.team(record_name(call, team))
    now = call.site.clock()
    waiting = sum(
        request.kind == "submit" and not _is_of_program(request)
        for request in _unjudged(call, team)
    )
    used_today = team_facts.used_day if team_facts.day == now.strftime("%Y-%m-%d") else 0
    used_week = team_facts.used_week if team_facts.week == now.strftime("%G-W%V") else 0
    counts = (
        (facts.total, team_facts.used_total),
        (facts.per_week, used_week),
        (facts.per_day, used_today),
    )
    total, week, today = (
        None if allowed is None else max(allowed + team_facts.extra - used - waiting, 0)
        for allowed, used in counts
    )
    if week is not None or today is not None:
        today = min(number for number in (today, week, total) if number is not None)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return Left(today, total, waiting, midnight.astimezone(UTC).isoformat())


def choose_result_mail(call: Call, *, wanted: bool) -> None:
    """Choose whether e-mails say that the own files have their results; 409 without an address."""
    account, facts = call.account, call.competition.facts
    if wanted and not (facts.server.smtp_host and address_of(account.contact)):
        raise Problem(409, _("Enter an e-mail address in your account first, if mail is sent."))
    call.site.accounts.choose_result_mail(call.competition.name, account.account, wanted=wanted)


def admin(call: Call, kind: str, payload: Mapping[str, Any]) -> Request:
    """Store a request of the organiser, which its scorer carries out in order."""
    request, _new = call.site.intake.append(
        competition=call.competition.name,
        team="",
        member=call.account.account,
        kind=kind,  # type: ignore[arg-type]
        payload=payload,
        received=call.site.clock(),
    )
    return request


def seen(call: Call) -> str:
    """Return the digest of the state that a final step confirms: board, queue and phase."""
    state, (_rows, etag) = call.competition.state(), call.competition.board()
    parts = [etag, state.phase, str(state.cursor)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def rescore(call: Call, preview: str) -> Request:
    """Preview a rescore, or apply it by the code of the preview."""
    if preview:
        call.check_fresh()
        if call.account.role != "organiser":
            raise Problem(403, _("With your role you can preview a rescore, and not apply it."))
    return admin(call, "rescore", {"preview": preview} if preview else {})


def final_step(call: Call, kind: str, digest: str, *, phase: str) -> Request:
    """Finalize or publish, of a phase if there are phases; empty: the current one.

    Raises
    ------
    Problem
        409 if it is not possible now; 403 after an old sign-in. The scorer checks the dates again:
        it does not believe the web process.
    """
    call.check_fresh()
    _check_phase_name(call, phase)
    facts = call.competition.facts
    of_phase = phase or facts.current_phase
    ends = [entry["end"] for entry in facts.phases if entry["phase"] == of_phase]
    end = ends[0] if ends else facts.deadline
    deadline = None if end is None else datetime.fromisoformat(end).astimezone(UTC)
    if deadline is not None and call.site.clock() <= deadline:
        raise Problem(
            409,
            _(
                "Files are received until {deadline} UTC. Finalize and publish after that, or set "
                "an earlier deadline."
            ).format(deadline=deadline.strftime("%Y-%m-%d %H:%M")),
        )
    unfinished = sum(
        len(call.site.runs.in_state(call.competition.name, state))
        for state in ProgramState
        if kind == "finalize" and state not in FINAL
    )
    if unfinished:
        raise Problem(
            409,
            _("Programs wait or run: {left}. Finalize after that, or start more runners.").format(
                left=unfinished
            ),
        )
    is_finalized = facts.phases or call.competition.state().phase in {"finalized", "published"}
    if kind == "publish" and not is_finalized:
        raise Problem(409, _("There is no private board yet: finalize first."))
    if digest != seen(call):
        raise Problem(
            409,
            _(
                "The board or the queue changed since this page was loaded. Check both, then "
                "repeat the step."
            ),
            seen=seen(call),
        )
    return admin(call, kind, _in_phase(phase))


def _in_phase(phase: str) -> dict[str, str]:
    return {"phase": phase} if phase else {}
