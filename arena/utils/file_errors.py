"""Error messages about files that cannot be read or written."""

from __future__ import annotations

import errno
from pathlib import Path

from arena.errors import InputError
from arena.utils.text import printable

_MOST_CHARACTERS = 200

_REASONS = {
    errno.ENOENT: "there is no such file or folder",
    errno.EISDIR: "it is a folder, not a file",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.ELOOP: "it is a link to itself",
    errno.ENAMETOOLONG: "the name is too long",
}


def reason_of(error: BaseException) -> str:
    """Return the reason why a file cannot be used: the end of a sentence, without a full stop.

    The reasons of the operating system name no path and no number; those of libraries are cut to
    one line of 200 characters.

    Examples
    --------
    >>> reason_of(FileNotFoundError(errno.ENOENT, "No such file or directory", "x.csv"))
    'there is no such file or folder'
    >>> reason_of(PermissionError(errno.EACCES, "Permission denied", "x.csv"))
    'permission denied'
    >>> reason_of(UnicodeDecodeError("utf-8", bytes([255]), 0, 1, "invalid start byte"))
    'it is not UTF-8 text (byte 1)'
    """
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 text (byte {error.start + 1})"
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror
        return _REASONS.get(error.errno or 0, reason[:1].lower() + reason[1:])
    return _one_line(str(error)) or type(error).__name__


def unreadable(path: Path | str, reason: BaseException | str) -> InputError:
    """Return the error for an organiser's file that cannot be read, or has another form.

    Examples
    --------
    >>> print(unreadable("gold.csv", IsADirectoryError(errno.EISDIR, "Is a directory")))
    gold.csv cannot be read: it is a folder, not a file.
    """
    text = _one_line(reason) if isinstance(reason, str) else reason_of(reason)
    return InputError(f"{printable(str(path))} cannot be read: {text}.")


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    short = line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 1] + "…"
    return printable(short).rstrip(".")
