"""Damage of the write-ahead log is noticed, cut out, and accounted for."""

from __future__ import annotations

import json
import shutil
import stat
import struct
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from arena.errors import StoreError, StoreFormatError
from arena.store import Store
from arena.store import repair as repairs
from arena.store.journal import JournalEntry
from arena.store.repair import (
    RepairReport,
    copy_to_quarantine,
    cut_log,
    describe_repair,
    put_in_place,
    record_losses,
    repair,
    store_a_submission,
)
from arena.types import PredictionKind, Release
from submit_work import make_solution, submit, values_of

N_ROWS, N_SUBMISSIONS = 500, 8
TIME = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a kill leaves it: two submissions in the file, six in its log."""
    folder = tmp_path_factory.mktemp("open")
    path = folder / "x.duckdb"
    with Store.open(path) as store:
        store.put_solution(make_solution(N_ROWS))
        for number in (1, 2):
            submit(store, number, values_of(number, N_ROWS))
    with Store.open(path) as store:
        for number in range(3, N_SUBMISSIONS + 1):
            submit(store, number, values_of(number, N_ROWS))
        return Path(shutil.copytree(folder, tmp_path_factory.mktemp("crashed") / "x"))


@pytest.fixture
def broken(crashed: Path, tmp_path: Path) -> Path:
    """A database of its own to be damaged."""
    return Path(shutil.copytree(crashed, tmp_path / "x")) / "x.duckdb"


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0x55
    path.write_bytes(content)


LENGTH, CHECKSUM = 8, 8
"""Bytes before the content of each entry of the log."""


def entry_at(log: Path, place: int) -> int:
    """Return where the entry begins that a byte of the log belongs to.

    DuckDB writes what a transaction changed in the tables in any order: the same entries do not
    begin at the same bytes in every log. The length of the log's header varies too, and a number
    in it can be the length up to an entry: the right chain of entries is the one with the most.
    """
    content = log.read_bytes()
    chains = []
    for first in range(200):
        begins = [first]
        while begins[-1] + LENGTH + CHECKSUM <= len(content):
            (length,) = struct.unpack_from("<Q", content, begins[-1])
            begins.append(begins[-1] + LENGTH + CHECKSUM + length)
        if begins[-1] == len(content):
            chains.append(begins)
    chain = max(chains, key=len, default=[])
    assert len(chain) > 9, "The log has another format."
    return max(begin for begin in chain if begin <= place)


def assert_sound(path: Path, lost: list[int]) -> None:
    """Everything but the lost is whole, the lost are to be sent again, and all can go on."""
    with Store.open(path, create=False) as store:
        assert store.verify_events() is None
        assert store.events()[-1].kind == "repair"
        assert store.events()[-1].payload["lost_submissions"] == lost
        records = store.submissions()
        assert [record.submission for record in records] == list(range(1, N_SUBMISSIONS + 1))
        assert [record.submission for record in records if record.status == "refused"] == lost
        for number in lost:
            (fault,) = records[number - 1].faults
            assert fault.kind == "lost"
            assert "send it again" in fault.message
        accepted = [record.submission for record in records if record.status == "accepted"]
        assert [release.submission for release in store.releases()] == accepted
        for (_, block), number in zip(store.predictions(accepted).blocks(1), accepted, strict=True):
            np.testing.assert_array_equal(block[0], values_of(number, N_ROWS)[:, 0])
        for i, number in enumerate(lost):
            again = submit(store, number, values_of(number, N_ROWS))
            assert (again.submission, again.status) == (N_SUBMISSIONS + 1 + i, "accepted")
    with Store.open(path, create=False) as store:
        assert len(store.submissions()) == N_SUBMISSIONS + len(lost)


def assert_quarantined(report: RepairReport, before: dict[str, bytes]) -> None:
    assert report.quarantine is not None
    assert str(report.quarantine) in report.sentence
    assert {file.name: file.read_bytes() for file in report.quarantine.iterdir()} == before
    assert stat.S_IMODE(report.quarantine.stat().st_mode) == 0o700


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


@pytest.mark.slow
def test_log_that_a_kill_left_needs_no_repair(broken: Path) -> None:
    report = repair(broken)
    assert report == RepairReport(f"The database '{broken}' is intact: nothing was changed.")
    with Store.open(broken) as store:
        assert len(store.submissions()) == N_SUBMISSIONS


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.6, 0.02, 0.3, 0.9, 0.999])
def test_log_with_a_flipped_byte_is_cut_there(broken: Path, share: float) -> None:
    log = log_of(broken)
    place = round(share * log.stat().st_size)
    begin = entry_at(log, place)
    flip(log, max(place, begin + LENGTH))  # a wrong length is another damage: see below
    before = contents(broken)
    with pytest.raises(StoreFormatError, match="damaged: run `arena repair`"):
        Store.open(broken)
    assert contents(broken) == before
    report = repair(broken, time=TIME)
    assert_quarantined(report, before)
    assert report.quarantine == broken.with_name("x.duckdb.quarantine-20260301T120000Z")
    assert report.cut_at is not None
    assert report.cut_at <= max(place, begin + LENGTH + CHECKSUM)
    lost = [entry.submission for entry in report.lost]
    assert lost == list(range(N_SUBMISSIONS - len(lost) + 1, N_SUBMISSIONS + 1))
    assert len(lost) == pytest.approx(6 * (1 - share), abs=1)
    assert len(lost) == report.lost_events
    assert f"submission {lost[0]} of t{lost[0]} ({lost[0]}.csv)" in report.sentence
    assert_sound(broken, lost)
    assert repair(broken).quarantine is None


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.02, 0.6])
def test_an_entry_longer_than_the_log_is_noticed_by_the_journal(broken: Path, share: float) -> None:
    """DuckDB takes it for one that a kill cut short, and says nothing."""
    log = log_of(broken)
    flip(log, entry_at(log, round(share * log.stat().st_size)) + LENGTH - 1)
    with pytest.raises(StoreFormatError, match="lacks acknowledged data: submission"):
        Store.open(broken)
    report = repair(broken)
    lost = [entry.submission for entry in report.lost]
    assert lost == list(range(N_SUBMISSIONS - len(lost) + 1, N_SUBMISSIONS + 1))
    assert len(lost) == pytest.approx(6 * (1 - share), abs=1)
    assert_sound(broken, lost)


@pytest.mark.slow
@pytest.mark.parametrize("length", [0, 20, 0.5])
def test_log_that_ends_early_is_noticed_by_the_journal(broken: Path, length: float) -> None:
    log = log_of(broken)
    whole = log.read_bytes()
    log.write_bytes(whole[: length if isinstance(length, int) else round(length * len(whole))])
    before = contents(broken)
    for _ in range(2):
        with pytest.raises(StoreFormatError, match="lacks acknowledged data: submission"):
            Store.open(broken)
    assert contents(broken) == before or length == 0
    report = repair(broken)
    assert report.cut_at is None
    assert report.lost
    assert_sound(broken, [entry.submission for entry in report.lost])


@pytest.mark.slow
@pytest.mark.parametrize(
    "place",
    [
        *range(0, 60, 6),  # in every word of eight bytes
        *(pytest.param(place, marks=pytest.mark.campaign) for place in range(3, 60, 6)),
    ],
)
def test_damage_of_the_beginning_of_the_log_never_goes_unnoticed(broken: Path, place: int) -> None:
    flip(log_of(broken), place)
    try:
        with Store.open(broken) as store:
            assert len(store.submissions()) == N_SUBMISSIONS
            return
    except StoreFormatError:
        report = repair(broken)
    assert [entry.submission for entry in report.lost] == list(range(3, N_SUBMISSIONS + 1))
    assert_sound(broken, list(range(3, N_SUBMISSIONS + 1)))


@pytest.mark.slow
def test_a_log_that_closing_leaves_behind_is_kept(
    broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space")

    flip(log_of(broken), -100)
    monkeypatch.setattr("arena.store.database.checkpoint", fail)
    report = repair(broken, time=TIME)
    monkeypatch.undo()
    assert report.cut_at
    assert_sound(broken, [entry.submission for entry in report.lost])


@pytest.mark.slow
def test_log_that_was_removed_and_older_copy(broken: Path) -> None:
    log_of(broken).unlink()
    with pytest.raises(StoreFormatError, match="or an older copy was restored"):
        Store.open(broken)
    report = repair(broken)
    assert [entry.submission for entry in report.lost] == list(range(3, N_SUBMISSIONS + 1))
    assert_sound(broken, [entry.submission for entry in report.lost])


@pytest.mark.slow
def test_without_a_named_place_the_longest_good_beginning_is_kept(
    broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_of(broken)
    flip(log, log.stat().st_size // 2)
    monkeypatch.setattr("arena.store.repair.BYTE_POSITION", "no such text")
    other = Path(shutil.copytree(broken.parent, broken.parent.parent / "named")) / broken.name
    unnamed = repair(broken)
    monkeypatch.undo()
    named = repair(other)
    assert [entry.submission for entry in unnamed.lost] == [
        entry.submission for entry in named.lost
    ]
    assert named.cut_at is not None
    assert unnamed.cut_at is not None
    assert unnamed.cut_at >= named.cut_at
    assert_sound(broken, [entry.submission for entry in unnamed.lost])


def test_damage_of_the_database_itself_is_not_repaired(broken: Path) -> None:
    flip(log_of(broken), log_of(broken).stat().st_size // 2)
    content = broken.read_bytes()
    broken.write_bytes(content[:8192] + bytes(len(content) - 8192))
    before = contents(broken)
    with pytest.raises(StoreError) as caught:
        repair(broken)
    assert "\n" not in str(caught.value)
    after = contents_of_files(broken)
    assert {name: after[name] for name in before} == before


def contents_of_files(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}


def test_what_is_not_there_or_foreign_is_not_repaired(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,y\n" + "a,1\n" * 9)
    with pytest.raises(StoreError, match="There is no database"):
        repair(tmp_path / "x.duckdb")
    with pytest.raises(StoreFormatError, match="use another file"):
        repair(tmp_path / "x.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["x.csv"]


def test_a_database_that_was_edited_is_not_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.duckdb"
    with Store.open(path) as store, store.transaction() as transaction:
        transaction.append_event("note", "host", {})
    monkeypatch.setattr(Store, "audit", lambda *_, **__: ("One row differs.", "Another does."))
    with pytest.raises(StoreFormatError) as refused:
        repair(path)
    assert str(refused.value) == (
        f"The database '{path}' differs from its record: One row differs. Restore a backup."
    )


def test_repair_needs_room_for_its_copy(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flip(log_of(broken), log_of(broken).stat().st_size // 2)
    before = contents(broken)
    disk_usage = SimpleNamespace(free=3 * 2**20)
    monkeypatch.setattr("arena.store.database.SPACE_RESERVE", 0)
    monkeypatch.setattr("shutil.disk_usage", lambda _: disk_usage)
    needed = 3 * sum(map(len, before.values())) / 2**20
    with pytest.raises(
        StoreError, match=rf"{needed:.0f} MB are needed for copies, and 3 MB are free\. Nothing was"
    ):
        repair(broken)
    assert contents(broken) == before


@pytest.mark.parametrize("kind", [PredictionKind.VALUE, PredictionKind.TEXT])
def test_a_repaired_database_is_tried_with_a_whole_submission(kind: PredictionKind) -> None:
    is_text = kind is PredictionKind.TEXT
    solution = make_solution(3)
    if is_text:
        solution = replace(solution, kind=kind, truth=np.array(["a", "b", "c"], dtype=object))
    with Store.open() as store:
        store_a_submission(store)  # nothing can be sent before there is a solution
        assert store.submissions() == ()
        store.put_solution(solution)
        store_a_submission(store)
        (record,) = store.submissions()
        assert (record.team, record.status) == ("arena repair", "accepted")
        ((_, block),) = store.predictions([1]).blocks(1)
        assert block.tolist() == [[""] * 3 if is_text else [0.0] * 3]
        (release,) = store.releases()
        assert release.release == Release(0.0, False)
        (event,) = store.events()
        assert (event.kind, event.payload["submission"]) == ("submission", 1)
        assert store.audit() == ()


LOST = JournalEntry(2, "b", file="b.csv", sha256="22", status="accepted", received=TIME.isoformat())


def test_a_repair_is_described_in_sentences(tmp_path: Path) -> None:
    path, quarantine = tmp_path / "x", tmp_path / "q"
    nothing_lost = RepairReport("", quarantine)
    end = f"The original files are in '{quarantine}'."
    for report, sentences in (
        (nothing_lost, "No submission in its journal was lost."),
        (
            replace(nothing_lost, cut_at=0, lost=(LOST,)),
            "Its write-ahead log was cut at byte 0. Lost, to be submitted again: submission 2 of b "
            "(b.csv).",
        ),
        (
            replace(
                nothing_lost, cut_at=7, lost=(LOST, replace(LOST, submission=3)), lost_events=2
            ),
            "Its write-ahead log was cut at byte 7. Lost, to be submitted again: submission 2 of b "
            "(b.csv), 3 of b (b.csv). At least 2 events of its record were lost: check selections "
            "and disqualifications.",
        ),
        (
            replace(nothing_lost, damaged_lines=1),
            "No submission in its journal was lost. Its journal has damaged lines (1): their "
            "submissions may be lost too. Compare arena submissions with the answers that the "
            "teams received.",
        ),
    ):
        assert (
            describe_repair(path, report) == f"The database '{path}' opens again. {sentences} {end}"
        )


def test_every_file_of_a_database_is_copied_and_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    path, others = folder / "x.duckdb", ("x.duckdb.wal", "x.duckdb.journal", "other.duckdb")
    for name in (path.name, *others):
        (folder / name).write_text(name)
    (folder / "x.duckdb.folder").mkdir()
    first, second = (copy_to_quarantine(path, TIME) for _ in range(2))
    assert [first.name, second.name] == [
        "x.duckdb.quarantine-20260301T120000Z",
        "x.duckdb.quarantine-20260301T120000Z-2",
    ]
    copied = {file.name: file.read_text() for file in first.iterdir()}
    assert copied == {name: name for name in (path.name, *others[:2])}
    assert stat.S_IMODE(first.stat().st_mode) == 0o700
    repaired = tmp_path / "repaired.duckdb"
    for end in ("", ".wal"):
        repaired.with_name(f"{repaired.name}{end}").write_text("repaired")
    put_in_place(repaired, repaired.parent / "c" / "repaired.duckdb")
    assert (folder / "repaired.duckdb.wal").read_text() == "repaired"
    repaired.write_text("without a log")
    put_in_place(repaired, folder / "repaired.duckdb")
    assert (folder / "repaired.duckdb").read_text() == "without a log"
    assert not (folder / "repaired.duckdb.wal").exists()


@pytest.mark.parametrize(
    ("whole_until", "damage", "position"),
    [
        (7, "it is damaged", 7),
        (99, "it is damaged", 99),
        (0, "it is damaged", 0),
        (50, "it is damaged at byte position 40", 40),
        (50, "it is damaged at byte position 50", 50),
        (50, "it is damaged at byte position 51", 50),
    ],
)
def test_a_log_is_cut_where_the_damage_is_named_or_else_where_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_until: int, damage: str, position: int
) -> None:
    path = tmp_path / "x"
    log_of(path).write_bytes(b"x" * 100)
    tried: list[int] = []

    def opens(_: Path, length: int) -> bool:
        tried.append(length)
        return length <= whole_until

    monkeypatch.setattr(repairs, "_opens", opens)
    assert cut_log(path, damage) == position
    assert tried[0] == 0  # the database without its log, of which every table is read
    assert log_of(path).stat().st_size == position
    monkeypatch.setattr(repairs, "_opens", lambda *_: False)
    with pytest.raises(StoreFormatError, match="cannot be opened without its write-ahead log eit"):
        cut_log(path, damage)


def test_the_log_of_a_database_that_cannot_be_opened_is_not_cut(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"no database" * 1_000)
    log_of(path).write_bytes(b"x" * 100)
    with pytest.raises(StoreFormatError, match="cannot be opened without its write-ahead log eit"):
        cut_log(path, "it is damaged at byte position 40")
    assert log_of(path).stat().st_size == 100


def test_submissions_that_the_database_lacks_are_entered_as_lost(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    with Store.open(path) as store:
        store.put_solution(make_solution(3))
        submit(store, 1, values_of(1, 3))
        journal = store.database.journal
        assert journal is not None
        record = replace(store.submissions()[0], submission=2, team="b", file="b.csv", sha256="22")
        (event,) = store.events()
        later = [replace(event, sequence=sequence, hash="lost") for sequence in (2, 3)]
        for lost_event in later:
            journal.append([], [lost_event])
        journal.append([record], later)
        report = record_losses(
            store.database, RepairReport("", tmp_path / "q", cut_at=7), actor="host", time=TIME
        )
        entry = replace(LOST, received=record.received)
        assert (report.lost, report.lost_events, report.damaged_lines) == ((entry,), 2, 0)
        (event,) = store.events("repair")
        assert {name: event.payload[name] for name in event.payload if name != "facts"} == {
            "cut_at": 7, "lost_submissions": [2], "lost_events": 2, "damaged_lines": 0,
            "quarantine": "q",
        }  # fmt: skip
        _, lost = store.submissions()
        assert (lost.submission, lost.team, lost.file, lost.status) == (2, "b", "b.csv", "refused")
        assert [fault.message for fault in lost.faults] == [
            "The submission was stored and then lost: send it again."
        ]
        assert [entry.submission for entry in journal.read().submissions] == [1, 2]
        assert journal.read().events == ((event.sequence, event.hash),)
        assert store.audit() == ()


# -- the journal -------------------------------------------------------------------------------


def journal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.journal")


def test_journal_holds_no_score_prediction_or_label(broken: Path) -> None:
    lines = [json.loads(line) for line in journal_of(broken).read_text().splitlines()]
    assert {key for line in lines for key in line} == {
        "journal_of", "submission", "team", "file", "sha256", "status", "received", "event", "hash",
        "crc",
    }  # fmt: skip
    assert [line["submission"] for line in lines if "submission" in line] == list(range(1, 9))
    assert stat.S_IMODE(journal_of(broken).stat().st_mode) == 0o600


@pytest.mark.slow
def test_a_line_cut_short_by_a_kill_is_skipped_and_the_next_starts_a_new_line(broken: Path) -> None:
    with journal_of(broken).open("ab") as file:
        file.write(b'{"submission": 9, "tea')
    with Store.open(broken) as store:
        submit(store, 9, values_of(9, N_ROWS))
        assert store.verify_events() is None
    with Store.open(broken) as store:
        assert len(store.submissions()) == 9
    whole = [line for line in journal_of(broken).read_bytes().splitlines() if line.endswith(b"}")]
    assert json.loads(whole[-2])["submission"] == 9


@pytest.mark.slow
def test_line_that_lacks_only_its_newline_is_read(broken: Path) -> None:
    journal = journal_of(broken)
    journal.write_bytes(journal.read_bytes().removesuffix(b"\n"))
    log_of(broken).unlink()
    report = repair(broken)
    assert report.lost_events == 6  # the last line names the last event
    assert report.damaged_lines == 0


@pytest.mark.slow
def test_damaged_line_of_the_journal_is_counted(broken: Path) -> None:
    journal = journal_of(broken)
    journal.write_bytes(journal.read_bytes().replace(b'"8.csv"', b'"9.csv"'))
    log_of(broken).unlink()
    report = repair(broken)
    assert [entry.submission for entry in report.lost] == [3, 4, 5, 6, 7]
    assert report.damaged_lines == 1
    assert "Its journal has damaged lines (1)" in report.sentence


def test_journal_of_another_database_is_not_believed(
    broken: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = tmp_path / "new.duckdb"
    shutil.copy(journal_of(broken), journal_of(other))
    with Store.open(other) as store:
        store.put_solution(make_solution(N_ROWS))
        submit(store, 1, values_of(1, N_ROWS))
        assert store.verify_events() is None
    assert len(journal_of(other).read_bytes().splitlines()) == 3
    assert "new.duckdb.journal' belongs to another database and was renamed to" in caplog.text
    aside = tmp_path / "new.duckdb.journal.set-aside-1"
    assert aside.read_bytes() == journal_of(broken).read_bytes()


@pytest.mark.slow
def test_journal_with_a_damaged_first_line_is_kept_and_that_is_said(
    broken: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, _, rest = journal_of(broken).read_bytes().partition(b"\n")
    for number, damaged in enumerate([b"{" + first, b"\0" * 2_000, b"7"], start=1):
        journal_of(broken).write_bytes(damaged + b"\n" + rest)
        caplog.clear()
        with Store.open(broken, read_only=True):
            assert "has a damaged first line and is not read" in caplog.text
        assert journal_of(broken).exists()
        with Store.open(broken) as store:
            submit(store, 9 + number, values_of(9, N_ROWS))
        aside = broken.with_name(f"x.duckdb.journal.set-aside-{number}")
        assert f"has a damaged first line and was renamed to '{aside.name}'" in caplog.text
        assert aside.read_bytes() == damaged + b"\n" + rest
        assert journal_of(broken).read_bytes().startswith(first)
    caplog.clear()
    journal_of(broken).write_bytes(first[:5])  # a kill, while it was begun: nothing was told yet
    Store.open(broken).close()
    assert caplog.text == ""


@pytest.mark.slow
def test_database_without_its_journal_opens(broken: Path) -> None:
    journal_of(broken).unlink()
    with Store.open(broken) as store:
        assert len(store.submissions()) == N_SUBMISSIONS
        assert store.verify_events() is None


@pytest.mark.slow
def test_journal_that_cannot_be_written_is_said(broken: Path) -> None:
    with Store.open(broken) as store:
        journal_of(broken).unlink()
        journal_of(broken).mkdir()
        with pytest.raises(StoreError, match="journal .* cannot be written: .*can be sent again"):
            submit(store, 9, values_of(9, N_ROWS))
        with pytest.raises(StoreError, match="journal .* cannot be read"):
            Store.open(broken)
        journal_of(broken).rmdir()
        submit(store, 10, values_of(10, N_ROWS))
        assert [record.submission for record in store.submissions()][-2:] == [9, 10]
