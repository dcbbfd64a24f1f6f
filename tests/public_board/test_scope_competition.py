"""A mechanism that compares teams: one state for all of them, and a code that tells them apart."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import get_args

import pytest

from arena.competition.competition import Competition
from arena.errors import InputError
from arena.interfaces import Scope
from arena.plugin.manager import PluginManager
from arena.testing import check_mechanism
from labelled_competition import clock, create, file_right_on, settings_of

ROOT = Path(__file__).parents[2]
SENT = [("base", 50), ("A", 60), ("B", 70), ("C", 80), ("A", 55), ("D", 65), ("A", 90)]
RELEASED = [0.0, 0.0, 1.0, 1.0, 0.0, 0.3, 1.0]
"""The tenths of the other teams that the best score of each team beats; the baseline is none."""


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> PluginManager:
    monkeypatch.syspath_prepend(ROOT / "examples" / "third_party_plugin")
    plugin_manager = PluginManager()
    plugin_manager.register(importlib.import_module("arena_example"), "example")
    return plugin_manager


def play(folder: Path, manager: PluginManager) -> list[float | None]:
    """Make a competition and submit; return what was released."""
    create(folder).close()  # writes the solution
    sections = {
        "public": {"mechanism": "deciles", "scope": "competition"},
        "competition": {"baseline": "base"},
    }
    made = Competition.create(
        folder / "d", folder / "solution.csv", settings_of(**sections),
        seed=1, manager=manager, clock=clock,
    )  # fmt: skip
    released = []
    with made as competition:
        for team, right in SENT:
            released.append(competition.submit(file_right_on(folder, right), team).released)
    return released


@pytest.mark.slow
def test_all_teams_share_a_state(tmp_path: Path, manager: PluginManager) -> None:
    assert play(tmp_path, manager) == RELEASED
    with Competition.open(tmp_path / "d", manager=manager, clock=clock) as competition:
        assert competition.audit() == ()
        competition.rename_team("C", "See")
        (replayed,) = competition.replay(["deciles"]).replayed
        assert [replayed.releases[number].score for number in range(1, 8)] == RELEASED
        competition.disqualify(4, "a leak")  # the only file of See
        # A beats B with its first file now as before; D beats A and not B.
        board = {row["team"]: row["score"] for row in competition.leaderboard()}
        assert board == {"base": 0.0, "A": 1.0, "B": 1.0, "D": 0.5}
        competition.reinstate(submission=4, reason="a mistake")
        competition.merge_teams("D", "B")
        assert len(competition.leaderboard()) == 4


def test_it_refuses_a_board_on_which_teams_share_no_state(
    tmp_path: Path, manager: PluginManager
) -> None:
    create(tmp_path).close()
    with pytest.raises(InputError, match='set scope = "competition" under'):
        Competition.create(
            tmp_path / "d", tmp_path / "solution.csv",
            settings_of(public={"mechanism": "deciles"}), manager=manager, clock=clock,
        )  # fmt: skip


def test_it_conforms(manager: PluginManager) -> None:
    check_mechanism(manager.mechanisms.resolve("deciles")).require()


def test_every_schema_knows_every_scope() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "schemas").glob("*.json")]
    listed = [one for text in texts for one in re.findall(r'"enum": (\[\s*"team",[^]]*\])', text)]
    assert len(listed) == 4
    assert all(tuple(re.findall(r"\w+", one)) == get_args(Scope) for one in listed)
