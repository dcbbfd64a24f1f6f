"""A competition of few rows, so that scores are often equal, with few plugins."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import arena_mechanisms
from arena.config import Settings
from arena.hookspecs import hookimpl
from arena.plugin.manager import PluginManager
from arena.types import FloatArray, PredictionKind, Solution, Target, Usage
from competition_model import Hits, Rules
from program import write_csv

FIVE_ROWS = Solution(
    id_column="id",
    targets=(Target("y", None),),
    columns=("y",),
    kind=PredictionKind.VALUE,
    ids=pa.array(list("abcde")),
    truth=np.array([0.0, 1.0, 2.0, 9.0, 500.0]),
    usage=np.array([Usage.PUBLIC] * 4 + [Usage.PRIVATE], dtype=np.uint8),
    sha256="",
)
"""Four public rows, and a private one that is far from them."""
N_HALF = 6
"""Rows of the public, and of the private part."""
N_VALID, N_FAULTY = 12, 3


@dataclass(frozen=True)
class ShareRight:
    """The share of the rows that a submission gets right, or wrong."""

    name: str = "share_right"
    greater_is_better: bool = True
    prediction: PredictionKind = PredictionKind.LABEL

    def row_values(self, truth: Any, predictions: Any) -> FloatArray:
        right = np.asarray(predictions == truth, dtype=float)
        return right if self.greater_is_better else 1 - right

    def from_mean(self, mean: FloatArray) -> FloatArray:
        return mean

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        return float(np.average(self.row_values(truth, prediction), weights=weight))


class Metrics:
    @hookimpl
    def provide_metrics(self) -> list[ShareRight]:
        return [ShareRight(), ShareRight("share_wrong", greater_is_better=False)]


def manager_of_few() -> PluginManager:
    """Return the plugins that are needed, and no analysis: it would only take time."""
    manager = PluginManager(entry_points=False)
    manager.register(Metrics(), "metrics")
    manager.register(arena_mechanisms, "mechanisms")
    return manager


def settings_of(rules: Rules, metric: str, mechanism: str) -> Settings:
    values = asdict(rules)
    sections = {
        "competition": ("deadline", "baseline"),
        "limits": ("per_day", "total", "count_rejected"),
        "final": ("rule", "count", "ties"),
    }
    return Settings.model_validate(
        {
            "data": {"classes": ["0", "1"]},  # the few public rows may lack one
            "metric": {"name": metric},
            "public": {"mechanism": mechanism},
            "analysis": {"resamples": 2},
            **{name: {key: values[key] for key in keys} for name, keys in sections.items()},
        }
    )


def write_files(folder: Path) -> list[Hits]:
    """Write the solution and the files that are sent, and return how many rows each gets right."""
    rng = np.random.default_rng(7)
    rows = [(f"r{row}", "Public" if row < N_HALF else "Private") for row in range(2 * N_HALF)]
    truth = rng.integers(0, 2, size=2 * N_HALF)
    solution = [(i, y, usage) for (i, usage), y in zip(rows, truth, strict=True)]
    write_csv(folder / "solution.csv", ["id", "y", "Usage"], solution)
    hits: list[Hits] = []
    for number in range(N_VALID):
        labels = rng.integers(0, 2, size=2 * N_HALF)
        labels[0] = number % 2  # no two files are the same: number in binary
        labels[1:4] = [number >> bit & 1 for bit in (1, 2, 3)]
        write_csv(folder / f"{number}.csv", ["id", "y"],
                  [(i, y) for (i, _), y in zip(rows, labels, strict=True)])  # fmt: skip
        right = labels == truth
        hits.append((int(right[:N_HALF].sum()), int(right[N_HALF:].sum())))
    for number in range(N_VALID, N_VALID + N_FAULTY):
        write_csv(folder / f"{number}.csv", ["id", "y"], [(i, number) for i, _ in rows])
    return [*hits, *[None] * N_FAULTY]
