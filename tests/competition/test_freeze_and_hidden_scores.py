"""Scores that the board does not show: frozen, for each team alone, or hidden until they open."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.competition.view import CompetitionView
from arena.config import Settings
from arena.errors import UsageError
from labelled_competition import MANAGER, configure, create, file_of, history, reopen
from small_competition import Clock

FROZEN = datetime(2026, 3, 2, tzinfo=UTC)
BEFORE = FROZEN - timedelta(hours=1)


def opened(folder: Path, clock: Clock, **public: Any) -> Competition:
    create(folder, public={"mechanism": "ladder-free", **public}).close()
    return reopen(folder, clock)


def test_a_frozen_board_shows_what_was_received_before_and_nothing_else(tmp_path: Path) -> None:
    clock = Clock(BEFORE)
    with opened(tmp_path, clock, freeze=FROZEN.isoformat()) as competition:
        competition.submit(file_of(tmp_path, 1, 0.6), "A")
        competition.submit(file_of(tmp_path, 2, 0.7), "B")
        clock.now = FROZEN
        before = competition.leaderboard()
        assert [row["team"] for row in before] == ["B", "A"]
        clock.now = FROZEN + timedelta(seconds=1)
        answer = competition.submit(file_of(tmp_path, 3, 0.95), "A")
        competition.submit(file_of(tmp_path, 4, 0.9), "C")
        assert answer.released is not None
        assert competition.leaderboard() == before
        assert [row["team"] for row in competition.leaderboard(live=True)] == ["A", "C", "B"]
        competition.disqualify(2, "a leak")
        assert [row["team"] for row in competition.leaderboard()] == ["A"]
    configure(tmp_path, public={"mechanism": "ladder-free"})
    with reopen(tmp_path, clock) as competition:
        assert [row["team"] for row in competition.leaderboard()] == ["A", "C"]
        assert competition.audit() == ()


@pytest.mark.slow
@pytest.mark.parametrize("scores", ["hidden", "own"])
def test_scores_that_open_are_those_of_a_board_that_was_always_open(
    tmp_path: Path, scores: str
) -> None:
    boards = []
    for shown in ("board", scores):
        folder = tmp_path / shown
        folder.mkdir()
        with opened(folder, Clock(BEFORE), scores=shown) as competition:
            for path, team in history(folder, 5):
                answer = competition.submit(path, team)
                assert (answer.released is None) == (shown == "hidden")
            if shown != "board":
                competition.disqualify(3, "a leak")
                competition.reinstate(submission=3, reason="a mistake")
                assert competition.leaderboard() == []
                released = [row["released"] for row in competition.submissions()]
                assert (set(released) == {None}) == (shown == "hidden")
        configure(folder, public={"mechanism": "ladder-free"})
        with CompetitionView.open(folder / "c", manager=MANAGER) as view:
            follows = [note for note in view.notes if "whether scores are hidden" in note]
            assert bool(follows) == (shown == "hidden")
        with reopen(folder, Clock(BEFORE)) as competition:
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
