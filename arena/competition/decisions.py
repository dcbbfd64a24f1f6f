"""Decisions of teams and the organiser: selections, disqualifications, and names of teams.

The methods of :class:`~arena.competition.competition.Competition` of the same names say what is
refused, by a UsageError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from arena.competition.boards.consequences import Consequences, changed_marks
from arena.competition.record.admission import ADMISSION, EXEMPTED, PAUSED, RESUMED, Admission
from arena.competition.record.answers import ANSWERED
from arena.competition.record.final_selection import check_choice
from arena.competition.record.ledger import WITHDRAWAL
from arena.competition.record.phases import phase_of_file, public_sections
from arena.competition.record.programs import programs_in
from arena.competition.record.rebuild import board_facts, rebuilding
from arena.competition.record.roster import BRACKET
from arena.competition.record.teams import MERGED, RENAMED
from arena.competition.state import CompetitionState
from arena.config import CONFIG_NAME
from arena.errors import UsageError
from arena.intake.folder import team_fault
from arena.store import Event
from arena.utils.times import in_utc

_AFTER_ALL = 2**62
"""The sequence of an event that is not stored: after all others."""


def _record_decision(state: CompetitionState, kind: str, payload: Mapping[str, Any]) -> None:
    """Append the event of a decision, with its consequences, in one transaction.

    Its fields ``rebuilds`` and ``marks`` are the number of teams whose scores are released again
    and the versions of the published results that it marks.
    """
    consequences = consequences_of(state, kind, payload)
    with state.store.transaction() as transaction:
        fields = {**payload, **consequences.fields, **state.event_fields}
        transaction.append_event(kind, state.actor, fields, time=state.clock())
        consequences.store(transaction, state, kind)


def consequences_of(state: CompetitionState, kind: str, payload: Mapping[str, Any]) -> Consequences:
    """Return what a decision would release again and mark. Nothing is stored."""
    state = state.of_all_phases
    event = Event(
        sequence=_AFTER_ALL,
        time=state.clock().isoformat(),
        actor=state.actor,
        kind=kind,
        payload=payload,
        previous="",
        hash="",
    )
    after = replace(state, later=(event,))
    before, facts = (
        board_facts(side.ledger, state.manager, state.with_phases, state.stored_solution)
        for side in (state, after)
    )
    changed = before.history().items() ^ facts.history().items()
    again = None
    if changed:
        sections = public_sections(state.with_phases).values()
        per_team = all(public.scope == "team" for public in sections)
        again = rebuilding(facts, {team for _, team in changed} if per_team else None)
    return Consequences(again, *changed_marks(state, after))


def consequences_of_disqualifying(
    state: CompetitionState, submission: int | None, team: str | None, *, reason: str, undo: bool
) -> Consequences:
    """Return what disqualifying a submission or a team, or undoing it, would change.

    What the decision itself would refuse is refused here as well.
    """
    if undo:
        return consequences_of(state, *_reinstatement(state, submission, team, reason))
    if team is not None:
        return consequences_of(state, *_disqualification_of_team(state, team, reason))
    return consequences_of(state, *_disqualification(state, submission or 0, reason))


def withdraw(state: CompetitionState, team: str, submission: int) -> None:
    """Record that a team withdraws one of its submissions: it leaves every board, for good.

    The mechanism remembers it, and it stays counted by the limits: otherwise a team could see the
    scores of more files than it may send.
    """
    end = _end_of(_in_phase_of(state, [submission]), team)
    if end is not None and state.clock() > end:
        raise UsageError(
            f"The competition ended at {end:%Y-%m-%d %H:%M} UTC: submissions can no longer be "
            f"withdrawn. Nothing was changed."
        )
    team = _require_participant(state, team)
    status = {record.submission: record.status for record in state.ledger.records(team)}
    if status.get(submission) != "accepted":
        raise UsageError(
            f"Submission {submission} is not an accepted submission of the team {team!r}. Nothing "
            f"was changed."
        )
    if submission in state.ledger.withdrawn():
        raise UsageError(f"Submission {submission} was withdrawn before. Nothing was changed.")
    _record_decision(state, WITHDRAWAL, {"team": team, "submission": submission})


def select(
    state: CompetitionState, team: str, submissions: Sequence[int], *, late: bool = False
) -> str:
    """Record which submissions a team selected as final; an empty list clears the selection.

    The final rule of their phase is returned.
    """
    state = _in_phase_of(state, submissions)
    end = _end_of(state, team)
    passed = end is not None and state.clock() > end
    if passed and not late:
        raise UsageError(
            f"The competition ended at {end:%Y-%m-%d %H:%M} UTC: submissions can no longer be "
            f"selected, unless the organiser records a late selection. Nothing was changed."
        )
    team = _require_team(state, team)
    team_submissions = [
        record.submission for record in state.ledger.counting() if record.team == team
    ]
    check_choice(submissions, team_submissions, state.settings.final.count)
    payload = {"team": team, "submissions": sorted(set(submissions)), **state.phase_fields}
    state.record("selection", {**payload, "late": True} if passed else payload)
    return state.settings.final.rule


def _end_of(state: CompetitionState, team: str) -> datetime | None:
    """Return until when a team may submit, choose and withdraw; None: without end."""
    teams = state.ledger.teams()
    members, deadline = teams.members(teams.current(team)), state.settings.competition.deadline
    return Admission.read(state.store).end_of(members, deadline)


def _in_phase_of(state: CompetitionState, submissions: Sequence[int]) -> CompetitionState:
    """Return the state of the phase of some submissions.

    Without any it is the phase of the state, or the one that is open.

    Raises
    ------
    UsageError
        If they are of several phases, or there is none of them and several phases are open.
    """
    if not submissions:
        return state.in_phase(phase_of_file(state.with_phases, state.phase, state.clock()))
    phases = {record.phase for record in state.ledger.records(numbers=submissions)}
    if len(phases) > 1:
        raise UsageError(
            f"These submissions belong to several phases ({', '.join(sorted(phases))}): select "
            f"those of one phase at a time. Nothing was changed."
        )
    return state.in_phase(next(iter(phases), None))


def disqualify(state: CompetitionState, submission: int, reason: str) -> str | None:
    """Disqualify a submission, record why, and return the previous reason, which is replaced."""
    kind, payload = _disqualification(state, submission, reason)
    _record_decision(state, kind, payload)
    return payload.get("reason_before")


def _disqualification(
    state: CompetitionState, submission: int, reason: str
) -> tuple[str, dict[str, Any]]:
    """Return the kind and the payload of the event that disqualifies a submission."""
    _require_submission(state, submission)
    payload = {"submission": submission, "reason": _reason(reason)}
    before = state.ledger.disqualified().get(submission)
    if before == payload["reason"]:
        raise UsageError(f"Submission {submission} is already disqualified for this reason.")
    return "disqualification", payload if before is None else {**payload, "reason_before": before}


def disqualify_team(state: CompetitionState, team: str, reason: str) -> None:
    """Disqualify a team: none of its submissions counts, present or future. Record why."""
    _record_decision(state, *_disqualification_of_team(state, team, reason))


def _disqualification_of_team(
    state: CompetitionState, team: str, reason: str
) -> tuple[str, dict[str, Any]]:
    team = _require_team(state, team)
    reason = _reason(reason)
    if team in state.ledger.disqualified_teams():
        raise UsageError(f"The team {team!r} is already disqualified.")
    return "disqualification", {"team": team, "reason": reason}


def _reason(reason: str) -> str:
    if not reason.strip():
        raise UsageError("A disqualification needs a reason, which is recorded: give one.")
    return reason.strip()


def reinstate(
    state: CompetitionState, *, submission: int | None, team: str | None, reason: str
) -> None:
    """Undo the disqualification of a submission or a team, and record why."""
    _record_decision(state, *_reinstatement(state, submission, team, reason))


def _reinstatement(
    state: CompetitionState, submission: int | None, team: str | None, reason: str
) -> tuple[str, dict[str, Any]]:
    if not reason.strip():
        raise UsageError("Undoing a disqualification needs a reason, which is recorded: give one.")
    if team is not None:
        team = state.ledger.teams().current(team)
        if team not in state.ledger.disqualified_teams():
            raise UsageError(f"The team {team!r} is not disqualified.")
        accepted = state.ledger.accepted_teams().items()
        _check_scored(state, [number for number, of_team in accepted if of_team == team])
        return "reinstatement", {"team": team, "reason": reason.strip()}
    if submission not in state.ledger.disqualified():
        raise UsageError(f"Submission {submission} is not disqualified.")
    (team_of_submission,) = (
        record.team for record in state.ledger.records() if record.submission == submission
    )
    if team_of_submission in state.ledger.disqualified_teams():
        raise UsageError(
            f"Submission {submission} belongs to the team {team_of_submission!r}, which is "
            f"disqualified: undo the disqualification of the team."
        )
    _check_scored(state, [submission])
    return "reinstatement", {"submission": submission, "reason": reason.strip()}


def _check_scored(state: CompetitionState, submissions: Sequence[int]) -> None:
    """Refuse submissions that lost their scores in a rescore by an earlier arena.

    It left out disqualified ones. Those whose labels have not arrived never had scores.
    """
    if state.revision == 1:
        return
    lost = set(submissions) - {record.submission for record in state.store.scores(state.revision)}
    for revision in range(1, state.revision) if lost else ():
        records = state.store.scores(revision)
        had = [record.submission for record in records if record.public is not None]
        if before := lost.intersection(had):
            raise UsageError(
                f"Submission {min(before)} has no score since the last rescore, which left it out: "
                f"run `arena rescore --apply`, and undo the disqualification after that. Nothing "
                f"was changed."
            )


def rename_team(state: CompetitionState, team: str, name: str, *, on_record: bool = True) -> None:
    """Rename a team and record it: its submissions, limits and decisions continue.

    With ``on_record=False``, a team that sent nothing can be renamed too. Submissions that arrive
    later under its former name belong to it.
    """
    if on_record or has_sent(state, team):
        team = _require_participant(state, team)
    if fault := team_fault(name):
        raise UsageError(fault.message)
    teams = state.ledger.teams()
    if team == name:
        raise UsageError(f"The team is called {name!r} already.")
    is_taken = teams.was_used(name) or name in state.store.teams() or has_sent(state, name)
    if (is_taken and teams.current(name) != team) or name in state.settings.competition.baselines:
        raise UsageError(
            f"Another team has or had the name {name!r}: choose another name, or merge the two "
            f"teams. Nothing was changed."
        )
    state.record(RENAMED, {"team": team, "to": name})


def merge_teams(state: CompetitionState, team: str, into: str, *, on_record: bool = True) -> None:
    """Merge a team into another one and record it; this cannot be undone.

    With ``on_record=False``, they may have sent nothing: what is sent or was tried under the name
    ``team`` belongs to ``into``.
    """
    if on_record or has_sent(state, team):
        team = _require_participant(state, team)
    if on_record or has_sent(state, into):
        into = _require_participant(state, into)
    if team == into:
        raise UsageError(f"{into!r} is one team already.")
    for team_name in (team, into):
        if team_name in state.ledger.disqualified_teams():
            raise UsageError(
                f"The team {team_name!r} is disqualified: undo that first. Nothing was changed."
            )
    _record_decision(state, MERGED, {"team": team, "to": into})


def has_sent(state: CompetitionState, team: str) -> bool:
    """Return whether a submission or a program of a team is on record, by its current name."""
    current = state.ledger.teams().current
    return bool(state.ledger.records(team)) or team in {
        current(program.team) for program in programs_in(state.store).values()
    }


def _require_team(state: CompetitionState, name: str) -> str:
    """Return the current name of a team; refuse a name that no submission or program has."""
    team = state.ledger.teams().current(name)
    if not has_sent(state, team):
        raise UsageError(f"No submission of a team {name!r} is stored.")
    return team


def _require_submission(state: CompetitionState, submission: int) -> None:
    if submission not in {record.submission for record in state.store.submissions()}:
        raise UsageError(f"There is no submission {submission}.")


def _require_participant(state: CompetitionState, name: str) -> str:
    team = _require_team(state, name)
    if team in state.settings.competition.baselines:
        raise UsageError(
            f"{name!r} is a baseline of {CONFIG_NAME} and keeps its name and its files. For "
            f"another baseline, submit a file under a new name, and set that name there."
        )
    return team


def record_admission(
    state: CompetitionState, kind: str, payload: Mapping[str, Any], admission: Admission
) -> None:
    """Store who may submit and when, with the event of the decision."""
    with state.store.transaction() as transaction:
        transaction.put_meta(ADMISSION, admission.to_text())
        now = state.clock()
        transaction.append_event(kind, state.actor, {**payload, **state.event_fields}, time=now)


def assign_bracket(state: CompetitionState, team: str, bracket: str, *, member: bool) -> None:
    """Record that a team is in a bracket of the settings, or that it no longer is.

    Raises
    ------
    UsageError
        If there is no such bracket, the team is a baseline, or nothing would change.
    """
    if bracket not in state.settings.brackets:
        names = ", ".join(state.settings.brackets) or "none"
        raise UsageError(
            f"There is no bracket {bracket!r}. There are: {names}. Add [bracket.NAME] to "
            f"{CONFIG_NAME} for another one."
        )
    team = state.ledger.teams().current(team)
    if team in state.settings.competition.baselines:
        raise UsageError(f"{team!r} is a baseline of {CONFIG_NAME}, which is in no bracket.")
    if (team in state.roster.brackets[bracket]) == member:
        where = "in" if member else "not in"
        raise UsageError(
            f"The team {team!r} is {where} the bracket {bracket!r} already. Nothing was changed."
        )
    _record_decision(state, BRACKET, {"team": team, "bracket": bracket, "member": member})


def answer(state: CompetitionState, team: str, answers: Mapping[str, str]) -> None:
    """Record the answers of a team to questions about teams, before it has sent a file."""
    team = state.ledger.teams().current(team)
    _record_decision(state, ANSWERED, {"team": team, "answers": dict(answers)})


def pause(state: CompetitionState, reason: str) -> None:
    """Refuse files from now on, uncounted, and record why.

    Raises
    ------
    UsageError
        If it is paused already, or no reason is given.
    """
    admission = Admission.read(state.store)
    if not reason.strip():
        raise UsageError("A pause needs a reason, which participants see: give one.")
    if admission.paused is not None:
        raise UsageError("The competition is paused already. Nothing was changed.")
    paused = {"time": state.clock().isoformat(), "reason": reason.strip()}
    payload = {"reason": reason.strip()}
    record_admission(state, PAUSED, payload, replace(admission, paused=paused))


def resume(state: CompetitionState) -> None:
    """Receive files again; UsageError if the competition is not paused."""
    admission = Admission.read(state.store)
    if admission.paused is None:
        raise UsageError("The competition is not paused. Nothing was changed.")
    record_admission(state, RESUMED, {}, replace(admission, paused=None))


def exempt(
    state: CompetitionState, team: str, *, until: datetime | None, extra: int, reason: str
) -> None:
    """Let a team submit until a later time, or more often, and record why; replaces an earlier one.

    Raises
    ------
    UsageError
        If neither is given, the number is negative, the time is not after the deadline, or no
        reason is given.
    """
    deadline = state.settings.competition.deadline
    if until is not None and state.with_phases.phase:
        raise UsageError(
            "A competition with phases has no exemption until a time: set a later end of the "
            "phase for every team, or give more submissions. Nothing was changed."
        )
    if not reason.strip():
        raise UsageError("An exemption needs a reason, which everybody can see: give one.")
    if extra < 0 or (until is None and not extra):
        raise UsageError("Name until when the team may submit, or how many submissions more.")
    if until is not None:
        until = in_utc(until)
        if deadline is None or until <= deadline:
            raise UsageError(
                f"{until:%Y-%m-%d %H:%M} UTC is not after the deadline, so the team needs no "
                f"exemption. Nothing was changed."
            )
    teams = state.ledger.teams()
    exemption = {
        "until": None if until is None else until.isoformat(),
        "extra": extra,
        "reason": reason.strip(),
    }
    current = teams.current(team)
    admission = Admission.read(state.store)
    members = set(teams.members(current))
    others = {name: other for name, other in admission.exemptions.items() if name not in members}
    exemptions = {**others, teams.stored(current): exemption}
    changed = replace(admission, exemptions=exemptions)
    record_admission(state, EXEMPTED, {"team": current, **exemption}, changed)
