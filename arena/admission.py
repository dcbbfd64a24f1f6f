"""Takes in files of participants: read side by side, checked, stored one after another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from arena.execution import Progress, run_tasks
from arena.intake import ReadSubmission, SubmissionFile, check_table, read_submission
from arena.interfaces import Metric, traits_of
from arena.plugin_manager import PluginManager
from arena.store import Store
from arena.types import CompetitionInfo, Solution, SubmissionRecord

__all__ = ["admit", "competition_info", "examine"]


def competition_info(metric: Metric, solution: Solution, title: str = "") -> CompetitionInfo:
    """Return what plugins may know of a competition: nothing about any label."""
    return CompetitionInfo(
        title=title,
        metric=metric.name,
        greater_is_better=metric.greater_is_better,
        kind=solution.kind,
        id_column=solution.id_column,
        columns=solution.columns,
        ids=solution.ids,
    )


def examine(
    files: Sequence[SubmissionFile],
    solution: Solution,
    metric: Metric,
    manager: PluginManager,
    *,
    workers: int = 1,
) -> Iterator[tuple[SubmissionFile, ReadSubmission]]:
    """Yield each file with its predictions or its faults, in order.

    At most ``workers + 1`` files are under way at a time.
    """
    info = competition_info(metric, solution)
    tasks = ((file, solution, metric, info, manager) for file in files)
    read = run_tasks(_examine_one, tasks, workers=workers)
    yield from zip(files, read, strict=True)


def _examine_one(
    file: SubmissionFile,
    solution: Solution,
    metric: Metric,
    info: CompetitionInfo,
    manager: PluginManager,
) -> ReadSubmission:
    if file.faults:
        return ReadSubmission(values=None, faults=file.faults, sha256="")
    allowed = traits_of(metric).prediction_range
    table = manager.read_predictions(file.path, info)
    if table is None:
        read = read_submission(file.path, solution, prediction_range=allowed)
    else:
        read = check_table(table, file.path, solution, prediction_range=allowed)
    if read.values is None:
        return read
    read.values.setflags(write=False)
    faults = manager.check_submission(read.values, info)
    return ReadSubmission(None, faults, read.sha256) if faults else read


def admit(
    store: Store,
    files: Sequence[SubmissionFile],
    solution: Solution,
    metric: Metric,
    manager: PluginManager,
    *,
    workers: int = 1,
    progress: Progress,
) -> list[SubmissionRecord]:
    """Examine the files and store each, accepted or rejected; return their records in order."""
    info = competition_info(metric, solution)
    records = []
    progress.start("Reading submissions", len(files))
    for file, read in examine(files, solution, metric, manager, workers=workers):
        key = _key(read, metric)
        record = store.add_submission(
            file.team, file.name, read.sha256, read.values, read.faults, key=key
        )
        manager.submission_scored(record, None, info)
        records.append(record)
        progress.advance()
    return records


def _key(read: ReadSubmission, metric: Metric) -> str | None:
    """Name the file and what it was checked for: another range may judge the same file anew."""
    low, high = traits_of(metric).prediction_range
    if not read.sha256 or (low, high) == (-math.inf, math.inf):
        return None
    return f"{read.sha256} in [{low}, {high}]"
