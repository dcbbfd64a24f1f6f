"""Reads and checks submission files in parallel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from arena.errors import InputError, PluginError, UsageError
from arena.intake import (
    MAX_BYTES,
    ReadSubmission,
    SolutionSource,
    SubmissionFile,
    check_table,
    read_submission,
    read_whole_submission,
)
from arena.intake.joined_columns import parts_of
from arena.intake.text_lines import LINE
from arena.interfaces import (
    Metric,
    faults_of_predictions,
    faults_of_truth,
    kinds_of,
    modality_of,
    traits_of,
)
from arena.interfaces.faults import fault_lines, first_of_each_kind
from arena.plugin.info import attributed_unquoted, log_failure
from arena.plugin.manager import PluginManager
from arena.types import (
    CompetitionInfo,
    Fault,
    PredictionKind,
    Solution,
    SolutionColumns,
)
from arena.utils.parallel import run_tasks
from arena.utils.text import is_number

_UNCHECKED = Fault(
    "could not be checked",
    "The metric could not check this file. Look for cells that are unlike those of the sample.",
)


def competition_info(metric: Metric, solution: Solution, title: str = "") -> CompetitionInfo:
    """Return what plugins may know about a competition: nothing about the labels."""
    return CompetitionInfo(
        title=title,
        metric=metric.name,
        greater_is_better=metric.greater_is_better,
        kind=solution.kind,
        id_column=solution.id_column,
        columns=solution.columns,
        ids=solution.ids,
    )


def read_truth(
    path: SolutionSource, metric: Metric, columns: SolutionColumns, *, further: bool = False
) -> Solution:
    """Read the organiser's solution in the form that a metric needs.

    ``further``: the rows are added to those of a solution, and all of them may be Ignored.

    Raises
    ------
    InputError
        If the file has faults; the message lists all of them.
    UsageError
        If submission columns are given for a metric that uses the target columns.
    """
    traits, modality = traits_of(metric), modality_of(metric)
    if columns.submission and not (
        metric.prediction is PredictionKind.TEXT and traits.joint_targets
    ):
        raise UsageError(
            f"{metric.name} reads the same columns from submissions as from the solution: omit "
            f"--columns (submission_columns in competition.toml)."
        )
    if not modality.has_rows:
        if not isinstance(path, Path):
            raise UsageError(f"{metric.name} reads files itself: give the solution as a file.")
        from arena.intake import read_whole_solution
        from arena.intake.table import MAX_SOLUTION_BYTES

        return read_whole_solution(path, MAX_SOLUTION_BYTES)
    solution = _read_as(metric, path, columns, further=further)
    faults = first_of_each_kind(_faults_of_truth(metric, solution))
    if faults:
        lines = "\n".join(f"  {line}" for line in fault_lines(faults))
        raise InputError(f"{metric.name} cannot use this solution:\n{lines}")
    return solution


def _faults_of_truth(metric: Metric, solution: Solution) -> Iterator[Fault]:
    names = tuple(target.name for target in solution.targets)
    truth = solution.truth.reshape(solution.n_rows, -1)
    joint = traits_of(metric).joint_targets
    for columns in (
        [list(range(len(names)))] if joint else [[column] for column in range(len(names))]
    ):
        info = replace(
            competition_info(metric, solution), columns=tuple(names[column] for column in columns)
        )
        with attributed_unquoted(metric.name, "checking the solution"):
            yield from faults_of_truth(metric, truth[:, columns], info)


def _read_as(
    metric: Metric, path: SolutionSource, columns: SolutionColumns, *, further: bool
) -> Solution:
    """Read as the first kind; if that fails, as another kind whose labels are not numbers."""
    from arena.intake import read_solution

    first, *others = kinds_of(metric)
    read = partial(
        read_solution,
        path,
        columns=columns,
        traits=traits_of(metric),
        modality=modality_of(metric),
        further=further,
    )
    try:
        return read(kind=first)
    except InputError:
        for kind in others:
            with contextlib.suppress(InputError):
                solution = read(kind=kind)
                labels = [label for target in solution.targets for label in target.classes or ()]
                if not any(is_number(label) for label in labels):
                    return solution
        raise


def examine(
    files: Sequence[SubmissionFile],
    solution: Solution,
    metric: Metric,
    manager: PluginManager,
    *,
    workers: int = 1,
    max_bytes: int = MAX_BYTES,
    sendable: tuple[tuple[str, ...], ...] | None = None,
    no_header: Sequence[str] = (),
    gaps: bool = False,
) -> Iterator[tuple[SubmissionFile, ReadSubmission]]:
    """Yield each file with its predictions or its faults, in order.

    At most ``workers + 1`` files are in memory at a time. ``sendable`` are the labels of each
    target that a file may have; None: all of the solution. ``no_header`` is that of
    :class:`~arena.types.SolutionColumns`, and ``gaps`` that of
    :meth:`~arena.intake.columns.SubmissionForm.of`.
    """
    info = competition_info(metric, solution)
    header = header_of(solution, no_header)
    limits = {"max_bytes": max_bytes, "sendable": sendable, "header": header, "gaps": gaps}
    tasks = ((file, solution, metric, info, manager, limits) for file in files)
    read = run_tasks(_examine_one, tasks, workers=workers)
    yield from zip(files, read, strict=True)


def header_of(solution: Solution, no_header: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of submissions without a header line; empty: they must have one.

    ``no_header`` is that of :class:`~arena.types.SolutionColumns`.
    """
    if len(no_header) < 2:  # each line is a text
        return tuple(no_header)
    order = {name: position for position, name in enumerate(no_header)}
    sent_columns = (*parts_of(solution.id_column, no_header), *solution.columns)
    sent_columns = tuple(name for name in sent_columns if name != LINE or name in order)
    return tuple(sorted(sent_columns, key=lambda name: order.get(name, len(order))))


def read_row_sets(
    file: SubmissionFile, solution: Solution, metric: Metric, manager: PluginManager, **limits: Any
) -> tuple[ReadSubmission, frozenset[int]]:
    """Read a file that has all rows of some usages, and return it with these; NaN in other rows.

    A file of texts has every row. ``limits`` are those of :func:`examine`, and ``header``.
    """
    by_usage = solution.kind is not PredictionKind.TEXT
    info = competition_info(metric, solution)
    read = _read_one(
        file,
        solution,
        metric=metric,
        info=info,
        manager=manager,
        limits={**limits, "by_usage": by_usage},
    )
    if read.values is None:
        return read, frozenset()
    rows = ~np.isnan(read.values).all(axis=1) if by_usage else ...
    return read, frozenset(solution.usage[rows].tolist())


def _examine_one(
    file: SubmissionFile,
    solution: Solution,
    metric: Metric,
    info: CompetitionInfo,
    manager: PluginManager,
    limits: Mapping[str, Any],
) -> ReadSubmission:
    read = _read_one(file, solution, metric=metric, info=info, manager=manager, limits=limits)
    return _check_values(read, metric, info=info, manager=manager, file=file.name)


def check_predictions(
    read: ReadSubmission, solution: Solution, metric: Metric, manager: PluginManager, *, file: str
) -> ReadSubmission:
    """Return what was read, or the faults that the metric and plugins find in its values.

    ``file``: its name in the log.
    """
    return _check_values(
        read, metric, info=competition_info(metric, solution), manager=manager, file=file
    )


def _check_values(
    read: ReadSubmission, metric: Metric, info: CompetitionInfo, manager: PluginManager, file: str
) -> ReadSubmission:
    if read.values is None:
        return read
    read.values.setflags(write=False)
    try:
        with attributed_unquoted(metric.name, "checking the cells of a submission"):
            faults = first_of_each_kind(faults_of_predictions(metric, read.values, info))
    except PluginError as error:
        log_failure(error, file)
        faults = (_UNCHECKED,)
    faults = faults or manager.check_submission(read.values, info)
    return ReadSubmission(None, faults, read.sha256) if faults else read


def _read_one(
    file: SubmissionFile,
    solution: Solution,
    metric: Metric,
    info: CompetitionInfo,
    manager: PluginManager,
    limits: Mapping[str, Any],
) -> ReadSubmission:
    """Read a file, without the checks of the metric and of plugins."""
    if file.faults:
        return ReadSubmission(values=None, faults=file.faults, sha256="")
    modality = modality_of(metric)
    rules: dict[str, Any] = {
        **limits,
        "prediction_range": traits_of(metric).prediction_range,
        "modality": modality,
    }
    if not modality.has_rows and file.table is None:
        return read_whole_submission(file.path, limits["max_bytes"])
    if file.table is not None:
        return check_table(file.table.table, file.table.sha256, solution, **rules)
    if (table := manager.read_predictions(file.path, info)) is not None:
        return check_table(table, file.path, solution, **rules)
    return read_submission(file.path, solution, **rules)
