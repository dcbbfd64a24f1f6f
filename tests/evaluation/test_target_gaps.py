"""Targets that lack values: the score is the mean over targets of that of the rows which have one.

The oracle calls scikit-learn on the rows of each target.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.metrics import f1_score, root_mean_squared_error

import arena
from arena.errors import InputError
from arena.evaluation.binding import bind, context_of
from arena.evaluation.multi_target import has_gaps
from arena.evaluation.scores import influence_values, resample_block
from arena.evaluation.solution_metric import metric_of_solution
from arena.intake import SubmissionForm, parse_submission, read_solution, solution_source
from arena.interfaces import Metric, NeedsRowContext
from arena.plugin.manager import PluginManager
from arena.types import PredictionKind, Solution, SolutionColumns, Usage

TARGETS, N_ROWS = ("u", "v", "w"), 40
Oracle = Callable[[npt.NDArray[Any], npt.NDArray[Any]], float]


class OpaqueRmse:
    """A metric that can only be called as a whole, without weights."""

    name, greater_is_better, prediction = "opaque", False, PredictionKind.VALUE

    def score(self, truth: Any, prediction: Any, weight: npt.NDArray[Any] | None = None) -> float:
        assert weight is None
        return float(np.sqrt(np.mean((truth - prediction) ** 2)))


def _auc(truth: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> float:
    above = predicted[truth == 1][:, np.newaxis] - predicted[truth == 0]
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


METRICS: dict[str, tuple[Metric | str, Oracle]] = {
    "rmse": ("rmse", root_mean_squared_error),
    "roc_auc": ("roc_auc", _auc),
    "f1": ("f1", f1_score),
    "opaque": (OpaqueRmse(), root_mean_squared_error),
}


def _frame(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (N_ROWS, 3)).astype(float)
    missing = rng.random((N_ROWS, 3)) < 0.3
    missing[missing.all(axis=1)] = False
    frame = pd.DataFrame(np.where(missing, np.nan, values), columns=TARGETS)
    frame.insert(0, "id", [f"r{row}" for row in range(N_ROWS)])
    return frame


def _read(frame: pd.DataFrame, metric: Metric) -> Solution:
    columns = SolutionColumns(targets=TARGETS)
    return read_solution(solution_source(frame), kind=metric.prediction, columns=columns)


@pytest.mark.parametrize(("metric", "oracle"), METRICS.values(), ids=METRICS)
def test_each_target_counts_by_the_rows_that_have_it(metric: Metric | str, oracle: Oracle) -> None:
    if isinstance(metric, str):
        metric = PluginManager().metrics.resolve(metric)
    frame, rng = _frame(), np.random.default_rng(1)
    solution = _read(frame, metric)
    truth = frame[[*TARGETS]].to_numpy()
    is_label = metric.prediction is PredictionKind.LABEL
    submissions = rng.random((2, N_ROWS, 3)) + 0.3 * np.nan_to_num(truth)
    submissions = (submissions > 0.6).astype(float) if is_label else submissions
    whole = metric_of_solution(metric, solution)
    rows = solution.usage != np.uint8(Usage.IGNORED)
    bound = bind(whole, solution, rows)
    assert has_gaps(bound)

    def expected(counts: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> float:
        rows_drawn = np.repeat(np.arange(N_ROWS), counts)
        scores = []
        for number in range(3):
            labels, other = truth[rows_drawn, number], predicted[rows_drawn, number]
            scores.append(oracle(labels[~np.isnan(labels)], other[~np.isnan(labels)]))
        return float(np.mean(scores))

    weights = rng.multinomial(N_ROWS, [1 / N_ROWS] * N_ROWS, 5).T.astype(np.uint8)
    for predicted in submissions:
        once = expected(np.ones(N_ROWS, dtype=np.uint8), predicted)
        assert bound.score(solution.truth, predicted) == pytest.approx(once)
        for counts in weights.T:
            score = bound.score(solution.truth, predicted, counts)
            assert score == pytest.approx(expected(counts, predicted))
    if isinstance(metric, OpaqueRmse):
        return
    resampled = resample_block(bound, solution.truth, submissions, weights)
    exact = [[expected(counts, predicted) for counts in weights.T] for predicted in submissions]
    np.testing.assert_allclose(resampled, exact)
    values = influence_values(bound, solution.truth, submissions)
    assert values is not None
    moved = np.ones((N_ROWS, 2), dtype=np.uint8)
    moved[7, 1] = 2
    change = np.diff(resample_block(bound, solution.truth, submissions, moved), axis=1)[:, 0]
    np.testing.assert_allclose(values[:, 7] / N_ROWS, change, atol=0.02)


def test_a_part_of_the_rows_has_its_own_gaps() -> None:
    metric: Metric = PluginManager().metrics.resolve("rmse")
    frame = _frame()
    solution = _read(frame, metric)
    rows = np.arange(N_ROWS) % 2 == 0
    bound = metric_of_solution(metric, solution)
    assert isinstance(bound, NeedsRowContext)
    half = bound.for_rows(context_of(solution, rows))
    whole = _read(frame[rows].reset_index(drop=True), metric)
    alone = bind(metric_of_solution(metric, whole), whole, np.ones(rows.sum(), dtype=np.bool_))
    predictions = np.random.default_rng(2).random((rows.sum(), 3))
    assert half.score(solution.truth[rows], predictions) == alone.score(whole.truth, predictions)


def test_a_value_in_a_gap_is_one_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("id,u,v,Usage\na,,5,Public\nb,7,,Public\nc,3,9,Public\nd,1,2,Private\n")
    columns = SolutionColumns(targets=("u", "v"))
    solution = read_solution(path, kind=PredictionKind.VALUE, columns=columns)
    assert solution.truth.tolist() == [[3, 5], [7, 5], [3, 9], [1, 2]]
    assert {name: values.tolist() for name, values in solution.extra.items()} == {
        "known: u": [0, 1, 1, 1],
        "known: v": [1, 0, 1, 1],
    }


WITHOUT = {
    "a row": ("id,u,v\na,,NA\nb,1,2\n", "row 2, id 'a': The row has no target"),
    "public rows": (
        "id,u,v,Usage\na,,1,Public\nb,1,2,Private\n",
        "column 'u': .*no value in the public rows",
    ),
    "a single target": ("id,u\na,\nb,1\n", "The cell is empty"),
}


@pytest.mark.parametrize(("content", "message"), WITHOUT.values(), ids=WITHOUT)
def test_gaps_that_leave_nothing_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "s.csv").write_text(content)
    columns = SolutionColumns(targets=("u", "v") if "v" in content else ("u",))
    with pytest.raises(InputError, match=message):
        read_solution(tmp_path / "s.csv", kind=PredictionKind.VALUE, columns=columns)


def test_cells_that_are_not_scored_may_be_empty_only_where_that_is_said(tmp_path: Path) -> None:
    solution = _read(_frame(), PluginManager().metrics.resolve("rmse"))
    _frame().iloc[::-1].to_csv(tmp_path / "t.csv", index=False)
    read = parse_submission(tmp_path / "t.csv", SubmissionForm.of(solution, gaps=True))
    assert read.values is not None, read.faults
    assert {fault.kind for fault in parse_submission(
        tmp_path / "t.csv", SubmissionForm.of(solution)).faults} == {"empty cell"}  # fmt: skip
    _frame().to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    read = parse_submission(tmp_path / "t.csv", SubmissionForm.of(solution, gaps=True))
    assert read.values is not None, read.faults
    more = _frame()
    more.loc[np.flatnonzero(more["u"].notna())[0], "u"] = np.nan
    more.to_csv(tmp_path / "t.csv", index=False)
    (fault,) = parse_submission(tmp_path / "t.csv", SubmissionForm.of(solution, gaps=True)).faults
    assert (fault.kind, fault.column) == ("empty cell", "u")


@pytest.mark.slow
def test_a_competition_keeps_the_gaps(tmp_path: Path) -> None:
    frame = _frame()
    with arena.Competition.create(
        tmp_path / "c", frame, "rmse", target=[*TARGETS], public_share=0.5, seed=1
    ) as competition:
        full = frame.fillna(1.0)
        competition.submit(full, "t")
    with arena.Competition.open(tmp_path / "c") as competition:
        board = competition.finalize()
        assert [standing["score"] for standing in board.standings] == [0.0]
        assert "that have a value" in " ".join(board.notes)
