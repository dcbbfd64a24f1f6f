"""Reads files in which each line is a text, such as a translation, and its number is the id."""

from __future__ import annotations

import pyarrow as pa

from arena.intake.table import Bounds, count_from_one
from arena.interfaces.faults import FaultList
from arena.types import RawTable

_LINE = "line"
"""The column of the numbers of the lines."""


def read_lines(data: bytes, name: str, bounds: Bounds, faults: FaultList) -> RawTable:
    r"""Return a table with the numbers of the lines, from 1, and their texts in a column ``name``.

    Parameters
    ----------
    data
        Valid UTF-8 without a byte order mark. Lines end in LF or CRLF; an empty line is an empty
        text, and the last line need not end.
    bounds
        The maximum number of rows.

    Raises
    ------
    Refused
        If there are no lines, or too many; the fault has been added.

    Examples
    --------
    >>> table = read_lines(b"a, b\r\n\nc", "text", Bounds(10, 2, 99), FaultList())
    >>> table.names, [column.to_pylist() for column in table.columns]
    (('line', 'text'), [['1', '2', '3'], ['a, b', '', 'c']])
    """
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if not data:
        faults.refuse("empty file", "The file is empty: send one line for each id.")
    if n_lines > bounds.rows:
        faults.refuse("too many rows", f"The file has {n_lines:,} lines: send one for each id.")
    lines = data.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n")
    numbers = [str(number) for number in range(1, n_lines + 1)]
    return RawTable(
        (_LINE, name), (pa.array(numbers), pa.array(lines, pa.string())), count_from_one
    )
