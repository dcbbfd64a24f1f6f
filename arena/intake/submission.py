"""A participant's file to predictions in the order of the solution, or every fault with its row.

Checking needs the ids, the names of the columns and the names of the classes; it never looks at
the truth or at which rows are public, so that no fault can tell anything about them.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arena.intake.alignment import locate_ids, report_ids
from arena.intake.cells import (
    Place,
    is_text,
    label_codes,
    numbers,
    points_for_commas,
    report_texts,
    texts,
    to_text,
)
from arena.intake.content import MAX_BYTES, read_content
from arena.intake.csv_file import read_csv
from arena.intake.encoding import to_utf8
from arena.intake.faults import FaultList, clean, show, show_all
from arena.intake.header import match_columns
from arena.intake.layout import Layout, layout_of
from arena.intake.parquet_file import is_parquet, read_parquet, table_of_arrow
from arena.intake.table import RawTable
from arena.types import Fault, FloatArray, PredictionKind, Solution

__all__ = [
    "READING_ERRORS",
    "SUM_TOLERANCE",
    "ReadSubmission",
    "check_table",
    "read_submission",
    "read_table",
]

SUM_TOLERANCE = 1e-3
"""How far the class probabilities of a row may be from summing to 1."""

_MORE_ROWS = 10

READING_ERRORS = (pa.ArrowException, OSError, ValueError, MemoryError, csv.Error)
"""What a parser raises on a damaged file, where no check of ours has named the damage."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadSubmission:
    """What became of one file of a participant."""

    values: npt.NDArray[Any] | None
    """``(n, n_columns)`` C-contiguous float64, rows and columns in the solution's order; labels as
    codes, and for ``TEXT`` objects that are str. None when the file is refused."""
    faults: tuple[Fault, ...]
    """Empty exactly when ``values`` is there."""
    sha256: str
    """Of the file as sent; empty when it could not be read."""


def read_submission(
    path: Path,
    solution: Solution,
    *,
    prediction_range: tuple[float, float] = (-np.inf, np.inf),
    max_bytes: int = MAX_BYTES,
    empty_cells: bool = True,
) -> ReadSubmission:
    r"""Read, check and align a CSV or Parquet file of a participant.

    The file may hold anything: the answer is values or faults, never an exception. Memory of
    about six times the file's (unpacked) size is held while it is read.

    Parameters
    ----------
    path
        CSV (plain or gzip) or Parquet, told apart by content.
    solution
        What the file is checked against: ids, columns, classes.
    prediction_range
        Closed range of valid numbers; probabilities must lie in [0, 1] besides.
    max_bytes
        The largest file, packed or unpacked.
    empty_cells
        Whether a cell may be empty, where texts are predicted.

    Examples
    --------
    >>> import tempfile
    >>> from arena.intake import read_solution, read_submission
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "solution.csv").write_text("id,y\na,1\nb,0\n")
    >>> _ = (folder / "team.csv").write_text("id,y\nb,0.25\na,0.75\n")
    >>> solution = read_solution(folder / "solution.csv", kind=PredictionKind.PROBABILITY)
    >>> read_submission(folder / "team.csv", solution).values
    array([[0.75],
           [0.25]])
    """
    faults, sha256, values = FaultList(), "", None
    try:
        content = read_content(path, max_bytes, faults)
        if content is not None:
            sha256 = content.sha256
            max_rows = _MORE_ROWS * solution.n_rows + 1_000
            table = read_table(
                content.data, _names(solution), max_rows, max_bytes, faults, name=path.name
            )
            if table is not None:
                layout = layout_of(table.names, solution, prediction_range, empty_cells)
                values = _check(table, solution, layout, faults)
    except READING_ERRORS as error:
        faults.add("unreadable file", _first_line(error))
    found = faults.to_tuple()
    return ReadSubmission(None if found else values, found, sha256)


def check_table(
    table: Any,
    path: Path,
    solution: Solution,
    *,
    prediction_range: tuple[float, float] = (-np.inf, np.inf),
    max_bytes: int = MAX_BYTES,
    empty_cells: bool = True,
) -> ReadSubmission:
    """Check and align a ``pyarrow.Table`` that a plugin read from ``path``.

    As :func:`read_submission`, but for reading: the file is opened for its sha256 only.
    """
    faults, sha256, values = FaultList(), "", None
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        raw = table_of_arrow(table, max_bytes, faults)
        if raw is not None:
            layout = layout_of(raw.names, solution, prediction_range, empty_cells)
            values = _check(raw, solution, layout, faults)
    except READING_ERRORS as error:
        faults.add("unreadable file", _first_line(error))
    found = faults.to_tuple()
    return ReadSubmission(None if found else values, found, sha256)


def read_table(
    data: bytes,
    expected: Sequence[str],
    max_rows: int,
    max_bytes: int,
    faults: FaultList,
    *,
    name: str = "",
) -> RawTable | None:
    """Return the table of a CSV or Parquet file in memory, or None and a fault.

    What it is the content says; the name, if it is given, only what a damaged file was.
    """
    if is_parquet(data, name):
        return read_parquet(data, max_rows, max_bytes, faults)
    return read_csv(to_utf8(data, faults), expected, faults)


def _first_line(error: BaseException) -> str:
    reason = clean((str(error).splitlines() or [type(error).__name__])[0])
    return f"The file cannot be read ({reason}): write and send it again."


def _names(solution: Solution) -> tuple[str, ...]:
    classes = solution.targets[0].classes or ()
    return (solution.id_column, *solution.columns, *classes)


def _check(
    table: RawTable, solution: Solution, layout: Layout, faults: FaultList
) -> npt.NDArray[Any] | None:
    """Return the values in the order of the solution; they matter only if no fault was added."""
    if _has_no_header(table, solution, faults):
        return None
    found = match_columns(
        table.names,
        (solution.id_column, *layout.columns),
        faults,
        never_meant=solution.targets[0].classes or (),
        row=table.header_row,
    )
    at = found.get(solution.id_column)
    ids = None if at is None else to_text(table.columns[at])
    place = Place(table.row_number, ids)
    order = None if ids is None else locate_ids(ids, solution.ids)
    if order is not None:
        if (order < 0).all() and _names_are_swapped(table, solution, faults):
            return None
        report_ids(ids, order, solution.ids, place, faults)
    cells = {name: table.columns[found[name]] for name in layout.columns if name in found}
    values = _values(cells, table, solution, layout, place, faults)
    if faults or len(cells) < len(layout.columns):
        return None
    kept = values[:, -1:] if layout.keeps_last else values
    if order is None:
        return np.ascontiguousarray(kept)
    aligned = np.empty_like(kept, order="C")
    aligned[order] = kept
    return aligned


def _values(
    cells: dict[str, Any],
    table: RawTable,
    solution: Solution,
    layout: Layout,
    place: Place,
    faults: FaultList,
) -> npt.NDArray[Any]:
    """Return ``(n, n_columns)`` in the order of the file."""
    if solution.kind is PredictionKind.TEXT:
        return _texts(cells, table.n_rows, layout, place, faults)
    values = np.empty((table.n_rows, len(cells)))
    if solution.kind is PredictionKind.LABEL:
        classes = {target.name: target.classes or () for target in solution.targets}
        for j, (name, column) in enumerate(cells.items()):
            values[:, j] = label_codes(column, classes[name], name, place, faults)
        return values
    if table.decimal_comma and all(is_text(column) for column in cells.values()):
        pointed = points_for_commas(tuple(cells.values()), place, faults)
        cells = dict(zip(cells, pointed, strict=True))
    for j, (name, column) in enumerate(cells.items()):
        values[:, j] = numbers(column, name, place, faults, layout.bounds)
    if layout.sums_to_one and len(cells) == len(layout.columns):
        _check_sums(values, place, faults)
    return values


def _texts(
    cells: dict[str, Any], n_rows: int, layout: Layout, place: Place, faults: FaultList
) -> npt.NDArray[np.object_]:
    written = np.empty((n_rows, len(cells)), dtype=object)
    for j, (name, column) in enumerate(cells.items()):
        written[:, j] = texts(column)
        report_texts(column, name, place, faults, empty_cells=layout.empty_cells)
    return written


def _check_sums(values: FloatArray, place: Place, faults: FaultList) -> None:
    sums = values.sum(axis=1)
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(np.isfinite(sums) & (np.abs(sums - 1) > SUM_TOLERANCE))
    kind = "probabilities do not sum to 1"

    def fault(position: int) -> Fault:
        message = f"The probabilities of the row sum to {sums[position]:.6g}: make them sum to 1."
        return place.fault(kind, message, position, None)

    faults.add_each(kind, wrong.tolist(), fault)


def _has_no_header(table: RawTable, solution: Solution, faults: FaultList) -> bool:
    """Report a first line that holds an id of the solution and no name of a column."""
    names = (solution.id_column, *solution.columns)
    if set(table.names) & set(_names(solution)):
        return False
    first = pa.array(table.names, pa.string())
    if not pc.any(pc.is_in(first, value_set=solution.ids)).as_py():
        return False
    message = (
        f"The first line holds data and no names: put a line before it with {show_all(names)}."
    )
    faults.add("no header", message, row=table.header_row)
    return True


def _names_are_swapped(table: RawTable, solution: Solution, faults: FaultList) -> bool:
    """Report that another column has the ids, when the id column has not one of them."""
    for name, column in zip(table.names, table.columns, strict=True):
        share = pc.mean(pc.is_in(to_text(column), value_set=solution.ids)).as_py() or 0.0
        if share > 0.5:
            message = (
                f"Column {show(name)} holds the ids, and column {show(solution.id_column)} none: "
                "the names seem to be swapped. Write each over its own column."
            )
            faults.add("swapped columns", message, row=table.header_row, column=name)
            return True
    return False
