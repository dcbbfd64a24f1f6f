"""Runs programs again on the hidden inputs, to see whether they give the same predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.competition.programs.local_runs import local_runs
from arena.competition.programs.program_runs import kept_program, programs
from arena.competition.programs.runners import digest_of_inputs, run_of
from arena.competition.record.programs import INVALID, RERUN, ProgramRecord, ProgramRun, runs_in
from arena.competition.state import CompetitionState
from arena.competition.submit import judge_of
from arena.competition.verification import verify_winner
from arena.errors import SandboxError, UsageError
from arena.intake import named_file
from arena.runner import WorkFolder

_NO_PROGRAM = "no program"
RESULTS: Mapping[str, str] = {
    "bytes": "the same file",
    "values": "the same predictions",
    "score": "{differences}, and the scores are the same",
    "differs": "{differences}, and so do the scores",
    _NO_PROGRAM: "no program wrote it, so that it cannot be run again",
}
"""What a run that did not fail can give -> how that is said."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """What another run of a program gave."""

    submission: int
    team: str
    result: str
    """A key of :data:`RESULTS`, or how the run failed."""
    largest_difference: float | None = None
    """Between two predictions of a cell; None if they are the same, or labels or texts."""
    n_different: int = 0
    """Cells with another prediction."""
    seconds: float = 0.0
    peak_mb: float = 0.0

    @property
    def is_same(self) -> bool:
        """Whether it gave the same predictions."""
        return self.result in ("bytes", "values")

    def __str__(self) -> str:
        """Return it as a sentence.

        >>> print(Rerun(3, "ants", "score", 0.25, 7))
        Submission 3 of ants: 7 predictions differ, by at most 0.25, and the scores are the same.
        """
        largest = self.largest_difference
        differ = "prediction differs" if self.n_different == 1 else "predictions differ"
        most = "" if largest is None else f", by at most {largest:.3g}"
        sentence = RESULTS.get(self.result, f"the run failed ({self.result})")
        sentence = sentence.format(differences=f"{self.n_different:,} {differ}{most}")
        return f"Submission {self.submission} of {self.team}: {sentence}."


def finalists(state: CompetitionState) -> list[int]:
    """Return the final submissions of every phase, whether programs wrote them or not.

    Raises
    ------
    UsageError
        If the competition was not finalized.
    """
    finalized = state.store.events("finalized")
    if not finalized:
        raise UsageError("The final submissions are not known yet: finalize first.")
    last = {event.payload.get("phase", ""): event.payload["finals"] for event in finalized}
    return sorted(
        {number for finals in last.values() for numbers in finals.values() for number in numbers}
    )


def rerun(state: CompetitionState, submission: int) -> Rerun:
    """Run the program of a submission again on this machine, and put the result on record.

    The same predictions make it a verified submission, which boards show. Nothing else changes. Of
    a submission that no program wrote, nothing is recorded.

    Raises
    ------
    UsageError
        If there is no accepted submission of this number.
    SandboxError, InputError
        If the machine cannot run it.
    """
    written = _programs_of_submissions(state).get(submission)
    if written is None:
        return Rerun(submission, _team_of(state, submission), _NO_PROGRAM)
    program, before = written
    with local_runs(state, program.phase) as runs:
        run = runs.hidden(kept_program(state, program))
        return _record(state, submission, program, before=before, run=run)


def write_reruns(state: CompetitionState, submissions: Sequence[int], folder: Path) -> list[Rerun]:
    """Write the programs of submissions to a folder, for a runner on another machine.

    Returns a result for each submission that no program wrote.

    Raises
    ------
    UsageError
        If the folder exists, or there is no accepted submission of a number.
    """
    if folder.exists():
        raise UsageError(f"{folder} exists already: name a new folder.")
    written, without_program = _programs_of_submissions(state), []
    for submission in submissions:
        if submission not in written:
            without_program.append(Rerun(submission, _team_of(state, submission), _NO_PROGRAM))
            continue
        program, _ = written[submission]
        settings = state.in_phase(program.phase).settings
        section, path = settings.programs, kept_program(state, program)
        work = {
            "lease": 0, "kind": "verify", "program": program.program, "file": program.file,
            "sha256": program.sha256, "bytes": path.stat().st_size,
            "inputs": digest_of_inputs(state.folder / section.inputs),
            "environment": section.environment, "limits": section.for_runners,
            "max_bytes": settings.limits.max_bytes,
        }  # fmt: skip
        WorkFolder(folder).add(str(submission), work, path)
    return without_program


def read_reruns(state: CompetitionState, folder: Path) -> Iterator[Rerun]:
    """Compare the results of a runner in a folder with what is stored, and put them on record.

    Raises
    ------
    UsageError
        If the folder is not one of this competition.
    InputError
        If a run has no result.
    SandboxError
        If the machine was at fault, or a file was changed on the way.
    """
    work, written = WorkFolder(folder), _programs_of_submissions(state)
    results = {int(run): work.result(run) for run in work.runs()}
    if not results or results.keys() - written.keys():
        raise UsageError(f"{folder} holds no runs of programs of this competition.")
    for submission, (document, signature, output) in results.items():
        program, before = written[submission]
        run = run_of(
            state, program, document=document, signature=signature, output=output, kind="verify"
        )
        yield _record(state, submission, program, before=before, run=run)


def _record(
    state: CompetitionState,
    submission: int,
    program: ProgramRecord,
    *,
    before: Mapping[str, Any],
    run: ProgramRun,
) -> Rerun:
    """Compare a run with the one that is on record, and put the result on record."""
    if run.machine_fault is not None:
        raise SandboxError(run.machine_fault)
    result, largest, n_different = compare_run(state, submission, program, before=before, run=run)
    compared = Rerun(
        submission=submission,
        team=state.ledger.teams().current(program.team),
        result=result,
        largest_difference=largest,
        n_different=n_different,
        seconds=run.seconds,
        peak_mb=run.peak_mb,
    )
    payload = {
        "program": program.program,
        "submission": submission,
        "result": result,
        "largest_difference": largest,
        "n_different": n_different,
        "run": {**run.to_dict(), "kind": "verify"},
    }
    state.record(RERUN, payload)
    if compared.is_same:
        verify_winner(state, submission, "verified", "Another run of the program gave the same.")
    return compared


def _team_of(state: CompetitionState, submission: int) -> str:
    for record in state.ledger.records(numbers={submission}):
        if record.status == "accepted":
            return record.team
    raise UsageError(f"There is no accepted submission {submission}.")


def _programs_of_submissions(
    state: CompetitionState,
) -> dict[int, tuple[ProgramRecord, Mapping[str, Any]]]:
    """Return the program and the run of each accepted submission that a program wrote."""
    received = programs(state)
    written = runs_in(state.store.each_event("submission"))
    return {submission: (received[program], run) for submission, (program, run) in written.items()}


def compare_run(
    state: CompetitionState,
    submission: int,
    program: ProgramRecord,
    *,
    before: Mapping[str, Any],
    run: ProgramRun,
) -> tuple[str, float | None, int]:
    """Return the result of a run, and the largest and the number of differences."""
    if run.output is None:
        return run.end, None, 0
    if run.about.get("output_sha256") == before.get("output_sha256"):
        return "bytes", None, 0
    of_phase = state.in_phase(program.phase)
    _, read = next(of_phase.examine([named_file(run.output, program.team)]))
    if read.values is None:
        return INVALID, None, 0
    stored = _stored(of_phase, submission).reshape(read.values.shape)
    different = read.values != stored
    if not different.any():
        return "values", None, 0
    largest = None
    if stored.dtype == np.float64:
        largest = float(np.abs(read.values[different] - stored[different]).max())
    judge = judge_of(of_phase)
    scores, scores_before = judge.scores(read.values), judge.scores(stored)
    is_same = np.isfinite(scores).any() and np.array_equal(scores, scores_before, equal_nan=True)
    return "score" if is_same else "differs", largest, int(different.sum())


def _stored(state: CompetitionState, submission: int) -> npt.NDArray[Any]:
    ((_, block),) = state.store.predictions([submission]).blocks(1)
    values: npt.NDArray[Any] = block[0]
    return values
