"""``arena finalize``, ``export``, ``verify`` and ``rescore``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from competition_folder import change, document, write_file
from program import run_here


@pytest.fixture
def finished(here: Path, arena_there: Any) -> Path:
    """Return a competition with three teams, finalized."""
    change(here / "c", "resamples = 1000", "resamples = 60")
    for number, team in enumerate(["one", "two", "=three"], start=1):
        write_file(here / f"{number}.csv", number)
        called = arena_there("submit", here / f"{number}.csv", "--team", team)
        assert called.returncode == 0, called.stderr
    document(arena_there("finalize", "--json"), "score")
    return here


def test_the_private_board_needs_an_end(here: Path, arena_there: Any) -> None:
    for arguments in (("leaderboard", "--private"), ("export", here / "out")):
        called = arena_there(*arguments)
        assert called.returncode == 2
        assert "arena finalize first" in called.stderr
    assert arena_there("finalize").returncode == 2


def test_finalizing_again_is_the_same(finished: Path, arena_there: Any) -> None:
    first = arena_there("finalize", "--json").stdout
    assert arena_there("finalize", "--json").stdout == first
    board = document(arena_there("leaderboard", "--private", "--json"), "leaderboard")
    assert {row["team"] for row in board["standings"]} == {"one", "two", "=three"}
    shown = arena_there("finalize").stdout
    assert "rank interval" in shown
    assert "resamples" in arena_there("finalize").stderr  # sixty are few, and that is said


def test_an_export_is_verified_by_whoever_has_the_solution(
    finished: Path, arena_there: Any
) -> None:
    assert arena_there("export", finished / "out").returncode == 0
    called = run_here("verify", "out", "solution.csv", cwd=finished)
    assert called.returncode == 0, called.stderr
    assert "Every figure of the board agrees" in called.stdout
    result = finished / "out" / "result.json"
    text = result.read_text()
    result.write_text(text.replace('"team": "two"', '"team": "tow"'))
    called = run_here("verify", "out", "solution.csv", cwd=finished)
    assert called.returncode == 1
    assert "The team tow does not stand on the board judged again." in called.stderr
    assert run_here("verify", ".", "solution.csv", cwd=finished).returncode == 1


def test_a_rescore_shows_first_and_applies_when_told(finished: Path, arena_there: Any) -> None:
    lines = (finished / "solution.csv").read_text().splitlines()
    flipped = [f"{line[:-1]}{1 - int(line[-1])}" for line in lines[1:]]
    (finished / "flipped.csv").write_text("\n".join([lines[0], *flipped]))
    arguments = ("rescore", "--solution", finished / "flipped.csv")
    shown = document(arena_there(*arguments, "--json"), "rescore")
    assert not shown["applied"]
    assert {row["rank_before"] for row in shown["changes"]} == {1, 2, 3}
    before = arena_there("finalize", "--json").stdout
    called = arena_there(*arguments, "--apply")
    assert called.returncode == 0
    assert "change their rank" in called.stdout
    assert arena_there("finalize", "--json").stdout != before
    assert document(arena_there("rescore", "--json"), "rescore")["changes"]
    assert "rescored" in arena_there("audit").stdout
