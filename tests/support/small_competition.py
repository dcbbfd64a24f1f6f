"""A competition of sixty rows with a clock that stands still."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from arena.competition.competition import Competition
from arena.config import Settings
from program import write_csv

N_ROWS = 60
START = datetime(2026, 3, 1, 23, 0, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def made(tmp_path: Path, solution: Path, clock: Clock, **sections: Any) -> Competition:
    few = {"metric": {"name": "roc_auc"}, "analysis": {"intervals": False}}
    settings = Settings.model_validate({**few, **sections})
    return Competition.create(
        tmp_path / "c", solution, settings, public_share=0.5, seed=1, clock=clock
    )


def file_of(tmp_path: Path, number: int) -> Path:
    rng = np.random.default_rng(number)
    path = tmp_path / f"file-{number}.csv"
    write_csv(path, ["id", "y"], [(f"r{i}", repr(float(rng.random()))) for i in range(N_ROWS)])
    return path
