"""The ids of a file against those of the solution: each once, and no others, in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arena.intake.cells import Place
from arena.intake.encoding import REPLACEMENT
from arena.intake.faults import FAULTS_OF_A_KIND, FaultList, clean, show
from arena.types import Fault, IntArray

__all__ = ["find_duplicates", "locate_ids", "report_ids"]

_GUESSES: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    (
        "there are spaces around it",
        pc.utf8_trim_whitespace,
    ),
    (
        "leading zeros were lost, as happens when a spreadsheet opens a CSV file: "
        "write the id column as text",
        lambda ids: pc.replace_substring_regex(ids, r"^0+([0-9])", r"\1"),
    ),
    (
        "it is written as a decimal number: write 1 and not 1.0",
        lambda ids: pc.replace_substring_regex(ids, r"^(-?[0-9]+)\.0+$", r"\1"),
    ),
    (
        "leading zeros were lost and it is written as a decimal number: "
        "write the id column as text",
        lambda ids: pc.replace_substring_regex(ids, r"^0*([0-9]+?)(\.0+)?$", r"\1"),
    ),
    (
        "upper and lower case count",
        pc.utf8_lower,
    ),
)
"""What may have happened to an id, and what makes it and its original the same again."""


def locate_ids(ids: Any, expected: Any) -> IntArray | None:
    """Return ``(n,)`` the position of each id in ``expected``, -1 where it is none of them.

    None means that both are the same, in the same order: the common case, and the fast one.

    Parameters
    ----------
    ids, expected
        ``pyarrow.StringArray``; ``expected`` holds each id once.

    Examples
    --------
    >>> locate_ids(pa.array(["b", "x"]), pa.array(["a", "b"]))
    array([ 1, -1])
    """
    if ids.equals(expected):
        return None
    found = pc.index_in(ids, value_set=expected)
    positions: IntArray = pc.fill_null(found, -1).to_numpy().astype(np.intp)
    return positions


def report_ids(
    ids: Any, positions: IntArray, expected: Any, place: Place, faults: FaultList
) -> None:
    """Add a fault for every missing, duplicate, unknown and empty id.

    ``positions`` is what :func:`locate_ids` returned.
    """
    known = positions >= 0
    counts = np.bincount(positions[known], minlength=len(expected))
    unknown, missing = np.flatnonzero(~known), np.flatnonzero(counts == 0)
    if not len(missing) and len(ids) == len(expected):
        return
    _report_unknown(ids, expected, unknown, missing, place, faults)
    _report_duplicates(ids, positions, place, faults)
    _report_missing(ids, expected, unknown, missing, positions, faults)


def find_duplicates(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the positions of repeated codes, and for each that of its first occurrence.

    Negative codes stand for nothing and are passed over.

    >>> find_duplicates(np.array([4, 5, 4, -1, -1]))
    (array([2]), array([0]))
    """
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    first_of_each = first[inverse]
    repeated = np.flatnonzero((first_of_each != np.arange(len(codes))) & (codes >= 0))
    return repeated, first_of_each[repeated]


def _report_duplicates(ids: Any, positions: IntArray, place: Place, faults: FaultList) -> None:
    repeated, first = find_duplicates(positions)
    first_of = dict(zip(repeated[:FAULTS_OF_A_KIND].tolist(), first.tolist(), strict=False))

    def fault(position: int) -> Fault:
        line = place.row_number(first_of[position])
        message = f"Id {show(ids[position].as_py())} stands in row {line} already: remove one."
        return place.fault("duplicate id", message, position, None)

    faults.add_each("duplicate id", repeated.tolist(), fault)


def _report_unknown(
    ids: Any, expected: Any, unknown: IntArray, missing: IntArray, place: Place, faults: FaultList
) -> None:
    texts = ids.take(pa.array(unknown))
    damaged = pc.match_substring(texts, REPLACEMENT).to_numpy(zero_copy_only=False)
    empty = pc.equal(texts, "").to_numpy(zero_copy_only=False)
    blank = unknown[empty]
    faults.add_each(
        "empty id",
        blank.tolist(),
        lambda p: place.fault(
            "empty id", "The row has no id: write it or remove the row.", p, None
        ),
    )
    foreign = unknown[~damaged & ~empty]
    shown = ids.take(pa.array(foreign[:FAULTS_OF_A_KIND]))
    hints = _hints(shown, expected.take(pa.array(missing)))
    at = {int(p): i for i, p in enumerate(foreign[:FAULTS_OF_A_KIND])}

    def fault(position: int) -> Fault:
        text = f"Id {show(ids[position].as_py())} is not an id of the solution"
        hint = hints[at[position]]
        message = f"{text}; perhaps {hint}." if hint else f"{text}: remove the row."
        return place.fault("unknown id", message, position, None)

    faults.add_each("unknown id", foreign.tolist(), fault)


def _report_missing(
    ids: Any,
    expected: Any,
    unknown: IntArray,
    missing: IntArray,
    positions: IntArray,
    faults: FaultList,
) -> None:
    if not len(missing):
        return
    shown = expected.take(pa.array(missing[:FAULTS_OF_A_KIND]))
    hints = _hints(shown, ids.take(pa.array(unknown)))
    n_found = len(expected) - len(missing)
    cut_off = np.array_equal(positions, np.arange(n_found))
    end = " The file ends before this id: it may have been cut off." if cut_off else ""
    at = {int(p): i for i, p in enumerate(missing[:FAULTS_OF_A_KIND])}

    def fault(position: int) -> Fault:
        id = expected[position].as_py()
        hint = hints[at[position]]
        advice = f"; perhaps {hint}" if hint else ": add a row for it"
        message = f"Id {show(id)} is missing{advice}.{end}"
        return Fault("missing id", message, id=clean(id))

    faults.add_each("missing id", missing.tolist(), fault)


def _hints(ids: Any, others: Any) -> list[str | None]:
    """Return for each id what may have made it differ from one of the others."""
    hints: list[str | None] = [None] * len(ids)
    for hint, same in _GUESSES:
        if all(hints):
            break
        matches = pc.is_in(same(ids), value_set=same(others)).to_pylist()
        hints = [
            old or (hint if match else None) for old, match in zip(hints, matches, strict=True)
        ]
    return hints
