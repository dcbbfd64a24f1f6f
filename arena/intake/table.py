"""Row numbers in the file of each row of a table, and the largest table that is read."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

CHUNK = 2**24
"""Bytes in which ends of lines are sought at a time."""
_LF, _CR = 10, 13


@dataclass(frozen=True, slots=True)
class Bounds:
    """The largest table that is read."""

    rows: int
    columns: int
    unpacked_bytes: int


MAX_SOLUTION_BYTES = 2**31 - 2**20
"""Maximum size of a solution file, compressed and decompressed."""

SOLUTION_BOUNDS = Bounds(2**31 - 1, 20_000, MAX_SOLUTION_BYTES)
"""Maximum size of the table in a solution or another file of the organiser."""

ROW_NUMBERS = ("", "Unnamed: 0", "__index_level_0__")
"""What R and pandas call the column of row numbers that they write."""


def count_from_one(position: int) -> int:
    """Return the row number in a file without lines.

    >>> count_from_one(0)
    1
    """
    return position + 1


class RowNumbers:
    """The line number of each row of a CSV file, with header, blank lines and quotes counted.

    Computed on first use, because a file without faults needs no line numbers. Takes four bytes per
    line.

    Parameters
    ----------
    data
        The text, from its first byte.
    delimiter
        The field separator.
    skipped
        Records after the header, from 0, that are not rows of the table.
    n_leading
        The number of records before the rows: 1 for a header.

    Examples
    --------
    >>> rows = RowNumbers(b"id,y" + bytes([10, 10]) + b"a,1", ",")
    >>> rows(0)
    3
    """

    def __init__(
        self,
        data: bytes,
        delimiter: str,
        skipped: frozenset[int] = frozenset(),
        *,
        n_leading: int = 1,
    ) -> None:
        self._data = data
        self._n_leading = n_leading
        self._delimiter = delimiter
        self._skipped = skipped

    def __call__(self, position: int) -> int:
        """Return the line of the row at a position of the table.

        In a damaged file parsers may split records differently; then the line is approximate.
        """
        records = self._records_of_rows
        if records is None:
            return self.line_of_record(position)
        in_range = position < len(records)
        return self.line_of_record(
            int(records[position]) if in_range else position + len(self._skipped)
        )

    def line_of_record(self, record: int) -> int:
        """Return the line in which a record starts; the first one after the header is 0."""
        lines = self._lines
        return int(lines[min(record + self._n_leading, len(lines) - 1)]) if len(lines) else 1

    @cached_property
    def _records_of_rows(self) -> npt.NDArray[np.intp] | None:
        if not self._skipped:
            return None
        everything = np.arange(len(self._lines) - self._n_leading)
        return np.setdiff1d(everything, np.fromiter(self._skipped, dtype=np.intp))

    @cached_property
    def _lines(self) -> npt.NDArray[np.int32]:
        """The first line of each record, header included."""
        if b'"' in self._data:
            try:
                return _lines_of_quoted(self._data, self._delimiter)
            except csv.Error:
                pass  # a field beyond csv's limit: assume that no quoted field contains a line end
        return _lines_of_plain(self._data)


def _lines_of_quoted(data: bytes, delimiter: str) -> npt.NDArray[np.int32]:
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader = csv.reader(text, delimiter=delimiter)
    lines, start = [], 1
    for record in reader:
        if record:
            lines.append(start)
        start = reader.line_num + 1
    return np.array(lines, dtype=np.int32)


def _lines_of_plain(data: bytes) -> npt.NDArray[np.int32]:
    """Return the numbers of the lines that are not blank."""
    text = np.frombuffer(data, dtype=np.uint8)
    lines, line, after_end = [], 1, True
    for start in range(0, len(text), CHUNK):
        chunk = text[start : start + CHUNK]
        following = text[start + 1 : start + CHUNK + 1]
        ends = (chunk == _LF) | (chunk == _CR)
        blank = ends.copy()
        # CRLF ends a line at its second byte.
        ends[: len(following)] &= ~((chunk[: len(following)] == _CR) & (following == _LF))
        starts = np.concatenate(([after_end], ends[:-1])) & ~blank
        numbers = line + np.searchsorted(np.flatnonzero(ends), np.flatnonzero(starts))
        lines.append(numbers.astype(np.int32))
        line += int(ends.sum())
        after_end = bool(ends[-1])
    return np.concatenate(lines) if lines else np.zeros(0, dtype=np.int32)
