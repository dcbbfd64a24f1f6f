"""Matches ids that are consecutive numbers, such as 17 or id_0017, faster than a hash table.

An id is a prefix and decimal digits: either all ids have the same length, or there is no leading
zero. Then different texts are different numbers, and a table of the numbers finds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.intake.packed_texts import are_many_texts, packed_texts
from arena.types import IntArray

_MOST_DIGITS = 18
_MOST_GAPS = 8
"""The table has at most so many entries for each id."""
_ZERO, _NINE = 48, 57


def locate_numbered(ids: Any, expected: Any) -> IntArray | None:
    """Return ``(n,)`` positions of the ids in ``expected``, -1 for an unknown one.

    None: the ids of either are not such numbers, or too few. The ids in ``expected`` are unique.
    Memory: 30 bytes for each id.

    >>> import pyarrow as pa
    >>> expected = pa.array([f"row{i:05}" for i in range(10_000)])
    >>> locate_numbered(expected[::-1], expected)[:3].tolist()
    [9999, 9998, 9997]
    """
    if not are_many_texts(ids, expected):
        return None
    prefix = expected[0].as_buffer().to_pybytes().rstrip(b"0123456789")
    expected_numbers = _numbers(expected, prefix)
    id_numbers = None if expected_numbers is None else _numbers(ids, prefix)
    if expected_numbers is None or id_numbers is None or expected_numbers[1] != id_numbers[1]:
        return None
    low, high = int(expected_numbers[0].min()), int(expected_numbers[0].max())
    if high - low >= _MOST_GAPS * len(expected):
        return None
    places = np.full(high - low + 1, -1, dtype=np.int32)
    places[expected_numbers[0] - low] = np.arange(len(expected), dtype=np.int32)
    numbers = id_numbers[0]
    inside = (numbers >= low) & (numbers <= high)
    if inside.all():
        return places[numbers - low].astype(np.intp)
    return np.where(inside, places[np.where(inside, numbers - low, 0)], -1).astype(np.intp)


def _numbers(ids: Any, prefix: bytes) -> tuple[npt.NDArray[np.int64], int] | None:
    """Return the numbers after the prefix and the common length, 0: no number has leading zeros."""
    places, text = packed_texts(ids)
    sizes, begins = np.diff(places), places[:-1]
    shortest, longest = int(sizes.min()), int(sizes.max())
    if shortest <= len(prefix) or longest - len(prefix) > _MOST_DIGITS:
        return None
    if shortest == longest:
        cells = text.reshape(len(ids), longest)
        numbers = _number(iter(cells.T), prefix, leading_zeros=True)
        return None if numbers is None else (numbers, longest)
    numbers = np.empty(len(ids), dtype=np.int64)
    for size in range(shortest, longest + 1):  # at most 18
        rows = np.flatnonzero(sizes == size)
        if len(rows):
            first = begins[rows]
            columns = (text[first + digit] for digit in range(size))
            number = _number(columns, prefix, leading_zeros=size == len(prefix) + 1)
            if number is None:
                return None
            numbers[rows] = number
    return numbers, 0


def _number(
    columns: Iterator[npt.NDArray[np.uint8]], prefix: bytes, *, leading_zeros: bool
) -> npt.NDArray[np.int64] | None:
    """Return the numbers of texts, given as columns of bytes; None if one is in another form."""
    for expected in prefix:
        if (next(columns) != expected).any():
            return None
    numbers: npt.NDArray[np.int64] | None = None
    for column in columns:
        if column.min() < (_ZERO if leading_zeros or numbers is not None else _ZERO + 1):
            return None
        if column.max() > _NINE:
            return None
        numbers = np.zeros(len(column), dtype=np.int64) if numbers is None else numbers
        numbers *= 10
        numbers += column
        numbers -= _ZERO
    return numbers
