"""A Kaggle-style metric on 30 submissions x 10,000 rows x 1,000 resamples, in worker processes.

Every resample is a call of the organiser's own Python, so that the share of the time that is not
spent in it is what arena can answer for: drawing the frames, and handing out the work. ``busy`` is
the processor time of the workers per second of the clock: 2.0 is two cores in full use, where
nothing else runs.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import score_under_weights
from arena.plugin.manager import PluginManager
from arena.types import RowContext
from arena.utils.parallel import NoProgress, available_workers

METRIC = Path(__file__).parents[1] / "support" / "foreign_metrics" / "kaggle_fbeta.py"


class Said(NoProgress):
    """Prints what is said, and how far it has come, once in a while."""

    def __init__(self) -> None:
        self.total = self.done = 0
        self.told = self.started = time.perf_counter()

    def say(self, message: str) -> None:
        print(message)

    def start(self, label: str, total: int) -> None:
        self.total, self.done, self.started = total, 0, time.perf_counter()

    def advance(self, steps: int = 1) -> None:
        self.done += steps
        now = time.perf_counter()
        if now - self.told > 5:
            self.told = now
            left = (now - self.started) * (self.total / self.done - 1)
            print(f"{self.done:,} of {self.total:,} calls, about {left:,.0f} s left")


def seconds_of_a_draw(
    metric: Any, truth: Any, prediction: Any, weights: Any
) -> tuple[float, float]:
    """Return the least time of a call, and of drawing its frames."""
    scorer = metric.prepare(truth, prediction)
    timed: dict[str, list[float]] = {"call": [], "draw": []}
    for column in weights.T[:30]:
        for name, action in (("call", scorer), ("draw", scorer.call.frames.draw)):
            started = time.perf_counter()
            action(column)
            timed[name].append(time.perf_counter() - started)
    return min(timed["call"]), min(timed["draw"])


def processor_seconds() -> float:
    """Return the processor time that the worker processes have used."""
    ticks = os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    stats = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in children]
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / ticks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of resamples")
    parser.add_argument("--workers", type=int, default=available_workers())
    given = parser.parse_args()
    n_rows, n_submissions, resamples = 10_000, 30, max(2, round(1_000 * given.scale))
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n_rows)
    truth = labels.astype(str).astype(object)
    sent = np.round(0.3 * labels + 0.7 * rng.random((n_submissions, n_rows)), 6)
    predictions = sent.astype(str).astype(object)
    ids = pa.array([f"row {row}" for row in range(n_rows)])
    single: Any = PluginManager().metrics.resolve(f"kaggle:{METRIC}(beta=2)")
    metric = single.for_rows(RowContext("id", ids, ("y",), ("y",)))
    weights = draw_resamples(n_rows, resamples, seed=0).weights
    call, draw = seconds_of_a_draw(metric, truth, predictions[0], weights)
    before, started = processor_seconds(), time.perf_counter()
    scores = score_under_weights(
        metric, truth, ArrayPredictions(predictions), weights, workers=given.workers,
        progress=Said(),
    )  # fmt: skip
    seconds = time.perf_counter() - started
    result = {
        "benchmark": "foreign",
        "calls": scores.size,
        "undefined": int(np.isnan(scores).sum()),
        "workers": given.workers,
        "seconds": round(seconds, 2),
        "milliseconds_per_call": round(1e3 * seconds / scores.size, 3),
        "busy": round((processor_seconds() - before) / seconds, 2),
        "least_milliseconds_of_a_call": round(1e3 * call, 3),
        "least_milliseconds_of_its_frames": round(1e3 * draw, 3),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
