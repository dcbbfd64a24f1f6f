"""The heading of a report: its title, the organiser, a date and a logo."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

from arena.errors import InputError, UsageError
from arena.utils.file_errors import unreadable
from arena.utils.text import plural

_MEDIA_TYPES = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webp": "image/webp",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
}
_MOST_BYTES = 500_000


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading that the organiser gives a report; empty fields are left out."""

    title: str = ""
    organiser: str = ""
    date: str = ""
    """Printed as it is. There is no default, so that a report does not depend on the day."""
    logo: str = ""
    """A picture as a ``data:`` address, so that the page stays one file."""


NO_HEADING = Heading()


def picture_of(file: Path) -> str:
    """Return a picture as an address that holds it.

    Raises
    ------
    UsageError
        If the name of the file does not end as one of a picture that browsers show.
    InputError
        If the file cannot be read, or has more than 500 kB.
    """
    media_type = _MEDIA_TYPES.get(file.suffix.lower())
    if media_type is None:
        raise UsageError(f"{file} must be one of {', '.join(_MEDIA_TYPES)}.")
    try:
        data = file.read_bytes()
    except OSError as error:
        raise unreadable(file, error) from error
    if len(data) > _MOST_BYTES:
        raise InputError(
            f"{file} has {plural(len(data), 'byte')}; a logo has at most {_MOST_BYTES:,}."
        )
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"
