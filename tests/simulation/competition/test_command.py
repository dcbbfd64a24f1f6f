"""``arena simulate competition``: its document, its folder, and what it refuses."""

from __future__ import annotations

import json
import re
import signal
import time

import numpy as np
import pytest

from arena.store import Store
from competition_folder import document
from program import (
    UNPROTECTED,
    killed_in_the_end,
    run_here,
    run_program,
    start_program,
    with_options,
    write_csv,
)

SMALL = (
    "simulate", "competition", "s", "--teams", 5, "--days", 3, "--rows", 300,
    "--train-rows", 200, "--validation-rows", 100, "--workers", 1,
)  # fmt: skip
QUICK = (*SMALL, "--kinds", "copycat=2, random-search=2, block-flip(rows=20)=1")


@pytest.mark.slow
def test_document_and_going_on(tmp_path):
    first = document(run_here(*with_options(QUICK, "--json"), cwd=tmp_path), "simulate-competition")
    assert first["seed"] == 0
    assert [kind["teams"] for kind in first["kinds"]] == [2, 2, 1]
    (under,) = first["mechanisms"]
    assert under["truth"] == "exact"
    assert under["submissions"] == sum(row["submissions"] for row in under["standings"])
    assert {row["team"] for row in under["standings"]} >= {under["winner"], under["best"]}
    held = [row["rank_low"] <= row["true_rank"] <= row["rank_high"] for row in under["standings"]]
    assert under["rank_intervals"] == {"level": 0.95, "teams": 5, "held": sum(held)}
    best, true = under["best_score"], max(row["true_score"] for row in under["standings"])
    assert best["held"] == (best["low"] <= true <= best["high"])
    late = run_here("submit", "s/sample_submission.csv", "--team", "Zoe", "-C", "s", cwd=tmp_path)
    assert "The competition ended at 2001-01-04 00:00 UTC" in late.stdout
    resumed = run_here(*with_options(QUICK, "--json"), cwd=tmp_path)
    assert (
        " submissions under ladder-free(minimum_step=0.002) found, continuing from there"
        in " ".join(resumed.stderr.split())
    )
    assert "ladder-free" in resumed.stderr
    assert "3 days on" in resumed.stderr
    assert re.search(r"; \d+ workers? \(local\)\.", " ".join(resumed.stderr.split()))
    assert document(resumed, "simulate-competition") == first
    audited = document(run_here("audit", "-C", "s", "--json", cwd=tmp_path), "audit")
    actors = [event["actor"] for event in audited["events"]]
    assert actors.count("simulation with seed 0") == len(actors) - 1
    assert json.loads((tmp_path / "s" / "simulation.json").read_text())["what"].startswith(
        "Everything in this folder is simulated"
    )


@pytest.mark.slow
def test_a_held_competition_is_not_simulated_on(tmp_path):
    assert run_here(*QUICK, cwd=tmp_path).returncode == 0
    with Store.open(tmp_path / "s" / "arena.duckdb"):
        held = run_program(*QUICK, "--wait", 0.1, cwd=tmp_path)
    assert (held.returncode, "use --wait SECONDS" in held.stderr) == (1, True), held.stderr


def own_data(folder, **columns):
    rng = np.random.default_rng(0)
    x = rng.normal(size=700)
    values = {"y": np.where(x + rng.normal(size=700) > 0.5, "yes", "no"), **columns}
    write_csv(folder / "own.csv", ["x", *values], list(zip(x, *values.values(), strict=True)))
    return ("--data", "own.csv")


@pytest.mark.slow
def test_a_small_file_makes_the_default_sizes_smaller(tmp_path):
    own_data(tmp_path)
    called = run_here(
        "simulate", "competition", "s", "--data", "own.csv", "--target", "y", "--teams", 2,
        "--days", 1, "--kinds", "random-search", "--baseline", "none", "--workers", 1, "--json",
        "--train-rows", 300, cwd=tmp_path,
    )  # fmt: skip
    assert called.returncode == 0, called.stderr
    (under,) = document(called, "simulate-competition")["mechanisms"]
    messages = " ".join(called.stderr.split())
    assert "300 rows for training, 57 for validation and 342 to predict" in messages
    assert "predictions of the kind label" in messages
    assert "171 of the 342 rows to predict are held out" in messages
    assert under["truth"] == "held_out"
    assert len((tmp_path / "s" / "solution.csv").read_text().splitlines()) == 1 + 342
    # Random labels are no better than a constant prediction.
    assert "constant prediction" in under["degenerate"]
    assert under["best_won"] is None


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (("--mechanism", "laddr-free"), 1, "Did you mean 'ladder-free'"),
        (("--kinds", "copycatt=2"), 1, "Did you mean 'copycat'"),
        (("--kinds", "copycat(share=3)"), 2, "share must be above 0"),
        (("--baseline", "robot"), 1, "There are: forest, lightgbm"),
        (("--kinds", "copycat=x"), 2, "The share of copycat must be a number from 0"),
        (("--kinds", "copycat(share=0.1)=-1"), 2, "(share=0.1)=3, not '-1'"),
        (("--kinds", "auc-oracle"), 2, "use --metric roc_auc"),
        (("--metric", "acuracy"), 1, "Did you mean 'accuracy'"),
        (("--metric", "rmse"), 1, "cannot score"),
        (("--public-share", "1"), 2, "less than 1"),
        (("--data", "own.csv"), 2, "go together"),
        (
            ("--data", "own.csv", "--target", "y", "--rows", "5000"),
            1,
            "--validation-rows and --rows.",
        ),
        (("--data", "own.csv", "--target", "one"), 1, "one value only"),
        (("--data", "own.csv", "--target", "z"), 1, "no column 'z'"),
    ],
)
def test_refused_in_a_line_before_anything_is_made(tmp_path, given, code, said):
    own_data(tmp_path, one=np.ones(700))
    called = run_here(*with_options(SMALL, *given), cwd=tmp_path)
    assert called.returncode == code, called.stderr
    assert said in called.stderr
    assert called.stderr.count("\n") == 1
    assert not called.stdout
    assert not (tmp_path / "s").exists()


@pytest.mark.slow
def test_real_competitions_are_left_alone(tmp_path):
    rows = [(f"r{row:03d}", "ab"[row % 2]) for row in range(100)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], rows)
    creation = run_here(
        "init", "real", "--solution", "solution.csv", "--per-day", 0, "-m", "accuracy",
        "--mechanism", "ladder",
        cwd=tmp_path,
    )  # fmt: skip
    assert creation.returncode == 0, creation.stderr
    before = document(run_here("audit", "-C", "real", "--json", cwd=tmp_path), "audit")
    command = ("simulate", "competition", "real", "--teams", 3, "--days", 2, "--workers", 1)
    called = run_here(*with_options(command, "--json"), cwd=tmp_path)
    printed = document(called, "simulate-competition")
    (under,) = printed["mechanisms"]
    assert under["mechanism"] == "ladder"
    assert under["truth"] == "private"
    assert under["best_won"] is None
    assert printed["folder"] == "real/simulated-seed-0"
    assert "No team trains a model" in called.stderr
    assert document(run_here("audit", "-C", "real", "--json", cwd=tmp_path), "audit") == before
    refused = run_here(*with_options(command, "-m", "f1"), cwd=tmp_path).stderr
    assert "The competition in real decides it" in refused
    submission = run_here(
        "submit", "real/sample_submission.csv", "--team", "Zoe", "-C", "real", cwd=tmp_path
    )
    assert submission.returncode == 0, submission.stderr
    called = run_here(*with_options(command, "--seed", 1), cwd=tmp_path)
    assert called.returncode == 1
    assert "holds submissions of real teams" in called.stderr
    assert not (tmp_path / "real" / "simulated-seed-1").exists()


@pytest.mark.slow
def test_without_public_rows_nothing_is_released_and_all_the_rest_stands(tmp_path):
    few = (*QUICK[:3], "--teams", 1, "--days", 1, *QUICK[7:], "--public-share", 0)
    called = run_here(*with_options(few, "--report", "r.html", "--json"), cwd=tmp_path)
    (under,) = document(called, "simulate-competition")["mechanisms"]
    assert under["leaderboard_error"] is None
    assert under["days"] == []
    assert under["best_won"] is True
    assert "Nothing was released" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_metric_without_bounds_has_a_mechanism_that_needs_none(tmp_path):
    data = own_data(tmp_path, size=np.arange(700.0))
    arguments = (*SMALL, *data, "--target", "size", "-m", "rmse", "--baseline", "none")
    called = run_here(*arguments, "--kinds", "random-search=1, copycat=1", "--json", cwd=tmp_path)
    (under,) = document(called, "simulate-competition")["mechanisms"]
    assert under["mechanism"] == "kaggle"
    assert "scores of rmse have no bounded range" in called.stderr


@pytest.mark.slow
def test_folders_of_other_things_are_refused(tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "diary.txt").write_text("dear diary")
    called = run_here(*QUICK, cwd=tmp_path)
    assert called.returncode == 1
    assert "not an empty folder" in called.stderr
    assert [path.name for path in (tmp_path / "s").iterdir()] == ["diary.txt"]


@pytest.mark.slow
def test_another_simulation_is_refused(tmp_path):
    assert run_here(*QUICK, cwd=tmp_path).returncode == 0
    for change, message in (
        (("--seed", 1), "another seed"),
        (("--rows", 400), "other data"),
        (("--teams", 6), "another number of teams"),
        (("--mechanism", "full,ladder"), "one mechanism alone, or several"),
        (("--mechanism", "full"), "[public] mechanism"),
        (("--per-day", 5), "[limits] per_day"),
    ):
        called = run_here(*with_options(QUICK, *change), cwd=tmp_path)
        assert called.returncode == 1
        assert message in called.stderr
        assert called.stderr.rstrip().endswith("folder.")


@pytest.mark.slow
def test_own_data_train_teams_and_several_mechanisms_are_compared(tmp_path):
    color = np.random.default_rng(1).choice(["red", "blue"], 700)
    called = run_here(
        *SMALL, *own_data(tmp_path, color=color), "--target", "y", "--positive", "yes",
        "--mechanism", "full, ladder(eta=0.1)", "--report", "r.html", "--charts", "c",
        "-m", "log_loss", "--kinds", "lightgbm-climber, lightgbm-seeds, copycat",
        cwd=tmp_path,
    )  # fmt: skip
    assert called.returncode == 1
    assert "clip" in called.stderr
    assert not (tmp_path / "s").exists()
    called = run_here(
        *SMALL, *own_data(tmp_path, color=color), "--target", "y", "--positive", "yes",
        "--mechanism", "full, ladder(eta=0.1)", "--report", "r.html", "--charts", "c",
        "-m", "roc_auc", "--kinds", "lightgbm-climber, lightgbm-seeds, copycat",
        cwd=tmp_path,
    )  # fmt: skip
    assert called.returncode == 0, called.stderr
    assert "One seed cannot show a difference between mechanisms" in " ".join(called.stdout.split())
    assert {path.name for path in (tmp_path / "s").iterdir()} >= {"full", "ladder-eta-0.1"}
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Compared with the truth, under ladder(eta=0.1)" in page
    assert "no person submitted anything" in page
    assert (tmp_path / "c" / "leaderboard-error.svg").exists()


@pytest.mark.slow
def test_own_competition_with_rows_to_learn_from(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 2))
    y = np.where(x[:, 0] + rng.normal(size=600) > 0, "yes", "no")
    ids = [f"p{row}" for row in range(600)]
    rows = list(zip(ids, x[:, 0], x[:, 1], y, strict=True))
    write_csv(tmp_path / "solution.csv", ["pid", "sick"], [(r[0], r[3]) for r in rows[300:]])
    write_csv(tmp_path / "train.csv", ["a", "b", "sick"], [r[1:] for r in rows[:300]])
    write_csv(tmp_path / "test.csv", ["pid", "a", "b"], [r[:3] for r in rows[:299:-1]])
    assert (
        run_here(
            "init",
            "real",
            "--solution",
            "solution.csv",
            *UNPROTECTED,
            "-m",
            "roc_auc",
            cwd=tmp_path,
        ).returncode
        == 0
    )
    command = ("simulate", "competition", "real", "--teams", 4, "--days", 2, "--workers", 1,
               "--data", "train.csv", "--test", "test.csv")  # fmt: skip
    called = run_here(*with_options(command, "--kinds", "lightgbm-climber", "--json"), cwd=tmp_path)
    (under,) = document(called, "simulate-competition")["mechanisms"]
    assert max(row["score"] for row in under["standings"]) > 0.7
    write_csv(tmp_path / "test.csv", ["pid", "a", "b"], [r[:3] for r in rows[:300:-1]])
    called = run_here(*with_options(command, "--seed", 1), cwd=tmp_path)
    assert "lacks the id 'p300'" in called.stderr


@pytest.mark.campaign
def test_a_board_that_shows_everything_is_driven_further_than_a_ladder(tmp_path):
    called = run_here(
        "simulate", "competition", "s", "--teams", 6, "--days", 3, "--per-day", 20, "--rows", 2000,
        "--kinds", "lightgbm-climber=3, copycat=1, block-flip(rows=4, base=baseline)=2",
        "--mechanism", "full, ladder-free(minimum_step=0.002)", "--workers", 1, "--json",
        cwd=tmp_path,
    )  # fmt: skip
    full, ladder = document(called, "simulate-competition")["mechanisms"]
    assert full["leaderboard_error"] > 1.5 * ladder["leaderboard_error"]
    flattered = [row["shown"] - row["score"] for row in full["standings"]]
    attackers = [row["conduct"] == "attacks" for row in full["standings"]]
    first = min(full["standings"], key=lambda row: row["public_rank"])
    assert first["conduct"] == "attacks"
    assert np.mean(np.array(flattered)[attackers]) > 0.02


@pytest.mark.slow
def test_interrupted_it_says_how_to_go_on(tmp_path):
    journal = tmp_path / "s" / "arena.duckdb.journal"
    with killed_in_the_end(
        start_program(*with_options(QUICK, "--days", 20), cwd=tmp_path)
    ) as running:
        for _ in range(60_000):
            if journal.exists() and b'{"submission"' in journal.read_bytes():
                break
            assert running.poll() is None
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        _, messages = running.communicate(timeout=900)
    assert running.returncode == 130, messages
    assert "the same command continues from there" in messages
    assert "Traceback" not in messages
    called = run_here(*with_options(QUICK, "--days", 20), cwd=tmp_path)
    assert called.returncode == 0, called.stderr


@pytest.mark.slow
def test_drawn_teams_like_a_past_board_and_how_alike_they_are(tmp_path):
    lines = [[number + 1, 1 - (number / 30) ** 2, 1 + number % 5] for number in range(30)]
    write_csv(tmp_path / "past.csv", ["rank", "score", "entries"], lines)
    few = ("--teams", 12, "--days", 3, "--rows", 400, "--train-rows", 30, "--validation-rows", 20)
    arguments = ("simulate", "competition", "s", *few, "--drawn", "--like", "past.csv")
    called = run_here(*with_options(arguments, "--report", "r.html"), cwd=tmp_path)
    assert called.returncode == 0, called.stderr
    assert "board.csv" in called.stdout
    assert "12 drawn team" in called.stderr
    assert (tmp_path / "s" / "board.csv").read_text().count("\n") == 13
    assert "Compared with the truth" in (tmp_path / "r.html").read_text(encoding="utf-8")
    seeds = (*arguments[:2], "t", *arguments[3:], "--seeds", 2, "--mechanism", "full, ladder-free")
    found = document(run_here(*with_options(seeds, "--json"), cwd=tmp_path), "simulate-seeds")
    assert len(found["seeds"]) == 2
    likeness = ("simulate", "likeness", "past.csv", "--simulated", 4, "--rows", 300)
    found = document(run_here(*with_options(likeness, "--json"), cwd=tmp_path), "simulate-likeness")
    assert found["boards"] == {"past": 30}
    printed = run_here(*likeness, cwd=tmp_path)
    assert "teams with one entry" in printed.stdout
