"""Parses CSV to a table of text columns and reports rows with too many or too few fields.

The header is read separately (:mod:`arena.intake.csv_header`), so that repeated and unknown names
are preserved. Then pyarrow parses everything as text: types and missing values are not inferred.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from arena.intake.csv_header import CsvHeader, end_of_blank_lines, find_header
from arena.intake.encoding import line_of
from arena.intake.equal_texts import composed_names
from arena.intake.table import Bounds, RowNumbers
from arena.interfaces.faults import FaultList
from arena.types import Fault, RawTable
from arena.utils.lazy import pc
from arena.utils.text import plural

_PIECE = 2**16
"""Bytes that are counted at once: arrays of this size are not allocated from the system."""
_MAX_BLOCK = 2**30
_MAX_BROKEN_ROWS = 10_000
BYTES_PER_ROW = 6
"""Of the most rows that are read. Parsing a smaller file takes little memory whatever is in it, so
its rows are not counted before, which takes a tenth of the time."""
_COMMA_DECIMAL = re.compile(r"(^|,)[+-]?\d+,\d+(,|$)")
_DECIMAL_COMMAS = (
    "decimal commas may split the fields: write decimal points, or semicolons between the columns"
)
_QUOTE, _LF, _CR = b'"\n\r'


@dataclass
class _BrokenRows:
    """Collects the rows that pyarrow cannot split into the header's fields."""

    numbers: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    last_text: str = ""

    def __call__(self, row: Any) -> str:
        """Record a row and skip it; stop after too many."""
        self.last_text = row.text
        self.numbers.append(row.number - 1)
        self.widths.append(row.actual_columns if row.text.strip() else 0)
        return "skip" if len(self.numbers) < _MAX_BROKEN_ROWS else "error"


def read_csv(
    data: bytes,
    expected: Iterable[str],
    bounds: Bounds,
    faults: FaultList,
    *,
    header: Sequence[str] = (),
) -> RawTable:
    """Return the table of a CSV text.

    Parameters
    ----------
    data
        Valid UTF-8 without a byte order mark. Lines end in LF, CRLF or CR; fields are separated by
        comma, semicolon, tab or ``|``, or by blanks if the first line contains no such character.
        Lines at the start that begin with ``#`` are comments if the first other line has another
        number of fields, or the first expected name. Empty rows at the end are ignored. Parsing
        takes about three times its size in memory.
    expected
        Names by which the delimiter is recognised, that of the ids first; empty: the delimiter with
        the most fields.
    bounds
        The maximum number of rows and columns.
    faults
        Collects rows with too many or too few fields, a missing body, and a truncated last line.
    header
        The names of the columns of a file without a header line; empty: it has one. A first line
        with one of these names is a header.

    Raises
    ------
    Refused
        If the text contains no table; the fault has been added.
    """
    first = find_header(data, expected, header, faults)
    data, names = first.data, first.names
    if len(names) > bounds.columns:
        message = (
            f"The first line has {plural(len(names), 'column name')}: keep only the required ones."
        )
        faults.refuse("unreadable header", message, row=first.row)
    if len(data) > BYTES_PER_ROW * bounds.rows:
        _refuse_more_rows(count_records(data, first.end), bounds, faults)
    if end_of_blank_lines(data, first.end) == len(data):
        message = "The file contains only a header line: add one row per id."
        faults.refuse("no rows", message, row=first.row)
    broken, quoted = _BrokenRows(), b'"' in data
    body = pa.py_buffer(data).slice(first.end)
    columns = _parse(body, first.delimiter, n_columns=len(names), quoted=quoted, broken=broken)
    numbers = RowNumbers(
        data, first.delimiter, frozenset(broken.numbers), n_leading=first.n_leading
    )
    _report(broken, len(names), data=data, numbers=numbers, faults=faults)
    if columns is None:
        message = f"{_MAX_BROKEN_ROWS:,} rows do not match the header; reading was stopped."
        faults.refuse("too many broken rows", message)
    columns = _without_empty_end(columns)
    if not len(columns[0]) and not broken.numbers:
        faults.refuse("no rows", "All rows of the file are empty: add one row per id.")
    _refuse_more_rows(len(columns[0]), bounds, faults)
    if quoted:
        _report_misplaced_quotes(data, first, faults)
    # Most files are read without the import of pyarrow.compute, which takes long.
    if first.line is not None and _occurs(first.line, data, first.end):
        _report_repeated_header(names, columns, numbers, faults)
    return RawTable(
        composed_names(names),
        columns,
        numbers,
        None if first.line is None else first.row,
        decimal_comma=first.delimiter != ",",
    )


def _occurs(line: bytes, data: bytes, start: int) -> bool:
    """Return whether the data contain the line at or after ``start``."""
    # That a byte of it is missing, as in most files of ids and numbers, is found much faster.
    return all(data.find(byte, start) >= 0 for byte in set(line)) and data.find(line, start) >= 0


def _refuse_more_rows(n_rows: int, bounds: Bounds, faults: FaultList) -> None:
    if n_rows > bounds.rows:
        faults.refuse(
            "too many rows", f"The file has {plural(n_rows, 'row')}: send one row per id."
        )


def count_records(data: bytes, start: int) -> int:
    """Return the number of records after ``start``, blank lines included, without parsing."""
    has_quotes, inside = b'"' in data, False
    line_ends = (_LF, _CR) if b"\r" in data else (_LF,)
    ends = np.zeros(len(line_ends), dtype=np.intp)
    for offset in range(start, len(data), _PIECE):
        size = min(_PIECE, len(data) - offset)
        piece = np.frombuffer(data, np.uint8, count=size, offset=offset)
        if has_quotes:
            quoted = np.logical_xor.accumulate(piece == _QUOTE) ^ inside
            inside = bool(quoted[-1])
            piece = piece[~quoted]
        # Much faster than bytes.count where the byte is frequent.
        ends += [np.count_nonzero(piece == end) for end in line_ends]
    return int(ends.max()) + (not data.endswith((b"\n", b"\r")))


def _report_misplaced_quotes(data: bytes, first: CsvHeader, faults: FaultList) -> None:
    """Report each cell with text after its closing quotation mark, also in a later line.

    The parser joins the text to the cell and reports no error.
    """
    if _quotes_surround_cells(data, first):
        return
    cell = re.compile(
        rb'(?:\A|(?<=[\r\n%b]))"[^"]*+(?:""[^"]*+)*+"([^\r\n%b]*)'
        % (2 * (re.escape(first.delimiter.encode()),))
    )
    places = [match.start() for match in cell.finditer(data, first.end) if match[1].strip()]
    kind = "misplaced quote"

    def fault(place: int) -> Fault:
        match = cell.match(data, place)
        lines = match[0].splitlines() if match else ()
        of_later_line = " of a later line" if len(lines) > 1 else ""
        message = (
            f"A quotation mark is opened here and closed within a cell{of_later_line}: double each "
            f"quotation mark that is part of a text."
        )
        return Fault(kind, message, row=line_of(data, place))

    faults.add_each(kind, places, fault)


def _quotes_surround_cells(data: bytes, first: CsvHeader) -> bool:
    """Return whether nothing but the ends of cells stands before and after quoted texts."""
    text = np.frombuffer(data, np.uint8)
    is_end = np.zeros(256, dtype=np.bool_)
    is_end[[_QUOTE, _LF, _CR, ord(first.delimiter)]] = True
    is_quoted = False
    for start in range(first.end, len(text), _PIECE):
        places = start + np.flatnonzero(text[start : start + _PIECE] == _QUOTE)
        opening, closing = places[is_quoted::2], places[not is_quoted :: 2]
        before, after = opening[opening > first.end] - 1, closing[closing < len(text) - 1] + 1
        if not (is_end[text[before]].all() and is_end[text[after]].all()):
            return False
        is_quoted ^= len(places) % 2 == 1
    return not is_quoted


def _without_empty_end(columns: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the columns without empty rows at the end, which spreadsheets write."""
    if not len(columns[0]) or any(column[-1].as_py().strip() for column in columns):
        return columns
    has_content = np.zeros(len(columns[0]), dtype=np.bool_)
    for column in columns:
        blank = pc.equal(pc.utf8_trim_whitespace(column), "")
        has_content |= ~blank.to_numpy(zero_copy_only=False)
    n_rows = int(np.flatnonzero(has_content).max(initial=-1)) + 1
    return tuple(column.slice(0, n_rows) for column in columns)


def _report_repeated_header(
    names: Sequence[str], columns: Sequence[Any], numbers: RowNumbers, faults: FaultList
) -> None:
    """Add a fault for each row that repeats the header: files were joined."""
    repeated = np.ones(len(columns[0]), dtype=np.bool_)
    for name, column in zip(names, columns, strict=True):
        repeated &= pc.equal(column, name).to_numpy(zero_copy_only=False)
        if not repeated.any():
            return
    kind, message = "repeated header", "The row repeats the header line: remove it."
    faults.add_each(
        kind,
        np.flatnonzero(repeated).tolist(),
        lambda position: Fault(kind, message, row=numbers(position)),
    )


def _parse(
    body: Any, delimiter: str, n_columns: int, quoted: bool, broken: _BrokenRows
) -> tuple[Any, ...] | None:
    names = [str(i) for i in range(n_columns)]
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(body),
            # One thread, because files are read in parallel; one block, so that no field is split.
            read_options=pa_csv.ReadOptions(
                use_threads=False,
                block_size=min(len(body) + 1, _MAX_BLOCK),
                column_names=names,
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quoted else False,  # a third faster without
                newlines_in_values=quoted,
                invalid_row_handler=broken,
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=False,
                null_values=[],
                check_utf8=False,
            ),
        )
    except pa.ArrowInvalid:
        if len(broken.numbers) < _MAX_BROKEN_ROWS:
            raise
        return None
    return tuple(
        column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        for column in table.columns
    )


def _report(
    broken: _BrokenRows, expected: int, data: bytes, numbers: RowNumbers, faults: FaultList
) -> None:
    """Add a fault for every row that could not be split; rows of only spaces are ignored."""
    for record, width in zip(broken.numbers, broken.widths, strict=True):
        if not width:
            continue
        row = numbers.line_of_record(record)
        last = record == broken.numbers[-1]
        cut = last and not data.endswith((b"\n", b"\r"))
        if last and broken.last_text.count('"') % 2:
            message = "A quotation mark is opened here and never closed: close or remove it."
            faults.add("unclosed quote", message, row=row)
        elif cut and width < expected and data.endswith(broken.last_text.encode()):
            message = "The last line is incomplete, the file is truncated: write and send it again."
            faults.add("truncated file", message, row=row)
        else:
            kind = "too few fields" if width < expected else "too many fields"
            if width > expected and _COMMA_DECIMAL.search(broken.last_text):
                faults.explain(kind, _DECIMAL_COMMAS)
            message = f"The row has {plural(width, 'field')}, but the header has {expected:,}."
            faults.add(kind, message, row=row)
