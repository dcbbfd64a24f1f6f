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
        return in_utc(datetime.fromisoformat(text))
    except ValueError:
        raise UsageError(f"{text!r} is not a time such as 2027-01-05T12:00Z.") from None


def in_utc(time: datetime) -> datetime:
    """Return a time in UTC; one without an offset is in UTC already.

    Raises
    ------
    ValueError
        If it has no time in UTC: in the first or the last year.

    >>> in_utc(datetime(2026, 3, 1, 12)).isoformat()
    '2026-03-01T12:00:00+00:00'
    """
    try:
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except OverflowError as error:
        raise ValueError("a time must be in the years 1 to 9999 (UTC)") from error
