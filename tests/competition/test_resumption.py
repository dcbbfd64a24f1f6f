"""`finalize` and `rescore` continue after an interruption, and leave nothing behind."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.competition.competition import Competition
from arena.evaluation import black_box
from arena.hookspecs import hookimpl
from arena.plugin.manager import PluginManager
from arena.server.backup import backup
from arena.server.records.layout import Layout
from scenario import Scenario
from toy_metrics import BlackBoxRmse

calls: list[int] = []
stops_at = [0]


@dataclass(frozen=True)
class Stopped(BlackBoxRmse):
    """Interrupts the command at a call."""

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        calls.append(len(truth))
        if len(calls) == stops_at[0]:
            raise KeyboardInterrupt
        return super().score(truth, prediction, weight)


class Provides:
    @hookimpl
    def provide_metrics(self) -> list[Any]:
        return [Stopped()]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(black_box, "SECONDS_WORTH_KEEPING", 0.0)
    monkeypatch.setattr(black_box, "SECONDS_OF_A_TASK", 0.0)  # a call each
    calls.clear()
    stops_at[0] = 0


def made(root: Path) -> Competition:
    """Return a competition of 60 rows with four files."""
    manager = PluginManager()
    manager.register(Provides(), "stopped")
    ids, labels = [f"r{row}" for row in range(60)], np.arange(60) / 60
    scenario = Scenario(root, {"id": ids, "y": labels}, manager=manager)
    keys = {"metric": "black_box_rmse", "resamples": 100, "intervals": True}
    competition = scenario.create(**keys, public_share=0.5)
    for number in range(4):
        values = np.random.default_rng(number).random(60)
        competition.submit({"id": ids, "y": values}, f"team {number}")
    calls.clear()
    return competition


@pytest.mark.slow
def test_finalize_continues(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    with made(tmp_path / "whole") as competition:
        expected = competition.finalize(workers=1).to_dict()
        all_calls = len(calls)
        assert not (tmp_path / "whole" / "c" / "unfinished").exists()
    with made(tmp_path) as competition:
        folder = tmp_path / "c" / "unfinished"
        stops_at[0] = all_calls // 2
        with pytest.raises(KeyboardInterrupt):
            competition.finalize(workers=1)
        (file,) = folder.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        backup(tmp_path / "c", Layout(tmp_path / "c" / "server"), tmp_path / "copy")
        assert (tmp_path / "copy" / "competition.toml").exists()
        assert not (tmp_path / "copy" / "unfinished").exists()
        assert not competition.audit()
        before, stops_at[0] = len(calls), 0
        assert competition.finalize(workers=1).to_dict() == expected
        assert len(calls) - before < 0.6 * all_calls
        assert not folder.exists()
        assert not competition.audit()


@pytest.mark.slow
def test_what_a_rescore_scored_is_kept_until_it_is_applied(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    with made(tmp_path / "whole") as competition:
        changes = competition.rescore(tmp_path / "whole" / "solution.csv", workers=1)
        all_calls = len(calls)
        assert not (tmp_path / "whole" / "c" / "unfinished").exists()
    with made(tmp_path) as competition:
        folder = tmp_path / "c" / "unfinished"
        stops_at[0] = all_calls
        with pytest.raises(KeyboardInterrupt):
            competition.rescore(tmp_path / "solution.csv", workers=1)
        calls.clear()
        stops_at[0] = 0
        assert competition.rescore(tmp_path / "solution.csv", workers=1) == changes
        assert len(calls) == all_calls - 4 * 4  # two splits, before and after
        assert folder.exists()
        calls.clear()
        assert competition.rescore(tmp_path / "solution.csv", apply=True, workers=1) == changes
        assert len(calls) == all_calls - 4 * 4
        assert not folder.exists()
