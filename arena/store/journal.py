"""A list beside the database of what was acknowledged: without it a loss could not be seen.

DuckDB takes a write-ahead log that ends early for one that a kill cut short, and goes on without
the rest. After a kill that is right, after damage it is not: the journal tells the two apart. It
is written after a commit and before anyone is told, and holds no prediction, label or score.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from arena.errors import StoreError
from arena.store.events import Event
from arena.types import SubmissionRecord

__all__ = ["Acknowledged", "Journal", "JournalEntry", "missing"]


_END_BYTES = 2**16
"""What is read of it whenever the database is opened."""
_LONGEST_HEADER = 1_000


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A submission that was acknowledged."""

    submission: int
    team: str
    file: str
    sha256: str
    status: str
    received: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What a journal holds."""

    submissions: tuple[JournalEntry, ...] = ()
    events: tuple[tuple[int, str], ...] = ()
    """``(sequence, hash)`` of the last event of every transaction that had one."""

    @property
    def sentence(self) -> str:
        """What it holds, in words; empty if nothing."""
        said = [
            f"submission {entry.submission} ({entry.file} of {entry.team})"
            for entry in self.submissions[:1]
        ]
        if len(self.submissions) > 1:
            said.append(f"{len(self.submissions) - 1} more submissions")
        said += [f"event {sequence} of its record" for sequence, _ in self.events[:1]]
        return f"{' and '.join(said)}." if said else ""


class Journal:
    """The journal of one database; writes are for whoever holds the database's lock.

    Parameters
    ----------
    path
        Beside the database; mode 0600.
    database
        The identity of the database; a journal of another one, or one that does not say of which
        it is, is not read.
    """

    def __init__(self, path: Path, database: str) -> None:
        self.path = path
        self._header = _line({"journal_of": database})

    def append(self, records: Iterable[SubmissionRecord], events: Sequence[Event]) -> None:
        """Write what one transaction stored, and wait until it is on the disk.

        Raises
        ------
        StoreError
            If it cannot be written.
        """
        lines = [_checked(_entry_fields(record)) for record in records]
        lines += [_checked({"event": event.sequence, "hash": event.hash}) for event in events[-1:]]
        if not lines:
            return
        try:
            self._write(b"".join(lines))
        except OSError as error:
            raise StoreError(
                f"The journal '{self.path}' cannot be written: {error.strerror}. What was sent is "
                "stored, and may be sent again. Free some space or give leave to write."
            ) from error

    def read(self) -> Acknowledged:
        """Return what was acknowledged; a line that a kill cut short is not.

        Raises
        ------
        StoreError
            If it cannot be read.
        """
        return self._parsed_from(0)

    def read_end(self) -> Acknowledged:
        """Return the end of what was acknowledged, at least its last line, without reading all."""
        return self._parsed_from(-_END_BYTES)

    def restart(self, records: Iterable[SubmissionRecord], events: Sequence[Event]) -> None:
        """Forget everything, and begin with these."""
        self.path.unlink(missing_ok=True)
        self.append(records, events)

    def set_aside(self, *, read_only: bool = False) -> None:
        """Put a file in the journal's place that is not this journal aside, and say so.

        With ``read_only`` it stays, and it is said all the same.

        Raises
        ------
        StoreError
            If it cannot be read or renamed.
        """
        try:
            first = self._first_line()
            if self._header.startswith(first):
                return  # it is this one, or was cut short when it was begun
            other = "journal_of" in _fields_of(first)
            aside = self._free_name()
            if not read_only:
                self.path.rename(aside)
        except OSError as error:
            raise self._unreadable(error) from error
        what = "is of another database" if other else "has a damaged first line"
        done = "is not read" if read_only else f"was set aside as '{aside.name}'; a new one begins"
        logging.getLogger("arena").warning(
            "The journal '%s' %s and %s. Whether the database has everything that was acknowledged "
            "before cannot be seen: compare arena submissions with what the teams were told.",
            self.path,
            what,
            done,
        )

    def _free_name(self) -> Path:
        names = (self.path.with_name(f"{self.path.name}.set-aside-{n}") for n in itertools.count(1))
        return next(name for name in names if not name.exists())

    def _unreadable(self, error: OSError) -> StoreError:
        return StoreError(
            f"The journal '{self.path}' cannot be read: {error.strerror}. "
            "Allow reading and writing of the file."
        )

    def _parsed_from(self, start: int) -> Acknowledged:
        try:
            if not self._is_mine():
                return Acknowledged()
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size + start) if start < 0 else start)
                lines = file.read().splitlines(keepends=True)
        except OSError as error:
            raise self._unreadable(error) from error
        return _parsed(line for line in lines if line.endswith(b"\n"))

    def _is_mine(self) -> bool:
        return self._first_line() == self._header

    def _first_line(self) -> bytes:
        if not self.path.exists():
            return b""
        with self.path.open("rb") as file:
            return file.readline(_LONGEST_HEADER)

    def _write(self, text: bytes) -> None:
        mine = self._is_mine()
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | (0 if mine else os.O_TRUNC)
        descriptor = os.open(self.path, flags, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            text = (b"\n" if torn else b"") + (b"" if mine else self._header) + text
            while text:
                text = text[os.write(descriptor, text) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _entry_fields(record: SubmissionRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in JournalEntry.__slots__}


def _line(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def _checked(fields: dict[str, Any]) -> bytes:
    return _line({**fields, "crc": zlib.crc32(_line(fields))})


def _read_line(line: bytes) -> dict[str, Any]:
    """Return the fields of a line; none of one that was damaged, which must not be believed."""
    fields = _fields_of(line)
    checksum = fields.pop("crc", None)
    return fields if checksum == zlib.crc32(_line(fields)) else {}


def _fields_of(line: bytes) -> dict[str, Any]:
    """Return what a line holds; nothing if it was cut short, or never was one."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _parsed(lines: Iterable[bytes]) -> Acknowledged:
    submissions, events = [], []
    for fields in map(_read_line, lines):
        if "submission" in fields:
            submissions.append(JournalEntry(**fields))
        elif "event" in fields:
            events.append((fields["event"], fields["hash"]))
    return Acknowledged(tuple(submissions), tuple(events))


def missing(cursor: duckdb.DuckDBPyConnection, acknowledged: Acknowledged) -> Acknowledged:
    """Return what was acknowledged and is not in the database."""
    rows = cursor.execute("SELECT submission, sha256 FROM submissions").fetchall()
    ((last,),) = cursor.execute("SELECT coalesce(max(sequence), 0) FROM events").fetchall()
    stored = set(rows)
    return Acknowledged(
        tuple(e for e in acknowledged.submissions if (e.submission, e.sha256) not in stored),
        tuple(event for event in acknowledged.events if event[0] > last),
    )
