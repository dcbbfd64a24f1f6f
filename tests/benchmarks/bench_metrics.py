"""Each built-in metric of single rows on a board under resamples, against a bare loop of its peer.

60 submissions x 20,000 rows under 1,000 resamples are scored at once. The peer is the function of
scikit-learn or scipy that one would call in a loop, on the drawn rows: its mean time of a call,
over a few of them, times the number of calls. ``ratio`` is arena's time over that of the loop, so
smaller is better. All are processor times of this process. Each is measured twice, in turn, and the
lesser time counts. The scores of the calls must be equal.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn import metrics as peers

from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import score_under_weights
from arena.plugin.manager import PluginManager
from arena.types import PredictionKind

SUBMISSIONS, ROWS, RESAMPLES = 60, 20_000, 1_000
CALLS = 12
Peer = Callable[[npt.NDArray[Any], npt.NDArray[Any]], Any]


def _roc_auc_of_classes(truth: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> float:
    return float(peers.roc_auc_score(truth, prediction, multi_class="ovr"))


def _correlation(function: Any, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> float:
    return float(function(truth, prediction)[0])


PEERS: Mapping[str, tuple[int, Peer]] = {
    "accuracy": (3, peers.accuracy_score),
    "balanced_accuracy": (3, peers.balanced_accuracy_score),
    "f1": (2, peers.f1_score),
    "f1(average=macro)": (3, partial(peers.f1_score, average="macro")),
    "mcc": (3, peers.matthews_corrcoef),
    "quadratic_weighted_kappa": (5, partial(peers.cohen_kappa_score, weights="quadratic")),
    "brier": (2, peers.brier_score_loss),
    "log_loss": (2, peers.log_loss),
    "average_precision": (2, peers.average_precision_score),
    "roc_auc": (2, peers.roc_auc_score),
    "roc_auc(average=macro)": (3, _roc_auc_of_classes),
    "mae": (0, peers.mean_absolute_error),
    "mse": (0, peers.mean_squared_error),
    "rmse": (0, peers.root_mean_squared_error),
    "rmsle": (0, peers.root_mean_squared_log_error),
    "mape": (0, peers.mean_absolute_percentage_error),
    "quantile_loss": (0, peers.mean_pinball_loss),
    "r2": (0, peers.r2_score),
    "pearson": (0, partial(_correlation, stats.pearsonr)),
    "spearman": (0, partial(_correlation, stats.spearmanr)),
}
"""The specification -> the number of classes, 0 for numbers, and the peer."""


def board(
    kind: PredictionKind, classes: int, submissions: int, rows: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return truth ``(rows,)`` and predictions that know more or less of it."""
    rng = np.random.default_rng(0)
    if not classes:
        truth = rng.gamma(2.0, size=rows)
        return truth, np.abs(truth + rng.normal(size=(submissions, rows)))
    truth = rng.integers(0, classes, rows)
    if kind is PredictionKind.LABEL:
        right = rng.random((submissions, rows)) < 0.7
        return truth, np.where(right, truth, rng.integers(0, classes, (submissions, rows)))
    logits = rng.normal(size=(submissions, rows, classes)) + (np.arange(classes) == truth[:, None])
    odds = np.exp(logits)
    chances = odds / odds.sum(axis=2, keepdims=True)
    return truth, chances[:, :, 1] if classes == 2 else chances


def measure(specification: str, submissions: int, rows: int, resamples: int) -> dict[str, float]:
    """Return the seconds of arena, those of the loop, and their ratio."""
    classes, peer = PEERS[specification]
    metric = PluginManager().metrics.resolve(specification)
    truth, predictions = board(metric.prediction, classes, submissions, rows)
    weights = draw_resamples(rows, resamples, 0).weights
    times: list[float] = []
    loops: list[float] = []
    for _ in range(2):
        calls = _calls(peer, truth, predictions, weights)
        loops.append(float(np.mean([seconds for _, seconds in calls])) * submissions * resamples)
        started = time.process_time()
        scores = score_under_weights(metric, truth, ArrayPredictions(predictions), weights)
        times.append(time.process_time() - started)
        called = np.array([score for score, _ in calls])
        same = np.array([scores[call % submissions, call % resamples] for call in range(CALLS)])
        if not np.allclose(same, called, rtol=1e-9):
            raise SystemExit(f"{specification} differs from its peer: {same} against {called}.")
    seconds, loop = min(times), min(loops)
    return {"seconds": round(seconds, 3), "loop": round(loop, 1), "ratio": seconds / loop}


def _calls(
    peer: Peer, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: npt.NDArray[Any]
) -> list[tuple[float, float]]:
    calls = []
    for call in range(CALLS):
        drawn = weights[:, call % weights.shape[1]]
        started = time.process_time()
        rows = np.repeat(np.arange(len(truth)), drawn)
        score = peer(truth[rows], predictions[call % len(predictions)][rows])
        calls.append((float(score), time.process_time() - started))
    return calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--resamples", type=int, default=RESAMPLES)
    parser.add_argument("--metrics", help="Separated by semicolons.")
    options = parser.parse_args()
    rows, resamples = options.rows, options.resamples
    chosen = options.metrics.split(";") if options.metrics else list(PEERS)
    figures = {}
    for specification in chosen:
        figures[specification] = measure(specification, SUBMISSIONS, rows, resamples)
        print(f"{specification}: {figures[specification]}", flush=True)
    print(
        json.dumps(
            {
                "submissions": SUBMISSIONS,
                "rows": rows,
                "resamples": resamples,
                "metrics": figures,
            }
        )
    )


if __name__ == "__main__":
    main()
