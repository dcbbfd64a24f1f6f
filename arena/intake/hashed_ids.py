"""Matches ids of any text by hashes of their words, in a third of the time of a hash table.

Rows that a table of hashes proposes are compared in full, so that positions do not depend on
collisions; what two tables leave open is looked up in a hash table of texts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.intake.numbered_ids import are_many_texts
from arena.types import IntArray
from arena.utils.lazy import pc

_WORD = 8
_LONGEST = 8 * _WORD
_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
"""Odd multipliers, one for each table (2^64 over the golden ratio; the second prime of xxHash)."""

_Words = npt.NDArray[np.uint64]


def locate_hashed(ids: Any, expected: Any) -> IntArray | None:
    """Return ``(n,)`` positions of the ids in ``expected``, -1 for an unknown one.

    Returns None if there are too few ids, or if one of ``expected`` is longer than 64 bytes. The
    ids in ``expected`` are unique. Memory: 70 bytes for each id, and the length of the longest
    twice.

    >>> expected = pa.array([f"{i * 7919:x}" for i in range(10_000)])
    >>> locate_hashed(expected[::-1], expected)[:3].tolist()
    [9999, 9998, 9997]
    """
    if not are_many_texts(ids, expected):
        return None
    known = _words(expected)
    asked = None if known is None else _words(ids)
    if known is None or asked is None or len(known) != len(asked):
        return None
    bits = int(2 * len(expected) - 1).bit_length()
    positions = np.full(len(ids), -1, dtype=np.intp)
    left, kept = np.arange(len(ids)), np.arange(len(expected))
    of_left, of_kept = asked, known
    for factor in _FACTORS:
        table = np.full(1 << bits, -1)
        places, numbers = _hashes(of_kept, factor, bits), np.arange(len(kept))
        table[places] = numbers
        # Half of the time of an index in brackets. An empty place, -1, reads the last id.
        found = table.take(_hashes(of_left, factor, bits), mode="wrap")
        same = found >= 0
        for of_expected, of_asked in zip(of_kept, of_left, strict=True):
            same &= of_expected.take(found, mode="wrap") == of_asked
        positions[left] = np.where(same, kept.take(found, mode="wrap"), -1)
        still_left = np.flatnonzero(~same)
        displaced = np.flatnonzero(table.take(places, mode="wrap") != numbers)
        left, kept = left[still_left], kept[displaced]
        of_left = [word[still_left] for word in of_left]
        of_kept = [word[displaced] for word in of_kept]
        if not len(left) or not len(kept):
            return positions
    rest = pc.index_in(ids.take(pa.array(left)), value_set=expected.take(pa.array(kept)))
    rows = pc.fill_null(rest, -1).to_numpy()
    positions[left] = np.where(rows >= 0, kept[rows], -1)
    return positions


def _words(ids: Any) -> list[_Words] | None:
    """Return the lengths and the texts, in words of 8 bytes filled up with zeros; None: too long.

    Equal texts have equal words, and different ones differ in a word or in their length.
    """
    _, offsets_of, content = ids.buffers()
    offsets = np.frombuffer(offsets_of, dtype=np.int32)[ids.offset : ids.offset + len(ids) + 1]
    sizes = np.diff(offsets)
    longest = int(sizes.max())
    if longest > _LONGEST:
        return None
    first, last = int(offsets[0]), int(offsets[-1])
    padded = np.zeros(last - first + _LONGEST + _WORD, dtype=np.uint8)
    if last > first:
        padded[: last - first] = np.frombuffer(content, dtype=np.uint8)[first:last]
    # The eight bytes from any place on, without a copy.
    from_place = np.ndarray((len(padded) - _WORD + 1,), "<u8", padded, strides=(1,))
    begins = offsets[:-1] - first
    words = [sizes.astype(np.uint64)]
    for start in range(0, longest, _WORD):
        word = from_place[begins + start]
        missing = np.clip(start + _WORD - sizes, 0, _WORD)
        if missing.any():
            # By 64 bits a word cannot be shifted at once.
            half = (4 * missing).astype(np.uint64)
            word = ((word << half) << half >> half) >> half
        words.append(word)
    return words


def _hashes(words: list[_Words], factor: int, bits: int) -> npt.NDArray[np.int64]:
    """Return the highest ``bits`` bits of a hash of the words of each text."""
    mixed = np.zeros(len(words[0]), dtype=np.uint64)
    for word in words:
        mixed ^= word
        mixed *= np.uint64(factor)
        mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(factor)
    mixed >>= np.uint64(64 - bits)
    return mixed.view(np.int64)
