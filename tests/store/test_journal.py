"""The journal alone: what it holds after which writes, whatever a kill or damage left of it."""

from __future__ import annotations

import json
import logging
import os
import stat
import tracemalloc
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from arena.errors import StoreError
from arena.store import Event
from arena.store import journal as journals
from arena.store.journal import Acknowledged, Journal, JournalEntry, Scoring, checked_line, missing
from arena.types import SubmissionRecord

WHEN = "2026-03-01T12:00:00.000000+00:00"
SCORING = Scoring("a", "f.csv", "ab", WHEN, "attempt")


def event_of(number: int) -> Event:
    return Event(
        sequence=number,
        time=WHEN,
        actor="host",
        kind="note",
        payload={},
        previous="0" * 64,
        hash=f"{number:064x}",
    )


def record_of(number: int) -> SubmissionRecord:
    return SubmissionRecord(
        submission=number, team="a", file="f.csv", sha256=f"{number:x}", status="accepted",
        received=WHEN, faults=(),
    )  # fmt: skip


def numbers(entries: Acknowledged) -> tuple[list[int], list[int]]:
    return [submission.submission for submission in entries.submissions], [
        number for number, _ in entries.events
    ]


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """A journal with two transactions."""
    new_journal = Journal(tmp_path / "x.journal", "mine")
    new_journal.append([record_of(1), record_of(2)], [event_of(1), event_of(2)])
    new_journal.append([record_of(3)], [event_of(3)])
    return new_journal


def test_submissions_and_the_last_event_of_each_transaction_are_read(journal: Journal) -> None:
    for entries in (journal.read(), journal.read_end()):
        assert numbers(entries) == ([1, 2, 3], [2, 3])
        assert (entries.damaged, entries.scoring) == (0, None)
        assert entries.submissions[0] == JournalEntry(1, "a", "f.csv", "1", "accepted", WHEN)
        assert entries.events[0] == (2, f"{2:064x}")
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    journal.append([], [])
    assert len(journal.path.read_bytes().splitlines()) == 6  # with its header


def test_a_file_that_does_not_exist_holds_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "x", "mine")
    assert journal.read() == journal.read_end() == Acknowledged()
    journal.set_aside()
    assert list(tmp_path.iterdir()) == []


def test_what_is_being_scored_is_known_until_another_line_follows(journal: Journal) -> None:
    journal.announce(SCORING)
    assert journal.read().scoring == journal.last_scoring() == SCORING
    assert numbers(journal.read()) == ([1, 2, 3], [2, 3])
    journal.append([record_of(4)], [event_of(4)])
    assert journal.read().scoring is None
    assert numbers(journal.read()) == ([1, 2, 3, 4], [2, 3, 4])  # what came after it, too
    journal.announce(SCORING)
    journal.announce(None)
    assert (journal.read().scoring, journal.read().damaged) == (None, 0)
    journal.announce(SCORING)
    announced = json.loads(journal.path.read_bytes().splitlines()[-1])["scoring"]
    for damaged, received in enumerate((5, None, "today"), start=1):  # with the right checksum
        with journal.path.open("ab") as file:
            file.write(checked_line({"scoring": {**announced, "received": received}}))
        assert (journal.read().scoring, journal.read().damaged) == (None, damaged)
    first, second = (Scoring("a", "f", "s", WHEN).attempt for _ in range(2))
    assert first != second
    assert len(first) == 16


def test_only_the_end_of_a_long_journal_is_read_when_it_is_opened(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = journal.path.read_bytes().splitlines(keepends=True)
    last = sum(len(line) for line in lines[-2:])
    for more, found_numbers in (
        (-1, ([], [3])),  # without the first byte of the line
        (0, ([3], [3])),
        (1, ([3], [3])),
        (len(lines[-3]), ([3], [2, 3])),
    ):
        monkeypatch.setattr(journals, "END_BYTES", last + more)
        acknowledged = journal.read_end()
        assert acknowledged.damaged == 0  # the first line may be incomplete
        assert numbers(acknowledged) == found_numbers
        assert numbers(journal.read()) == ([1, 2, 3], [2, 3])


def test_damaged_lines_are_counted_and_the_others_are_read(journal: Journal) -> None:
    lines = journal.path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"f.csv"', b'"g.csv"')  # the checksum does not match
    lines[4] = b"\xff\x00 no JSON\n"
    lines.insert(3, b'{"other": 1, "crc": %d}\n' % zlib.crc32(b'{"other": 1}\n'))
    lines.insert(3, b"[1]\n")
    journal.path.write_bytes(b"".join(lines))
    for entries in (journal.read(), journal.read_end()):
        assert numbers(entries) == ([2], [2, 3])
        assert entries.damaged == 4


def test_an_entry_that_lacks_only_its_newline_counts(journal: Journal) -> None:
    whole = journal.path.read_bytes()
    for ending, events in ((1, [2, 3]), (2, [2])):
        journal.path.write_bytes(whole[:-ending])
        for entries in (journal.read(), journal.read_end()):
            assert numbers(entries) == ([1, 2, 3], events)
            assert entries.damaged == 0  # a line cut short by a kill was not acknowledged
    journal.append([], [event_of(4)])
    assert numbers(journal.read()) == ([1, 2, 3], [2, 4])
    assert journal.read().damaged == 1
    journal.path.write_bytes(b"")  # created, and killed before anything was written
    journal.append([], [event_of(5)])
    assert json.loads(journal.path.read_bytes().splitlines()[0]) == {"journal_of": "mine"}
    assert numbers(journal.read()) == ([], [5])


def test_a_restart_keeps_only_what_is_given(journal: Journal) -> None:
    journal.restart([record_of(9)], [event_of(7)])
    assert numbers(journal.read()) == ([9], [7])
    for _ in range(2):  # of a file that is there, and of none
        journal.restart([], [])
        assert not journal.path.exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"journal_of": "other"}\nrest\n', "belongs to another database"),
        (b"rubbish\n", "has a damaged first line"),
        (b"[]\n", "has a damaged first line"),
        (b'{"journal_of": "min', None),  # killed while it was created
        (b'{"journal_of": "mine"}\n', None),
        (b"", None),
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_another_file_with_its_name_is_not_believed(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    content: bytes,
    said: str | None,
    read_only: bool,
) -> None:
    journal = Journal(tmp_path / "x", "mine")
    journal.path.write_bytes(content)
    (tmp_path / "x.set-aside-1").write_bytes(b"of before")
    assert journal.read() == Acknowledged()
    with caplog.at_level(logging.WARNING):
        journal.set_aside(read_only=read_only)
    moved = said is not None and not read_only
    assert journal.path.exists() != moved
    assert (tmp_path / "x.set-aside-2").exists() == moved
    assert (tmp_path / "x.set-aside-1").read_bytes() == b"of before"
    if said is None:
        assert caplog.text == ""
    else:
        assert said in caplog.text
        assert ("is not read" in caplog.text) == read_only
        assert ("renamed to 'x.set-aside-2'" in caplog.text) == moved
    if moved:
        assert (tmp_path / "x.set-aside-2").read_bytes() == content


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "mine")  # a folder
    for call in (journal.read, journal.read_end, journal.set_aside):
        with pytest.raises(StoreError, match="cannot be read: It is not a regular file"):
            call()
    writes: list[tuple[Any, str]] = [
        (lambda: journal.append([], [event_of(1)]), "The data is stored"),
        (lambda: journal.announce(None), "Nothing was scored"),
    ]
    for write, done in writes:
        with pytest.raises(
            StoreError, match=f"cannot be written: It is not a regular file. {done}"
        ):
            write()


def test_what_the_database_lacks_is_missing(journal: Journal) -> None:
    with duckdb.connect() as database:
        database.execute("CREATE TABLE submissions (submission INTEGER, sha256 TEXT)")
        database.execute("CREATE TABLE events (sequence INTEGER)")
        assert missing(database, journal.read()) == journal.read()
        database.execute("INSERT INTO submissions VALUES (1, '1'), (2, 'other')")
        database.execute("INSERT INTO events VALUES (1), (2)")
        entries = missing(database, replace(journal.read(), damaged=3))
    assert numbers(entries) == ([2, 3], [3])
    assert entries.damaged == 3
    assert entries.sentence == (
        "submission 2 (f.csv of a) and 1 more submission and event 3 of its record."
    )
    three = Acknowledged(journal.read().submissions)
    assert three.sentence == "submission 1 (f.csv of a) and 2 more submissions."
    assert Acknowledged().sentence == ""
    assert Acknowledged(events=((4, "a"), (6, "b"))).sentence == "event 4 of its record."


def test_what_was_answered_is_synced_and_what_is_announced_is_not(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(journals.os, "fsync", synced.append)
    journal.announce(SCORING)
    assert synced == []
    journal.append([record_of(4)], [])
    assert len(synced) == 1


@pytest.mark.parametrize(
    ("number", "valid"), [(0, False), (1, True), (2**31 - 1, True), (2**31, False), (True, False)]
)
def test_numbers_are_positive_and_fit_into_32_bits(
    tmp_path: Path, number: int, valid: bool
) -> None:
    journal = Journal(tmp_path / "x", "mine")
    journal.append([replace(record_of(7), submission=number)], [])
    journal.append([], [replace(event_of(7), sequence=number)])
    entries = journal.read()
    assert numbers(entries) == (([number], [number]) if valid else ([], []))
    assert entries.damaged == (0 if valid else 2)


def test_a_line_longer_than_any_of_arena_is_skipped_and_its_position_kept(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = journal.path.stat().st_size
    with journal.path.open("ab") as file:
        file.write(b"x" * 300_000 + b"\n")
    journal.append([record_of(4)], [event_of(4)])
    entries = journal.read()
    assert numbers(entries) == ([1, 2, 3, 4], [2, 3, 4])
    assert (entries.damaged, entries.overlong_at) == (1, before)
    assert numbers(journal.read_end()) == ([4], [4])
    monkeypatch.setattr(journals, "MOST_SKIPPED", 100_000)
    assert numbers(journal.read()) == ([1, 2, 3], [2, 3])


@pytest.mark.parametrize(("hole", "is_read"), [(2**26 - 2**16, True), (2**26 + 2**17, False)])
def test_what_follows_a_line_of_64_megabytes_is_not_read(
    journal: Journal, hole: int, is_read: bool
) -> None:
    """Sparse: a hole of zeros, which takes no space on the disk."""
    os.truncate(journal.path, journal.path.stat().st_size + hole)
    with journal.path.open("ab") as file:
        file.write(b"\n")
    journal.append([record_of(4)], [])
    assert numbers(journal.read()) == ([1, 2, 3, *[4] * is_read], [2, 3])


@pytest.mark.few(1)
@pytest.mark.parametrize("size", [3 * 10**6, 2 * 10**10])
def test_a_journal_of_any_size_is_read_in_little_memory(journal: Journal, size: int) -> None:
    """Sparse: a hole of zeros, which takes no space on the disk."""
    before = journal.path.stat().st_size
    os.truncate(journal.path, size)
    tracemalloc.start()
    try:
        for entries in (journal.read(), journal.read_end()):
            assert entries.overlong_at is not None
        assert journal.read().overlong_at == before
        assert numbers(journal.read()) == ([1, 2, 3], [2, 3])
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    finally:
        tracemalloc.stop()
    journal.append([], [event_of(4)])
    assert numbers(journal.read_end()) == ([], [4])


def test_the_longest_entry_of_arena_is_shorter_than_the_longest_line(tmp_path: Path) -> None:
    wide = "\N{GRINNING FACE}"
    journal = Journal(tmp_path / "x.journal", "mine")
    record = replace(record_of(1), team=wide * 100, file=wide * 10**6)
    journal.append([record], [])
    journal.announce(replace(SCORING, team=wide * 100, file=wide * 10**6))
    entries = journal.read()
    assert (entries.damaged, entries.overlong_at) == (0, None)
    assert entries.submissions[0].file == wide * 1_000
    assert entries.scoring is not None
    assert entries.scoring.file == wide * 1_000
