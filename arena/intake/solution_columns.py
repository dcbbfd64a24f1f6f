"""Which column of a solution file is what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arena.intake.faults import FaultList, show, show_all

__all__ = ["SolutionColumns", "WantedColumns", "assign_columns", "check_submission_columns"]

_ID = "id"
_USAGE = "Usage"


@dataclass(frozen=True, slots=True)
class WantedColumns:
    """What the organiser says of the columns; see :func:`~arena.intake.solution.read_solution`."""

    id: str | None
    targets: Sequence[str] | None
    usage: str
    cluster: str | None
    task: str | None
    soft_labels: tuple[str, ...]
    extra: tuple[str, ...]
    several_targets: bool
    """Whether every column that is left is a target."""

    @property
    def _others(self) -> tuple[str, ...]:
        return tuple(name for name in (self.cluster, self.task, *self.soft_labels) if name)

    @property
    def named(self) -> tuple[str, ...]:
        """The names of columns that must be there."""
        of_id = () if self.id is None else (self.id,)
        return (*of_id, *(self.targets or ()), *self._others)

    @property
    def usage_must_be_there(self) -> bool:
        """Whether a column was named for the usage, that is, another than by default."""
        return self.usage != _USAGE


@dataclass(frozen=True, slots=True)
class SolutionColumns:
    """Which column of the file plays which part."""

    id: str
    targets: tuple[str, ...]
    usage: str | None
    cluster: str | None
    extra: tuple[str, ...]
    task: str | None
    soft_labels: tuple[str, ...]


def assign_columns(
    names: Sequence[str], wanted: WantedColumns, faults: FaultList
) -> SolutionColumns:
    """Return which column is what; names that are not there are faults."""
    for name in sorted({name for name in names if names.count(name) > 1}):
        faults.add("repeated column", "The column occurs twice: rename one.", column=name)
    id_name = wanted.id or (_ID if _ID in names else names[0])
    usage = next((n for n in names if n == wanted.usage), None) or next(
        (n for n in names if n.casefold() == wanted.usage.casefold()), None
    )
    absent_usage = usage is None and wanted.usage_must_be_there
    asked = [*wanted.named, *([wanted.usage] if absent_usage else [])]
    for name in (name for name in asked if name not in names):
        message = f"There is no column {show(name)}; the file has {show_all(names)}."
        faults.add("missing column", message, column=name)
    taken = {id_name, usage, *wanted.named}
    extra = tuple(name for name in wanted.extra if name in names and name not in taken)
    taken |= {*extra}
    left = tuple(name for name in dict.fromkeys(names) if name not in taken)
    if wanted.targets is None and len(left) != 1 and not (wanted.several_targets and left):
        message = f"{len(left):,} columns could be the target: name it with --target"
        some = f" ({show_all(left)}; several are separated by commas)." if left else "."
        faults.add("no single target", (message if left else "There is no target column") + some)
    return SolutionColumns(
        id=id_name,
        targets=tuple(dict.fromkeys(wanted.targets or left)),
        usage=usage,
        cluster=wanted.cluster,
        extra=extra,
        task=wanted.task,
        soft_labels=wanted.soft_labels,
    )


def check_submission_columns(names: Sequence[str], id_name: str, faults: FaultList) -> None:
    """Find names that the columns of a submission cannot have."""
    for name in (name for name in dict.fromkeys(names) if not name.strip()):
        faults.add("no name", f"A submission cannot have a column {show(name)}: name it.")
    for name in dict.fromkeys([id_name, *names]):
        if [id_name, *names].count(name) > 1:
            message = f"A submission cannot have the column {show(name)} twice: name it once."
            faults.add("repeated column", message, column=name)
