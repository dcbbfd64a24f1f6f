"""What arena answers in each test of a module, kept as a whole beside the tests.

A test looks at one fault, or at one part of an answer. The kept file has all of it, so that every
number and sentence is compared. A ``conftest.py`` imports both fixtures, and adds to ``answers``.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.errors import ArenaError
from kept import FOLDER

Answers = list[list[str]]
"""The lines of each answer in a test."""


class KeptAnswers:
    """The answers in the tests of one module, by test."""

    def __init__(self, folder: str, module: str) -> None:
        self._path = FOLDER / folder / f"{module}.json"
        self._kept: dict[str, Answers] = (
            json.loads(self._path.read_text(encoding="utf-8")) if self._path.exists() else {}
        )
        self._given: dict[str, Answers] = {}

    def check(self, test: str, answers: Answers) -> None:
        """Compare the answers in a test with the kept ones."""
        if os.environ.get("ARENA_KEEP"):
            self._given |= {test: answers} if answers else {}
        else:
            how = f"ARENA_KEEP=1 pytest writes {self._path.relative_to(FOLDER.parents[1])}."
            assert answers == self._kept.get(test, []), how

    def write(self) -> None:
        """Write the answers, if that is asked for."""
        if self._given:
            self._path.parent.mkdir(exist_ok=True)
            text = json.dumps(self._given, indent=0, ensure_ascii=False, sort_keys=True)
            self._path.write_text(f"{text}\n", encoding="utf-8")


@pytest.fixture(scope="module")
def kept_answers(request: pytest.FixtureRequest) -> Iterator[KeptAnswers]:
    """Write what the tests of a module were answered, if that is asked for."""
    answers_kept = KeptAnswers(request.path.parent.name, request.path.stem)
    yield answers_kept
    answers_kept.write()


@pytest.fixture
def answers(
    request: pytest.FixtureRequest, tmp_path: Path, kept_answers: KeptAnswers
) -> Iterator[Answers]:
    """Compare what a default test is answered; nothing is kept of random and of slow tests."""
    calls: Answers = []
    yield calls
    left_out = any(map(request.node.get_closest_marker, ("slow", "campaign")))
    if left_out or hasattr(request.function, "hypothesis"):
        return
    folders = "|".join(re.escape(str(path)) for path in (tmp_path, request.path.parent))
    any_folder = rf"{folders}|{re.escape(tempfile.gettempdir())}/[\w-]+"
    texts = [[re.sub(any_folder, "", line) for line in answer] for answer in calls]
    kept_answers.check(request.node.name, texts)


@pytest.fixture
def kept_errors(monkeypatch: pytest.MonkeyPatch, answers: Answers) -> None:
    """Keep the sentence of every error of arena that a test meets in its process."""
    initialize = ArenaError.__init__

    def keep(error: ArenaError, *arguments: Any) -> None:
        answers.append([f"{type(error).__name__}: {' '.join(map(str, arguments))}"])
        initialize(error, *arguments)

    monkeypatch.setattr(ArenaError, "__init__", keep)
