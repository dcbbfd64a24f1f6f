"""Commands say which scores they release again and which published results they mark."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import arena.cli.commands
from arena.competition.competition import Competition
from program import run_here
from scenario import SOLUTION, START, TRUTH, Scenario

SETTINGS = {"deadline": START + timedelta(hours=1), "final_rule": "chosen", "final_count": 1}


@pytest.fixture
def published(scenario: Scenario) -> Scenario:
    """Return a competition of the teams a and b whose result is published."""
    with scenario.create(**SETTINGS) as competition:
        scenario.send(competition, ("a", 60), ("b", 70), ("a", 80))
        scenario.clock.now += timedelta(hours=2)
        competition.finalize()
        competition.publish()
    return scenario


def is_marked(competition: Competition) -> bool:
    return competition.results()[-1]["mark"] is not None


def test_a_decision_says_what_it_marks(published: Scenario) -> None:
    with published.reopen() as competition:
        changed = competition.consequences_since()
        competition.pause("a reason")
        competition.rescore(apply=True)
        assert (changed(), is_marked(competition)) == (None, False)
        competition.select("a", [1], late=True)
        assert (changed(), is_marked(competition)) == ("This marked result 1.", True)
        changed = competition.consequences_since()
        assert changed() is None
        competition.select("a", [], late=True)
        assert (changed(), is_marked(competition)) == ("This removed the mark of result 1.", False)


@pytest.mark.slow
def test_a_decision_that_is_undone_removes_its_mark(published: Scenario) -> None:
    with published.reopen() as competition:
        competition.disqualify_team("b", "x")
        competition.reinstate(team="b", reason="y")
        assert competition.events("reinstatement")[0].payload["unmarks"] == [1]
        competition.disqualify_team("b", "x")
        changed = competition.consequences_since()
        competition.retract("a reason")
        assert changed() is None


@pytest.mark.slow
def test_changed_settings_say_what_they_mark(published: Scenario) -> None:
    changed = "competition.toml was changed. This"
    for keys, said in (
        ({"title": "A"}, ()),
        ({"level": 0.9}, (f"{changed} marked result 1.",)),
        ({"title": "B"}, (f"{changed} removed the mark of result 1.",)),
    ):
        published.configure(**{**SETTINGS, **keys})
        with published.reopen() as competition:
            assert competition.notes == said
            assert is_marked(competition) == ("level" in keys)


@pytest.mark.slow
def test_a_baseline_that_becomes_a_team_is_named(published: Scenario) -> None:
    notes = []
    for baseline in ("a", "other", "other"):
        published.configure(**SETTINGS, baseline=baseline)
        with published.reopen() as competition:
            notes += [note for note in competition.notes if "baseline" in note]
    assert notes == [
        "'a' is no baseline any more: it is ranked as a team from now on.",
        "The baseline 'other' has sent no file yet: submit one under this name.",
    ]


@pytest.mark.slow
def test_a_rescore_without_a_change_marks_nothing(published: Scenario) -> None:
    with published.reopen() as competition:
        board = competition.final_result()
        (event,) = competition.events("finalized")
        competition.rescore(apply=True)
        assert competition.outdated() is None
        competition.finalize()
        assert competition.events("finalized")[-1] == event
        assert competition.final_result() == board
        other = {**SOLUTION, "y": np.where(np.arange(len(TRUTH)) < 3, 1 - TRUTH, TRUTH)}
        competition.rescore(other, apply=True)
        assert is_marked(competition)
        competition.rescore(apply=True)
        assert is_marked(competition)


def test_every_command_that_writes_says_its_consequences() -> None:
    """``open_competition`` of the command line does; a backup decides nothing."""
    files = Path(arena.cli.commands.__file__).parent.glob("*.py")
    others = {file.name for file in files if "Competition.open(" in file.read_text()}
    assert others == {"backup.py"}


CORRECTED = {**SOLUTION, "y": np.where(np.arange(len(TRUTH)) < 9, 1 - TRUTH, TRUTH)}
COMMANDS: list[tuple[str, str]] = [
    ("rescore --apply", ""),
    ("rescore --apply --solution corrected.csv", "released the scores of 2 teams again and marked"),
    ("select 1 --team a --late", "marked"),
    ("disqualify 2 --reason x", "releases the scores of 1 team again and marks"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "said"), COMMANDS)
def test_commands_say_their_consequences(published: Scenario, command: str, said: str) -> None:
    published.write("c/corrected", CORRECTED)
    done = run_here(*command.split(), cwd=published.folder)
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stderr.splitlines() if line.startswith("This ")]
    assert len(notes) == bool(said)
    assert all(said in note for note in notes)
    with Competition.open(published.folder) as competition:
        assert is_marked(competition) == any("result 1" in note for note in notes)
