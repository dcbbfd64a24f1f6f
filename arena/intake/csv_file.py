"""Parses CSV to a table of text columns and reports rows with too many or too few fields.

The header is read separately, so that repeated and unknown names are preserved. Then pyarrow parses
everything as text: types and missing values are not inferred.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from arena.intake.encoding import line_of
from arena.intake.equal_texts import composed_names
from arena.intake.table import Bounds, RowNumbers
from arena.interfaces.faults import FaultList, plural, show_all
from arena.types import RawTable

_DELIMITERS = (",", ";", "\t")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_BLANK_LINES = re.compile(rb"[\r\n]*")
_MAX_HEADER = 2**22
_PIECE = 2**16
"""Bytes that are counted at once: arrays of this size are not allocated from the system."""
_MAX_BLOCK = 2**30
_MAX_BROKEN_ROWS = 10_000
_BYTES_PER_ROW = 6
"""Of the most rows that are read. Parsing a smaller file takes little memory whatever is in it, so
its rows are not counted before, which takes a tenth of the time."""
_SEPARATOR = re.compile(rb'"?sep=([,;\t|])"?')
"""The first line of a file that names the delimiter for Excel."""
_COMMA_DECIMAL = re.compile(r"(^|,)[+-]?\d+,\d+(,|$)")
_DECIMAL_COMMAS = (
    "decimal commas may split the fields: write decimal points, or semicolons between the columns"
)
_QUOTE, _LF, _CR = b'"\n\r'


@dataclass
class _BrokenRows:
    """Collects the rows that pyarrow cannot split into the header's fields."""

    numbers: list[int] = field(default_factory=list)
    found: list[int] = field(default_factory=list)
    last_text: str = ""

    def __call__(self, row: Any) -> str:
        """Record a row and skip it; stop after too many."""
        self.last_text = row.text
        self.numbers.append(row.number - 1)
        self.found.append(row.actual_columns if row.text.strip() else 0)
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
        comma, semicolon or tab. Parsing takes about three times its size in memory.
    expected
        Names by which the delimiter is recognised; empty: the delimiter with the most fields.
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
    start = _end_of_blank_lines(data, 0)
    if start == len(data):
        faults.refuse("empty file", "The file is empty: send a header line and one row per id.")
    end = _end_of_record(data, start)
    stated = _SEPARATOR.fullmatch(data[start:end].rstrip(b"\r\n"))
    n_leading = int(stated is not None)
    if stated is not None:
        start = _end_of_blank_lines(data, end)
        end = _end_of_record(data, start)
    header_row = line_of(data, start)
    if end - start > _MAX_HEADER:
        message = f"The first line has {end - start:,} bytes: write a header line, then the rows."
        faults.refuse("unreadable header", message, row=header_row)
    line = data[start:end].decode("utf-8").strip("\r\n")
    delimiters = _DELIMITERS if stated is None else (stated[1].decode("ascii"),)
    delimiter, names = _split_header(line, frozenset(expected), delimiters)
    has_header = not header or not set(header).isdisjoint(names)
    if not has_header:
        if len(names) != len(header):
            message = (
                f"The first line has {plural(len(names), 'field')}, but without a header line "
                f"there must be {len(header):,}: {show_all(header)}."
            )
            faults.refuse("wrong number of columns", message, row=header_row)
        names, end = list(header), start
    if not names:
        faults.refuse(
            "unreadable header", "The first line is not a list of column names.", row=header_row
        )
    if len(names) > bounds.columns:
        message = f"The first line has {len(names):,} column names: keep only the required ones."
        faults.refuse("unreadable header", message, row=header_row)
    if len(data) > _BYTES_PER_ROW * bounds.rows:
        _refuse_more_rows(_count_records(data, end), bounds, faults)
    body = pa.py_buffer(data).slice(end)
    if _end_of_blank_lines(data, end) == len(data):
        message = "The file contains only a header line: add one row per id."
        faults.refuse("no rows", message, row=header_row)
    broken = _BrokenRows()
    columns = _parse(body, delimiter, len(names), b'"' in data, broken)
    numbers = RowNumbers(
        data, delimiter, frozenset(broken.numbers), n_leading=n_leading + has_header
    )
    _report(broken, len(names), data, numbers, faults)
    if columns is None:
        message = f"{_MAX_BROKEN_ROWS:,} rows do not match the header; reading was stopped."
        faults.refuse("too many broken rows", message)
    _refuse_more_rows(len(columns[0]), bounds, faults)
    return RawTable(
        composed_names(names),
        columns,
        numbers,
        header_row if has_header else None,
        decimal_comma=delimiter != ",",
    )


def _refuse_more_rows(n_rows: int, bounds: Bounds, faults: FaultList) -> None:
    if n_rows > bounds.rows:
        faults.refuse("too many rows", f"The file has {n_rows:,} rows: send one row per id.")


def _end_of_blank_lines(data: bytes, start: int) -> int:
    found = _BLANK_LINES.match(data, start)
    return found.end() if found else start


def _end_of_record(data: bytes, start: int) -> int:
    """Return the end of the record at ``start``; quoted fields may contain line ends."""
    quotes, at = 0, start
    while at < min(len(data), start + _MAX_HEADER):
        found = _LINE_END.search(data, at)
        if found is None:
            return len(data)
        quotes += data.count(b'"', at, found.start())
        at = found.end()
        if quotes % 2 == 0:
            return at
    first = _LINE_END.search(data, start)
    return first.end() if first else len(data)


def _count_records(data: bytes, start: int) -> int:
    """Return the number of records after ``start``, blank lines included, without parsing."""
    has_quotes, inside = b'"' in data, False
    line_ends = (_LF, _CR) if b"\r" in data else (_LF,)
    ends = np.zeros(len(line_ends), dtype=np.intp)
    for at in range(start, len(data), _PIECE):
        piece = np.frombuffer(data, np.uint8, count=min(_PIECE, len(data) - at), offset=at)
        if has_quotes:
            quoted = np.logical_xor.accumulate(piece == _QUOTE) ^ inside
            inside = bool(quoted[-1])
            piece = piece[~quoted]
        # Much faster than bytes.count where the byte is frequent.
        ends += [np.count_nonzero(piece == end) for end in line_ends]
    return int(ends.max()) + (not data.endswith((b"\n", b"\r")))


def _split_header(
    header: str, expected: frozenset[str], delimiters: Sequence[str]
) -> tuple[str, list[str]]:
    """Return the delimiter that yields most expected names, then most names; and the names."""

    def fields(delimiter: str) -> list[str]:
        try:
            return next(csv.reader([header], delimiter=delimiter), [])
        except csv.Error:
            return []

    split = {delimiter: fields(delimiter) for delimiter in delimiters}
    best = max(split, key=lambda d: (len(expected.intersection(split[d])), len(split[d])))
    return best, split[best]


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
    for record, found in zip(broken.numbers, broken.found, strict=True):
        if not found:
            continue
        row = numbers.line_of_record(record)
        last = record == broken.numbers[-1]
        cut = last and not data.endswith((b"\n", b"\r"))
        if last and broken.last_text.count('"') % 2:
            message = "A quotation mark is opened here and never closed: close or remove it."
            faults.add("unclosed quote", message, row=row)
        elif cut and found < expected and data.endswith(broken.last_text.encode()):
            message = "The last line is incomplete, the file is truncated: write and send it again."
            faults.add("truncated file", message, row=row)
        else:
            kind = "too few fields" if found < expected else "too many fields"
            if found > expected and _COMMA_DECIMAL.search(broken.last_text):
                faults.explain(kind, _DECIMAL_COMMAS)
            message = f"The row has {plural(found, 'field')}, but the header has {expected:,}."
            faults.add(kind, message, row=row)
