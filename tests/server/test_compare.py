"""The queue beside the record: which difference is told in which sentence."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.competition.record.teams import Teams
from arena.errors import InputError, StoreBusyError
from arena.requests import Request
from arena.server import compare, marker
from arena.server.backup import BACKUP_NOTE, backup
from arena.server.compare import QueueComparison, RecordedRequests, files_compared
from arena.server.records import intake as queue_records
from arena.server.records.accounts import Accounts
from arena.server.records.intake import Intake, requests_up_to
from arena.server.records.layout import Layout
from arena.server.records.uploads import Uploads
from arena.store import Event

WHEN = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[tuple[Intake, Accounts]]:
    path = tmp_path / "intake.sqlite"
    with closing(Intake(path)) as intake, closing(Accounts(path)) as accounts:
        yield intake, accounts


@pytest.fixture
def sent(records: tuple[Intake, Accounts]) -> list[Request]:
    """Return a submission of Ada's for Ants, one of Bo's for Bees, and an organiser's step."""
    intake, accounts = records
    requests = []
    for name, team in (("Ada", "Ants"), ("Bo", "Bees"), ("Org", "")):
        account = accounts.register(name, organiser=not team).account
        if team:
            accounts.create_team("c", team, account)
        payload = {"file": "a.csv", "sha256": "5" * 64, "status": "accepted"} if team else {}
        request, _new = intake.append(
            competition="c", team=team, member=account, kind="submit" if team else "finalize",
            payload=payload, fingerprint="5" * 64 if team else "", received=WHEN,
        )  # fmt: skip
        requests.append(request)
    return requests


def event_of(request: Request) -> Event:
    """Return what the record has of a request."""
    payload = {
        "request": {"seq": request.seq, "id": request.request, "kind": request.kind},
        "team": request.team or None,
        **request.payload,
    }
    actor = f"{'member' if request.team else 'organiser'} {request.member}"
    kind = "submission" if request.team else "finalized"
    return Event(
        sequence=request.seq,
        time=request.received.isoformat(),
        actor=actor,
        kind=kind,
        payload=payload,
        previous="",
        hash="",
    )


def compared(intake: Intake, events: list[Event], competition: str | None = None) -> Any:
    return RecordedRequests.of(events).compare(intake, competition)


def changed(event: Event, **payload: Any) -> Event:
    return replace(event, payload={**event.payload, **payload})


def test_equal_records_differ_in_nothing(
    records: tuple[Intake, Accounts], sent: list[Request]
) -> None:
    events = [event_of(request) for request in sent]
    assert compared(records[0], events) == QueueComparison()
    assert compared(records[0], events, "c") == QueueComparison()
    assert compared(records[0], []) == QueueComparison()
    assert len(RecordedRequests.of(events)) == 3


def test_each_difference_of_a_request_is_named(
    records: tuple[Intake, Accounts], sent: list[Request]
) -> None:
    intake, _accounts = records
    first, *others = [event_of(request) for request in sent]
    about = first.payload["request"]
    for event, what in (
        (changed(first, request={**about, "id": "other"}), "id"),
        (changed(first, request={**about, "kind": "select"}), "kind"),
        (replace(first, time="2026-03-01T12:00:01+00:00"), "time"),
        (changed(first, team="Cats"), "team"),
        (changed(first, file="b.csv"), "file name"),
    ):
        differences = compared(intake, [event, *others])
        assert (
            f"Request 1 of the queue differs from the record in its {what}."
            in differences.differences
        )
        assert differences.not_compared == ()
    digest = compared(intake, [changed(first, sha256="6" * 64), *others])
    assert [difference.rpartition(" ")[2] for difference in digest.differences] == [
        "digest.",
        "fingerprint.",
    ]
    # What was set aside perhaps was so for its file, which is not compared.
    aside = replace(changed(first, file="b.csv", sha256="6" * 64), kind="request set aside")
    assert compared(intake, [aside, *others]).differences == ()


def test_what_one_side_lacks_is_named(
    records: tuple[Intake, Accounts], sent: list[Request]
) -> None:
    intake, _accounts = records
    first, second, third = (event_of(request) for request in sent)
    assert compared(intake, [first, third]).differences == (
        "The queue has request 2, which the record lacks.",
    )
    late = event_of(replace(sent[0], seq=9, request="later"))
    assert compared(intake, [first, second, third, late]).differences == (
        "The queue lacks request 9, which the record has.",
    )
    before = [event_of(replace(sent[0], seq=seq, request=f"early {seq}")) for seq in (-2, -1)]
    differences = compared(intake, [*before, first, second, third])
    assert differences.differences == ()
    assert "2 requests before request 1, which the queue lacks" in differences.not_compared[0]
    differences = compared(intake, [before[0], first, second, third])
    assert "Not compared: a request before request 1" in differences.not_compared[0]
    other = [event_of(replace(request, request=f"other {request.seq}")) for request in sent]
    differences = compared(intake, other)
    assert differences.differences == ()
    assert "does not have any of the 3 requests of the record" in differences.not_compared[0]
    assert "does not have the request of" in compared(intake, other[:1]).not_compared[0]


def test_senders_are_compared_with_the_accounts(
    tmp_path: Path, records: tuple[Intake, Accounts], sent: list[Request]
) -> None:
    ada, bo, org = (request.member for request in sent)
    events = [event_of(request) for request in sent]

    def told(statement: str, *values: str) -> tuple[str, ...]:
        path = tmp_path / "edited.sqlite"
        path.unlink(missing_ok=True)
        with (
            closing(sqlite3.connect(records[0].path)) as source,
            closing(sqlite3.connect(path)) as goal,
        ):
            source.backup(goal)
            with goal:
                goal.execute(statement, values)
        with closing(Intake(path, read_only=True)) as intake:
            return tuple(compared(intake, events).differences)

    assert told("SELECT 1") == ()
    assert told("DELETE FROM members WHERE account = ?", ada) == (
        f"The account {ada} sent submissions for Ants and is in no team now.",
    )
    joined = "UPDATE members SET team = (SELECT team FROM members WHERE account = ?)"
    assert told(f"{joined} WHERE account = ?", bo, ada) == (
        f"The account {ada} sent submissions for Ants and is in Bees now.",
    )
    assert told("UPDATE accounts SET organiser = 0 WHERE account = ?", org) == (
        f"The account {org} made decisions of the organiser and is no organiser now.",
    )
    assert told("DELETE FROM accounts WHERE account = ?", org) == (
        f"The account {org} made decisions of the organiser and is missing.",
    )


def test_an_account_that_left_its_team_is_no_difference(
    records: tuple[Intake, Accounts], sent: list[Request]
) -> None:
    intake, accounts = records
    ada, bo, _org = (request.member for request in sent)
    teams = {team.name: team.team for team, _members in accounts.teams("c")}
    cats = accounts.create_team("c", "Cats", accounts.register("Cy").account)
    accounts.leave_team(teams["Ants"], ada, counts=True)
    events = [event_of(request) for request in sent]
    assert compared(intake, events) == QueueComparison()
    accounts.join_team(cats.team, ada, 5)
    later = intake.append(
        competition="c", team="Cats", member=ada, kind="submit", fingerprint="5" * 64,
        payload=sent[0].payload, received=WHEN,
    )[0]  # fmt: skip
    events.append(event_of(later))
    assert compared(intake, events) == QueueComparison()
    accounts.merge_teams(teams["Ants"], teams["Bees"])
    merged = replace(event_of(later), kind="team merged", payload={"team": "Ants", "to": "Bees"})
    events.append(merged)
    assert compared(intake, events) == QueueComparison()
    assert accounts.departed_from("c", ada) == ["Bees"]
    accounts.forget_person(bo)
    assert compared(intake, events) == QueueComparison()
    # A team of which no submission counted is left without a trace.
    accounts.leave_team(cats.team, ada, counts=False)
    assert (
        "sent submissions for Cats and is in no team now" in compared(intake, events).differences[0]
    )
    assert (
        compared(intake, [*events[:3], changed(events[3], status="rejected"), merged]).differences
        == ()
    )


def test_an_account_is_in_the_one_team_for_which_it_sent(
    records: tuple[Intake, Accounts], sent: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bo, org = (request.member for request in sent)
    first = sent[0]
    again = event_of(replace(first, seq=8, team="Bees"))
    rename = replace(
        again, sequence=9, kind="team renamed", payload={"team": "Ants", "to": "Wasps"}
    )
    recorded = RecordedRequests.of([*map(event_of, sent), again, rename])
    people: dict[str, Any] = {}
    monkeypatch.setattr(compare, "account_teams", lambda *_: people)

    def differences() -> list[str]:
        names = Teams.of(recorded._names)
        return [*recorded._of_people(records[0], "c", names, 1)]

    assert differences() == []  # the server has no accounts
    people["x"] = SimpleNamespace(team="Ants", organiser=False, left_teams=())
    for team, name in (("Ants", ada), ("Bees", bo)):
        people[name] = SimpleNamespace(team=team, organiser=False, left_teams=())
    people[org] = SimpleNamespace(team=None, organiser=True, left_teams=())
    in_two = f"The account {ada} sent submissions for Bees and Wasps: an account is in one team."
    assert differences() == [in_two]
    people[ada].team = "Cats"
    moved = f"The account {ada} sent submissions for Bees and Wasps and is in Cats now."
    assert differences() == [in_two, moved]
    del people[bo]
    people[ada].team = "Wasps"
    people[org].organiser = False
    assert sorted(differences()) == sorted(
        [
            in_two,
            f"The account {bo} sent submissions for Bees and is missing.",
            f"The account {org} made decisions of the organiser and is no organiser now.",
        ]
    )
    assert len([*recorded._of_people(records[0], "c", Teams.of([]), 9)]) == 0


def test_a_selection_and_objects_of_others_are_compared(
    records: tuple[Intake, Accounts],
) -> None:
    intake, _accounts = records
    request, _new = intake.append(
        competition="c", team="a", member="1", kind="select", payload={"submissions": [3, 1, 3]},
        received=WHEN,
    )  # fmt: skip
    event = event_of(request)
    for selected, differs in (([1, 3], False), ([1], True), (None, False)):
        differences = compared(intake, [changed(event, submissions=selected)], "c").differences
        sentence = "Request 1 of the queue differs from the record in its selection."
        assert [text for text in differences if "selection" in text] == [sentence] * differs
    sender = replace(event, actor="member 2")
    assert "its sender." in " ".join(compared(intake, [sender], "c").differences)
    with closing(sqlite3.connect(intake.path)) as edited:
        edited.execute("CREATE VIEW v AS SELECT 1")
    assert compared(intake, []).differences == (
        "The queue has the view v, which arena does not create.",
    )


def test_the_queue_is_read_in_blocks_up_to_the_last_recorded_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue_records, "_BLOCK", 2)
    calls: list[tuple[str, int, int]] = []
    numbers = [-3, 0, 1, 5, 9]

    def after(*place: Any) -> list[Any]:
        calls.append(place)
        return [SimpleNamespace(seq=number) for number in numbers if number > place[1]][:2]

    intake: Any = SimpleNamespace(after=after)
    up_to_five = requests_up_to(intake, "c", 5, after=-4)
    assert [request.seq for request in up_to_five] == [-3, 0, 1, 5]
    assert calls == [("c", -4, 2), ("c", 0, 2), ("c", 5, 2)]
    whole_queue = requests_up_to(intake, "c", 10, after=-4)
    assert [request.seq for request in whole_queue] == numbers
    assert [request.seq for request in requests_up_to(intake, "c", 5)] == [1, 5]


def test_a_request_below_all_others_is_found(
    records: tuple[Intake, Accounts], sent: list[Request]
) -> None:
    lowest = 1 - 2**63
    with closing(sqlite3.connect(records[0].path)) as database, database:
        database.execute("UPDATE requests SET seq = ? WHERE seq = 1", (lowest,))
    comparison = compared(records[0], [event_of(request) for request in sent])
    assert comparison.differences == (f"The queue has request {lowest}, which the record lacks.",)


def test_stored_data_are_compared_before_the_files_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    problems: list[str] = []

    class Stored:
        def audit(self, *, watch: Any) -> list[str]:
            watch(
                Event(
                    1, "2026-03-01T12:00:00+00:00", actor="a", kind="k",
                    payload={"request": {"seq": 7}}, previous="", hash="",
                )
            )  # fmt: skip
            return problems

        def __enter__(self) -> Stored:
            return self

        def __exit__(self, *_: object) -> None:
            opened.append("closed")

    def open_store(*place: Any, **how: Any) -> Stored:
        opened.append((place, how))
        return Stored()

    monkeypatch.setattr(compare, "Store", SimpleNamespace(open=open_store))
    layout = Layout(tmp_path / "server")
    assert compare.stored_differences(tmp_path, layout, None, 2.0) == QueueComparison()
    how = {"create": False, "wait": 2.0, "read_only": True}
    assert opened == [((tmp_path / "arena.duckdb",), how), "closed"]
    layout.create()
    layout.intake.touch()
    files: list[Any] = []

    def of_files(recorded: Any, *place: Any) -> QueueComparison:
        files.append((len(recorded), *place))
        return QueueComparison(("Lost.",))

    monkeypatch.setattr(compare, "files_compared", of_files)
    assert compare.stored_differences(tmp_path, layout, "c").differences == ("Lost.",)
    assert files == [(1, layout, "c")]
    problems.append("Changed.")
    assert compare.stored_differences(tmp_path, layout, "c").differences == ("Changed.",)
    assert len(files) == 1

    def fail(*_: Any, **__: Any) -> None:
        raise StoreBusyError("Busy.")

    monkeypatch.setattr(compare, "Store", SimpleNamespace(open=fail))
    assert compare.stored_differences(tmp_path, layout, "c") == QueueComparison(
        not_compared=("Not compared: the stored data. Busy.",)
    )


def test_a_queue_that_is_not_there_or_no_database_is_told(
    tmp_path: Path, sent: list[Request]
) -> None:
    layout = Layout(tmp_path / "elsewhere")
    recorded = RecordedRequests.of([event_of(request) for request in sent])
    assert files_compared(RecordedRequests(), layout) == QueueComparison()
    assert "Name its folder with --data" in files_compared(recorded, layout).not_compared[0]
    layout.create()
    layout.intake.write_bytes(b"no database" * 100)
    (difference,) = files_compared(recorded, layout).differences
    assert "is damaged" in difference


def test_a_backup_has_the_competition_and_the_queue_and_nothing_passing(tmp_path: Path) -> None:
    folder = tmp_path / "race"
    layout = Layout(folder / "server")
    folder.mkdir()
    (folder / "competition.toml").write_text("settings")
    (folder / ".served.json").write_text("{}")
    layout.create()
    with closing(Intake(layout.intake)) as intake:
        intake.append(competition="race", team="a", member="1", kind="select", payload={})
    whole = Uploads(layout.uploads).put([b"id,y\n"])
    (layout.uploads / "half.part").write_bytes(b"id")
    size = backup(folder, layout, tmp_path / "copy")
    files = {
        str(path.relative_to(tmp_path / "copy"))
        for path in (tmp_path / "copy").rglob("*")
        if path.is_file()
    }
    assert files == {
        "competition.toml",
        "server/intake/intake.sqlite",
        f"server/intake/uploads/{whole.name}",
    }
    assert size == sum((tmp_path / "copy" / file).stat().st_size for file in files)
    assert (folder / BACKUP_NOTE).exists()
    with closing(Intake(Layout(tmp_path / "copy" / "server").intake)) as intake:
        assert [request.kind for request in intake.after("race", 0)] == ["select"]
    with pytest.raises(InputError, match="exists: name a new folder"):
        backup(folder, layout, tmp_path / "copy")
    with pytest.raises(InputError, match="inside the competition's folder"):
        backup(folder, layout, folder / "copy")


def test_a_lock_of_a_folder_is_tried_for_half_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, pauses = 10.0, []

    def sleep(seconds: float) -> None:
        nonlocal now
        pauses.append(seconds)
        now += 0.25

    monkeypatch.setattr(marker, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    with marker.locked(tmp_path) as first, marker.locked(tmp_path) as second:
        assert (first, second) == (True, False)
    assert pauses == [0.02, 0.02]
    with marker.locked(tmp_path) as alone, marker.locked(tmp_path, shared=True) as shared:
        assert (alone, shared) == (True, False)
    assert len(pauses) == 2  # a shared lock is tried once
    with marker.locked(tmp_path, shared=True), marker.locked(tmp_path, shared=True) as shared:
        assert shared
    for text in ("{", "[]", '{"url": "http://a"}', '{"url": "a", "data": 7}'):
        (tmp_path / ".served.json").write_text(text)
        assert marker.served_folder(tmp_path) is None


def test_a_scorer_that_does_not_hand_over_a_folder_is_said_to_be_judging(tmp_path: Path) -> None:
    with marker.lending(tmp_path) as lender, pytest.raises(StoreBusyError) as refused:
        marker.borrow(tmp_path, 0.01)
    assert str(refused.value) == (
        "This competition is served, and its scorer did not hand it over within 0.01 s, because it "
        "is judging submissions. Try again, or wait longer with --wait."
    )
    lender.lend()  # no command waits for the folder
    assert marker.borrow(tmp_path, 0.01) is None
