"""Texts that are written differently and mean the same: composed accents, and points in time."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from arena.types import IntArray
from arena.utils.lazy import pc

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Record = TypeVar("_Record", bound="DataclassInstance")
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?"
_ZONE = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)"


def composed(texts: Any) -> Any:
    """Return a ``pyarrow.StringArray`` with composed accents (NFC): macOS decomposes them.

    >>> composed(pa.array(["e" + chr(0x301)])).to_pylist() == [chr(0xe9)]
    True
    """
    return texts if pc.all(pc.string_is_ascii(texts)).as_py() else pc.utf8_normalize(texts, "NFC")


def composed_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names with composed accents (NFC)."""
    return tuple(unicodedata.normalize("NFC", name) for name in names)


def composed_fields(record: _Record) -> _Record:
    """Return a dataclass with composed accents (NFC) in its texts."""
    changed: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, str):
            changed[field.name] = unicodedata.normalize("NFC", value)
        elif isinstance(value, tuple):
            changed[field.name] = composed_names(value)
    return replace(record, **changed)


def written_time(column: Any) -> Any:
    """Return a column of times as text without the zeros that only its unit adds.

    >>> written_time(pa.array([0, 1500], pa.timestamp("ms", "UTC"))).to_pylist()
    ['1970-01-01 00:00:00Z', '1970-01-01 00:00:01.5Z']
    """
    if pa.types.is_duration(column.type):
        seconds = pc.divide(pc.cast(pc.cast(column, pa.duration("ns")), pa.int64()), 1e9)
        return pc.cast(seconds, pa.string())
    text = pc.cast(column, pa.string())
    text = pc.replace_substring_regex(text, pattern=r"(\.[0-9]*?)0+($|[Z+-])", replacement=r"\1\2")
    return pc.replace_substring_regex(text, pattern=r"\.($|[Z+-])", replacement=r"\1")


def first_written(texts: Sequence[str]) -> list[str]:
    """Return different texts, with each point in time in the form in which it is first written.

    >>> first_written(["2024-01-01T00:00Z", "x", "2024-01-01 01:00+01:00"])
    ['2024-01-01T00:00Z', 'x', '2024-01-01T00:00Z']
    """
    if not any(re.match(r"[0-9]{4}-[0-9]{2}-", text) for text in texts):
        return list(texts)
    first = np.arange(len(texts))
    for form in (_without_offset, _with_offset):
        encoded = form(pa.array(texts, pa.string())).dictionary_encode().indices
        codes = pc.fill_null(encoded, -1).to_numpy()
        _, firsts, inverse = np.unique(codes, return_index=True, return_inverse=True)
        first = np.where(codes < 0, first, firsts[inverse])
    return [texts[position] for position in first.tolist()]


def locate_equal(texts: Any, expected: Any) -> IntArray:
    """Return ``(n,)`` positions of the texts in ``expected`` in another way of writing; -1: none.

    A point in time without an offset from UTC is never that of one with it.

    Examples
    --------
    >>> expected = pa.array(["2024-01-01 01:00:00", "2024-01-02"])
    >>> locate_equal(pa.array(["2024-01-01T01:00", "2024-01-02 00:00:00.000", "x"]), expected)
    array([ 0,  1, -1])
    """
    positions = np.full(len(texts), -1, dtype=np.intp)
    for form in (composed, _without_offset, _with_offset):
        keys, expected_keys = form(texts), form(expected)
        distinct = pc.count_distinct(expected_keys, mode="all").as_py() == len(expected_keys)
        if distinct and len(expected_keys) and not expected_keys.null_count:
            equal_positions = pc.fill_null(
                pc.index_in(keys, value_set=expected_keys, skip_nulls=True), -1
            ).to_numpy()
            positions = np.where(positions < 0, equal_positions, positions)
    return positions


def _times(zone: str | None) -> Callable[[Any], Any]:
    pattern = _TIME + (")?$" if zone is None else f"{_ZONE})$")

    def times(texts: Any) -> Any:
        trimmed = pc.utf8_trim_whitespace(texts)
        is_time = pc.match_substring_regex(trimmed, pattern)
        cells = pc.if_else(is_time, trimmed, pa.scalar(None, pa.string()))
        for unit in ("ns", "us"):  # nanoseconds reach from 1677 to 2262
            try:
                return pc.cast(pc.cast(cells, pa.timestamp(unit, zone)), pa.int64())
            except pa.ArrowInvalid:
                continue
        return pa.nulls(len(texts), pa.int64())

    return times


_without_offset, _with_offset = _times(None), _times("UTC")
