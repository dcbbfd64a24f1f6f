"""Reads files in which each line, or block of lines, is a text, such as a translation."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence

import pyarrow as pa

from arena.intake.table import Bounds, count_from_one
from arena.interfaces.faults import FaultList
from arena.types import RawTable
from arena.utils.text import plural

LINE, BLOCK = "line", "block"
"""The ids of rows without others: the number of the line, or of the block of lines."""


def read_lines(
    data: bytes, name: str, bounds: Bounds, faults: FaultList, *, blocks: bool = False
) -> RawTable:
    r"""Return a table with the numbers of the lines, from 1, and their texts in a column ``name``.

    Parameters
    ----------
    data
        Valid UTF-8 without a byte order mark. Lines end in LF or CRLF; an empty line is an empty
        text, and the last line need not end.
    bounds
        The maximum number of rows.
    blocks
        Whether the rows are blocks of lines, which empty lines separate. A block of several lines
        is a JSON list of them, such as several references. Without empty lines each line is one.

    Raises
    ------
    Refused
        If there are no lines, or too many; the fault has been added.

    Examples
    --------
    >>> table = read_lines(b"a, b\r\n\nc", "text", Bounds(10, 2, 99), FaultList())
    >>> table.names, [column.to_pylist() for column in table.columns]
    (('line', 'text'), [['1', '2', '3'], ['a, b', '', 'c']])
    >>> table = read_lines(b"a\nb\n\nc\n", "text", Bounds(10, 2, 99), FaultList(), blocks=True)
    >>> table.names, [column.to_pylist() for column in table.columns]
    (('block', 'text'), [['1', '2'], ['["a", "b"]', 'c']])
    """
    if not data:
        faults.refuse("empty file", "The file is empty: send one line for each id.")
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if n_lines > bounds.rows and not blocks:
        faults.refuse(
            "too many rows", f"The file has {plural(n_lines, 'line')}: send one for each id."
        )
    lines = data.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n")
    texts = list(_blocks(lines)) if blocks and b"" in lines else lines
    if len(texts) > bounds.rows:
        faults.refuse(
            "too many rows", f"The file has {plural(len(texts), 'block')}: send one for each id."
        )
    numbers = [str(number) for number in range(1, len(texts) + 1)]
    names = (BLOCK if blocks else LINE, name)
    return RawTable(names, (pa.array(numbers), pa.array(texts, pa.string())), count_from_one)


def _blocks(lines: Sequence[bytes]) -> Iterator[str]:
    for is_block, group in itertools.groupby(lines, key=bool):
        if is_block:
            texts = [line.decode() for line in group]
            yield texts[0] if len(texts) == 1 else json.dumps(texts, ensure_ascii=False)
