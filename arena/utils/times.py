"""Times without an offset."""

from __future__ import annotations

from datetime import UTC, datetime


def with_offset(time: datetime) -> datetime:
    """Return a time with its offset; one without an offset is UTC.

    >>> with_offset(datetime(2026, 3, 1, 12)).isoformat()
    '2026-03-01T12:00:00+00:00'
    """
    return time if time.tzinfo else time.replace(tzinfo=UTC)
