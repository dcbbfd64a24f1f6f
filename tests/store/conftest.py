"""A small solution, and a store that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from arena.store import Store
from arena.types import PredictionKind, Solution, Target, Usage


@pytest.fixture
def solution() -> Solution:
    """Five rows of three classes, in every usage, with clusters."""
    return Solution(
        id_column="key",
        targets=(Target("y", ("cat", "dog", "é")),),
        columns=("cat", "dog", "é"),
        kind=PredictionKind.CLASS_PROBABILITIES,
        ids=pa.array(["007", "7", "a b", "ü", "\U0001f600"]),
        truth=np.array([0, 2, 1, 0, 0]),
        usage=np.array([Usage.PUBLIC, Usage.PRIVATE, 1, 1, Usage.IGNORED], dtype=np.uint8),
        sha256="ab" * 32,
        clusters=np.array([0, 0, 1, 2, 2]),
    )


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Where the store of a test stands."""
    return tmp_path / "competition.duckdb"


@pytest.fixture
def store(database: Path, solution: Solution) -> Iterator[Store]:
    """An open store with the solution in it."""
    with Store.open(database) as opened:
        opened.put_solution(solution)
        yield opened
