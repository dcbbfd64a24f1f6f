"""Scores that the board does not show: frozen, for each team alone, or hidden until they open."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from arena.competition.view import CompetitionView
from arena.config import Settings
from arena.errors import UsageError
from scenario import MANAGER, Clock, Scenario

FROZEN = datetime(2026, 3, 2, tzinfo=UTC)
BEFORE = FROZEN - timedelta(hours=1)


@pytest.mark.slow
def test_a_frozen_board_shows_what_was_received_before_and_nothing_else(
    scenario: Scenario,
) -> None:
    scenario.clock.now = BEFORE
    with scenario.create(mechanism="ladder-free", freeze=FROZEN.isoformat()) as competition:
        competition.submit(scenario.file(1, 0.6), "A")
        competition.submit(scenario.file(2, 0.7), "B")
        scenario.clock.now = FROZEN
        before = competition.leaderboard()
        assert [row["team"] for row in before] == ["B", "A"]
        scenario.clock.now = FROZEN + timedelta(seconds=1)
        answer = competition.submit(scenario.file(3, 0.95), "A")
        competition.submit(scenario.file(4, 0.9), "C")
        assert answer.released is not None
        assert competition.leaderboard() == before
        assert [row["team"] for row in competition.leaderboard(live=True)] == ["A", "C", "B"]
        competition.disqualify(2, "a leak")
        assert [row["team"] for row in competition.leaderboard()] == ["A"]
    scenario.configure(mechanism="ladder-free")
    with scenario.reopen() as competition:
        assert [row["team"] for row in competition.leaderboard()] == ["A", "C"]
        assert competition.audit() == ()


@pytest.mark.slow
@pytest.mark.parametrize("scores", ["hidden", "own"])
def test_scores_that_open_are_those_of_a_board_that_was_always_open(
    tmp_path: Path, scores: str
) -> None:
    boards = []
    for setting in ("board", scores):
        scenario = Scenario(tmp_path / setting, clock=Clock(BEFORE))
        with scenario.create(mechanism="ladder-free", scores=setting) as competition:
            for path, team in scenario.history(5):
                answer = competition.submit(path, team)
                assert (answer.released is None) == (setting == "hidden")
            if setting != "board":
                competition.disqualify(3, "a leak")
                competition.reinstate(submission=3, reason="a mistake")
                assert competition.leaderboard() == []
                released = [row["released"] for row in competition.submissions()]
                assert (set(released) == {None}) == (setting == "hidden")
        scenario.configure(mechanism="ladder-free")
        with CompetitionView.open(scenario.folder, manager=MANAGER) as view:
            follows = [note for note in view.notes if "whether scores are hidden" in note]
            assert bool(follows) == (setting == "hidden")
        with scenario.reopen() as competition:
            boards.append(competition.leaderboard())
            assert competition.audit() == ()
    assert boards[0] == boards[1]
    assert boards[0]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"freeze": FROZEN, "scores": "own"}, r'^\[public\]: freeze .* since scores is "own"'),
        ({"freeze": FROZEN, "scope": "rank"}, r'^\[public\]: freeze needs scope = "team"'),
        ({"freeze": FROZEN, "deadline": FROZEN}, r"^\[public\] freeze must be before .* deadline"),
        ({"freeze": FROZEN, "start": FROZEN}, r"^\[public\] freeze must be after .* start"),
    ],
)
def test_settings_that_contradict_each_other_are_refused_by_name(
    keys: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        Settings.of(metric="accuracy", **keys)
