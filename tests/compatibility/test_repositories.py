"""Files of public repositories give the numbers that the repositories give.

    ARENA_REPOSITORIES=FOLDER pytest -m slow tests/compatibility/test_repositories.py

FOLDER holds bare clones named OWNER+NAME, or OWNER+NAME/repo. A source that is absent is skipped.
"""

from __future__ import annotations

import io
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
    clone = next((clone for clone in clones if (clone / "HEAD").is_file()), None)
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
    assert not board.rejected, [rejected.faults[:2] for rejected in board.rejected]
    return {standing["team"]: standing["score"] for standing in board.standings}


@pytest.mark.repository("hfawaz/cd-diagram")
def test_mean_ranks_of_a_critical_difference_diagram(take: Take) -> None:
    path = take("example.csv")
    scores = _scores(rank_of(path, aggregate="rank-then-mean"))
    table = pd.read_csv(path).pivot(
        index="dataset_name", columns="classifier_name", values="accuracy"
    )
    official = table.rank(axis=1, ascending=False).mean().to_dict()  # as main.py of the repository
    assert scores == pytest.approx(official)


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
    scores = _scores(rank_of(path, aggregate="rank-then-mean", columns=_TSC))
    assert scores == pytest.approx(official, abs=5e-7)  # the README has six digits


@pytest.mark.repository("openai/grade-school-math")
def test_shares_of_solved_problems(take: Take) -> None:
    path = take("grade_school_math/data/example_model_solutions.jsonl")
    columns = CaseColumns(case="question", value="is_correct")
    scores = _scores(rank_of(path, columns=columns))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    official = {name: sum(row[name]["is_correct"] for row in rows) / len(rows) for name in scores}
    assert scores == pytest.approx(official)
    assert len(scores) == 4


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
    with qrels.open() as gold, run.open() as run_file:
        evaluator = evaluation.RelevanceEvaluator(
            evaluation.parse_qrel(gold), {measure.replace("recall_5", "recall.5")}
        )
        values = evaluator.evaluate(evaluation.parse_run(run_file))
    official = sum(value[measure] for value in values.values()) / len(values)
    assert list(_scores(board).values()) == pytest.approx([official])


@pytest.mark.repository("allenai/aristo-leaderboard")
@pytest.mark.parametrize("task", ["arc/data-easy", "arc/data-challenge", "openbookqa/data"])
def test_answers_without_a_header(take: Take, task: str) -> None:
    gold, predictions = (
        take(f"{task}/question-answers.jsonl"),
        take(f"{task}/dummy-predictions.csv"),
    )
    board = arena.score(
        gold, [predictions], metric="accuracy", no_header=["id", "answerKey"], resamples=20
    )
    keys = [json.loads(line) for line in gold.read_text().splitlines()]
    answers = dict(line.split(",") for line in predictions.read_text().splitlines())
    official = sum(answers[key["id"]] == key["answerKey"] for key in keys) / len(keys)
    assert list(_scores(board).values()) == pytest.approx([official])


@pytest.mark.repository("angus924/rocket")
def test_a_file_for_each_algorithm(take: Take) -> None:
    paths = [take(f"results/{name}.csv") for name in ("results_ucr", "results_ucr_resamples")]
    columns = CaseColumns(algorithm_from="name", value="accuracy_mean")
    board = rank_of(paths, columns=columns)
    official = {path.stem: pd.read_csv(path)["accuracy_mean"].mean() for path in paths}
    assert _scores(board) == pytest.approx(official)


@pytest.mark.repository("mirkobunse/critdd")
def test_mean_ranks_by_losses_on_several_tasks(take: Take) -> None:
    path = take("docs/source/2d_example.csv")
    columns = CaseColumns(value="loss", task="diagram")
    scores = _scores(
        rank_of(path, greater_is_better=False, aggregate="rank-then-mean", columns=columns)
    )
    table = pd.read_csv(path).pivot(index=["diagram", "dataset"], columns="method", values="loss")
    assert scores == pytest.approx(table.rank(axis=1).mean().to_dict())  # as its stats.friedman


@pytest.mark.repository("hfawaz/InceptionTime")
def test_columns_of_algorithms_and_data_sets_are_recognised(take: Take) -> None:
    path = take("results-InceptionTime-85.csv")
    scores = _scores(
        rank_of(path, aggregate="rank-then-mean", columns=CaseColumns(value="accuracy"))
    )
    table = pd.read_csv(path).pivot(
        index="dataset_name", columns="classifier_name", values="accuracy"
    )
    assert scores == pytest.approx(table.rank(axis=1, ascending=False).mean().to_dict())
    assert len(scores) == 12


@pytest.mark.repository("ChangWeiTan/MultiRocket")
def test_an_algorithm_that_lacks_values_is_set_apart(take: Take) -> None:
    path = take("results/all_resamples_average.csv")
    board = rank_of(path)
    means = pd.read_csv(path, index_col=0).mean().drop("S-BOSS")
    scores = {standing["team"]: standing["score"] for standing in board.standings}
    assert scores == pytest.approx(means.to_dict())
    assert [rejected.file for rejected in board.rejected] == ["S-BOSS"]


@pytest.mark.repository("SalesforceAIResearch/gift-eval")
def test_a_folder_for_each_model(take: Take) -> None:
    names = ("naive", "chronos_bolt_base", "Moirai2", "MoiraiAgent")
    paths = [take(f"results/{name}/all_results.csv") for name in names]
    value = "eval_metrics/MASE[0.5]"
    columns = CaseColumns(algorithm="model", case="dataset", value=value)
    board = rank_of(paths, greater_is_better=False, columns=columns)
    tables = pd.concat(map(pd.read_csv, paths))
    assert _scores(board) == pytest.approx(tables.groupby("model")[value].mean().to_dict())


@pytest.mark.repository("autogluon/fev")
def test_columns_of_settings_beside_the_errors(take: Take) -> None:
    names = ("tirex", "auto_ets", "seasonal_naive")
    paths = [take(f"benchmarks/chronos_zeroshot/results/{name}.csv") for name in names]
    columns = CaseColumns(case="task_name", value="test_error")
    board = rank_of(paths, greater_is_better=False, columns=columns)
    tables = pd.concat(map(pd.read_csv, paths))
    official = tables.groupby("model_name")["test_error"].mean().to_dict()
    assert _scores(board) == pytest.approx(official)


@pytest.mark.repository("amazon-science/chronos-forecasting")
def test_geometric_means_relative_to_a_baseline(take: Take) -> None:
    folder = "scripts/evaluation/results"
    names = ("chronos-t5-base", "chronos-t5-mini", "chronos-bolt-base")
    paths = [take(f"{folder}/{name}-zero-shot.csv") for name in (*names, "seasonal-naive")]
    columns = CaseColumns(algorithm="model", case="dataset", task="dataset", value="MASE")
    board = rank_of(
        paths,
        greater_is_better=False,
        columns=columns,
        combine="geometric",
        baseline="seasonal-naive",
    )
    official = {"seasonal-naive": 1.0}
    for name in names:
        table = pd.read_csv(take(f"{folder}/{name}-agg-rel-scores.csv"), index_col=[0, 1])
        official[f"amazon/{name}"] = table.loc[("zero-shot", "MASE"), "value"]
    assert _scores(board) == pytest.approx(official)


@pytest.mark.repository("tatsu-lab/alpaca_eval")
def test_preferences_of_a_judge(take: Take) -> None:
    names = ("FuseChat-Gemma-2-9B-Instruct", "FuseChat-Llama-3.2-1B-Instruct")
    judge = "weighted_alpaca_eval_gpt4_turbo"
    paths = [take(f"results/{name}/{judge}/annotations.json") for name in names]
    columns = CaseColumns(algorithm="generator_2", case="instruction", value="preference")
    scores = _scores(rank_of(paths, columns=columns))
    folder = "src/alpaca_eval/leaderboards/data_AlpacaEval_2"
    official = pd.read_csv(take(f"{folder}/{judge}_leaderboard.csv"), index_col=0)["win_rate"]
    assert {name: 100 * (score - 1) for name, score in scores.items()} == pytest.approx(
        official[list(names)].to_dict()
    )


@pytest.mark.repository("wiesenfa/challengeR")
def test_several_tasks_of_a_challenge(take: Take) -> None:
    path = take("inst/extdata/data_matrix.csv")
    official = pd.read_csv(path).groupby("alg_name")["value"].mean().to_dict()
    assert _scores(rank_of(path, columns=CaseColumns(task="task"))) == pytest.approx(official)


@pytest.mark.repository("angus924/hydra")
def test_a_column_for_each_variant(take: Take) -> None:
    path = take("results/results_ucr112_variants.csv")
    official = pd.read_csv(path, index_col=0).mean().to_dict()
    assert _scores(rank_of(path)) == pytest.approx(official)


@pytest.mark.repository("angus924/minirocket")
def test_one_algorithm_named_after_its_file(take: Take) -> None:
    path = take("results/results_ucr109_mean.csv")
    columns = CaseColumns(algorithm_from="name", value="accuracy")
    (score,) = _scores(rank_of(path, columns=columns)).values()
    assert score == pytest.approx(pd.read_csv(path)["accuracy"].mean())


@pytest.mark.repository("usnistgov/trec_eval")
def test_the_example_of_trec_eval(take: Take) -> None:
    board = arena.score(take("test/qrels.test"), take("test/results.test"), metric="trec_map")
    lines = map(str.split, take("test/out.test").read_text().splitlines())
    official = next(float(line[2]) for line in lines if line[0] == "map")
    assert list(_scores(board).values()) == pytest.approx([official], abs=5e-5)


@pytest.mark.repository("wmt-conference/wmt22-news-systems")
def test_a_translation_in_each_line(take: Take) -> None:
    pytest.importorskip("sacrebleu")
    names = ("AMU", "GTCOM", "Online-Y")
    form = "txt/system-outputs/generaltest2022.cs-uk.hyp.{}.uk"
    board = arena.score(
        take("txt/references/generaltest2022.cs-uk.ref.A.uk"),
        [take(form.format(name)) for name in names],
        metric="chrf",
        no_header=["text"],
        resamples=20,
    )
    table = pd.read_csv(take("scores/automatic-scores.tsv"), sep="\t")
    table = table[(table["pair"] == "cs-uk") & (table["metric"] == "chrf-all")]
    official = table.set_index("system")["score"]
    scores = {team.rpartition(".")[2]: score for team, score in _scores(board).items()}
    assert scores == pytest.approx(official[list(names)].to_dict())


@pytest.mark.repository("microsoft/CodeXGLUE")
def test_predictions_without_a_header(take: Take) -> None:
    folder = "Code-Code/Defect-detection/evaluator"
    board = arena.score(
        take(f"{folder}/test.jsonl"),
        take(f"{folder}/predictions.txt"),
        metric="accuracy",
        id="idx",
        target="target",
        no_header=["idx", "target"],
        resamples=20,
    )
    assert list(_scores(board).values()) == pytest.approx([0.6])  # as its evaluator.py


@pytest.mark.repository("microsoft/CodeXGLUE")
def test_pairs_as_ids_without_a_header(take: Take) -> None:
    folder = "Code-Code/Clone-detection-BigCloneBench/evaluator"
    board = arena.score(
        take(f"{folder}/answers.txt"),
        take(f"{folder}/predictions.txt"),
        metric="f1(average=macro)",
        id="first,second",
        no_header=["first", "second", "label"],
        resamples=20,
    )
    assert list(_scores(board).values()) == pytest.approx([1 / 3])  # as its evaluator.py


@pytest.mark.repository("TheDatumOrg/TSB-AD")
def test_columns_of_facts_are_cut_off(take: Take) -> None:
    path = take("benchmark_exp/benchmark_eval_results/uni_mergedTable_VUS-PR.csv")
    lines = [line.split(",")[:33] for line in path.read_text().splitlines()]
    path.write_text("".join(f"{','.join(line)}\n" for line in lines))
    official = pd.read_csv(path, index_col=0).mean().to_dict()
    scores = _scores(rank_of(path))
    assert len(scores) == 32
    assert scores == pytest.approx(official)


@pytest.mark.repository("coseal/aslib_data")
def test_running_times_of_solvers(take: Take) -> None:
    path = take("BNSL-2016/algorithm_runs.arff")
    names = ["instance_id", "repetition", "algorithm", "runtime", "runstatus"]
    columns = CaseColumns(case="instance_id", value="runtime")
    rows = path.read_text().partition("@DATA\n")[2]
    table = pd.read_csv(io.StringIO(rows), names=names)
    official = table.groupby("algorithm")["runtime"].mean().to_dict()
    board = rank_of(path, greater_is_better=False, columns=columns)
    assert _scores(board) == pytest.approx(official)


@pytest.mark.repository("samplchallenges/SAMPL6")
def test_absolute_errors_of_molecules(take: Take) -> None:
    folder = "physical_properties/logP/analysis_with_reassigned_categories/analysis_outputs"
    path = take(f"{folder}/logP_submission_collection.csv")
    table = pd.read_csv(path)
    table["error"] = table[r"$\Delta$logP error (calc - exp)"].abs()
    columns = CaseColumns(algorithm="receipt_id", case="Molecule ID", value="error")
    board = rank_of(table, greater_is_better=False, columns=columns)
    statistics = pd.read_csv(take(f"{folder}/StatisticsTables/statistics.csv"), index_col=0)
    scores = _scores(board)
    assert len(scores) > 80
    assert scores == pytest.approx(statistics["MAE"][list(scores)].to_dict())


def rank_of(table: Any, *, greater_is_better: bool = True, **settings: Any) -> Any:
    return arena.rank(table, greater_is_better=greater_is_better, resamples=20, **settings)


@pytest.mark.repository("mrqa/MRQA-Shared-Task-2019")
def test_a_leaderboard_with_a_column_for_each_case(take: Take) -> None:
    path = take("results/ood-test-results.json")
    columns = CaseColumns(
        algorithm="submission.description",
        case="columns",
        value="scores.*_f1",
        records="leaderboard",
    )
    board = rank_of(path, columns=columns)  # three models lack a task and are set apart
    scores = {standing["team"]: standing["score"] for standing in board.standings}
    for entry in json.loads(path.read_text())["leaderboard"]:
        name = entry["submission"]["description"].strip()
        f1 = [score for task, score in entry["scores"].items() if task.endswith("_f1")]
        # The README: "the macro-average across all test datasets".
        assert name not in scores or scores[name] == pytest.approx(sum(f1) / 12)
    assert scores["D-NET (Baidu)"] == pytest.approx(72.500383)


@pytest.mark.repository("AmenRa/ranx")
def test_judgements_and_runs_in_json(take: Take) -> None:
    files = [take(f"tests/unit/ranx/test_data/{name}.json") for name in ("qrels", "run")]
    board = arena.score(files[0], files[1:], metric="trec_ndcg", resamples=20)
    assert list(_scores(board).values()) == pytest.approx([1.0])


@pytest.mark.repository("angus924/quant")
def test_repeats_in_numbered_columns(take: Take) -> None:
    path = take("results/accuracy_resamples_ucr142.csv")
    scores = _scores(rank_of(path, columns=CaseColumns(algorithm_from="name")))
    official = pd.read_csv(take("results/accuracy_mean_ucr142.csv"))["accuracy"].mean()
    assert list(scores.values()) == pytest.approx([official], abs=5e-7)  # six digits


@pytest.mark.repository("MSD-IRIMAS/Multi_Comparison_Matrix")
def test_a_table_without_a_column_of_cases(take: Take) -> None:
    path = take("results_example.csv")
    scores = _scores(rank_of(path, columns=CaseColumns(case="auto")))
    assert scores == pytest.approx(pd.read_csv(path).mean().to_dict())


@pytest.mark.repository("OATML-Markslab/ProteinGym")
def test_means_of_proteins_within_their_functions(take: Take) -> None:
    folder = "benchmarks/DMS_zero_shot/substitutions/Spearman"
    table = pd.read_csv(take(f"{folder}/DMS_substitutions_Spearman_DMS_level.csv"))
    columns = CaseColumns(case="UniProt ID", task="Selection Type", repeat="auto")
    table = table.drop(columns="Number of Mutants")
    board = rank_of(table, columns=columns, combine="mean")  # a model lacks a value
    scores = {standing["team"]: standing["score"] for standing in board.standings}
    summary = pd.read_csv(take(f"{folder}/Summary_performance_DMS_substitutions_Spearman.csv"))
    official = dict(zip(summary["Model_name"], summary["Average_Spearman"], strict=True))
    common = scores.keys() & official.keys()
    assert len(common) > 80
    # Both files have three digits.
    assert {name: scores[name] for name in common} == pytest.approx(
        {name: official[name] for name in common}, abs=1.1e-3
    )


@pytest.mark.repository("physionetchallenges/evaluation-2020")
def test_classes_above_measures_of_teams(take: Take) -> None:
    path = take("Results/physionet_2020_validation_metrics_by_class_official_entries.csv")
    columns = CaseColumns(algorithm="Team name", case="columns", value="*.AUROC")
    board = rank_of(path, columns=columns)  # a team lacks four values
    scores = {standing["team"]: standing["score"] for standing in board.standings}
    table = pd.read_csv(path, header=1, index_col="Team name").filter(like="AUROC")
    assert scores == pytest.approx(table.mean(axis=1).rename(str.strip)[list(scores)].to_dict())
    assert scores["prna"] == pytest.approx(0.893, abs=1e-3)  # in the file for each database


@pytest.mark.repository("tuetschek/e2e-metrics")
def test_references_in_blocks_of_lines(take: Take) -> None:
    files = [take(f"example-inputs/{name}.txt") for name in ("devel-conc", "baseline-output")]
    board = arena.score(
        files[0], files[1:], metric="bleu(lowercase=True)", id="block", no_header=["text"],
        resamples=20,
    )  # fmt: skip
    # metrics/pymteval.py of the repository gives 0.7202928494322162.
    assert list(_scores(board).values()) == pytest.approx([72.02928494322162])


@pytest.mark.repository("Sage-Bionetworks/challengescoring")
def test_predictions_of_a_dream_challenge(take: Take) -> None:
    truth = pd.read_csv(take("tests/truth.csv"))
    tables = {name: pd.read_csv(take(f"tests/{name}Sim.csv")) for name in ("good", "bad")}
    teams = {name: table.rename(columns={"prediction": "value"}) for name, table in tables.items()}
    board = arena.score(truth, teams, metric="spearman", id="patientId", resamples=20)
    official = {
        name: table["prediction"].corr(truth["value"], method="spearman")
        for name, table in tables.items()
    }
    assert _scores(board) == pytest.approx(official)
