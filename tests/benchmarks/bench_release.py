"""What a release costs beyond the score, with 100,000 public rows: mechanisms and metrics.

There is no peer. A submission is better than the team's best, so that a Ladder without parameters
has to compare the two row by row. Prints milliseconds of processor time, the best of several, so
that a busy machine counts little: the release itself, the score that came before it, and how long
the best submission takes to be read from the store. A process that stays open reads it once, and
keeps its row values; ``arena submit`` does both at each call.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from arena.config import Settings
from arena.interfaces import Metric
from arena.plugin_manager import PluginManager
from arena.releasing import Past, Releaser, releaser_of
from arena.store import Store
from arena.types import PredictionKind, Solution, Target

N_ROWS, N_REPEATS = 100_000, 50
METRICS = (
    "accuracy",
    "log_loss(clip=0.01)",
    "roc_auc",
    "average_precision",
    "f1",
    "mcc",
    "r2",
    "spearman",
    "gini",
    "pearson",
)
MECHANISMS = ("full", "ladder", "ladder-free", "thresholdout", "noisy-ladder")


@dataclass(frozen=True)
class Case:
    """A competition with one submission, and a better one that is to be released."""

    store: Store
    solution: Solution
    settings: Settings
    manager: PluginManager
    better: Any

    def releaser(self) -> Releaser:
        return releaser_of(self.settings, self.solution, self.store, self.manager, 1)


def make_solution(metric: Metric, n_rows: int) -> Solution:
    """Return a solution of two balanced classes, every row of it public."""
    return Solution(
        id_column="id",
        targets=(Target("y", ("0", "1")),),
        columns=("y",),
        kind=metric.prediction,
        ids=pa.array([str(i) for i in range(n_rows)]),
        truth=np.random.default_rng(0).integers(0, 2, n_rows),
        usage=np.zeros(n_rows, dtype=np.uint8),
        sha256="",
    )


def predictions(solution: Solution, right: float, seed: int) -> Any:
    """Return labels, or probabilities, that are on the right side on a share of the rows."""
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(solution.n_rows) < right, solution.truth, 1 - solution.truth)
    if solution.kind is PredictionKind.LABEL:
        return labels
    return 0.5 + (labels - 0.5) * 0.9 * rng.random(solution.n_rows)


def best_of(call: Callable[[], object], repeats: int) -> float:
    """Return the milliseconds of the fastest of several calls."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return round(1e3 * min(seconds), 2)


def measure(case: Case, repeats: int) -> dict[str, float]:
    """Return milliseconds of the release, the score and the reading."""
    releaser = case.releaser()
    first = releaser.read(1)
    releaser.take_up(Past(1, "a"), releaser.place(Past(1, "a"), first, releaser.score(first)), None)
    score = releaser.score(case.better)
    return {
        "release": best_of(lambda: releaser.place(Past(2, "a"), case.better, score), repeats),
        "score": best_of(lambda: releaser.score(case.better), repeats),
        "reading": best_of(lambda: releaser.read(1), repeats),
    }


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    scale = parser.parse_args().scale
    n_rows, manager = max(100, round(N_ROWS * scale)), PluginManager()
    figures: dict[str, Any] = {"benchmark": "release", "rows": n_rows}
    for metric in METRICS:
        solution = make_solution(manager.metrics.resolve(metric), n_rows)
        better = predictions(solution, 0.7, seed=2)[np.newaxis]
        first = predictions(solution, 0.6, seed=1).astype(np.float64)
        with Store.open() as store:
            store.put_solution(solution)
            store.add_submission("a", "a.csv", "1", first[:, np.newaxis])
            figures[metric] = {}
            for mechanism in MECHANISMS:
                document = {"metric": {"name": metric}, "public": {"mechanism": mechanism}}
                settings = Settings.model_validate(document)
                case = Case(store, solution, settings, manager, better)
                figures[metric][mechanism] = measure(case, N_REPEATS)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
