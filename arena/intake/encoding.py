"""Decodes bytes to UTF-8 text and reports every line with invalid bytes."""

from __future__ import annotations

import codecs
import contextlib
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.interfaces.faults import FaultList
from arena.types import Fault
from arena.utils.lazy import pc

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Replaces an invalid byte; then a cell that contains it has already been reported."""

_PROBE = 4096
_MOST_DAMAGE = 10_000
_REPLACE = "arena-replace"
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",  # begins with the mark of utf-16-le
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    b"+/v8": "utf-7",
    b"+/v9": "utf-7",
    b"\x84\x31\x95\x33": "gb18030",
}
"""A byte order mark, as editors write it -> the encoding."""
_PLACES = {
    "utf-32-le": (0, 4),
    "utf-32-be": (3, 4),
    "utf-16-le": (0, 2),
    "utf-16-be": (1, 2),
}
"""An encoding -> which byte of a character of how many is not zero in a text of ASCII."""
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1a")
_FEWEST_CONTROLS = 3
"""Different control characters in the first bytes of a file that is no text."""
_SAVE = 'save the file as "CSV UTF-8".'


def to_utf8(data: bytes, faults: FaultList) -> bytes:
    """Return valid UTF-8 without a byte order mark; every replaced byte is a fault.

    A text in another encoding is read if a byte order mark, or zero bytes, say which. The text is
    returned despite such faults, so that other faults of the file are found too.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    codec = _other_encoding(data)
    if codec is not None:
        data = _recoded(data, codec, faults)
    if b"\0" not in data and _is_utf8(data):
        return data
    if len(set(data[:_PROBE]) & _CONTROLS) >= _FEWEST_CONTROLS:
        message = "This is a binary file, and no text: export it as CSV (UTF-8) or Parquet."
        faults.refuse("wrong format", message)
    return _replace_damage(data, faults)


def with_replaced_bytes(texts: Any, faults: FaultList) -> npt.NDArray[np.bool_]:
    """Return ``(n,)``: True where invalid bytes of the file were replaced, which is a fault.

    A file may itself contain the replacement character: that is not reported yet.
    """
    if not faults.replaced_bytes:
        return np.zeros(len(texts), dtype=np.bool_)
    mask: npt.NDArray[np.bool_] = pc.match_substring(texts, REPLACEMENT).to_numpy(
        zero_copy_only=False
    )
    return mask


def line_of(data: bytes, offset: int) -> int:
    """Return the number of the line, from 1, that contains the byte at ``offset``.

    >>> line_of(b"a,b" + bytes([13, 10]) + b"c", 5)
    2
    """
    ends = data.count(b"\n", 0, offset) + data.count(b"\r", 0, offset)
    return 1 + ends - data.count(b"\r\n", 0, offset)


def _other_encoding(data: bytes) -> str | None:
    """Return the encoding that a byte order mark or zero bytes at fixed places show, or None."""
    for mark, codec in _MARKS.items():
        if data.startswith(mark):
            return codec
    probe = data[:_PROBE]
    for codec, (place, width) in _PLACES.items():
        half = len(probe) // width / 2
        others = set(range(width)) - {place}
        if not probe[place::width].count(0) and all(
            probe[other::width].count(0) > half for other in others
        ):
            return codec
    return None


def _recoded(data: bytes, codec: str, faults: FaultList) -> bytes:
    """Return a text of another encoding in UTF-8; if it is damaged, this is a fault."""
    try:
        return data.decode(codec).removeprefix("\ufeff").encode("utf-8")
    except UnicodeError:
        name = codec.upper().removesuffix("-LE").removesuffix("-BE")
        faults.add("wrong encoding", f"The file is damaged {name}: {_SAVE}", row=1)
    text = data.decode(codec, errors="replace").removeprefix("\ufeff")
    return text.encode("utf-8", errors="replace")


def _is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _replace_damage(data: bytes, faults: FaultList) -> bytes:
    """Return UTF-8 without NUL bytes, in one pass; each line with invalid bytes is a fault."""
    nul: list[int] = []
    position = data.find(b"\0")
    while position >= 0 and len(nul) <= _MOST_DAMAGE:
        nul.append(position)
        position = data.find(b"\0", position + 1)
    wrong: list[int] = []

    def replace(error: Any) -> tuple[str, int]:
        wrong.append(error.start)
        if len(wrong) > _MOST_DAMAGE:
            raise error
        return REPLACEMENT, error.end

    codecs.register_error(_REPLACE, replace)
    text = None
    with contextlib.suppress(UnicodeDecodeError):
        text = data.decode("utf-8", errors=_REPLACE)
    _report_lines(data, nul, "NUL byte", faults)
    _report_lines(data, wrong, "wrong encoding", faults)
    if text is None or len(nul) > _MOST_DAMAGE:
        faults.refuse(
            "no text",
            f"More than {_MOST_DAMAGE:,} bytes are not UTF-8; the rest was not read: {_SAVE}",
        )
    return text.replace("\0", REPLACEMENT).encode()


def _report_lines(data: bytes, offsets: list[int], kind: str, faults: FaultList) -> None:
    """Add a fault for each line that contains one of the sorted offsets."""
    line, counted_to = 1, 0
    lines: list[int] = []
    first: list[int] = []
    for offset in offsets:
        line += data.count(b"\n", counted_to, offset) + data.count(b"\r", counted_to, offset)
        line -= data.count(b"\r\n", counted_to, offset)
        counted_to = offset
        if not lines or lines[-1] != line:
            lines.append(line)
            first.append(offset)

    def fault(position: int) -> Fault:
        offset = first[position]
        start = max(data.rfind(b"\n", 0, offset), data.rfind(b"\r", 0, offset)) + 1
        message = (
            "The line contains a NUL byte: the file is damaged or not text. Remove it."
            if kind == "NUL byte"
            else f"Byte 0x{data[offset]:02x} at position {offset - start + 1:,} of the line "
            f"is not UTF-8: {_SAVE}"
        )
        return Fault(kind, message, row=lines[position])

    faults.add_each(kind, range(len(lines)), fault)
