"""Matches ids of any text by hashes of 64 bits, faster than a hash table of texts.

10^6 ids of one size take a fourth of its time, and ids of several sizes half of it.
Rows with equal hashes are compared in full, so that positions do not depend on collisions; what
the tables of hashes leave open is looked up in a hash table of texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.intake.packed_texts import are_many_texts, packed_texts
from arena.types import IntArray
from arena.utils.lazy import pc

_WORD = 8
_LONGEST = 8 * _WORD
_FACTORS = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
"""Odd multipliers, one for each table: the primes of XXH64."""
_BLOCK = 1 << 14
"""So many hashes stay in the cache of a core while they are computed."""
_FIRST_BYTES = np.array([(1 << 8 * size) - 1 for size in range(_WORD + 1)], dtype=np.uint64)
"""Size -> the mask of the first bytes of a word."""

_Words = npt.NDArray[np.uint64]
_Places = npt.NDArray[np.int32]
_Text = npt.NDArray[np.uint8]


def locate_hashed(ids: Any, expected: Any) -> IntArray | None:
    """Return ``(n,)`` positions of the ids in ``expected``, -1 for an unknown one.

    Returns None if there are too few ids, or if one of ``expected`` is longer than 64 bytes. The
    ids in ``expected`` are unique. Memory: 70 bytes for each id; if their lengths differ, also
    twice the length of the longest of ``expected``.

    >>> expected = pa.array([f"{i * 7919:x}" for i in range(10_000)])
    >>> locate_hashed(expected[::-1], expected)[:3].tolist()
    [9999, 9998, 9997]
    """
    if not are_many_texts(ids, expected):
        return None
    of_expected, of_ids = packed_texts(expected), packed_texts(ids)
    sizes = [np.diff(places) for places, _ in (of_expected, of_ids)]
    longest = int(sizes[0].max())
    if longest > _LONGEST:
        return None
    one_size = longest >= _WORD and all((own == longest).all() for own in sizes)
    words = _adjacent_words if one_size else _words
    known, asked = words(*of_expected, longest), words(*of_ids, longest)
    found, open_rows = _match(_hashes(asked), _hashes(known), _FACTORS)
    equal = found >= 0
    for word, of_asked in zip(known, asked, strict=True):
        # Row -1, for unknown ids, reads the last one.
        equal &= np.ascontiguousarray(word).take(found, mode="wrap") == of_asked
    left = np.flatnonzero(~equal)
    if len(left):
        texts = expected.take(pa.array(open_rows))
        of_texts = pc.fill_null(pc.index_in(ids.take(pa.array(left)), value_set=texts), -1)
        found[left] = np.append(open_rows, -1)[of_texts.to_numpy()]
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
    hashes, factor = np.empty(len(words[0]), dtype=np.uint64), np.uint64(_FACTORS[0])
    for start in range(0, len(hashes), _BLOCK):
        mixed = hashes[start : start + _BLOCK]
        mixed[:] = 0
        for word in words:
            mixed ^= word[start : start + _BLOCK]
            mixed *= factor
            mixed ^= mixed >> np.uint64(32)
    return hashes


def _match(asked: _Words, known: _Words, factors: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Return the ``(n,)`` row of each hash in ``known``, or -1, and the rows that were not entered.

    Of several equal ones in ``known`` at most one is entered. A slot of the table holds one row:
    the others of a slot are entered into the next table, which has another hash of the hashes.
    """
    if not len(factors) or not len(asked) or not len(known):
        return np.full(len(asked), -1), np.arange(len(known))
    bits = int(2 * len(known) - 1).bit_length()
    slots = _slots(known, factors[0], bits)
    numbers = np.arange(len(known), dtype=np.int32)
    table = np.full(1 << bits, -1, dtype=np.int32)  # half the size: the caches hold more of it
    table[slots] = numbers
    # take would cast numbers of 32 bits five times as slowly.
    entry = table.take(_slots(asked, factors[0], bits), mode="wrap").astype(np.intp)
    found = (known.take(entry, mode="wrap") == asked) & (entry >= 0)
    rows, still = np.where(found, entry, -1), np.flatnonzero(~found)
    displaced = np.flatnonzero(table.take(slots, mode="wrap") != numbers)
    rest, left = _match(asked.take(still), known.take(displaced), factors[1:])
    rows[still] = np.append(displaced, -1)[rest]
    return rows, displaced.take(left)


def _slots(hashes: _Words, factor: int, bits: int) -> npt.NDArray[np.int64]:
    """Return the ``(n,)`` slots of a table: the highest ``bits`` bits of a hash of the hashes."""
    slots = hashes * np.uint64(factor)
    slots >>= np.uint64(64 - bits)
    return slots.view(np.int64)
