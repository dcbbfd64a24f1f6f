"""A small solution that hostile files are read against."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from arena.intake import ReadSubmission, read_solution, read_submission
from arena.types import PredictionKind, Solution
from submission_files import N_ROWS


@pytest.fixture(scope="session")
def solution(tmp_path_factory: pytest.TempPathFactory) -> Solution:
    """Ids ``000`` to ``029``, target ``y`` of 0 and 1."""
    path = tmp_path_factory.mktemp("solution") / "solution.csv"
    path.write_text("id,y\n" + "".join(f"{i:03d},{i % 2}\n" for i in range(N_ROWS)))
    return read_solution(path, kind=PredictionKind.PROBABILITY)


@pytest.fixture
def read(tmp_path: Path, solution: Solution) -> Callable[[bytes], ReadSubmission]:
    """Read bytes as a submission, in the process that participants' files are read in."""

    def run(content: bytes) -> ReadSubmission:
        path = tmp_path / "team.bin"
        path.write_bytes(content)
        return read_submission(path, solution)

    return run
