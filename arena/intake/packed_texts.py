"""Texts as pyarrow stores them: one after another, with the places where they begin."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_FEWEST = 10_000
"""With fewer texts pyarrow's hash table is fast enough."""


def are_many_texts(ids: Any, expected: Any) -> bool:
    """Return whether a faster way than a hash table of texts is worth trying."""
    return (
        len(ids) > 0
        and len(expected) >= _FEWEST
        and all(
            isinstance(texts, pa.StringArray) and not texts.null_count for texts in (ids, expected)
        )
    )


def packed_texts(texts: Any) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Return the ``(n + 1,)`` places where the n texts begin and the last ends, and their bytes.

    ``texts`` is a ``pyarrow.StringArray``, or a part of one, without nulls.

    >>> places, text = packed_texts(pa.array(["left out", "ab", "", "c"])[1:])
    >>> places, text.tobytes()
    (array([0, 2, 2, 3], dtype=int32), b'abc')
    """
    _, offsets, content = texts.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    text = np.frombuffer(content or b"", dtype=np.uint8)[places[0] : places[-1]]
    return places - places[0], text
