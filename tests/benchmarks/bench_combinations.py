"""Combined scores of 200 submissions x 20,000 rows under 1,000 resamples, and a mean rank by task.

``ratio`` is the processor time of a combination over that of one metric on the same rows: linear
combinations of pointwise metrics, of two metrics or of 20 tasks, are one product of row values with
the resamples. Each is measured three times, in turn, and the least counts. ``mean_rank`` is the
whole board by mean rank over 5, 10 and 20 tasks: scores, and ranks decided task by task.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from arena.evaluation.binding import bind
from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.combination_parts import Combination
from arena.evaluation.combinations import combined_metric
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores, score_under_weights
from arena.plugin.manager import PluginManager
from arena.scoring.private_board import RankedRows, study_of
from arena.scoring.settings import BoardSettings
from arena.types import PredictionKind, Solution, Target
from arena_ranking.ranker import SimultaneousRanks


def solution(n: int, n_tasks: int) -> tuple[Solution, np.ndarray]:
    """Return rows of two classes in tasks that alternate, as in a shuffled file."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n)
    solution_of_tasks = Solution(
        id_column="id",
        targets=(Target("y", ("0", "1")),),
        columns=("y",),
        kind=PredictionKind.CLASS_PROBABILITIES,
        ids=pa.array(np.arange(n).astype(str)),
        truth=truth,
        usage=np.ones(n, dtype=np.uint8),
        sha256="",
        tasks=np.arange(n) % n_tasks,
        task_names=tuple(f"task {code}" for code in range(n_tasks)),
    )
    return solution_of_tasks, truth


def cpu_seconds(call: Callable[[], Any]) -> float:
    """Return the processor seconds of a call, all threads included."""
    started = time.process_time()
    call()
    return time.process_time() - started


def main() -> None:
    """Print the measurements as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--resamples", type=int, default=1_000)
    options = parser.parse_args()
    m, n = options.submissions, options.rows
    metrics = PluginManager().metrics
    data, truth = solution(n, 20)
    quality = np.linspace(0.1, 0.3, m)[:, np.newaxis]
    noise = np.random.default_rng(1).random((m, n))
    board = ArrayPredictions(0.1 + 0.5 * noise + quality * truth)
    weights = draw_resamples(n, options.resamples, 0, strata=data.tasks).weights
    every = np.ones(n, dtype=np.bool_)
    single = metrics.resolve("brier")
    both = {name: metrics.resolve(name) for name in ("brier", "log_loss")}
    scored = {
        "one metric": single,
        "mean of two metrics": combined_metric(both, Combination(), solution=data),
        "mean of 20 tasks": combined_metric(
            {"brier": single}, Combination(), by_task=True, solution=data
        ),
        "mean of two metrics on 20 tasks": combined_metric(
            both, Combination(), by_task=True, solution=data
        ),
    }
    bound = {name: bind(metric, data, every) for name, metric in scored.items()}
    seconds: dict[str, list[float]] = {name: [] for name in bound}
    for _ in range(3):
        for name, metric in bound.items():
            seconds[name].append(
                cpu_seconds(
                    lambda metric=metric: score_under_weights(metric, truth, board, weights)
                )
            )
    least = {name: min(times) for name, times in seconds.items()}
    ranked = {}
    for n_tasks in (5, 10, 20):
        part, labels = solution(n, n_tasks)
        metric = bind(
            combined_metric(
                {"brier": single}, Combination("mean_rank"), by_task=True, solution=part
            ),
            part,
            every,
        )
        ranked[n_tasks] = cpu_seconds(
            lambda m_=metric, y=labels: _rank(m_, y, board, options.resamples)
        )
    print(
        json.dumps(
            {
                "submissions": m,
                "rows": n,
                "resamples": options.resamples,
                "cpu_seconds": {name: round(value, 2) for name, value in least.items()},
                "ratio": {
                    name: round(value / least["one metric"], 2) for name, value in least.items()
                },
                "mean_rank_cpu_seconds": {
                    f"{count} tasks": round(value, 2) for count, value in ranked.items()
                },
            }
        )
    )


def _rank(metric: Any, truth: np.ndarray, board: ArrayPredictions, resamples: int) -> None:
    m = board.n_submissions
    study, _ = study_of(
        metric,
        RankedRows(truth, ("0", "1")),
        tuple(f"team {j}" for j in range(m)),
        np.arange(1, m + 1),
        board,
        full_scores(metric, truth, board),
        BoardSettings(resamples),
    )
    SimultaneousRanks().rank(study)


if __name__ == "__main__":
    main()
