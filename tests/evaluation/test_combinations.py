"""Scores that combine metrics and tasks: held to definitions, and their ranks to the truth."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena.errors import MetricError, UsageError
from arena.evaluation.absent import absent_cell
from arena.evaluation.binding import bind
from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.combination_parts import COMBINATIONS, Combination
from arena.evaluation.combinations import combined_metric, served_metric
from arena.evaluation.combined_metric import scores_of_parts
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import influence_values, score_under_weights
from arena.evaluation.served_kinds import common_kind, conversion
from arena.evaluation.shared_weights import keep_sizes
from arena.interfaces import HasInfluenceValues, HasRowValues, kinds_of
from arena.plugin.manager import PluginManager
from arena.scoring.score import score
from arena.types import PredictionKind, Solution, Target, Usage
from arena.utils.tabular import as_json
from arena_ranking.combined_ranks import better_mean_rank, better_worst_score
from kept import check_kept_document

METRICS = PluginManager().metrics
N, M = 90, 5


def mean_ranks(scores: Any, weights: Any, larger: bool) -> Any:
    signed = -scores if larger else scores
    ranks = [[(own < x).sum() + ((own == x).sum() + 1) / 2 for x in own] for own in signed]
    return weights @ np.array(ranks)


DEFINITIONS = {
    "mean": lambda scores, weights, _: weights @ scores,
    "rows": lambda scores, weights, _: weights @ scores,
    "geometric": lambda scores, weights, _: np.prod(scores.T**weights, axis=1),
    "worst": lambda scores, _, larger: scores.min(axis=0) if larger else scores.max(axis=0),
    "mean_rank": mean_ranks,
}
CASES = [
    (("roc_auc",), True, {"b": 3.0}),
    (("accuracy",), True, {}),
    (("log_loss", "brier"), False, {"brier": 0.5}),
    (("accuracy", "f1", "roc_auc"), False, {"f1": 2.0}),
    (("accuracy", "roc_auc"), True, {"c": 0.5, "roc_auc": 2.0}),
]


def solution(seed: int = 0) -> Solution:
    rng = np.random.default_rng(seed)
    return Solution(
        id_column="id",
        targets=(Target("y", ("no", "yes")),),
        columns=("y",),
        kind=PredictionKind.CLASS_PROBABILITIES,
        ids=pa.array([str(row) for row in range(N)]),
        truth=rng.permutation(np.arange(N) % 2),
        usage=np.full(N, Usage.PRIVATE, dtype=np.uint8),
        sha256="",
        tasks=rng.permutation(np.repeat([0, 1, 2], [20, 30, 40])),
        task_names=("a", "b", "c"),
    )


def probabilities(truth: Any, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    signal = (truth - 0.5) * np.linspace(0.2, 0.6, M)[:, None]
    return np.clip(0.5 + signal + 0.3 * rng.normal(size=(M, N)), 0.01, 0.99)


def combined(names: Any, how: str, weights: Any, data: Solution, *, by_task: bool) -> Any:
    metrics = {name: METRICS.resolve(name) for name in names}
    used_weights = {name: weight for name, weight in weights.items() if how != "worst"}
    combination = combined_metric(
        metrics, Combination(how, used_weights), by_task=by_task, solution=data
    )
    return bind(combination, data, np.ones(N, dtype=np.bool_))


@pytest.mark.few(3)
@pytest.mark.parametrize("how", COMBINATIONS)
@pytest.mark.parametrize(("names", "by_task", "weights"), CASES)
def test_a_combination_is_its_definition(how: str, names: Any, by_task: bool, weights: Any) -> None:
    """By the scores of each metric on each task, under three resamples."""
    data = solution()
    block, metric = probabilities(data.truth), combined(names, how, weights, data, by_task=by_task)
    counts = np.random.default_rng(2).integers(1, 4, size=(N, 3)).astype(np.uint8)
    resampled = score_under_weights(metric, data.truth, ArrayPredictions(block), counts)
    codes = [data.tasks == code for code in range(3)] if by_task else [np.ones(N, dtype=bool)]
    part_weights = 1.0 * np.array(
        [
            weights.get(name, 1.0) * (weights.get(task, 1.0) if by_task else 1.0)
            for _, task in zip(codes, data.task_names, strict=False)
            for name in names
        ]
    )
    if how == "rows":
        part_weights *= np.repeat([rows.sum() for rows in codes], len(names))
    if how == "worst":
        part_weights[:] = 1.0
    for b in range(3):
        of_parts = []
        for rows in codes:
            for name in names:
                single = METRICS.resolve(name)
                own = (block > 0.5).astype(int) if single.prediction == "label" else block
                of_parts.append(
                    [
                        single.score(
                            data.truth[rows], submission[rows], counts[rows, b].astype(float)
                        )
                        for submission in own
                    ]
                )
        larger = METRICS.resolve(names[0]).greater_is_better
        expected = DEFINITIONS[how](np.array(of_parts), part_weights / part_weights.sum(), larger)
        np.testing.assert_allclose(resampled[:, b], expected, rtol=1e-10)
    assert metric.greater_is_better == (how != "mean_rank" and larger)
    if how != "mean_rank":
        assert metric.score(data.truth, block[0], counts[:, 2]) == pytest.approx(resampled[0, 2])


def said_of(metric: Any, data: Solution, block: Any) -> dict[str, Any]:
    """Return everything that a bound combination says of submissions, rows 0, 40 and 80 apart."""
    predictions = ArrayPredictions(block)
    fixed = draw_resamples(N, 2, 0, strata=data.tasks).weights
    counts = np.random.default_rng(2).integers(1, 4, size=(N, 2)).astype(np.uint8)
    document = {
        "name": metric.name,
        "larger is better": metric.greater_is_better,
        "range": [list(metric.traits.score_range), metric.traits.row_range],
        "weights": [[part.name, part.weight] for part in metric.parts],
        "weights of tasks": metric.weights_of_tasks.tolist(),
        "tasks of fixed sizes": score_under_weights(metric, data.truth, predictions, fixed),
        "scores": score_under_weights(metric, data.truth, predictions, counts),
    }
    if isinstance(metric, HasInfluenceValues | HasRowValues):
        influence = influence_values(metric, data.truth, block)
        assert influence is not None
        document["influence"] = influence[:, [0, 40, 80]]
    return as_json(document)  # type: ignore[no-any-return]


def test_all_that_combinations_say_is_kept() -> None:
    """The tasks follow each other, so that their rows are views."""
    data = replace(solution(), tasks=np.repeat([0, 1, 2], [20, 30, 40]))
    block, document = probabilities(data.truth)[:2], {}
    for how in COMBINATIONS:
        for names, by_task, weights in CASES[::2]:
            metric = combined(names, how, weights, data, by_task=by_task)
            title = f"{how} of {' '.join(names)}{' by task' if by_task else ''}"
            document[title] = said_of(metric, data, block)
            if how == "geometric":
                relative = replace(metric, baseline=probabilities(data.truth)[-1])
                document[f"{title}, relative"] = said_of(relative, data, block)
    check_kept_document("combinations", document)


@pytest.mark.few(2)
@pytest.mark.parametrize("how", ["mean", "rows"])
@pytest.mark.parametrize(
    ("names", "weights"), [(("brier", "log_loss"), {"b": 3.0}), (("accuracy", "roc_auc"), {})]
)
def test_tasks_of_fixed_sizes_are_one_product_with_the_same_mean(
    how: str, names: Any, weights: Any
) -> None:
    data = solution()
    block = probabilities(data.truth)
    metric = combined(names, how, weights, data, by_task=True)
    counts = draw_resamples(N, 5, 0, strata=data.tasks).weights
    assert keep_sizes(metric.tasks, counts)
    expected = metric.combine(scores_of_parts(metric, data.truth, ArrayPredictions(block), counts))
    scores = score_under_weights(metric, data.truth, ArrayPredictions(block), counts)
    np.testing.assert_allclose(scores, expected, rtol=1e-11)


@pytest.mark.few(4)
@pytest.mark.parametrize("how", ["mean", "rows", "geometric"])
@pytest.mark.parametrize(("names", "by_task", "weights"), CASES)
def test_influence_values_are_the_effect_of_a_row(
    how: str, names: Any, by_task: bool, weights: Any
) -> None:
    """A row that counts a little more changes the score by its value over n, within its part."""
    data = solution()
    block, metric = probabilities(data.truth), combined(names, how, weights, data, by_task=by_task)
    assert isinstance(metric, HasInfluenceValues | HasRowValues)
    values = influence_values(metric, data.truth, block)
    assert values is not None
    np.testing.assert_allclose(values.sum(axis=1), 0, atol=1e-9)
    for row in (0, 40, 80):
        count = np.full(N, 1.0)
        count[row] += 1e-6
        before, after = (metric.score(data.truth, block[0], weight) for weight in (None, count))
        change = (after - before) / 1e-6
        share = 1.0
        if by_task:  # the values allow for the mean of a task that is subtracted
            rows = int((data.tasks == data.tasks[row]).sum())
            share = np.sqrt(rows / (rows - 1) * (N - 1) / N)
        assert values[0, row] == pytest.approx(N * change * share, rel=1e-3, abs=1e-6)


def test_the_order_of_rows_does_not_matter() -> None:
    data, order = solution(), np.random.default_rng(3).permutation(N)
    block = probabilities(data.truth)
    moved = replace(
        data, truth=data.truth[order], tasks=data.tasks[order], ids=data.ids.take(pa.array(order))
    )
    once = np.ones((N, 1), dtype=np.uint8)
    for how in COMBINATIONS:
        scores = [
            score_under_weights(
                combined(("roc_auc",), how, {}, problem, by_task=True),
                problem.truth,
                ArrayPredictions(values),
                once,
            )
            for problem, values in ((data, block), (moved, block[:, order]))
        ]
        np.testing.assert_allclose(scores[0], scores[1], rtol=1e-12)


def test_weights_are_from_a_billionth_to_a_billion() -> None:
    assert Combination("mean", {"f1": 1e-9, "mcc": 1e9}).weights == {"f1": 1e-9, "mcc": 1e9}
    for weight in (9e-10, 1.1e9, float("nan")):
        with pytest.raises(UsageError) as refused:
            Combination("mean", {"f1": weight})
        assert str(refused.value) == (
            f"The weight of f1 must be a positive number from 1e-09 to 1e+09, not {weight}."
        )


def test_what_cannot_be_combined_is_refused_in_a_sentence() -> None:
    both = {name: METRICS.resolve(name) for name in ("roc_auc", "log_loss")}
    for how in COMBINATIONS:
        if how == "mean_rank":
            assert not combined_metric(both, Combination(how)).greater_is_better
            continue
        with pytest.raises(UsageError, match=r"smaller values of log_loss are better.*mean_rank"):
            combined_metric(both, Combination(how))
    with pytest.raises(UsageError, match="no metric or task 'd' to weight"):
        combined(("roc_auc",), "mean", {"d": 2.0}, solution(), by_task=True)
    with pytest.raises(UsageError, match="takes no weights"):
        Combination("worst", {"a": 2.0})
    with pytest.raises(UsageError, match="must be one of mean, rows, geometric"):
        Combination("median")
    with pytest.raises(UsageError, match="No submission serves all of these metrics"):
        common_kind([METRICS.resolve("accuracy"), METRICS.resolve("mae")])
    data = solution()
    metric = combined(("mcc", "accuracy"), "geometric", {}, data, by_task=False)
    with pytest.raises(MetricError, match="needs scores above 0"):
        metric.score(data.truth, 1.0 - data.truth)
    for worst, expected in ((0.01, 0.1), (0.0, None)):  # the root of 0.01 x 1
        scores = np.array([[worst], [1.0]])
        if expected is not None:
            assert metric.combine(scores) == pytest.approx(expected)
            continue
        with pytest.raises(MetricError, match="needs scores above 0"):
            metric.combine(scores)
    truth = {"id": [1, 2], "y": [0, 1]}
    with pytest.raises(UsageError, match="only one score to combine"):
        score(truth, {"a": [0.1, 0.2]}, metric="roc_auc", combine="mean")
    with pytest.raises(UsageError, match="named twice"):
        score(truth, {"a": [0.1, 0.2]}, metric=["roc_auc", "roc_auc"])


def test_kinds_that_serve_all_metrics_are_in_the_order_of_the_metrics_and_of_detail() -> None:
    for names, kinds in (
        (("accuracy",), ["label", "class probabilities", "probability"]),
        (("roc_auc",), ["score", "class probabilities", "probability"]),
        (("roc_auc", "accuracy"), ["class probabilities", "probability"]),
        (("rmse", "mae"), ["value"]),
    ):
        served = common_kind([METRICS.resolve(name) for name in names])
        assert [kind.value for kind in served] == kinds


SERVED = {
    ("class probabilities", 2): {"score", "probability", "class probabilities", "label"},
    ("probability", 2): {"score", "probability", "class probabilities", "label"},
    ("class probabilities", 3): {"score", "class probabilities", "label"},
    ("score", 2): {"score", "probability", "class probabilities"},
    ("score", 3): {"score"},
    ("label", 2): {"label"},
    ("value", None): {"value"},
    ("text", None): {"text"},
}
"""Content of submissions and number of labels -> the kinds of metrics that it serves."""


@pytest.mark.parametrize(("kind", "n_classes"), SERVED)
def test_probabilities_serve_scores_and_labels_and_nothing_else_changes(
    kind: str, n_classes: int | None
) -> None:
    of_kind = {
        "score": "roc_auc", "class probabilities": "log_loss", "label": "accuracy", "value": "mae",
        "text": "dice",
    }  # fmt: skip
    for needed, name in of_kind.items():
        metric = METRICS.resolve(name)
        assert needed in [str(kind.value) for kind in kinds_of(metric)]
        serves = needed in SERVED[kind, n_classes]
        refused = pytest.raises(UsageError, match=f"but submissions contain {kind}")
        with nullcontext() if serves else refused:
            conversion(metric, PredictionKind(kind), n_classes, scores=True)


@pytest.mark.parametrize(("n_classes", "serves"), [(2, True), (3, False), (None, False)])
def test_two_class_probabilities_are_a_probability(n_classes: int | None, serves: bool) -> None:
    metric: Any = SimpleNamespace(name="chance", prediction=PredictionKind.PROBABILITY)
    refused = pytest.raises(UsageError, match="chance scores probability, but submissions contain")
    with nullcontext() if serves else refused:
        assert conversion(metric, PredictionKind.CLASS_PROBABILITIES, n_classes) is None


def test_labels_of_probabilities_have_the_score_of_labels() -> None:
    data = solution()
    block = probabilities(data.truth)
    served = served_metric("accuracy", METRICS.resolve("accuracy"), data.outline())
    metric = bind(served, data, np.ones(N, dtype=bool))
    labels = (block[0] > 0.5).astype(int)
    assert metric.score(data.truth, block[0]) == (labels == data.truth).mean()


@pytest.mark.parametrize("names", [("brier",), ("roc_auc",), ("accuracy", "roc_auc")])
def test_the_score_of_an_absent_part_is_the_same_in_every_resample(names: tuple[str, ...]) -> None:
    """Also where probabilities are converted to labels, which have no mark of their own."""
    data = solution()
    combination = combined_metric(
        {name: METRICS.resolve(name) for name in names}, Combination(), by_task=True, solution=data
    )
    absent = replace(combination, scores_of_absent={"b": 0.25})
    every_row = np.ones(N, dtype=np.bool_)
    metric, plain = bind(absent, data, every_row), bind(combination, data, every_row)
    block, rows = probabilities(data.truth), data.tasks == 1
    marked = block.copy()
    marked[0, rows] = absent_cell(block.dtype)
    weights = draw_resamples(N, 20, 3, strata=data.tasks).weights
    scores, plain_scores = (
        score_under_weights(each, data.truth, ArrayPredictions(predictions), weights)
        for each, predictions in ((metric, marked), (plain, block))
    )
    assert scores[1:] == pytest.approx(plain_scores[1:])
    others = [part for part in plain.parts if not part.name.endswith("of b")]
    expected = 0.25 / 3 + sum(
        part.weight
        * score_under_weights(
            part.metric, part.of_rows(data.truth),
            part.of_predictions(ArrayPredictions(block[:1])), weights[part.rows],
        )
        for part in others
    )  # fmt: skip
    assert scores[:1] == pytest.approx(expected)
    influence = influence_values(metric, data.truth, marked)
    assert influence is not None
    assert (influence[0, rows] == 0).all()
    assert influence[1:] == pytest.approx(influence_values(plain, data.truth, block)[1:])


# -- ranks of parts --------------------------------------------------------------------------------


def _some_true_decisions(rng: Any, truth: Any) -> list[Any]:
    """Return, of each part, a random closed part of its true order."""
    parts = []
    for own in truth:
        gaps = own[:, None] - own
        parts.append(gaps > rng.choice([0.0, 0.5, 1.0, 2.0]))
    return parts


def test_decisions_that_are_right_imply_no_wrong_mean_rank_and_no_wrong_worst_score() -> None:
    rng, claimed = np.random.default_rng(0), np.zeros(2, dtype=int)
    for _ in range(300):
        m, n_parts = int(rng.integers(2, 7)), int(rng.integers(1, 5))
        truth = rng.integers(0, 4, size=(n_parts, m)) * 1.0 + rng.choice([0, 1]) * rng.random(m)
        weights = rng.dirichlet(np.ones(n_parts))
        better = _some_true_decisions(rng, truth)
        ranks = mean_ranks(truth, weights, larger=True)
        decided = better_mean_rank(better, weights)
        assert (ranks[:, None] < ranks)[decided].all()
        slack = rng.random((2, n_parts, m))
        worst = truth.min(axis=0)
        scores = better_worst_score(better, truth - slack[0], truth + slack[1])
        assert (worst[:, None] > worst)[scores].all()
        claimed += decided.sum(), scores.sum()
    assert (claimed > 100).all()


@pytest.mark.slow
def test_a_board_has_the_columns_of_its_parts_and_one_joint_claim() -> None:
    """Two pairs of equal teams are told apart; the intervals contain the scores."""
    rng = np.random.default_rng(5)
    n = 1_500
    truth = rng.integers(0, 2, n)
    right = rng.random((4, n)) < np.array([0.95, 0.94, 0.6, 0.6])[:, None]
    table = {"id": np.arange(n), "y": truth, "task": np.repeat(["a", "b", "c"], n // 3)}
    teams = {f"t{j}": np.where(right[j], truth, 1 - truth) for j in range(4)}
    for how in COMBINATIONS:
        board = score(
            table, teams, metric="accuracy", target="y", tasks="task", combine=how, resamples=300
        )
        rows = {row["team"]: row for row in board.standings}
        assert {row["tier"] for row in board.standings} == {1, 2}
        assert [rows[f"t{j}"]["possible_winner"] for j in range(4)] == [True, True, False, False]
        for row in board.standings:
            assert row["score_low"] <= row["score"] <= row["score_high"]
            assert (row["rank_low"] == 1) == row["possible_winner"]
        assert rows["t0"]["accuracy of b"] == right[0, n // 3 : 2 * n // 3].mean()
        best = board.best_score_corrected
        assert best["low"] <= best["estimate"] <= best["high"]


def test_parts_of_a_bound_metric_have_their_own_rows() -> None:
    data = solution()
    metric = combined(("accuracy",), "mean", {}, data, by_task=True)
    block = probabilities(data.truth)
    once = np.ones((N, 1), dtype=np.uint8)
    scores = scores_of_parts(metric, data.truth, ArrayPredictions(block), once)
    assert scores.shape == (3, M, 1)
    for code, own in enumerate(scores[:, :, 0]):
        rows = data.tasks == code
        np.testing.assert_allclose(own, ((block > 0.5) == data.truth)[:, rows].mean(axis=1))


@pytest.mark.parametrize("fewest", [29, pytest.param(30, marks=pytest.mark.slow)])
def test_a_task_with_few_rows_withholds_the_intervals_of_scores(fewest: int) -> None:
    """20 rows of .9 hid their errors: nominal 95% intervals held on .92 of 100 boards."""
    rng = np.random.default_rng(0)
    n = fewest + 60
    truth = rng.integers(0, 2, n)
    table = {"id": np.arange(n), "y": truth, "task": ["small"] * fewest + ["large"] * 60}
    teams = {team: np.where(rng.random(n) < 0.7, truth, 1 - truth) for team in "ab"}
    board = score(
        table, teams, metric="accuracy", target="y", tasks="task", combine="mean", resamples=40
    )
    withheld = fewest < 30
    assert [row["score_low"] is None for row in board.standings] == [withheld] * 2
    reason = board.best_score_corrected["reason"]
    assert ("A task has only 29 rows" in str(reason)) == withheld


def test_the_name_of_a_combination_lists_its_metrics() -> None:
    data = solution()
    metric = combined(("roc_auc", "log_loss", "accuracy"), "mean_rank", {}, data, by_task=False)
    assert metric.name == "mean rank by roc_auc, log_loss and accuracy"
