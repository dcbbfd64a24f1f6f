"""Reads JSON Lines, and a JSON list: one object for each row, with the columns as its keys."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from arena.intake.equal_texts import composed_names
from arena.intake.table import Bounds, count_from_one
from arena.interfaces.faults import FaultList, clean
from arena.types import RawTable
from arena.utils.strict_json import unique_keys

_START = re.compile(rb'\{\s*["}]|\[\s*[\[{]')
_PROBE = 4096
_MOST_DIGITS = 4_000
"""Of a whole number. Python converts no more than 4,300 by default."""


class _Integer(int):
    """A whole number that remembers how it was written."""

    text: str


class _Real(float):
    """A number that remembers how it was written."""

    text: str


def is_json(data: bytes) -> bool:
    r"""Return whether a file starts as JSON does: no CSV header starts with ``{"`` or ``[{``.

    >>> is_json(b'{"id": 1}'), is_json(b'\n [ {"id": 1}]'), is_json(b"[id],y")
    (True, True, False)
    """
    return _START.match(data[:_PROBE].removeprefix(codecs.BOM_UTF8).lstrip()) is not None


def read_json(data: bytes, bounds: Bounds, faults: FaultList) -> RawTable:
    """Return the rows of JSON Lines, or of one list of objects, with all values as texts.

    A number keeps its digits, ``null`` and a missing key are empty, and a list or an object is its
    JSON text.

    Raises
    ------
    Refused
        If a line is not an object, or the table is too large; the fault has been added.
    """
    lines: list[int] = []
    columns: dict[str, dict[int, str]] = {}
    for line, row in _rows(data, faults):
        if not isinstance(row, dict):
            faults.refuse(
                "not an object",
                'Write one object for each row, such as {"id": "a", "y": 1}.',
                row=line,
            )
        for name, value in row.items():
            columns.setdefault(name, {})[len(lines)] = _text(value)
        lines.append(line)
        if len(lines) > bounds.rows or len(columns) > bounds.columns:
            most = f"{bounds.rows:,} rows and {bounds.columns:,} columns"
            faults.refuse("file too large", f"The file has more than {most}: send one row per id.")
    if not columns:
        faults.refuse("empty file", "The file has no rows: send one object per id.")
    arrays = []
    for cells in columns.values():
        values = np.full(len(lines), "", dtype=object)
        values[list(cells)] = list(cells.values())
        arrays.append(pa.array(values, pa.string()))
    return RawTable(composed_names(columns), tuple(arrays), lambda position: lines[position])


def _rows(data: bytes, faults: FaultList) -> Iterator[tuple[int, Any]]:
    """Yield the line, or the position in the list, and the value of each row."""
    if data.lstrip().startswith(b"["):
        listed = _parsed(data.decode("utf-8"), None, faults)
        for position, row in enumerate(listed):
            yield count_from_one(position), row
        return
    for number, line in enumerate(data.decode("utf-8").split("\n"), start=1):
        if line.strip():
            yield number, _parsed(line, number, faults)


def _parsed(text: str, line: int | None, faults: FaultList) -> Any:
    try:
        return json.loads(
            text,
            parse_int=_integer,
            parse_float=_real,
            parse_constant=_real,
            object_pairs_hook=unique_keys,
        )
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        message = f"This is not valid JSON ({clean(reason)}): write one object per line, or a list."
        faults.refuse("damaged file", message, row=line)


def _integer(text: str) -> _Integer:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(text):,} digits, and at most {_MOST_DIGITS:,} can be")
    made = _Integer(text)
    made.text = text
    return made


def _real(text: str) -> _Real:
    made = _Real(text)
    made.text = text
    return made


def _text(value: Any) -> str:
    """Return the text of a value.

    >>> _text(None), _text(True), _text([1, "a"])
    ('', 'true', '[1, "a"]')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, _Integer | _Real):
        return value.text
    return json.dumps(value, ensure_ascii=False)
