"""Conversion of results to data frames, JSON and CSV; small CSV files of the organiser."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import numpy as np

from arena.errors import InputError
from arena.utils.file_errors import unreadable
from arena.utils.text import delimiter_of, printable

if TYPE_CHECKING:
    import pandas as pd

_MOST_BYTES = 200 * 2**20


class Tabular:
    """Base class of frozen dataclasses of scalars and arrays with one value per submission.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True, slots=True, eq=False)
    ... class Ranked(Tabular):
    ...     rank: np.ndarray
    ...     level: float
    >>> ranked = Ranked(np.array([2, 1]), 0.95)
    >>> ranked.to_dict()
    {'rank': [2, 1], 'level': 0.95}
    >>> ranked.to_frame()["rank"].tolist()
    [2, 1]
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return scalars and ``(m,)`` arrays as JSON; matrices are omitted."""
        scalars = {name: value for name, value in self._values().items() if np.ndim(value) < 2}
        document: dict[str, Any] = as_json(scalars)
        return document

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with the ``(m,)`` arrays as columns and the scalars in ``attrs``."""
        import pandas as pd

        values = self._values()
        frame = pd.DataFrame({name: value for name, value in values.items() if np.ndim(value) == 1})
        frame.attrs = {name: value for name, value in values.items() if np.ndim(value) == 0}
        return frame

    def _values(self) -> dict[str, Any]:
        fields = dataclasses.fields(cast("Any", self))
        return {field.name: getattr(self, field.name) for field in fields}


_PLAIN = frozenset({str, int, float, bool, type(None)})


def as_json(value: Any) -> Any:
    """Return plain JSON: numpy numbers as Python numbers, and None for non-finite numbers.

    >>> as_json({"n": np.int64(3), "x": [float("nan"), np.float64(0.5)]})
    {'n': 3, 'x': [None, 0.5]}
    """
    kind = type(value)
    if kind in _PLAIN:  # first, for documents of thousands of teams
        return None if kind is float and not math.isfinite(value) else value
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def read_csv(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the stripped names of the columns, and each row with its number; not blank rows.

    For files that the organiser trusts, such as past leaderboards and brackets, with all cells as
    texts.

    Raises
    ------
    InputError
        If the file cannot be read, or is larger than 200 MiB.
    """
    path_text = printable(str(path))
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path_text} is larger than 200 MiB, the limit for such a file.")
        with path.open(newline="", encoding="utf-8-sig") as file:
            text = file.read()
        reader = csv.reader(
            io.StringIO(text, newline=""), delimiter=delimiter_of(text), strict=True
        )
        header, *rows = list(reader) or [[]]
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error
    except csv.Error as error:
        raise unreadable(path, csv_problem(reader.line_num, error)) from error
    numbered = [(number, row) for number, row in enumerate(rows, start=2) if any(row)]
    return [name.strip() for name in header], numbered


def csv_problem(line: int, error: csv.Error) -> str:
    """Return what is wrong in a line of a CSV text, which was read strictly.

    >>> csv_problem(3, csv.Error("',' expected after"))
    'text follows a closing quotation mark in line 3: double each one that is part of a text'
    """
    what = str(error)
    if "expected after" in what:
        return (
            f"text follows a closing quotation mark in line {line:,}: double each one that is part "
            f"of a text"
        )
    if "unexpected end" in what:
        return "a quotation mark is opened and never closed: close or remove it"
    return f"{what} (line {line:,})"


def write_csv(file: TextIO, rows: Iterable[Sequence[Any]], *, quote_all: bool = False) -> None:
    r"""Write rows as CSV with cells quoted where needed and lines that end in a newline.

    >>> import io
    >>> write_csv(out := io.StringIO(), [["id", "y"], ["a\rb", 0.5]])
    >>> out.getvalue()
    'id,y\n"a\rb","0.5"\n'
    """
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    plain = csv.writer(file, lineterminator="\n")
    for row in rows:
        # Readers end a line at a carriage return, which Python's writer does not quote.
        returns = any(isinstance(cell, str) and "\r" in cell for cell in row)
        (quoted if quote_all or returns else plain).writerow(row)


def csv_cells(texts: Iterable[str]) -> list[str] | None:
    r"""Return texts as :func:`write_csv` writes them in a row of several cells.

    None if one has a carriage return: then the other cells of its row are quoted too.

    >>> csv_cells(["a", "b,c", ""])
    ['a', '"b,c"', '']
    """
    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\n")
    for text in texts:
        if "\r" in text:
            return None
        writer.writerow((text, 0))  # an empty cell alone in its row would be quoted
    return [line.removesuffix(",0\n") for line in lines]


class _Lines(list[str]):
    """The rows that a csv writer writes, each as one text."""

    write = list[str].append
