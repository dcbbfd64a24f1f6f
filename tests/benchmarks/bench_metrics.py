"""Built-in metrics on a board under resamples, each against a bare loop of its peer.

60 submissions x 20,000 rows under 1,000 resamples are scored at once; of boxes 4 x 500 images. The
peer is the function of scikit-learn, scipy, pycocotools or numpy that one would call in a loop, on
the drawn rows: its mean time of a call, over a few of them, times the number of calls. ``ratio`` is
arena's time over that of the loop, so smaller is better. All are processor times of this process.
Each is measured twice, in turn, and the lesser time counts. The scores of the calls must be equal.

A query of NDCG has 20 documents. The masks are decoded before the loop, which is not timed, but
arena reads them as texts. Of metrics for which no peer is named here the peer is their own score of
one submission, called in a loop; metrics of texts have 4 x 500 rows.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import benchmark_paths
import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn import metrics as peers

from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import score_under_weights
from arena.interfaces import NeedsRowContext
from arena.plugin.manager import PluginManager
from arena.testing.problems import problem_for
from arena.types import PredictionKind, RowContext
from arena_metrics.catalogue import METRICS

SUBMISSIONS, ROWS, RESAMPLES = 60, 20_000, 1_000
CALLS = 12
DOCUMENTS, PIXELS = 20, 64
Values = npt.NDArray[Any]


def numbers(_metric: Any, submissions: int, rows: int) -> tuple[Values, Values]:
    """Return truth ``(rows,)`` and predictions that know more or less of it."""
    rng = np.random.default_rng(0)
    truth = rng.gamma(2.0, size=rows)
    return truth, np.abs(truth + rng.normal(size=(submissions, rows)))


def classes(n_classes: int, metric: Any, submissions: int, rows: int) -> tuple[Values, Values]:
    """Return the same for classes: labels, or probabilities."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, n_classes, rows)
    if metric.prediction is PredictionKind.LABEL:
        right = rng.random((submissions, rows)) < 0.7
        return truth, np.where(right, truth, rng.integers(0, n_classes, (submissions, rows)))
    noise = rng.normal(size=(submissions, rows, n_classes))
    odds = np.exp(noise + (np.arange(n_classes) == truth[:, None]))
    chances = odds / odds.sum(axis=2, keepdims=True)
    return truth, chances[:, :, 1] if n_classes == 2 else chances


def relevances(_metric: Any, submissions: int, rows: int) -> tuple[Values, Values]:
    """Return the same for documents of four relevances."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, rows).astype(np.float64)
    return truth, truth + 2 * rng.normal(size=(submissions, rows))


def examples(metric: Any, submissions: int, rows: int) -> tuple[Values, Values]:
    """Return the metric's own example, in which submissions repeat: texts take long to draw."""
    truth, predictions = metric.example(rows, min(4, submissions), np.random.default_rng(0))
    return truth, np.resize(predictions, (submissions, *predictions.shape[1:]))


@dataclass(frozen=True)
class Peer:
    """What one would call in a loop, and the board on which it is compared."""

    score: Callable[[Values, Values], Any]
    board: Callable[[Any, int, int], tuple[Values, Values]] = numbers
    read: Callable[[Values], Values] | None = None
    """What the loop does once with truth and predictions, which is not timed."""
    rows_of_unit: int = 1
    """Rows that are drawn together."""
    size: tuple[int, int] | None = None
    """The submissions and most rows of a peer whose calls take long."""


def _roc_auc_of_classes(truth: Values, prediction: Values) -> float:
    return float(peers.roc_auc_score(truth, prediction, multi_class="ovr"))


def _correlation(function: Any, truth: Values, prediction: Values) -> float:
    return float(function(truth, prediction)[0])


def _ndcg(truth: Values, prediction: Values) -> float:
    shape = (-1, DOCUMENTS)
    return float(peers.ndcg_score(truth.reshape(shape), prediction.reshape(shape), k=10))


def _pixels(masks: Values) -> Values:
    pixels = np.zeros((len(masks), PIXELS), dtype=np.bool_)
    for row, mask in enumerate(masks):
        runs = [int(number) for number in mask.split()]
        for start, length in zip(runs[::2], runs[1::2], strict=True):
            pixels[row, start - 1 : start - 1 + length] = True
    return pixels


def _overlap(of_sizes: Callable[[Values, Values], Values], truth: Values, mask: Values) -> float:
    common, sizes = (truth & mask).sum(axis=1), truth.sum(axis=1) + mask.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return float(np.where(sizes == 0, 1.0, of_sizes(common, sizes)).mean())


def _coco(truth: Values, prediction: Values) -> float:
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        sides = [_annotations(cells) for cells in (truth, prediction)]
        run = COCOeval(*sides, "bbox")
        run.evaluate()
        run.accumulate()
        run.summarize()
    return float(run.stats[0])


def _annotations(images: Values) -> Any:
    from pycocotools.coco import COCO

    boxes: list[dict[str, Any]] = []
    for image, cells in enumerate(images):
        for label, *texts in zip(*map(json.loads, cells), strict=True):
            left, top, right, bottom, *scores = map(float, texts)
            box = [left, top, right - left, bottom - top]
            boxes.append(
                {
                    "id": len(boxes) + 1, "image_id": image, "category_id": 1 + (label == "dog"),
                    "bbox": box, "area": box[2] * box[3], "iscrowd": 0, "score": sum(scores),
                }
            )  # fmt: skip
    side = COCO()
    side.dataset = {
        "images": [{"id": image} for image in range(len(images))],
        "categories": [{"id": category} for category in (1, 2)],
        "annotations": boxes,
    }
    side.createIndex()
    return side


two, three, five = (partial(classes, count) for count in (2, 3, 5))
PEERS: Mapping[str, Peer] = {
    "accuracy": Peer(peers.accuracy_score, three),
    "balanced_accuracy": Peer(peers.balanced_accuracy_score, three),
    "f1": Peer(peers.f1_score, two),
    "f1(average=macro)": Peer(partial(peers.f1_score, average="macro"), three),
    "mcc": Peer(peers.matthews_corrcoef, three),
    "quadratic_weighted_kappa": Peer(partial(peers.cohen_kappa_score, weights="quadratic"), five),
    "brier": Peer(peers.brier_score_loss, two),
    "log_loss": Peer(peers.log_loss, two),
    "average_precision": Peer(peers.average_precision_score, two),
    "roc_auc": Peer(peers.roc_auc_score, two),
    "roc_auc(average=macro)": Peer(_roc_auc_of_classes, three),
    "mae": Peer(peers.mean_absolute_error),
    "mse": Peer(peers.mean_squared_error),
    "rmse": Peer(peers.root_mean_squared_error),
    "rmsle": Peer(peers.root_mean_squared_log_error),
    "mape": Peer(peers.mean_absolute_percentage_error),
    "quantile_loss": Peer(peers.mean_pinball_loss),
    "r2": Peer(peers.r2_score),
    "pearson": Peer(partial(_correlation, stats.pearsonr)),
    "spearman": Peer(partial(_correlation, stats.spearmanr)),
    "ndcg_at_k": Peer(_ndcg, relevances, rows_of_unit=DOCUMENTS),
    "dice": Peer(partial(_overlap, lambda common, sizes: 2 * common / sizes), examples, _pixels),
    "iou": Peer(
        partial(_overlap, lambda common, sizes: common / (sizes - common)), examples, _pixels
    ),
    "mean_average_precision": Peer(_coco, examples, size=(4, 500)),
}
"""The peer of each specification."""


def measure(specification: str, submissions: int, rows: int, resamples: int) -> dict[str, float]:
    """Return the seconds of arena, those of the loop, and their ratio."""
    peer, metric = PEERS[specification], PluginManager().metrics.resolve(specification)
    if peer.size is not None:
        submissions, rows = peer.size[0], min(rows, peer.size[1])
    units = np.arange(rows) // peer.rows_of_unit
    if peer.rows_of_unit > 1:
        metric = metric.for_rows(RowContext("id", None, ("y",), ("y",), clusters=units))
    truth, predictions = peer.board(metric, submissions, rows)
    weights = draw_resamples(units[-1] + 1, resamples, 0).weights[units]
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


def measure_own(specification: str, submissions: int, rows: int, resamples: int) -> dict[str, Any]:
    """Return the same of a metric against a loop of its own score."""
    metric = PluginManager().metrics.resolve(specification)
    if metric.prediction is PredictionKind.TEXT:
        submissions, rows = 4, min(rows, 500)
    problem = problem_for(metric, n_rows=rows, n_submissions=min(submissions, CALLS))
    units = problem.clusters if isinstance(metric, NeedsRowContext) else np.arange(rows)
    weights = draw_resamples(int(units.max()) + 1, resamples, 0).weights[units]
    predictions = np.resize(problem.predictions, (submissions, *problem.predictions.shape[1:]))
    times: list[float] = []
    loops: list[float] = []
    for _ in range(2):
        expected, given, used = [], [], []
        started = time.process_time()
        scores = score_under_weights(
            problem.metric, problem.truth, ArrayPredictions(predictions), weights
        )
        times.append(time.process_time() - started)
        for call in range(CALLS):
            prediction, resample = call % len(problem.predictions), call % resamples
            counts = weights[:, resample]
            copies = [np.flatnonzero(counts > copy) for copy in range(counts.max())]
            drawn = problem.take(np.concatenate(copies))
            bound, started = drawn.metric, time.process_time()
            expected.append(bound.score(drawn.truth, drawn.predictions[prediction]))
            used.append(time.process_time() - started)
            given.append(scores[prediction, resample])
        loops.append(float(np.mean(used)) * submissions * resamples)
        if not np.allclose(given, expected, rtol=1e-8, equal_nan=True):
            raise SystemExit(f"{specification} differs from its score: {given} against {expected}.")
    seconds, loop = min(times), min(loops)
    return {
        "seconds": round(seconds, 3), "loop": round(loop, 1), "ratio": seconds / loop, "own": True,
    }  # fmt: skip


def _calls(
    peer: Peer, truth: Values, predictions: Values, weights: Values
) -> list[tuple[float, float]]:
    read, calls = peer.read or (lambda cells: cells), []
    true, offsets = read(truth), np.arange(peer.rows_of_unit)
    for call in range(CALLS):
        prediction = read(predictions[call % len(predictions)])
        counts = weights[:: peer.rows_of_unit, call % weights.shape[1]]
        started = time.process_time()
        units = np.repeat(np.arange(len(counts)), counts)
        rows = (units[:, np.newaxis] * peer.rows_of_unit + offsets).ravel()
        score = peer.score(true[rows], prediction[rows])
        calls.append((float(score), time.process_time() - started))
    return calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--resamples", type=int, default=RESAMPLES)
    parser.add_argument("--metrics", help="Separated by semicolons.")
    options = parser.parse_args()
    benchmark_paths.need("pycocotools", extra="detection")
    rows, resamples = options.rows, options.resamples
    named = {specification.partition("(")[0] for specification in PEERS}
    others = [metric.name for metric in METRICS if not metric.is_family]
    chosen = [*PEERS, *(name for name in others if name not in named)]
    if options.metrics:
        chosen = options.metrics.split(";")
    figures = {}
    for specification in chosen:
        measure_one = measure if specification in PEERS else measure_own
        figures[specification] = measure_one(specification, SUBMISSIONS, rows, resamples)
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
