"""Keeps all that the readers read in a test, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arena.errors import ArenaError
from arena.interfaces import CaseScores
from arena_readers import provide_case_readers
from kept_answers import Answers, answers, kept_answers

__all__ = ["answers", "kept_answers"]


@pytest.fixture(autouse=True)
def _every_reader(monkeypatch: pytest.MonkeyPatch, answers: Answers) -> None:
    for reader in provide_case_readers():
        kind = type(reader)

        def read(
            self: object, path: Path, value: str | None, of_kind: Any = kind.read
        ) -> list[CaseScores]:
            try:
                parts = list(of_kind(self, path, value))
            except ArenaError as error:
                answers.append([str(error)])
                raise
            answers.append([line for part in parts for line in lines_of(part)])
            return parts

        monkeypatch.setattr(kind, "read", read)


def lines_of(part: CaseScores) -> list[str]:
    """Return all values of a part, one a line, and what is said of them."""
    columns = [part.algorithms, part.tasks, part.clusters, part.cases, part.repeats]
    rows = zip(*(column or [""] * len(part.values) for column in columns), strict=True)
    values = [
        " | ".join((*map(str, row), f"{value:.9g}"))
        for row, value in zip(rows, part.values.tolist(), strict=True)
    ]
    form = f"{part.metric}, {part.greater_is_better}, {part.kind}, {part.value_range}"
    if len(values) > 20:
        values = [*values[:10], f"and {len(values) - 20} more", *values[-10:]]
    return [form, *part.notes, *values]
