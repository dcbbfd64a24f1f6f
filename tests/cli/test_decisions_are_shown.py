"""What the organiser decides is said, listed, and on the boards at once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from program import run_here
from scenario import Clock, Scenario


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a competition with the submissions 1 and 3 of a, and 2 of b."""
    clock = Clock(datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC))
    scenario = Scenario(tmp_path_factory.mktemp("decided"), clock=clock)
    with scenario.create(final_rule="chosen") as competition:
        for number, team in enumerate("aba"):
            competition.submit(scenario.file(number), team)
    return scenario.folder


@pytest.mark.slow
def test_decisions_are_said_and_listed(folder: Path) -> None:
    def said(*arguments: object, code: int = 0) -> str:
        done = run_here(*arguments, cwd=folder)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else " ".join(done.stderr.split())

    def rows(*arguments: object) -> list[dict[str, Any]]:
        return json.loads(said("submissions", "--json", *arguments))["submissions"]

    def teams() -> set[str]:
        return {row["team"] for row in json.loads(said("leaderboard", "--json"))["standings"]}

    assert [(row["team"], row["status"]) for row in rows()] == [
        ("a", "accepted"), ("b", "accepted"), ("a", "accepted"),
    ]  # fmt: skip
    assert [row["submission"] for row in rows("--team", "a")] == [1, 3]
    table = said("submissions")
    assert table.count("2026-03-01 12:30:15") == 3
    assert "file-1-0.5.csv" in table

    assert said("disqualify", 2, "--reason", "copied") == "Submission 2 does not count any more.\n"
    assert teams() == {"a"}
    again = said("disqualify", 2, "--reason", "a leak")
    assert "was excluded already, for the reason: copied" in again
    assert "already disqualified for this" in said("disqualify", 2, "--reason", "a leak", code=2)
    assert rows("--team", "b")[0]["status"] == "disqualified"
    assert said("disqualify", 2, "--undo", "--reason", "x") == "Submission 2 counts again.\n"
    assert said("disqualify", "--team", "a", "--reason", "x") == (
        "The team a does not count any more.\n"
    )
    assert teams() == {"b"}
    assert said("disqualify", "--team", "a", "--undo", "--reason", "x") == (
        "The team a counts again.\n"
    )
    assert teams() == {"a", "b"}

    assert said("select", "--team", "a", 3) == "a chose 3.\n"
    assert [row["selected"] for row in rows()] == [False, False, True]
    assert "2" in said("select", "--team", "a", 2, code=2)  # it is of b
    assert said("select", "--team", "a") == "a chose no submissions.\n"

    events = json.loads(said("audit", "--json"))["events"]
    decided = {"disqualification", "reinstatement", "selection"}
    assert [event["kind"] for event in events if event["kind"] in decided] == [
        *["disqualification"] * 2, "reinstatement", "disqualification",
        "reinstatement", "selection", "selection",
    ]  # fmt: skip
    audited = said("audit")
    assert "a leak" in audited
    head = json.loads(said("leaderboard", "--json"))["head"]
    assert head == events[-1]["hash"]
    assert said("audit", "--head", head)
    assert "64" in said("audit", "--head", "abc", code=2)
    assert said("audit", "--head", "0" * 64, code=1)
    assert said("audit", "--since", 3)


def test_who_submits_for_a_disqualified_team_is_told_so(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path)
    with scenario.create() as competition:
        competition.submit(scenario.file(1), "a")
        competition.disqualify_team("a", "two accounts")
    for team, is_told in (("a", True), ("b", False)):
        submitted = run_here("submit", scenario.file(2), "--team", team, cwd=scenario.folder)
        note = f"The team {team} is disqualified (two accounts): its submissions do not count."
        assert (note in " ".join(submitted.stderr.split())) is is_told
