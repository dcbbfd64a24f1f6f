"""A small solution and a way to send files against it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arena.errors import InputError
from arena.intake import (
    ReadSubmission,
    SubmissionForm,
    parse_submission,
    read_solution,
    submission,
)
from arena.types import MetricTraits, PredictionKind, Solution, SolutionColumns
from kept_answers import Answers, answers, kept_answers
from read_answers import lines_of_solution, lines_of_submission
from submission_files import N_ROWS, Send, Solve

__all__ = ["answers", "kept_answers"]


@pytest.fixture(autouse=True)
def _every_file(monkeypatch: pytest.MonkeyPatch, answers: Answers) -> None:
    """Keep the answer to every file that a test reads in its process."""
    answer = submission.read_or_faults

    def kept(*arguments: Any) -> ReadSubmission:
        read = answer(*arguments)
        answers.append(lines_of_submission(read))
        return read

    monkeypatch.setattr(submission, "read_or_faults", kept)


@pytest.fixture
def solve(tmp_path: Path, answers: Answers) -> Solve:
    """Write a solution file and read it."""

    def write(
        content: str | bytes,
        kind: PredictionKind,
        traits: MetricTraits = MetricTraits(),  # noqa: B008 - frozen
        **columns: Any,
    ) -> Solution:
        path = tmp_path / "solution.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        try:
            solution = read_solution(
                path, kind=kind, columns=SolutionColumns(**columns), traits=traits
            )
        except InputError as error:
            answers.append(str(error).splitlines())
            raise
        answers.append(lines_of_solution(solution))
        return solution

    return write


@pytest.fixture
def binary(tmp_path: Path) -> Solution:
    """Ids ``000`` to ``029``, target ``y`` of 0 and 1."""
    path = tmp_path / "solution.csv"
    path.write_text("id,y\n" + "".join(f"{i:03d},{i % 2}\n" for i in range(N_ROWS)))
    return read_solution(path, kind=PredictionKind.PROBABILITY)


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
