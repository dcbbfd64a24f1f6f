"""Rows of unequal weight: scores, resamples, intervals, and what refuses weights."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sklearn.metrics as skm

from arena import BoardSettings, ScoreSettings, score
from arena.competition.competition import Competition
from arena.competition.exports.verify import verify_bundle
from arena.competition.rescore import align_solution
from arena.config import Settings
from arena.errors import InputError, MetricError, UsageError
from arena.evaluation.binding import bind
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.row_weights import row_weights_of
from arena.evaluation.scores import full_scores, influence_values, score_under_weights
from arena.evaluation.solution_metric import metric_of_solution
from arena.intake.solution import read_solution
from arena.plugin.manager import PluginManager
from arena.types import ROW_WEIGHTS, PredictionKind, Solution, SolutionColumns, Target, Usage
from arena.utils.parallel import NoProgress

N = 60
METRICS = PluginManager().metrics
RNG = np.random.default_rng(3)
WEIGHTS = RNG.lognormal(0, 1, N)
VALUES = RNG.normal(size=N)
CLASSES = RNG.integers(0, 2, N)
SENT = VALUES + RNG.normal(size=(2, N))
SCORES = CLASSES + RNG.normal(size=(2, N))
COUNTS = np.stack([np.ones(N), *RNG.multinomial(N, np.full(N, 1 / N), 4)], axis=1).astype(np.uint8)


def bound(name: str, truth: Any, classes: tuple[str, ...] | None, weights: Any = WEIGHTS) -> Any:
    several = truth.ndim > 1
    targets = tuple(
        Target(f"y{number}", classes) for number in range(truth.shape[1] if several else 1)
    )
    solution = Solution(
        id_column="id",
        targets=targets,
        columns=tuple(target.name for target in targets),
        kind=METRICS.resolve(name).prediction,
        ids=pa.array([str(row) for row in range(N)]),
        truth=truth,
        usage=np.ones(N, dtype=np.uint8),
        sha256="",
        extra={ROW_WEIGHTS: weights},
    )
    metric = metric_of_solution(METRICS.resolve(name), solution)
    return bind(metric, solution, np.ones(N, dtype=np.bool_))


@pytest.mark.parametrize(
    ("name", "truth", "sent", "classes", "expected"),
    [
        ("mse", VALUES, SENT, None, skm.mean_squared_error),
        ("rmse", VALUES, SENT, None, skm.root_mean_squared_error),
        ("accuracy", CLASSES, (SCORES > 0.5) * 1, ("a", "b"), skm.accuracy_score),
        ("f1", CLASSES, (SCORES > 0.5) * 1, ("a", "b"), skm.f1_score),
        ("roc_auc", CLASSES, SCORES, ("a", "b"), skm.roc_auc_score),
        ("r2", VALUES, SENT, None, skm.r2_score),
        ("sklearn:median_absolute_error", VALUES, SENT, None, skm.median_absolute_error),
        ("sklearn.metrics:mean_absolute_error", VALUES, SENT, None, skm.mean_absolute_error),
    ],
)
def test_scores_under_counts_use_weights_times_counts(
    name: str, truth: Any, sent: Any, classes: Any, expected: Any
) -> None:
    metric = bound(name, truth, classes)
    predictions = ArrayPredictions(sent)
    expected_scores = [
        [expected(truth, predictions, sample_weight=WEIGHTS * counts) for counts in COUNTS.T]
        for predictions in sent
    ]
    if metric.traits.time_limit is None:  # else in worker processes, which the next line shows
        resampled = score_under_weights(metric, truth, predictions, COUNTS)
        np.testing.assert_allclose(resampled, expected_scores, rtol=1e-9)
        full = full_scores(metric, truth, predictions)
        np.testing.assert_allclose(full, np.array(expected_scores)[:, 0], rtol=1e-9)
    prepared = metric.prepare(truth, sent[0])
    np.testing.assert_allclose(
        [prepared(counts) for counts in COUNTS.T], expected_scores[0], rtol=1e-9
    )


def test_several_targets_and_equal_weights() -> None:
    truth, predictions = np.column_stack([VALUES, -VALUES]), np.stack([SENT, -SENT], axis=2)
    single, both = bound("rmse", VALUES, None), bound("rmse", truth, None)
    assert both.score(truth, predictions[0]) == pytest.approx(
        single.score(VALUES, SENT[0]), rel=1e-12
    )
    np.testing.assert_array_equal(row_weights_of(both), WEIGHTS)  # for the degrees of freedom
    even, plain = bound("rmse", VALUES, None, np.full(N, 0.3)), METRICS.resolve("rmse")
    assert even.score(VALUES, SENT[0]) == pytest.approx(plain.score(VALUES, SENT[0]), rel=1e-12)
    np.testing.assert_allclose(
        even.influence_values(VALUES, SENT), influence_values(plain, VALUES, SENT), atol=1e-9
    )


def test_rows_without_a_weight_above_0_are_refused() -> None:
    message = "No row of the split has a weight above 0. Check the weights."
    with pytest.raises(MetricError, match=f"^{re.escape(message)}$"):
        bound("mse", VALUES, None, np.zeros(N))


def test_influence_values_are_the_derivative_of_the_score() -> None:
    metric = bound("rmse", VALUES, None)
    values = metric.influence_values(VALUES, SENT)
    assert values.sum(axis=1) == pytest.approx(0, abs=1e-9)
    step = 1e-6
    for row in (0, 7, 31):
        weight = np.ones(N)
        weight[row] += step
        rise = metric.score(VALUES, SENT[0], weight) - metric.score(VALUES, SENT[0])
        assert values[0, row] == pytest.approx(N * rise / step, rel=1e-3, abs=1e-4)


def write(folder: Path, weights: Any, column: str = "Weight") -> Path:
    usage = np.where(np.arange(N) % 3 == 0, "Public", "Private")
    rows = zip(range(N), VALUES.tolist(), weights, usage, strict=True)
    lines = [f"id,y,{column},Usage", *(f"r{i},{y},{w},{u}" for i, y, w, u in rows)]
    (folder / "solution.csv").write_text("\n".join(lines) + "\n")
    (folder / "sent").mkdir(exist_ok=True)
    for number, own in enumerate(SENT.tolist()):
        sent = ["id,y", *(f"r{i},{y}" for i, y in enumerate(own))]
        (folder / "sent" / f"team{number}.csv").write_text("\n".join(sent) + "\n")
    return folder / "solution.csv"


def test_a_board_with_weights(tmp_path: Path) -> None:
    settings = ScoreSettings(
        "mse", columns=SolutionColumns(weight="Weight"), board=BoardSettings(40, workers=1)
    )
    result = score(write(tmp_path, WEIGHTS), [tmp_path / "sent"], settings)
    private = np.arange(N) % 3 != 0
    for row in result.standings:
        predictions = SENT[int(row["team"][-1])]
        for rows, key in ((private, "score"), (~private, "public_score")):
            expected = np.average(np.square(predictions - VALUES)[rows], weights=WEIGHTS[rows])
            assert row[key] == pytest.approx(expected, rel=1e-9)
        assert row["score_low"] < row["score"] < row["score_high"]
    assert any("rows of equal weight" in note for note in result.notes)
    with pytest.raises(InputError, match='add weight="Weight"'):
        score(tmp_path / "solution.csv", [tmp_path / "sent"], ScoreSettings("mse"))


@pytest.mark.parametrize("scale", [1e308, 1e-310])
def test_weights_whose_sum_overflows_or_vanishes_keep_their_ratios(
    tmp_path: Path, scale: float
) -> None:
    path = write(tmp_path, np.where(np.arange(N) % 2, 1.0, 0.5) * scale)
    columns = SolutionColumns(weight="Weight")
    read = read_solution(path, kind=PredictionKind.VALUE, columns=columns)
    weights = read.extra[ROW_WEIGHTS]
    assert 1e-100 < weights.sum() < 1e100
    np.testing.assert_allclose(weights[::2] / weights[1], 0.5, rtol=1e-9)


def test_rows_of_weight_0_are_not_ranked(tmp_path: Path) -> None:
    """Otherwise they would count as evidence: units of tests and rows drawn by resamples."""
    path = write(tmp_path, np.where(np.arange(N) % 4 < 2, WEIGHTS, 0))
    columns = SolutionColumns(weight="Weight")
    read = read_solution(path, kind=PredictionKind.VALUE, columns=columns)
    np.testing.assert_array_equal(read.usage == Usage.IGNORED, np.arange(N) % 4 >= 2)
    other = read_solution(write(tmp_path, WEIGHTS), kind=PredictionKind.VALUE, columns=columns)
    with pytest.raises(InputError, match="above 0 for 30 rows of weight 0, such as id .?r2"):
        align_solution(other, read)  # a rescore: the split of these rows is not known
    assert align_solution(read, read).usage is read.usage


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.where(np.arange(N) == 4, -1, 1), "The weight is negative"),
        (np.arange(N) % 3, "All public rows have the weight 0"),
        (["x"] * N, "not a number"),
    ],
)
def test_weights_that_cannot_be_used_are_named(tmp_path: Path, weights: Any, said: str) -> None:
    settings = ScoreSettings("mse", columns=SolutionColumns(weight="Weight"))
    with pytest.raises(InputError, match=said):
        score(write(tmp_path, weights), [tmp_path / "sent"], settings)


def test_a_metric_without_weights_refuses_them(tmp_path: Path) -> None:
    columns = SolutionColumns(weight="Weight")
    with pytest.raises(UsageError, match="max_error takes no row weights: omit weight="):
        score(
            write(tmp_path, WEIGHTS),
            [tmp_path / "sent"],
            ScoreSettings("sklearn:max_error", columns=columns),
        )


@pytest.mark.slow
def test_a_stored_competition_keeps_its_weights(tmp_path: Path) -> None:
    solution = write(tmp_path, WEIGHTS, "w")
    settings = Settings.of(metric="mse", weight="w", secondary="mae", resamples=20)
    with Competition.create(tmp_path / "c", solution, settings):
        pass
    with Competition.open(tmp_path / "c") as competition:
        for number in range(2):
            file = tmp_path / "sent" / f"team{number}.csv"
            assert competition.submit(file, f"team{number}").status == "accepted"
        result = competition.finalize()
        competition.export(tmp_path / "export")
    assert verify_bundle(tmp_path / "export", solution, PluginManager(), NoProgress()) == ()
    private = np.arange(N) % 3 != 0
    for row in result.standings:
        errors = (SENT[int(row["team"][-1])] - VALUES)[private]
        expected = np.average(np.square(errors), weights=WEIGHTS[private])
        assert row["score"] == pytest.approx(expected, rel=1e-9)
        assert row["mae"] == pytest.approx(np.average(abs(errors), weights=WEIGHTS[private]))
