"""Times as people write them."""

from __future__ import annotations

from datetime import UTC, datetime

from arena.errors import UsageError


def time_of(text: str) -> datetime:
    """Return the time of a text such as ``2027-01-05T12:00Z``; without an offset it is UTC.

    Raises
    ------
    UsageError
        If it is none.

    >>> time_of("2027-01-05T12:00").isoformat()
    '2027-01-05T12:00:00+00:00'
    """
    try:
        return with_offset(datetime.fromisoformat(text))
    except ValueError:
        raise UsageError(f"{text!r} is not a time such as 2027-01-05T12:00Z.") from None


def with_offset(time: datetime) -> datetime:
    """Return a time with its offset; one without an offset is UTC.

    >>> with_offset(datetime(2026, 3, 1, 12)).isoformat()
    '2026-03-01T12:00:00+00:00'
    """
    return time if time.tzinfo else time.replace(tzinfo=UTC)
