"""Reads ARFF, the format of Weka and OpenML, by liac-arff."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa

from arena.intake.equal_texts import composed_names
from arena.intake.table import Bounds, count_from_one
from arena.interfaces.faults import FaultList, clean
from arena.types import RawTable
from arena.utils.distribution import how_to_install

_START = re.compile(rb"(?:\s|%[^\n]*\n)*@relation\s", re.IGNORECASE)
_PROBE = 2**16
_INTEGER = re.compile(
    r"^([ \t]*@attribute[ \t].*[ \t])integer[ \t]*$", re.IGNORECASE | re.MULTILINE
)


def is_arff(data: bytes) -> bool:
    r"""Return whether a text begins as ARFF does, after comments.

    >>> is_arff(b"% by x\n@RELATION t\n"), is_arff(b"id,y\n")
    (True, False)
    """
    return b"@" in data[:_PROBE] and _START.match(data[:_PROBE]) is not None


def read_arff(data: bytes, bounds: Bounds, faults: FaultList) -> RawTable:
    """Return the table of an ARFF file with all values as texts; ``?`` is empty.

    Raises
    ------
    Refused
        If it is damaged, has no rows or too many; the fault has been added.
    """
    try:
        import arff
    except ImportError:
        faults.refuse(
            "wrong format", f"This is ARFF, which needs liac-arff: {how_to_install('arff')}."
        )
    if data.count(b"\n") > bounds.rows + bounds.columns:
        faults.refuse("too many rows", "The file has too many lines: send one row per id.")
    try:
        # Of a column of integers liac-arff would read 0.7 as 0, and fail at inf.
        document = arff.loads(_INTEGER.sub(r"\1real", data.decode("utf-8")))
    except (arff.ArffException, ValueError) as error:
        faults.refuse(
            "damaged file", f"This is not valid ARFF ({reason_of_parser(error)}): write it again."
        )
    rows = np.empty((len(document["data"]), len(document["attributes"])), dtype=object)
    if not rows.size:
        faults.refuse("no rows", "The file contains no rows: add one row per id.")
    for number, row in enumerate(document["data"]):
        rows[number] = [_text(cell) for cell in row]
    return RawTable(
        composed_names(name for name, _ in document["attributes"]),
        tuple(pa.array(column, pa.string()) for column in rows.T),
        count_from_one,
    )


def reason_of_parser(error: Exception) -> str:
    """Return why liac-arff refuses a file, without its last full stop."""
    try:
        return clean(str(error), 200).rstrip(".")
    except (TypeError, ValueError):  # liac-arff takes the text that it quotes for a format
        return f"line {getattr(error, 'line', 0)}"


def _text(cell: Any) -> str:
    """Return the text of a value: 1 for 1.0, which ARFF does not distinguish."""
    if cell is None:
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
