"""The files of a server: what is acknowledged is stored once, in one order."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from arena.errors import StoreError
from arena.requests import Answer
from arena.server.records.accounts import Accounts
from arena.server.records.intake import Intake, QueueFullError, RequestKeyError, Room
from arena.server.records.layout import Layout
from arena.server.records.names import NameTakenError, RefusedError
from arena.server.records.published import (
    Published,
    Publisher,
    State,
    SubmissionQuery,
    TeamFacts,
)
from arena.server.records.runs import LeaseLostError, ProgramState, Runs
from arena.server.records.uploads import Uploads, UploadTooLargeError
from web_site import FACTS

WHEN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def submit(intake: Intake, key: str, team: str = "red", **more: Any) -> tuple[Any, bool]:
    payload = {"upload": "a1", "file": "a.csv", "bytes": 1, "sha256": "0"}
    return intake.append(
        competition="c", team=team, member="ann", kind="submit", payload=payload, key=key, **more
    )


def test_twenty_requests_at_once_under_one_key_are_one(tmp_path: Path) -> None:
    intakes = [Intake(tmp_path / "intake.sqlite") for _ in range(2)]
    start = threading.Barrier(20)

    def send(number: int) -> tuple[str, bool]:
        start.wait()
        request, new = submit(intakes[number % 2], "same", fingerprint="f", received=WHEN)
        return request.request, new

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(send, range(20)))
    assert len({request for request, _ in answers}) == 1
    assert sum(new for _, new in answers) == 1
    (stored,) = intakes[1].after("c", 0)
    assert (stored.received, stored.payload["file"]) == (WHEN, "a.csv")
    with pytest.raises(RequestKeyError, match="'same'"):
        submit(intakes[0], "same", fingerprint="other")
    for intake in intakes:
        intake.close()


def test_an_account_is_in_one_team_of_a_competition(tmp_path: Path) -> None:
    with contextlib.closing(Accounts(tmp_path / "accounts.sqlite")) as accounts:
        ada, bo = (accounts.register(name).account for name in ("Ada", "Bo"))
        ants = accounts.create_team("c", "Ants", ada)
        bees = accounts.create_team("c", "Bees", bo)
        for join in (
            lambda: accounts.join_team(bees.team, ada, 10),
            lambda: accounts.create_team("c", "Cats", ada),
        ):
            with pytest.raises(RefusedError, match="You are in the team Ants already"):
                join()
        assert accounts.team_of("c", ada) == ants
        with pytest.raises(RefusedError, match=r"Members of a team: at most 1\."):
            accounts.join_team(bees.team, accounts.register("Cy").account, 1)
        assert accounts.create_team("other", "Cats", ada).competition == "other"


def test_a_name_with_other_spaces_is_the_same_name(tmp_path: Path) -> None:
    with contextlib.closing(Accounts(tmp_path / "accounts.sqlite")) as accounts:
        ants, bees = (accounts.create_team("c", name).team for name in ("Red Ants", "Bees"))

        def refused(name: str) -> list[bool]:
            """Return whether the Bees and a new team (checked, then created) cannot have a name."""
            refusals = []
            for take in (
                lambda: accounts.check_rename(bees, name),
                lambda: accounts.check_new_team("c", name),
                lambda: accounts.create_team("c", name),
            ):
                try:
                    take()
                    refusals.append(False)
                except NameTakenError:
                    refusals.append(True)
            return refusals

        names = {"RedAnts": True, "r e d a n t s": True, "Red Ant": False}
        assert {name: refused(name) for name in names} == {
            name: [taken] * 3 for name, taken in names.items()
        }
        accounts.rename_team(ants, "RED ANTS")
        accounts.rename_team(ants, "RedAnts")
        assert (accounts.team(ants).name, refused("Red Ants")) == ("RedAnts", [True] * 3)
        accounts.rename_team(ants, "Cats")
        # A former name stays that of the team, which has submissions under it.
        assert (refused("Red Ants"), refused("C ats")) == ([True] * 3, [True] * 3)
        with pytest.raises(NameTakenError):
            accounts.rename_team(ants, "red ants")
        assert accounts.create_team("another", "Red Ants").name == "Red Ants"


def test_places_and_full_queues(tmp_path: Path) -> None:
    intake = Intake(tmp_path / "intake.sqlite")
    requests = [submit(intake, f"k{n}", team=f"t{n % 2}")[0] for n in range(6)]
    assert intake.waiting("c", 0) == 6
    assert intake.waiting("c", 2, before=requests[4].seq) == 2
    assert intake.waiting("c", 2, team="t1") == 2
    assert [request.seq for request in intake.after("c", 1, 2, team="t1")] == [2, 4]
    with pytest.raises(QueueFullError) as of_team:
        submit(intake, "more", "t0", room=Room(cursor=0, total=100, team=3))
    with pytest.raises(QueueFullError) as of_all:
        submit(intake, "more", "t9", room=Room(cursor=0, total=6, team=3))
    assert (of_team.value.team, of_all.value.team) == (True, False)
    assert submit(intake, "k0", "t0", room=Room(0, 6, 3)) == (requests[0], False)
    assert submit(intake, "more", "t0", room=Room(cursor=6, total=6, team=3))[1]
    intake.close()


def test_a_run_that_was_lost_comes_after_the_others_and_twice_at_most(tmp_path: Path) -> None:
    runs = Runs(tmp_path / "runs.sqlite")
    for name in ("crashes", "b", "c"):
        runs.add(
            "c", team=name, member="1", key=name, received=WHEN, trials_per_day=9, most_waiting=9,
            payload={"upload": name, "file": "main.py", "bytes": 9, "sha256": "ab"},
        )  # fmt: skip
    teams = []
    while (program := runs.lease("c")) is not None:
        teams.append(program.team)
        if program.team != "crashes":
            runs.change(program, ProgramState.RECORDED)
        elif runs.fail(program.program, program.lease):
            (waiting,) = runs.in_state("c", ProgramState.TRIAL_WAITS)[:1]
            assert runs.place(waiting) == 3
            with pytest.raises(LeaseLostError):
                runs.fail(program.program, program.lease)
        else:
            runs.change(program, ProgramState.SET_ASIDE)
    assert teams == ["crashes", "b", "c", "crashes"]
    runs.close()


def test_an_upload_is_named_only_when_it_is_whole(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.create()
    uploads = Uploads(layout.uploads)
    with pytest.raises(UploadTooLargeError, match="1,000 bytes"):
        uploads.put([b"x" * 600, b"x" * 600], 1_000)
    assert not list(layout.uploads.iterdir())
    unfinished = uploads.begin(1_000)
    unfinished.write(b"x")
    stored = uploads.put([b"id,y\n"])
    orphan = uploads.put([b"id,y\n"])
    assert {path.suffix for path in layout.uploads.iterdir()} == {".part", ""}
    assert uploads.sweep(keep={stored.name}) == 2
    with uploads.opened([orphan.name, "../intake", stored.name]) as paths:
        assert list(paths) == [stored.name]
        uploads.path(stored.name).rename(tmp_path / "moved")
        uploads.path(stored.name).symlink_to(layout.intake)
        assert paths[stored.name].read_bytes() == b"id,y\n"
    with uploads.opened([stored.name]) as paths:
        assert paths == {}
    with pytest.raises(ValueError, match="no name"):
        uploads.path("../intake")
    unfinished._file.close()


def test_a_link_in_place_of_the_folder_of_uploads_is_not_followed(tmp_path: Path) -> None:
    """The folder around it belongs to the web process, which may be taken over."""
    layout = Layout(tmp_path / "server")
    layout.create()
    uploads = Uploads(layout.uploads)
    stored = uploads.put([b"id,y\n"])
    other = tmp_path / "competition"
    layout.uploads.rename(other)
    layout.uploads.symlink_to(other)
    with pytest.raises(StoreError, match="not a link to one"), uploads.opened([stored.name]):
        pass
    with pytest.raises(StoreError, match="not a link to one"):
        uploads.drop(stored.name)
    assert (other / stored.name).exists()


def test_what_is_published_survives_the_scorer(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    publisher = Publisher(path)
    assert path.stat().st_mode & 0o777 == 0o640  # the web process is of the same group
    answers = [
        Answer(
            request=f"r{n}",
            seq=n,
            team="red" if n % 2 else "blue",
            kind="submit",
            status="accepted",
            received="",
            judged="",
            released=n / 8,
        )
        for n in range(1, 6)
    ]
    publisher.publish(
        answers=answers,
        teams=[TeamFacts("red", 3, "2026-03-01", 2, selected=(1, 3))],
        names={"rosso": "red"},
        documents={"board": [{"team": "red"}], "rules": "# Rules", "private": None},
        state=State("open", 5.0, cursor=5),
    )
    reader = Published(path)
    before = reader.version(), reader.etag("board")
    publisher.publish(documents={"board": [{"team": "red"}]}, state=State("open", 6.0, cursor=5))
    assert reader.version() != before[0]
    assert reader.etag("board") == before[1]
    publisher.close()
    # The reader continues while the scorer is away, and when another one starts.
    assert reader.state().beat == 6.0
    publisher = Publisher(path)
    publisher.publish(state=State("open", 7.0, cursor=6))
    assert reader.state().cursor == 6
    assert [answer.seq for answer in reader.answers("red", limit=2)] == [5, 3]
    assert [answer.seq for answer in reader.answers("red", before=3)] == [1]
    assert [answer.seq for answer in reader.answers(None)] == [5, 4, 3, 2, 1]
    assert reader.answer("r3") == answers[2]
    assert (reader.answer("r9"), reader.document("private")) == (None, None)
    assert reader.team(reader.current_name("rosso")).selected == (1, 3)
    assert reader.team("green") == TeamFacts("green")
    rules = reader.document("rules")
    assert rules is not None
    assert rules.body == b"# Rules"
    path.rename(tmp_path / "moved")
    assert (reader.state().cursor, reader.board()) == (6, [{"team": "red"}])
    with pytest.raises(sqlite3.DatabaseError, match="was removed or replaced while it was open"):
        publisher.check_place()
    (tmp_path / "moved").rename(path)
    publisher.check_place()
    publisher.publish(replace_all=True)
    assert not reader.board()
    assert not reader.answers(None)
    reader.close()
    publisher.close()


def test_a_reader_finds_the_same_file_and_counts_the_files_of_days(tmp_path: Path) -> None:
    publisher = Publisher(tmp_path / "c.sqlite")
    reader = Published(tmp_path / "c.sqlite")

    def answer(number: int, day: int, team: str, status: str = "accepted", **about: Any) -> Answer:
        return Answer(
            request=f"r{number:03}", seq=number, team=team, kind=about.pop("kind", "submit"),
            status=status, received=f"2026-03-{day:02}T23:59:59+00:00", judged="", **about,
        )  # fmt: skip

    copies = [answer(number, 9, "red", sha256="same") for number in range(102)]
    others = [
        answer(200, 1, "red", submission=1),
        answer(201, 2, "red", sha256="other", submission=2),
        answer(202, 2, "blue", "rejected"),
        answer(203, 2, "green", "done", kind="select"),
        answer(204, 2, "red", "withdrawn"),
    ]
    publisher.publish(
        answers=[*copies, *others], teams=[TeamFacts("red", last="2026-03-09"), TeamFacts("blue")]
    )
    assert [copy.seq for copy in reader.same_file(copies[1])] == [0, *range(2, 101)]
    assert [reader.same_file(other) for other in others[:2]] == [[], []]
    days = [
        {"day": "2026-03-09", "uploads": 102, "accepted": 102, "teams": 1},
        {"day": "2026-03-02", "uploads": 3, "accepted": 1, "teams": 2},
        {"day": "2026-03-01", "uploads": 1, "accepted": 1, "teams": 1},
    ]
    assert [reader.activity(most) for most in (2, 3, 4)] == [days[:2], days, days]
    assert reader.last_entries(["red", "blue", "green"]) == {"red": "2026-03-09"}
    assert [reader.received("red", number) for number in (2, 3)] == [
        "2026-03-02T23:59:59+00:00", "",
    ]  # fmt: skip
    assert len(reader.answers(None)) == 100
    reader.close()
    publisher.close()


def test_an_organiser_finds_submissions_in_every_order_and_by_every_condition(
    tmp_path: Path,
) -> None:
    publisher = Publisher(tmp_path / "c.sqlite")
    reader = Published(tmp_path / "c.sqlite")

    def answer(seq: int, team: str, phase: str, kind: str = "submit", **about: Any) -> Answer:
        return Answer(
            request=about.pop("request", f"r{seq}"), seq=seq, team=team, kind=kind,
            status="accepted" if about else "rejected", phase=phase,
            received=f"2026-03-{seq:02}T12:00:00+00:00", judged="", **about,
        )  # fmt: skip

    first = answer(1, "red", "one", submission=4, released=0.25, file="Model.csv")
    refused = answer(2, "blue", "one")
    third = answer(3, "red", "two", submission=5, released=0.75)
    chosen = answer(4, "red", "two", "select", submission=9)
    of_round = answer(3, "red", "three", request="x", of_request="r3", submission=6)
    publisher.publish(
        answers=[first, refused, third, chosen],
        teams=[TeamFacts("red"), TeamFacts("blue")], names={"rosso": "red"},
    )  # fmt: skip
    for order, seqs in {
        "newest": [3, 2, 1], "oldest": [1, 2, 3], "highest": [3, 1, 2], "lowest": [1, 3, 2],
        "team": [2, 3, 1],
    }.items():  # fmt: skip
        matches, total = reader.submissions(SubmissionQuery(order=order))
        assert ([match.seq for match in matches], total) == (seqs, 3)
    conditions: list[tuple[dict[str, Any], list[int], int]] = [
        ({"team": "red"}, [3, 1], 2),
        ({"status": "rejected"}, [2], 1),
        ({"day": "2026-03-03"}, [3], 1),
        ({"phase": "one"}, [2, 1], 2),
        ({"search": "model"}, [1], 1),
        ({"page": 2, "limit": 2}, [1], 3),
        ({"page": 2, "limit": 1, "team": "red"}, [1], 2),
    ]
    for condition, seqs, total in conditions:
        matches, n_matches = reader.submissions(SubmissionQuery(**condition))
        assert ([match.seq for match in matches], n_matches) == (seqs, total)
    publisher.publish(answers=[of_round])
    assert [reader.further_rounds(match) for match in (first, third)] == [[], [of_round]]
    # The two answers to one file stay together.
    for limit, seqs in {1: [4], 2: [4, 3, 3], 3: [4, 3, 3], 4: [4, 3, 3, 2]}.items():
        assert [match.seq for match in reader.answers(None, limit=limit)] == seqs
    assert reader.last_in_phases("red") == {"one": first, "two": third, "three": of_round}
    assert reader.last_in_phases("blue") == {}
    assert sorted(reader.all_names()) == ["blue", "red", "rosso"]
    assert reader.names() == {"rosso": "red"}
    reader.close()
    publisher.close()


def test_a_second_connection_of_a_process_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    """Otherwise another process that closes the file would remove the log in use."""
    path = tmp_path / "intake.sqlite"
    first, second = Intake(path), Intake(path)
    submit(first, "k1")
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
        "print(c.execute('SELECT count(*) FROM requests').fetchone()[0]); c.close()"
    )
    counted = []
    for key in ("k2", "k3"):
        submit(second, key)
        done = subprocess.run(
            [sys.executable, "-c", script, path], capture_output=True, text=True, check=True
        )
        counted.append(int(done.stdout))
    assert counted == [2, 3]
    assert path.with_name("intake.sqlite-wal").exists()
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("changed", "texts"),
    [
        ({}, ("area", "Ladder")),
        ({"metric": "mae"}, ("", "Ladder")),
        ({"mechanism": "full"}, ("area", "")),
    ],
)
def test_a_phase_has_the_texts_of_its_own_metric_and_mechanism_only(
    changed: dict[str, str], texts: tuple[str, str]
) -> None:
    phase = {"phase": "late", "metric": FACTS.metric, "mechanism": FACTS.mechanism, **changed}
    facts = replace(FACTS, metric_text="area", mechanism_text="Ladder", phases=(phase,))
    of_phase = facts.of_phase("late")
    assert (of_phase.metric_text, of_phase.mechanism_text) == texts
    assert (of_phase.metric, of_phase.mechanism) == (phase["metric"], phase["mechanism"])
