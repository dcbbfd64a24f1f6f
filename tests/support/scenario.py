"""A competition of a test: its solution, its settings, its clock, and the files of its teams.

with scenario.create(per_day=1) as competition:
    competition.submit(scenario.file(1, right=0.8), "ant")
    scenario.clock.now += timedelta(days=1)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from arena.competition.competition import Competition
from arena.config import CONFIG_NAME, Settings, settings_as_toml
from arena.plugin.manager import PluginManager
from program import write_csv

N_ROWS = 200
IDS = [f"r{row}" for row in range(N_ROWS)]
TRUTH = np.random.default_rng(4).integers(0, 2, N_ROWS)
PUBLIC = np.arange(N_ROWS) % 2 == 0
"""``(n_rows,)``: every second row is public."""
SOLUTION: dict[str, Any] = {
    "id": IDS,
    "y": TRUTH,
    "Usage": np.where(PUBLIC, "Public", "Private"),
}

MANAGER = PluginManager()
START = datetime(2026, 3, 1, 23, 0, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def settings_of(**keys: Any) -> Settings:
    """Return settings without intervals, which take most of the time of a final board."""
    return Settings.of(**{"metric": "accuracy", "intervals": False, **keys})


@dataclass
class Scenario:
    """A competition in a folder of its own, with the files that are sent to it beside it."""

    root: Path
    solution: dict[str, Any] = field(default_factory=SOLUTION.copy)
    """The columns of ``root / "solution.csv"``."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Keys of every :meth:`create` and :meth:`configure`."""
    clock: Clock = field(default_factory=Clock)
    manager: PluginManager = MANAGER

    @property
    def folder(self) -> Path:
        """The folder of the competition."""
        return self.root / "c"

    @property
    def solution_file(self) -> Path:
        return self.root / "solution.csv"

    def create(self, *, public_share: float | None = None, **keys: Any) -> Competition:
        """Make the competition; the other keys are those of :meth:`arena.Settings.of`."""
        return Competition.create(
            self.folder,
            self.write("solution", self.solution),
            settings_of(**{**self.settings, **keys}),
            public_share=public_share,
            seed=1,
            manager=self.manager,
            clock=self.clock,
        )

    def reopen(self) -> Competition:
        return Competition.open(self.folder, manager=self.manager, clock=self.clock)

    def configure(self, **keys: Any) -> None:
        """Rewrite competition.toml."""
        text = settings_as_toml(settings_of(**{**self.settings, **keys}))
        (self.folder / CONFIG_NAME).write_text(text, encoding="utf-8")

    def write(self, name: str, columns: Mapping[str, Iterable[object]]) -> Path:
        """Write a CSV file."""
        path = self.root / f"{name}.csv"
        write_csv(path, list(columns), list(zip(*columns.values(), strict=True)))
        return path

    def file(self, number: int, right: float = 0.5) -> Path:
        """Write labels that are right on a share of the rows, drawn by the number."""
        wrong = np.random.default_rng(number).random(N_ROWS) >= right
        return self._labels(f"file-{number}-{right}", wrong)

    def file_right_on(self, n_public: int) -> Path:
        """Write labels: right on so many of the 100 public rows, the first, and on all private."""
        return self._labels(f"right-{n_public}", PUBLIC & (np.cumsum(PUBLIC) > n_public))

    def _labels(self, name: str, wrong: np.ndarray) -> Path:
        return self.write(name, {"id": IDS, "y": np.where(wrong, 1 - TRUTH, TRUTH)})

    def history(self, length: int, teams: int = 3) -> list[tuple[Path, str]]:
        """Write files that get better, slowly, each with its team."""
        rng = np.random.default_rng(8)
        return [
            (self.file(number, 0.5 + 0.4 * number / length), f"team {rng.integers(teams)}")
            for number in range(length)
        ]

    def send(self, competition: Competition, *files: tuple[str, int]) -> None:
        """Submit files, each by its team and the number of public rows on which it is right."""
        for team, n_public in files:
            answer = competition.submit(self.file_right_on(n_public), team)
            assert answer.status == "accepted"


def standings(competition: Competition) -> list[tuple[int | None, str, float, int]]:
    """Return rank, team, score and submission of each row of the public board."""
    return [
        (row["rank"], row["team"], row["score"], row["submission"])
        for row in competition.leaderboard()
    ]
