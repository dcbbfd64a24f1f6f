"""Runs programs on this machine: the trial on the sample inputs, then the hidden inputs."""

from __future__ import annotations

import hashlib
import platform
import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arena.competition import program_runs
from arena.competition.programs import ProgramRun
from arena.competition.state import CompetitionState
from arena.competition.submit import SubmissionHandler, Submitted
from arena.config import CONFIG_NAME, Settings
from arena.errors import InputError, SandboxError, UsageError
from arena.interfaces import Box, End, Job, Outcome, Sandbox
from arena.utils.distribution import installed_version
from arena.utils.progress import stage


@dataclass(frozen=True, slots=True)
class SubmittedProgram:
    """The answer to a program."""

    trial: Outcome | None
    """Of the sample inputs; None: the program was received before."""
    submitted: Submitted | None
    """The submission of its output; None: the trial failed, and nothing was counted."""


@dataclass(frozen=True, slots=True)
class LocalRuns:
    """Runs programs of a competition on this machine, one at a time."""

    settings: Settings
    folder: Path
    """Of the competition."""
    sandbox: Sandbox
    target: Path
    """A folder for outputs."""

    def trial(self, program: Path) -> Outcome:
        """Run a program on the sample inputs."""
        programs = self.settings.programs
        return self._run(program, self.folder / programs.sample, programs.trial_seconds)

    def hidden(self, program: Path) -> ProgramRun:
        """Run a program on the hidden inputs."""
        programs = self.settings.programs
        inputs = self.folder / programs.inputs
        started = datetime.now(UTC)
        about: dict[str, Any] = {
            "kind": "hidden",
            "runner": platform.node(),
            "sandbox": programs.sandbox,
            "versions": {**self.sandbox.versions(), "arena": installed_version()},
            "inputs": digest_of_folder(inputs),
            "environment": programs.environment,
            "limits": programs.limits,
            "started": started.isoformat(timespec="seconds"),
        }
        try:
            outcome = self._run(program, inputs, programs.seconds)
        except SandboxError as error:
            return ProgramRun("machine", 0.0, 0.0, 0.0, about={**about, "reason": str(error)})
        if outcome.output is not None:
            about["output_sha256"] = _digest_of_file(outcome.output)
        return ProgramRun(
            str(outcome.end),
            outcome.seconds,
            outcome.cpu_seconds,
            outcome.peak_mb,
            outcome.output,
            about,
        )

    def _run(self, program: Path, inputs: Path, seconds: float) -> Outcome:
        programs = self.settings.programs
        if not inputs.is_dir():
            raise InputError(
                f"There is no folder {inputs} with the inputs of programs: create it, or change "
                f"[programs] in {CONFIG_NAME}."
            )
        with tempfile.TemporaryDirectory() as unpacked:
            shutil.copy(program, Path(unpacked) / "main.py")
            job = Job(
                program=Path(unpacked),
                command=tuple(programs.command.split()),
                inputs=inputs,
                outputs=programs.outputs,
                target=self.target,
            )
            box = Box(
                seconds=seconds,
                output_bytes=self.settings.limits.max_bytes,
                **{key: value for key, value in programs.limits.items() if key != "seconds"},
            )
            return self.sandbox.run(job, box)


def submit_program(
    state: CompetitionState, handler: SubmissionHandler, file: Path, team: str
) -> SubmittedProgram:
    """Submit a program; see :meth:`arena.competition.competition.Competition.submit_program`."""
    settings, received = state.settings, state.clock()
    if not settings.programs.sandbox:
        raise UsageError(
            f"This competition takes predictions, not programs: set [programs] sandbox in "
            f"{CONFIG_NAME}."
        )
    sandbox = state.manager.sandboxes.resolve(settings.programs.sandbox)
    with tempfile.TemporaryDirectory() as target:
        runs = LocalRuns(settings, state.folder, sandbox, Path(target))
        program = program_runs.known(state, file, team)
        trial = None
        if program is None:
            with stage("Trial on the sample inputs"):
                trial = runs.trial(file)
            if trial.end is not End.OK:
                return SubmittedProgram(trial, None)
            program = program_runs.receive(state, file, team=team, received=received)
        answer = handler.answer_to_program(program)
        if answer is None:
            with stage("Run on the hidden inputs"):
                run = runs.hidden(program_runs.kept_program(state, program))
            answer = program_runs.record_run(state, handler, program, run)
    return SubmittedProgram(trial, answer)


def digest_of_folder(folder: Path) -> str:
    """Return the digest of the names and contents of all files of a folder."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        digest.update(f"{_digest_of_file(path)} {name}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def _digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
