"""What reading answers in each test of a module, kept as a whole beside the tests.

A test looks at one fault, or at one part of it. The kept file has every fault of every file that
the default tests read, with its line, id, column and sentence, so that all of it is compared.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.intake import ReadSubmission
from arena.interfaces.faults import describe
from arena.types import Fault, Solution
from kept import FOLDER

_MOST_FAULTS = 12
"""Of one file that are kept; of further ones their number."""


class KeptAnswers:
    """The answers in the tests of one module, by test."""

    def __init__(self, module: str) -> None:
        self._path = FOLDER / "intake" / f"{module}.json"
        self._kept: dict[str, list[list[str]]] = (
            json.loads(self._path.read_text(encoding="utf-8")) if self._path.exists() else {}
        )
        self._read: dict[str, list[list[str]]] = {}

    def check(self, test: str, answers: list[list[str]]) -> None:
        """Compare the answers in a test with the kept ones."""
        if os.environ.get("ARENA_KEEP"):
            self._read |= {test: answers} if answers else {}
        else:
            kept = self._kept.get(test, [])
            assert answers == kept, (
                f"ARENA_KEEP=1 pytest writes tests/kept/intake/{self._path.name}."
            )

    def write(self) -> None:
        """Write what the tests read, if that is asked for."""
        if self._read:
            self._path.parent.mkdir(exist_ok=True)
            text = json.dumps(self._read, indent=0, ensure_ascii=False, sort_keys=True)
            self._path.write_text(f"{text}\n", encoding="utf-8")


@pytest.fixture(scope="module")
def _kept_answers(request: pytest.FixtureRequest) -> Iterator[KeptAnswers]:
    answers = KeptAnswers(request.path.stem)
    yield answers
    answers.write()


@pytest.fixture(autouse=True)
def answers(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    _kept_answers: KeptAnswers,
) -> Iterator[list[list[str]]]:
    """Compare the answer to each file that a default test reads in its process."""
    if hasattr(request.function, "hypothesis") or request.node.get_closest_marker("slow"):
        yield []
        return
    from arena.intake import submission

    read: list[list[str]] = []
    answer = submission._answer

    def kept(*arguments: Any) -> ReadSubmission:
        of_file = answer(*arguments)
        read.append(lines_of_submission(of_file))
        return of_file

    monkeypatch.setattr(submission, "_answer", kept)
    yield read
    folder = re.compile(re.escape(str(tmp_path)))
    _kept_answers.check(request.node.name, [[folder.sub("", line) for line in one] for one in read])


def lines_of_submission(read: ReadSubmission) -> list[str]:
    """Return the faults of a submission, or the shape of its values."""
    if read.values is None:
        more = len(read.faults) - _MOST_FAULTS
        lines = [_line_of(fault) for fault in read.faults[:_MOST_FAULTS]]
        return [*lines, *([f"and {more} more"] if more > 0 else [])]
    return [f"{read.values.dtype} {read.values.shape}"]


def _line_of(fault: Fault) -> str:
    if fault.kind == "unreadable file":  # the words of a library
        return fault.kind
    times = f" ({fault.count} times)" if fault.count > 1 else ""
    cause = f" [{fault.cause}]" if fault.cause else ""
    return f"{fault.kind}{times}: {describe(fault)}{cause}"


def lines_of_solution(solution: Solution) -> list[str]:
    """Return as what a solution was read."""
    parts = {
        "kind": solution.kind.name,
        "columns": solution.columns,
        "targets": solution.targets,
        "usage": solution.usage.tolist(),
        "row_sets": solution.row_sets,
        "truth": solution.truth.tolist(),
        "clusters": None if solution.clusters is None else solution.clusters.tolist(),
        "tasks": solution.task_names,
        "extra": {name: values.tolist() for name, values in solution.extra.items()},
        "pending": solution.pending.tolist(),
    }
    return [f"{name}: {value}"[:300] for name, value in parts.items()]
