"""A list beside the database of what was acknowledged: without it a loss could not be seen.

DuckDB takes a write-ahead log that ends early for one that a kill cut short, and goes on without
the rest. After a kill that is right, after damage it is not: the journal tells the two apart. It
is written after a commit and before anyone is told, and holds no prediction, label or score.
"""

from __future__ import annotations

import json
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
        The identity of the database; a journal of another one is not read, and replaced.
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

    def _parsed_from(self, start: int) -> Acknowledged:
        try:
            if not self._is_mine():
                return Acknowledged()
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size + start) if start < 0 else start)
                lines = file.read().splitlines(keepends=True)
        except OSError as error:
            raise StoreError(
                f"The journal '{self.path}' cannot be read: {error.strerror}. "
                "Allow reading and writing of the file."
            ) from error
        return _parsed(line for line in lines if line.endswith(b"\n"))

    def _is_mine(self) -> bool:
        if not self.path.exists():
            return False
        with self.path.open("rb") as file:
            return file.readline() == self._header

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
    try:
        fields: dict[str, Any] = json.loads(line)
        checksum = fields.pop("crc", None)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}  # cut short by a kill, or by the place where reading began
    return fields if checksum == zlib.crc32(_line(fields)) else {}


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
