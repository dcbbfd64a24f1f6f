"""Files of public repositories give the numbers that the repositories give.

    ARENA_REPOSITORIES=FOLDER pytest -m slow tests/compatibility/test_repositories.py

FOLDER holds bare clones named OWNER+NAME, or OWNER+NAME/repo. A source that is absent is skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import arena
from arena.intake import CaseColumns

pytestmark = pytest.mark.slow
FOLDER = Path(os.environ.get("ARENA_REPOSITORIES", "repositories"))
Take = Callable[[str], Path]


@pytest.fixture
def take(request: pytest.FixtureRequest, tmp_path: Path) -> Take:
    """Return a file of the repository of the test's marker, written to a folder."""
    (name,) = request.node.get_closest_marker("repository").args
    clones = [FOLDER / name.replace("/", "+") / below for below in ("repo", "")]
    clone = next((one for one in clones if (one / "HEAD").is_file()), None)
    if clone is None:
        pytest.skip(f"no clone of {name} in {FOLDER}")

    def write(path: str) -> Path:
        done = subprocess.run(
            ["git", "-C", str(clone), "show", f"HEAD:{path}"], capture_output=True, check=True
        )
        target = tmp_path / path.replace("/", "_")
        target.write_bytes(done.stdout)
        return target

    return write


def _scores(board: Any) -> dict[str, float]:
    assert not board.rejected, [one.faults[:2] for one in board.rejected]
    return {one["team"]: one["score"] for one in board.standings}


@pytest.mark.repository("hfawaz/cd-diagram")
def test_mean_ranks_of_a_critical_difference_diagram(take: Take) -> None:
    path = take("example.csv")
    found = _scores(rank_of(path, aggregate="rank-then-mean"))
    table = pd.read_csv(path).pivot(
        index="dataset_name", columns="classifier_name", values="accuracy"
    )
    official = table.rank(axis=1, ascending=False).mean().to_dict()  # as main.py of the repository
    assert found == pytest.approx(official)


_TSC = CaseColumns(
    algorithm="classifier_name", case="dataset_name", repeat="iteration", value="accuracy"
)


@pytest.mark.repository("hfawaz/dl-4-tsc")
@pytest.mark.parametrize(
    ("file", "official"),
    [
        ("uea", {"mlp": 4.611765, "fcn": 2.682353, "resnet": 1.994118, "encoder": 3.682353,
                 "mcnn": 8.017647, "tlenet": 8.417647, "mcdcnn": 5.376471, "cnn": 4.970588,
                 "twiesn": 5.247059}),
        ("mts", {"mlp": 5.208333, "fcn": 2.0, "resnet": 2.875, "encoder": 3.041667,
                 "mcnn": 7.583333, "tlenet": 8.0, "mcdcnn": 6.833333, "cnn": 4.625,
                 "twiesn": 4.833333}),
    ],
)  # fmt: skip
def test_mean_ranks_of_deep_learning_for_time_series(
    take: Take, file: str, official: dict[str, float]
) -> None:
    path = take(f"results/results-{file}.csv")
    found = _scores(rank_of(path, aggregate="rank-then-mean", columns=_TSC))
    assert found == pytest.approx(official, abs=5e-7)  # the README has six digits


@pytest.mark.repository("openai/grade-school-math")
def test_shares_of_solved_problems(take: Take) -> None:
    path = take("grade_school_math/data/example_model_solutions.jsonl")
    columns = CaseColumns(case="question", value="is_correct")
    found = _scores(rank_of(path, columns=columns))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    official = {name: sum(row[name]["is_correct"] for row in rows) / len(rows) for name in found}
    assert found == pytest.approx(official)
    assert len(found) == 4


@pytest.mark.repository("terrierteam/ir_measures")
@pytest.mark.parametrize("name", ["compat", "cwl"])
@pytest.mark.parametrize(
    ("metric", "measure"),
    [("trec_map", "map"), ("trec_ndcg", "ndcg"), ("trec_mrr", "recip_rank"),
     ("trec_recall(k=5)", "recall_5")],
)  # fmt: skip
def test_runs_of_trec(take: Take, name: str, metric: str, measure: str) -> None:
    evaluation = pytest.importorskip("pytrec_eval")
    qrels, run = take(f"tests/{name}.qrels"), take(f"tests/{name}.run")
    board = arena.score(qrels, [run], metric=metric, resamples=20)
    with qrels.open() as gold, run.open() as sent:
        evaluator = evaluation.RelevanceEvaluator(
            evaluation.parse_qrel(gold), {measure.replace("recall_5", "recall.5")}
        )
        values = evaluator.evaluate(evaluation.parse_run(sent))
    official = sum(one[measure] for one in values.values()) / len(values)
    assert list(_scores(board).values()) == pytest.approx([official])


@pytest.mark.repository("allenai/aristo-leaderboard")
@pytest.mark.parametrize("task", ["arc/data-easy", "arc/data-challenge", "openbookqa/data"])
def test_answers_without_a_header(take: Take, task: str) -> None:
    gold, sent = take(f"{task}/question-answers.jsonl"), take(f"{task}/dummy-predictions.csv")
    board = arena.score(
        gold, [sent], metric="accuracy", no_header=["id", "answerKey"], resamples=20
    )
    keys = [json.loads(line) for line in gold.read_text().splitlines()]
    answers = dict(line.split(",") for line in sent.read_text().splitlines())
    official = sum(answers[one["id"]] == one["answerKey"] for one in keys) / len(keys)
    assert list(_scores(board).values()) == pytest.approx([official])


@pytest.mark.repository("angus924/rocket")
def test_a_file_for_each_algorithm(take: Take, tmp_path: Path) -> None:
    paths = [take(f"results/{name}.csv") for name in ("results_ucr", "results_ucr_resamples")]
    columns = CaseColumns(algorithm_from="name", value="accuracy_mean")
    board = rank_of(paths, columns=columns)
    official = {path.stem: pd.read_csv(path)["accuracy_mean"].mean() for path in paths}
    assert _scores(board) == pytest.approx(official)


@pytest.mark.repository("mirkobunse/critdd")
def test_mean_ranks_by_losses_on_several_tasks(take: Take) -> None:
    path = take("docs/source/2d_example.csv")
    columns = CaseColumns(value="loss", task="diagram")
    found = _scores(
        rank_of(path, greater_is_better=False, aggregate="rank-then-mean", columns=columns)
    )
    table = pd.read_csv(path).pivot(index=["diagram", "dataset"], columns="method", values="loss")
    assert found == pytest.approx(table.rank(axis=1).mean().to_dict())  # as its stats.friedman


@pytest.mark.repository("hfawaz/InceptionTime")
def test_columns_of_algorithms_and_data_sets_are_recognised(take: Take) -> None:
    path = take("results-InceptionTime-85.csv")
    found = _scores(
        rank_of(path, aggregate="rank-then-mean", columns=CaseColumns(value="accuracy"))
    )
    table = pd.read_csv(path).pivot(
        index="dataset_name", columns="classifier_name", values="accuracy"
    )
    assert found == pytest.approx(table.rank(axis=1, ascending=False).mean().to_dict())
    assert len(found) == 12


@pytest.mark.repository("ChangWeiTan/MultiRocket")
def test_an_algorithm_that_lacks_values_is_set_apart(take: Take) -> None:
    path = take("results/all_resamples_average.csv")
    board = rank_of(path)
    means = pd.read_csv(path, index_col=0).mean().drop("S-BOSS")
    found = {one["team"]: one["score"] for one in board.standings}
    assert found == pytest.approx(means.to_dict())
    assert [one.file for one in board.rejected] == ["S-BOSS"]


def rank_of(table: Any, *, greater_is_better: bool = True, **settings: Any) -> Any:
    return arena.rank(table, greater_is_better=greater_is_better, resamples=20, **settings)
