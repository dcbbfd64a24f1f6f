"""A submission on which the metric fails is set apart; the others are ranked as without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from arena import BoardSettings, ScoreSettings, score
from arena.errors import MetricError
from arena.hookspecs import hookimpl
from arena.interfaces import BaseMetric
from arena.plugin.manager import PluginManager
from arena.scoring.result import ScoreResult
from arena.types import FloatArray, PredictionKind

N = 8


class Fussy(BaseMetric):
    """The mean distance; fails on predictions above 100."""

    name = "fussy"
    greater_is_better = False
    prediction = PredictionKind.VALUE

    def row_values(self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> FloatArray:
        if (prediction > 100).any():
            raise MetricError("A prediction is too large for this metric.")
        return np.asarray(np.abs(truth - prediction))

    def from_mean(self, mean: FloatArray) -> FloatArray:
        return mean

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        return float(np.average(self.row_values(truth, prediction), weights=weight))


class _Plugin:
    @hookimpl
    def provide_metrics(self) -> list[Fussy]:
        return [Fussy()]


def test_one_failing_submission_does_not_end_the_score_of_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    manager = PluginManager()
    manager.register(_Plugin(), "fussy")
    usage = ["Public" if i < 2 else "Private" for i in range(N)]
    solution = {"id": [f"i{i}" for i in range(N)], "y": range(N), "Usage": usage}
    truth = np.arange(float(N))
    predictions_of_team = {
        "b": truth + 3,
        "late": truth + 200,
        "a": truth + 0.5,
        "shy": truth.copy(),
    }
    predictions_of_team["shy"][:2] = 200.0  # of the public rows, on which it has no score
    settings = ScoreSettings(metric="fussy", board=BoardSettings(intervals=False))

    def board(*teams: str) -> ScoreResult:
        return score(
            solution, {team: predictions_of_team[team] for team in teams}, settings, manager=manager
        )

    result = board(*predictions_of_team)
    assert [(row["team"], row["score"], row["public_score"]) for row in result.standings] == [
        ("shy", 0.0, None), ("a", 0.5, 0.5), ("b", 3.0, 3.0),
    ]  # fmt: skip
    without = board("b", "a", "shy").standings
    assert [{**row, "submission": 0} for row in result.standings] == [
        {**row, "submission": 0} for row in without
    ]
    ((file, faults),) = [(rejected.file, rejected.faults) for rejected in result.rejected]
    assert (file, len(faults)) == ("late", 1)
    assert "late: fussy failed on a submission" in caplog.text
    assert "too large for this metric" in caplog.text
