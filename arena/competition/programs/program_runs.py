"""Receives programs, and makes submissions of their runs on the hidden inputs."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from arena.competition.record.admission import Admission
from arena.competition.record.phases import phase_of_file
from arena.competition.record.programs import (
    SET_ASIDE,
    ProgramRecord,
    ProgramRun,
    failure_of,
    programs_in,
)
from arena.competition.record.quota import Quota
from arena.competition.state import CompetitionState
from arena.competition.submit import SubmissionHandler, SubmissionRequest, Submitted
from arena.errors import InputError, SandboxError, UsageError
from arena.intake import ReadSubmission, named_file
from arena.store.events import PROGRAM_RECEIVED
from arena.types import RULE_FAILED
from arena.utils.atomic_write import atomic_write
from arena.utils.file_digest import file_sha256
from arena.utils.file_errors import reason_of
from arena.utils.text import plural

RECEIVED_FOLDER = "programs/received"
"""In the competition's folder: the programs that were received, each under its digest."""


def receive(
    state: CompetitionState,
    path: Path,
    *,
    team: str,
    program: str | None = None,
    file: str | None = None,
    received: datetime,
    sha256: str | None = None,
    phase: str | None = None,
) -> ProgramRecord:
    """Store a program and take its team's place in the limits; a known one is not stored again.

    Parameters
    ----------
    path
        The file as it was sent.
    program
        Its id; None: one that follows from the team, the phase and the content of the file, so that
        a team that sends a file again sends the same program.
    file
        The name to show; None: that of the path.
    received
        The time of its last byte.
    sha256
        The digest that the file must have; None: any.
    phase
        The phase for which it counts; None: the one that is open.

    Raises
    ------
    InputError
        If the file cannot be read.
    UsageError
        If a limit or the dates refuse it, or it has another digest; nothing is stored then.
    """
    record = _record(state, path, team=team, file=file, received=received, phase=phase)
    if sha256 not in (None, record.sha256):
        raise UsageError("The uploaded program was changed or damaged after it was received.")
    if program is not None:
        record = replace(record, program=program)
    before = programs(state).get(record.program)
    if before is not None:
        return before
    quota = _quota(state, record)
    record = replace(record, late=quota.is_late)
    with state.store.transaction() as transaction:
        refusal = quota.refusal(transaction)
        if refusal is not None:
            raise UsageError(refusal.message)
        quota.use(transaction)
        _keep(state.folder / RECEIVED_FOLDER / record.kept_name, path)
        payload = {**record.to_dict(), "bytes": path.stat().st_size, **state.event_fields}
        transaction.append_event(PROGRAM_RECEIVED, state.actor, payload, time=received)
    return record


def received_before(
    state: CompetitionState, path: Path, team: str, received: datetime, phase: str
) -> ProgramRecord | None:
    """Return the program that a team sent before for a phase with a file's content, or None."""
    record = _record(state, path, team=team, received=received, phase=phase)
    return programs(state).get(record.program)


def _record(
    state: CompetitionState,
    path: Path,
    *,
    team: str,
    file: str | None = None,
    received: datetime,
    phase: str | None = None,
) -> ProgramRecord:
    """Return what is to be recorded of a file; whether it is late is not known yet."""
    named = named_file(Path(file or path.name), team)
    for fault in named.faults:  # of the team's name
        raise UsageError(fault.message)
    teams = state.ledger.teams()
    stored, sha256 = teams.stored(teams.current(named.team)), _digest(path)
    of_phase = phase_of_file(state.with_phases, phase, received)
    identity = "\n".join((stored, of_phase, sha256))
    return ProgramRecord(
        program=hashlib.sha256(identity.encode()).hexdigest(),
        team=stored,
        file=named.name,
        sha256=sha256,
        received=received,
        phase=of_phase,
    )


def _quota(state: CompetitionState, program: ProgramRecord) -> Quota:
    """Return the quota in which a program has its place."""
    teams = state.ledger.teams()
    return Quota(
        settings=state.in_phase(program.phase).settings,
        team=program.team,
        now=program.received,
        members=teams.members(teams.current(program.team)),
        admission=Admission.read(state.store),
        phase=program.phase,
    )


def _digest(path: Path) -> str:
    try:
        return file_sha256(path)
    except OSError as error:
        raise InputError(
            f"The program {path} cannot be read ({reason_of(error)}): "
            f"name a .py file, or a ZIP archive with main.py at its top."
        ) from error


def _keep(target: Path, path: Path) -> None:
    """Copy a program for later runs; only the owner of the competition may read it."""
    if not target.exists():
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write(target, path.read_bytes())


def kept_program(state: CompetitionState, program: ProgramRecord) -> Path:
    """Return the stored file of a program.

    Raises
    ------
    InputError
        If it is missing or was changed.
    """
    path = state.folder / RECEIVED_FOLDER / program.kept_name
    if _digest(path) != program.sha256:
        raise InputError(f"The program {path} was changed: restore a backup.")
    return path


def programs(state: CompetitionState) -> dict[str, ProgramRecord]:
    """Return every program that was received, by its id; without those set aside."""
    return programs_in(state.store)


def waiting(state: CompetitionState) -> list[ProgramRecord]:
    """Return the programs that have no submission yet, in the order in which they came."""
    ran = {event.payload.get("program") for event in state.store.each_event("submission")}
    return [record for program, record in programs(state).items() if program not in ran]


def require_no_waiting(state: CompetitionState) -> None:
    """Raise UsageError while programs of the phase wait for their run: the board lacks them."""
    if not state.settings.programs.sandbox:
        return
    left = [program for program in waiting(state) if state.phase in (None, program.phase)]
    if left:
        first = state.ledger.teams().current(left[0].team)
        raise UsageError(
            f"{plural(len(left), 'program', 'wait')} for a run on "
            f"the hidden inputs, the first one of {first}: run arena programs run, or start "
            f"a runner."
        )


# -- after a run -----------------------------------------------------------------------------------


def record_run(
    state: CompetitionState, handler: SubmissionHandler, program: ProgramRecord, run: ProgramRun
) -> Submitted:
    """Store the submission that a run makes of a program, and release its score.

    Raises
    ------
    SandboxError
        If the machine is at fault; the program is set aside, and its place is returned.
    """
    try:
        request = _submission_of(state, program, run)
    except SandboxError as error:
        _set_aside(state, program, str(error))
        sentence = f"{error} The program was set aside, and counts against no limit."
        raise SandboxError(sentence) from error
    return handler.submit(request)


def _submission_of(
    state: CompetitionState, program: ProgramRecord, run: ProgramRun
) -> SubmissionRequest:
    """Return the submission that a run makes of a program; SandboxError: the machine failed."""
    if run.machine_fault is not None:
        raise SandboxError(run.machine_fault)
    of_phase = state.in_phase(program.phase)
    file = named_file(Path("predictions"), state.ledger.teams().current(program.team))
    if run.end != "ok" or run.output is None:
        ended = run if run.end != "ok" else replace(run, end="no output")
        fault = failure_of(ended, of_phase.settings)
        read = ReadSubmission(values=None, faults=(fault,), sha256=program.sha256)
        run = ended
    else:
        _, read = next(of_phase.examine([replace(file, path=run.output)]))
        if read.crashed or any(fault.kind == RULE_FAILED for fault in read.faults):
            raise SandboxError("The process that reads files, or a rule of a plugin, failed.")
        # A program could choose among many outputs with the same score: their digest would tell.
        read = replace(read, sha256=program.sha256)
    return SubmissionRequest(
        file=replace(file, name=program.file),
        read=read,
        received=program.received,
        actor=state.actor,
        key=program.program,
        limited=False,
        phase=program.phase,
        program=program,
        run=run,
        event_fields={**state.event_fields, "program": program.program, "run": run.to_dict()},
    )


def _set_aside(state: CompetitionState, program: ProgramRecord, reason: str) -> None:
    """Record that a program could not be run, and return its team's place in the limits.

    ``reason`` is for the organiser only.
    """
    teams = state.ledger.teams()
    with state.store.transaction() as transaction:
        _quota(state, program).give_back(transaction)
        payload = {
            "program": program.program,
            "team": teams.current(program.team),
            "for_organiser": reason,
            **state.event_fields,
        }
        transaction.append_event(SET_ASIDE, state.actor, payload, time=state.clock())
