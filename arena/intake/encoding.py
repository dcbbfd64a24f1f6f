"""Bytes to UTF-8 text, with every line that is not."""

from __future__ import annotations

import codecs
import io

from arena.intake.faults import FaultList

__all__ = ["REPLACEMENT", "line_of", "to_utf8"]

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Stands where a byte could not be read; a cell with it has been reported already."""

_PROBE = 4096
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_SAVE = 'save the file as "CSV UTF-8".'


def to_utf8(data: bytes, faults: FaultList) -> bytes:
    """Return valid UTF-8 without a byte order mark; what had to be replaced is a fault.

    Checking goes on with the rest of the file, so that its other faults are found too.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    utf16 = _utf16_codec(data)
    if utf16 is not None:
        faults.add("wrong encoding", f"The file is in UTF-16, not in UTF-8: {_SAVE}", row=1)
        text = data.decode(utf16, errors="replace").removeprefix("\ufeff")
        return text.replace("\0", REPLACEMENT).encode("utf-8", errors="replace")
    if b"\0" not in data and _is_utf8(data):
        return data
    _report_lines(data, faults)
    return data.decode("utf-8", errors="replace").replace("\0", REPLACEMENT).encode()


def line_of(data: bytes, offset: int) -> int:
    """Return the line, from 1, in which the byte at ``offset`` stands.

    >>> line_of(b"a,b" + bytes([13, 10]) + b"c", 5)
    2
    """
    ends = data.count(b"\n", 0, offset) + data.count(b"\r", 0, offset)
    return 1 + ends - data.count(b"\r\n", 0, offset)


def _utf16_codec(data: bytes) -> str | None:
    if data[:2] in _UTF16:
        return _UTF16[data[:2]]
    probe = data[:_PROBE]
    for offset, codec in ((1, "utf-16-le"), (0, "utf-16-be")):
        other = probe[1 - offset :: 2]
        if probe[offset::2].count(0) * 2 > len(probe) // 2 and not other.count(0):
            return codec
    return None


def _is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _report_lines(data: bytes, faults: FaultList) -> None:
    start = 0
    for line in io.BytesIO(data):
        at = line.find(b"\0")
        if at >= 0:
            message = "The line holds a NUL byte: the file was damaged or is not text. Remove it."
            faults.add("NUL byte", message, row=line_of(data, start + at))
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            faults.add(
                "wrong encoding",
                f"Byte 0x{line[error.start]:02x}, the {error.start + 1:,}. of the line, "
                f"is not UTF-8: {_SAVE}",
                row=line_of(data, start + error.start),
            )
        start += len(line)
