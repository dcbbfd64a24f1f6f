"""The record of a competition: a chain of events, linked by hashes.

``hash = sha256(previous + canonical([sequence, time, actor, kind, payload]))`` in hexadecimal,
where ``previous`` is the hash of the event before it (64 zeros for the first), ``time`` is ISO 8601
in UTC with microseconds, and ``canonical`` is JSON with sorted keys, no spaces, ASCII only. The
chain of events can be checked with a few lines of any language.

The payload of an event has digests of what was stored in other tables, under ``facts``
(:mod:`arena.store.facts`). They are keyed: without the key, no hash of an event can be used to
guess a label or a score.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb

from arena.errors import StoreFormatError
from arena.store.statements import execute
from arena.store.timestamps import as_stored, as_text
from arena.utils.collection import collection_paused
from arena.utils.strict_json import parse_json
from arena.utils.text import shorten

FIRST_PREVIOUS = "0" * 64
"""The previous hash of the first event."""

DATED = "dated_by"
"""The field of an event whose time the organiser gave, such as that of an import: what gave it."""
INEXACT = timedelta(minutes=1)
"""Clocks of machines that wrote to one record differ by less, and so does one that is corrected."""

PROGRAM_RECEIVED = "program received"
"""The kind of the event of a program, whose submission is recorded later with the same time."""

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_COLUMNS = "sequence, time, actor, kind, payload, previous, hash"
_PAYLOAD = _COLUMNS.split(", ").index("payload")
_ROWS = 1_000
_LAST = "FROM events WHERE sequence = (SELECT max(sequence) FROM events)"


@dataclass(frozen=True, slots=True)
class Event:
    """An event in a competition."""

    sequence: int
    """Counted from 1 without gaps."""
    time: str
    """UTC, ISO 8601 with microseconds."""
    actor: str
    """The actor, as given by the organiser's program."""
    kind: str
    """The kind of event, such as ``submission``, ``release`` or ``disqualification``."""
    payload: Mapping[str, Any]
    """The details, as read from JSON: all keys are text."""
    previous: str
    """The hash of the previous event; 64 zeros for the first."""
    hash: str
    """The hash of ``previous`` and all fields above, in hexadecimal."""

    def computed_hash(self) -> str:
        """Return the hash that this event must have.

        Examples
        --------
        >>> time = "2026-03-01T12:00:00.000000+00:00"
        >>> event = Event(1, time, "host", "note", {"b": 1, "a": 2}, FIRST_PREVIOUS, "")
        >>> event.computed_hash()[:16]
        'f312357f987c7e7b'
        """
        return self.hash_of(_CANONICAL.encode(self.payload))

    def hash_of(self, payload: str) -> str:
        """Return the hash that this event must have with this canonical text as its payload."""
        facts = _CANONICAL.encode([self.sequence, self.time, self.actor, self.kind])
        return hashlib.sha256(f"{self.previous}{facts[:-1]},{payload}]".encode()).hexdigest()


def canonical_json(value: Any) -> str:
    r"""Return the canonical JSON text of a value: sorted keys, no spaces, ASCII only.

    Raises
    ------
    ValueError
        If it contains NaN or an infinity.
    TypeError
        If it contains a type that JSON does not support.

    Examples
    --------
    >>> canonical_json({"b": [1, 2.5], "a": "é"})
    '{"a":"\\u00e9","b":[1,2.5]}'
    """
    # A first round trip turns numeric keys into text, so that they are always sorted as text.
    plain = json.loads(json.dumps(value, allow_nan=False))
    return _CANONICAL.encode(plain)


def insert_event(
    cursor: duckdb.DuckDBPyConnection,
    kind: str,
    actor: str,
    payload: Mapping[str, Any],
    time: datetime | None,
) -> Event:
    """Append an event, inside a transaction."""
    last_rows = execute(cursor, f"SELECT sequence, hash {_LAST}").fetchall()
    sequence, previous = last_rows[0] if last_rows else (0, FIRST_PREVIOUS)
    stored = as_stored(time)
    text = canonical_json(payload)
    unsigned = Event(
        sequence + 1,
        as_text(stored),
        actor=actor,
        kind=kind,
        payload=json.loads(text),
        previous=previous,
        hash="",
    )
    digest = unsigned.computed_hash()
    row = [unsigned.sequence, stored, actor, kind, text, previous, digest, _subject(payload)]
    execute(cursor, "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    return Event(
        sequence=unsigned.sequence,
        time=unsigned.time,
        actor=actor,
        kind=kind,
        payload=unsigned.payload,
        previous=previous,
        hash=digest,
    )


def _subject(payload: Mapping[str, Any]) -> int | None:
    """Return the number of the submission that an event is about, if it is about one."""
    subject = payload.get("submission")
    return subject if type(subject) is int else None


def select_head(cursor: duckdb.DuckDBPyConnection, submission: int | None = None) -> str | None:
    """Return the hash of the last event, or of the first about a submission; None without one."""
    query = f"SELECT hash {_LAST}"
    if submission is not None:
        query = (
            "SELECT hash FROM events WHERE submission = ? AND kind = 'submission' "
            "ORDER BY sequence LIMIT 1"
        )
    rows = execute(cursor, query, [] if submission is None else [submission]).fetchall()
    return next((digest for (digest,) in rows), None)


def select_last_of_kinds(cursor: duckdb.DuckDBPyConnection, after: int) -> dict[str, int]:
    """Return the last sequence of each kind of event among those of a higher sequence."""
    query = "SELECT kind, max(sequence) FROM events WHERE sequence > ? GROUP BY kind"
    return dict(execute(cursor, query, [after]).fetchall())


@collection_paused()
def select_events(cursor: duckdb.DuckDBPyConnection, kinds: Sequence[str]) -> tuple[Event, ...]:
    """Return the events, or those of some kinds, in their order.

    Raises
    ------
    StoreFormatError
        If a payload is not a JSON object, or its submission differs from the stored column.
    """
    return tuple(each_event(cursor, kinds))


def each_event(
    cursor: duckdb.DuckDBPyConnection,
    kinds: Sequence[str] = (),
    after: int | None = None,
) -> Iterator[Event]:
    """Yield the events, or those of some kinds, in their order, without holding all of them.

    Parameters
    ----------
    cursor
        Not to be used for anything else meanwhile.
    after
        Only events of a higher sequence; None: all.

    Raises
    ------
    StoreFormatError
        As :func:`select_events`.
    """
    chosen = [f"kind IN ({', '.join('?' * len(kinds))})"] if kinds else []
    chosen += ["sequence > ?"] if after is not None else []
    where = f"WHERE {' AND '.join(chosen)}" if chosen else ""
    if kinds:
        # DuckDB reads all columns of the rows that it filters, and the payloads are most of the
        # record: kinds alone take a tenth of that time.
        where = f"WHERE sequence IN (SELECT sequence FROM events {where})"  # noqa: S608
    query = f"SELECT {_COLUMNS}, submission FROM events {where} ORDER BY sequence"  # noqa: S608
    result = execute(cursor, query, [*kinds, *([] if after is None else [after])])
    while rows := result.fetchmany(_ROWS):
        for row in rows:
            yield _event(*row)


def each_stored_event(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[Event, str]]:
    """Yield all events in their order, each with the stored text of its payload.

    Raises
    ------
    StoreFormatError
        As :func:`select_events`.
    """
    query = f"SELECT {_COLUMNS}, submission FROM events ORDER BY sequence"  # noqa: S608
    result = execute(cursor, query)
    while rows := result.fetchmany(_ROWS):
        for row in rows:
            yield _event(*row), row[_PAYLOAD]


def _event(
    sequence: int,
    time: datetime,
    actor: str,
    kind: str,
    text: str,
    previous: str,
    digest: str,
    subject: int | None,
) -> Event:
    try:
        payload = parse_json(text)
    except (ValueError, RecursionError):
        payload = None
    if not isinstance(payload, dict) or _subject(payload) != subject:
        raise StoreFormatError(
            f"The record is broken: event {sequence} ({shorten(kind)}, {as_text(time)}) was "
            "changed after it was written. Restore a backup of the database."
        )
    return Event(
        sequence=sequence,
        time=as_text(time),
        actor=actor,
        kind=kind,
        payload=payload,
        previous=previous,
        hash=digest,
    )


def select_events_backwards(
    cursor: duckdb.DuckDBPyConnection, block: int
) -> Iterator[tuple[Event, ...]]:
    """Yield blocks of events from the end of the record, each in its order.

    Raises
    ------
    StoreFormatError
        As :func:`select_events`.
    """
    query = "SELECT coalesce(max(sequence), 0) FROM events"
    ((last,),) = execute(cursor, query).fetchall()
    while last > 0:
        query = f"SELECT {_COLUMNS}, submission FROM events WHERE sequence BETWEEN ? AND ?"  # noqa: S608
        rows = execute(cursor, f"{query} ORDER BY sequence", [last - block + 1, last]).fetchall()
        yield tuple(_event(*row) for row in rows)
        last -= block


class ChainCheck:
    """Checks that each event follows from the one before.

    Missing events at the end cannot be detected from the events alone.
    """

    def __init__(self) -> None:
        self.problem: str | None = None
        """A sentence on the first event that does not follow."""
        self._previous, self._expected = FIRST_PREVIOUS, 1

    def add(self, event: Event, text: str | None = None) -> None:
        """Check the next event.

        ``text`` is the stored text of its payload, which must be canonical: with the same key
        twice, it would mean something else to other programs.
        """
        if self.problem is not None:
            return
        name = f"event {event.sequence} ({shorten(event.kind)}, {event.time})"
        if event.sequence != self._expected:
            what = f"event {self._expected} is missing before {name}."
        elif event.previous != self._previous:
            what = f"{name} does not follow from the event before it."
        elif event.hash != (event.computed_hash() if text is None else event.hash_of(text)):
            what = f"{name} was changed after it was written."
        else:
            self._previous, self._expected = event.hash, self._expected + 1
            return
        self.problem = f"The record is broken: {what}"


def first_broken(events: Iterable[Event]) -> str | None:
    """Return a sentence on the first event that does not follow from the one before, or None.

    Missing events at the end cannot be detected from the events alone.
    """
    check = ChainCheck()
    for event in events:
        check.add(event)
    return check.problem


def is_of_queue(event: Event) -> bool:
    """Return whether an event answers a request of a served competition."""
    return isinstance(event.payload.get("request"), dict)


class TimeCheck:
    """Checks that no event has a time before that of an earlier event.

    A request of a queue has the time at which it came in. It is recorded later, so it may be before
    other events, but not before an earlier request. An event whose time the organiser gave
    (:data:`DATED`) is not compared, nor is a program of the queue: it is recorded after its trial,
    and that of one which came later may end earlier. A submission that a program wrote has the time
    at which the program was received. Differences up to :data:`INEXACT` are none.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        """A sentence on each event at which time runs backwards."""
        self._latest: dict[bool, Event] = {}
        """Whether events are of the queue -> the one that time has reached."""
        self._programs: dict[str, str] = {}
        """The id of a program -> when it was received."""

    def add(self, event: Event) -> None:
        """Compare the next event with those before it."""
        if event.payload.get(DATED):
            return
        program = str(event.payload.get("program"))
        if event.kind == PROGRAM_RECEIVED:
            self._programs[program] = event.time
        elif event.kind == "submission" and "program" in event.payload:
            if self._programs.get(program) != event.time:
                self.problems.append(
                    f"Event {event.sequence} has the submission of a program with the time "
                    f"{shorten(event.time)}, at which no such program was received: the record "
                    f"was changed, or the queue."
                )
            return
        of_queue = is_of_queue(event)
        if of_queue and "program" in event.payload:
            return
        compared = [self._latest[key] for key in {True, of_queue} if key in self._latest]
        latest = max(compared, key=_moment, default=event)
        if _moment(latest) - _moment(event) > INEXACT:
            self.problems.append(
                f"Time runs backwards: event {event.sequence} ({shorten(event.kind)}, "
                f"{shorten(event.time)}) is before event {latest.sequence} "
                f"({shorten(latest.kind)}, {shorten(latest.time)}), which was recorded earlier. "
                "The clock was set back, an older arena imported a submission with its time, or "
                "the time of a request was changed in the queue. "
                "The deadline and the limits of a day followed that time."
            )
            # Named once: what follows is compared with this event.
            self._latest = {of_queue: event} if not of_queue else {**self._latest, True: event}
        elif of_queue not in self._latest or _moment(event) > _moment(self._latest[of_queue]):
            self._latest[of_queue] = event


def _moment(event: Event) -> datetime:
    """Return the time of an event; of one that was changed, the earliest that there is."""
    try:
        return datetime.fromisoformat(event.time).astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime.min.replace(tzinfo=UTC)
