"""Reads JSON whose meaning does not depend on the reader."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these pairs, for ``object_pairs_hook``; a repeated key is refused.

    Raises
    ------
    ValueError
        If a key occurs twice: some readers take the first value, and others the last one.
    """
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a key occurs twice in an object")
    return document


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys)


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text in which no object has a key twice.

    Raises
    ------
    ValueError
        If it is not JSON, not UTF-8, or an object has a key twice.
    RecursionError
        If it is nested too deeply.

    Examples
    --------
    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    ValueError: a key occurs twice in an object
    """
    return _DECODER.decode(text if isinstance(text, str) else text.decode())
