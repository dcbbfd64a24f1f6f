"""Edits of a server's SQLite files behind arena's back: which are named, and that none stops it.

The queue and the accounts are compared with the record when the server starts, by ``arena serve
--check`` and by ``arena audit``.
"""

from __future__ import annotations

import logging
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from arena.competition.competition import Competition
from arena.config import DATABASE_NAME, ServerSection
from arena.server.compare import QueueComparison, stored_differences
from arena.server.records.accounts import Accounts
from arena.server.records.intake import Intake
from arena.server.records.layout import Layout
from arena.server.records.published import Published
from arena.server.scorer.scorer import Scorer
from program import run_here
from served import predictions, send


@contextmanager
def scorer_of(folder: Path, layout: Layout) -> Iterator[Scorer]:
    with (
        Competition.open(folder) as competition,
        Scorer(competition, "race", layout, ServerSection()) as scorer,
    ):
        yield scorer


def settle(folder: Path, layout: Layout) -> None:
    with scorer_of(folder, layout) as scorer:
        while scorer.step():
            pass


@pytest.fixture(scope="module")
def judged(created: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a served competition that has judged six requests."""
    here = tmp_path_factory.mktemp("judged")
    shutil.copytree(created, here / "race")
    layout = Layout(here / "race" / "server")
    layout.create()
    accounts = Accounts(layout.intake)
    people = {"": accounts.register("Host", organiser=True).account}
    for name in ("red", "blue", "idle"):
        people[name] = accounts.register(f"{name}'s").account
        accounts.create_team("race", name, people[name])
    accounts.close()
    intake = Intake(layout.intake)
    for number, team in enumerate(["red", "blue", "red"]):
        send(layout, intake, team, predictions(number), member=people[team])
    for kind, sender, payload in (
        ("select", "red", {"submissions": [3, 1]}),
        ("rename", "blue", {"team": "blue", "to": "green", "accounts": []}),
        ("disqualify", "", {"submission": 3, "reason": "x"}),
    ):
        intake.append(
            competition="race",
            team=sender,
            member=people[sender],
            kind=kind,  # type: ignore[arg-type]
            payload=payload,
        )
    intake.close()
    settle(here / "race", layout)
    assert stored_differences(here / "race", layout, "race") == QueueComparison()
    return here


@pytest.fixture
def there(judged: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(judged, tmp_path / "x"))


def edit(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement).rowcount, statement


def told_of(there: Path) -> str:
    queue_comparison = stored_differences(there / "race", Layout(there / "race" / "server"), "race")
    return "\n".join([*queue_comparison.differences, *queue_comparison.not_compared])


EDITS = {
    "request": ("UPDATE requests SET request = 'x' WHERE seq = 1", "request 1 .* in its id"),
    "seq": (
        "UPDATE requests SET seq = 9 WHERE seq = 1",
        "a request before request 2, which the queue lacks",
    ),
    "competition": ("UPDATE requests SET competition = 'x' WHERE seq = 2", "lacks request 2"),
    "team": ("UPDATE requests SET team = 'blue' WHERE seq = 1", "request 1 .* in its team"),
    "team of bytes": ("UPDATE requests SET team = x'ff' WHERE seq = 1", "request 1 .* its team"),
    "no team": ("UPDATE requests SET team = '' WHERE seq = 1", "request 1 .* in its sender"),
    "member": ("UPDATE requests SET member = 'x' WHERE seq = 4", "request 4 .* in its sender"),
    "kind": ("UPDATE requests SET kind = 'select' WHERE seq = 1", "request 1 .* in its kind"),
    "fingerprint": ("UPDATE requests SET fingerprint = 'x' WHERE seq = 1", "in its fingerprint"),
    "file": (
        "UPDATE requests SET payload = json_set(payload, '$.file', 'x') WHERE seq = 1",
        "request 1 .* in its file name",
    ),
    "sha256": (
        "UPDATE requests SET payload = json_set(payload, '$.sha256', 'x') WHERE seq = 1",
        "request 1 .* in its digest",
    ),
    "selection": (
        "UPDATE requests SET payload = json_set(payload, '$.submissions[0]', 2) WHERE seq = 4",
        "request 4 .* in its selection",
    ),
    "payload": ("UPDATE requests SET payload = '{' WHERE seq = 1", "request 1 .* in its file name"),
    "received": (
        "UPDATE requests SET received = '2020-01-01T00:00:00+00:00' WHERE seq = 3",
        "request 3 .* in its time",
    ),
    "a time that is none": ("UPDATE requests SET received = 'x' WHERE seq = 3", "in its time"),
    "removed": ("DELETE FROM requests WHERE seq = 2", "lacks request 2"),
    "added": (
        "INSERT INTO requests SELECT 0, 'x', competition, team, member, kind, 'x', fingerprint, "
        "payload, received FROM requests WHERE seq = 1",
        "has request 0, which the record lacks",
    ),
    "trigger": (
        "CREATE TRIGGER t AFTER INSERT ON requests BEGIN DELETE FROM checks; END",
        "has the trigger t, which arena does not create",
    ),
    "view": ("CREATE VIEW v AS SELECT 1", "has the view v"),
    # accounts, as far as an event has what they hold
    "member removed": (
        "DELETE FROM members WHERE team = (SELECT team FROM teams WHERE name = 'red')",
        "sent submissions for red and is in no team now",
    ),
    "member of another team": (
        "UPDATE members SET team = (SELECT team FROM teams WHERE name = 'idle') "
        "WHERE team = (SELECT team FROM teams WHERE name = 'red')",
        "sent submissions for red and is in idle now",
    ),
    "members of two teams exchanged": (
        "UPDATE members SET team = (SELECT team FROM teams WHERE team <> members.team "
        "AND name <> 'idle') WHERE team <> (SELECT team FROM teams WHERE name = 'idle')",
        "sent submissions for red and is in blue now",
    ),
    "member of another competition": (
        "UPDATE members SET competition = 'x' WHERE team = (SELECT team FROM teams "
        "WHERE name = 'red')",
        "sent submissions for red and is in no team now",
    ),
    "name of a team": (
        "UPDATE teams SET name = 'x', folded = 'x' WHERE name = 'red'",
        "sent submissions for red and is in x now",
    ),
    "team removed": (
        "DELETE FROM teams WHERE name = 'red'",
        "sent submissions for red and is in no team now",
    ),
    "account removed": (
        "DELETE FROM accounts WHERE name = 'red''s'",
        "sent submissions for red and is missing",
    ),
    "account renamed": (
        "UPDATE accounts SET account = 'x' WHERE name = 'red''s'",
        "sent submissions for red and is missing",
    ),
    "no organiser": (
        "UPDATE accounts SET organiser = 0",
        "made decisions of the organiser and is no organiser now",
    ),
}
NOT_NAMED = {
    "key": "UPDATE requests SET key = 'x' WHERE seq = 1",
    "description": "UPDATE requests SET payload = json_set(payload, '$.description', 'x')",
    "upload": "UPDATE requests SET payload = json_set(payload, '$.upload', 'x') WHERE seq = 1",
    "size": "UPDATE requests SET payload = json_set(payload, '$.bytes', 1) WHERE seq = 1",
    "member added": "INSERT INTO members SELECT 'race', account, (SELECT team FROM teams "
    "WHERE name = 'red'), 0 FROM accounts WHERE organiser",
    "member who sent nothing": "DELETE FROM members WHERE team = (SELECT team FROM teams "
    "WHERE name = 'idle')",
    "another organiser": "UPDATE accounts SET organiser = 1 WHERE name = 'idle''s'",
    "state": "UPDATE accounts SET state = 'blocked'",
    "name and contact": "UPDATE accounts SET name = 'x', contact = 'y', subject = account",
    "token": "INSERT INTO tokens SELECT 't', x'00', account, 'n', 'submit', 0, NULL, NULL "
    "FROM accounts LIMIT 1",
    "accepted rules": "INSERT INTO acceptances SELECT 'race', account, 'v', 0 FROM accounts",
    "all accounts": "DELETE FROM accounts",
}
"""The record has none of these, and without any account the accounts are new."""


@pytest.mark.slow
def test_every_column_of_the_queue_is_edited(judged: Path) -> None:
    text = " ".join([statement for statement, _ in EDITS.values()] + list(NOT_NAMED.values()))
    with closing(sqlite3.connect(judged / "race/server/intake/intake.sqlite")) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(requests)")]
    assert [name for name in columns if f"SET {name} = " not in text] == []


@pytest.mark.few(1)
@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_a_judged_request_is_named(there: Path, name: str) -> None:
    statement, pattern = EDITS[name]
    layout = Layout(there / "race" / "server")
    edit(layout.intake, statement)
    differences = told_of(there)
    assert re.search(pattern, differences, re.IGNORECASE), differences


@pytest.mark.slow
@pytest.mark.parametrize("name", NOT_NAMED)
def test_what_the_record_does_not_have_is_not_compared(there: Path, name: str) -> None:
    layout = Layout(there / "race" / "server")
    edit(layout.intake, NOT_NAMED[name])
    assert told_of(there) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["all requests", "another competition"])
def test_a_queue_without_the_recorded_requests_is_said_to_be_another_one(
    there: Path, name: str
) -> None:
    layout = Layout(there / "race" / "server")
    what = {
        "all requests": "DELETE FROM requests",
        "another competition": "UPDATE requests SET competition = 'x'",
    }
    edit(layout.intake, what[name])
    assert "does not have any of the 6 requests of the record" in told_of(there)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "code", "said"),
    [
        (EDITS["received"][0], 1, "Request 3 of the queue differs from the record in its time"),
        (None, 0, "agrees with it"),
        (EDITS["member removed"][0], 1, "is in no team now"),
        ("DELETE FROM requests", 0, "Not compared: the queue of the server"),
        ("DELETE FROM requests WHERE seq < 3", 0, "Not compared: 2 requests before request 3"),
    ],
)
def test_the_audit_compares_the_queue_and_the_accounts(
    there: Path, statement: str | None, code: int, said: str
) -> None:
    layout = Layout(there / "race" / "server")
    if statement is not None:
        edit(layout.intake, statement)
    called = run_here("audit", "-C", "race", cwd=there)
    assert called.returncode == code, called.stderr
    assert said in called.stdout + called.stderr
    assert ("Not compared" in called.stdout) == ("Not compared" in said)
    (there / "elsewhere").mkdir()
    layout.root.rename(there / "elsewhere" / "records")
    called = run_here("audit", "-C", "race", cwd=there)
    assert (called.returncode, "--data" in called.stdout) == (0, True)
    called = run_here("audit", "-C", "race", "--data", "elsewhere/records", cwd=there)
    assert (called.returncode, said in called.stdout + called.stderr) == (code, True)


@pytest.mark.few(1)
@pytest.mark.parametrize("content", [b"", b"x" * 10_000, b"SQLite format 3\0" + bytes(5_000)])
def test_a_queue_that_is_no_database_is_named(there: Path, content: bytes) -> None:
    Layout(there / "race" / "server").intake.write_bytes(content)
    called = run_here("audit", "-C", "race", cwd=there)
    assert "queue at" in called.stdout + called.stderr
    assert called.returncode in (0, 1)
    assert len(called.stderr.splitlines()) < 3


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITS)
def test_a_server_starts_after_an_edit_of_what_was_judged(
    there: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Except where its last request is another one, and tells so; answers follow the record."""
    layout = Layout(there / "race" / "server")
    edit(layout.intake, EDITS[name][0])
    with caplog.at_level(logging.WARNING):
        settle(there / "race", layout)
    assert re.search("The server's files were changed|Not compared", caplog.text)
    public = Published(layout.public("race"))
    assert {row["team"] for row in public.board()} == {"red", "green"}
    public.close()


UNREADABLE = {
    "payload that is no JSON": "UPDATE requests SET payload = '{' WHERE seq = {}",
    "payload that is no object": "UPDATE requests SET payload = '[1]' WHERE seq = {}",
    "payload of bytes": "UPDATE requests SET payload = x'ff' WHERE seq = {}",
    "deep payload": "UPDATE requests SET payload = replace(printf('%9999s', ''), ' ', '[') "
    "WHERE seq = {}",
    "team of bytes": "UPDATE requests SET team = x'ff' WHERE seq = {}",
    "team that is not UTF-8": "UPDATE requests SET team = CAST(x'ff' AS TEXT) WHERE seq = {}",
    "team with a zero": "UPDATE requests SET team = CAST(x'610062' AS TEXT) WHERE seq = {}",
    "member of bytes": "UPDATE requests SET member = x'ff' WHERE seq = {}",
    "unknown kind": "UPDATE requests SET kind = 'x' WHERE seq = {}",
    "another kind": "UPDATE requests SET kind = 'finalize' WHERE seq = {}",
    "time that is none": "UPDATE requests SET received = 'x' WHERE seq = {}",
    "time without a zone": "UPDATE requests SET received = '2026-01-01' WHERE seq = {}",
    "time that is too late": "UPDATE requests SET received = '9999-12-31T23:59:59-23:00' "
    "WHERE seq = {}",
    "file of bytes": "UPDATE requests SET payload = json_set(payload, '$.file', 7) WHERE seq = {}",
    "id of bytes": "UPDATE requests SET request = x'ff' WHERE seq = {}",
    "upload that is a path": "UPDATE requests SET payload = json_set(payload, '$.upload', '../x') "
    "WHERE seq = {}",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNREADABLE)
def test_a_waiting_request_that_is_unreadable_does_not_stop_the_others(
    there: Path, name: str
) -> None:
    layout = Layout(there / "race" / "server")
    intake = Intake(layout.intake)
    bad = send(layout, intake, "red", predictions(7))
    good = send(layout, intake, "green", predictions(8))
    intake.close()
    statement = UNREADABLE[name].replace("{}", str(bad.seq))
    edit(layout.intake, statement)
    for _ in range(2):  # and the server starts again
        settle(there / "race", layout)
        public = Published(layout.public("race"))
        answer = public.answer(good.request)
        assert answer is not None
        assert answer.status == "accepted"
        public.close()
    with Competition.open(there / "race") as competition:
        faults = "\n".join(competition.audit())
    if "SET received" in statement:  # the edited time is in the record, and the audit names it
        assert re.fullmatch(r"Time runs backwards: event 9 .*", faults)
    else:
        assert faults == ""


PUBLISHED = [
    "UPDATE documents SET body = '[]' WHERE name = 'board'",
    "DELETE FROM documents",
    "UPDATE answers SET document = json_set(document, '$.released', 0.999)",
    "UPDATE answers SET team = 'x'",
    "DELETE FROM answers",
    "UPDATE teams SET document = json_set(document, '$.used_total', 99)",
    "UPDATE names SET team = 'x'",
]


@pytest.mark.slow
@pytest.mark.parametrize("statement", PUBLISHED)
def test_what_is_published_is_the_record_again_after_a_start(there: Path, statement: str) -> None:
    layout = Layout(there / "race" / "server")

    def shown() -> list[object]:
        public = Published(layout.public("race"))
        with closing(public):
            answers = [
                (answer.request, answer.team, answer.released) for answer in public.answers(None)
            ]
            return [public.board(), answers, public.team("red"), public.names()]

    before = shown()
    edit(layout.public("race"), statement)
    settle(there / "race", layout)
    assert shown() == before


@pytest.mark.slow
def test_a_check_before_a_launch_compares_the_stored_data(there: Path) -> None:
    with duckdb.connect(str(there / "race" / DATABASE_NAME)) as connection:
        connection.execute("UPDATE submissions SET team = 'evil' WHERE submission = 1")
    assert "Submission 1 was changed: team" in told_of(there)


@pytest.mark.slow
def test_a_check_before_a_launch_names_times_that_run_backwards(there: Path) -> None:
    with Competition.open(there / "race") as competition:
        before = competition._state
        state = replace(before, clock=lambda: before.clock() - timedelta(hours=1))
        state.record("note", {"text": "back-dated"})
    assert re.search(r"Time runs backwards: event \d+ \(note, ", told_of(there))
