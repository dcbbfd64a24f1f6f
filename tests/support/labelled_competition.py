"""A competition of labels by accuracy, and files that are right on as many rows as one likes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from arena.competition.competition import Competition
from arena.config import CONFIG_NAME, Settings, settings_as_toml
from arena.plugin.manager import PluginManager
from program import write_csv

N_ROWS = 200
TRUTH = np.random.default_rng(4).integers(0, 2, N_ROWS)
IDS = [f"r{row}" for row in range(N_ROWS)]
MANAGER = PluginManager()
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def clock() -> datetime:
    return NOW


def settings_of(**sections: Any) -> Settings:
    """Return settings without intervals, which take most of the time of a final board."""
    few = {"metric": {"name": "accuracy"}, "analysis": {"intervals": False}}
    return Settings.model_validate({**few, **sections})


def create(
    folder: Path, metric: str = "accuracy", n_labels: int = N_ROWS, **sections: Any
) -> Competition:
    """Make a competition in which every second row is public, and the first rows have labels."""
    usage = np.where(np.arange(N_ROWS) % 2 == 0, "Public", "Private")
    cells = [*map(str, TRUTH[:n_labels]), *[""] * (N_ROWS - n_labels)]
    rows = list(zip(IDS, cells, usage, strict=True))
    write_csv(folder / "solution.csv", ["id", "y", "Usage"], rows)
    settings = settings_of(**{"metric": {"name": metric}, **sections})
    return Competition.create(
        folder / "c", folder / "solution.csv", settings, seed=1, manager=MANAGER, clock=clock
    )


def reopen(folder: Path, clock: Callable[[], datetime] = clock) -> Competition:
    return Competition.open(folder / "c", manager=MANAGER, clock=clock)


def configure(folder: Path, metric: str = "accuracy", **sections: Any) -> None:
    """Rewrite competition.toml."""
    settings = settings_of(**{"metric": {"name": metric}, **sections})
    path = folder / "c" / CONFIG_NAME
    path.write_text(settings_as_toml(settings), encoding="utf-8")


def file_of(folder: Path, number: int, right: float) -> Path:
    """Write labels that are right on a share of the rows, drawn by the number."""
    wrong = np.random.default_rng(number).random(N_ROWS) >= right
    path = folder / f"file-{number}-{right}.csv"
    write_csv(path, ["id", "y"], list(zip(IDS, np.where(wrong, 1 - TRUTH, TRUTH), strict=True)))
    return path


def history(folder: Path, length: int, teams: int = 3) -> list[tuple[Path, str]]:
    """Write files that get better, slowly, each with its team."""
    rng = np.random.default_rng(8)
    return [
        (file_of(folder, t, 0.5 + 0.4 * t / length), f"team {rng.integers(teams)}")
        for t in range(length)
    ]


PUBLIC = np.arange(N_ROWS) % 2 == 0
"""``(n_rows,)``: the public rows of :func:`create`."""


def file_right_on(folder: Path, public: int) -> Path:
    """Write labels that are right on the first of the 100 public rows, and on all private ones."""
    wrong = PUBLIC & (np.cumsum(PUBLIC) > public)
    path = folder / f"right-{public}.csv"
    write_csv(path, ["id", "y"], list(zip(IDS, np.where(wrong, 1 - TRUTH, TRUTH), strict=True)))
    return path


def send(competition: Competition, folder: Path, *sent: tuple[str, int]) -> None:
    """Submit files of teams, each right on so many public rows."""
    for team, public in sent:
        assert competition.submit(file_right_on(folder, public), team).status == "accepted"


def standings(competition: Competition) -> list[tuple[int | None, str, float, int]]:
    """Return rank, team, score and submission of each row of the public board."""
    return [
        (row["rank"], row["team"], row["score"], row["submission"])
        for row in competition.leaderboard()
    ]
