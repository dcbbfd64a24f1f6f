"""Converts times between the tables (UTC without an offset) and ISO 8601."""

from __future__ import annotations

from datetime import UTC, datetime


def as_stored(time: datetime | None) -> datetime:
    """Return a time for the tables; None is now, and a time without an offset is UTC.

    Examples
    --------
    >>> as_stored(datetime.fromisoformat("2026-03-01T14:00+02:00"))
    datetime.datetime(2026, 3, 1, 12, 0)
    """
    if time is None:
        time = datetime.now(UTC)
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def as_text(stored: datetime) -> str:
    """Return a time of the tables as ISO 8601 with microseconds and its offset.

    Examples
    --------
    >>> as_text(datetime(2026, 3, 1, 12))
    '2026-03-01T12:00:00.000000+00:00'
    """
    return stored.replace(tzinfo=UTC).isoformat(timespec="microseconds")
