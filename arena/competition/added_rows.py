"""Rows that are added after the competition was created, to phases without submissions.

They stand after the rows of the solution, which becomes the next number with them: stored
predictions stay as they are (:mod:`arena.store.row_counts`). A date that is new in the column of
the rounds makes the next round.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.competition.arrivals import check_usage
from arena.competition.create import write_sample
from arena.competition.record.phases import check_rows, phases_in_use
from arena.competition.record.rounds import further_rounds, with_further_phases
from arena.competition.state import CompetitionState
from arena.config import CONFIG_NAME, SAMPLE_NAME, Settings, document_as_toml
from arena.errors import InputError, UsageError, says_that_nothing_changed
from arena.intake import SolutionSource
from arena.interfaces import Metric, modality_of
from arena.interfaces.faults import show
from arena.phase_section import IGNORED, PhaseSection
from arena.scoring.submissions import read_truth
from arena.types import (
    KNOWN_TARGET,
    ROW_PENDING,
    FloatArray,
    IntArray,
    Solution,
    Usage,
    usage_array,
    usage_names,
)
from arena.utils.atomic_write import atomic_write
from arena.utils.lazy import pa, pc
from arena.utils.text import plural

ROWS_ADDED = "rows added"
"""The kind of event. Its ``rows`` has the number of new rows by their usage, in lower case,
``n_rows`` the number of rows before and after, and ``row_sets`` the names of usages from 3 on."""


@dataclass(frozen=True, slots=True, eq=False)
class AddedRows:
    """A solution with further rows, and the phases that they make."""

    solution: Solution
    rows: Mapping[str, int]
    """The number of new rows by their usage."""
    phases: Mapping[str, PhaseSection]
    """The new rounds."""

    @property
    def sentence(self) -> str:
        """How many rows there are, and of which rounds."""
        counts = ", ".join(f"{usage}: {count:,}" for usage, count in self.rows.items())
        rows = f"{plural(sum(self.rows.values()), 'row')} added ({counts})." if counts else ""
        rounds = f"New rounds: {', '.join(self.phases)}." if self.phases else ""
        return f"{rows} {rounds}".strip() or "The sample submission has every row now."


@says_that_nothing_changed()
def read_added_rows(state: CompetitionState, source: SolutionSource) -> AddedRows:
    """Read a file with further rows, in which those of the solution may be repeated.

    Raises
    ------
    UsageError
        If the metric reads whole files.
    InputError
        If the file has faults or no new row, its columns or groups do not continue those of the
        solution, a phase with submissions would have new rows, or a round would be before one that
        was finalized.
    """
    settings, stored = state.with_phases, state.stored_solution
    metric: Metric = state.manager.metrics.resolve(settings.metric.specification)
    if not modality_of(metric).has_rows:
        raise UsageError(f"{metric.name} reads whole files, to which no row can be added.")
    rounds = further_rounds(settings, source)
    dates = (date for section in rounds.values() for date in section.private_usages)
    row_sets = tuple(dict.fromkeys((*stored.row_sets, *dates)))
    columns = replace(settings.columns, row_sets=row_sets)
    if len(stored.targets) == 1 and stored.targets[0].classes:
        columns = replace(columns, classes=stored.targets[0].classes)
    solution = with_new_rows(stored, read_truth(source, metric, columns, further=True))
    names = usage_names(row_sets)
    rows = Counter(names[code] for code in solution.usage[stored.n_rows :])
    if not rows and not rounds and count_sample_rows(state.folder) >= stored.n_rows:
        raise InputError("Every row of the file is in the solution.")
    check_rounds_are_later(state, rounds)
    _check_phases_of(state, rows)
    check_rows(solution, with_further_phases(settings, rounds))
    return AddedRows(solution, dict(sorted(rows.items())), rounds)


def with_new_rows(stored: Solution, read: Solution) -> Solution:
    """Return a solution with the rows of another one that it does not have, after its own.

    Raises
    ------
    InputError
        If the columns, labels or groups of the two differ, or a repeated row has another usage.
    """
    if (read.kind, read.columns, read.targets) != (stored.kind, stored.columns, stored.targets):
        raise InputError(
            "The targets or labels of the file are not those of the solution: name the columns as "
            "there, and the labels in [data] classes."
        )
    if lacking := sorted(_columns_beside(read) ^ _columns_beside(stored)):
        raise InputError(
            f"Only one of the file and the solution has the column {show(lacking[0])}."
        )
    positions = pc.index_in(read.ids, value_set=stored.ids)
    is_new = pc.is_null(positions).to_numpy(zero_copy_only=False)
    repeated = pc.drop_null(positions).to_numpy(zero_copy_only=False).astype(np.intp)
    check_usage(read.usage[~is_new], stored, repeated)

    def joined(before: Any, after: Any) -> Any:
        return None if before is None else np.concatenate([before, after[is_new]])

    task_names = tuple(dict.fromkeys((*stored.task_names, *read.task_names)))
    tasks = read.tasks
    if tasks is not None:
        tasks = np.array([task_names.index(name) for name in read.task_names], np.intp)[tasks]
    return replace(
        stored,
        ids=pa.concat_arrays([stored.ids, read.ids.filter(pa.array(is_new))]),
        truth=joined(stored.truth, read.truth),
        usage=usage_array(joined(stored.usage, read.usage)),
        sha256=read.sha256,
        clusters=joined(stored.clusters, _groups_as_stored(stored, read, repeated, is_new)),
        extra={
            name: joined(_extra_column(stored, name), _extra_column(read, name))
            for name in dict.fromkeys((*stored.extra, *read.extra))
        },
        tasks=joined(stored.tasks, tasks),
        task_names=task_names,
        soft_labels=joined(stored.soft_labels, read.soft_labels),
        row_sets=read.row_sets,
    )


def _columns_beside(solution: Solution) -> set[str]:
    """Return the columns of the file beside the targets."""
    flags = (name for name in solution.extra if name.startswith(KNOWN_TARGET))
    return solution.extra.keys() - {ROW_PENDING, *flags}


def _extra_column(solution: Solution, name: str) -> FloatArray:
    """Return ``(n,)`` values; flags that a solution leaves out say that no value is missing."""
    if name in solution.extra:
        return solution.extra[name]
    has_value = solution.usage != np.uint8(Usage.IGNORED)
    return np.where(has_value & (name != ROW_PENDING), 1.0, 0.0)


def _groups_as_stored(
    stored: Solution, read: Solution, repeated: IntArray, is_new: npt.NDArray[np.bool_]
) -> IntArray | None:
    """Return the codes of the groups of a file's rows, as the solution has them.

    The names of groups are not stored, so that repeated rows tell which group is which.

    Parameters
    ----------
    repeated
        The positions in the solution of the rows that are not new, in the order of the file.
    """
    if stored.clusters is None or read.clusters is None:
        return None
    if len(repeated) < stored.n_rows:
        raise InputError(
            "The rows of this competition are in groups, and only a file that has every row of the "
            "solution as well tells which of them new rows belong to."
        )
    groups = read.clusters[~is_new]
    codes = np.full(int(read.clusters.max()) + 1, -1, dtype=np.intp)
    codes[groups] = stored.clusters[repeated]
    if (codes[groups] != stored.clusters[repeated]).any() or (
        len(np.unique(groups)) != len(np.unique(stored.clusters))
    ):
        raise InputError(
            "The groups of rows that the file repeats are not those of the solution. Nothing was "
            "changed."
        )
    new = list(dict.fromkeys(code for code in read.clusters[is_new].tolist() if codes[code] < 0))
    codes[new] = int(stored.clusters.max()) + 1 + np.arange(len(new))
    return codes[read.clusters]


def _check_phases_of(state: CompetitionState, usages: Mapping[str, int]) -> None:
    """Refuse rows of a phase with submissions, and of one into which such a phase is carried."""
    settings, used = state.with_phases, phases_in_use(state.store)
    if not settings.phase and used and usages.keys() - {IGNORED}:
        raise InputError(
            "The competition has submissions, which lack the new rows: files that were scored on "
            "other rows cannot be compared. Rows can be added to phases without submissions only."
        )
    for name, phase in settings.phase.items():
        if not (phase.public_usages | phase.private_usages) & usages.keys():
            continue
        carried_from = (phase.after or "") if phase.carry else name
        for sent_in in sorted({name, carried_from} & used):
            raise InputError(
                f"The phase {sent_in} has submissions, which lack the new rows: files that were "
                f"scored on other rows cannot be compared. Give the rows a phase of their own, "
                f"such as a round of a new date; a board over both phases says by missing what an "
                f"older file counts."
            )


def check_rounds_are_later(state: CompetitionState, rounds: Mapping[str, PhaseSection]) -> None:
    """Refuse a round before one that was finalized: its season board has the rounds until then."""
    finalized = {event.payload.get("phase", "") for event in state.store.events("finalized")}
    for other in sorted(finalized & state.with_phases.phase.keys()):
        earlier = state.with_phases.phase[other]
        for name, section in rounds.items():
            is_earlier = section.end and earlier.end and section.end <= earlier.end
            if is_earlier and section.series == earlier.series:
                raise InputError(
                    f"The round {name} would be before {other}, which was finalized: a later round "
                    f"cannot change what was decided."
                )


def store_added_rows(state: CompetitionState, added: AddedRows) -> Settings:
    """Store the rows as the next solution; return the settings of ``competition.toml`` from now on.

    The scores stay: no phase with submissions has a new row. The sample submission and the sections
    of the new rounds are written afterwards; if that is interrupted, the same rows added again
    complete them.
    """
    settings = with_further_phases(state.wanted, added.phases)
    if added.rows:
        _store(state, added)
    metric: Metric = state.manager.metrics.resolve(settings.metric.specification)
    n_written = count_sample_rows(state.folder)
    write_sample(state.folder, added.solution, metric, n_written=n_written)
    path = state.folder / CONFIG_NAME
    if added.phases:
        text = path.read_text(encoding="utf-8").rstrip("\n")
        sections = added.phases.items()
        keys = {name: section.model_dump(exclude_defaults=True) for name, section in sections}
        further = document_as_toml({"phase": keys})
        atomic_write(path, f"{text}\n\n{further}".encode())
    return settings


def count_sample_rows(folder: Path) -> int:
    """Return how many rows the sample submission has, which an interruption left without others."""
    path = folder / SAMPLE_NAME
    if not path.exists():
        return 0
    with path.open(newline="", encoding="utf-8") as file:
        return sum(1 for _ in csv.reader(file)) - 1


def _store(state: CompetitionState, added: AddedRows) -> None:
    revision, before = state.revision + 1, state.stored_solution
    payload: dict[str, Any] = {
        "revision": revision,
        "rows": added.rows,
        "n_rows": [before.n_rows, added.solution.n_rows],
        "row_sets": list(added.solution.row_sets),
        "phases": list(added.phases),
        "solution_sha256": [before.sha256, added.solution.sha256],
    }
    name = state.settings.metric.specification
    with state.store.transaction() as transaction:
        transaction.add_rows(added.solution, name, revision)
        transaction.put_all_scores(revision, state.store.scores(state.revision))
        transaction.put_meta("revision", str(revision))
        settings = with_further_phases(state.with_phases, added.phases)
        transaction.put_meta("settings", settings.model_dump_json())
        fields = {**payload, **state.event_fields}
        transaction.append_event(ROWS_ADDED, state.actor, fields, time=state.clock())
