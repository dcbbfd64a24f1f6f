"""One small simulated competition: what it prints and what it stores fit together."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from arena.cli.commands import simulate_competition
from arena.cli.reporting import show_report
from arena.competition.competition import Competition
from arena.utils.tabular import as_json
from kept import check_kept, check_kept_document, masked
from page_text import charts_of, lines_of
from program import run_here

PUBLIC, PRIVATE = 18, 42
"""Of 60 rows, 30% and 70%."""
OPTIONS = (
    "--teams", 3, "--days", 1, "--per-day", 1, "--rows", PUBLIC + PRIVATE, "--train-rows", 60,
    "--validation-rows", 30, "--workers", 1, "--kinds", "boosting=2, copycat=1",
    "--mechanism", "full, kaggle(rounding=0.1)",
)  # fmt: skip


def run(folder: Path, *more: object) -> str:
    done = run_here("simulate", "competition", "made", *OPTIONS, *more, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_page_of_a_rehearsal_is_the_kept_one(tmp_path: Path) -> None:
    run(tmp_path, "--report", "made.html")
    page = (tmp_path / "made.html").read_text(encoding="utf-8")
    check_kept("rehearsal.txt", masked(lines_of(page)))
    check_kept_document("rehearsal-charts", charts_of(page))


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Keep what the command would print without ``--json``."""
    documents: list[Any] = []

    def show(output: Any, document: Any, page: Any, shown: Any) -> None:
        documents.append(as_json(asdict(shown())))
        show_report(output, document, page, shown)

    monkeypatch.setattr(simulate_competition, "show_report", show)
    return documents


def test_two_mechanisms_on_the_same_rows(tmp_path: Path, reports: list[Any]) -> None:
    document = json.loads(run(tmp_path, "--json"))
    check_kept_document("rehearsal", document)
    check_kept_document("rehearsal-report", reports)
    assert (document["teams"], document["days"], document["metric"]) == (3, 1, "accuracy")
    assert [(kind["competitor"], kind["teams"]) for kind in document["kinds"]] == [
        ("boosting", 2), ("copycat", 1),
    ]  # fmt: skip
    exact, rounded = document["mechanisms"]
    assert (exact["submissions"], exact["turned_away"], exact["truth"]) == (3, 0, "exact")
    for one in (exact, rounded):
        standings = one["standings"]
        scores = [row["score"] for row in standings]
        assert scores == sorted(scores, reverse=True)
        for row in standings:
            assert row["rank"] == 1 + sum(score > row["score"] for score in scores)
            assert row["rank_low"] <= row["rank"] <= row["rank_high"]
            assert row["score"] * PRIVATE == pytest.approx(round(row["score"] * PRIVATE))
            assert row["public_score"] * PUBLIC == pytest.approx(
                round(row["public_score"] * PUBLIC)
            )
            truths = [other["true_score"] for other in standings]
            assert row["true_rank"] == 1 + sum(value > row["true_score"] for value in truths)
        assert one["winner"] == standings[0]["team"]
        assert one["best"] == max(standings, key=lambda row: row["true_score"])["team"]
        # One day: the error is that of the top score shown against the best true score.
        best_shown = max(row["shown"] for row in standings)
        error = abs(best_shown - max(row["true_score"] for row in standings))
        assert one["leaderboard_error"] == pytest.approx(error)
        assert one["days"][0]["shown_best"] == pytest.approx(best_shown)
    assert [row["shown"] for row in exact["standings"]] == [
        row["public_score"] for row in exact["standings"]
    ]
    assert [row["shown"] for row in rounded["standings"]] == pytest.approx(
        [round(row["public_score"], 1) for row in exact["standings"]]
    )
    # The two attackers flip no row at first: their files are the same, and named as copies.
    pair = {f"simulated 0{number} boosting" for number in (1, 2)}
    flags = {(flag["team"], *flag["others"]) for flag in exact["flags"]}
    assert {flag for flag in flags if set(flag) == pair}

    folders = [tmp_path / mechanism["folder"] for mechanism in document["mechanisms"]]
    for folder, mechanism in zip(folders, document["mechanisms"], strict=True):
        with Competition.open(folder) as competition:
            released = {row["team"]: row["released"] for row in competition.submissions()}
        assert released.pop("simulated baseline") == pytest.approx(
            max(row["shown"] for row in mechanism["standings"])  # which the copycat sent again
        )
        assert released == {
            row["team"]: pytest.approx(row["shown"]) for row in mechanism["standings"]
        }


@pytest.mark.slow
def test_what_is_finished_is_read_and_printed(tmp_path: Path) -> None:
    document = json.loads(run(tmp_path, "--json"))
    printed = run(tmp_path)
    for row in document["mechanisms"][0]["standings"]:
        assert row["team"] in printed
        assert f"{row['score']:.4f}" in printed
    for words in ("under full", "under kaggle", "Mechanisms compared", "constant prediction"):
        assert words in printed, words


def test_drawn_teams_that_come_like_those_of_past_boards(
    tmp_path: Path, reports: list[Any]
) -> None:
    done = run_here(
        "simulate", "competition", "drawn", "--rows", 60, "--train-rows", 30, "--validation-rows",
        20, "--per-day", 2, "--workers", 1, "--drawn", "--teams", 6, "--days", 2, "--like",
        "typical", "--mechanism", "full", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document, sentence = json.loads(done.stdout), done.stderr.splitlines()[0]
    check_kept_document("rehearsal-drawn", {"said": sentence, "done": document, "report": reports})
    (mechanism,) = document["mechanisms"]
    # Six teams, of which none sends more than two files on each of two days.
    counts = [row["submissions"] for row in mechanism["standings"]]
    assert (len(counts), sum(counts)) == (6, mechanism["submissions"])
    assert max(counts) <= 4
