"""Every number that is said of a score, for each kind of score on each kind of rows, as kept."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from arena.evaluation.best_score import corrected_best
from arena.evaluation.binding import bind
from arena.evaluation.case_metrics import MeanOfCases
from arena.evaluation.combination_parts import Combination
from arena.evaluation.combinations import combined_metric
from arena.evaluation.row_weights import weighted
from arena.evaluation.score_intervals import own_intervals, score_errors
from arena.interfaces import Study
from arena.plugin.manager import PluginManager
from arena.types import PredictionKind, Solution, Target, Usage
from arena.utils.tabular import as_json
from kept import check_kept_document
from study_boards import BlackBox, StudyMaker

METRICS = PluginManager().metrics
M, N = 3, 48
ROWS = {
    "rows": (np.arange(N) % 2, None),
    "few of a class": (np.arange(N) % 8 == 0, None),
    "unequal groups": (np.arange(N) // 2 % 2, np.floor(np.sqrt(3 * np.arange(N))).astype(int)),
}
"""Which rows are positive, and their groups: single rows, or one to seven rows."""
NAMES = (
    "accuracy", "balanced_accuracy", "mcc", "roc_auc", "log_loss", "brier", "rmse", "r2",
    "spearman",
)  # fmt: skip


WITH_BEST = ("accuracy", "log_loss", "r2")


def predictions_of(kind: PredictionKind, truth: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return m submissions, of which each is worse than the one before."""
    noise = np.random.default_rng(0).normal(size=(M, N)) * np.linspace(0.6, 1.2, M)[:, np.newaxis]
    numbers = truth + noise
    if kind is PredictionKind.VALUE:
        return numbers
    if kind is PredictionKind.LABEL:
        return (numbers > 0.5).astype(np.intp)
    probabilities = 1 / (1 + np.exp(1 - 2 * numbers))
    if kind is PredictionKind.CLASS_PROBABILITIES:
        return np.stack([1 - probabilities, probabilities], axis=2)
    return np.asarray(probabilities)


def board(make: StudyMaker, metric: Any, rows: str) -> Study:
    positive, clusters = ROWS[rows]
    truth: Any = positive.astype(np.intp)
    if metric.prediction is PredictionKind.VALUE:
        truth = 3 + positive + np.sin(np.arange(N))
    predictions = predictions_of(metric.prediction, truth)
    return make(metric, truth, predictions, resamples=120, level=0.9, clusters=clusters)


def numbers_of(study: Study, *, with_best: bool) -> dict[str, Any]:
    errors = score_errors(study)
    document = {
        "scores": errors.scores.tolist(),
        "errors": errors.standard_errors.tolist(),
        "degrees": errors.degrees_of_freedom.tolist(),
        "ends": np.stack(own_intervals(errors, study.level), axis=1).tolist(),
        "reasons": list(errors.reasons),
    }
    if with_best:
        best = corrected_best(study, np.random.default_rng(1), errors=errors, draws=6)
        document["best"] = as_json(asdict(best))
    return document


@pytest.mark.parametrize("rows", ROWS)
def test_intervals_of_every_score(study_of: StudyMaker, rows: str) -> None:
    cases = [
        MeanOfCases("mean overlap", greater_is_better=True, value_range=(0.0, 9.0)),
        MeanOfCases("mean gain", greater_is_better=True),
        BlackBox(),
    ]
    metrics = [*map(METRICS.resolve, NAMES), *cases]
    document = {
        metric.name: numbers_of(board(study_of, metric, rows), with_best=metric.name in WITH_BEST)
        for metric in metrics
    }
    if rows == "unequal groups":
        weights = 1.0 + np.arange(N) % 3
        for name in ("accuracy", "log_loss"):
            metric = replace(weighted(METRICS.resolve(name)), weights=weights)
            document[metric.name] = numbers_of(board(study_of, metric, rows), with_best=False)
    check_kept_document(f"intervals-{rows.replace(' ', '-')}", document)


@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_of_means_over_tasks(study_of: StudyMaker, *, grouped: bool) -> None:
    """Tasks of 40 and 80 rows; or of as many groups, of which half of the 40 have two rows."""
    task_of_unit = (np.arange(120) % 3 > 0).astype(np.intp)
    units = np.repeat(np.arange(120), 1 + (np.arange(120) % 6 == 0)) if grouped else np.arange(120)
    tasks, n = task_of_unit[units], len(units)
    solution = Solution(
        id_column="id",
        targets=(Target("y", ("no", "yes")),),
        columns=("y",),
        kind=PredictionKind.LABEL,
        ids=pa.array([str(row) for row in range(n)]),
        truth=np.arange(n) // 5 % 2,
        usage=np.full(n, Usage.PRIVATE, dtype=np.uint8),
        sha256="",
        tasks=tasks,
        task_names=("small", "large"),
    )
    wrong = np.random.default_rng(0).random((M, n)) < np.linspace(0.1, 0.4, M)[:, np.newaxis]
    predictions = np.where(wrong, 1 - solution.truth, solution.truth)
    document = {}
    for how in ("mean", "geometric"):
        for name in ("accuracy", "balanced_accuracy"):
            metric = combined_metric(
                {name: METRICS.resolve(name)}, Combination(how), by_task=True, solution=solution
            )
            study = study_of(
                bind(metric, solution, np.ones(n, dtype=np.bool_)), solution.truth, predictions,
                resamples=120, level=0.9, clusters=units if grouped else None,
            )  # fmt: skip
            document[f"{how} {name}"] = numbers_of(study, with_best=False)
    check_kept_document(f"intervals-{'grouped-' if grouped else ''}tasks", document)
