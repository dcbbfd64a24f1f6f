"""The record of a competition: events, each bound to the one before it by a hash.

``hash = sha256(previous + canonical([sequence, time, actor, kind, payload]))`` in hexadecimal,
where ``previous`` is the hash of the event before it (64 zeros for the first), ``time`` is ISO 8601
in UTC with microseconds, and ``canonical`` is JSON with sorted keys, no spaces, ASCII only. Whoever
has the events can check them with a few lines of any language.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from arena.store.times import as_stored, as_text

__all__ = ["FIRST_PREVIOUS", "Event", "canonical_json", "first_broken", "insert_event"]

FIRST_PREVIOUS = "0" * 64
"""What stands for the hash before the first event."""

_COLUMNS = "sequence, time, actor, kind, payload, previous, hash"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened in a competition."""

    sequence: int
    """Counted from 1 without a gap."""
    time: str
    """UTC, ISO 8601 with microseconds."""
    actor: str
    """Who did it, as the organiser's program named them."""
    kind: str
    """Such as ``submission``, ``release`` or ``disqualification``."""
    payload: Mapping[str, Any]
    """What happened, as JSON."""
    previous: str
    """Hash of the event before; 64 zeros for the first."""
    hash: str
    """Over ``previous`` and everything above, in hexadecimal."""

    def computed_hash(self) -> str:
        """Return the hash that this event must have.

        Examples
        --------
        >>> time = "2026-03-01T12:00:00.000000+00:00"
        >>> event = Event(1, time, "host", "note", {"b": 1, "a": 2}, FIRST_PREVIOUS, "")
        >>> event.computed_hash()[:16]
        'f312357f987c7e7b'
        """
        facts = [self.sequence, self.time, self.actor, self.kind, self.payload]
        return hashlib.sha256((self.previous + canonical_json(facts)).encode()).hexdigest()


def canonical_json(value: Any) -> str:
    r"""Return the one JSON text of a value: sorted keys, no spaces, ASCII only.

    Raises
    ------
    ValueError
        If it holds a number that JSON has not: NaN or an infinity.
    TypeError
        If it holds something that is no JSON.

    Examples
    --------
    >>> canonical_json({"b": [1, 2.5], "a": "é"})
    '{"a":"\\u00e9","b":[1,2.5]}'
    """
    # Once around first: keys that are numbers become text, and are sorted as text ever after.
    plain = json.loads(json.dumps(value, allow_nan=False))
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)


def insert_event(
    cursor: duckdb.DuckDBPyConnection,
    kind: str,
    actor: str,
    payload: Mapping[str, Any],
    time: datetime | None,
) -> Event:
    """Append an event, inside a transaction."""
    found = cursor.execute(
        "SELECT sequence, hash FROM events ORDER BY sequence DESC LIMIT 1"
    ).fetchall()
    sequence, previous = found[0] if found else (0, FIRST_PREVIOUS)
    stored = as_stored(time)
    text = canonical_json(payload)
    unsigned = Event(
        sequence + 1, as_text(stored), actor, kind, json.loads(text), previous, hash=""
    )
    digest = unsigned.computed_hash()
    row = [unsigned.sequence, stored, actor, kind, text, previous, digest]
    cursor.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    return Event(unsigned.sequence, unsigned.time, actor, kind, unsigned.payload, previous, digest)


def select_events(cursor: duckdb.DuckDBPyConnection, kind: str | None) -> tuple[Event, ...]:
    """Return the events, or those of a kind, in their order."""
    query = f"SELECT {_COLUMNS} FROM events WHERE kind = ? OR ? IS NULL ORDER BY sequence"  # noqa: S608
    return tuple(
        Event(sequence, as_text(time), actor, kind, json.loads(payload), previous, digest)
        for sequence, time, actor, kind, payload, previous, digest in cursor.execute(
            query, [kind, kind]
        ).fetchall()
    )


def first_broken(events: Iterable[Event]) -> str | None:
    """Return a sentence on the first event that does not follow from the one before, or None.

    That the last ones are missing cannot be seen from the events alone.
    """
    previous, expected = FIRST_PREVIOUS, 1
    for event in events:
        name = f"event {event.sequence} ({event.kind}, {event.time})"
        if event.sequence != expected:
            return f"The record is broken: event {expected} is missing before {name}."
        if event.previous != previous:
            return f"The record is broken: {name} does not follow from the event before it."
        if event.hash != event.computed_hash():
            return f"The record is broken: {name} was changed after it was written."
        previous, expected = event.hash, expected + 1
    return None
