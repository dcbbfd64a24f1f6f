"""Other people's metrics from the command line: scored, and through a whole competition."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from shutil import copy
from typing import Any

import numpy as np
import pytest
import sklearn.metrics as skm

from arena.store import Store
from program import UNPROTECTED, run_here, run_program, write_csv

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[1] / "support" / "foreign_metrics"
N_ROWS = 90
IDS = [f"r{row:02d}" for row in range(N_ROWS)]
TRUTH = np.random.default_rng(5).integers(0, 2, N_ROWS)
PUBLIC = np.arange(N_ROWS) % 3 == 0
IGNORED = np.arange(N_ROWS) == 1
PRIVATE = ~PUBLIC & ~IGNORED
METRIC = "my metric (1).py"


def sent(team: int) -> Any:
    rng = np.random.default_rng(team)
    return np.round(0.4 * team * TRUTH / 3 + 0.6 * rng.random(N_ROWS), 4)


def write_sent(path: Path, values: Any) -> Path:
    write_csv(path, ["id", "y"], list(zip(IDS, values, strict=True)))
    return path


def fbeta(values: Any, rows: Any, cut: float = 0.5) -> float:
    return float(skm.fbeta_score(TRUTH[rows], values[rows] > cut, beta=2.0))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a solution, four files, and a metric whose name has blanks and brackets."""
    usage = np.where(PUBLIC, "Public", np.where(IGNORED, "Ignored", "Private"))
    # An ignored row may hold anything.
    truth = np.where(IGNORED, "?", TRUTH.astype(str))
    rows = list(zip(IDS, truth, usage, strict=True))
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], rows)
    for team in (1, 2, 3):
        write_sent(tmp_path / "files" / f"team{team}.csv", sent(team))
    write_sent(tmp_path / "files" / "text.csv", ["much"] * N_ROWS)
    copy(FOLDER / "kaggle_fbeta.py", tmp_path / METRIC)
    return tmp_path


def test_a_folder_is_scored_by_a_kaggle_metric(work: Path) -> None:
    called = run_program(
        "score", "solution.csv", "files", "--metric", f"kaggle:{METRIC}(beta=2)",
        "--resamples", 40, "--json", cwd=work,
    )  # fmt: skip
    assert called.returncode == 0, called.stderr
    document = json.loads(called.stdout)  # nothing that the metric printed stands in it
    assert f"kaggle:{METRIC}: assuming larger is better" in called.stderr
    scores = {row["team"]: (row["score"], row["public_score"]) for row in document["standings"]}
    assert scores == {
        f"team{team}": (
            pytest.approx(fbeta(sent(team), PRIVATE), rel=1e-9),
            pytest.approx(fbeta(sent(team), PUBLIC), rel=1e-9),
        )
        for team in (1, 2, 3)
    }
    (rejected,) = document["rejected"]
    (fault,) = rejected["faults"]
    assert rejected["file"] == "text.csv"
    assert fault["kind"] == "refused by the metric"
    assert fault["message"].startswith("y must be a number [31min every row!!")
    assert len(fault["message"]) == 280


def test_the_other_direction_turns_the_board_around(work: Path) -> None:
    arguments = ("score", "solution.csv", "files", "--metric", f"kaggle:{METRIC}(beta=2)")
    call = partial(run_here, *arguments, "--resamples", 2, "--json")
    up = call(cwd=work)
    down = call("--lower-is-better", cwd=work)
    assert ": smaller is better, as requested" in down.stderr
    teams = [
        [row["team"] for row in json.loads(called.stdout)["standings"]] for called in (up, down)
    ]
    assert teams[0] == teams[1][::-1]
    refused = run_here(
        "score", "solution.csv", "files", "--metric", "mae", "--lower-is-better", cwd=work
    )
    assert refused.returncode == 2
    assert "has no parameter 'lower_is_better'" in refused.stderr


def test_a_metric_that_fails_shows_no_value(work: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_sent(work / "files" / "big.csv", sent(1) + 2)
    arguments = ("score", "solution.csv", "files", "--metric", f"kaggle:{METRIC}")
    called = run_here(*arguments, "--resamples", 2, cwd=work)
    assert called.returncode == 0, called.stderr
    printed_text = "".join(
        f"{record.message}\n" for record in caplog.records if record.levelname != "DEBUG"
    )
    assert (
        f"big.csv: kaggle:{METRIC} failed with KeyError at {work / METRIC}, line 3" in printed_text
    )
    assert "secret" not in printed_text + called.stderr + called.stdout
    verbose = run_program(*arguments, "--resamples", 2, "--verbose", cwd=work)
    assert printed_text.splitlines()[0] in verbose.stderr
    assert "secret label" in verbose.stderr
    assert "secret" not in verbose.stdout


def test_a_plain_function_takes_numbers_or_labels_as_the_solution_has_them(work: Path) -> None:
    copy(FOLDER / "plain.py", work / "mine.py")
    cats = np.where(TRUTH, "cat", "dog")
    write_csv(work / "cats.csv", ["id", "y"], list(zip(IDS, cats, strict=True)))
    write_sent(work / "cat.csv", cats)
    score = partial(run_here, "score", cwd=work)
    called = score("cats.csv", "cat.csv", "-m", "mine:share_of_cats", "--resamples", 9, "--json")
    assert called.returncode == 0, called.stderr
    assert json.loads(called.stdout)["standings"][0]["score"] == pytest.approx(TRUTH.mean())
    numbers = score("solution.csv", "files", "-m", "mine:mae", "--resamples", 9, "--json")
    assert numbers.returncode == 0, numbers.stderr
    assert len(json.loads(numbers.stdout)["standings"]) == 3
    assert json.loads(numbers.stdout)["rejected"][0]["faults"][0]["kind"] != "metric failed"


def submitted(work: Path, file: Path, team: str) -> dict[str, Any]:
    called = run_here("submit", file, "--team", team, "--json", cwd=work / "c")
    answer: dict[str, Any] = json.loads(called.stdout)
    assert called.returncode == (0 if answer["status"] == "accepted" else 1), called.stderr
    return answer


def changed_metric(work: Path, old: str, new: str) -> None:
    text = (work / METRIC).read_text()
    assert old in text
    (work / METRIC).write_text(text.replace(old, new))


def test_a_competition_runs_by_a_kaggle_metric(work: Path) -> None:
    called = run_here(
        "init", "c", "--solution", "solution.csv", *UNPROTECTED,
        "--metric", f"kaggle:{METRIC}(beta=2)", "--seed", 1, cwd=work,
    )  # fmt: skip
    assert called.returncode == 0, called.stderr
    assert "assuming larger is better" in called.stdout
    config = (work / "c" / "competition.toml").read_text()
    assert f'name = "kaggle:{work / METRIC}(beta=2)"' in config
    sample = (work / "c" / "sample_submission.csv").read_text().splitlines()
    assert sample[:2] == ["id,y", "r00,0"]
    for team in (1, 2, 3):
        answer = submitted(work, work / "files" / f"team{team}.csv", f"team{team}")
        assert answer["released"] == pytest.approx(fbeta(sent(team), PUBLIC), rel=1e-9)
    answer = submitted(work, work / "files" / "text.csv", "texter")
    assert (answer["status"], answer["released"]) == ("rejected", None)
    assert answer["faults"][0]["message"].startswith("y must be a number")
    run = partial(run_here, cwd=work / "c")
    (work / "c" / "competition.toml").write_text(
        config.replace("resamples = 1000", "resamples = 9")
    )
    assert run("finalize").returncode == 0
    # Another metric in the same file waits for a rescore.
    changed_metric(work, "> 0.5", "> 0.3")
    process = run("leaderboard", "--json")
    assert (
        "has changed. The scores use the previous code until you run arena rescore --apply."
        in process.stderr
    )
    assert submitted(work, write_sent(work / "again.csv", sent(1) / 2), "late")["released"] == (
        pytest.approx(fbeta(sent(1) / 2, PUBLIC), rel=1e-9)
    )
    assert json.loads(run("rescore", "--json").stdout)["applied"] is False
    rescored = json.loads(run("rescore", "--apply", "--json").stdout)
    after = {row["team"]: row["score_after"] for row in rescored["changes"]}
    before = {row["team"]: row["score_before"] for row in rescored["changes"]}
    for team in (1, 2, 3):
        name = f"team{team}"
        assert before[name] == pytest.approx(fbeta(sent(team), PRIVATE), rel=1e-9)
        assert after[name] == pytest.approx(fbeta(sent(team), PRIVATE, 0.3), rel=1e-9)
    assert "has changed" not in run("leaderboard").stderr
    # The code is kept, so that the competition goes on without the file.
    (work / METRIC).unlink()
    process = run("leaderboard")
    assert process.returncode == 0
    assert "The scores use the stored copy of its code" in process.stderr
    with Store.open(work / "c" / "arena.duckdb") as store:
        created, rescored_event = store.events("created", "rescored")
        assert len(created.payload["metric_sha256"]) == 64
        assert rescored_event.payload["metric_sha256"] != created.payload["metric_sha256"]


def test_a_file_that_the_metric_failed_on_may_be_sent_again(work: Path) -> None:
    changed_metric(work, "> 0.5", "> missing_name")
    options = ("--metric", f"kaggle:{METRIC}(beta=2)", "--seed", 1)
    called = run_here("init", "c", "--solution", "solution.csv", *UNPROTECTED, *options, cwd=work)
    assert called.returncode == 0, called.stderr
    file = work / "files" / "team1.csv"
    answer = submitted(work, file, "team1")
    assert answer["status"] == "rejected"
    # The team is not told that the metric failed: that may depend on the labels.
    assert answer["faults"][0]["message"] == (
        "These predictions could not be scored. Look for extreme values, and for predictions that "
        "are all alike."
    )
    changed_metric(work, "> missing_name", "> 0.5")
    assert run_here("rescore", "--apply", cwd=work / "c").returncode == 0
    assert submitted(work, file, "team1")["status"] == "accepted"


def test_what_cannot_be_a_metric_founds_nothing(work: Path) -> None:
    (work / "broken.py").write_text("import no_such_thing\n\ndef score(a, b, c): ...\n")
    called = run_here(
        "init",
        "c",
        "--solution",
        "solution.csv",
        *UNPROTECTED,
        "--metric",
        "kaggle:broken.py",
        cwd=work,
    )
    assert called.returncode == 1
    assert "No module named 'no_such_thing'" in called.stderr
    assert not (work / "c").exists()


def test_files_rejected_for_their_columns_get_a_hint_at_columns(tmp_path: Path) -> None:
    (tmp_path / "metric.py").write_text(
        "def score(solution, submission, row_id_column_name):\n    return 1.0\n"
    )
    (tmp_path / "solution.csv").write_text("id,time,event\na,1,0\nb,2,1\n")
    (tmp_path / "team.csv").write_text("id,risk\na,0.5\nb,0.25\n")
    arguments = ("score", "solution.csv", "team.csv", "--metric", "kaggle:metric.py")
    done = run_here(*arguments, "--no-intervals", cwd=tmp_path)
    assert done.returncode == 1
    assert "--columns prediction" in done.stderr
    assert "going to be called" not in done.stderr
    done = run_here(*arguments, "--no-intervals", "--columns", "risk", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
