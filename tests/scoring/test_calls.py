"""How often a metric is called that can only be called as a whole, and on which rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from arena import PluginManager
from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores
from arena.scoring.private_board import PrivateBoard, RankedRows, evaluate_board
from arena.scoring.settings import BoardSettings
from arena.types import PredictionKind

N, M = 40, 3
TRUTH = np.random.default_rng(0).normal(size=N)
SENT = TRUTH + np.random.default_rng(1).normal(size=(M, N)) * np.array([[0.1], [0.5], [1.0]])


@dataclass(frozen=True)
class Mae:
    """The mean absolute error; ``fewest`` distinct rows and ``most`` copies of a row are taken.

    It is undefined without the row ``needed``.
    """

    fewest: int = 0
    most: int = N
    needed: int | None = None
    name: str = "mae_of_rows"
    greater_is_better: bool = False
    prediction: PredictionKind = PredictionKind.VALUE
    calls: list[int] = field(default_factory=list)

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        self.calls.append(len(truth))
        _, copies = np.unique(truth, return_counts=True)
        if len(copies) < self.fewest or copies.max() > self.most:
            raise ValueError("not these rows")
        if self.needed is not None and TRUTH[self.needed] not in truth:
            raise ValueError("undefined")
        return float(np.average(abs(prediction - truth), weights=weight))


def board(metric: Mae, resamples: int, **settings: Any) -> PrivateBoard:
    predictions = ArrayPredictions(SENT)
    return evaluate_board(
        metric,
        RankedRows(TRUTH, None),
        tuple("abc"),
        np.arange(M),
        predictions,
        full_scores(metric, TRUTH, predictions),
        BoardSettings(resamples, workers=1, **settings),
        PluginManager(),
    )


@pytest.mark.parametrize(
    ("resamples", "intervals", "calls"),
    # one for each score, one for each resample, and one for the rows that it lacks
    [(2, True, M * (1 + 2 + 2)), (7, False, M)],
)
def test_a_metric_is_called_as_often_as_resamples_are_asked_for(
    resamples: int, intervals: bool, calls: int
) -> None:
    metric = Mae()
    found = board(metric, resamples, intervals=intervals)
    assert len(metric.calls) == calls
    assert (found.corrected is not None) == intervals
    assert bool(found.without) != intervals


def test_a_metric_that_takes_no_repeated_row_gets_halves_of_the_rows() -> None:
    metric = Mae(most=1)
    found = board(metric, 100)
    assert found.halves
    assert not found.without
    spread = found.study.resampled.std(axis=1, ddof=1)
    assert spread == pytest.approx(board(Mae(), 100).study.resampled.std(axis=1, ddof=1), rel=0.25)
    assert "rank_low" in found.columns


def test_a_metric_that_is_undefined_on_the_first_resamples_still_takes_repeated_rows() -> None:
    seed, missing = next(
        (seed, rows)
        for seed in range(100)
        if (rows := np.flatnonzero(draw_resamples(N, 5, seed).weights.sum(axis=1) == 0)).size
    )
    found = board(Mae(needed=int(missing[0])), 40, seed=seed)
    assert (found.halves, found.without) == (False, "")
    assert found.undefined >= 5
    assert found.study.resampled.shape[1] == 40 - found.undefined > 10


def test_a_metric_that_takes_all_rows_only_keeps_its_scores() -> None:
    metric = Mae(most=1, fewest=N)
    found = board(metric, 100)
    assert len(metric.calls) == M + 2 * (5 + 1)
    assert "neither repeated rows nor a part of them" in found.without
    assert found.study.scores == pytest.approx(abs(SENT - TRUTH).mean(axis=1))
    assert (found.findings, found.columns, found.corrected) == ((), {}, None)
