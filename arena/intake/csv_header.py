"""Finds the header of a CSV text: the lines before it, the delimiter and the column names."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from arena.intake.encoding import line_of
from arena.interfaces.faults import FaultList, show_all
from arena.utils.text import plural

_DELIMITERS = (",", ";", "\t", "|")
_BLANKS = re.compile(rb"[ \t]+")
_TABS_AROUND_LINES = re.compile(rb"(?m)(?:^|(?<=\r))\t|\t(?=\r|$)")
_QUOTED_OR_BLANKS = re.compile(rb'("[^"]*")|[ \t]+')
_COMMENT = b"#"
_MOST_COMMENTS = 1_000
_SEPARATOR = re.compile(rb'"?sep=([,;\t|])"?')
"""The first line of a file that names the delimiter for Excel."""
_LINE_END = re.compile(rb"\r\n|\r|\n")
_BLANK_LINES = re.compile(rb"[\r\n]*")
_MAX_HEADER = 2**22


@dataclass(frozen=True, slots=True)
class CsvHeader:
    """The columns of a CSV text, and where its rows begin."""

    data: bytes
    """The text, with tabs instead of blanks if blanks separate its fields."""
    names: tuple[str, ...]
    delimiter: str
    end: int
    """Where the rows begin in the text."""
    row: int
    """The line of the header, or of the first row if there is none."""
    n_leading: int
    """The number of records before the rows."""
    line: bytes | None
    """The header line; None: the text has none."""


def find_header(
    data: bytes, expected: Iterable[str], header: Sequence[str], faults: FaultList
) -> CsvHeader:
    """Return the header of a CSV text; the parameters are those of :func:`read_csv`.

    Raises
    ------
    Refused
        If there is none; the fault has been added.
    """
    expected_names = tuple(expected)
    start = end_of_blank_lines(data, 0)
    if start == len(data):
        faults.refuse("empty file", "The file is empty: send a header line and one row per id.")
    start, n_leading = _skip_comments(data, start, expected_names)
    end = _end_of_record(data, start)
    stated = _SEPARATOR.fullmatch(data[start:end].rstrip(b"\r\n"))
    if stated is not None:
        n_leading += 1
        start = end_of_blank_lines(data, end)
        end = _end_of_record(data, start)
    elif _is_separated_by_blanks(data, start, end):
        data = data[:start] + _with_tabs(data[start:])
        end = _end_of_record(data, start)
    row = line_of(data, start)
    if end - start > _MAX_HEADER:
        message = (
            f"The first line has {plural(end - start, 'byte')}: write a header line, then the rows."
        )
        faults.refuse("unreadable header", message, row=row)
    delimiters = _DELIMITERS if stated is None else (stated[1].decode("ascii"),)
    delimiter, names = _split_header(_line(data, start, end), frozenset(expected_names), delimiters)
    is_written = not header or not set(header).isdisjoint(names)
    if not is_written:
        if len(names) != len(header):
            message = (
                f"The first line has {plural(len(names), 'field')}, but without a header line "
                f"there must be {len(header):,}: {show_all(header)}."
            )
            faults.refuse("wrong number of columns", message, row=row)
        names, end = list(header), start
    elif delimiter != "," and _names_rows(data, end, delimiter, len(names)):
        names.insert(0, "")
    if not names:
        faults.refuse("unreadable header", "The first line is not a list of column names.", row=row)
    line = data[start:end].strip(b"\r\n") if is_written else None
    return CsvHeader(
        data=data,
        names=tuple(names),
        delimiter=delimiter,
        end=end,
        row=row,
        n_leading=n_leading + is_written,
        line=line,
    )


def end_of_blank_lines(data: bytes, start: int) -> int:
    """Return where the first line at or after ``start`` begins that is not blank."""
    blank = _BLANK_LINES.match(data, start)
    return blank.end() if blank else start


def _end_of_record(data: bytes, start: int) -> int:
    """Return the end of the record at ``start``; quoted fields may contain line ends."""
    quotes, position = 0, start
    while position < min(len(data), start + _MAX_HEADER):
        line_end = _LINE_END.search(data, position)
        if line_end is None:
            return len(data)
        quotes += data.count(b'"', position, line_end.start())
        position = line_end.end()
        if quotes % 2 == 0:
            return position
    first = _LINE_END.search(data, start)
    return first.end() if first else len(data)


def _split_header(
    header: str, expected: frozenset[str], delimiters: Sequence[str]
) -> tuple[str, list[str]]:
    """Return the delimiter that yields most expected names, then most names; and the names."""
    split = {delimiter: _fields(header, delimiter) for delimiter in delimiters}
    best = max(split, key=lambda d: (len(expected.intersection(split[d])), len(split[d])))
    return best, split[best]


def _fields(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _line(data: bytes, start: int, end: int) -> str:
    return data[start : min(end, start + _MAX_HEADER)].decode(errors="replace").strip("\r\n")


def _n_fields(line: str, delimiter: str | None) -> int:
    """Return the number of fields of a line; None: blanks separate them."""
    return len(line.split() if delimiter is None else _fields(line, delimiter))


def _skip_comments(data: bytes, start: int, expected: Sequence[str]) -> tuple[int, int]:
    """Return the start of the first line that is no comment, and the number of comments.

    A line that begins with ``#`` is the header if the first line that does not begin with it has as
    many fields, by the separator of that line, and lacks the first expected name, such as the id's.
    """
    starts: list[int] = []
    position = start
    while data.startswith(_COMMENT, position) and len(starts) < _MOST_COMMENTS:
        starts.append(position)
        line_end = _LINE_END.search(data, position)
        position = end_of_blank_lines(data, len(data) if line_end is None else line_end.end())
    if not starts or position == len(data):
        return start, 0
    first = _line(data, position, _end_of_record(data, position))
    best, fields = _split_header(first, frozenset(expected), _DELIMITERS)
    if expected and expected[0] in fields:
        return position, len(starts)
    delimiter = best if len(fields) > 1 else None
    n_fields = _n_fields(first, delimiter)
    for number, (begin, end) in enumerate(itertools.pairwise([*starts, position])):
        if _n_fields(_line(data, begin, end), delimiter) == n_fields:
            return begin, number
    return position, len(starts)


def _is_separated_by_blanks(data: bytes, start: int, end: int) -> bool:
    """Return whether the first lines have several fields only if blanks separate them."""
    first = data[start:end]
    if end - start > _MAX_HEADER or any(mark.encode() in first for mark in _DELIMITERS):
        return False
    second = end_of_blank_lines(data, end)
    n_first, n_second = (
        _with_tabs(line).rstrip(b"\r\n").count(b"\t") + 1
        for line in (first, data[second : _end_of_record(data, second)])
    )
    return n_first > 1 and n_second - n_first in (0, 1)


def _with_tabs(text: bytes) -> bytes:
    r"""Return a text with a tab between fields that blanks separate.

    >>> _with_tabs(b' "a b"  1')
    b'"a b"\t1'
    """
    if b'"' in text:
        text = _QUOTED_OR_BLANKS.sub(lambda part: part[1] or b"\t", text)
    else:
        text = _BLANKS.sub(b"\t", text)
    return _TABS_AROUND_LINES.sub(b"", text)


def _names_rows(data: bytes, end: int, delimiter: str, n_names: int) -> bool:
    """Return whether rows begin with a name that the header lacks, as R writes them."""
    start = end_of_blank_lines(data, end)
    fields = _fields(_line(data, start, _end_of_record(data, start)), delimiter)
    return len(fields) == n_names + 1 and bool(fields[-1])
