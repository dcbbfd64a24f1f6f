"""What the commands of a competition promise: record, repair, one process, no secret, no harm."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import shutil
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

from arena.competition.competition import Competition
from competition_folder import IDS, change, document, write_file
from program import UNPROTECTED, killed_in_the_end, run_here, start_program, write_csv

pytestmark = pytest.mark.slow

# -- the record ----------------------------------------------------------------------------------


def test_the_record_is_printed_and_whole(arena_there: Any) -> None:
    assert arena_there("import", "../files").returncode == 0
    assert arena_there("select", "-t", "a", 1).returncode == 0
    assert arena_there("disqualify", 2, "--reason", "two accounts").returncode == 0
    printed = document(arena_there("audit", "--json"), "audit")
    kinds = [event["kind"] for event in printed["events"]]
    assert kinds[:5] == ["created", *["submission"] * 4]
    assert kinds[5:] == ["selection", "disqualification", "board rebuilt"]
    assert printed["problem"] is None
    output = arena_there("audit").stdout
    assert "submission 2, reason two accounts" in output
    assert "The record is whole, and everything that is stored agrees with it." in output
    assert f"Its last hash is {printed['events'][-1]['hash']}." in output
    assert "Note it outside this machine" in output
    since = arena_there("audit", "--head", printed["events"][3]["hash"]).stdout
    assert "Events 5 to 8 follow it: check that you know of each" in since
    since = arena_there("audit", "--head", printed["head"]).stdout
    assert "nothing was changed, removed or added since" in since


def test_an_audit_says_what_it_did_not_compare(arena_there: Any, here: Path) -> None:
    assert arena_there("import", "../files").returncode == 0
    events = document(arena_there("audit", "--json"), "audit")["events"]
    for since in (3, events[2]["hash"]):
        printed = document(arena_there("audit", "--since", since, "--json"), "audit")
        assert printed["events"] == events[3:]
        assert "the content of 2 submissions" in printed["not_compared"][0]
        output = arena_there("audit", "--since", since).stdout
        assert "2 submissions by team" in output
        assert "the data recorded since then agree with it" in output
        assert printed["not_compared"][0] in output
    for since, sentence in (
        (9, "ends with event 5, before event 9"),
        ("0" * 64, "does not contain"),
    ):
        called = arena_there("audit", "--since", since)
        assert called.returncode == 1
        assert sentence in called.stderr
    assert document(arena_there("audit", "--since", 0, "--json"), "audit")["not_compared"] == []
    (here / "c" / "arena.duckdb.journal").unlink()
    (sentence,) = document(arena_there("audit", "--json"), "audit")["not_compared"]
    assert "the last 5 events with the journal, which lacks them" in sentence
    assert sentence in arena_there("audit").stdout
    assert "64 hexadecimal digits" in arena_there("audit", "--since", "x").stderr


@pytest.mark.parametrize(
    ("change_of_record", "sentence"),
    [
        ("UPDATE events SET actor = 'nobody' WHERE sequence = 2", "event 2 (submission, "),
        ("DELETE FROM events WHERE sequence = 2", "event 2 is missing before event 3"),
    ],
)
def test_a_changed_record_is_told(
    here: Path, arena_there: Any, change_of_record: str, sentence: str
) -> None:
    assert arena_there("import", "../files").returncode == 0
    with duckdb.connect(str(here / "c" / "arena.duckdb")) as connection:
        connection.execute(change_of_record)
    called = arena_there("audit")
    assert called.returncode == 1
    assert called.stderr.startswith("arena: The record is broken: ")
    assert sentence in called.stderr
    assert "whole" not in called.stdout
    printed = document(arena_there("audit", "--json"), "audit", 1)
    assert sentence in printed["problem"]


def test_what_a_repair_finds_lost_is_told(here: Path, arena_there: Any) -> None:
    whole = arena_there("repair")
    assert (whole.returncode, "is intact: nothing was changed." in whole.stdout) == (0, True)
    database = here / "c" / "arena.duckdb"
    shutil.copy(database, here / "old.duckdb")
    assert arena_there("submit", "../files/a.csv", "-t", "a").returncode == 0
    shutil.copy(here / "old.duckdb", database)
    refused = arena_there("submissions")
    assert refused.returncode == 1
    assert "arena repair" in refused.stderr
    repaired = arena_there("repair")
    assert repaired.returncode == 0
    assert "to be submitted again: submission 1 of a (a.csv)" in repaired.stdout
    again = document(arena_there("submit", "../files/a.csv", "-t", "a", "--json"), "submit")
    assert (again["submission"], again["status"]) == (2, "accepted")
    assert arena_there("audit").returncode == 0


# -- several processes ---------------------------------------------------------------------------


@pytest.mark.long
def test_a_second_process_is_told_which_one_holds_the_competition_or_waits(
    here: Path, arena_there: Any
) -> None:
    folder = here / "c"
    with contextlib.ExitStack() as ends:

        def start(team: str, *more: object) -> subprocess.Popen[str]:
            arguments = ("submit", f"../files/{team}.csv", "-t", team, *more)
            return ends.enter_context(killed_in_the_end(start_program(*arguments, cwd=folder)))

        with Competition.open(folder):
            first = start("a", "--json")
            patient = [start(team, "--wait", 600) for team in "ab"]
            stdout, stderr = first.communicate(timeout=900)
            assert first.returncode == 1
            assert stdout == ""
            assert f"(PID {os.getpid()})" in stderr
            assert "--wait SECONDS" in stderr
            assert len(stderr.splitlines()) == 1
            time.sleep(0.5)
            assert [process.poll() for process in patient] == [None, None]
        for process in patient:
            _, stderr = process.communicate(timeout=900)
            assert process.returncode == 0, stderr
    rows = document(arena_there("submissions", "--json"), "submissions")["submissions"]
    assert [row["submission"] for row in rows] == [1, 2]
    assert {row["team"]: row["status"] for row in rows} == {"a": "accepted", "b": "accepted"}


# -- secrets, and text of participants -----------------------------------------------------------


def test_no_label_is_shown_by_any_command(tmp_path: Path) -> None:
    labels = [f"{row * 7919 % 100003}.{row:04d}77" for row in range(1, len(IDS) + 1)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], list(zip(IDS, labels, strict=True)))
    files = tmp_path / "files"
    write_csv(files / "a.csv", ["id", "y"], [(i, row) for row, i in enumerate(IDS)])
    write_csv(files / "b.csv", ["id", "y"], [(i, "x") for i in IDS[3:]])
    write_csv(files / "c.csv", ["id", "z"], [(i, 1) for i in [*IDS, "r03"]])
    init = ("init", "c", "--solution", "solution.csv", *UNPROTECTED, "--metric", "mae", "--verbose")
    calls = [run_here(*init, cwd=tmp_path), run_here(*init, cwd=tmp_path)]
    there = partial(run_here, cwd=tmp_path / "c")
    commands: list[tuple[object, ...]] = [
        *(("submit", f"../files/{name}.csv", "-t", name) for name in "abc"),
        ("import", "../files"),
        ("submissions",),
        ("leaderboard",),
        ("leaderboard", "--csv"),
        ("audit",),
        ("select", "-t", "a", 99),
        ("disqualify", 99, "--reason", "x"),
    ]
    for command in commands:
        for extra in ((), ("--json", "--verbose")):
            calls.append(there(*command, *extra))
    output = "".join(call.stdout + call.stderr for call in calls)
    for name in ("competition.toml", "sample_submission.csv", "arena.duckdb.journal"):
        output += (tmp_path / "c" / name).read_text(encoding="utf-8")
    assert "accepted" in output
    assert "is missing" in output
    assert not [label for label in labels if label in output]


HOSTILE = {
    "[red]markup[/bold]": "accepted",
    "=cmd|' /C calc'!A0": "accepted",
    "@SUM(1)": "accepted",
    "-1+1": "accepted",
    "left\u202etfel": "accepted",
    "\u202eleft": "accepted",
    "\U0001f600" * 100: "accepted",
    "\U0001f600" * 101: "rejected",
    "two\nlines": "rejected",
    "\x1b[31mred": "rejected",
    "": "rejected",
}
EVERY_TABLE = (("submissions",), ("leaderboard",), ("leaderboard", "--csv"), ("audit",))


def test_names_of_teams_do_no_harm(
    here: Path, arena_there: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(here / "c", 'rule = "best_public"', 'rule = "chosen"')
    calls = []
    for number, (team, status) in enumerate(HOSTILE.items(), start=1):
        file = write_file(here / f"{number}.csv", number)
        calls.append(arena_there("submit", file, f"--team={team}"))
        assert calls[-1].returncode == (0 if status == "accepted" else 1), team
        calls.append(arena_there("select", f"--team={team}", number))
    output = "".join(call.stdout + call.stderr for call in calls)
    calls = [arena_there(*command) for command in EVERY_TABLE]
    monkeypatch.setenv("COLUMNS", "40")
    calls += [arena_there(*command) for command in EVERY_TABLE]
    assert not [call.stderr for call in calls if call.returncode]
    output += "".join(call.stdout + call.stderr for call in calls)
    assert not set(output) & {"\u202e", "\x1b", "\r", "\t", "\u2028"}
    assert "[red]markup[/bold]" in output
    rows = document(arena_there("submissions", "--json"), "submissions")["submissions"]
    assert [row["status"] for row in rows] == list(HOSTILE.values())
    assert sum(row["selected"] for row in rows) == len(HOSTILE) - 4
    standings = document(arena_there("leaderboard", "--json"), "leaderboard")["standings"]
    assert {row["team"] for row in standings} == {t for t, s in HOSTILE.items() if s == "accepted"}
    exported = list(csv.DictReader(io.StringIO(arena_there("leaderboard", "--csv").stdout)))
    assert [float(row["score"]) for row in exported] == [row["score"] for row in standings]
    assert not [row["team"] for row in exported if row["team"][0] in "=+-@"]
    assert {"'=cmd|' /C calc'!A0", "'@SUM(1)", "'-1+1"} <= {row["team"] for row in exported}
