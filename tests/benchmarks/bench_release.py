"""What a release costs beyond the score, with 100,000 public rows: mechanisms and metrics.

There is no peer. A submission is better than the team's best, so that a Ladder without parameters
has to compare the two row by row. Prints milliseconds of processor time, the best of several, so
that a busy machine counts little: the release itself, the score that came before it, and the first
release of a process, such as ``arena submit`` is, which has to read the team's best from the store
and find its row values too; a competition that stays open holds them. With a clip, the release
scores again, by the clipped metric.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from arena.config import Settings
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores
from arena.interfaces import HasRowValues, Metric, traits_of
from arena.plugin.manager import PluginManager
from arena.public_board.instances import InstanceRelease, MemoryLog
from arena.public_board.mechanism import public_rows
from arena.public_board.releaser import (
    Releaser,
    ScoredSubmission,
    make_releaser,
    read_public_rows,
)
from arena.store import Store
from arena.types import PredictionKind, Solution, Target

N_ROWS, N_REPEATS = 100_000, 30
NUMBERS = 0
CASES = (
    ("accuracy", 2),
    ("accuracy", 10),
    ("balanced_accuracy", 10),
    ("f1", 2),
    ("f1(average=macro)", 10),
    ("mcc", 10),
    ("quadratic_weighted_kappa", 5),
    ("brier", 2),
    ("log_loss(clip=0.01)", 2),
    ("log_loss(clip=0.01)", 10),
    ("roc_auc", 2),
    ("roc_auc", 3),
    ("average_precision", 2),
    *((name, NUMBERS) for name in ("mae", "mse", "rmse", "rmsle", "mape", "smape")),
    *((name, NUMBERS) for name in ("quantile_loss", "r2", "pearson", "spearman", "gini")),
)
"""Metrics, and how many classes the truth has; numbers otherwise."""
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
        """Return a releaser as a process begins."""
        read = partial(read_public_rows, self.store, public_rows(self.solution))
        return make_releaser(self.settings, self.solution, read, self.manager, 1)


class UnchangedLog(MemoryLog):
    """A log that holds the release of the first submission, and to which none is added."""

    def __init__(self, first: InstanceRelease) -> None:
        super().__init__()
        super().add(1, "a", first)

    def add(self, submission: int, team: str, released: InstanceRelease) -> None:
        """Add nothing."""


def make_solution(metric: Metric, n_classes: int, n_rows: int) -> Solution:
    """Return a solution of balanced classes, or of positive numbers, every row of it public."""
    rng, labels = np.random.default_rng(0), [str(k) for k in range(n_classes)]
    wide = metric.prediction is not PredictionKind.LABEL and n_classes > 2
    return Solution(
        id_column="id",
        targets=(Target("y", tuple(labels) or None),),
        columns=tuple(labels) if wide else ("y",),
        kind=metric.prediction,
        ids=pa.array([str(i) for i in range(n_rows)]),
        truth=rng.integers(0, n_classes, n_rows) if n_classes else rng.gamma(2.0, 1.0, n_rows),
        usage=np.zeros(n_rows, dtype=np.uint8),
        sha256="",
    )


def predictions(solution: Solution, right: float, seed: int) -> Any:
    """Return ``(n, n_columns)`` labels, scores or numbers, the better the larger ``right``."""
    rng, truth = np.random.default_rng(seed), solution.truth
    n_classes = len(solution.targets[0].classes or ())
    noise = rng.random(solution.n_rows)
    if not n_classes:
        return (right * truth + (1.0 - right) * 3.0 * noise)[:, np.newaxis]
    labels = np.where(noise < right, truth, rng.integers(0, n_classes, solution.n_rows))
    if solution.kind is PredictionKind.LABEL:
        return labels[:, np.newaxis]
    if n_classes == 2:
        return (0.5 + (labels - 0.5) * 0.9 * rng.random(solution.n_rows))[:, np.newaxis]
    chances = rng.random((solution.n_rows, n_classes)) + n_classes * np.eye(n_classes)[labels]
    return chances / chances.sum(axis=1, keepdims=True)


def best_of(
    call: Callable[[Any], object], repeats: int, prepare: Callable[[], Any] = lambda: None
) -> float:
    """Return the milliseconds of the fastest of several calls, each of something prepared."""
    seconds = []
    for _ in range(repeats):
        prepared, start = prepare(), time.process_time()
        call(prepared)
        seconds.append(time.process_time() - start)
    return round(1e3 * min(seconds), 2)


def measure(case: Case, repeats: int) -> dict[str, float]:
    """Return milliseconds of a release, of the first of a process, and of the score."""
    releaser = case.releaser()
    first = releaser.release(ScoredSubmission(1, "a", releaser.read([1])), MemoryLog())
    if first is None:
        raise SystemExit("The first submission has no score: the case is none.")

    def score(_: Any = None) -> float:
        predictions = ArrayPredictions(case.better)
        return float(full_scores(releaser.metric, releaser.truth, predictions)[0])

    better = ScoredSubmission(2, "a", case.better, score())
    log = UnchangedLog(first)
    released = releaser.release(better, log)
    ladder = case.settings.public.mechanism.startswith("ladder-free")
    if ladder and not (released and released.release.improved):
        raise SystemExit("The better submission is not released: the case is none.")
    return {
        "release": best_of(lambda _: releaser.release(better, log), repeats),
        "first release": best_of(lambda fresh: fresh.release(better, log), repeats, case.releaser),
        "score": best_of(score, repeats),
    }


def mechanism_for(metric: Metric, mechanism: str) -> str:
    """Return a mechanism with the clip that it wants of a metric without bounds."""
    unbounded = isinstance(metric, HasRowValues) and traits_of(metric).row_range is None
    return f"{mechanism}(clip=9)" if unbounded and "ladder" in mechanism else mechanism


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--mechanism", choices=MECHANISMS, action="append", help="only this one")
    parser.add_argument("--repeats", type=int, default=N_REPEATS, help="the fastest counts")
    parser.add_argument("--metric", help="only this one")
    arguments = parser.parse_args()
    n_rows, manager = max(100, round(N_ROWS * arguments.scale)), PluginManager()
    figures: dict[str, Any] = {"benchmark": "release", "rows": n_rows}
    for name, n_classes in CASES:
        if arguments.metric not in {None, name}:
            continue
        metric = manager.metrics.resolve(name)
        solution = make_solution(metric, n_classes, n_rows)
        better = np.ascontiguousarray(predictions(solution, 0.9, seed=2))
        block = better[np.newaxis, :, 0] if better.shape[1] == 1 else better[np.newaxis]
        title = f"{name}, {n_classes} classes" if n_classes else name
        with Store.open() as store:
            store.put_solution(solution)
            store.add_submission("a", "a.csv", "1", predictions(solution, 0.4, 1).astype(float))
            figures[title] = {}
            for mechanism in arguments.mechanism or MECHANISMS:
                public = {"mechanism": mechanism_for(metric, mechanism)}
                document = {"metric": {"name": name}, "public": public}
                settings = Settings.model_validate(document)
                case = Case(store, solution, settings, manager, block)
                figures[title][mechanism] = measure(case, arguments.repeats)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
