"""Reads JSON Lines and JSON documents: rows as objects, columns as lists, or values by name.

============================================= =====================================================
form                                          what becomes of it
============================================= =====================================================
an object per line, or a list of objects      a row for each; keys are columns
an object with one list of objects            as that list
``{column: [cell, …]}``                       columns
``{columns: [name, …], data: [[cell, …], …]}`` columns (pandas' ``split``)
``{column: {row: cell}}``                     columns, and a column ``id`` of the keys of the rows
``{row: {column: cell}}``                     the same, if the inner keys are the expected columns
``{id: cell}``                                the id column and the only column of a submission
SQuAD's ``paragraphs`` of ``qas``             ids, and the texts of the answers to each question
============================================= =====================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from arena.intake.equal_texts import composed_names
from arena.intake.table import Bounds, count_from_one
from arena.interfaces.faults import FaultList, clean, show, show_all
from arena.types import RawTable
from arena.utils.strict_json import unique_keys
from arena.utils.text import plural

_START = re.compile(rb'\{\s*["}]|\[\s*[\[{]')
_LIST = re.compile(rb'\[\s*["0-9-]')
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

    A list of values ends as JSON does, too.

    >>> is_json(b'{"id": 1}'), is_json(b'\n [ {"id": 1}]'), is_json(b"[id],y"), is_json(b"[1, 2]")
    (True, True, False, True)
    """
    start = data[:_PROBE].lstrip()
    if _START.match(start):
        return True
    return _LIST.match(start) is not None and data[-_PROBE:].rstrip().endswith(b"]")


def read_json(
    data: bytes,
    bounds: Bounds,
    faults: FaultList,
    *,
    expected: Sequence[str] = (),
    records: str | None = None,
    flat: bool = False,
) -> RawTable:
    """Return a JSON document as a table with all values as texts.

    A number keeps its digits, ``null`` and a missing key are empty, and a list or an object is its
    JSON text.

    Parameters
    ----------
    expected
        The names of columns that may occur, the id column first.
    records
        The key of the list of objects, with dots for nested ones; None: the only one.
    flat
        Whether the cells of an object become columns of their own, named with dots.

    Raises
    ------
    Refused
        If a line is not an object, or the table is too large; the fault has been added.
    """
    lines: list[int] = []
    columns: dict[str, dict[int, str]] = {}
    for line, row in _rows(data, faults, expected, records, flat=flat):
        if not isinstance(row, dict):
            faults.refuse(
                "not an object",
                'Write one object for each row, such as {"id": "a", "y": 1}.',
                row=line,
            )
        for name, value in flattened(row) if flat else row.items():
            columns.setdefault(name, {})[len(lines)] = _text(value)
        lines.append(line)
        if len(lines) > bounds.rows or len(columns) > bounds.columns:
            most = f"{plural(bounds.rows, 'row')} and {plural(bounds.columns, 'column')}"
            faults.refuse("file too large", f"The file has more than {most}: send one row per id.")
    if not columns:
        faults.refuse("empty file", "The file has no rows: send one object per id.")
    arrays = []
    for cells in columns.values():
        values = np.full(len(lines), "", dtype=object)
        values[list(cells)] = list(cells.values())
        arrays.append(pa.array(values, pa.string()))
    return RawTable(composed_names(columns), tuple(arrays), lambda position: lines[position])


def flattened(row: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of an object, nested ones with names with dots.

    >>> dict(flattened({"a": 1, "b": {"c": 2}}))
    {'a': 1, 'b.c': 2}
    """
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{above}{key}.")
        else:
            yield above + key, value


def _rows(
    data: bytes,
    faults: FaultList,
    expected: Sequence[str],
    records: str | None,
    *,
    flat: bool,
) -> Iterator[tuple[int, Any]]:
    """Yield the line, or the position in the document, and the value of each row."""
    text = data.decode("utf-8")
    if _has_lines(text) and records is None:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield number, _parsed(line, number, faults)
        return
    document = _parsed(text, None, faults)
    for key in records.split(".") if records else ():
        if not isinstance(document, Mapping) or key not in document:
            keys = show_all(document) if isinstance(document, Mapping) else "none"
            faults.refuse("no such records", f"There is no key {show(key)}; there is {keys}.")
        document = document[key]
    if not isinstance(document, list | dict):
        faults.refuse("no such records", "The key holds no list and no object: name another one.")
    rows = (
        document
        if isinstance(document, list)
        else _rows_of_object(document, expected, faults, flat=flat)
    )
    for position, row in enumerate(rows):
        yield count_from_one(position), row


def _has_lines(text: str) -> bool:
    """Return whether the first line that is not blank is an object, and others follow."""
    first, _, others = text.lstrip().partition("\n")
    if not first.startswith("{") or not others.strip():
        return False
    try:
        return isinstance(json.loads(first, parse_int=float), dict)
    except (ValueError, RecursionError):
        return others.lstrip().startswith("{")


def _rows_of_object(
    document: Mapping[str, Any], expected: Sequence[str], faults: FaultList, *, flat: bool
) -> Sequence[Mapping[str, Any]]:
    """Return the rows of a document that is one object; see the table of the module."""
    cells = list(document.values())

    def all_are(kind: type) -> bool:
        return bool(cells) and all(isinstance(cell, kind) for cell in cells)

    if {"columns", "data"} <= set(document) <= {"columns", "data", "index"}:
        return _rows_of_table(document["columns"], document["data"], faults)
    lists = [cell for cell in cells if _is_of_objects(cell)]
    id_name, value_name = (*expected[:2], *("id", "answer")[len(expected[:2]) :])
    if len(lists) == 1:
        is_squad = all("paragraphs" in article for article in lists[0])
        answers = _answers_of_squad(lists[0], faults) if is_squad else ()
        return [{id_name: id, value_name: texts} for id, texts in answers] or list(lists[0])
    if len(lists) > 1:
        names = show_all(key for key, cell in document.items() if _is_of_objects(cell))
        faults.refuse("several lists", f"Several keys hold rows: {names}. Keep one (--records).")
    if all_are(list):
        if len({len(cell) for cell in cells}) > 1:
            faults.refuse("damaged file", "The lists of the columns differ in length.")
        return [dict(zip(document, row, strict=True)) for row in zip(*cells, strict=True)]
    if all_are(dict):
        return _rows_of_nested(document, expected)
    is_row = not set(document).isdisjoint(expected)
    objects = [cell for cell in cells if isinstance(cell, dict)]
    if objects and not is_row and not (flat and _have_different_keys(objects)):
        faults.refuse(
            "mixed values",
            "Some keys of the document hold objects and others do not: keep those of the rows, and "
            "write each as an object.",
        )
    if not objects and not is_row:
        return [{id_name: key, value_name: cell} for key, cell in document.items()]
    return [document]


def _answers_of_squad(
    articles: Sequence[Mapping[str, Any]], faults: FaultList
) -> list[tuple[str, str | list[str]]]:
    """Return the id of each question, and its answer, empty if there is none, or its answers."""
    try:
        answers = [
            (question["id"], [answer["text"] for answer in question["answers"]])
            for article in articles
            for paragraph in article["paragraphs"]
            for question in paragraph["qas"]
        ]
        return [
            (id, texts if len(set(texts)) > 1 else next(iter(texts), "")) for id, texts in answers
        ]
    except (KeyError, TypeError):
        faults.refuse(
            "damaged file", "Write paragraphs as SQuAD: each with qas that have an id and answers."
        )


def _rows_of_table(names: Any, rows: Any, faults: FaultList) -> Sequence[Mapping[str, Any]]:
    """Return lists of cells as objects; other values, and a name that occurs twice, are refused."""
    is_table = isinstance(names, list) and isinstance(rows, list)
    if not is_table or any(not isinstance(row, list) or len(row) != len(names) for row in rows):
        faults.refuse(
            "damaged file", "Write columns as a list of names, and data as lists of as many cells."
        )
    named = list(map(str, names))
    if len(set(named)) < len(named):
        faults.refuse("damaged file", "A name occurs twice in columns: rename one.")
    return [dict(zip(named, row, strict=True)) for row in rows]


def _rows_of_nested(
    document: Mapping[str, Mapping[str, Any]], expected: Sequence[str]
) -> Sequence[Mapping[str, Any]]:
    """Return the rows of an object of objects: of columns, unless their keys are the columns."""
    inner = dict.fromkeys(key for cell in document.values() for key in cell)
    if set(inner) <= set(expected):
        return [{_free(expected, cell): row, **cell} for row, cell in document.items()]
    is_index = list(inner) == [str(row) for row in range(len(inner))]
    name = _index_name(document, expected) if is_index else _free(expected, document)
    named = (
        (row, {key: cell[row] for key, cell in document.items() if row in cell}) for row in inner
    )
    return [cell if name is None else {name: row, **cell} for row, cell in named]


def _have_different_keys(objects: Sequence[Mapping[str, Any]]) -> bool:
    return len(set().union(*objects)) == sum(map(len, objects))


def _is_of_objects(cell: Any) -> bool:
    return isinstance(cell, list) and bool(cell) and all(isinstance(row, dict) for row in cell)


def _free(expected: Sequence[str], names: Collection[str]) -> str:
    """Return the name of the column of the keys of rows."""
    return next((name for name in (*expected[:1], "id") if name not in names), "key")


def _index_name(names: Collection[str], expected: Sequence[str]) -> str | None:
    """Return the name of a column of row numbers; None: the columns say what they are."""
    named = {*expected, "id", "case", "algorithm"}
    return "" if named.isdisjoint(names) else None


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
        raise ValueError(
            f"a number has {plural(len(text), 'digit')}, and at most {_MOST_DIGITS:,} can be"
        )
    integer = _Integer(text)
    integer.text = text
    return integer


def _real(text: str) -> _Real:
    real = _Real(text)
    real.text = text
    return real


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
