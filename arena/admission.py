"""Takes in files of participants: read side by side, checked, stored one after another."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from arena.errors import InputError, UsageError
from arena.execution import Progress, run_tasks
from arena.intake import (
    MAX_BYTES,
    ReadSubmission,
    SubmissionFile,
    check_table,
    describe,
    first_of_each_kind,
    read_solution,
    read_submission,
)
from arena.interfaces import ChecksPredictions, ChecksTruth, Metric, kinds_of, traits_of
from arena.plugin_info import attributed_unquoted
from arena.plugin_manager import PluginManager
from arena.predictions import cell_bytes
from arena.score_settings import SolutionColumns
from arena.store import Incoming, Store
from arena.types import CompetitionInfo, Fault, PredictionKind, Solution, SubmissionRecord

__all__ = ["admit", "competition_info", "examine", "is_number", "read_truth"]

_BATCH_FILES = 16
_BATCH_BYTES = 64 * 2**20


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


def read_truth(path: Path, metric: Metric, columns: SolutionColumns) -> Solution:
    """Read the organiser's solution as a metric needs it.

    Raises
    ------
    InputError
        With every fault of the file.
    UsageError
        If columns are named for submissions, and the metric reads those of the targets.
    """
    traits = traits_of(metric)
    if columns.submission and not (
        metric.prediction is PredictionKind.TEXT and traits.joint_targets
    ):
        raise UsageError(
            f"{metric.name} reads the same columns from a submission as from the solution: leave "
            f"out --columns (submission_columns in competition.toml)."
        )
    solution = _read_as(
        kinds_of(metric),
        path,
        id_column=columns.id,
        target_columns=columns.targets or None,
        usage_column=columns.usage,
        positive=columns.positive,
        cluster_column=columns.cluster,
        task_column=columns.tasks,
        soft_label_columns=columns.soft_labels,
        max_classes=traits.max_classes,
        truth_range=traits.truth_range,
        extra_columns=traits.extra_columns,
        submission_columns=columns.submission,
        joint_targets=traits.joint_targets,
    )
    found = first_of_each_kind(_faults_of_truth(metric, solution))
    if found:
        lines = "\n".join(f"  {describe(fault)}" for fault in found)
        raise InputError(f"{metric.name} cannot score by this solution:\n{lines}")
    return solution


def _faults_of_truth(metric: Metric, solution: Solution) -> Iterator[Fault]:
    if not isinstance(metric, ChecksTruth):
        return
    names = tuple(target.name for target in solution.targets)
    truth = solution.truth.reshape(solution.n_rows, -1)
    joint = traits_of(metric).joint_targets
    for columns in [list(range(len(names)))] if joint else [[at] for at in range(len(names))]:
        info = replace(
            competition_info(metric, solution), columns=tuple(names[at] for at in columns)
        )
        with attributed_unquoted(metric.name, "checking the solution"):
            yield from metric.faults_of_truth(truth[:, columns], info)


def _read_as(kinds: Sequence[PredictionKind], path: Path, **options: Any) -> Solution:
    """Read as the first kind; where that fails, as another whose labels are no numbers."""
    try:
        return read_solution(path, kind=kinds[0], **options)
    except InputError:
        for kind in kinds[1:]:
            with contextlib.suppress(InputError):
                solution = read_solution(path, kind=kind, **options)
                labels = [label for target in solution.targets for label in target.classes or ()]
                if not any(is_number(label) for label in labels):
                    return solution
        raise


def is_number(text: str) -> bool:
    """Return whether a text is a number, as Python reads it.

    >>> is_number("-1e3"), is_number("cat"), is_number("")
    (True, False, False)
    """
    with contextlib.suppress(ValueError):
        float(text)
        return True
    return False


def examine(
    files: Sequence[SubmissionFile],
    solution: Solution,
    metric: Metric,
    manager: PluginManager,
    *,
    workers: int = 1,
    max_bytes: int = MAX_BYTES,
) -> Iterator[tuple[SubmissionFile, ReadSubmission]]:
    """Yield each file with its predictions or its faults, in order.

    At most ``workers + 1`` files are under way at a time.
    """
    info = competition_info(metric, solution)
    tasks = ((file, solution, metric, info, manager, max_bytes) for file in files)
    read = run_tasks(_examine_one, tasks, workers=workers)
    yield from zip(files, read, strict=True)


def _examine_one(
    file: SubmissionFile,
    solution: Solution,
    metric: Metric,
    info: CompetitionInfo,
    manager: PluginManager,
    max_bytes: int,
) -> ReadSubmission:
    if file.faults:
        return ReadSubmission(values=None, faults=file.faults, sha256="")
    traits = traits_of(metric)
    rules: dict[str, Any] = {
        "prediction_range": traits.prediction_range,
        "max_bytes": max_bytes,
        "empty_cells": traits.empty_cells,
    }
    table = manager.read_predictions(file.path, info)
    if table is None:
        read = read_submission(file.path, solution, **rules)
    else:
        read = check_table(table, file.path, solution, **rules)
    if read.values is None:
        return read
    read.values.setflags(write=False)
    faults = _faults_of_cells(metric, read.values, info)
    faults = faults or manager.check_submission(read.values, info)
    return ReadSubmission(None, faults, read.sha256) if faults else read


def _faults_of_cells(
    metric: Metric, values: npt.NDArray[Any], info: CompetitionInfo
) -> tuple[Fault, ...]:
    """Return what the metric cannot score."""
    if not isinstance(metric, ChecksPredictions):
        return ()
    with attributed_unquoted(metric.name, "checking the cells of a submission"):
        return first_of_each_kind(metric.faults(values, info))


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
    """Examine the files and store each, accepted or rejected; return their records in order.

    Stored in batches of at most 16 files or 64 MB of predictions, each batch whole or not at all.
    """
    info = competition_info(metric, solution)
    records: list[SubmissionRecord] = []
    batch: list[Incoming] = []
    progress.start("Reading submissions", len(files))
    for file, read in examine(files, solution, metric, manager, workers=workers):
        key = _key(read, metric)
        incoming = Incoming(file.team, file.name, read.sha256, read.values, read.faults, key)
        batch.append(incoming)
        progress.advance()
        if len(batch) >= _BATCH_FILES or _held_bytes(batch) >= _BATCH_BYTES:
            records += store.add_submissions(batch)
            batch = []
    records += store.add_submissions(batch)
    for record in records:
        manager.submission_scored(record, None, info)
    return records


def _held_bytes(batch: Sequence[Incoming]) -> int:
    held = [one.values for one in batch if one.values is not None]
    return sum(values.size * cell_bytes(values) for values in held)


def _key(read: ReadSubmission, metric: Metric) -> str | None:
    """Name the file and what it was checked for: another range may judge the same file anew."""
    low, high = traits_of(metric).prediction_range
    if not read.sha256:
        return None
    if metric.prediction is PredictionKind.TEXT:
        return f"{read.sha256} for {metric.name}"
    if (low, high) == (-math.inf, math.inf):
        return None
    return f"{read.sha256} in [{low}, {high}]"
