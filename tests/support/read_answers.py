"""What reading makes of a file, as lines."""

from __future__ import annotations

from arena.intake import ReadSubmission
from arena.interfaces.faults import describe
from arena.types import Fault, Solution

_MOST_FAULTS = 12
"""Of one file that are kept; of further ones their number."""


def lines_of_submission(read: ReadSubmission) -> list[str]:
    """Return the faults of a submission, or the shape of its values."""
    if read.values is None:
        more = len(read.faults) - _MOST_FAULTS
        lines = [_line_of(fault) for fault in read.faults[:_MOST_FAULTS]]
        return [*lines, *([f"and {more} more"] if more > 0 else [])]
    return [f"{read.values.dtype} {read.values.shape}"]


def _line_of(fault: Fault) -> str:
    if fault.kind == "unreadable file":  # the words of a library
        return fault.kind
    times = f" ({fault.count} times)" if fault.count > 1 else ""
    cause = f" [{fault.cause}]" if fault.cause else ""
    return f"{fault.kind}{times}: {describe(fault)}{cause}"


def lines_of_solution(solution: Solution) -> list[str]:
    """Return as what a solution was read."""
    parts = {
        "kind": solution.kind.name,
        "columns": solution.columns,
        "targets": solution.targets,
        "usage": solution.usage.tolist(),
        "row_sets": solution.row_sets,
        "truth": solution.truth.tolist(),
        "clusters": None if solution.clusters is None else solution.clusters.tolist(),
        "tasks": solution.task_names,
        "extra": {name: values.tolist() for name, values in solution.extra.items()},
        "pending": solution.pending.tolist(),
    }
    return [f"{name}: {value}"[:300] for name, value in parts.items()]
