"""A submission on which the metric fails is set apart; the others are ranked as without it."""

from __future__ import annotations

from pathlib import Path
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
from arena.types import PredictionKind
from program import write_csv

N = 8


class Fussy(BaseMetric):
    """The mean distance; fails on predictions above 100."""

    name = "fussy"
    greater_is_better = False
    prediction = PredictionKind.VALUE

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        if (prediction > 100).any():
            raise MetricError("A prediction is too large for this metric.")
        return float(np.average(np.abs(truth - prediction), weights=weight))


class _Plugin:
    @hookimpl
    def provide_metrics(self) -> list[Fussy]:
        return [Fussy()]


@pytest.mark.slow
def test_one_failing_submission_does_not_end_the_score_of_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manager = PluginManager()
    manager.register(_Plugin(), "fussy")
    write_csv(tmp_path / "solution.csv", ["id", "y"], [(f"i{i}", i) for i in range(N)])
    for team, add in (("a", 0.5), ("b", 3.0), ("late", 200.0)):
        rows = [(f"i{i}", i + add) for i in range(N)]
        write_csv(tmp_path / f"{team}.csv", ["id", "y"], rows)

    def board(*teams: str) -> ScoreResult:
        return score(
            tmp_path / "solution.csv",
            [tmp_path / f"{team}.csv" for team in teams],
            ScoreSettings(metric="fussy", board=BoardSettings(intervals=False)),
            manager=manager,
        )

    result = board("a", "b", "late")
    assert [(row["team"], row["score"]) for row in result.standings] == [("a", 0.5), ("b", 3.0)]
    assert result.standings == board("a", "b").standings
    assert "late.csv" in caplog.text
    assert "too large for this metric" in caplog.text
