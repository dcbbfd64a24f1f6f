"""Matches ids of any text by hashes of 64 bits, faster than a hash table of texts.

This is for files that have exactly the ids of the solution, in another order. Rows with equal
hashes are compared in full, so that positions do not depend on collisions; those of other texts are
looked up in a hash table of texts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.intake.packed_texts import are_many_texts, packed_texts
from arena.types import IntArray
from arena.utils.lazy import pc

_WORD = 8
_LONGEST = 8 * _WORD
_FACTOR = 0x9E3779B185EBCA87
"""An odd multiplier: the first prime of XXH64."""
_BLOCK = 1 << 14
"""So many hashes stay in the cache of a core while they are computed."""
_FIRST_BYTES = np.array([(1 << 8 * size) - 1 for size in range(_WORD + 1)], dtype=np.uint64)
"""Size -> the mask of the first bytes of a word."""

_Words = npt.NDArray[np.uint64]
_Places = npt.NDArray[np.int32]
_Text = npt.NDArray[np.uint8]


def locate_hashed(ids: Any, expected: Any) -> IntArray | None:
    """Return ``(n,)`` positions of the ids in ``expected``, if they are the same in another order.

    Returns None if an id is missing or unknown, if there are too few ids, or if one of ``expected``
    is longer than 64 bytes. The ids in ``expected`` are unique. Memory: 50 bytes for each id; if
    their lengths differ, also twice the length of the longest of ``expected``.

    >>> expected = pa.array([f"{i * 7919:x}" for i in range(10_000)])
    >>> locate_hashed(expected[::-1], expected)[:3].tolist()
    [9999, 9998, 9997]
    """
    if not are_many_texts(ids, expected) or len(ids) != len(expected):
        return None
    of_expected, of_ids = packed_texts(expected), packed_texts(ids)
    sizes = [np.diff(places) for places, _ in (of_expected, of_ids)]
    longest = int(sizes[0].max())
    if longest > _LONGEST:
        return None
    one_size = longest >= _WORD and all((own == longest).all() for own in sizes)
    words = _adjacent_words if one_size else _words
    known, asked = words(*of_expected, longest), words(*of_ids, longest)
    found = _paired(_hashes(asked), _hashes(known))
    if found is None:
        return None
    equal = np.ones(len(found), dtype=bool)
    for word, of_asked in zip(known, asked, strict=True):
        equal &= np.ascontiguousarray(word).take(found) == of_asked
    left = np.flatnonzero(~equal)
    if len(left):
        rows = found[left]
        texts = expected.take(pa.array(rows))
        of_texts = pc.fill_null(pc.index_in(ids.take(pa.array(left)), value_set=texts), -1)
        found[left] = np.append(rows, -1)[of_texts.to_numpy()]
    return found


def _adjacent_words(places: _Places, text: _Text, size: int) -> list[_Words]:
    """Return the words of 8 bytes of texts of the same size, without a copy.

    The last word of a text ends with it, and begins in the one before it.
    """
    starts = (min(start, size - _WORD) for start in range(0, size, _WORD))
    return [np.ndarray((len(places) - 1,), "<u8", text, start, (size,)) for start in starts]


def _words(places: _Places, text: _Text, longest: int) -> list[_Words]:
    """Return the sizes of texts, and as many words of 8 bytes as ``longest`` bytes need.

    Texts of at most ``longest`` bytes are equal if and only if all these words are.
    """
    sizes, begins = np.diff(places), places[:-1]
    padded = np.append(text, np.zeros(_WORD, dtype=np.uint8))
    from_place = np.ndarray((len(text) + 1,), "<u8", padded, strides=(1,))
    words, last = [sizes.astype(np.uint64)], np.maximum(sizes - _WORD, 0)
    for start in range(0, longest, _WORD):
        words.append(from_place.take(begins + np.minimum(start, last)))
        words[-1] &= _FIRST_BYTES.take(sizes, mode="clip")
    return words


def _hashes(words: list[_Words]) -> _Words:
    """Return the ``(n,)`` hashes of texts."""
    hashes, factor = np.empty(len(words[0]), dtype=np.uint64), np.uint64(_FACTOR)
    for start in range(0, len(hashes), _BLOCK):
        mixed = hashes[start : start + _BLOCK]
        mixed[:] = 0
        for word in words:
            mixed ^= word[start : start + _BLOCK]
            mixed *= factor
            mixed ^= mixed >> np.uint64(32)
    return hashes


def _paired(asked: _Words, known: _Words) -> IntArray | None:
    """Return the ``(n,)`` row of each hash in ``known``, or None if the hashes differ.

    Both are sorted with their rows in the lowest bits: a sort reads memory in order, a hash table
    does not. Rows whose highest bits are equal may be paired with one another.
    """
    n = len(known)
    bits = np.uint64(n.bit_length())
    asked_rows, known_rows = (
        np.sort((hashes << bits) | np.arange(n, dtype=np.uint64)) for hashes in (asked, known)
    )
    if ((asked_rows ^ known_rows) >> bits).any():
        return None
    is_row = (np.uint64(1) << bits) - np.uint64(1)
    found = np.empty(n, dtype=np.intp)
    found[(asked_rows & is_row).view(np.int64)] = (known_rows & is_row).view(np.int64)
    return found
