"""Submits a simulated team's file through the same code as a real team's."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.competition.decisions import select
from arena.competition.programs.local_runs import submit_program
from arena.competition.state import CompetitionState
from arena.competition.submit import SubmissionHandler, SubmissionRequest, Submitted
from arena.errors import InputError, SandboxError
from arena.intake import named_file
from arena.interfaces import Outcome
from arena.simulation.competition.sent_programs import program_with
from arena.types import PredictionKind, Solution


@dataclass(slots=True)
class SimulatedClock:
    """The clock of a simulation."""

    now: datetime

    def __call__(self) -> datetime:
        """Return the simulated time."""
        return self.now


@dataclass(slots=True, eq=False)
class Submitter:
    """Submits files at the simulated time. One file at a time is on disk.

    A file that its team submitted before gets its first result without being read again, so an
    interrupted simulation quickly catches up. Stored submissions that the seed does not reproduce
    are detected before anything is added.
    """

    state: CompetitionState
    handler: SubmissionHandler
    clock: SimulatedClock
    folder: Path
    """For files while they are read."""
    known: dict[tuple[str, str], Submitted]
    """The result of each stored file, by team and sha256."""
    left: set[tuple[str, str]]
    """Stored accepted files that have not been reproduced yet."""

    def submit(
        self, table: pa.Table, team: str, number: int, when: datetime, *, as_program: bool = False
    ) -> Submitted:
        """Submit a table, or return its stored result.

        Parameters
        ----------
        table
            As :func:`submission_table` returns it.
        number
            Counts the participant's submissions, for the file name.
        as_program
            Whether it is sent as a program that writes the table.

        Raises
        ------
        SandboxError
            If this machine could not run the program, or its trial failed.
        InputError
            If the folder holds submissions that this simulation does not reproduce.
        """
        self.clock.now = when
        content = _as_csv(table)
        if as_program:
            content = program_with(content)
        key = (team, hashlib.sha256(content).hexdigest())
        if key in self.known:
            self.left.discard(key)
            return self.known[key]
        if self.left:
            raise InputError(
                f"{self.state.folder} holds submissions that this simulation does not reproduce: "
                f"another version made them, or they were submitted by hand. Simulate in another "
                f"folder."
            )
        file = self.folder / f"simulated-{number:03d}.{'zip' if as_program else 'csv'}"
        file.write_bytes(content)
        answer = self._run(file, team) if as_program else self._read(file, team)
        file.unlink()
        self.known[key] = answer
        return answer

    def _read(self, file: Path, team: str) -> Submitted:
        state = self.state
        ((named, read),) = state.examine([named_file(file, team)])
        return self.handler.submit(SubmissionRequest(named, read, self.clock.now, state.actor))

    def _run(self, file: Path, team: str) -> Submitted:
        submitted_program = submit_program(
            self.state, self.handler, file=file, team=team, phase=self.state.phase
        )
        if submitted_program.submitted is not None:
            return submitted_program.submitted
        trial = submitted_program.trial
        if isinstance(trial, Outcome):
            reason: str = trial.end
        else:
            reason = " ".join(fault.message for fault in trial or ())
        raise SandboxError(f"The trial of a program of {team} failed: {reason}")

    def select_final(self, answer: Submitted) -> None:
        """Select a submission as its team's final one, if teams select; once."""
        state, chosen = self.state, [answer.submission]
        if state.settings.final.rule != "chosen" or answer.status != "accepted":
            return
        if state.ledger.selections().get(answer.team) != chosen:
            select(state, answer.team, chosen)


def open_submitter(state: CompetitionState, clock: SimulatedClock, folder: Path) -> Submitter:
    """Return the submitter of a simulated competition."""
    released = {
        record.submission: record.release.score for record in state.store.releases(state.epoch)
    }
    submitted = {
        (record.team, record.sha256): Submitted(
            record.submission,
            record.team,
            status=record.status,
            released=released.get(record.submission),
            faults=record.faults,
            known=True,
        )
        for record in state.store.submissions()
    }
    left = {key for key, answer in submitted.items() if answer.status == "accepted"}
    return Submitter(
        state, SubmissionHandler(state), clock=clock, folder=folder, known=submitted, left=left
    )


def submission_table(prediction: npt.NDArray[Any], solution: Solution) -> pa.Table:
    """Return a prediction as the table that a team would submit, with any faults it has.

    Parameters
    ----------
    prediction
        ``(n,)`` or ``(n, n_columns)``; labels are codes.
    """
    values = np.asarray(prediction)
    columns = values.reshape(len(values), -1).T
    named: dict[str, Any] = {solution.id_column: _ids(solution, len(values))}
    for position, column in enumerate(columns):
        name = (
            solution.columns[position] if position < len(solution.columns) else f"column {position}"
        )
        named[name] = _labels(column, solution, position) if _is_label(solution) else column
    return pa.table(named)


def _ids(solution: Solution, n_rows: int) -> Any:
    """Return this many ids; beyond those of the solution, ids of no row."""
    if n_rows == solution.n_rows:
        return solution.ids
    ids = solution.ids.to_pylist()[:n_rows]
    return [*ids, *(f"more {number}" for number in range(n_rows - len(ids)))]


def _is_label(solution: Solution) -> bool:
    return solution.kind is PredictionKind.LABEL


def _labels(codes: npt.NDArray[Any], solution: Solution, column: int) -> Any:
    classes = (solution.targets[column].classes if column < len(solution.targets) else None) or ()
    if np.issubdtype(codes.dtype, np.integer) and 0 <= codes.min() <= codes.max() < len(classes):
        return pa.array(classes).take(pa.array(codes))
    names = dict(enumerate(classes))  # a code as a float is the same key
    return [str(names.get(code, code)) for code in codes.tolist()]


def _as_csv(table: pa.Table) -> bytes:
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink)
    return bytes(sink.getvalue().to_pybytes())
