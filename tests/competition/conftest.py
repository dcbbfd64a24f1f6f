"""What a small competition is made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from program import write_csv
from small_competition import N_ROWS, Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def solution(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    rows = [(f"r{i}", int(rng.random() < 0.5)) for i in range(N_ROWS)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], rows)
    return tmp_path / "solution.csv"
