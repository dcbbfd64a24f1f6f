"""The requests of a served competition that are no submissions, and how each is carried out."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import Any

from arena.competition import decisions
from arena.competition.boards.consequences import consequences_text
from arena.competition.programs.program_runs import programs, receive
from arena.competition.record.adopted_settings import with_metrics_of
from arena.competition.record.answers import fitting_answers
from arena.competition.record.phases import in_each_phase
from arena.competition.state import CompetitionState, public_standings
from arena.config import CONFIG_NAME
from arena.errors import ArenaError, StoreError, UsageError
from arena.intake.folder import team_name
from arena.requests import Request
from arena.utils.parallel import NoProgress
from arena.utils.questions import is_kept
from arena.utils.times import time_of

ANSWERED = "request answered"
"""The kind of the event of a request that has no other: a refusal, or an answer in words."""

CORRECTED_NAME = "corrected_solution.csv"
"""In the competition's folder: the solution with which a served competition is rescored. Labels
never pass through the web process."""


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
    phase = request.payload.get("phase")
    board = state if phase is None else state.in_phase(str(phase))
    decisions.select(board, team_name(request.team), request.payload["submissions"])


def _rename(state: CompetitionState, request: Request) -> None:
    # A team that sent nothing is not on record, but its submissions may wait under this name.
    payload = request.payload
    decisions.rename_team(
        state, team_name(payload["team"]), team_name(payload["to"]), on_record=False
    )


def _merge(state: CompetitionState, request: Request) -> None:
    # A team that sent nothing is not on record, but it may have tried programs under its name.
    current = state.ledger.teams().current
    team, into = (current(team_name(request.payload[key])) for key in ("team", "into"))
    if request.team:  # otherwise the organiser asked
        _require_same_brackets(state, team, into)
    if decisions.has_sent(state, team) and not decisions.has_sent(state, into):
        decisions.rename_team(state, team, into)
    else:
        decisions.merge_teams(state, team, into, on_record=False)


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
    from arena.competition.boards.finalize import finalize

    with _without_quotes("arena finalize", UsageError):
        finalize(state, NoProgress())


def _publish(state: CompetitionState, _: Request) -> None:
    from arena.competition.boards.results import publish

    publish(state, public_standings(state, live=True))


def _retract(state: CompetitionState, request: Request) -> None:
    from arena.competition.boards.results import retract

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
        for key, answer in fitting_answers_of(state, request).items()
        if questions[key].of == "team"
    }
    if not answers:
        raise UsageError("None of the answers fits a question about teams.")
    decisions.answer(state, team_name(request.team), answers)


def _withdraw(state: CompetitionState, request: Request) -> None:
    decisions.withdraw(state, team_name(request.team), request.payload["submission"])


def fitting_answers_of(state: CompetitionState, request: Request) -> dict[str, str]:
    """Return the answers of a request that fit the questions and what its team answered before."""
    team_answers = request.payload.get("answers")
    if not team_answers:
        return {}
    team = state.ledger.teams().current(request.team)
    answered = state.answers_at(None).of_teams.get(team)
    return fitting_answers(state.settings, team_answers, answered)


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


@dataclass(frozen=True, slots=True)
class Decision:
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
    """Whether the answer also says that nothing was released again or marked."""

    def sentence(self, payload: Mapping[str, Any]) -> str:
        """Return the result in a sentence, from the event that records it."""
        whom = "submission {submission}" if payload.get("submission") is not None else "team {team}"
        try:
            text = self.detailed.replace("{whom}", whom).format_map(payload)
        except KeyError:
            text = ""
        changes = any(payload.get(key) for key in ("rebuilds", "marks", "unmarks"))
        if "rebuilds" in payload and (self.tells_consequences or changes):
            first = text or self.done
            stop = "" if first.endswith((".", "!", "?")) else "."  # of a reason
            return f"{first}{stop} {consequences_text(payload, past=True)}"
        return text or self.done


DECISIONS: Mapping[str, Decision] = {
    "select": Decision(_select, "The selection is recorded.", from_teams=True),
    "withdraw": Decision(
        _withdraw,
        "The submission is withdrawn.",
        "Submission {submission} is withdrawn.",
        from_teams=True,
    ),
    "disqualify": Decision(
        _disqualify,
        "The disqualification is recorded.",
        "The {whom} is disqualified: {reason}",
        tells_consequences=True,
    ),
    "undo": Decision(
        _undo,
        "The disqualification is undone.",
        "The disqualification of the {whom} is undone: {reason}",
        tells_consequences=True,
    ),
    "rename": Decision(
        _rename,
        "The new name is recorded.",
        "The team {team} is called {to} now.",
        from_teams=True,
    ),
    "merge": Decision(
        _merge,
        "The teams are merged.",
        "The team {team} joined the team {to}.",
        from_teams=True,
        tells_consequences=True,
    ),
    "rescore": Decision(
        _rescore,
        "All submissions are rescored. Finalize again if the private board is computed.",
        tells_consequences=True,
    ),
    "finalize": Decision(
        _finalize,
        "The private board is computed. Look at it, then publish it.",
        of_phase=True,
    ),
    "publish": Decision(
        _publish,
        "The private board is published.",
        "The private board is published, as result {version}.",
        of_phase=True,
    ),
    "retract": Decision(
        _retract,
        "The result is retracted.",
        "Result {version} is retracted: {reason}",
        of_phase=True,
    ),
    "verification": Decision(
        _verification, "The verification is recorded.", "Submission {submission} is {state}."
    ),
    "pause": Decision(_pause, "The competition is paused.", "The competition is paused: {reason}"),
    "resume": Decision(_resume, "Files are received again."),
    "exempt": Decision(
        _exempt, "The exemption is recorded.", "The team {team} is exempted: {reason}"
    ),
    "answer": Decision(_answer, "The answers are recorded.", from_teams=True),
    "bracket": Decision(
        _bracket,
        "The brackets are recorded.",
        "The brackets of the team {team} are recorded.",
    ),
    "program": Decision(_receive_program, from_teams=True),
    "configure": Decision(_configure),
}
"""By the kind of the request."""
