"""The declared ends of the score of a metric are its scores of the best and the worst file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arena.interfaces import Metric, traits_of
from arena.types import PredictionKind
from arena_metrics.catalogue import all_metrics

METRICS: dict[str, Any] = {
    metric.name: metric for metric in all_metrics() if isinstance(metric, Metric)
}
CLASSES = np.array([0, 1, 1, 0, 1, 0])
NUMBERS = np.array([1.0, 4.0, 2.0, 8.0, 3.0])
TEXTS = np.array(["the old cat sat on the mat", "a dog ran"], dtype=object)
STRANGE_TEXTS = np.array(["xyzzy", "kiwi pip"], dtype=object)
"""They share no letter with the others."""
OF_TEXTS = {"exact_match", "token_f1", "word_error_rate", "bleu", "chrf"}
NEVER_WORST = {"average_precision", "word_error_rate"}
"""No file has the score at the worse end: see the formula."""
ELSEWHERE = {
    *("ams", "class_weighted_log_loss", "crps", "interval_coverage_error", "mase", "ndcg_at_k"),
    *("owa", "rmsse", "wis", "dice", "hausdorff", "iou", "map_at_k", "mean_average_precision"),
    *("instance_f1", "panoptic_quality", "wrmsse"),
    *("surface_dice", "trec_map", "trec_mrr", "trec_ndcg", "trec_recall"),
}
"""Metrics that need groups, images or several columns: see the tests of their modules."""


@pytest.mark.parametrize("name", sorted(METRICS.keys() - ELSEWHERE))
def test_the_best_and_the_worst_file_have_the_scores_at_the_ends(name: str) -> None:
    metric = METRICS[name]
    if name in OF_TEXTS:
        truth, best, worst = TEXTS, TEXTS, STRANGE_TEXTS
    elif metric.prediction is PredictionKind.VALUE:
        truth, best, worst = NUMBERS, NUMBERS, -NUMBERS
    elif metric.prediction is PredictionKind.LABEL:
        truth, best, worst = CLASSES, CLASSES, 1 - CLASSES
    else:
        truth, best, worst = CLASSES, CLASSES.astype(float), 1.0 - CLASSES
    low, high = traits_of(metric).score_range
    ends = (high, low) if metric.greater_is_better else (low, high)
    for end, prediction in zip(ends, (best, worst), strict=True):
        if np.isfinite(end) and not (prediction is worst and name in NEVER_WORST):
            assert metric.score(truth, prediction) == pytest.approx(end, abs=1e-9)
