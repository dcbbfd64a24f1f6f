"""CSV text to a table of text columns, with every row that has too many or too few fields.

The header is read first, alone, so that repeated and unknown names are seen as they are written.
Then pyarrow parses everything as text: no guess at types or at missing values is made.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from arena.intake.encoding import line_of
from arena.intake.faults import FaultList, plural
from arena.intake.row_numbers import RowNumbers
from arena.intake.table import RawTable

__all__ = ["MAX_COLUMNS", "read_csv"]

MAX_COLUMNS = 20_000
"""More columns than this are not parsed."""

_DELIMITERS = (",", ";", "\t")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_BLANK_LINES = re.compile(rb"[\r\n]*")
_MAX_HEADER = 2**20
_MAX_BLOCK = 2**30
_MAX_BROKEN_ROWS = 10_000


@dataclass
class _BrokenRows:
    """Takes the rows that pyarrow cannot split into the header's fields."""

    numbers: list[int] = field(default_factory=list)
    found: list[int] = field(default_factory=list)
    last_text: str = ""

    def __call__(self, row: Any) -> str:
        """Remember a row and skip it; give up when there is no end of them."""
        self.last_text = row.text
        self.numbers.append(row.number - 1)
        self.found.append(row.actual_columns if row.text.strip() else 0)
        return "skip" if len(self.numbers) < _MAX_BROKEN_ROWS else "error"


def read_csv(data: bytes, expected: Iterable[str], faults: FaultList) -> RawTable | None:
    """Return the table in UTF-8 text, or None and a fault when there is none.

    Parameters
    ----------
    data
        Valid UTF-8 without a byte order mark; lines end in LF, CRLF or CR, fields are separated
        by comma, semicolon or tab. A memory of about three times its size is needed.
    expected
        Names that tell which delimiter the file uses; empty: the one that splits most.
    faults
        Takes rows with too many or too few fields, a missing body, and a last line cut short.
    """
    start = _end_of_blank_lines(data, 0)
    if start == len(data):
        faults.add("empty file", "The file is empty: send a header line and one row per id.")
        return None
    end = _end_of_record(data, start)
    header = data[start:end].decode("utf-8").strip("\r\n")
    delimiter, names = _split_header(header, frozenset(expected))
    header_row = line_of(data, start)
    if not names or len(names) > MAX_COLUMNS:
        faults.add(
            "unreadable header", "The first line is no list of column names.", row=header_row
        )
        return None
    body = pa.py_buffer(data).slice(end)
    if _end_of_blank_lines(data, end) == len(data):
        message = "The file holds a header line only: add one row per id."
        faults.add("no rows", message, row=header_row)
        return None
    broken = _BrokenRows()
    columns = _parse(body, delimiter, len(names), b'"' in data, broken)
    numbers = RowNumbers(data, delimiter, frozenset(broken.numbers))
    _report(broken, len(names), data, numbers, faults)
    if columns is None:
        return None
    return RawTable(tuple(names), columns, numbers, header_row, decimal_comma=delimiter != ",")


def _end_of_blank_lines(data: bytes, start: int) -> int:
    found = _BLANK_LINES.match(data, start)
    return found.end() if found else start


def _end_of_record(data: bytes, start: int) -> int:
    """Return where the record at ``start`` ends; quoted fields may hold line ends."""
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


def _split_header(header: str, expected: frozenset[str]) -> tuple[str, list[str]]:
    """Return the delimiter that finds most of the expected names, then most names, and these."""

    def fields(delimiter: str) -> list[str]:
        try:
            return next(csv.reader([header], delimiter=delimiter), [])
        except csv.Error:
            return []

    split = {delimiter: fields(delimiter) for delimiter in _DELIMITERS}
    best = max(split, key=lambda d: (len(expected.intersection(split[d])), len(split[d])))
    return best, split[best]


def _parse(
    body: Any, delimiter: str, n_columns: int, quoted: bool, broken: _BrokenRows
) -> tuple[Any, ...] | None:
    names = [str(i) for i in range(n_columns)]
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(body),
            # One thread, since files are read side by side; one block, so that no field is cut.
            read_options=pa_csv.ReadOptions(
                use_threads=False,
                block_size=min(len(body) + 1, _MAX_BLOCK),
                column_names=names,
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quoted else False,  # without, a third faster
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
    return tuple(_one_chunk(column) for column in table.columns)


def _one_chunk(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _report(
    broken: _BrokenRows, expected: int, data: bytes, numbers: RowNumbers, faults: FaultList
) -> None:
    """Add a fault for every row that could not be split; rows of blanks only are forgiven."""
    for record, found in zip(broken.numbers, broken.found, strict=True):
        if not found:
            continue
        row = numbers.line_of_record(record)
        last = record == broken.numbers[-1]
        cut = last and not data.endswith((b"\n", b"\r"))
        if last and broken.last_text.count('"') % 2:
            message = "A quotation mark opens here and is never closed: close or remove it."
            faults.add("unclosed quote", message, row=row)
        elif cut and found < expected and data.endswith(broken.last_text.encode()):
            message = "The last line stops short: the file was cut off. Write and send it again."
            faults.add("truncated file", message, row=row)
        else:
            kind = "too few fields" if found < expected else "too many fields"
            message = f"The row has {plural(found, 'field')} where the header has {expected:,}."
            faults.add(kind, message, row=row)
    if len(broken.numbers) >= _MAX_BROKEN_ROWS:
        message = f"{_MAX_BROKEN_ROWS:,} rows do not fit the header; reading was stopped there."
        faults.add("too many broken rows", message)
