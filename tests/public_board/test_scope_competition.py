"""A mechanism that compares teams: one state for all of them, and a code that tells them apart."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import get_args

import pytest

from arena.errors import InputError
from arena.interfaces import Scope
from arena.plugin.manager import PluginManager
from arena.testing import check_mechanism
from scenario import Scenario

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
    scenario = Scenario(folder, manager=manager)
    keys = {"mechanism": "deciles", "scope": "competition", "baseline": "base"}
    with scenario.create(**keys) as competition:
        return [
            competition.submit(scenario.file_right_on(n_public), team).released
            for team, n_public in SENT
        ]


@pytest.mark.slow
def test_all_teams_share_a_state(tmp_path: Path, manager: PluginManager) -> None:
    assert play(tmp_path, manager) == RELEASED
    with Scenario(tmp_path, manager=manager).reopen() as competition:
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
    with pytest.raises(InputError, match='set scope = "competition" under'):
        Scenario(tmp_path, manager=manager).create(mechanism="deciles")


def test_it_conforms(manager: PluginManager) -> None:
    check_mechanism(manager.mechanisms.resolve("deciles")).require()


def test_every_schema_knows_every_scope() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "schemas").glob("*.json")]
    listed = [
        scopes for text in texts for scopes in re.findall(r'"enum": (\[\s*"team",[^]]*\])', text)
    ]
    assert len(listed) == 4
    assert all(tuple(re.findall(r"\w+", scopes)) == get_args(Scope) for scopes in listed)
