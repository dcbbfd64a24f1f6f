"""Hands in what a simulated team sends: a file, taken in like the file of a real one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.admission import examine
from arena.choices import select
from arena.competition_state import CompetitionState
from arena.errors import InputError
from arena.intake import named_file
from arena.reception import Reception, Submitted, open_reception
from arena.types import PredictionKind, Solution

__all__ = ["Desk", "SimulatedClock", "open_desk", "submission_table"]


@dataclass(slots=True)
class SimulatedClock:
    """The time of a simulation, for everything that asks what time it is."""

    now: datetime

    def __call__(self) -> datetime:
        """Return it."""
        return self.now


@dataclass(slots=True, eq=False)
class Desk:
    """Takes submissions at the simulated time. One file at a time is on the disk.

    A file that its team sent before is answered as it was, which is what the reception does as
    well, but without reading it again: so an interrupted simulation soon is where it stopped.
    Whatever else is stored than what the seed leads to is noticed before anything is added.
    """

    state: CompetitionState
    reception: Reception
    clock: SimulatedClock
    folder: Path
    """Where files stand while they are read."""
    known: dict[tuple[str, str], Submitted]
    """The first answer to each file, by team and sha256: the same file is answered the same."""
    left: set[tuple[str, str]]
    """Those that were accepted before, as far as they did not come up yet."""

    def hand_in(self, table: pa.Table, team: str, number: int, when: datetime) -> Submitted:
        """Send a submission; one that was sent before is answered as it was.

        Parameters
        ----------
        table
            As :func:`submission_table` returns it.
        number
            Of the participant's submissions, for the file's name.

        Raises
        ------
        InputError
            If the folder holds submissions that this simulation does not lead to.
        """
        self.clock.now = when
        file = self.folder / f"simulated-{number:03d}.csv"
        content = _as_csv(table)
        key = (team, hashlib.sha256(content).hexdigest())
        if key in self.known:
            self.left.discard(key)
            return self.known[key]
        if self.left:
            raise InputError(
                f"{self.state.folder} holds submissions that this simulation does not lead to: "
                f"another version made them, or somebody sent them. Simulate in another folder."
            )
        file.write_bytes(content)
        state = self.state
        ((named, read),) = examine(
            [named_file(file, team)],
            state.solution,
            state.metric,
            state.manager,
            max_bytes=state.settings.limits.max_bytes,
        )
        file.unlink()
        answer = self.reception.take(named, read, now=when, actor=state.actor)
        self.known[key] = answer
        return answer

    def choose(self, answer: Submitted) -> None:
        """Choose a submission as its team's final one, where teams choose; once."""
        state, chosen = self.state, [answer.submission]
        if state.settings.final.rule != "chosen" or answer.status != "accepted":
            return
        if state.ledger.selections().get(answer.team) != chosen:
            select(state, answer.team, chosen)


def open_desk(state: CompetitionState, clock: SimulatedClock, folder: Path) -> Desk:
    """Return where the teams of a simulated competition hand in."""
    released = {
        one.submission: one.release.score
        for one in state.store.releases(state.settings.public.epoch)
    }
    known = {
        (one.team, one.sha256): Submitted(
            one.submission,
            one.team,
            one.status,
            released.get(one.submission),
            one.faults,
            known=True,
        )
        for one in state.store.submissions()
    }
    left = {key for key, answer in known.items() if answer.status == "accepted"}
    return Desk(state, open_reception(state), clock, folder, known, left)


def submission_table(prediction: npt.NDArray[Any], solution: Solution) -> pa.Table:
    """Return a prediction as the table that a team would send, whatever is wrong with it.

    Parameters
    ----------
    prediction
        ``(n,)`` or ``(n, n_columns)``; labels are codes.
    """
    values = np.asarray(prediction)
    columns = values.reshape(len(values), -1).T
    named: dict[str, Any] = {solution.id_column: _ids(solution, len(values))}
    for at, column in enumerate(columns):
        name = solution.columns[at] if at < len(solution.columns) else f"column {at}"
        named[name] = _labels(column, solution, at) if _is_label(solution) else column
    return pa.table(named)


def _ids(solution: Solution, n_rows: int) -> Any:
    """Return the ids of so many rows; where there are more than in the solution, some of no row."""
    if n_rows == solution.n_rows:
        return solution.ids
    ids = solution.ids.to_pylist()[:n_rows]
    return [*ids, *(f"more {number}" for number in range(n_rows - len(ids)))]


def _is_label(solution: Solution) -> bool:
    return solution.kind is PredictionKind.LABEL


def _labels(codes: npt.NDArray[Any], solution: Solution, at: int) -> Any:
    classes = (solution.targets[at].classes if at < len(solution.targets) else None) or ()
    if np.issubdtype(codes.dtype, np.integer) and 0 <= codes.min() <= codes.max() < len(classes):
        return pa.array(classes).take(pa.array(codes))
    names = dict(enumerate(classes))  # a code as a float is the same key
    return [str(names.get(code, code)) for code in codes.tolist()]


def _as_csv(table: pa.Table) -> bytes:
    from pyarrow import csv

    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink)
    return bytes(sink.getvalue().to_pybytes())
