"""Reads a submission file: predictions in the order of the solution, or all faults with their rows.

:func:`parse_submission` runs the steps in order. Checking needs the ids and the names of columns
and classes; it sees neither the truth nor which rows are public, so that faults reveal nothing
about them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.intake.alignment import locate_ids, report_ids
from arena.intake.alterations import reasons_of
from arena.intake.arff_file import is_arff, read_arff
from arena.intake.arrow_file import is_arrow, read_arrow
from arena.intake.cells import (
    Place,
    is_missing,
    is_text,
    label_codes,
    numbers,
    points_for_commas,
    report_cells,
    report_texts,
    texts,
    to_text,
)
from arena.intake.columns import PROBABILITIES, Layout, SubmissionForm, match_columns
from arena.intake.content import read_content
from arena.intake.csv_file import read_csv
from arena.intake.encoding import to_utf8
from arena.intake.header import data_in_header
from arena.intake.joined_columns import with_ids
from arena.intake.json_file import is_json, read_json
from arena.intake.parquet_file import is_parquet, read_parquet, table_of_arrow
from arena.intake.table import Bounds
from arena.intake.text_lines import BLOCK, read_lines
from arena.interfaces.faults import FaultList, Refused, clean, show, show_all
from arena.types import Fault, FloatArray, IntArray, PredictionKind, RawTable
from arena.utils.file_digest import file_sha256
from arena.utils.host_errors import is_of_host
from arena.utils.lazy import pc
from arena.utils.processes import sendable

SUM_TOLERANCE = 1e-3
"""Maximum deviation from 1 of the sum of a row's class probabilities."""

_SHORTER = "Send one row per id, and fewer digits."
_NO_MEMORY = re.compile(r"bad_alloc|Resource temporarily unavailable|Cannot allocate memory")
"""Messages of pyarrow's errors when memory, or that for the stack of a thread, runs out."""

READING_ERRORS = (pa.ArrowException, OSError, ValueError, MemoryError, csv.Error)
"""Exceptions of parsers on damaged files that arena's own checks did not detect."""


sendable(Fault)


@sendable
@dataclass(frozen=True, slots=True, eq=False)
class ReadSubmission:
    """The result of reading a submission file: values or faults."""

    values: npt.NDArray[Any] | None
    """``(n, n_columns)`` C-contiguous float64, rows and columns in the solution's order; labels as
    codes, and for ``TEXT`` str objects. None if the file is rejected."""
    faults: tuple[Fault, ...]
    """Empty if and only if ``values`` is given."""
    sha256: str
    """The sha256 of the file as sent; empty if it could not be read."""
    crashed: bool = False
    """Whether the process that read it crashed or was killed, or the machine failed: that may not
    be the fault of the file."""


def parse_submission(path: Path, form: SubmissionForm) -> ReadSubmission:
    """Read, check and align a file in the current process.

    A damaged file may crash the process; use :func:`~arena.intake.reader.read_submission` for
    untrusted files.
    """
    faults, content, values, sha256, crashed = FaultList(), None, None, "", False
    try:
        names = (form.id_column, *form.columns)
        file = form.modality.read_submission(
            path, form.ids, names, form.sizes, form.max_bytes, faults
        )
        if file is not None:
            table, sha256 = file.table, file.sha256
        else:
            content = read_content(path, form.max_bytes, faults)
            table = read_table(
                content.data,
                form.names,
                form.bounds,
                faults,
                name=path.name,
                header=form.header,
            )
        values = _predictions(table, form, faults)
    except Refused:
        pass  # the fault has been added
    except READING_ERRORS as error:
        message = _first_line(error)
        if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)):
            most = f"{form.max_memory / 2**20:,.0f} MiB"
            message = f"The file could not be read: it needs more than {most} of memory. {_SHORTER}"
        faults.add("unreadable file", message)
        crashed = is_of_host(error)
    sha256 = sha256 if content is None else content.sha256.hexdigest()
    return replace(read_or_faults(values, faults, sha256), crashed=crashed)


def parse_table(table: Any, source: Path | str, form: SubmissionForm) -> ReadSubmission:
    """Check and align a ``pyarrow.Table`` in this process.

    Like :func:`parse_submission` without the reading. ``source`` is the file from which a plugin
    read the table, opened only for its sha256, or the sha256 of a table in memory.
    """
    faults, sha256, values = FaultList(), "", None
    try:
        sha256 = source if isinstance(source, str) else file_sha256(source)
        values = _predictions(table_of_arrow(table, form.bounds, faults), form, faults)
    except Refused:
        pass
    except READING_ERRORS as error:
        faults.add("unreadable file", _first_line(error))
    return read_or_faults(values, faults, sha256)


def read_or_faults(
    values: npt.NDArray[Any] | None, faults: FaultList, sha256: str
) -> ReadSubmission:
    """Return what was read; without values if it has faults."""
    listed = faults.to_tuple()
    return ReadSubmission(None if listed else values, listed, sha256)


def read_table(
    data: bytes,
    expected: Sequence[str],
    bounds: Bounds,
    faults: FaultList,
    *,
    name: str = "",
    header: Sequence[str] = (),
    records: str | None = None,
    flat: bool = False,
) -> RawTable:
    """Return the table of a CSV, Parquet, Arrow, JSON, JSON Lines or ARFF file in memory.

    The format is recognised by content; the name helps only with damaged files. ``header`` are the
    names of the columns of a CSV file without a header line; with a single name each line is a
    text, or each block of lines if the first expected name is ``block``; but a file whose first
    line has this name too, as a sample submission has, is a table. ``records`` and ``flat``
    are those of :func:`~arena.intake.json_file.read_json`.

    Raises
    ------
    Refused
        If the file contains no table; the fault has been added.
    """
    if is_parquet(data, name):
        return read_parquet(data, bounds, faults)
    if is_arrow(data):
        return read_arrow(data, bounds, faults)
    text = to_utf8(data, faults)
    if is_json(text):
        return read_json(text, bounds, faults, expected=expected, records=records, flat=flat)
    if is_arff(text):
        return read_arff(text, bounds, faults)
    if len(header) == 1 and not _is_header_of(text, {expected[0], *header}):
        return read_lines(text, header[0], bounds, faults, blocks=expected[0] == BLOCK)
    return read_csv(text, expected, bounds, faults, header=header)


def _is_header_of(text: bytes, names: set[str]) -> bool:
    """Return whether the first line has these names and no others, as that of a sample."""
    first = text[: 2 + sum(map(len, names)) * 4].partition(b"\n")[0].decode(errors="replace")
    return set(re.split("[,;\t]", first.strip())) == names


def _first_line(error: BaseException) -> str:
    reason = clean((str(error).splitlines() or [type(error).__name__])[0])
    return f"The file cannot be read ({reason}): write and send it again."


def _predictions(
    table: RawTable, form: SubmissionForm, faults: FaultList
) -> npt.NDArray[Any] | None:
    """Return the values in the order of the solution; None if a column or an id is missing."""
    table = with_ids(table, form.id_column)
    _refuse_missing_header(table, form, faults)
    if form.id_column in table.names:
        table = form.modality.arrange(table, form.id_column, faults)
    layout = form.layout(table.names)
    positions = match_columns(
        table.names,
        (form.id_column, *layout.columns),
        faults,
        never_guessed=form.classes,
        row=table.header_row,
    )
    position = positions.get(form.id_column)
    ids = None if position is None else to_text(table.columns[position])
    order = None if ids is None else locate_ids(ids, form.ids)
    place = Place(table.row_number, ids)
    if order is not None:
        if (order < 0).all() and (reasons_of(ids, form.ids) < 0).any():
            _refuse_swapped_names(table, form, faults)
        report_ids(
            ids,
            order,
            expected=form.ids,
            place=place,
            faults=faults,
            rows=form.expected_rows(order),
        )
    cells = {name: table.columns[positions[name]] for name in layout.columns if name in positions}
    if form.optional is not None and len(cells) == form.optional.shape[1]:
        cells = _with_optional(cells, form, layout, order)
    values = _encode(cells, table, form=form, layout=layout, place=place, faults=faults)
    if faults or len(cells) < len(layout.columns):
        return None
    kept_columns = values[:, -1:] if layout.keeps_last else values
    sizes = form.sizes if form.sizes is None or order is None else form.sizes[order]
    report_cells(form.modality.faults(kept_columns, sizes), form.columns, place, faults)
    if order is None:
        return np.ascontiguousarray(kept_columns)
    shape = (len(form.ids), kept_columns.shape[1])
    aligned = np.full(shape, None if form.kind is _TEXT else np.nan, dtype=kept_columns.dtype)
    aligned[order] = kept_columns
    return aligned


def _with_optional(
    cells: dict[str, Any], form: SubmissionForm, layout: Layout, order: IntArray | None
) -> dict[str, Any]:
    """Return the columns with a valid value in each empty cell that may be empty."""
    optional = np.asarray(form.optional)
    if order is not None:
        optional = np.where(order[:, np.newaxis] < 0, False, optional[order])
    elif len(optional) != len(next(iter(cells.values()))):
        return cells
    filled = {}
    for (name, column), may_be_empty, target in zip(
        cells.items(), optional.T, form.targets, strict=True
    ):
        empty = is_missing(column) & may_be_empty
        value = (target.classes or ("",))[0]
        if form.kind is not PredictionKind.LABEL:
            # Without a decimal point, if it can be: others may have decimal commas.
            value = str(float(np.clip(0.0, *layout.bounds))).removesuffix(".0")
        filled[name] = (
            pc.if_else(pa.array(empty), value, to_text(column)) if empty.any() else column
        )
    return filled


def _encode(
    cells: dict[str, Any],
    table: RawTable,
    form: SubmissionForm,
    layout: Layout,
    place: Place,
    faults: FaultList,
) -> npt.NDArray[Any]:
    """Return ``(n, n_columns)`` values of the columns that were found, rows as in the file."""
    names, columns = list(cells), list(cells.values())
    values = np.empty((table.n_rows, len(cells)), dtype=object if form.kind is _TEXT else float)
    if form.kind is _TEXT:
        for j, column in enumerate(columns):
            values[:, j] = texts(column)
            report_texts(column, names[j], place, faults, empty_cells=form.modality.empty_cells)
        return values
    if form.kind is PredictionKind.LABEL:
        classes = {target.name: target.classes or () for target in form.targets}
        sendable = dict(zip(classes, form.sendable or classes.values(), strict=True))
        for j, (name, column) in enumerate(zip(names, columns, strict=True)):
            labels = sendable[name]
            values[:, j] = label_codes(
                column, classes[name], name=name, place=place, faults=faults, sendable=labels
            )
        return values
    if table.decimal_comma and all(is_text(column) for column in columns):
        columns = list(points_for_commas(columns, place, faults))
    for j, column in enumerate(columns):
        values[:, j] = numbers(column, names[j], place=place, faults=faults, bounds=layout.bounds)
    if layout.sums_to_one and len(cells) == len(layout.columns):
        _check_sums(values, place, faults)
    return values


_TEXT = PredictionKind.TEXT


def _check_sums(values: FloatArray, place: Place, faults: FaultList) -> None:
    sums = values.sum(axis=1)
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(np.isfinite(sums) & (np.abs(sums - 1) > SUM_TOLERANCE))
    kind = "probabilities do not sum to 1"

    def fault(position: int) -> Fault:
        message = f"The probabilities of the row sum to {sums[position]:.6g}: make them sum to 1."
        return place.fault(kind, message, position, None)

    faults.add_each(kind, wrong.tolist(), fault)


def _refuse_missing_header(table: RawTable, form: SubmissionForm, faults: FaultList) -> None:
    """Refuse a first line that contains an id of the solution, or data, and no column name.

    A class is the name of a column of probabilities only: elsewhere it is a predicted label.
    """
    names = form.names if form.kind in PROBABILITIES else (form.id_column, *form.columns)
    if set(table.names) & set(names):
        return
    first = pa.array(table.names, pa.string())
    is_data = pc.any(pc.is_in(first, value_set=form.ids)).as_py()
    if is_data or (table.header_row and data_in_header(table.names, table.columns)):
        columns_text = show_all((form.id_column, *form.columns))
        message = f"The first line contains data, not names: add a header line with {columns_text}."
        faults.refuse("no header", message, row=table.header_row)


def _refuse_swapped_names(table: RawTable, form: SubmissionForm, faults: FaultList) -> None:
    """Refuse a file in which another column contains the ids, and the id column none of them."""
    for name, column in zip(table.names, table.columns, strict=True):
        n_found = pc.sum(pc.is_in(pc.unique(to_text(column)), value_set=form.ids)).as_py() or 0
        if 2 * n_found > min(len(column), len(form.ids)):
            message = (
                f"Column {show(name)} contains the ids, and column {show(form.id_column)} does "
                "not: the names seem to be swapped. Swap them back."
            )
            faults.refuse("swapped columns", message, row=table.header_row, column=name)
