"""Matches the ids of a file with those of the solution: each exactly once, in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.intake.alterations import ALTERATIONS, common_cause, reasons_of
from arena.intake.cells import NOT_A_NUMBER, READ_AS_MISSING, Place
from arena.intake.encoding import with_replaced_bytes
from arena.intake.equal_texts import locate_equal
from arena.intake.hashed_ids import locate_hashed
from arena.interfaces.faults import FAULTS_OF_A_KIND, FaultList, clean, show
from arena.types import Fault, IntArray
from arena.utils.lazy import pc

_DAMAGES = (
    (
        r"(?i)^([0-9]{1,2}-(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
        r"|(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)-[0-9]{2,4})$",
        "a spreadsheet has turned ids into dates: write the file without opening it there",
    ),
    (
        r"^([0-9](\.[0-9]+)?[eE]\+[0-9]{2,3}|[0-9]{16,}\.0)$",
        "long numbers were rounded, by a spreadsheet or as floating-point numbers: write ids as "
        "text or as whole numbers",
    ),
)
"""The form of damaged ids, which cannot be undone, and its cause."""
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_OTHER_DATES = (
    "the ids are dates: write them in the form of the sample submission, as text, and not as a "
    "spreadsheet shows or numbers them"
)
_OTHER_FILE = "no id of this file is one of the solution: is it the right file?"
_ROW_NUMBERS = "ids look like row numbers: write the id column of the sample submission"
_CUT_OFF = "the file ends too early: it may have been cut off"


def locate_ids(ids: Any, expected: Any) -> IntArray | None:
    """Return ``(n,)`` positions of the ids in ``expected``, -1 for an unknown id.

    An id may be written in another way of :mod:`arena.intake.equal_texts`.

    None means that both are equal, in the same order: the common case, which is fast.

    Parameters
    ----------
    ids, expected
        ``pyarrow.StringArray``; the ids in ``expected`` are unique.

    Examples
    --------
    >>> locate_ids(pa.array(["b", "x"]), pa.array(["a", "b"]))
    array([ 1, -1])
    """
    if ids.equals(expected):
        return None
    located = locate_hashed(ids, expected)
    if located is None:
        positions = pc.index_in(ids, value_set=expected)
        located = pc.fill_null(positions, -1).to_numpy().astype(np.intp)
    unknown = np.flatnonzero(located < 0)
    if len(unknown):
        located = located.copy()
        located[unknown] = locate_equal(ids.take(pa.array(unknown)), expected)
    return located


def report_ids(
    ids: Any,
    positions: IntArray,
    expected: Any,
    place: Place,
    faults: FaultList,
    *,
    rows: npt.NDArray[np.bool_],
) -> None:
    """Add a fault for every missing, duplicate, unknown and empty id.

    ``positions`` is what :func:`locate_ids` returned, and ``rows`` ``(n,)`` which of the expected
    ids must be there.
    """
    is_sent = np.zeros(len(expected) + 1, dtype=bool)
    is_sent[positions] = True  # an unknown id, -1: the place behind the last
    unknown, missing = np.flatnonzero(positions < 0), np.flatnonzero(~is_sent[:-1] & rows)
    if not len(missing) and len(ids) == rows.sum():
        return
    _report_unknown(ids, expected, unknown=unknown, missing=missing, place=place, faults=faults)
    _report_duplicates(ids, positions, place, faults)
    _report_missing(
        ids, expected, unknown=unknown, missing=missing, positions=positions, faults=faults
    )


def find_duplicates(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the positions of repeated codes, and the position of each one's first occurrence.

    Negative codes are ignored.

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
        message = f"Id {show(ids[position].as_py())} already occurs in row {line}: remove one."
        return place.fault("duplicate id", message, position, None)

    faults.add_each("duplicate id", repeated.tolist(), fault)


def _report_unknown(
    ids: Any, expected: Any, unknown: IntArray, missing: IntArray, place: Place, faults: FaultList
) -> None:
    texts = ids.take(pa.array(unknown))
    damaged = with_replaced_bytes(texts, faults)
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
    reasons = reasons_of(ids.take(pa.array(foreign)), expected.take(pa.array(missing)))
    order_of = {int(p): i for i, p in enumerate(foreign[:FAULTS_OF_A_KIND])}
    all_foreign = len(unknown) == len(ids) and bool((reasons < 0).all())

    def fault(position: int) -> Fault:
        text = f"Id {show(ids[position].as_py())} is not an id of the solution"
        reason = reasons[order_of[position]]
        advice = "" if all_foreign else ": remove the row"
        message = f"{text}{advice}." if reason < 0 else f"{text}; {_perhaps(reason)}."
        return place.fault("unknown id", message, position, None)

    faults.add_each("unknown id", foreign.tolist(), fault)
    if len(foreign) and are_consecutive_numbers(ids):
        cause: str | None = _ROW_NUMBERS
    else:
        cause = common_cause(reasons) or damage_of_ids(ids.take(pa.array(foreign)))
    if all_foreign and cause is None:
        are_dates = pc.all(pc.match_substring_regex(expected, _DATE)).as_py()
        cause = _OTHER_DATES if are_dates else _OTHER_FILE
    faults.explain("unknown id", cause)
    words = pc.utf8_lower(expected.take(pa.array(missing)))
    if len(blank) and pc.any(pc.is_in(words, pa.array(NOT_A_NUMBER))).as_py():
        faults.explain("empty id", READ_AS_MISSING)


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
    reasons = reasons_of(expected.take(pa.array(missing)), ids.take(pa.array(unknown)))
    n_found = len(expected) - len(missing)
    cut_off = np.array_equal(positions, np.arange(n_found))
    end = " The file ends before this id: it may have been cut off." if cut_off else ""
    order_of = {int(p): i for i, p in enumerate(missing[:FAULTS_OF_A_KIND])}

    def fault(position: int) -> Fault:
        id = expected[position].as_py()
        reason = reasons[order_of[position]]
        advice = ": add a row for it" if reason < 0 else f"; {_perhaps(reason)}"
        message = f"The id is missing{advice}.{end}"
        return Fault("missing id", message, id=clean(id))

    faults.add_each("missing id", missing.tolist(), fault)
    faults.explain("missing id", _CUT_OFF if cut_off and n_found else common_cause(reasons))


def _perhaps(reason: int) -> str:
    return f"perhaps {ALTERATIONS[reason].reason}"


def alike(names: Sequence[str], differ: Callable[[int, int], bool]) -> tuple[str, str] | None:
    """Return two names that seem to be the same name written in two ways; None: there are none.

    ``differ`` tells whether the names at two positions are known to be different.

    >>> alike(["1", "2", "1.0"], lambda a, b: False), alike(["a", "A"], lambda a, b: True)
    (('1', '1.0'), None)
    """
    texts = pa.array(names, pa.string())
    for alteration in ALTERATIONS:
        if alteration.may_be_meant:
            continue
        codes = alteration.undone(texts).dictionary_encode().indices.to_numpy()
        repeated, first = find_duplicates(codes)
        for a, b in zip(first.tolist(), repeated.tolist(), strict=True):
            if not differ(a, b):
                return names[a], names[b]
    return None


def damage_of_ids(ids: Any) -> str | None:
    """Return what has damaged at least a tenth of the ids, or None."""
    for form, cause in _DAMAGES:
        if len(ids) and 10 * pc.sum(pc.match_substring_regex(ids, form)).as_py() >= len(ids):
            return cause
    return None


def are_consecutive_numbers(ids: Any) -> bool:
    """Return whether the ids of a file are consecutive numbers from 0 or 1."""
    digits = pc.match_substring_regex(ids, "^(0|[1-9][0-9]{0,17})$")
    if not pc.all(digits).as_py():
        return False
    numbers = pc.cast(ids, pa.int64()).to_numpy()
    return numbers[0] in (0, 1) and bool((np.diff(numbers) == 1).all())
