"""The examples and the problems by which plugins are tested."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from arena.interfaces import Feedback, Participation
from arena.testing.examples import Guess, ShareRight
from arena.testing.problems import MetricProblem
from arena.types import PredictionKind, RowContext


def test_the_example_of_a_competitor_keeps_its_best_file_also_of_negative_scores() -> None:
    participation = Participation(ShareRight(), n_rows=40, n_public=20, n_classes=2, submissions=3)
    player = Guess().start(participation, np.random.default_rng(0))
    sent = []
    for score in (-9.0, -5.0, -7.0):
        sent.append(player.submit().prediction)
        player.receive(Feedback(score, None))
    assert player.finish().prediction.tolist() == sent[1].tolist()


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
