"""Recognises a first line that holds data and not the names of columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from arena.intake.cells import to_text
from arena.utils.lazy import pc

_COUNTED = re.compile(r"0|[1-9][0-9]*")
_NUMERIC = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LEAST_SHARE = 0.01
"""Of the cells of a column. A column of words named ``word`` may hold this word, but rarely."""


def data_in_header(names: Sequence[str], columns: Sequence[Any]) -> str | None:
    """Return why the names of columns look like a row of data; None: they do not.

    Names may be numbers if there are several, all different whole numbers: labels, years, steps.
    The reason quotes no name, which may be a label.

    Parameters
    ----------
    columns
        ``pyarrow.Array`` of each column; the first one holds the ids.

    Examples
    --------
    >>> columns = [pa.array(["s2", "s3"]), pa.array(["1", "0"])]
    >>> data_in_header(["s1", "y"], columns)
    'the name of column 1 looks like its cells'
    >>> data_in_header(["id", "0"], columns), data_in_header(["id", "y"], columns)
    ('the name of column 2 is a number', None)
    """
    written = [name.strip() for name in names]
    numeric = [name for name in written[1:] if _NUMERIC.fullmatch(name)]
    counted = len(numeric) > 1 and all(map(_COUNTED.fullmatch, numeric))
    if numeric and not (counted and len(set(numeric)) == len(numeric)):
        return f"the name of column {2 + written[1:].index(numeric[0])} is a number"
    if _is_alike(written[0], columns[0]):
        return "the name of column 1 looks like its cells"
    for number, (name, column) in enumerate(zip(written, columns, strict=True), start=1):
        cells = pc.utf8_trim_whitespace(to_text(column))
        if name and name not in numeric and _share(pc.equal(cells, name)) >= _LEAST_SHARE:
            return f"the name of column {number} is also one of its cells"
    return None


def _share(mask: Any) -> float:
    return pc.mean(mask).as_py() or 0.0


def _is_alike(name: str, column: Any) -> bool:
    """Return whether a name has digits, and the form of more than half of the cells below it."""
    form = re.sub(r"[0-9]+", "0", name)
    if "0" not in form:
        return False
    text = pc.utf8_trim_whitespace(to_text(column))
    forms = pc.replace_substring_regex(text, pattern="[0-9]+", replacement="0")
    return _share(pc.equal(forms, pa.scalar(form))) > 0.5
