"""Labels that arrive after the competition was created, where ``[data] pending_labels`` is true.

A row without a label counts in no score. Participants predict it from the beginning. Once its label
arrives, every submission is scored again and the boards follow, as after a corrected label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from arena.config import CONFIG_NAME, Settings
from arena.errors import InputError, UsageError
from arena.intake import SolutionSource, column_names
from arena.interfaces import Metric
from arena.interfaces.faults import show
from arena.phase_section import PhaseSection
from arena.scoring.submissions import read_truth
from arena.types import (
    ROW_PENDING,
    USAGE_COLUMN,
    IntArray,
    Solution,
    Usage,
    UsageArray,
    usage_names,
)
from arena.utils.lazy import pc
from arena.utils.text import plural


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """A stored solution after labels arrived."""

    solution: Solution
    labels: Mapping[str, int]
    """The number of new labels by the usage of their rows."""

    @property
    def sentence(self) -> str:
        """How many arrived, and how many rows are without a label still."""
        pending = int(self.solution.pending.sum())
        parts = ", ".join(f"{usage}: {count:,}" for usage, count in self.labels.items())
        return (
            f"{plural(sum(self.labels.values()), 'label')} ({parts}); "
            f"{plural(pending, 'row')} without a label."
        )

    def concerns(self, phase: PhaseSection | None) -> bool:
        """Return whether labels of the rows of a phase arrived; None: there are no phases."""
        if phase is None:
            return True
        return not self.labels.keys().isdisjoint(phase.public_usages | phase.private_usages)


def read_labels(
    source: SolutionSource, stored: Solution, settings: Settings, metric: Metric
) -> Solution:
    """Read a file of ids and labels, in which rows and labels may be missing.

    Raises
    ------
    UsageError
        If the settings do not say that labels arrive later.
    InputError
        If the file has faults.
    """
    if not settings.data.pending_labels:
        raise UsageError(
            f"Every row of this competition has a label. To correct labels, use arena rescore; "
            f"labels arrive later where {CONFIG_NAME} had pending_labels = true in [data] when the "
            f"competition was created."
        )
    columns, usage = settings.columns, settings.data.usage
    has_usage = usage in column_names(source, columns)
    columns = replace(
        columns,
        targets=settings.data.target or tuple(target.name for target in stored.targets),
        usage=usage if has_usage else USAGE_COLUMN,
        cluster=None,
        time=None,
        tasks=None,
        weight=None,
    )
    return read_truth(source, metric, columns)


def check_usage(usage: UsageArray, stored: Solution, rows: IntArray) -> None:
    """Refuse a file that has another usage for rows of a solution.

    Parameters
    ----------
    usage
        ``(k,)``, of the file.
    rows
        ``(k,)``: their positions in the solution.

    Raises
    ------
    InputError
        If the usage of a row differs.
    """
    differs = usage != stored.usage[rows]
    if differs.any():
        row_id = stored.ids[int(rows[differs][0])].as_py()
        raise InputError(
            f"The file has another usage for {plural(int(differs.sum()), 'row')} of the solution, "
            f"such as id {show(row_id)}: the usage of a row does not change."
        )


def with_arrived_labels(stored: Solution, read: Solution) -> Arrival:
    """Return a stored solution with the labels of a file, which has any of its rows.

    Labels that the solution has already may be repeated.

    Raises
    ------
    InputError
        If an id is unknown, a label or a usage differs from that of the solution, or no label is
        new.
    """
    if (read.kind, read.columns, read.targets) != (stored.kind, stored.columns, stored.targets):
        raise InputError(
            "The targets of the file are not those of the solution: name the columns as there."
        )
    positions = pc.index_in(read.ids, value_set=stored.ids)
    if positions.null_count:
        unknown = read.ids.filter(pc.is_null(positions))
        raise InputError(
            f"{plural(len(unknown), 'id')} of the file, such as {show(unknown[0].as_py())}, "
            f"{'is' if len(unknown) == 1 else 'are'} not in the solution."
        )
    rows = positions.to_numpy(zero_copy_only=False).astype(np.intp)
    has_label = ~read.pending & (read.usage != np.uint8(Usage.IGNORED))
    counts = stored.usage[rows] != np.uint8(Usage.IGNORED)
    if read.names_usage:
        check_usage(read.usage[counts], stored, rows[counts])
    differs = read.truth != stored.truth[rows]
    differs = differs.reshape(len(rows), -1).any(axis=1)
    corrected = has_label & counts & differs & ~stored.pending[rows]
    if corrected.any():
        first = read.ids[int(corrected.argmax())].as_py()
        raise InputError(
            f"The file has another label for {plural(int(corrected.sum()), 'row')} with a label, "
            f"such as id {show(first)}. To correct labels, use arena rescore."
        )
    chosen = has_label & stored.pending[rows]
    new = rows[chosen]
    if not len(new):
        raise InputError("The file has no label for a row that lacks one.")
    truth, pending = stored.truth.copy(), stored.pending
    truth[new] = read.truth[chosen]
    pending[new] = False
    extra = {name: values for name, values in stored.extra.items() if name != ROW_PENDING}
    if pending.any():
        extra[ROW_PENDING] = pending.astype(np.float64)
    names = usage_names(stored.row_sets)
    labels = Counter(names[code] for code in stored.usage[new])
    after = replace(stored, truth=truth, extra=extra, sha256=read.sha256)
    return Arrival(after, dict(sorted(labels.items())))
