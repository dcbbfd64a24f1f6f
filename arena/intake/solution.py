"""The organiser's solution file to ids, truth, usage, and the columns of a submission."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arena.errors import InputError
from arena.intake.alignment import find_duplicates
from arena.intake.cells import Place, to_text
from arena.intake.content import read_content
from arena.intake.faults import FaultList, clean, describe, plural, show
from arena.intake.row_columns import read_groups, read_soft_labels
from arena.intake.solution_columns import (
    SolutionColumns,
    WantedColumns,
    assign_columns,
    check_submission_columns,
)
from arena.intake.submission import READING_ERRORS, read_table
from arena.intake.table import RawTable
from arena.intake.targets import TargetReading, read_extra, read_targets
from arena.types import Fault, PredictionKind, Solution, Usage

__all__ = ["MAX_SOLUTION_BYTES", "read_solution"]

MAX_SOLUTION_BYTES = 2**31 - 2**20
"""The largest solution file, packed or unpacked."""

_MAX_ROWS = 2**31 - 1


def read_solution(
    path: Path,
    *,
    kind: PredictionKind,
    id_column: str | None = None,
    target_columns: Sequence[str] | None = None,
    usage_column: str = "Usage",
    positive: str | None = None,
    cluster_column: str | None = None,
    task_column: str | None = None,
    soft_label_columns: Sequence[str] = (),
    max_classes: int | None = None,
    truth_range: tuple[float, float] = (-np.inf, np.inf),
    extra_columns: Sequence[str] = (),
    submission_columns: Sequence[str] = (),
    joint_targets: bool = False,
) -> Solution:
    r"""Read and check the organiser's CSV or Parquet file; the names of options are the CLI's.

    Memory of about six times the file's (unpacked) size is held while it is read.

    Parameters
    ----------
    path
        CSV (plain or gzip) or Parquet, told apart by content; no more than 2 GiB.
    kind
        What the metric needs of a submission. It decides how the targets are read:

        - ``VALUE``: numbers; several columns are several targets.
        - ``TEXT``: texts as they are written, empty ones too.
        - ``LABEL``: labels; several columns are several targets, each with its own classes.
        - one column of labels otherwise: two classes are predicted by one column, named as the
          target (the second class in sorted order is positive); more by a column per class.
        - several columns with two classes each: several binary targets, except that for
          ``CLASS_PROBABILITIES`` columns that are one-hot are one target, and its classes.
    id_column
        By default ``id``, else the first column.
    target_columns
        By default the only column that is left; with ``joint_targets`` all that are.
    usage_column
        Public, Private or Ignored, in any case. Without a column ``Usage`` all rows are private.
    positive
        The positive one of two labels.
    cluster_column
        Rows with the same text here belong together.
    task_column
        Rows with the same text here are of one task; ranked together, and looked at apart.
    soft_label_columns
        The probability of the positive label of two; or one column for each label, named as the
        labels, or else in their order.
    max_classes
        The largest number of classes for which the metric is defined.
    truth_range
        Closed range of the targets of ``VALUE``.
    extra_columns
        Columns of numbers that the metric reads beside the targets, where the file has them.
    submission_columns
        The columns of a submission besides the id, where they are others than the targets.
    joint_targets
        Whether the metric takes all targets at once.

    Raises
    ------
    InputError
        With every fault of the file, one to a line.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "solution.csv"
    >>> _ = path.write_text("id,y,Usage\n007,cat,Public\n8,dog,Private\n")
    >>> solution = read_solution(path, kind=PredictionKind.PROBABILITY)
    >>> solution.columns, solution.targets[0].classes, solution.truth, solution.usage
    (('y',), ('cat', 'dog'), array([0, 1]), array([0, 1], dtype=uint8))
    """
    faults = FaultList()
    wanted = WantedColumns(
        id=id_column,
        targets=target_columns,
        usage=usage_column,
        cluster=cluster_column,
        task=task_column,
        soft_labels=tuple(soft_label_columns),
        extra=tuple(extra_columns),
        several_targets=joint_targets,
    )
    table, sha256 = _read(path, wanted.named, faults)
    _stop(path, faults)
    columns = assign_columns(table.names, wanted, faults)
    check_submission_columns(submission_columns, columns.id, faults)
    _stop(path, faults)
    reading = TargetReading(
        kind, positive, max_classes, truth_range, table.decimal_comma, tuple(submission_columns)
    )
    parts = _read_rows(table, columns, reading, faults)
    _stop(path, faults)
    return Solution(id_column=columns.id, kind=kind, sha256=sha256, **parts)


def _read_rows(
    table: RawTable, columns: SolutionColumns, reading: TargetReading, faults: FaultList
) -> dict[str, Any]:
    """Return the parts of a solution that stand in its rows; of no use if there are faults."""
    cells = {name: table.columns[table.names.index(name)] for name in set(table.names)}
    ids = to_text(cells[columns.id])
    place = Place(table.row_number, ids, quoted=False)
    _check_ids(ids, place, faults)
    usage = _read_usage(cells[columns.usage] if columns.usage else None, ids, place, faults)
    ranked, comma = usage != Usage.IGNORED, table.decimal_comma

    def chosen(names: Sequence[str]) -> dict[str, Any]:
        return {name: cells[name] for name in names}

    targets = read_targets(chosen(columns.targets), ranked, reading, place, faults)
    clusters = read_groups(cells, columns.cluster, "cluster", ranked, place, faults)
    soft = chosen(columns.soft_labels)
    soft_labels = read_soft_labels(soft, ranked, targets.targets, comma, place, faults)
    tasks = read_groups(cells, columns.task, "task", ranked, place, faults)
    extra = chosen(columns.extra)
    return {
        "targets": targets.targets,
        "columns": targets.columns,
        "ids": ids,
        "truth": targets.truth,
        "usage": usage,
        "clusters": None if clusters is None else clusters[0],
        "extra": read_extra(extra, ranked, comma, place, faults) if extra else {},
        "tasks": None if tasks is None else tasks[0],
        "task_names": () if tasks is None else tasks[1],
        "soft_labels": soft_labels,
    }


def _stop(path: Path, faults: FaultList) -> None:
    """Raise one error with all faults found so far, if there are any."""
    if not faults:
        return
    lines = [describe(fault) for fault in faults.to_tuple()]
    if len(lines) == 1:
        raise InputError(f"The solution {show(path.name)} cannot be used: {lines[0]}")
    head = f"The solution {show(path.name)} cannot be used ({plural(len(lines), 'fault')}):"
    raise InputError("\n".join([head, *(f"  {line}" for line in lines)]))


def _read(path: Path, expected: Sequence[str], faults: FaultList) -> tuple[RawTable, str]:
    try:
        content = read_content(path, MAX_SOLUTION_BYTES, faults)
        if content is not None:
            table = read_table(
                content.data, expected, _MAX_ROWS, MAX_SOLUTION_BYTES, faults, name=path.name
            )
            if table is not None:
                return table, content.sha256
    except READING_ERRORS as error:
        faults.add("unreadable file", clean(str(error)))
    _stop(path, faults)
    message = f"The solution {show(path.name)} holds no table."
    raise InputError(message)


def _check_ids(ids: Any, place: Place, faults: FaultList) -> None:
    empty = np.flatnonzero(pc.equal(ids, "").to_numpy(zero_copy_only=False))
    faults.add_each(
        "empty id", empty.tolist(), lambda p: place.fault("empty id", "The id is empty.", p, None)
    )
    codes = ids.dictionary_encode().indices.to_numpy().astype(np.intp)
    repeated, first = find_duplicates(codes)
    first_of = dict(zip(repeated.tolist(), first.tolist(), strict=True))

    def fault(position: int) -> Fault:
        message = f"The id stands in row {place.row_number(first_of[position])} already."
        return place.fault("duplicate id", message, position, None)

    faults.add_each("duplicate id", repeated.tolist(), fault)


def _read_usage(
    column: Any | None, ids: Any, place: Place, faults: FaultList
) -> npt.NDArray[np.uint8]:
    if column is None:
        return np.full(len(ids), Usage.PRIVATE, dtype=np.uint8)
    text = to_text(column)
    usages = pa.array([usage.name.lower() for usage in Usage])
    codes = pc.index_in(pc.utf8_lower(pc.utf8_trim_whitespace(text)), value_set=usages)
    usage: npt.NDArray[np.uint8] = pc.fill_null(codes, 255).to_numpy().astype(np.uint8)

    def fault(position: int) -> Fault:
        message = f"{show(text[position].as_py())} is not Public, Private or Ignored."
        return place.fault("unknown usage", message, position, None)

    unknown = np.flatnonzero(usage == 255)
    faults.add_each("unknown usage", unknown.tolist(), fault)
    if (usage == Usage.IGNORED).all():
        faults.add("no ranked row", "Every row is Ignored: mark rows as Public or Private.")
    return usage
