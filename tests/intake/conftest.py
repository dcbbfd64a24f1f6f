"""A small solution and a way to send files against it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arena.intake import ReadSubmission, SubmissionForm, parse_submission, read_solution
from arena.types import MetricTraits, PredictionKind, Solution, SolutionColumns
from submission_files import N_ROWS, Send, Solve


@pytest.fixture
def solve(tmp_path: Path) -> Solve:
    """Write a solution file and read it."""

    def write(
        content: str | bytes,
        kind: PredictionKind,
        traits: MetricTraits = MetricTraits(),  # noqa: B008 - frozen
        **columns: Any,
    ) -> Solution:
        path = tmp_path / "solution.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_solution(path, kind=kind, columns=SolutionColumns(**columns), traits=traits)

    return write


@pytest.fixture
def binary(solve: Solve) -> Solution:
    """Ids ``000`` to ``029``, target ``y`` of 0 and 1."""
    rows = "".join(f"{i:03d},{i % 2}\n" for i in range(N_ROWS))
    return solve(f"id,y\n{rows}", PredictionKind.PROBABILITY)


@pytest.fixture
def send(tmp_path: Path, binary: Solution) -> Send:
    """Write a submission file and read it, by default against ``binary``."""

    def write(
        content: str | bytes, solution: Solution | None = None, name: str = "t.csv", **options: Any
    ) -> ReadSubmission:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        read = parse_submission(path, SubmissionForm.of(solution or binary, **options))
        assert (read.values is None) == bool(read.faults)
        return read

    return write
