"""The record of events: appended, bound by hashes, and every change of it found."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import LossError
from arena.store import Incoming, Store
from arena.store.audit import Recorded
from arena.store.digests import document_digest
from arena.store.events import PROGRAM_RECEIVED, TimeCheck, canonical_json
from event_records import event_of
from thinned import examples

TIME = datetime(2026, 3, 1, 14, 30, tzinfo=timezone(timedelta(hours=2)))
PAYLOADS = [{"team": "</b>\u202eé", "n": 1}, {}, {10: 0.1, 2: [None, True, -0.0, 1e300]}, {"x": 1}]


@pytest.fixture
def recorded(store: Store) -> Store:
    for i, payload in enumerate(PAYLOADS):
        with store.transaction() as transaction:
            transaction.append_event(f"kind{i % 2}", "host", payload, TIME + timedelta(hours=i))
    return store


def test_events_that_the_journal_lacks_are_counted(recorded: Store, database: Path) -> None:
    journal = database.with_name(f"{database.name}.journal")
    assert recorded.events_without_journal() == 0
    *lines, last = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines))
    assert recorded.events_without_journal() == 1
    journal.write_bytes(b"".join([*lines, last[:-5]]))
    assert recorded.events_without_journal() == 1
    journal.unlink()
    assert recorded.events_without_journal() == 4
    with recorded.transaction() as transaction:
        transaction.append_event("kind0", "host", {}, TIME)
    assert recorded.events_without_journal() == 0


def test_submissions_that_the_journal_lacks_are_counted(store: Store, database: Path) -> None:
    """It has submissions 1 to 3 and an event, each in a line after its first."""
    store.add_submissions([Incoming(f"t{number}", "f", "s", None) for number in range(3)])
    with store.transaction() as transaction:
        transaction.append_event("note", "host", {}, TIME)
    journal = database.with_name(f"{database.name}.journal")
    lines = journal.read_bytes().splitlines(keepends=True)
    before, after = "submissions before its first: ", "missing submissions after its first: "
    for left_out, faults in (
        ((), ()), ((1, 2), (f"{before}2",)), ((2, 3), (f"{after}2",)),
        ((1, 3), (f"{before}1", f"{after}1")), ((1, 2, 3), (f"{before}3",)),
        ((1, 2, 3, 4), ()),  # it has nothing: then the events that it lacks are counted
    ):  # fmt: skip
        journal.write_bytes(
            b"".join(line for number, line in enumerate(lines) if number not in left_out)
        )
        assert store.journal_faults() == faults
    doubled = "entries that are there twice or in another order: "
    for order, fault in (
        ((0, 1, 2, 2, 3, 4), f"{doubled}1"), ((0, 2, 1, 3, 4), f"{doubled}1"),
        ((0, 1, 2, 3, 4, 4), f"{doubled}1"), ((0, 3, 2, 1, 4), f"{doubled}2"),
    ):  # fmt: skip
        journal.write_bytes(b"".join(lines[number] for number in order))
        assert store.journal_faults() == (fault,)
    journal.write_bytes(b"".join([*lines, b"{\n"]))
    assert store.journal_faults() == ("damaged lines: 1",)


def test_an_event_that_the_database_lacks_is_a_loss(store: Store, database: Path) -> None:
    assert store.database.journal is not None
    store.database.journal.append([], [event_of(9, "note", {})])
    store.close()
    with pytest.raises(LossError, match="event 9 of its record"):
        Store.open(database)


def test_a_repair_begins_a_new_journal(store: Store, database: Path) -> None:
    """Events before the first one of a journal are missing, but where that is a repair."""
    for kind in ("note", "repair", "note", "repair", "note"):
        with store.transaction() as transaction:
            transaction.append_event(kind, "host", {}, TIME)
    journal = database.with_name(f"{database.name}.journal")
    heading, *lines = journal.read_bytes().splitlines(keepends=True)
    for first, n_missing in ((1, 0), (2, 0), (3, 2), (4, 0), (5, 4)):
        journal.write_bytes(b"".join([heading, *lines[first - 1 :]]))
        faults = (f"events before its first: {n_missing}",) if n_missing else ()
        assert store.journal_faults() == faults


def test_the_audit_follows_counts_from_what_an_upgrade_recorded_first(store: Store) -> None:
    for kind in ("upgrade", "note", "note"):
        with store.transaction() as transaction:
            transaction.take_place("a", None, None)
            transaction.append_event(kind, "host", {}, TIME)
    assert store.audit() == ()


def test_counts_of_submissions_grow_by_one_and_programs_return_theirs() -> None:
    """Each event: its kind, whether it is about a program, and the count it records."""
    recorded = Recorded()
    for sequence, (kind, program, used) in enumerate(
        (
            ("submission", False, 1), (PROGRAM_RECEIVED, True, 2), ("program set aside", True, 1),
            ("program scored", True, 1), ("repair", False, 7), ("submission", False, 3),
        ),
        start=1,
    ):  # fmt: skip
        payload = {
            "facts": {"places": [["ant", "total", used]]},
            **({"program": 1} if program else {}),
        }
        recorded.add(event_of(sequence, kind, payload))
    # What is scored could only have returned the place once more, to 0. A repair counts nothing.
    assert recorded.jumps == [
        "The count of submissions of the team ant (total) was changed before event 4 (program "
        "scored, 2026-03-01T12:00:00): that event recorded 1, and event 3 1.",
        "The count of submissions of the team ant (total) was changed before event 6 (submission, "
        "2026-03-01T12:00:00): that event recorded 3, and event 4 1.",
    ]
    recorded.add(event_of(7, "submission", {"facts": {"places": [["bee", "2026-03-01", 2]]}}))
    assert recorded.jumps[2:] == [
        "The count of submissions of the team bee (on 2026-03-01) was changed before event 7 "
        "(submission, 2026-03-01T12:00:00): that event recorded 2, and none was recorded before."
    ]


def test_the_audit_tells_a_changed_time_from_that_of_the_event(
    store: Store, database: Path
) -> None:
    with store.transaction() as transaction:
        incoming = Incoming(team="a", file="f.csv", sha256="ab", values=None, received=TIME)
        number = transaction.add_submission(incoming).submission
        payload = {"submission": number, "status": "rejected", "team": "a"}
        transaction.append_event("submission", "host", payload, TIME)
    store.close()
    with duckdb.connect(str(database)) as connection:
        connection.execute("UPDATE submissions SET received = '2020-01-01'")
    with Store.open(database) as changed:
        (told,) = changed.audit()
        (recorded,) = changed.events("submission")
        assert changed.audit(since=recorded.sequence - 1) == (told,)
        assert changed.audit(since=recorded.sequence) == ()
    assert f"Submission {number} was changed: received is 2020-01-01T00:00:00" in told


def test_events_come_back_and_can_be_checked_without_arena(recorded: Store, database: Path) -> None:
    recorded.close()
    with Store.open(database) as again:
        assert again.verify_events() is None
        events = again.events()
        assert [event.sequence for event in again.events("kind1")] == [2, 4]
        assert [event.sequence for event in again.events("kind1", "never", "kind0")] == [1, 2, 3, 4]
        with again.transaction() as transaction:
            transaction.append_event("later", "host", payload={})
        assert [event.sequence for event in again.events("later", "kind1")] == [2, 4, 5]
    assert [event.sequence for event in events] == [1, 2, 3, 4]
    assert events[0].time == "2026-03-01T12:30:00.000000+00:00"
    # The first event binds the solution of the store, which was put before.
    facts = [event.payload.get("facts") for event in events]
    assert [fact is None for fact in facts] == [False, True, True, True]
    plain = [{**event.payload} for event in events]
    plain[0].pop("facts")
    assert plain == [json.loads(json.dumps(p)) for p in PAYLOADS]
    previous = "0" * 64
    for event in events:
        told = [event.sequence, event.time, event.actor, event.kind, event.payload]
        text = previous + json.dumps(told, sort_keys=True, separators=(",", ":"))
        previous = hashlib.sha256(text.encode()).hexdigest()
        assert event.hash == previous


def test_time_of_an_event_is_now_if_none_is_given(store: Store) -> None:
    with store.transaction() as transaction:
        event = transaction.append_event("note", "host", {})
    assert abs(datetime.fromisoformat(event.time) - datetime.now(UTC)) < timedelta(minutes=30)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE events SET actor = 'x' WHERE sequence = 2", r"event 2 .* was changed"),
        ("UPDATE events SET kind = 'x' WHERE sequence = 2", r"event 2 .* was changed"),
        ("UPDATE events SET payload = '{\"a\":1}' WHERE sequence = 3", r"event 3 .* was changed"),
        ("UPDATE events SET time = time + INTERVAL 1 SECOND WHERE sequence = 1", "event 1 .*chang"),
        ("UPDATE events SET hash = repeat('0', 64) WHERE sequence = 4", r"event 4 .* was changed"),
        ("UPDATE events SET previous = repeat('1', 64) WHERE sequence = 1", "event 1 .*not follow"),
        ("DELETE FROM events WHERE sequence = 2", r"event 2 is missing before event 3"),
        ("DELETE FROM events WHERE sequence = 1", r"event 1 is missing before event 2"),
    ],
)
def test_every_change_of_the_record_is_found(
    recorded: Store, database: Path, damage: str, said: str
) -> None:
    recorded.close()
    with duckdb.connect(str(database)) as connection:
        connection.execute(damage)
    with Store.open(database) as again:
        sentence = again.verify_events()
    assert sentence is not None
    assert re.search(said, sentence)


def test_a_rewritten_record_differs_from_the_journal(recorded: Store, database: Path) -> None:
    events = recorded.events()
    recorded.close()
    with duckdb.connect(str(database)) as connection:
        connection.execute("DELETE FROM events WHERE sequence = 4")
    journal = database.with_name(f"{database.name}.journal")
    kept = journal.read_bytes()
    journal.unlink()
    with Store.open(database) as again, again.transaction() as transaction:
        transaction.append_event("kind1", "host", {"x": 2}, TIME)
    journal.write_bytes(kept)
    with Store.open(database) as again:
        assert again.events()[:3] == events[:3]
        assert again.verify_events() == (
            "The record is broken: event 4 is in the journal and was replaced by another."
        )


@pytest.mark.parametrize("payload", [{"x": float("nan")}, {"x": float("inf")}, {"x": {1, 2}}])
def test_payload_that_is_no_json_is_refused(store: Store, payload: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError)), store.transaction() as transaction:
        transaction.append_event("note", "host", payload)
    assert store.events() == ()


def test_a_document_has_the_digest_of_its_content_in_any_order() -> None:
    text = b'{"a":[null,"\\u00e9"],"b":0.5}'
    for document in ({"a": [None, "é"], "b": 0.5}, {"b": 0.5, "a": [None, "é"]}):
        assert document_digest(document) == hashlib.sha256(text).hexdigest()
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="JSON"):
            document_digest({"a": number})


REQUEST, PROGRAM = {"request": {}}, {"request": {}, "program": "p"}


@pytest.mark.parametrize(
    ("times", "events_before"),
    [
        # A clock may be corrected by a minute.
        ([(10, {}), (9, {})], []),
        ([(10, {}), (8.99, {})], [(2, 1)]),
        # What follows is compared with the event that was named.
        ([(10, {}), (0, {}), (5, {})], [(2, 1)]),
        ([(10, {}), (0, {}), (-2, {})], [(2, 1), (3, 2)]),
        # A request may be recorded after others that came later, but not after a later request.
        ([(10, {}), (0, REQUEST)], []),
        ([(10, REQUEST), (0, {})], [(2, 1)]),
        ([(10, REQUEST), (0, REQUEST), (5, REQUEST), (5, {})], [(2, 1)]),
        ([(10, REQUEST), (10, {}), (0, REQUEST), (5, {})], [(3, 1), (4, 2)]),
        ([(10, REQUEST), (0, {}), (1, {}), (1, REQUEST), (-2, REQUEST)], [(2, 1), (5, 4)]),
        ([(20, {}), (10, REQUEST), (15, {})], [(3, 1)]),
        # A time that the organiser gave, and that of a program's trial, are not compared.
        ([(10, {}), (0, {"dated_by": "--received"}), (10, {})], []),
        ([(10, REQUEST), (0, PROGRAM), (10, REQUEST)], []),
        ([(10, {}), (0, {"program": "p"})], [(2, 1)]),
    ],
)
def test_time_that_runs_backwards_names_the_event_before_which_it_is(
    times: list[tuple[float, dict[str, object]]], events_before: list[tuple[int, int]]
) -> None:
    check = TimeCheck()
    for sequence, (minutes, payload) in enumerate(times, start=1):
        time = (TIME + timedelta(minutes=minutes)).isoformat()
        check.add(event_of(sequence, "note", payload, time=time))
    named = [re.findall(r"event (\d+) \(note", problem) for problem in check.problems]
    assert named == [[str(event), str(before)] for event, before in events_before]


@pytest.mark.parametrize("seconds", [0, 1])
def test_a_submission_of_a_program_has_the_time_at_which_it_was_received(seconds: int) -> None:
    check = TimeCheck()
    for sequence, (kind, program, later) in enumerate(
        [
            ("program received", "p", 0),
            ("program received", "q", 60),
            ("submission", "q", 60),
            ("submission", "p", seconds),
        ],
        start=1,
    ):
        time = (TIME + timedelta(seconds=later)).isoformat()
        check.add(event_of(sequence, kind, {"program": program}, time=time))
    assert [problem.partition(" has ")[0] for problem in check.problems] == ["Event 4"] * seconds


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=examples(80))
@given(value=JSON)
def test_canonical_text_is_that_of_what_it_reads_back_as(value: object) -> None:
    text = canonical_json(value)
    assert text.isascii()
    assert canonical_json(json.loads(text)) == text
    assert json.loads(text) == value
