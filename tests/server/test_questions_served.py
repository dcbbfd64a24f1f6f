"""Questions on a server: the form, the HTTP API, the client, and pages that show answers."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import httpx
import pytest

from arena.client import ServerError
from arena.competition.competition import Competition
from arena.errors import UsageError
from arena.server.records.intake import Intake
from arena.server.records.layout import Layout
from arena.server.web.submission_pages import submit_commands
from program import run_here
from scenario import MANAGER, Scenario, settings_of
from served_boards import MovedClock, served_here

QUESTIONS = {
    "method": {"text": "<i>Method</i>", "required": True},
    "year": {"of": "team", "text": "Year", "choices": ["bachelor", "master"], "brackets": True},
    "school": {"of": "team", "text": "School", "required": True, "shown": "organisers"},
}
PRIVATE = "Gymnasium am Rhein"


@pytest.mark.slow
def test_answers_come_with_files_and_are_shown(tmp_path: Path, scenario: Scenario) -> None:
    scenario.create().close()
    settings = settings_of(question=QUESTIONS, mechanism="ladder-free")
    race = tmp_path / "race"
    Competition.create(race, tmp_path / "solution.csv", settings, manager=MANAGER).close()
    file = scenario.file(1, 0.8)
    layout = Layout(tmp_path / "served")
    with served_here(race, layout, MovedClock(), ["owls"]) as served:
        client, address = served.clients["owls"], str(served.organiser.base_url)
        assert client.info()["questions"].keys() == QUESTIONS.keys()
        for answers, message in (
            (None, "An answer to method is missing"),
            ({"method": "x", "year": "phd", "school": "x"}, "must be one of"),
            ({"method": "x"}, "An answer to school is missing"),
            ({"method": "x", "other": "y"}, "There is no question 'other'"),
        ):
            with pytest.raises(ServerError, match=message):
                client.submit(file, answers=answers)
        public_answers = {"method": "<b>trees</b>", "year": "master"}
        submission = client.submit(file, answers={**public_answers, "school": PRIVATE})
        # The first answer, no question.
        assert client.submit(file)["request"] == submission["request"]
        served.judge()
        assert client.wait(submission["request"])["status"] == "accepted"
        (row,) = client.board(bracket="master")
        assert row["answers"] == {"method": "<b>trees</b>", "year": "master"}
        page = httpx.get(address.replace("/api/v1", ""), follow_redirects=True).text
        assert "&lt;b&gt;trees&lt;/b&gt;" in page
        assert "&lt;i&gt;Method&lt;/i&gt;" in page
        assert "<b>trees" not in page
        commands = httpx.get(f"{address.replace('/api/v1', '')}submit").text
        assert "?answer.method=…&amp;answer.school=…" in commands
        assert "kaggle" not in commands  # it cannot answer
        table = httpx.get(f"{address}board.csv").text
        assert "answer_method" in table.splitlines()[0]
        again = client.submit(scenario.file(2, 0.7), answers={"method": "y"})  # school: known
        served.judge()
        assert client.request(submission["request"])["answers"] == {
            **public_answers,
            "school": PRIVATE,
        }
        export = served.organiser.get("/admin/export/answers").text
        assert f"{submission['request']},owls" in export
        assert PRIVATE in export
        assert PRIVATE not in page + table + json.dumps(client.info())
        with contextlib.closing(Intake(layout.intake)) as intake:
            intake.forget_answers(again["member"])
        assert PRIVATE not in served.organiser.get("/admin/export/answers").text
    database = (race / "arena.duckdb").read_bytes()
    assert b"trees" in database
    assert PRIVATE.encode() not in database
    with Competition.open(race, manager=MANAGER) as competition:
        with pytest.raises(UsageError, match="There is no question 'school'"):
            competition.submit(scenario.file(3, 0.7), "owls", answers={"school": "x"})
        assert competition.audit() == ()


@pytest.mark.parametrize("programs", [False, True])
@pytest.mark.parametrize("phase", ["", "dev"])
@pytest.mark.parametrize("required", [[], ["method", "school"]])
def test_the_commands_of_the_page_name_all_that_a_submission_needs(
    programs: bool, phase: str, required: list[str]
) -> None:
    commands = submit_commands(
        "https://a.org", "race", programs=programs, phase=phase, required=required
    )
    assert (
        commands["arena"].count("--phase dev")
        == commands["curl"].count("phase=dev")
        == (phase == "dev")
    )
    for program, before in (("arena", '--answer "'), ("curl", "answer.")):
        assert all(f"{before}{key}=" in commands[program] for key in required)
        # curl sends the name of the file beside it: without it a program is taken for an archive.
        assert commands[program].count("main.py") == programs * (1 + (program == "curl"))
    assert ("kaggle" in commands) == (not programs and not phase and not required)


def test_an_answer_of_the_command_line_names_its_question(tmp_path: Path) -> None:
    done = run_here("submit", "x.csv", "--team", "a", "--answer", "trees", cwd=tmp_path)
    assert done.returncode == 2
    assert "must be KEY=TEXT" in done.stderr
