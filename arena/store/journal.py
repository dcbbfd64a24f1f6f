"""The journal next to the database: a list of what was acknowledged, to detect data loss.

DuckDB treats a write-ahead log that ends early as the result of a killed process, and continues
without the rest. After a kill this is right, after damage it is not: the journal tells the two
apart. It is written after the commit and before the answer, and contains no prediction, label or
score.

A line is also written before a submission is scored. If it is still the last line when the database
is opened again, the process was killed while scoring: the submission has used a place.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import secrets
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from dataclasses import fields as fields_of
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import duckdb

from arena.errors import StoreError
from arena.store.events import Event
from arena.types import SubmissionRecord
from arena.utils.file_errors import reason_of
from arena.utils.strict_json import parse_json
from arena.utils.text import plural

END_BYTES = 2**16
"""The bytes at its end that are read whenever the database is opened."""
_LONGEST_HEADER = 1_000
_LONGEST_LINE = 2**15
"""The most bytes of a line; a longer one was not written by arena, and is not read as a whole."""
MOST_SKIPPED = 2**26
"""The most bytes of a longer line that are read to find what follows it."""
_LONGEST_NAME = 1_000
"""Of a file: the characters that are kept in the journal, at most 12 bytes each."""
_MOST_ENTRIES = 2**31
"""Numbers of submissions and events are 32-bit integers."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A submission that was acknowledged."""

    submission: int
    team: str
    file: str
    sha256: str
    status: str
    received: str


_SUBMISSION_FIELDS = {field.name for field in fields_of(JournalEntry)}


@dataclass(frozen=True, slots=True)
class Scoring:
    """A submission that is being scored; written before the metric sees its predictions."""

    team: str
    file: str
    sha256: str
    received: str
    """UTC, ISO 8601 with microseconds."""
    attempt: str = field(default_factory=lambda: secrets.token_hex(8))
    """Tells it apart from another attempt with the same file."""
    phase: str = ""
    """The phase for which it counts; empty where a competition has no named phases."""


_SCORING_FIELDS = {field.name for field in fields_of(Scoring)}


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The content of a journal."""

    submissions: tuple[JournalEntry, ...] = ()
    events: tuple[tuple[int, str], ...] = ()
    """``(sequence, hash)`` of the last event of every transaction that had one."""
    damaged: int = 0
    """The number of damaged lines, whose content is unknown."""
    scoring: Scoring | None = None
    """What was being scored when the last line was written."""
    overlong_at: int | None = None
    """The position in bytes of the first line that is longer than any that arena writes."""

    @property
    def sentence(self) -> str:
        """Its content in words; empty if there is none."""
        losses = [
            f"submission {entry.submission} ({entry.file} of {entry.team})"
            for entry in self.submissions[:1]
        ]
        if len(self.submissions) > 1:
            more = len(self.submissions) - 1
            losses.append(plural(more, "more submission"))
        losses += [f"event {sequence} of its record" for sequence, _ in self.events[:1]]
        return f"{' and '.join(losses)}." if losses else ""


class Journal:
    """The journal of one database; only the holder of the database's lock may write.

    Parameters
    ----------
    path
        A file next to the database, created with mode 0600.
    database
        The identity of the database; a journal with another identity, or without one, is not read.
    """

    def __init__(self, path: Path, database: str) -> None:
        self.path = path
        self._header = _line({"journal_of": database})

    def append(self, records: Iterable[SubmissionRecord], events: Sequence[Event]) -> None:
        """Write what one transaction stored, and sync it to disk.

        Raises
        ------
        StoreError
            If it cannot be written.
        """
        names = JournalEntry.__slots__
        lines = [
            checked_line({name: _shortened(name, getattr(record, name)) for name in names})
            for record in records
        ]
        lines += [
            checked_line({"event": event.sequence, "hash": event.hash}) for event in events[-1:]
        ]
        if lines:
            consequence = "The data is stored, and can be sent again."
            self._write_or_explain(b"".join(lines), consequence, sync=True)

    def announce(self, scoring: Scoring | None) -> None:
        """Write which submission is about to be scored; None: scoring ended without storing it.

        The entry is not synced to disk: it survives a kill of the process, but possibly not a power
        failure.

        Raises
        ------
        StoreError
            If it cannot be written.
        """
        fields = {} if scoring is None else asdict(scoring)
        kept_fields = {name: _shortened(name, value) for name, value in fields.items()}
        self._write_or_explain(
            checked_line({"scoring": kept_fields or None}), "Nothing was scored.", sync=False
        )

    def _write_or_explain(self, text: bytes, done: str, *, sync: bool) -> None:
        try:
            self.write(text, sync=sync)
        except OSError as error:
            raise StoreError(
                f"The journal '{self.path}' cannot be written: {reason_of(error)}. {done} "
                "Free some space or grant write permission."
            ) from error

    def read(self) -> Acknowledged:
        """Return what was acknowledged, and the number of damaged lines.

        A line truncated by a kill was not acknowledged. A line that lacks only its newline counts:
        its checksum shows that it is complete.

        Raises
        ------
        StoreError
            If it cannot be read.
        """
        return self._parsed_from(0)

    def read_end(self) -> Acknowledged:
        """Return the last entries, at least one line, without reading the whole file."""
        return self._parsed_from(-END_BYTES)

    def last_scoring(self) -> Scoring | None:
        """Return what was being scored when the last line was written; only that is parsed."""
        return self._parsed_from(-END_BYTES, last_line=True).scoring

    def restart(self, records: Iterable[SubmissionRecord], events: Sequence[Event]) -> None:
        """Delete the content and start again with these entries."""
        self.path.unlink(missing_ok=True)
        self.append(records, events)

    def set_aside(self, *, read_only: bool = False) -> None:
        """Move a file with the journal's name that is not this journal aside, and log a warning.

        With ``read_only`` the file is not moved, only logged.

        Raises
        ------
        StoreError
            If it cannot be read or renamed.
        """
        try:
            first = self._first_line()
            if self._header.startswith(first):
                return  # it is this journal, possibly truncated when it was created
            other = "journal_of" in _fields_of(first)
            aside = self._free_name()
            if not read_only:
                self.path.rename(aside)
        except OSError as error:
            raise self._unreadable(error) from error
        what = "belongs to another database" if other else "has a damaged first line"
        outcome = "is not read" if read_only else f"was renamed to '{aside.name}'; a new one begins"
        logging.getLogger("arena").warning(
            "The journal '%s' %s and %s. Data lost before cannot be detected: compare arena "
            "submissions with the answers that the teams received.",
            self.path,
            what,
            outcome,
        )

    def _free_name(self) -> Path:
        names = (self.path.with_name(f"{self.path.name}.set-aside-{n}") for n in itertools.count(1))
        return next(name for name in names if not name.exists())

    def _unreadable(self, error: OSError) -> StoreError:
        return StoreError(
            f"The journal '{self.path}' cannot be read: {reason_of(error)}. "
            "Read and write permission for the file is needed."
        )

    def _parsed_from(self, start: int, *, last_line: bool = False) -> Acknowledged:
        try:
            if not self._is_mine():
                return Acknowledged()
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                offset = max(len(self._header), size + start if start < 0 else start)
                file.seek(offset)
                lines: Iterable[tuple[int, bytes]] = _each_line(file, offset)
                if last_line:
                    lines = deque(lines, maxlen=1)
                # The first line may be incomplete.
                return _parsed(lines, first_is_whole=offset == len(self._header))
        except OSError as error:
            raise self._unreadable(error) from error

    def _is_mine(self) -> bool:
        return self._first_line() == self._header

    def _first_line(self) -> bytes:
        if not self.path.exists():
            return b""
        if not self.path.is_file():  # opening a pipe would wait for ever
            raise OSError("It is not a regular file")
        with self.path.open("rb") as file:
            return file.readline(_LONGEST_HEADER)

    def write(self, text: bytes, *, sync: bool) -> None:
        """Append bytes to the file, which begins again if it belongs to another database.

        Raises
        ------
        OSError
            If they cannot be written.
        """
        mine = self._is_mine()
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | (0 if mine else os.O_TRUNC)
        descriptor = os.open(self.path, flags, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            text = (b"\n" if torn else b"") + (b"" if mine else self._header) + text
            while text:
                text = text[os.write(descriptor, text) :]
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _shortened(name: str, value: object) -> object:
    """Return the value of a field; only the names of files have no limit of their own."""
    return value[:_LONGEST_NAME] if name == "file" and isinstance(value, str) else value


def _each_line(file: BinaryIO, offset: int) -> Iterator[tuple[int, bytes]]:
    """Yield the position of each line and the line, or of a longer one than allowed its begin.

    However large the file is, and whatever it contains, one line is in memory. What follows a line
    of tens of megabytes is not read.
    """
    while line := file.readline(_LONGEST_LINE + 1):
        yield offset, line
        offset += len(line)
        end = offset + MOST_SKIPPED
        while len(line) > _LONGEST_LINE and not line.endswith(b"\n"):
            if offset > end:
                return
            line = file.readline(_LONGEST_LINE + 1)
            offset += len(line)


def _line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def checked_line(fields: dict[str, Any]) -> bytes:
    """Return a line with its checksum."""
    return _line({**fields, "crc": zlib.crc32(_line(fields))})


def _read_line(line: bytes) -> dict[str, Any]:
    """Return the fields of a line; empty if its checksum does not match."""
    fields = _fields_of(line)
    checksum = fields.pop("crc", None)
    return fields if checksum == zlib.crc32(_line(fields)) else {}


def _fields_of(line: bytes) -> dict[str, Any]:
    """Return the content of a line; empty if it is truncated or not a journal line."""
    try:
        fields = parse_json(line)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _parsed(lines: Iterable[tuple[int, bytes]], *, first_is_whole: bool) -> Acknowledged:
    submissions, events, damaged, scoring, overlong = [], [], 0, None, None
    for number, (offset, line) in enumerate(lines):
        if len(line) > _LONGEST_LINE:
            overlong = offset if overlong is None else overlong
            scoring = None
            damaged += 1
            continue
        fields = _read_line(line)
        # A transaction is exclusive: every other line means that what was scored before it is done.
        scoring = None
        if fields.keys() == {"scoring"} and _is_scoring(fields["scoring"]):
            scoring = Scoring(**fields["scoring"]) if fields["scoring"] else None
        elif fields.keys() == _SUBMISSION_FIELDS and _is_submission(fields):
            submissions.append(JournalEntry(**fields))
        elif fields.keys() == {"event", "hash"} and _is_event(fields):
            events.append((fields["event"], fields["hash"]))
        elif line.endswith(b"\n") and (number or first_is_whole):
            damaged += 1
    return Acknowledged(
        tuple(submissions), tuple(events), damaged=damaged, scoring=scoring, overlong_at=overlong
    )


def _is_event(fields: Mapping[str, Any]) -> bool:
    """Return whether a line has the types of an event; its checksum can be right all the same."""
    return _is_number(fields["event"]) and isinstance(fields["hash"], str)


def _is_submission(fields: Mapping[str, Any]) -> bool:
    texts = (value for name, value in fields.items() if name != "submission")
    return _is_number(fields["submission"]) and all(isinstance(text, str) for text in texts)


def _is_scoring(fields: Any) -> bool:
    if fields is None:
        return True
    if not isinstance(fields, dict) or fields.keys() | {"phase"} != _SCORING_FIELDS:
        return False
    try:
        datetime.fromisoformat(fields["received"])
    except (TypeError, ValueError):
        return False
    return all(isinstance(field_value, str) for field_value in fields.values())


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 < value < _MOST_ENTRIES


def missing(cursor: duckdb.DuckDBPyConnection, acknowledged: Acknowledged) -> Acknowledged:
    """Return the acknowledged entries that are not in the database."""
    rows = cursor.execute(
        "SELECT submission, sha256 FROM submissions WHERE list_contains(?::INTEGER[], submission)",
        [[entry.submission for entry in acknowledged.submissions]],
    ).fetchall()
    ((last,),) = cursor.execute("SELECT coalesce(max(sequence), 0) FROM events").fetchall()
    stored = set(rows)
    return Acknowledged(
        tuple(e for e in acknowledged.submissions if (e.submission, e.sha256) not in stored),
        tuple(event for event in acknowledged.events if event[0] > last),
        acknowledged.damaged,
    )
