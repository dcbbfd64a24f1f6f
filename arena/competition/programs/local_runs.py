"""Runs programs on this machine: the trial on the sample inputs, then on the hidden inputs."""

from __future__ import annotations

import contextlib
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arena.competition.programs import program_runs
from arena.competition.record.phases import phase_of_file
from arena.competition.record.programs import ProgramRecord, ProgramRun
from arena.competition.state import CompetitionState
from arena.competition.submit import SubmissionHandler, Submitted
from arena.config import CONFIG_NAME, Settings
from arena.errors import InputError, SandboxError, UsageError
from arena.interfaces import End, Outcome, Sandbox
from arena.programs.digests import digest_of_folder
from arena.programs.running import environment_of, run_program
from arena.types import Fault
from arena.utils.distribution import installed_version
from arena.utils.file_digest import file_sha256
from arena.utils.progress import stage


@dataclass(frozen=True, slots=True)
class SubmittedProgram:
    """The answer to a program."""

    trial: Outcome | tuple[Fault, ...] | None
    """Of the sample inputs, or why it cannot be unpacked; None: it was received before."""
    submitted: Submitted | None
    """The submission of its output; None: the trial failed, and nothing was counted."""


@dataclass(frozen=True, slots=True)
class LocalRuns:
    """Runs programs of a phase, or of a competition without phases, on this machine."""

    settings: Settings
    folder: Path
    """Of the competition."""
    sandbox: Sandbox
    target: Path
    """A folder for outputs, with a subfolder for each run."""

    def trial(self, program: Path) -> Outcome | tuple[Fault, ...]:
        """Run a program on the sample inputs; return its faults if it cannot be unpacked."""
        return self._run(program, self.folder / self.settings.programs.sample, trial=True)

    def hidden(self, program: Path) -> ProgramRun:
        """Run a program on the hidden inputs."""
        programs = self.settings.programs
        inputs = self.folder / programs.inputs
        about: dict[str, Any] = {
            "kind": "hidden",
            "runner": platform.node(),
            "sandbox": programs.sandbox,
            "versions": {**self.sandbox.versions(), "arena": installed_version()},
            "inputs": digest_of_folder(inputs),
            "environment": programs.environment,
            "limits": asdict(programs.box(trial=False, max_bytes=self.settings.limits.max_bytes)),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        try:
            outcome = self._run(program, inputs, trial=False)
        except SandboxError as error:
            return ProgramRun.lost(str(error), about)
        if isinstance(outcome, tuple):
            reason = "The program could be unpacked for its trial, but not for its run."
            return ProgramRun.lost(reason, about)
        if outcome.output is not None:
            about["output_sha256"] = file_sha256(outcome.output)
        return ProgramRun(
            str(outcome.end),
            outcome.seconds,
            cpu_seconds=outcome.cpu_seconds,
            peak_mb=outcome.peak_mb,
            output=outcome.output,
            about=about,
        )

    def _run(self, program: Path, inputs: Path, *, trial: bool) -> Outcome | tuple[Fault, ...]:
        programs = self.settings.programs
        if not inputs.is_dir():
            raise InputError(
                f"There is no folder {inputs} with the inputs of programs: create it, or change "
                f"[programs] in {CONFIG_NAME}."
            )
        return run_program(
            program,
            inputs,
            Path(tempfile.mkdtemp(dir=self.target)),
            command=programs.command.split(),
            environment=environment_of(programs.environment),
            box=programs.box(trial=trial, max_bytes=self.settings.limits.max_bytes),
            sandbox=self.sandbox,
        )


@contextlib.contextmanager
def local_runs(state: CompetitionState, phase: str) -> Iterator[LocalRuns]:
    """Yield what runs programs of a phase on this machine; afterwards their outputs are gone."""
    settings = state.in_phase(phase).settings
    sandbox = state.manager.sandboxes.resolve(settings.programs.sandbox)
    with tempfile.TemporaryDirectory() as target:
        yield LocalRuns(settings, state.folder, sandbox, Path(target))


def submit_program(
    state: CompetitionState,
    handler: SubmissionHandler,
    file: Path,
    team: str,
    phase: str | None,
) -> SubmittedProgram:
    """Submit a program; see :meth:`arena.competition.competition.Competition.submit_program`."""
    settings, received = state.settings, state.clock()
    if not settings.programs.sandbox:
        raise UsageError(
            f"This competition takes predictions, not programs: set [programs] sandbox in "
            f"{CONFIG_NAME}."
        )
    phase = phase_of_file(state.with_phases, phase, received)
    program = program_runs.received_before(state, file, team=team, received=received, phase=phase)
    trial = None
    if program is None:
        with local_runs(state, phase) as runs:
            with stage("Trial on the sample inputs"):
                trial = runs.trial(file)
            if isinstance(trial, tuple) or trial.end is not End.OK:
                return SubmittedProgram(trial, None)
        program = program_runs.receive(state, file, team=team, received=received, phase=phase)
    answer = handler.answer_to_program(program)
    return SubmittedProgram(trial, answer or run_waiting(state, handler, program))


def run_waiting(
    state: CompetitionState, handler: SubmissionHandler, program: ProgramRecord
) -> Submitted:
    """Run a program that was received on the hidden inputs, and store its submission.

    Raises
    ------
    SandboxError
        If the machine is at fault: the program is set aside.
    """
    with local_runs(state, program.phase) as runs, stage("Run on the hidden inputs"):
        run = runs.hidden(program_runs.kept_program(state, program))
        return program_runs.record_run(state, handler, program, run)
