"""Columns of cells to numbers and to label codes, with every cell that is neither.

Numbers are cast by Arrow in one call; cells are looked at one by one only where that fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arena.intake.encoding import REPLACEMENT
from arena.intake.faults import FaultList, clean, show
from arena.intake.table import RowNumber
from arena.types import Fault, FloatArray

__all__ = [
    "Place",
    "is_number",
    "is_text",
    "label_codes",
    "merge_equal_numbers",
    "numbers",
    "points_for_commas",
    "report_texts",
    "texts",
    "to_text",
]

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_NOT_A_NUMBER = (
    *("nan", "+nan", "-nan", "na", "n/a", "#n/a", "#na", "<na>", "nat", "null", "none", "nil", "?"),
)
_INFINITE = r"^[+-]?inf(inity)?$"

_DECIMAL_COMMA = r"^[+-]?[0-9]*,[0-9]+$"

_BAD_CELLS = (
    ("empty cell", "The cell is empty: write a number."),
    ("NaN", "{} is not a number: write a finite number."),
    ("infinite value", "{} is infinite or too large for a number: write a finite one."),
    ("decimal comma", "{} has a decimal comma: write a decimal point."),
    ("not a number", "{} is text where a number belongs: write a number."),
)
_EMPTY, _NAN, _INFINITY, _COMMA, _NO_NUMBER, _REPORTED = range(6)
_UNQUOTED = "The cell"


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where the cells of a table stand, for the faults found in them."""

    row_number: RowNumber
    ids: Any | None
    """``pyarrow.StringArray`` of the id of each row, if there is an id column."""
    quoted: bool = True
    """Whether a fault may quote a cell; one of a solution is a label, which no message holds."""

    def fault(self, kind: str, message: str, position: int, column: str | None) -> Fault:
        """Return a fault of the row at a position."""
        id = None if self.ids is None else self.ids[position].as_py()
        return Fault(
            kind,
            message,
            row=self.row_number(position),
            id=None if id is None else clean(id),
            column=None if column is None else clean(column),
        )


def is_text(column: Any) -> bool:
    """Return whether a column holds text."""
    return bool(pa.types.is_string(column.type))


def to_text(column: Any) -> Any:
    """Return a column as text without nulls: a null is an empty cell, a bool True or False.

    >>> to_text(pa.array([True, None])).to_pylist()
    ['True', '']
    """
    if is_text(column) and not column.null_count:
        return column
    if pa.types.is_null(column.type):
        return pa.array([""] * len(column), pa.string())
    if pa.types.is_boolean(column.type):
        column = pc.if_else(column, "True", "False")
    return pc.fill_null(pc.cast(column, pa.string()), "")


def texts(column: Any) -> npt.NDArray[np.object_]:
    """Return ``(n,)`` str of a column, cell by cell as written; equal texts share one object.

    >>> texts(pa.array(["a b", None])).tolist()
    ['a b', '']
    """
    encoded = to_text(column).dictionary_encode()
    different = np.array([*encoded.dictionary.to_pylist(), None], dtype=object)
    return np.asarray(different[encoded.indices.to_numpy()], dtype=object)


def report_texts(
    column: Any, name: str, place: Place, faults: FaultList, *, empty_cells: bool
) -> None:
    """Add a fault for every text that no CSV file can hold, and perhaps for those without any."""
    text = to_text(column)
    masks = {"NUL byte": (pc.match_substring(text, "\0"), "The cell holds a NUL byte: remove it.")}
    if not empty_cells:
        blank = pc.equal(pc.utf8_trim_whitespace(text), "")
        masks["empty cell"] = (blank, "The cell is empty: write a text.")
    for kind, (mask, message) in masks.items():

        def fault(at: int, kind: str = kind, message: str = message) -> Fault:
            return place.fault(kind, message, at, name)

        positions = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
        faults.add_each(kind, positions.tolist(), fault)


def points_for_commas(columns: Sequence[Any], place: Place, faults: FaultList) -> tuple[Any, ...]:
    """Return text columns with decimal points, where the whole file has decimal commas.

    Commas and points in one file are a fault, since either might separate thousands.
    """
    commas = [pc.match_substring(column, ",") for column in columns]
    if not any(pc.any(mask).as_py() for mask in commas):
        return tuple(columns)
    points = [pc.match_substring(column, ".") for column in columns]
    if any(pc.any(mask).as_py() for mask in points):
        first = min(_first(mask) for mask in points)
        message = (
            f"A number has a decimal comma here, and a decimal point in row "
            f"{place.row_number(first)}: write all with a point, and no separators of thousands."
        )
        position = min(_first(mask) for mask in commas)
        faults.add_each(
            "mixed decimal marks",
            (position,),
            lambda p: place.fault("mixed decimal marks", message, p, None),
        )
    return tuple(pc.replace_substring(column, ",", ".") for column in columns)


def _first(mask: Any) -> int:
    at = int(pc.index(mask, value=True).as_py())
    return at if at >= 0 else len(mask)


def numbers(
    column: Any,
    name: str,
    place: Place,
    faults: FaultList,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> FloatArray:
    """Return ``(n,)`` float64 of a column; cells that are no finite number in bounds are faults.

    Parameters
    ----------
    column
        Text, or any flat Arrow type.
    bounds
        Closed range of valid numbers.
    """
    values = _cast(column)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        _report_bad(column, bad, name, place, faults)
    low, high = bounds
    with np.errstate(invalid="ignore"):
        outside = np.flatnonzero(np.isfinite(values) & ((values < low) | (values > high)))
    kind = "out of range"

    def fault(position: int) -> Fault:
        message = f"{values[position]:.12g} is outside [{low:g}, {high:g}]: write a number in it."
        return place.fault(kind, message, position, name)

    faults.add_each(kind, outside.tolist(), fault)
    return values


def _cast(column: Any) -> FloatArray:
    """Return the numbers of a column, NaN where there is none."""
    if pa.types.is_temporal(column.type):
        return np.full(len(column), np.nan)
    try:
        cast = pc.cast(column, pa.float64(), safe=is_text(column))
    except pa.ArrowInvalid:
        text = pc.utf8_trim_whitespace(column)
        cast = pc.cast(pc.if_else(is_number(text), text, "nan"), pa.float64())
    values: FloatArray = pc.fill_null(cast, np.nan).to_numpy(zero_copy_only=False)
    return values


def is_number(text: Any) -> Any:
    """Return a mask of the cells that are written as a decimal number.

    >>> is_number(pa.array(["1e5", "+.5", "0x1", "nan"])).to_pylist()
    [True, True, False, False]
    """
    return pc.match_substring_regex(text, _NUMBER)


def _report_bad(
    column: Any, bad: npt.NDArray[np.intp], name: str, place: Place, faults: FaultList
) -> None:
    cells = to_text(column.take(pa.array(bad)))
    reasons = _reasons(cells)
    for reason, (kind, template) in enumerate(_BAD_CELLS):

        def fault(at: int, kind: str = kind, template: str = template) -> Fault:
            what = show(cells[at].as_py()) if place.quoted else _UNQUOTED
            return place.fault(kind, template.format(what), int(bad[at]), name)

        faults.add_each(kind, np.flatnonzero(reasons == reason).tolist(), fault)


def _reasons(cells: Any) -> npt.NDArray[np.int8]:
    """Return ``(n,)`` positions in ``_BAD_CELLS``, or ``_REPORTED``."""
    text = pc.utf8_lower(pc.utf8_trim_whitespace(cells))
    masks = (
        pc.equal(text, ""),
        pc.is_in(text, value_set=pa.array(_NOT_A_NUMBER)),
        pc.or_(pc.match_substring_regex(text, _INFINITE), is_number(text)),
        pc.match_substring_regex(text, _DECIMAL_COMMA),
        pc.match_substring(cells, REPLACEMENT),
    )
    choices = (_EMPTY, _NAN, _INFINITY, _COMMA, _REPORTED)
    found = [mask.to_numpy(zero_copy_only=False) for mask in masks]
    return np.select(found, choices, default=_NO_NUMBER).astype(np.int8)


def merge_equal_numbers(labels: Sequence[str]) -> dict[str, float] | None:
    """Return the number that each label stands for, or None when one of them is no number.

    A leading zero makes a label a code, such as a zip code, and codes are text.

    >>> merge_equal_numbers(["1", "1.0"]), merge_equal_numbers(["7", "007"])
    ({'1': 1.0, '1.0': 1.0}, None)
    """
    text = pc.utf8_trim_whitespace(pa.array(labels, pa.string()))
    if not len(text) or not pc.all(is_number(text)).as_py():
        return None
    if pc.any(pc.match_substring_regex(text, r"^[+-]?0[0-9]")).as_py():
        return None
    values = pc.cast(text, pa.float64()).to_pylist()
    return dict(zip(labels, values, strict=True))


def label_codes(
    column: Any, classes: Sequence[str], name: str, place: Place, faults: FaultList
) -> FloatArray:
    """Return ``(n,)`` codes of labels as float64; a label that is none of them is a fault.

    Labels are compared as text; numbers, where all classes are numbers, by value. The fault
    quotes what was sent and never a label of the solution.
    """
    encoded = to_text(column).dictionary_encode()
    written = encoded.dictionary
    of_written = _codes_of_text(written, classes)
    codes: FloatArray = of_written[encoded.indices.to_numpy()]

    def fault(position: int, kind: str) -> Fault:
        cell = written[encoded.indices[position].as_py()].as_py()
        message = (
            "The cell is empty: write a label."
            if kind == "empty cell"
            else f"{show(cell)} is no label of this competition: labels are compared as they are "
            "written, upper and lower case and spaces count."
        )
        return place.fault(kind, message, position, name)

    blank = pc.equal(pc.utf8_trim_whitespace(written), "").to_numpy(zero_copy_only=False)
    seen = pc.match_substring(written, REPLACEMENT).to_numpy(zero_copy_only=False)
    for kind, mask in (("empty cell", blank), ("unknown label", ~blank & ~seen)):
        wrong = np.flatnonzero((mask & np.isnan(of_written))[encoded.indices.to_numpy()])
        faults.add_each(kind, wrong.tolist(), partial(fault, kind=kind))
    return codes


def _codes_of_text(written: Any, classes: Sequence[str]) -> FloatArray:
    """Return the code of each text, NaN where it is no class."""
    as_text = pc.index_in(written, value_set=pa.array(classes, pa.string()))
    as_float = pc.fill_null(pc.cast(as_text, pa.float64()), np.nan)
    codes: FloatArray = np.asarray(as_float, dtype=np.float64)
    if merge_equal_numbers(classes) is None:
        return codes
    values = _cast(written)
    values_of_classes = _cast(pa.array(classes, pa.string()))
    order = np.argsort(values_of_classes)
    at = np.minimum(np.searchsorted(values_of_classes[order], values), len(classes) - 1)
    same = values_of_classes[order][at] == values
    merged: FloatArray = np.where(same, order[at].astype(np.float64), codes)
    return merged
