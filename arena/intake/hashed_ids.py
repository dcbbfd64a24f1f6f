"""Matches ids of any text by hashes of 64 bits, faster than a hash table of texts.

A table holds the number of a row in the slot that the first bits of its hash name: such tables of
numbers fit the caches better than one of texts. Rows with equal hashes are compared in full, so
that positions do not depend on collisions; what the tables leave open is looked up as text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.types import IntArray
from arena.utils.lazy import pc

FEWEST_TEXTS = 10_000
"""With fewer texts pyarrow's hash table is fast enough."""
_WORD = 8
_LONGEST = 8 * _WORD
_FACTOR = np.uint64(0x9E3779B185EBCA87)
"""An odd multiplier: the first prime of XXH64."""
_TABLES = 8
"""Each leaves open a fifth of what the one before it did."""
_BLOCK = 1 << 13
"""So many rows stay in the cache of a core while they are hashed or compared."""
_FIRST_BYTES = np.array([(1 << 8 * size) - 1 for size in range(_WORD + 1)], dtype=np.uint64)
"""Size -> the mask of the first bytes of a word."""

_Words = npt.NDArray[np.uint64]
_Rows = npt.NDArray[np.void]


def locate_hashed(ids: Any, expected: Any) -> IntArray | None:
    """Return ``(n,)`` positions of the ids in ``expected``, -1 for an unknown one.

    Returns None if there are too few ids, or if one of ``expected`` is longer than 64 bytes. Where
    ``expected`` has an id twice, all rows with this id get the same of its positions. Memory: 80
    bytes for each id; if their lengths differ, also 16 and twice the length of the longest of
    ``expected``.

    >>> expected = pa.array([f"{i * 7919:x}" for i in range(10_000)])
    >>> locate_hashed(expected[::-1], expected)[:3].tolist()
    [9999, 9998, 9997]
    """
    if not (_are_plain_texts(ids) and _are_plain_texts(expected) and len(expected) >= FEWEST_TEXTS):
        return None
    rows = _rows_of(expected, ids)
    if rows is None:
        return None
    expected_words, id_words = rows
    positions = _match(hashes_of(id_words), hashes_of(expected_words), _TABLES)
    left = _unequal(id_words, expected_words, positions)
    if len(left):
        positions[left] = -1
        is_free = np.ones(len(expected_words) + 1, dtype=bool)
        is_free[positions] = False
        free = np.flatnonzero(is_free[:-1])
        texts = expected.take(pa.array(free))
        of_texts = pc.fill_null(pc.index_in(ids.take(pa.array(left)), value_set=texts), -1)
        positions[left] = np.append(free, -1)[of_texts.to_numpy()]
    return positions


def are_different(ids: Any) -> bool:
    """Return whether no text occurs twice.

    >>> are_different(pa.array(["a", "b"])), are_different(pa.array(["a", "b", "a"]))
    (True, False)
    """
    rows = _rows_of(ids) if _are_plain_texts(ids) and len(ids) >= FEWEST_TEXTS else None
    if rows is not None and _differ(hashes_of(rows[0])):
        return True  # equal texts have equal hashes
    return len(pc.unique(ids)) == len(ids)


def _are_plain_texts(texts: Any) -> bool:
    return len(texts) > 0 and isinstance(texts, pa.StringArray) and not texts.null_count


def _packed(texts: Any) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Return the ``(n + 1,)`` places where the n texts begin and the last ends, and their bytes."""
    _, offsets, content = texts.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    text = np.frombuffer(content or b"", dtype=np.uint8)[places[0] : places[-1]]
    return places - places[0], text


def _rows_of(*texts: Any) -> list[_Rows] | None:
    """Return each array of texts as rows of one size; None: one of the first is too long."""
    packed = [_packed(array) for array in texts]
    sizes = [np.diff(places) for places, _ in packed]
    longest = int(sizes[0].max())
    if longest > _LONGEST:
        return None
    if longest >= _WORD and all((sizes_of_array == longest).all() for sizes_of_array in sizes):
        return [text.view(f"V{longest}") for _, text in packed]
    return [_padded(places, text, longest) for places, text in packed]


def _padded(places: npt.NDArray[np.int32], text: npt.NDArray[np.uint8], longest: int) -> _Rows:
    """Return rows of one size: that of a text, and as many words as ``longest`` bytes need.

    Texts of at most ``longest`` bytes are equal if and only if their rows are; longer ones have
    the row of no such text.
    """
    sizes, begins = np.diff(places), places[:-1]
    padded = np.append(text, np.zeros(_WORD, dtype=np.uint8))
    from_place = np.ndarray((len(text) + 1,), "<u8", padded, strides=(1,))
    starts = range(0, longest, _WORD)
    words = np.empty((len(sizes), 1 + len(starts)), dtype="<u8")
    for row in range(0, len(sizes), _BLOCK):
        block, block_sizes = words[row : row + _BLOCK], sizes[row : row + _BLOCK]
        block[:, 0] = block_sizes
        last = np.maximum(block_sizes - _WORD, 0)
        masks = _FIRST_BYTES.take(block_sizes, mode="clip")
        for column, start in enumerate(starts, 1):
            # take would copy every word first.
            word = from_place[begins[row : row + _BLOCK] + np.minimum(start, last)]
            np.bitwise_and(word, masks, out=block[:, column])
    return words.view(f"V{words.shape[1] * _WORD}").reshape(-1)


def hashes_of(rows: _Rows) -> _Words:
    """Return the ``(n,)`` hashes of rows of at least one word."""
    hashes = np.empty(len(rows), dtype=np.uint64)
    size = rows.dtype.itemsize
    # Words of 8 bytes: the last one ends with the row, and begins in the one before it.
    starts = (min(start, size - _WORD) for start in range(0, size, _WORD))
    first, *others = (np.ndarray(len(rows), "<u8", rows, start, (size,)) for start in starts)
    shifted = np.empty(_BLOCK, dtype=np.uint64)
    for start in range(0, len(rows), _BLOCK):
        mixed = hashes[start : start + _BLOCK]
        halves = shifted[: len(mixed)]
        np.multiply(first[start : start + _BLOCK], _FACTOR, out=mixed)
        mixed ^= np.right_shift(mixed, np.uint64(32), out=halves)
        for word in others:
            mixed ^= word[start : start + _BLOCK]
            mixed *= _FACTOR
            mixed ^= np.right_shift(mixed, np.uint64(32), out=halves)
    return hashes


def _match(id_words: _Words, expected: _Words, tables: int) -> IntArray:
    """Return ``(n,)`` rows with the same hash in ``known``, -1 where there is none in the tables.

    A slot of a table holds one row: the others of the slot are entered into the next table, with
    other hashes.
    """
    if not tables or not len(id_words) or not len(expected):
        return np.full(len(id_words), -1)
    bits = int(2 * len(expected) - 1).bit_length()
    slots = _slots(expected, bits)
    numbers = np.arange(len(expected), dtype=np.int32)
    # An empty slot names row 0, whose hash is compared as well.
    table = np.zeros(1 << bits, dtype=np.int32)  # half the size: the caches hold more of it
    table[slots] = numbers
    # take would cast numbers of 32 bits five times as slowly.
    rows = table.take(_slots(id_words, bits), mode="wrap").astype(np.intp)
    still = np.flatnonzero(expected.take(rows, mode="wrap") != id_words)
    rest = np.flatnonzero(table.take(slots, mode="wrap") != numbers)
    positions = _match(id_words.take(still) * _FACTOR, expected.take(rest) * _FACTOR, tables - 1)
    rows[still] = np.append(rest, -1)[positions]
    return rows


def _differ(hashes: _Words) -> bool:
    """Return whether no hash occurs twice, in a third of the time of sorting them.

    Of the hashes of a slot the last one is compared with the others, which enter the next table.
    """
    for _ in range(_TABLES):
        bits = int(2 * len(hashes) - 1).bit_length()
        slots, numbers = _slots(hashes, bits), np.arange(len(hashes), dtype=np.int32)
        table = np.empty(1 << bits, dtype=np.int32)  # only what is written is read
        table[slots] = numbers
        last = table.take(slots, mode="wrap")
        left = np.flatnonzero(last != numbers)
        others = hashes.take(left)
        if (hashes.take(last.take(left)) == others).any():
            return False
        hashes = others * _FACTOR
    hashes.sort()
    return bool((hashes[1:] != hashes[:-1]).all())


def _slots(hashes: _Words, bits: int) -> npt.NDArray[np.int64]:
    """Return the ``(n,)`` slots of a table: the highest ``bits`` bits of the hashes."""
    return (hashes >> np.uint64(64 - bits)).view(np.int64)


def _unequal(id_rows: _Rows, expected: _Rows, positions: IntArray) -> IntArray:
    """Return where ``asked`` is not the row of ``known`` that was found, or none was found."""
    unequal = [np.flatnonzero(positions < 0)]
    copies = np.empty(min(_BLOCK, len(id_rows)), dtype=expected.dtype)
    for start in range(0, len(id_rows), _BLOCK):
        asked_block = id_rows[start : start + _BLOCK]
        # Row -1 reads the last one: it counts as unequal in any case.
        same = expected.take(
            positions[start : start + _BLOCK], mode="wrap", out=copies[: len(asked_block)]
        )
        if same.tobytes() != asked_block.tobytes():  # much faster than a comparison of each row
            unequal.append(start + np.flatnonzero(same != asked_block))
    return np.unique(np.concatenate(unequal))
