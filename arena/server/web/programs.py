"""Programs of teams, and the runners that take their runs by a token.

A runner asks for work, so that it needs no open port. The web process hands it the program and
takes the result, which the runner signs for the scorer: the web process has no key, and hidden
inputs never pass through it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from arena import responses
from arena.requests import Kind, Request
from arena.server.records.runs import RUNNING, Program, ProgramState, Trial
from arena.server.records.teams import Team
from arena.server.web import models
from arena.server.web.body import Received, read_result
from arena.server.web.call import Call
from arena.server.web.language import _
from arena.server.web.problems import Problem
from arena.utils.strict_json import parse_json

_POLL_SECONDS, LONGEST_POLL = 0.2, 5.0
"""Seconds between two checks for work, and until a runner gets the answer that there is none."""
_LONGEST_LOG = 65_536
_INPUTS: Mapping[str, str] = {"trial": "sample", "hidden": "inputs"}
"""The kind of a run -> the name of its inputs in what is published on runs."""


# -- teams -----------------------------------------------------------------------------------------


def add(
    call: Call, team: Team, received: Received, *, key: str | None, payload: Any, names: set[str]
) -> Program:
    """Store a program of a team, which waits for its trial; ``names``: all that the team had."""
    facts = call.competition.facts.programs or {}
    return call.site.runs.add(
        call.competition.name,
        team=team.name,
        member=call.account.account,
        key=key,
        payload=payload,
        received=received.complete,
        trials_per_day=facts["trials_per_day"],
        most_waiting=call.competition.limits.max_waiting_per_team,
        former=names - {team.name},
    )


def as_request(program: Program) -> Request:
    """Return a program as the request of its team that it is."""
    return Request(
        seq=0,
        request=program.program,
        competition=program.competition,
        team=program.team,
        member=program.member,
        kind="submit",
        key=program.key,
        fingerprint=str(program.payload["sha256"]),
        payload=program.payload,
        received=program.received,
    )


def state_of(program: Program, place: int | None) -> tuple[str, str]:
    """Return the status of a program without a submission, and where it is in a sentence."""
    sentences = {
        ProgramState.TRIAL_WAITS: _("It waits for its trial on the sample inputs."),
        ProgramState.TRIAL_RUNS: _("Its trial on the sample inputs is running."),
        ProgramState.TRIAL_FAILED: _("Its trial failed, and nothing was counted."),
        ProgramState.RECORDED: _("Its trial ended well. It is being recorded."),
        ProgramState.REFUSED: program.message,
        ProgramState.RUN_WAITS: _("Its trial ended well. It waits for its run on hidden inputs."),
        ProgramState.RUNS: _("Its run on the hidden inputs is running."),
        ProgramState.RAN: _("Its run has ended. It is being scored."),
        ProgramState.SET_ASIDE: _(
            "The machines that run programs failed, and nothing was counted. Send it again."
        ),
    }
    statuses = {
        ProgramState.TRIAL_FAILED: "trial_failed",
        ProgramState.REFUSED: "refused",
        ProgramState.SET_ASIDE: "set_aside",
    }
    sentence = sentences[program.state]
    if place is not None:
        sentence = f"{sentence} " + _("It has place {place}.").format(place=place)
    return statuses.get(program.state, "waiting"), sentence


def advance(call: Call) -> None:
    """Move programs that were recorded, and those of lost runners, to their next states."""
    runs, name, published = call.site.runs, call.competition.name, call.competition.published
    for program in runs.in_state(name, ProgramState.RECORDED):
        answer = published.answer(program.request or "")
        if answer is not None and answer.status == "done":
            runs.change(program, ProgramState.RUN_WAITS, request=None)
        elif answer is not None:
            runs.change(program, ProgramState.REFUSED, message=answer.message)
    for program in runs.expire(name):
        if program.state is ProgramState.TRIAL_RUNS:
            _end(call, program, ProgramState.SET_ASIDE)
        else:  # it was counted in the limits, so the scorer undoes that
            _send_run(call, program, {"end": "lost"}, signature="", output=None)


def problem(call: Call) -> str | None:
    """Return what the organiser must do about programs; None: nothing."""
    runs, sentences = call.site.runs, []
    n_lost = runs.n_lost(call.competition.name)
    if n_lost:
        sentences.append(
            _("Programs that wait again because a runner failed or was lost: {n}. See its log.")
            .format(n=n_lost)
        )  # fmt: skip
    damages = [
        _("runs.sqlite was damaged and is now {name}: remove that file once it is dealt with.")
        .format(name=name)
        for name in runs.files_set_aside()
    ]  # fmt: skip
    if runs.n_unreadable():
        damages.append(
            _("Programs in runs.sqlite that cannot be read and are left out: {n}.").format(
                n=runs.n_unreadable()
            )
        )
    if damages:
        remedy = _(
            "Ask the teams whose programs waited to send them again. A program that counts already "
            "is run by arena programs run, while the server is stopped."
        )
        sentences += [*damages, remedy]
    return " ".join(sentences) or None


# -- runners ---------------------------------------------------------------------------------------


def _lease(call: Call, body: models.RunnerState) -> Program | None:
    return call.site.runs.lease(
        call.competition.name,
        trials="trial" in body.kinds,
        hidden="hidden" in body.kinds,
        current_names=call.competition.published.names(),
    )


async def lease(call: Call, body: models.RunnerState) -> Response | responses.Lease:
    """Let a runner take the next run; 204 if there is none for five seconds."""
    _check_offer(call, body)
    until = time.monotonic() + LONGEST_POLL
    while True:
        await run_in_threadpool(advance, call)
        if await call.request.is_disconnected():  # the run would have no runner
            return Response(status_code=204)
        program = await run_in_threadpool(_lease, call, body)
        if program is not None:
            break
        if time.monotonic() >= until:
            return Response(status_code=204)
        await asyncio.sleep(_POLL_SECONDS)
    kind: Literal["trial", "hidden"] = (
        "trial" if program.state is ProgramState.TRIAL_RUNS else "hidden"
    )
    runs = _runs_of(call, program)
    return responses.Lease(
        run=program.program,
        lease=program.lease,
        kind=kind,
        program=program.program,
        file=str(program.payload["file"]),
        sha256=str(program.payload["sha256"]),
        bytes=int(program.payload["bytes"]),
        inputs=runs[_INPUTS[kind]],
        environment=runs["environment"],
        limits=runs["limits"],
        max_bytes=runs["max_bytes"],
    )


def _check_offer(call: Call, body: models.RunnerState) -> None:
    """Refuse a runner that lacks what runs of the competition need: 409."""
    facts = call.competition.facts.programs
    if facts is None:
        raise Problem(409, "This competition runs no programs.")
    needed = [folder for kind, folder in _INPUTS.items() if kind in body.kinds]
    for runs, folder in itertools.product(facts["runs"].values(), needed):
        if runs[folder] not in body.inputs:
            raise Problem(
                409,
                f"This runner does not hold the {folder} of the competition, whose digest is "
                f"{runs[folder]}. Copy the folder from the organiser's machine.",
            )
    if body.sandbox != facts["sandbox"]:
        raise Problem(
            409, f"Runs of this competition need the sandbox {facts['sandbox']}: start with it."
        )


def _runs_of(call: Call, program: Program) -> Mapping[str, Any]:
    """Return what is published on runs in the phase of a program.

    If the phase was removed meanwhile, those of the current one: the scorer refuses the program.
    """
    facts = call.competition.facts
    runs: Mapping[str, Mapping[str, Any]] = (facts.programs or {})["runs"]
    return runs.get(program.payload.get("phase", ""), runs[facts.current_phase])


def _leased(call: Call, lease: str) -> Program:
    if not lease.isdecimal():
        raise Problem(422, "lease is the number of the lease.")
    program = call.site.runs.leased(call.request.path_params["run"], int(lease))
    if program.competition != call.competition.name:
        raise Problem(404, "There is no such run.")
    return program


async def program_file(call: Call) -> Response:
    """Return the program of a run to the runner that has it."""
    program = _leased(call, call.request.query_params.get("lease", ""))
    path = call.site.uploads.path(program.payload["upload"])
    return FileResponse(path, media_type="application/octet-stream")


async def beat(call: Call, body: models.Beat) -> responses.Message:
    """Prolong a lease by a minute."""
    program = _leased(call, str(body.lease))
    await run_in_threadpool(call.site.runs.beat, program.program, body.lease)
    return responses.Message(message="The lease was prolonged.")


async def result(call: Call) -> responses.Message:
    """Take the result of a run, with its output; one that is sent again is stored once."""
    run = call.site.runs.get(call.request.path_params["run"])
    if run is None or run.competition != call.competition.name:
        raise Problem(404, "There is no such run.")
    most = _runs_of(call, run)["max_bytes"]
    fields, stored = await read_result(call.request, call.site, call.competition.limits, most)
    output = None if stored is None else stored.name
    signature = fields.get("signature", "")
    await run_in_threadpool(_take_result, call, run, fields.get("result", ""), signature, output)
    return responses.Message(message="The result is stored.")


def _take_result(
    call: Call, run: Program, result_text: str, signature: str, output: str | None
) -> None:
    """Store a result, unless it was sent before; an output that no request has is removed."""
    is_output_used = False
    try:
        try:
            document = parse_json(result_text)
            lease, end = int(document["lease"]), str(document["end"])
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            raise Problem(422, "result is not a JSON document with lease and end.") from None
        if run.state not in RUNNING and run.lease == lease:
            return
        program = _leased(call, str(lease))
        is_trial = program.state is ProgramState.TRIAL_RUNS
        trial = trial_of(document) if is_trial else None
        if end == "machine" and call.site.runs.fail(run.program, lease):
            return
        if trial is not None:
            _end_trial(call, program, trial)
        else:
            is_output_used = _send_run(call, program, document, signature=signature, output=output)
    finally:
        if output is not None and not is_output_used:
            call.site.uploads.drop(output)


def trial_of(document: Mapping[str, Any]) -> Trial:
    """Return the trial that a runner reports; 422 if the document is none."""
    try:
        return Trial.of({**document, "log": str(document.get("log", ""))[:_LONGEST_LOG]})
    except ValueError as error:
        raise Problem(422, f"result is not that of a trial: {error}.") from None


def _end_trial(call: Call, program: Program, trial: Trial) -> None:
    stored = json.dumps(asdict(trial))
    if trial.end == "machine":
        _end(call, program, ProgramState.SET_ASIDE)
    elif trial.end != "ok":
        _end(call, program, ProgramState.TRIAL_FAILED, trial=stored)
    else:
        payload = {**program.payload, "program": program.program}
        key = f"program {program.program}"
        recording, _new = _append(call, program, "program", key=key, payload=payload)
        call.site.runs.change(
            program, ProgramState.RECORDED, trial=stored, request=recording.request
        )


def _end(call: Call, program: Program, state: ProgramState, **more: Any) -> None:
    """Put a program into a state in which no runner needs its file any more, and remove it."""
    if call.site.runs.change(program, state, **more):
        call.site.uploads.drop(program.payload["upload"])


def _send_run(
    call: Call, program: Program, document: Mapping[str, Any], *, signature: str, output: str | None
) -> bool:
    """Ask the scorer to make a submission of a run; return whether its output is a new one."""
    payload: dict[str, Any] = {
        "program": program.program,
        "file": program.payload["file"],
        "sha256": program.payload["sha256"],
        "run": document,
        "signature": signature,
    }
    if output is not None:
        payload["output"] = output
    if "description" in program.payload:
        payload["description"] = program.payload["description"]
    request, new = _append(call, program, "submit", key=f"run {program.program}", payload=payload)
    call.site.runs.change(program, ProgramState.RAN, request=request.request)
    return new


def _append(
    call: Call, program: Program, kind: Kind, *, key: str, payload: Mapping[str, Any]
) -> tuple[Request, bool]:
    """Store a request of a program's team; return it, and whether it is new."""
    return call.site.intake.append(
        competition=program.competition,
        team=program.team,
        member=program.member,
        kind=kind,
        key=key,
        payload=payload,
        received=program.received,
    )
