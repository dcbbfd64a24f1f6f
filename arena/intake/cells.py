"""Converts columns of cells to numbers or label codes, and reports every invalid cell.

Arrow casts numbers in one call; single cells are examined only where that fails.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.intake.alterations import common_cause, reasons_of
from arena.intake.encoding import with_replaced_bytes
from arena.intake.equal_texts import composed, written_time
from arena.interfaces import CellFault
from arena.interfaces.faults import FaultList, clean, show
from arena.types import Fault, FloatArray, RowNumber
from arena.utils.lazy import pc

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
NOT_A_NUMBER = (
    *("nan", "+nan", "-nan", "na", "n/a", "#n/a", "#na", "<na>", "nat", "null", "none", "nil", "?"),
)
"""What programs write, in lower case, where a number is missing."""
READ_AS_MISSING = (
    "pandas reads texts such as NA and null as missing: read the file with keep_default_na=False"
)
_BOOLEANS = {"true": "1", "false": "0"}
"""What programs write for truth values. They are numbers, and labels equal to 1 and 0."""
_INFINITE = r"^[+-]?inf(inity)?$"

_DECIMAL_COMMA = r"^[+-]?[0-9]*,[0-9]+$"
_FINITE_WITH_COMMA = r"^[+\x{2212}-]?([0-9]+,[0-9]*|,[0-9]+)([eE](\+?[0-9]{1,2}|-[0-9]{1,3}))?$"
_THOUSANDS = r"^[+-]?[1-9][0-9]{0,2}([,.][0-9]{3})+$"
_MINUS = "\N{MINUS SIGN}"

_BAD_CELLS = (
    ("empty cell", "The cell is empty: write a number."),
    ("NaN", "{} is not a number: write a finite number."),
    ("infinite value", "{} is infinite or too large: write a finite number."),
    ("decimal comma", "{} has a comma: write a decimal point, and no thousands separators."),
    ("not a number", "{} is not a number: write a number."),
)
_EMPTY, _NAN, _INFINITY, _COMMA, _NO_NUMBER, _REPORTED = range(6)
_UNQUOTED = "The cell"
_PERCENT = "looks like percentages: divide by 100 and remove the percent sign"
_FORMS = (
    (r"^[ 0-9.+-]+%", _PERCENT),
    (
        r"^[+-]?[0-9]{1,3}([ '_.,\x{a0}\x{2009}\x{202f}\x{2019}][0-9]{3})+([.,][0-9]+)?$",
        "has thousands separators: remove them",
    ),
    (r"^#[a-z/0!?]+$", "holds errors of a spreadsheet: mend its formulas"),
    (r"^(?s)[\[{].*[\]}]$", "holds lists or objects: write one number in each cell"),
    (
        r"^[0-9]{1,2}[-.](jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
        "a spreadsheet has turned numbers into dates: write the file without opening it there",
    ),
    (r"^[^0-9.,+-]*[+-]?[0-9.,]+ *[^0-9.,+-]*$", "has a unit or a sign: write the number alone"),
)
"""What cells that are no numbers look like, and what to do."""
_SCORES = "looks like scores or log-odds: write probabilities from 0 to 1"
_VALUES = "looks like measured values, which metrics such as rmse or mae score: write a label"
_PROBABILITIES = "looks like probabilities: write the label that you predict"


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """The rows and ids of a table, to locate the faults found in its cells."""

    row_number: RowNumber
    ids: Any | None
    """``pyarrow.StringArray`` of the id of each row, if there is an id column."""
    quoted: bool = True
    """Whether a fault may quote a cell; cells of a solution are labels and are never quoted."""

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
    """Return whether a column contains text."""
    return bool(pa.types.is_string(column.type))


def to_text(column: Any) -> Any:
    """Return a column as text without nulls: null becomes an empty text, a bool True or False.

    >>> to_text(pa.array([True, None])).to_pylist()
    ['True', '']
    """
    if is_text(column) and not column.null_count:
        return column
    if pa.types.is_null(column.type):
        return pa.array([""] * len(column), pa.string())
    if pa.types.is_boolean(column.type):
        column = pc.if_else(column, "True", "False")
    if pa.types.is_temporal(column.type):
        column = written_time(column)
    return pc.fill_null(pc.cast(column, pa.string()), "")


def texts(column: Any) -> npt.NDArray[np.object_]:
    """Return ``(n,)`` str of a column, unchanged; equal texts share one object.

    >>> texts(pa.array(["a b", None])).tolist()
    ['a b', '']
    """
    encoded = to_text(column).dictionary_encode()
    different = np.array([*encoded.dictionary.to_pylist(), None], dtype=object)
    return np.asarray(different[encoded.indices.to_numpy()], dtype=object)


def report_texts(
    column: Any, name: str, place: Place, faults: FaultList, *, empty_cells: bool
) -> None:
    """Add a fault for every text with a NUL byte and, unless allowed, for every empty text."""
    text = to_text(column)
    masks = {
        "NUL byte": (pc.match_substring(text, "\0"), "The cell contains a NUL byte: remove it.")
    }
    if not empty_cells:
        blank = pc.equal(pc.utf8_trim_whitespace(text), "")
        masks["empty cell"] = (blank, "The cell is empty: write a text.")
    for kind, (mask, message) in masks.items():

        def fault(row: int, kind: str = kind, message: str = message) -> Fault:
            return place.fault(kind, message, row, name)

        positions = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
        faults.add_each(kind, positions.tolist(), fault)


def report_cells(
    cell_faults: Iterable[CellFault], names: Sequence[str], place: Place, faults: FaultList
) -> None:
    """Add the faults that a modality found in the cells of the columns with these names."""
    for cell in cell_faults:

        def fault(position: int, cell: CellFault = cell) -> Fault:
            return place.fault(cell.kind, cell.message, position, names[cell.column])

        faults.add_each(cell.kind, [cell.row], fault)


def points_for_commas(columns: Sequence[Any], place: Place, faults: FaultList) -> tuple[Any, ...]:
    """Return text columns with decimal points, if the whole file uses decimal commas.

    Both commas and points in one file are a fault, because either could be thousands separators.
    So are commas if each of them could separate thousands, as in 1,500 but not in 0,500, and
    points if other numbers of the column have none: 1.500 beside 20.
    """
    commas = [pc.match_substring(column, ",") for column in columns]
    if not any(pc.any(mask).as_py() for mask in commas):
        for column in columns:
            has_point = pc.match_substring(column, ".")
            if not pc.all(has_point).as_py() and _may_be_thousands(column, has_point):
                _report_unclear("point", has_point, place, faults)
        return tuple(columns)
    if all(_may_be_thousands(column, mask) for column, mask in zip(columns, commas, strict=True)):
        for mask in commas:
            _report_unclear("comma", mask, place, faults)
    points = [pc.match_substring(column, ".") for column in columns]
    if any(pc.any(mask).as_py() for mask in points):
        first = min(_first(mask) for mask in points)
        message = (
            f"This row has a decimal comma and row {place.row_number(first)} a decimal point: "
            f"write decimal points everywhere, and no thousands separators."
        )
        position = min(_first(mask) for mask in commas)
        faults.add_each(
            "mixed decimal marks",
            (position,),
            lambda p: place.fault("mixed decimal marks", message, p, None),
        )
    return tuple(_with_point(column) for column in columns)


def _with_point(column: Any) -> Any:
    """Return numbers with a decimal point; other cells stay as faults quote them."""
    has_comma = pc.match_substring_regex(pc.utf8_trim_whitespace(column), _FINITE_WITH_COMMA)
    return pc.if_else(has_comma, pc.replace_substring(column, ",", "."), column)


def _report_unclear(mark: str, has_mark: Any, place: Place, faults: FaultList) -> None:
    kind = f"unclear {mark}"
    message = (
        f"The {mark} may separate decimals or thousands: write 1.5 or 1500, with a decimal point "
        "and no thousands separators."
    )
    positions = np.flatnonzero(has_mark.to_numpy(zero_copy_only=False)).tolist()
    faults.add_each(kind, positions, lambda position: place.fault(kind, message, position, None))


def _may_be_thousands(column: Any, has_mark: Any) -> bool:
    """Return whether every comma or point of a column could separate thousands."""
    cells = pc.utf8_trim_whitespace(column.filter(has_mark))
    return pc.all(pc.match_substring_regex(cells, _THOUSANDS)).as_py() is not False


def _first(mask: Any) -> int:
    row = int(pc.index(mask, value=True).as_py())
    return row if row >= 0 else len(mask)


def numbers(
    column: Any,
    name: str,
    place: Place,
    faults: FaultList,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> FloatArray:
    """Return ``(n,)`` float64 of a column; a cell without a finite number in bounds is a fault.

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
        _report_bad(column, bad, name=name, place=place, faults=faults)
    low, high = bounds
    with np.errstate(invalid="ignore"):
        outside = np.flatnonzero(np.isfinite(values) & ((values < low) | (values > high)))
    kind = "out of range"

    def fault(position: int) -> Fault:
        message = (
            f"{values[position]:.12g} is outside [{low:g}, {high:g}]: write a number in this range."
        )
        return place.fault(kind, message, position, name)

    faults.add_each(kind, outside.tolist(), fault)
    if len(outside) and bounds == (0.0, 1.0):
        finite = values[np.isfinite(values)]
        percent = finite.min() >= 0 and finite.max() <= 100
        faults.explain(kind, _PERCENT if percent else _SCORES)
    return values


def _cast(column: Any) -> FloatArray:
    """Return the numbers of a column, durations in seconds; NaN for any other cell."""
    if pa.types.is_duration(column.type):
        column = written_time(column)
    if pa.types.is_temporal(column.type):
        return np.full(len(column), np.nan)
    try:
        cast = _as_float64(column, safe=is_text(column))
    except pa.ArrowInvalid:
        text = pc.replace_substring(pc.utf8_trim_whitespace(column), _MINUS, "-")
        numeric = _digits_for_booleans(text)
        if pc.all(pc.is_in(numeric, value_set=pa.array(_BOOLEANS.values()))).as_py():
            text = numeric
        cast = pc.cast(pc.if_else(is_number(text), text, "nan"), pa.float64())
    if cast.null_count:
        cast = pc.fill_null(cast, np.nan)
    values: FloatArray = cast.to_numpy(zero_copy_only=False)
    return values


def _digits_for_booleans(text: Any) -> Any:
    """Return the cells with 1 and 0 instead of true and false in any case."""
    lower = pc.utf8_lower(text)
    for word, digit in _BOOLEANS.items():
        text = pc.if_else(pc.equal(lower, word), digit, text)
    return text


def _as_float64(column: Any, *, safe: bool) -> Any:
    """Return what ``pc.cast`` does, without the import of ``pyarrow.compute``.

    That writes 300 functions, which takes most of the time in which a process reads a file whose
    cells are all valid.
    """
    from pyarrow._compute import CastOptions, call_function

    options = (CastOptions.safe if safe else CastOptions.unsafe)(pa.float64())
    return call_function("cast", [column], options)


def is_missing(column: Any) -> npt.NDArray[np.bool_]:
    """Return ``(n,)`` whether a cell is empty, or says that there is no value.

    >>> is_missing(pa.array(["0", "", "NaN", None])).tolist(), is_missing(pa.array([1.0, np.nan]))
    ([False, True, True, True], array([False,  True]))
    """
    text = pc.utf8_lower(pc.utf8_trim_whitespace(to_text(column)))
    missing = pc.is_in(text, pa.array(["", *NOT_A_NUMBER]))
    return np.asarray(missing.to_numpy(zero_copy_only=False))


def is_number(text: Any) -> Any:
    """Return a mask of the cells that contain a decimal number.

    >>> is_number(pa.array(["1e5", "+.5", "0x1", "nan"])).to_pylist()
    [True, True, False, False]
    """
    return pc.match_substring_regex(text, _NUMBER)


def _report_bad(
    column: Any, bad: npt.NDArray[np.intp], name: str, place: Place, faults: FaultList
) -> None:
    cells = to_text(column.take(pa.array(bad)))
    reasons = _reasons(cells, faults)
    for reason, (kind, template) in enumerate(_BAD_CELLS):

        def fault(row: int, kind: str = kind, template: str = template) -> Fault:
            what = show(cells[row].as_py()) if place.quoted else _UNQUOTED
            return place.fault(kind, template.format(what), int(bad[row]), name)

        faults.add_each(kind, np.flatnonzero(reasons == reason).tolist(), fault)
    text = pc.utf8_lower(pc.utf8_trim_whitespace(cells.filter(pa.array(reasons == _NO_NUMBER))))
    for form, cause in _FORMS:
        if len(text) and pc.mean(pc.match_substring_regex(text, form)).as_py() > 0.5:
            faults.explain("not a number", cause)
            break


def _reasons(cells: Any, faults: FaultList) -> npt.NDArray[np.int8]:
    """Return ``(n,)`` positions in ``_BAD_CELLS``, or ``_REPORTED``."""
    text = pc.utf8_lower(pc.utf8_trim_whitespace(cells))
    masks = (
        pc.equal(text, ""),
        pc.is_in(text, value_set=pa.array(NOT_A_NUMBER)),
        pc.or_(pc.match_substring_regex(text, _INFINITE), is_number(text)),
        pc.match_substring_regex(text, _DECIMAL_COMMA),
    )
    choices = (_EMPTY, _NAN, _INFINITY, _COMMA, _REPORTED)
    reason_masks = [mask.to_numpy(zero_copy_only=False) for mask in masks]
    reason_masks.append(with_replaced_bytes(cells, faults))
    return np.select(reason_masks, choices, default=_NO_NUMBER).astype(np.int8)


def merge_equal_numbers(labels: Sequence[str]) -> dict[str, Decimal] | None:
    """Return the exact number of each label, or None if a label is not a number.

    Truth values are 1 and 0 if there are no other numbers. A label with a leading zero, such as a
    zip code, is text.

    >>> merge_equal_numbers(["1", "1.0"]), merge_equal_numbers(["7", "007"])
    ({'1': Decimal('1'), '1.0': Decimal('1.0')}, None)
    >>> merge_equal_numbers(["True", "0"]), merge_equal_numbers(["True", "2"])
    ({'True': Decimal('1'), '0': Decimal('0')}, None)
    """
    text = pc.utf8_trim_whitespace(pa.array(labels, pa.string()))
    digits = _digits_for_booleans(text)
    if pc.all(pc.is_in(digits, value_set=pa.array(_BOOLEANS.values()))).as_py():
        text = digits
    if not len(text) or not pc.all(is_number(text)).as_py():
        return None
    if pc.any(pc.match_substring_regex(text, r"^[+-]?0[0-9]")).as_py():
        return None
    try:
        return {label: Decimal(cell) for label, cell in zip(labels, text.to_pylist(), strict=True)}
    except InvalidOperation:  # an exponent of more than 18 digits
        return None


def label_codes(
    column: Any,
    classes: Sequence[str],
    name: str,
    place: Place,
    faults: FaultList,
    *,
    sendable: Sequence[str],
) -> FloatArray:
    """Return ``(n,)`` codes of labels as float64; an unknown label is a fault.

    Labels are compared as text, or by value if all classes that may be sent are numbers. The fault
    quotes the cell and never a label of the solution. ``sendable`` are these classes: whether there
    are others changes nothing.
    """
    encoded = to_text(column).dictionary_encode()
    written = encoded.dictionary
    code_of_sendable = np.array([*map(classes.index, sendable), np.nan])
    sendable_codes = _codes_of_text(written, sendable)
    positions = np.where(np.isnan(sendable_codes), len(sendable), sendable_codes).astype(np.intp)
    of_written = code_of_sendable[positions]
    codes: FloatArray = of_written[encoded.indices.to_numpy()]

    def fault(position: int, kind: str) -> Fault:
        cell = written[encoded.indices[position].as_py()].as_py()
        message = (
            "The cell is empty: write a label."
            if kind == "empty cell"
            else f"{show(cell)} is not a label of this competition. Upper and lower case and "
            "spaces must match."
        )
        return place.fault(kind, message, position, name)

    blank = pc.equal(pc.utf8_trim_whitespace(written), "").to_numpy(zero_copy_only=False)
    has_replacement = with_replaced_bytes(written, faults)
    for kind, mask in (("empty cell", blank), ("unknown label", ~blank & ~has_replacement)):
        wrong = np.flatnonzero((mask & np.isnan(of_written))[encoded.indices.to_numpy()])
        faults.add_each(kind, wrong.tolist(), partial(fault, kind=kind))
    if not {label.lower() for label in sendable}.isdisjoint(NOT_A_NUMBER):
        faults.explain("empty cell", READ_AS_MISSING)
    unknown = written.filter(pa.array(np.isnan(of_written) & ~blank & ~has_replacement))
    if len(unknown):
        faults.explain("unknown label", _cause_of_labels(unknown, sendable))
    return codes


def _cause_of_labels(unknown: Any, classes: Sequence[str]) -> str | None:
    """Return the cause that applies to more than half of the distinct unknown labels, or None."""
    cause = common_cause(reasons_of(unknown, pa.array(classes, pa.string())))
    if cause is not None:
        return cause
    text = pc.utf8_trim_whitespace(unknown)
    cells = text.filter(is_number(text))
    values = pc.cast(cells, pa.float64()).to_numpy(zero_copy_only=False)
    fractions = np.floor(values) != values
    if 2 * fractions.sum() <= len(unknown):
        return None
    return _PROBABILITIES if ((values >= 0) & (values <= 1)).all() else _VALUES


def _codes_of_text(written: Any, classes: Sequence[str]) -> FloatArray:
    """Return the code of each text; NaN for an unknown label."""
    written = composed(written)
    positions = pc.index_in(written, value_set=pa.array(classes, pa.string()))
    as_float = pc.fill_null(pc.cast(positions, pa.float64()), np.nan)
    codes: FloatArray = np.array(as_float, dtype=np.float64)
    values = merge_equal_numbers(classes)
    if values is None:
        return codes
    code_of = {values[label]: code for code, label in enumerate(classes)}
    text = pc.utf8_trim_whitespace(written)
    if set(code_of) == {0, 1}:
        text = _digits_for_booleans(text)
    candidates = np.isnan(codes) & is_number(text).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(candidates):
        with contextlib.suppress(InvalidOperation):
            codes[row] = code_of.get(Decimal(text[int(row)].as_py()), np.nan)
    return codes
