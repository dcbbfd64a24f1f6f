"""Checks submission files against a solution without storing or scoring them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arena.intake import solution_source, submission_files
from arena.plugin.manager import PluginManager
from arena.scoring.columns import given_columns
from arena.scoring.rejected_file import RejectedFile
from arena.scoring.submissions import examine, read_truth
from arena.types import SolutionColumns
from arena.utils.parallel import Progress
from arena.utils.progress import shown


def validate(
    solution: Any,
    submissions: Any,
    metric: str,
    columns: SolutionColumns | None = None,
    *,
    id: str | None = None,
    target: str | Sequence[str] | None = None,
    usage: str | None = None,
    positive: str | float | None = None,
    manager: PluginManager | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[tuple[str, ...], tuple[RejectedFile, ...]]:
    """Return the names of the valid files, and the rejected files with all faults.

    Nothing is stored. The arguments are those of :func:`score`.

    Raises
    ------
    InputError
        If the solution or a path is invalid.
    UnknownNameError
        If no plugin provides the metric.
    """
    manager = manager or PluginManager()
    resolved = manager.metrics.resolve(metric)
    named: dict[str, Any] = {"id": id, "target": target, "usage": usage, "positive": positive}
    solution_columns = given_columns(
        **{name: value for name, value in named.items() if value is not None}
    )
    columns = columns or solution_columns
    truth = read_truth(solution_source(solution), resolved, columns)
    files = submission_files(submissions, truth)
    accepted, rejected = [], []
    with shown(progress) as display:
        display.start("Reading submissions", len(files))
        for file, read in examine(
            files, truth, resolved, manager, workers=workers, no_header=columns.no_header
        ):
            display.advance()
            if read.values is None:
                rejected.append(RejectedFile(file.name, read.faults))
            else:
                accepted.append(file.name)
    return tuple(accepted), tuple(rejected)
