"""Digests: keyed ones (HMAC-SHA256) of the content of tables, and SHA-256 of texts.

A key is 32 random bytes, created with the database and stored in it. Without the key, a digest
reveals nothing about its content, even if only a few values are possible, such as labels.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import IntArray

_LINE = json.JSONEncoder(default=str, separators=(",", ":"))


def document_digest(document: Mapping[str, Any]) -> str:
    """Return the sha256 of a JSON document, independent of the order of its keys."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text_digest(text)


def keyed_digest(key: bytes, content: bytes) -> str:
    """Return the HMAC-SHA256 of some bytes in hexadecimal.

    >>> keyed_digest(b"secret", b"content")[:16]
    '230d8225fa8d7c42'
    """
    return hmac.digest(key, content, "sha256").hex()


def predictions_digest(key: bytes, values: npt.NDArray[Any]) -> str:
    """Return the digest of one submission's cells, in the order of the solution.

    Numbers and label codes are digested as little-endian float64, as stored; texts (object
    arrays) as their lengths in bytes (int64), followed by their UTF-8 bytes.
    """
    if values.dtype != object:
        cells = np.ascontiguousarray(values, dtype="<f8")
        return hmac.digest(key, cells.data, "sha256").hex()
    texts = [text.encode() for text in values.reshape(-1).tolist()]
    lengths = np.array([len(text) for text in texts], dtype="<i8")
    return keyed_digest(key, lengths.tobytes() + b"".join(texts))


def row_line(row: Sequence[Any]) -> bytes:
    r"""Return a row of a table as one line of JSON; times are written as DuckDB returns them.

    >>> row_line([1, 0.5, None, "a"])
    b'[1,0.5,null,"a"]\n'
    """
    return _LINE.encode(row).encode() + b"\n"


def rows_digest(key: bytes, rows: Iterable[Sequence[Any]]) -> str:
    """Return the digest of consecutive rows of a table."""
    digest = hmac.new(key, digestmod="sha256")
    for row in rows:
        digest.update(row_line(row))
    return digest.hexdigest()


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal digits.

    >>> text_digest("")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(text.encode()).hexdigest()


def first_positions(digests: Iterable[Hashable]) -> IntArray:
    """Return for each digest the position of the first one that is equal.

    >>> first_positions(["a", "b", "a"]).tolist()
    [0, 1, 0]
    """
    first: dict[Hashable, int] = {}
    positions = [first.setdefault(digest, position) for position, digest in enumerate(digests)]
    return np.array(positions, dtype=np.intp)
