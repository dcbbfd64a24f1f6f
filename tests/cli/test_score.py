"""``arena score`` and ``arena validate`` through the real entry point."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import roc_auc_score

from kept import check_kept_document
from program import killed_in_the_end, run_here, start_program, write_csv
from schemas import check_document, schema

QUICK = ("--resamples", "200")
SCORE = ("score", "solution.csv", "submissions", "--metric", "roc_auc", *QUICK)


def check(document: Any, name: str) -> None:
    """Hold a document to its schema, and the schema to the document."""
    check_document(document, name)
    of_a_competition = {"unranked", "brackets", "n_pending"}
    assert set(document) == set(schema(name)["properties"]) - of_a_competition


@pytest.mark.slow
def test_the_document_is_what_the_schema_says(scored: Any) -> None:
    _, document = scored
    check(document, "score")
    described = set(schema("score")["$defs"]["standing"]["properties"])
    for standing in document["standings"]:
        assert set(standing) == described
        assert None not in standing.values()
    assert document["schema"] == "arena/score/2"
    assert document["metric"] == "roc_auc"
    assert document["positive"] == "yes"
    assert document["resamples"] == 200
    assert document["seed"] == 0


def test_the_board_is_in_order_and_its_scores_are_scikit_learns(scored: Any) -> None:
    competition, document = scored
    check_kept_document("score", document)
    import pandas as pd

    solution = pd.read_csv(competition / "solution.csv").set_index("id")
    standings = document["standings"]
    assert [row["rank"] for row in standings] == [1, 2, 3, 4, 5]
    assert standings[0]["team"] == "best"
    for row in standings:
        submission = pd.read_csv(competition / "submissions" / row["file"]).set_index("id")
        for usage, score in (("Private", row["score"]), ("Public", row["public_score"])):
            rows = solution.index[solution["Usage"] == usage]
            truth = solution.loc[rows, "outcome"] == "yes"
            assert score == pytest.approx(
                roc_auc_score(truth, submission.loc[rows, "outcome"]), abs=1e-11
            )
        assert row["score_low"] < row["score"] < row["score_high"]
        assert row["rank_low"] <= row["rank"] <= row["rank_high"]
    assert document["n_rows"] == (solution["Usage"] == "Private").sum()
    assert sum(row["prize_share"] for row in standings) == pytest.approx(1)
    best = document["best_score_corrected"]
    assert best["low"] < best["estimate"] < best["high"]


def test_a_rejected_file_is_reported_with_every_fault(scored: Any) -> None:
    _, document = scored
    (rejected,) = document["rejected"]
    assert rejected["file"] == "broken/try 1.csv"
    kinds = {fault["kind"] for fault in rejected["faults"]}
    assert len(kinds) >= 2
    missing = {fault["id"] for fault in rejected["faults"]}
    assert {"r298", "r299"} <= missing


@pytest.mark.slow
def test_the_table_for_people(
    arena_here: Any, competition: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    called = arena_here(*SCORE)
    assert called.returncode == 0
    for text in ("best", "rank interval", "tier", "Rejected: broken/try 1.csv", "Corrected"):
        assert text in called.stdout
    assert "\x1b" not in called.stdout
    document = json.loads(arena_here(*SCORE, "--json").stdout)
    possible = [row["team"] for row in document["standings"] if row["possible_winner"]]
    assert 0 < len(possible) < len(document["standings"])
    marked = re.findall(r"^ +\*\d+ +(\S+)", called.stdout, re.MULTILINE)
    assert marked == possible
    assert "* may truly be the best." in called.stdout


@pytest.mark.slow
def test_strict_and_nothing_to_rank_exit_with_one(arena_here: Any, competition: Path) -> None:
    assert arena_here(*SCORE, "--strict").returncode == 1
    shutil.copytree(competition / "submissions" / "broken", competition / "only" / "broken")
    called = arena_here("score", "solution.csv", "only", "--metric", "roc_auc", "--json")
    assert called.returncode == 1
    document = json.loads(called.stdout)
    check(document, "score")
    assert document["standings"] == []
    assert "every file was rejected" in called.stderr


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_on_any_number_of_workers(
    arena_here: Any, competition: Path
) -> None:
    by_one = arena_here(*SCORE, "--json", "--workers", 1, "--seed", 7).stdout
    by_two = arena_here(*SCORE, "--json", "--workers", 2, "--seed", 7).stdout
    assert by_one == by_two
    assert json.loads(by_one)["seed"] == 7
    other = arena_here(*SCORE, "--json", "--seed", 8).stdout
    assert json.loads(other)["standings"] != json.loads(by_one)["standings"]


@pytest.mark.slow
def test_options_reach_the_result(arena_here: Any, competition: Path) -> None:
    called = arena_here(*SCORE, "--json", "--split", "all", "--positive", "no", "--level", "0.8",
                   "--no-stratify")  # fmt: skip
    document = json.loads(called.stdout)
    assert document["positive"] == "no"
    assert document["n_rows"] == 295
    assert document["level"] == 0.8
    assert document["standings"][0]["score"] < 0.6  # every team's score now points the wrong way


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--level", "1.5"), 2, "between 0 and 1"),
        (("--resamples", "0"), 2, "resamples"),
        (("--split", "secret"), 2, "private, public or all"),
        (("--seed", "-1"), 2, "seed"),
        (("--workers", "-1"), 2, "workers"),
        (("--stratify", "--cluster", "outcome"), 2, "not both"),
        (("--target", "nothing"), 1, "nothing"),
        (("--id", "nothing"), 1, "nothing"),
        (("--cluster", "nothing"), 1, "nothing"),
        (("--positive", "maybe"), 1, "maybe"),
    ],
)
def test_wrong_options_are_one_line(
    arena_here: Any, competition: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    called = arena_here(*SCORE, "--json", *arguments)
    assert called.returncode == code
    assert called.stdout == ""
    assert message in called.stderr
    assert "Traceback" not in called.stderr


def test_missing_files_are_one_line(arena_here: Any, competition: Path) -> None:
    for arguments in (
        ("score", "absent.csv", "submissions", "--metric", "roc_auc"),
        ("score", "solution.csv", "absent", "--metric", "roc_auc"),
    ):
        called = arena_here(*arguments)
        assert called.returncode == 1
        assert "absent" in called.stderr
        assert len(called.stderr.splitlines()) == 1


def test_validate_reports_and_stores_nothing(arena_here: Any, competition: Path) -> None:
    before = sorted(competition.rglob("*"))
    called = arena_here("validate", "solution.csv", "submissions", "--metric", "roc_auc", "--json")
    assert called.returncode == 1
    document = json.loads(called.stdout)
    check(document, "validate")
    assert len(document["accepted"]) == 5
    assert [file["file"] for file in document["rejected"]] == ["broken/try 1.csv"]
    assert sorted(competition.rglob("*")) == before
    printed = arena_here("validate", "solution.csv", "submissions", "--metric", "roc_auc")
    assert printed.returncode == 1
    assert "5 valid, 1 rejected" in printed.stdout
    valid = arena_here("validate", "solution.csv", "submissions/best.csv", "--metric", "roc_auc")
    assert valid.returncode == 0


@pytest.mark.parametrize("command", ["plugins", "metrics"])
def test_other_documents_are_what_their_schemas_say(arena_here: Any, command: str) -> None:
    check(json.loads(arena_here(command, "--json").stdout), command)


# -- the database --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_database_is_kept_private_and_scoring_again_takes_nothing_twice(
    arena_here: Any, competition: Path
) -> None:
    first = arena_here(*SCORE, "--json", "--db", "kept.duckdb")
    assert stat.S_IMODE((competition / "kept.duckdb").stat().st_mode) == 0o600
    again = arena_here(*SCORE, "--json", "--db", "kept.duckdb")
    assert again.stdout == first.stdout


@pytest.mark.slow
def test_a_database_of_another_solution_is_refused(arena_here: Any, competition: Path) -> None:
    arena_here(*SCORE, "--db", "kept.duckdb")
    text = (competition / "solution.csv").read_text()
    (competition / "solution.csv").write_text(text.replace("r299", "r300"))
    called = arena_here(*SCORE, "--db", "kept.duckdb")
    assert called.returncode == 1
    assert len(called.stderr.splitlines()) == 1


def test_a_file_that_is_no_database_is_refused(arena_here: Any, competition: Path) -> None:
    (competition / "notes.duckdb").write_text("just text " * 1000)
    called = arena_here(*SCORE, "--json", "--db", "notes.duckdb")
    assert called.returncode == 1
    assert called.stdout == ""
    assert len(called.stderr.splitlines()) == 1
    assert (competition / "notes.duckdb").read_text().startswith("just text")


@pytest.mark.slow
def test_a_held_database_names_its_holder(arena: Any, arena_here: Any, competition: Path) -> None:
    import duckdb

    assert arena_here(*SCORE, "--db", "kept.duckdb").returncode == 0
    with duckdb.connect(str(competition / "kept.duckdb")):
        called = arena(*SCORE, "--db", "kept.duckdb")
    assert called.returncode == 1
    assert str(os.getpid()) in called.stderr
    assert len(called.stderr.splitlines()) == 1


@pytest.mark.slow
def test_interrupting_leaves_one_line_and_a_whole_database(
    arena_here: Any, competition: Path
) -> None:
    command = (*SCORE[:-1], "300000", "--db", "kept.duckdb")
    with killed_in_the_end(start_program(*command, cwd=competition)) as process:
        journal = competition / "kept.duckdb.journal"  # of submissions that are stored
        deadline = time.monotonic() + 600
        while not (journal.exists() and journal.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=900)
    assert process.returncode == 130
    lines = [line for line in stderr.splitlines() if not line.endswith("…")]  # progress
    assert lines == ["arena: Interrupted. Data stored before are intact."]
    assert arena_here(*SCORE, "--db", "kept.duckdb").returncode == 0


# -- teams ---------------------------------------------------------------------------------------


def test_the_last_valid_file_of_a_team_counts(arena_here: Any, competition: Path) -> None:
    folder = competition / "submissions"
    (folder / "twice").mkdir()
    shutil.copy(folder / "weak.csv", folder / "twice" / "1.csv")
    shutil.copy(folder / "good.csv", folder / "twice" / "2.csv")
    (folder / "twice" / "3.csv").write_text("id,outcome\n")
    called = arena_here(*SCORE, "--json")
    document = json.loads(called.stdout)
    by_team = {row["team"]: row for row in document["standings"]}
    assert by_team["twice"]["file"] == "twice/2.csv"
    assert by_team["twice"]["score"] == by_team["good"]["score"]
    assert by_team["twice"]["rank"] == by_team["good"]["rank"]
    assert "twice has 2 valid files" in called.stderr
    assert len(document["rejected"]) == 2


@pytest.mark.slow
def test_names_of_teams_are_shown_harmlessly(
    arena_here: Any, competition: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    folder = competition / "submissions"
    names = ["[red]markup[bold]", "right\u202eleft", "<b>bold", "=1+1", "\U0001f600" * 100]
    for name in names:
        (folder / name[:60]).mkdir()
        shutil.copy(folder / "weak.csv", folder / name[:60] / "file.csv")
    called = arena_here(*SCORE)
    assert called.returncode == 0
    assert "[red]markup[bold]" in called.stdout
    assert "\u202e" not in called.stdout + called.stderr
    document = json.loads(arena_here(*SCORE, "--json").stdout)
    assert set(names[:4]) <= {row["team"] for row in document["standings"]}


@pytest.mark.slow
def test_no_label_of_the_solution_is_ever_shown(arena_here: Any, tmp_path: Path) -> None:
    labels = [f"{row * 7919 % 100003}.{row:04d}77" for row in range(1, 41)]
    ids = [f"i{row}" for row in range(40)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], list(zip(ids, labels, strict=True)))
    write_csv(tmp_path / "s" / "a.csv", ["id", "y"], [(i, row) for row, i in enumerate(ids)])
    write_csv(tmp_path / "s" / "b.csv", ["id", "y"], [(i, "x") for i in ids[3:]])
    write_csv(tmp_path / "s" / "c.csv", ["id", "z"], [(i, 1) for i in [*ids, "i3"]])
    output = ""
    for command in ("score", "validate"):
        for extra in ((), ("--json",), ("--verbose",)):
            called = arena_here(command, "solution.csv", "s", "--metric", "mae", *extra)
            output += called.stdout + called.stderr
    assert "Rejected: b.csv" in output
    assert not [label for label in labels if label in output]


@pytest.mark.slow
def test_eighty_columns_show_the_tier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_csv(tmp_path / "solution.csv", ["id", "y"], [(i, i % 2) for i in range(40)])
    for team in range(24):
        rows = [(i, (i + (i % 24 < team)) % 2) for i in range(40)]
        file = tmp_path / "submissions" / f"logistic-strong-penalty{team}.csv"
        write_csv(file, ["id", "y"], rows)
    monkeypatch.setenv("COLUMNS", "80")
    called = run_here(
        "score", "solution.csv", "submissions", "--metric", "accuracy", *QUICK, cwd=tmp_path
    )
    lines = called.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    (header,) = [line.split() for line in lines if "team" in line.split()]
    assert header[-2:] == ["ranks", "tier"]
