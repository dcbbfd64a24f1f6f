"""The work for a submission does not depend on whether it is better: its time would tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arena_mechanisms
from arena.competition.competition import Competition
from arena.config import Settings
from arena.hookspecs import hookimpl
from arena.plugin.manager import PluginManager
from arena.types import FloatArray, MetricTraits, PredictionKind
from program import write_csv

N_ROWS = 60
TRAITS = MetricTraits(prediction_range=(0.0, 1.0), row_range=(0.0, 1.0), score_range=(0.0, 1.0))


@dataclass(frozen=True)
class Whole:
    """The share of rows that are right; it counts the rows that it is called with."""

    calls: list[int] = field(default_factory=list)
    name: str = "whole"
    greater_is_better: bool = True
    prediction: PredictionKind = PredictionKind.PROBABILITY
    traits: MetricTraits = TRAITS

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        self.calls.append(len(truth))
        return float(np.average((prediction > 0.5) == (truth > 0.5), weights=weight))


@dataclass(frozen=True)
class ByRow(Whole):
    """The same, by row."""

    name: str = "by_row"

    def row_values(self, truth: Any, predictions: Any) -> FloatArray:
        self.calls.append(np.size(predictions))
        return np.asarray((predictions > 0.5) == (truth > 0.5), dtype=float)

    def from_mean(self, mean: FloatArray) -> FloatArray:
        return mean


class Metrics:
    def __init__(self) -> None:
        self.metrics = (Whole(), ByRow())

    @hookimpl
    def provide_metrics(self) -> tuple[Whole, ...]:
        return self.metrics


@pytest.mark.slow
@pytest.mark.parametrize("metric", [0, 1], ids=["whole", "by row"])
@pytest.mark.parametrize(
    "mechanism",
    [
        "ladder-free",
        "full",
        "kaggle",
        "ladder(eta=0.01)",
        "noisy-ladder(eta=0.01)",
        "thresholdout",
        "ladder-boot",
    ],
)
@pytest.mark.parametrize("scope", ["team", pytest.param("rank", marks=pytest.mark.slow)])
def test_a_better_an_equal_and_a_worse_submission_take_the_same_calls(
    tmp_path: Path, mechanism: str, metric: int, scope: str
) -> None:
    truth = np.arange(N_ROWS) % 2
    rows = [(f"r{row}", label) for row, label in enumerate(truth.tolist())]
    write_csv(tmp_path / "solution.csv", ["id", "y"], rows)
    manager, metrics = PluginManager(entry_points=False), Metrics()
    manager.register(arena_mechanisms, "mechanisms")
    manager.register(metrics, "metrics")
    chosen = metrics.metrics[metric]
    settings = Settings.model_validate(
        {
            "metric": {"name": chosen.name},
            "public": {"mechanism": mechanism, "scope": scope},
            "analysis": {"resamples": 2},
        }
    )
    work: dict[str, set[tuple[int, ...]]] = {}
    with Competition.create(
        tmp_path / "c", tmp_path / "solution.csv", settings, public_share=0.5, seed=1,
        manager=manager,
    ) as competition:  # fmt: skip
        shares = [0.5, 0.5, 0.6, 0.4, 0.6, 0.9, 0.7, 0.9, 1.0, 0.0]
        for number, share in enumerate(shares):
            right = np.arange(N_ROWS) // 2 < share * N_ROWS / 2
            sure = 0.9 - number / 1_000
            values = np.where(right == (truth == 1), sure, 1 - sure)
            path = tmp_path / f"{number}.csv"
            cells = [(f"r{row}", repr(value)) for row, value in enumerate(values.tolist())]
            write_csv(path, ["id", "y"], cells)
            chosen.calls.clear()
            assert competition.submit(path, "a").status == "accepted"
            best = max(shares[:number], default=0)
            kind = "better" if share > best else "equal" if share == best else "worse"
            if number > 1:  # those before have nothing to be compared with
                work.setdefault(kind, set()).add(tuple(sorted(chosen.calls)))
    assert work["better"] == work["equal"] == work["worse"]
    assert all(calls for calls in work["better"])
