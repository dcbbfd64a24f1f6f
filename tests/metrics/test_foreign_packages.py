"""Metrics in packages: folders without ``__init__.py``, relative imports, files beside the code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from arena_metrics.foreign.family import FAMILIES, ForeignFamily

GRADE = """
from mlebench.grade_helpers import InvalidSubmissionError
from mlebench.utils import get_logger
{more}

def grade(submission, answers):
    if (submission["target"] == "9").any():
        raise InvalidSubmissionError("no nine")
    return {value}
"""
ROWS = np.array(["1", "2"], dtype=object)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder like mle-bench's, whose ``utils`` needs a package that is not installed."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    competitions = tmp_path / "mlebench" / "competitions"
    for name in ("plain-one", "relative-one"):
        (competitions / name).mkdir(parents=True)
    for package in (competitions.parent, competitions):
        (package / "__init__.py").write_text("")
    (competitions / "shared.py").write_text("VALUE = 0.25\n")
    (competitions.parent / "utils.py").write_text("import package_for_downloads\n")
    (competitions.parent / "grade_helpers.py").write_text("from mlebench.utils import import_fn\n")
    absolute = "from mlebench.competitions.shared import VALUE"
    (competitions / "plain-one" / "grade.py").write_text(GRADE.format(more=absolute, value="VALUE"))
    relative = f"{absolute}\nfrom .own import MORE\nfrom ..shared import VALUE as SAME"
    (competitions / "relative-one" / "grade.py").write_text(
        GRADE.format(more=relative, value="VALUE + SAME + MORE")
    )
    (competitions / "relative-one" / "own.py").write_text("MORE = 0.5\n")
    ours = ("mlebench", "arena_metric_")
    # What another test has left: an empty package, in which nothing of this folder is found.
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith(ours)}
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith(ours)]:
        del sys.modules[name]
    sys.modules.update(before)


def family(prefix: str, home: Path) -> ForeignFamily:
    (family_of_prefix,) = (family for family in FAMILIES if family.prefix == prefix)
    return family_of_prefix.within(home)


@pytest.mark.parametrize(
    ("rest", "score"),
    [
        ("mlebench.competitions.plain-one.grade:grade", 0.25),
        ("mlebench/competitions/plain-one/grade.py:grade", 0.25),
        ("mlebench/competitions/relative-one/grade.py:grade", 1.0),
    ],
)
def test_a_grader_runs_where_it_lies(bench: Path, rest: str, score: float) -> None:
    metric = family("mlebench", bench).make(rest, {})
    assert metric.score(ROWS, ROWS) == score


@pytest.mark.parametrize(
    ("scores", "greater"), [("0.9\n0.1", True), ("0.1\n0.9", False), (None, True)]
)
def test_the_direction_is_read_from_the_leaderboard(
    bench: Path, scores: str | None, greater: bool
) -> None:
    folder = bench / "mlebench" / "competitions" / "plain-one"
    text = "version https://git-lfs.github.com/spec/v1" if scores is None else f"score\n{scores}\n"
    (folder / "leaderboard.csv").write_text(text)
    metric = family("mlebench", bench).make(f"{folder / 'grade.py'}:grade", {})
    assert metric.greater_is_better == greater
    reason = "as its leaderboard.csv says" if scores else "is it a Git LFS pointer?"
    assert reason in metric.notes[0]
