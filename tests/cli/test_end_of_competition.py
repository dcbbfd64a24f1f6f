"""``arena finalize``, ``export``, ``verify`` and ``rescore``."""

from __future__ import annotations

import re
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
        assert "finalize first" in called.stderr
    assert arena_there("finalize").returncode == 2


@pytest.mark.slow
def test_finalizing_again_is_the_same(finished: Path, arena_there: Any) -> None:
    first = arena_there("finalize", "--json").stdout
    assert arena_there("finalize", "--json").stdout == first
    board = document(arena_there("leaderboard", "--private", "--json"), "leaderboard")
    assert {row["team"] for row in board["standings"]} == {"one", "two", "=three"}
    output = arena_there("finalize").stdout
    assert "rank interval" in output
    assert "resamples" in arena_there("finalize").stderr  # sixty are few, and that is said


@pytest.mark.slow
def test_an_export_is_verified_with_the_solution(finished: Path, arena_there: Any) -> None:
    assert arena_there("export", finished / "out").returncode == 0
    called = run_here("verify", "out", "solution.csv", cwd=finished)
    assert called.returncode == 0, called.stderr
    assert "Every figure of the board agrees" in called.stdout
    result = finished / "out" / "result.json"
    text = result.read_text()
    result.write_text(text.replace('"team": "two"', '"team": "tow"'))
    called = run_here("verify", "out", "solution.csv", cwd=finished)
    assert called.returncode == 1
    assert "The team tow is not on the recomputed board." in called.stderr
    assert run_here("verify", ".", "solution.csv", cwd=finished).returncode == 1


@pytest.mark.slow
def test_a_rescore_shows_first_and_applies_when_told(finished: Path, arena_there: Any) -> None:
    lines = (finished / "solution.csv").read_text().splitlines()
    flipped = [f"{line[:-1]}{1 - int(line[-1])}" for line in lines[1:]]
    (finished / "flipped.csv").write_text("\n".join([lines[0], *flipped]))
    arguments = ("rescore", "--solution", finished / "flipped.csv")
    preview = document(arena_there(*arguments, "--json"), "rescore")
    assert not preview["applied"]
    assert {row["rank_before"] for row in preview["changes"]} == {1, 2, 3}
    before = arena_there("finalize", "--json").stdout
    called = arena_there(*arguments, "--apply")
    assert called.returncode == 0
    assert "Of 3 teams, 2 change their rank on the private board, and 3 their" in called.stdout
    assert "Labels differ from the stored solution in 40 of 40 rows." in called.stderr
    assert "Usage" not in called.stderr  # the file names none
    assert arena_there("finalize", "--json").stdout != before
    assert document(arena_there("rescore", "--json"), "rescore")["changes"]
    assert "rescored" in arena_there("audit").stdout


def _assert_out_of_date(folder: Path, arena_there: Any, what: str) -> None:
    sentence = f"The private board is older than {what}: finalize again."
    process = arena_there("leaderboard", "--private")
    assert process.returncode == 0
    assert sentence in process.stderr
    refused = arena_there("export", folder / "late")
    assert refused.returncode == 1
    assert sentence in refused.stderr
    assert not (folder / "late").exists()
    assert arena_there("finalize").returncode == 0
    assert "older than" not in arena_there("leaderboard", "--private").stderr


@pytest.mark.slow
def test_a_board_that_is_out_of_date_says_so(finished: Path, arena_there: Any) -> None:
    assert "older than" not in arena_there("leaderboard", "--private").stderr
    assert arena_there("disqualify", 1, "--reason", "two accounts").returncode == 0
    _assert_out_of_date(finished, arena_there, "a change of the submissions that count")
    change(finished / "c", "level = 0.95", "level = 0.9")
    change(finished / "c", "resamples = 60", "resamples = 50")
    setting = "the change of analysis.level, analysis.resamples in competition.toml"
    _assert_out_of_date(finished, arena_there, setting)
    change(finished / "c", "level = 0.9", "level = 0.8")
    assert "older than" in arena_there("leaderboard", "--private").stderr
    change(finished / "c", "level = 0.8", "level = 0.9")
    assert "older than" not in arena_there("leaderboard", "--private").stderr
    assert arena_there("rescore", "--apply").stderr == "Applied.\n"
    assert "older than" not in arena_there("leaderboard", "--private").stderr
    corrected = finished / "solution.csv"
    corrected.write_text(corrected.read_text().replace(",0", ",1", 1))
    applied = arena_there("rescore", "--apply", "--solution", corrected)
    assert applied.stderr.endswith("Run arena finalize to compute the private board again.\n")
    _assert_out_of_date(finished, arena_there, "the last rescore")
    assert arena_there("export", finished / "out").returncode == 0


@pytest.mark.slow
def test_without_a_board_nothing_is_out_of_date(here: Path, arena_there: Any) -> None:
    assert arena_there("submit", here / "files" / "a.csv", "-t", "a").returncode == 0
    assert "arena finalize" not in arena_there("rescore", "--apply").stderr


@pytest.mark.slow
def test_a_rescore_shows_scores_and_says_what_it_ignores(finished: Path, arena_there: Any) -> None:
    lines = (finished / "solution.csv").read_text().splitlines()[1:]
    usages = ["Public", "Private"] * 20
    new = [f"{line},{usage}" for line, usage in zip(reversed(lines), usages, strict=True)]
    (finished / "new.csv").write_text("\n".join(["id,y,Usage", *new]))
    called = arena_there("rescore", "--solution", finished / "new.csv")
    assert called.returncode == 0, called.stderr
    assert "Labels differ from the stored solution in 0 of 40 rows" in called.stderr
    notice = re.search(
        r"Usage differs in (\d+) rows and is ignored: the split is not changed", called.stderr
    )
    assert notice
    assert 0 < int(notice[1]) < 40
    assert "Of 3 teams, 0 change their rank on the private board, and 0 their" in called.stdout
    change(finished / "c", '"roc_auc"', '"average_precision"')
    called = arena_there("rescore")
    assert "and 3 their score." in called.stdout
    assert all(f" {team} " in called.stdout for team in ("one", "two", "=three"))
