"""The commands, their documents and their refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.errors import ArenaError, UsageError
from arena_sota import cli
from competition_folder import document
from kept import check_kept, check_kept_document, with_short_curves
from program import UNPROTECTED, run_here, write_csv
from scenario import Scenario
from schemas import check_document

INIT = (
    "init",
    "c",
    "--solution",
    "solution.csv",
    *UNPROTECTED,
    "--metric",
    "accuracy",
    "--seed",
    1,
)


def test_max(tmp_path):
    called = run_here(
        "sota", "max", "--rows", 3000, "--classifiers", 1000, "--theta", 0.9, "--rho", 0.6,
        "--theta0", 0.9, "--json", cwd=tmp_path,
    )  # fmt: skip
    printed = document(called, "sota-max")
    assert round(printed["mean"], 4) == 0.9140
    assert round(printed["std"], 4) == 0.0035
    assert round(printed["interval"][1], 4) == 0.9207


def test_max_of_coins_says_how_probable_a_best_score_is(tmp_path):
    command = ("sota", "max", "--rows", 20, "--classifiers", 1000, "--theta", 0.5, "--at", 0.9)
    printed = document(run_here(*command, "--json", cwd=tmp_path), "sota-max")
    (at_least,) = printed["at_least"]
    assert (at_least["score"], round(at_least["probability"], 4)) == (0.9, 0.1823)
    assert [pair["share"] for pair in printed["quantiles"]] == [0.025, 0.05, 0.5, 0.95, 0.975]
    assert printed["quantiles"][-1]["score"] == printed["interval"][1]
    process = run_here(*command, "--chart", "max.json", cwd=tmp_path)
    assert "P(best score >= 0.9) = 0.1823." in process.stdout
    assert "layer" in (tmp_path / "max.json").read_text()
    assert run_here(*command, "--chart", "max.gif", cwd=tmp_path).returncode == 2


def test_max_of_a_uniform_and_of_a_file(tmp_path):
    uniform = document(
        run_here(
            "sota",
            "max",
            "--rows",
            3000,
            "--classifiers",
            1000,
            "--uniform",
            0.875025,
            0.900025,
            "--json",
            cwd=tmp_path,
        ),
        "sota-max",
    )
    assert round(uniform["mean"], 4) == 0.9130
    assert uniform["theta_sota"] == pytest.approx(0.9, abs=1e-6)
    (tmp_path / "theta.txt").write_text("0.9\n0.8\n", encoding="utf-8")
    two = run_here("sota", "max", "--rows", 100, "--theta-file", "theta.txt", cwd=tmp_path)
    assert "The best of 2 scores" in two.stdout


def test_a_uniform_lies_between_two_probabilities():
    ends = ((0.0, 1.0), (0.5, 1.0), (0.0, 0.5))
    assert [cli.accuracies_of(None, pair, None).support() for pair in ends] == [*ends]
    for pair in ((-1e-9, 0.5), (0.5, 0.5), (0.5, 0.4), (0.5, 1 + 1e-9)):
        with pytest.raises(UsageError, match="two probabilities A and B with 0 <= A < B <= 1"):
            cli.accuracies_of(None, pair, None)


def test_max_refuses(tmp_path):
    both = run_here("sota", "max", "--rows", 9, "--theta", 0.5, "--uniform", 0, 1, cwd=tmp_path)
    assert both.returncode == 2
    refused = run_here(
        "sota", "max", "--rows", 9, "--theta", 0.99, "--rho", 0.9, "--theta0", 0.5, cwd=tmp_path
    )
    assert refused.returncode == 2
    assert "largest rho0" in refused.stderr


def write_board(folder):
    counts = np.round(500 * (0.91 - 0.05 * np.linspace(0, 1, 60) ** 2)).astype(int)
    rows = [(f"t{position}", f"{int(count) / 500:.4f}") for position, count in enumerate(counts)]
    write_csv(folder / "board.csv", ["team", "points"], rows)


def allowed(printed):
    """The document has the fields of a board, and none of a competition."""
    assert printed["solved"]
    assert printed["n_above"] > 0
    assert "clusters" not in printed
    return printed


def estimate_document(called):
    import json

    assert called.returncode == 0, called.stderr
    printed = json.loads(called.stdout)
    check_document(printed, "sota-estimate")
    return printed


COMMANDS = {
    "max": ("max", "--rows", 50, "--classifiers", 20, "--theta", 0.8, "--at", 0.9),
    "max, dependent": (
        "max", "--rows", 50, "--classifiers", 20, "--uniform", 0.7, 0.8, "--rho", 0.5,
        "--theta0", 0.8,
    ),
    "estimate": ("estimate", "board.csv", "--rows", 50, "--classes", 2),
    "estimate of one row": ("estimate", "board.csv", "--rows", 1, "--rho", 0),
    "max of a file": ("max", "--rows", 50, "--theta-file", "theta.txt", "--rho", 0.9),
    "max of easy rows": (
        "max", "--rows", 50, "--classifiers", 3, "--theta", 0.8, "--rho", 0.5, "--theta0", 0.8,
        "--correct0", 45,
    ),
    "max of AUCs": (
        "max", "-m", "roc_auc", "--uniform", 0.7, 0.9, "--classifiers", 4, "--positives", 6,
        "--negatives", 8, "--repetitions", 4, "--rho", 0.5, "--at", 0.9, "--seed", 3,
    ),
    "estimate with rho0": (
        "estimate", "board.csv", "--rows", 20, "--rho", 0.9, "--theta", "fixed", "--target",
        "upper", "--level", 0.9,
    ),
    "estimate of AUCs": (
        "estimate", "board.csv", "-m", "roc_auc", "--positives", 6, "--negatives", 8,
        "--repetitions", 4, "--rho", 0.5, "--seed", 3,
    ),
    "estimate of percentages": (
        "estimate", "percent.csv", "--score-column", "points", "--where", "track=1", "--percent",
        "--rows", 50, "--classes", 4, "--method", "crop",
    ),
    "posterior": ("posterior", "board.csv", "--rows", 50, "--rho", 0, "--epsilon", 0.01),
    "posterior under a prior": (
        "posterior", "board.csv", "--rows", 50, "--classes", 4, "--rho", 0, "--prior", 0, 1,
        "--level", 0.5,
    ),
    "similarity": ("similarity", "--theta", 0.75, "--similarity", 0.85),
    "similarity, apart": ("similarity", "--theta", 0.75, "--theta2", 0.7, "--similarity", 0.5),
}  # fmt: skip


THETAS = "0.8\n0.7\n0.2\n"
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("max", {"theta": 0.8}),
    ("max", {"theta": 0.8, "rows": 5, "positives": 5}),
    ("max", {"theta": 0.8, "rows": 5, "negatives": 5}),
    ("max", {"metric": "roc_auc", "theta": 0.8, "negatives": 5}),
    ("max", {"metric": "roc_auc", "theta": 0.8, "positives": 5}),
    ("max", {"metric": "roc_auc", "theta": 0.8, "positives": 5, "negatives": 5, "rows": 5}),
    ("max", {"metric": "roc_auc", "theta": 0.8, "positives": 5, "negatives": 5, "theta0": 0.8}),
    ("max", {"metric": "roc_auc", "theta": 0.8, "positives": 5, "negatives": 5, "correct0": 1}),
    ("max", {"metric": "roc_auc", "theta": 0.8, "positives": 0, "negatives": 5}),
    ("max", {"metric": "roc_auc", "theta": 0.8, "positives": 5, "negatives": 0}),
    ("max", {"metric": "roc_auc", "theta": 0.8, "positives": 5, "negatives": 5, "rho": 1}),
    ("max", {"metric": "roc_auc", "uniform": (0.7, 0.8), "positives": 5, "negatives": 5}),
    ("max", {"metric": "roc_auc", "theta_file": "theta.txt", "classifiers": 2, "positives": 5,
        "negatives": 5}),
    ("max", {"rows": 5}),
    ("max", {"rows": 5, "theta": 0.8, "theta_file": "theta.txt"}),
    ("max", {"rows": 5, "uniform": (0.7, 0.8)}),
    ("max", {"rows": 5, "uniform": (0.7, 0.7)}),
    ("max", {"rows": 5, "uniform": (-0.1, 0.7)}),
    ("max", {"rows": 5, "uniform": (0.7, 1.1)}),
    ("max", {"theta": 0.8, "rows": 0}),
    ("max", {"theta": 0.8, "rows": 5, "classifiers": 0}),
    ("max", {"theta": 0.8, "rows": 5, "rho": 1}),
    ("max", {"theta": 0.8, "rows": 5, "theta0": 1.1}),
    ("max", {"theta": 0.8, "rows": 5, "correct0": 6}),
    ("max", {"theta": 0.8, "rows": 5, "rho": 0.5, "theta0": 1}),
    ("max", {"theta": 1.1, "rows": 5}),
    ("estimate", {"board": "board.csv"}),
    ("estimate", {"board": "board.csv", "metric": "roc_auc"}),
    ("estimate", {"board": "board.csv", "metric": "roc_auc", "positives": 5}),
    ("estimate", {"board": "board.csv", "metric": "roc_auc", "positives": 5, "negatives": 5,
        "method": "crop"}),
    ("estimate", {"board": "board.csv", "rows": 0}),
    ("estimate", {"board": "board.csv", "rows": 50, "classes": 1}),
    ("estimate", {"board": "board.csv", "rows": 50, "where": "score"}),
    ("estimate", {"board": "board.csv", "rows": 50, "where": "score=2"}),
    ("estimate", {"board": "board.csv", "rows": 50, "method": "crop", "theta": "fixed"}),
    ("estimate", {"board": "board.csv", "rows": 50, "level": 1}),
    ("posterior", {"board": "board.csv", "rows": 50, "prior": (0.5, 0.5)}),
    ("posterior", {"board": "board.csv", "rows": 50, "prior": (-0.1, 0.5)}),
    ("posterior", {"board": "board.csv", "rows": 50, "prior": (0.5, 1.1)}),
    ("similarity", {"theta": 1, "similarity": 1}),
    ("similarity", {"theta": 0.75, "similarity": 0.4999}),
]  # fmt: skip


def test_what_the_commands_print_is_the_kept_whole(tmp_path, monkeypatch):
    """In a narrow window, which wraps the sentences itself."""
    monkeypatch.setenv("COLUMNS", "60")
    scores = (0.5, 0.62, 0.7, 0.74, 0.78, 0.82, 0.84, 0.84)
    write_csv(tmp_path / "board.csv", ["score"], [(score,) for score in scores])
    percentages = [(100 * score, position % 2) for position, score in enumerate(scores)]
    write_csv(tmp_path / "percent.csv", ["points", "track"], percentages)
    (tmp_path / "theta.txt").write_text(THETAS, encoding="utf-8")
    output, documents, charts = [], {}, {}
    for name, command in COMMANDS.items():
        chart_options = ("--chart", "chart.json") if name == "max" else ()
        called = run_here("sota", *command, *chart_options, cwd=tmp_path)
        assert called.returncode == 0, called.stderr
        output += [f"# {name}", called.stdout, called.stderr]
        if chart_options:
            charts[name] = json.loads((tmp_path / "chart.json").read_text(encoding="utf-8"))
        if name == "max, dependent":
            documents[name] = json.loads(run_here("sota", *command, "--json", cwd=tmp_path).stdout)
    check_kept("sota-commands.txt", "\n".join(output))
    outputs = {"documents": documents, "charts": charts}
    check_kept_document("sota-commands", with_short_curves(outputs))


def test_refusals_of_the_commands_are_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "board.csv", ["score"], [(0.5,), (0.7,), (0.8,)])
    (tmp_path / "theta.txt").write_text(THETAS, encoding="utf-8")
    commands = {
        "max": cli.max_command, "estimate": cli.estimate, "posterior": cli.posterior,
        "similarity": cli.similarity,
    }  # fmt: skip
    lines = []
    for name, options in REFUSED:
        paths = {key: Path(options[key]) for key in ("board", "theta_file") if key in options}
        with pytest.raises(ArenaError) as refusal:
            commands[name](**{**options, **paths})
        lines += [f"# {name} {options}", f"{type(refusal.value).__name__}: {refusal.value}"]
    check_kept("sota-refused.txt", "\n".join(lines))


@pytest.mark.slow
def test_estimate_of_a_board(tmp_path):
    write_board(tmp_path)
    command = ("sota", "estimate", "board.csv", "--score-column", "points", "--classes", 2)
    printed = allowed(estimate_document(run_here(*command, "--rows", 500, "--json", cwd=tmp_path)))
    assert (printed["rho0"], printed["rho0_source"]) == (0.6, "default")
    assert any("common cause" in assumption for assumption in printed["assumptions"])
    assert printed["simulation_error"] is None
    low, high = printed["sota_interval"]
    assert low < printed["empirical_bayes"] < high
    assert low < printed["sota"] < high
    assert printed["observed_maximum"] == pytest.approx(0.91)
    assert printed["expected_maximum"] == pytest.approx(0.91, abs=1e-5)
    cropped = estimate_document(
        run_here(*command, "--rows", 500, "--method", "crop", "--json", cwd=tmp_path)
    )
    assert cropped["crop"] == cropped["sota"]
    output = run_here(*command, "--rows", 500, cwd=tmp_path).stdout
    assert "Under the estimate, 95% of best scores" in output
    assert "The best true accuracy is between" in output
    assert "rho0 is 0.600, the default of the papers, not estimated" in output
    wrong = run_here(*command, "--rows", 496, cwd=tmp_path)
    assert "they are of 1/500" in wrong.stderr
    assert run_here(*command, cwd=tmp_path).returncode == 2


def test_estimate_says_who_does_not_count(tmp_path):
    rows = [("a", 0.95), ("b", 0.94), ("c", 0.55), ("d", 0.4)]
    write_csv(tmp_path / "board.csv", ["team", "score"], rows)
    command = ("sota", "estimate", "board.csv", "--rows", 100, "--rho", 0.9)
    assert estimate_document(run_here(*command, "--json", cwd=tmp_path))["rho0"] == 0.9
    process = run_here(*command, cwd=tmp_path)
    assert (
        "The model of selection counts 3 of 4 scores: 1 score no better than guessing is left out"
        in process.stdout
    )
    assert "1 team scores too low" in process.stdout
    assert "give a smaller --rho" in process.stdout.replace("\n", " ")


def test_estimate_of_an_auc_board(tmp_path):
    write_board(tmp_path)
    called = run_here(
        "sota", "estimate", "board.csv", "--score-column", "points", "--metric", "roc_auc",
        "--positives", 100, "--negatives", 400, "--repetitions", 40, "--json", cwd=tmp_path,
    )  # fmt: skip
    printed = allowed(estimate_document(called))
    assert printed["rho0"] == 0.0
    assert printed["sota_interval"] is None
    assert printed["empirical_bayes"] is None
    assert 0 < printed["simulation_error"] < 0.01


def test_max_of_aucs_is_printed_with_its_simulation_error(tmp_path):
    command = (
        "sota", "max", "-m", "roc_auc", "--classifiers", 5, "--theta", 0.9, "--positives", 20,
        "--negatives", 30, "--repetitions", 25, "--at", 0.95,
    )  # fmt: skip
    printed = document(run_here(*command, "--json", cwd=tmp_path), "sota-max")
    error = printed["simulation_error"]
    assert error == pytest.approx(printed["std"] / 5)
    assert 0.9 < printed["theta_sota"] + printed["bias"] < 1
    output = run_here(*command, cwd=tmp_path).stdout
    assert "The best of 5 AUCs on 20 positive and 30 negative rows is 0.9" in output
    assert f"{printed['mean']:.4f} ± {error:.2g} on average" in output
    assert f"{printed['std']:.4f} ± {printed['std_simulation_error']:.2g};" in output
    for quantile in printed["quantiles"]:
        assert f"{quantile['score']:.4f} ± {quantile['simulation_error']:.2g}" in output
    (reached,) = printed["at_least"]
    assert f"= {reached['probability']:.4g} ± {reached['simulation_error']:.2g}." in output
    refused = run_here("sota", "max", "--theta", 0.9, "-m", "roc_auc", "--rows", 9, cwd=tmp_path)
    assert "roc_auc needs --positives and --negatives" in refused.stderr


def test_posterior_of_a_board(tmp_path):
    scores = [(round(80 * (0.91 - 0.1 * place)) / 80,) for place in np.linspace(0, 1, 4) ** 2]
    write_csv(tmp_path / "board.csv", ["score"], scores)
    command = ("sota", "posterior", "board.csv", "--rows", 80, "--rho", 0)
    options = ("--prior", 0.5, 0.9, "--chart", "p.json", "--json")
    printed = document(run_here(*command, *options, cwd=tmp_path), "sota-posterior")
    low, high = printed["interval"]
    assert 0.8 < low < printed["mean"] < high < 0.9 < printed["observed_maximum"]
    assert sum(printed["probability"]) == pytest.approx(1)
    assert max(np.array(printed["best"])[np.array(printed["probability"]) > 0]) < 0.9
    assert printed["prior"] == "uniform on 0.5 to 0.9"
    chart = json.loads((tmp_path / "p.json").read_text())
    check_kept_document("sota-posterior", with_short_curves([printed, chart]))
    assert run_here(*command, "--prior", 0.9, 0.8, cwd=tmp_path).returncode == 2


def test_similarity(tmp_path):
    called = run_here(
        "sota", "similarity", "--theta", 0.756, "--similarity", 0.85, "--json", cwd=tmp_path
    )
    printed = document(called, "sota-similarity")
    assert (round(printed["rho_pair"], 3), round(printed["rho0"], 3)) == (0.593, 0.770)
    impossible = run_here("sota", "similarity", "--theta", 0.9, "--similarity", 0.1, cwd=tmp_path)
    assert impossible.returncode == 2


@pytest.mark.slow
def test_output_for_stored_submissions_is_kept(tmp_path):
    """Four teams, of which two sent the same file; two files of one team."""
    scenario, lines = Scenario(tmp_path), []

    def run(*command, code=0):
        process = run_here("sota", *command, "-C", "c", cwd=tmp_path)
        assert process.returncode == code, process.stderr
        lines.extend([f"# {' '.join(map(str, command))}", process.stdout, process.stderr])

    with scenario.create(resamples=100) as competition:
        for number, team in enumerate(("a", "b", "a", "c")):
            competition.submit(scenario.file(number, 0.6 + 0.04 * number), team)
        competition.submit(scenario.file(3, 0.72), "copy")
    run("estimate", "--count", "finals", code=2)
    run("estimate")
    check_kept("sota-stored.txt", "\n".join(lines))


@pytest.fixture
def competition(tmp_path):
    rng = np.random.default_rng(0)
    ids = [f"r{row:03d}" for row in range(300)]
    truth = rng.integers(0, 2, 300)
    write_csv(tmp_path / "solution.csv", ["id", "y"], list(zip(ids, truth, strict=True)))
    easy = rng.random(300) < 0.8
    for team in range(6):
        for number in range(2):
            right = rng.random(300) < np.where(easy, 0.9, 0.4)
            guess = np.where(right, truth, 1 - truth)
            path = tmp_path / "files" / f"team{team}" / f"{number}.csv"
            write_csv(path, ["id", "y"], list(zip(ids, guess, strict=True)))
    assert run_here(*INIT, cwd=tmp_path).returncode == 0
    assert run_here("import", "../files", cwd=tmp_path / "c").returncode == 0
    return tmp_path / "c"


@pytest.mark.slow
def test_estimate_of_a_competition(competition):
    early = run_here("sota", "estimate", "--count", "finals", cwd=competition)
    assert early.returncode == 2
    every = estimate_document(run_here("sota", "estimate", "--json", cwd=competition))
    assert every["submissions"] == every["clusters"] == 12
    assert every["model"] == "accuracy"
    assert every["rho0_source"] == "predictions"
    best = every["corrected_best"]
    assert best["low"] <= best["estimate"] <= best["high"]
    assert run_here("finalize", cwd=competition).returncode == 0
    finals = estimate_document(
        run_here("sota", "estimate", "--count", "finals", "--json", cwd=competition)
    )
    assert finals["submissions"] == 6
    process = run_here("sota", "estimate", "--chart", "e.svg", cwd=competition)
    assert process.stdout.startswith("From the predictions: corrected for selection")
    assert "<svg" in (competition / "e.svg").read_text()
    assert "None of the 12 submissions is a near-duplicate of another." in process.stdout


@pytest.mark.slow
def test_finalize_runs_the_analysis(competition):
    import json

    called = run_here("finalize", "--json", cwd=competition)
    findings = {finding["analysis"]: finding for finding in json.loads(called.stdout)["findings"]}
    assert findings["sota"]["document"]["clusters"] == 6
