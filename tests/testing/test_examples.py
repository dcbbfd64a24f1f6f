"""The examples and the problems by which plugins are tested."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from arena.interfaces import Feedback, Participation
from arena.testing.examples import Guess, ShareRight
from arena.testing.problems import MetricProblem
from arena.types import MetricTraits, PredictionKind, RowContext


def test_the_example_of_a_competitor_keeps_its_best_file_also_of_negative_scores() -> None:
    participation = Participation(ShareRight(), n_rows=40, n_public=20, n_classes=2, submissions=4)
    player = Guess().start(participation, np.random.default_rng(0))
    predictions = []
    for score in (-9.0, -5.0, -7.0, -5.0):
        predictions.append(player.submit().prediction)
        player.receive(Feedback(score, None))
    assert player.finish().prediction.tolist() == predictions[1].tolist()


def test_the_example_of_a_metric_declares_what_it_is() -> None:
    metric = ShareRight()
    assert metric.traits == MetricTraits(row_range=(0.0, 1.0), score_range=(0.0, 1.0))
    assert (metric.greater_is_better, metric.prediction) == (True, PredictionKind.LABEL)
    truth, weight = np.array([0, 1, 1]), np.array([1, 1, 2])
    assert metric.score(truth, np.array([0, 0, 1]), weight) == 3 / 4
    rows = metric.row_values(truth, np.array([[0, 0, 1], [1, 1, 1]]))
    assert rows.tolist() == [[1, 0, 1], [0, 1, 1]]
    assert metric.from_mean(rows.mean(axis=1)).tolist() == [2 / 3, 2 / 3]


@dataclass
class Columns:
    """A metric that keeps the rows to which it was bound."""

    name: str = "columns"
    greater_is_better: bool = True
    prediction: PredictionKind = PredictionKind.VALUE
    bound: list[RowContext] = field(default_factory=list)

    def for_rows(self, rows: RowContext) -> Self:
        self.bound.append(rows)
        return self

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        return 0.0


def test_the_rows_of_a_problem_have_the_columns_of_its_arrays() -> None:
    for shape, targets, columns in (((3, 6), 1, 1), ((3, 6, 2), 2, 2), ((3, 6, 4), 1, 4)):
        metric = Columns()
        truth = np.zeros((6, targets) if targets > 1 else 6)
        weights, clusters = np.ones((6, 1), np.uint8), np.zeros(6, np.intp)
        MetricProblem(metric, truth, np.zeros(shape), weights, clusters).metric  # noqa: B018
        (rows,) = metric.bound
        assert (len(rows.targets), len(rows.columns)) == (targets, columns)
