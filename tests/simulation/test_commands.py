"""``arena simulate ranks`` and ``arena plan``: documents, folders, refusals."""

from __future__ import annotations

import json
import signal
import time

import numpy as np
import pytest

from competition_folder import document
from page_text import text_of
from program import (
    UNPROTECTED,
    killed_in_the_end,
    run_here,
    start_program,
    with_options,
    write_csv,
)

GRID = """
rounds = 20
early_stopping = 3
[fixed]
learning_rate = 0.2
[search]
num_leaves = [4, 8, 16]
lambda_l2 = [0.0, 0.1]
"""
SMALL = (
    "simulate", "ranks", "--grid", "grid.toml", "--train-rows", 300, "--validation-rows", 150,
    "--population", 1000, "--test-rows", "100,400", "--competitors", "3,6", "--tests", 10,
    "--boards", 2, "--resamples", 60, "--workers", 1,
)  # fmt: skip


def run_small(*options, cwd):
    return run_here(*with_options(SMALL, *options), cwd=cwd)


@pytest.fixture
def here(tmp_path):
    (tmp_path / "grid.toml").write_text(GRID, encoding="utf-8")
    return tmp_path


def own_data(folder, n=900, **columns):
    rng = np.random.default_rng(0)
    x, color = rng.normal(size=n), rng.choice(["red", "blue"], n)
    score = x + (color == "red") + rng.normal(size=n)
    values = {"y": np.where(score > 0.5, "yes", "no"), "value": score, **columns}
    rows = list(zip(x, color, *values.values(), strict=True))
    write_csv(folder / "own.csv", ["x", "color", *values], rows)
    return ("--data", "own.csv", "--population", 450)


@pytest.mark.slow
def test_several_sets_of_models_widen_the_interval_by_how_they_differ(here):
    sets = document(run_small("--models", "m", "--sets", 3, "--json", cwd=here),
                    "simulate-ranks")  # fmt: skip
    alone = [
        document(run_small("--seed", seed, "--json", cwd=here), "simulate-ranks")
        for seed in range(3)
    ]
    assert sets["by_set"] == [row["win_frequency"] for row in alone]
    assert {key: sets[key] for key in ("ranks", "coverage", "boards", "rows_needed")} == {
        key: alone[0][key] for key in ("ranks", "coverage", "boards", "rows_needed")
    }
    for position, frequency in enumerate(sets["win_frequency"]):
        shares = [own["win_frequency"][position]["frequency"] for own in alone]
        assert frequency["frequency"] == pytest.approx(np.mean(shares))
        assert frequency["low"] < frequency["frequency"] < frequency["high"]
        assert frequency["high"] - frequency["low"] > 0.4  # three sets say little of others
    output = run_small("--models", "m", "--sets", 3, cwd=here).stdout
    assert "models and rows included" in " ".join(output.split())
    assert sorted(folder.name for folder in (here / "m").glob("set-*")) == ["set-2", "set-3"]


@pytest.mark.slow
def test_document_folder_and_resuming(here):
    first = document(run_small("--models", "m", "--json", cwd=here), "simulate-ranks")
    assert len(first["win_frequency"]) == 4
    assert {row["kind"] for row in first["coverage"]} == {"intervals", "spread"}
    assert len(first["ranks"]) == 2 * (3 + 6)
    written = {file.name: file.stat().st_mtime_ns for file in (here / "m").glob("*.npy")}
    (here / "m" / "model-000004.npy").write_bytes(b"torn")
    again = document(
        run_small("--workers", 2, "--models", "m", "--json", cwd=here), "simulate-ranks"
    )
    assert again == first
    now = {file.name: file.stat().st_mtime_ns for file in (here / "m").glob("*.npy")}
    assert [name for name in now if now[name] != written[name]] == ["model-000004.npy"]


@pytest.mark.slow
def test_folder_of_other_models_is_refused(here):
    assert run_small("--models", "m", cwd=here).returncode == 0
    for change in (("--seed", 1), ("--train-rows", 301)):
        called = run_small("--models", "m", *change, cwd=here)
        assert called.returncode == 1
        assert "another folder" in called.stderr
    (here / "grid.toml").write_text(GRID.replace("0.2", "0.3"), encoding="utf-8")
    assert "another grid" in run_small("--models", "m", cwd=here).stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_or_killed_it_leaves_whole_models(here, number):
    slow = GRID.replace("rounds = 20", "rounds = 4000").replace("= 3\n", "= 4000\n")
    (here / "grid.toml").write_text(slow.replace("0.2", "0.001"), encoding="utf-8")
    with killed_in_the_end(
        start_program(*with_options(SMALL, "--models", "m"), cwd=here)
    ) as running:
        for _ in range(6_000):
            if list(here.glob("m/*.npy")):
                break
            time.sleep(0.1)
        running.send_signal(number)
        _, messages = running.communicate(timeout=900)
    if number == signal.SIGINT:
        assert running.returncode == 130, messages
        assert "--models m continues from there" in messages
    files = list(here.glob("m/*.npy"))
    assert 1 <= len(files) < 6
    assert all(np.load(file).shape == (1_000,) for file in files)
    assert "another folder" in run_small("--models", "m", "--seed", 1, cwd=here).stderr


@pytest.mark.slow
def test_report_and_charts(here):
    called = run_small("--report", "r.html", "--charts", "c", cwd=here)
    assert called.returncode == 0, called.stderr
    assert "How stable would the ranks be?" in (here / "r.html").read_text(encoding="utf-8")
    assert (here / "c" / "win-frequency.svg").exists()
    assert "How often the truly best wins" in called.stdout
    assert "Ranks of the truly best in tests of 400 rows, 6 competitors" in called.stdout
    alone = json.loads((here / "c" / "win-frequency.vl.json").read_text(encoding="utf-8"))
    assert alone["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"


@pytest.mark.slow
def test_rows_beyond_the_tests_are_said_to_be_extrapolated(here):
    called = run_small("--test-rows", 50, "--charts", "c", cwd=here)
    assert called.returncode == 0, called.stderr
    output = " ".join(called.stdout.split())
    assert "(extrapolated from tests of 50 rows)" in output
    chart = json.loads((here / "c" / "win-frequency.vl.json").read_text(encoding="utf-8"))
    assert chart["layer"][0]["encoding"]["x"]["type"] == "ordinal"


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric",
    [
        "roc_auc",
        *(pytest.param(m, marks=pytest.mark.slow) for m in ("log_loss", "accuracy", "rmse", "mae")),
    ],
)
def test_own_data_and_any_metric(here, metric):
    regression = metric in {"rmse", "mae"}
    options = own_data(here)
    target = "value" if regression else "y"
    called = run_here(
        *with_options(SMALL, *options, "--target", target, "--metric", metric, "--json"), cwd=here
    )
    printed = document(called, "simulate-ranks")
    assert printed["data"] == "own.csv"
    assert printed["greater_is_better"] == (metric in {"roc_auc", "accuracy"})


@pytest.mark.slow
def test_several_classes(here):
    label = np.array(["a", "b", "c"])[np.random.default_rng(1).integers(0, 3, 900)]
    options = own_data(here, label=label)
    called = run_here(
        *with_options(SMALL, *options, "--target", "label", "-m", "log_loss", "--json"), cwd=here
    )
    assert document(called, "simulate-ranks")["metric"].startswith("log_loss")


def test_a_file_split_by_semicolons_is_told(here):
    own_data(here)
    text = (here / "own.csv").read_text(encoding="utf-8").replace(",", ";")
    (here / "own.csv").write_text(text, encoding="utf-8")
    called = run_small("--data", "own.csv", "--target", "y", cwd=here)
    assert called.returncode == 1
    assert "separated by commas" in called.stderr


def test_a_metric_that_reads_cells_itself_is_refused(here):
    source = "def score(solution, submission, row_id_column_name):\n    return 0.5\n"
    (here / "own.py").write_text(source, encoding="utf-8")
    data = own_data(here)
    called = run_here(
        *with_options(SMALL, *data, "--target", "value", "--metric", "kaggle:own.py"), cwd=here
    )
    assert called.returncode == 1
    assert "reads the cells of a submission itself" in called.stderr


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--target", "y", "--train-rows", 9_000), "has 1,100 rows"),
        (("--target", "z"), "no column 'z'"),
        (("--target", "one"), "one value only"),
        (("--target", "y", "--metric", "rmse"), "not a finite number"),
        (("--target", "number"), "too many for labels"),
        (("--target", "y", "--positive", "maybe"), "not one of two labels"),
    ],
)
def test_bad_data_is_refused_in_a_line(here, given, said):
    data = own_data(here, n=1_100, one=np.ones(1_100), number=np.arange(1_100))
    called = run_small(*data, *given, cwd=here)
    assert called.returncode == 1
    assert said in called.stderr
    assert called.stderr.count("\n") == 1
    assert not called.stdout


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--data", "own.csv"), "go together"),
        (("--test-rows", "2000"), "population"),
        (("--test-rows", "few"), "whole numbers"),
        (("--metric", "rmse"), "cannot score"),
        (("--search", "boosting"), "no parameter 'grid'"),
        (("--search", "lightgmb"), "Did you mean 'lightgbm'"),
        (("--search", "robot"), "There are: lightgbm."),
        (("--engine", "spark"), "no engine 'spark'"),
        (("--engine", "dask", "--scheduler", "tcp://127.0.0.1:1"), "does not answer"),
        (("--engine", "ray", "--address", "127.0.0.1:1"), "does not answer"),
        (("--engine", "ray", "--address", "nowhere"), "form host:port"),
        (("--models", "grid.toml"), "cannot be used"),
    ],
)
def test_refusals_before_training(here, given, said):
    called = run_small(*given, cwd=here)
    assert called.returncode in {1, 2}
    assert said in called.stderr
    assert "models to train" not in called.stderr


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("grid", "said"),
    [
        (GRID.replace("num_leaves", "num_leavs"), "Did you mean 'num_leaves'"),
        (GRID.replace("rounds = 20", "trees = 20"), "holds 'trees'"),
        (GRID.replace("[4, 8, 16]", "4"), "list of values"),
        (GRID.replace("learning_rate", "num_threads"), "one thread each"),
        (GRID.replace("learning_rate", "max_leaves"), "num_leaves in both [fixed]"),
        (GRID.replace("[search]", "[search"), "not TOML"),
        ("rounds = 3", "no [search]"),
        (GRID.replace("rounds = 20", "rounds = 0"), "whole numbers"),
        (GRID.replace("learning_rate", "max_bin"), "binned once"),
        (GRID.replace("[4, 8, 16]", "[4, -3]"), "refuses num_leaves = -3: Check failed"),
        (GRID.replace("0.2", '"x"'), "refuses learning_rate = 'x': "),
        (GRID.replace("[4, 8, 16]", "[-3]").replace("0.2", '"x"'), "refuses several values: "),
    ],
)
def test_grids_that_are_refused(here, grid, said, capfd):
    (here / "grid.toml").write_text(grid, encoding="utf-8")
    called = run_here(*SMALL, cwd=here)
    assert called.returncode == 1
    assert said in called.stderr
    assert called.stderr.count("\n") == 1
    assert not capfd.readouterr().err  # LightGBM writes past Python, to the file itself


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    ids = [f"r{row:03d}" for row in range(300)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], list(zip(ids, truth, strict=True)))
    for team in range(4):
        guess = truth + rng.normal(scale=0.8 + 0.3 * team, size=300)
        path = tmp_path / "files" / f"team{team}.csv"
        write_csv(path, ["id", "y"], list(zip(ids, guess, strict=True)))
    return tmp_path


@pytest.mark.slow
def test_plan_of_a_pilot(files):
    command = ("plan", "solution.csv", "files", "-m", "roc_auc", "--resamples", 200)
    printed = document(run_here(*command, "--json", cwd=files), "plan")
    wins = [row["best_wins"] for row in printed["rows"]]
    assert wins == sorted(wins)
    widths = [row["interval_width"] for row in printed["rows"]]
    assert widths[0] > widths[-1]
    assert {answer["question"] for answer in printed["answers"]} >= {"Which share public?"}
    stated = run_here(
        *command, "--rows", "100,1000", "--difference", 0.02, "--charts", "c", "--public-share",
        "0.2,0.4", "--per-day", "3,9", "--teams", "5,10", "--report", "p.html", "--metrics",
        "average_precision,mae", cwd=files,
    )  # fmt: skip
    assert " ".join(stated.stdout.split()).count("mae is left out: mae takes value") == 1
    assert "mae is left out" not in stated.stderr
    assert "For your colleagues" in stated.stdout
    page = text_of((files / "p.html").read_text(encoding="utf-8"))
    assert "Assumptions" in page
    assert "By share of the rows that is public" in page
    refused = run_here(*command, "--teams", "five", cwd=files)
    assert (refused.returncode, "--teams takes whole numbers" in refused.stderr) == (2, True)
    assert stated.returncode == 0, stated.stderr
    assert "power for 0.02" in stated.stdout
    assert "of a paired test of two submissions named in advance" in " ".join(stated.stdout.split())
    assert "under a normal and a nonparametric prior" in " ".join(stated.stdout.split())
    assert (files / "c" / "plan.svg").stat().st_size > 1_000


@pytest.mark.parametrize(
    ("option", "values", "said"),
    [
        ("--per-day", "2.5", "takes whole numbers separated by commas, such as 1,5"),
        ("--teams", "inf", "takes whole numbers"),
        ("--public-share", "0.2,nan", "takes numbers separated by commas, such as 0.1,0.3"),
    ],
)
def test_plan_refuses_what_is_no_list_of_numbers(tmp_path, option, values, said):
    refused = run_here("plan", "solution.csv", option, values, cwd=tmp_path)
    assert (refused.returncode, f"{option} {said}" in refused.stderr) == (2, True)


@pytest.mark.slow
def test_plan_of_a_competition_is_without_a_trace(files):
    creation = run_here(
        "init",
        "c",
        "--solution",
        "solution.csv",
        *UNPROTECTED,
        "--metric",
        "roc_auc",
        "--seed",
        1,
        cwd=files,
    )
    assert creation.returncode == 0, creation.stderr
    assert run_here("plan", "-C", "c", cwd=files).returncode == 2
    assert run_here("import", "../files", cwd=files / "c").returncode == 0
    before = document(run_here("audit", "--json", cwd=files / "c"), "audit")
    printed = document(run_here("plan", "--json", "--difference", 0.01, cwd=files / "c"), "plan")
    assert printed["submissions"] == 4
    assert document(run_here("audit", "--json", cwd=files / "c"), "audit") == before


def test_who_trains_no_models_is_refused(tmp_path):
    called = run_here("simulate", "ranks", "--search", "boosting", cwd=tmp_path)
    assert called.returncode == 2
    assert "trains no models" in called.stderr


@pytest.mark.slow
def test_plan_takes_groups_and_refuses_boards_without_meaning(files):
    rows = [line.split(",") for line in (files / "solution.csv").read_text().splitlines()[1:]]
    write_csv(files / "grouped.csv", ["id", "y", "patient"],
              [(*row, f"p{number % 12}") for number, row in enumerate(rows)])  # fmt: skip
    command = ("plan", "grouped.csv", "files", "-m", "roc_auc", "--resamples", 100, "--json")
    grouped = document(run_here(*command, "--cluster", "patient", cwd=files), "plan")
    assert 1 <= grouped["degrees_of_freedom"] <= 11
    rare = [(name, int(number < 3)) for number, (name, _) in enumerate(rows)]
    write_csv(files / "rare.csv", ["id", "y"], rare)
    for team in range(3):
        guess = [(name, int(number == 290 + team)) for number, (name, _) in enumerate(rare)]
        write_csv(files / "none" / f"team{team}.csv", ["id", "y"], guess)
    called = run_here("plan", "rare.csv", "none", "-m", "f1", "--resamples", 50, cwd=files)
    assert (called.returncode, called.stdout) == (1, "")
    messages = " ".join(called.stderr.split())
    assert "No submission scores better than a constant prediction" in messages
    assert "A ranking of such submissions has no meaning" in messages


def test_plan_refuses(files):
    assert "--metric" in run_here("plan", "solution.csv", cwd=files).stderr
    assert run_here("plan", cwd=files).returncode == 1
