"""The metrics of this plugin, in the order in which they are listed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from arena.interfaces import Deferred, Metric, MetricFamily

_CLASSES = {
    "accuracy": "pointwise:Accuracy",
    "balanced_accuracy": "classification:BalancedAccuracy",
    "f1": "classification:F1",
    "mcc": "classification:Matthews",
    "quadratic_weighted_kappa": "classification:QuadraticWeightedKappa",
    "roc_auc": "ranking:RocAuc",
    "average_precision": "ranking:AveragePrecision",
    "gini": "rank_correlation:Gini",
    "log_loss": "pointwise:LogLoss",
    "class_weighted_log_loss": "weighted_classes:ClassWeightedLogLoss",
    "brier": "pointwise:Brier",
    "ams": "weighted_classes:ApproximateMedianSignificance",
    "eer": "error_rates:EqualErrorRate",
    "min_dcf": "error_rates:MinimumDetectionCost",
    "mae": "regression:MeanAbsoluteError",
    "mse": "regression:MeanSquaredError",
    "rmse": "regression:RootMeanSquaredError",
    "rmsle": "regression:RootMeanSquaredLogError",
    "mape": "regression:MeanAbsolutePercentageError",
    "smape": "regression:SymmetricMeanAbsolutePercentageError",
    "quantile_loss": "regression:QuantileLoss",
    "mase": "forecasts:Mase",
    "rmsse": "forecasts:Rmsse",
    "wrmsse": "wrmsse:Wrmsse",
    "owa": "forecasts:OverallWeightedAverage",
    "wis": "forecasts:WeightedIntervalScore",
    "crps": "forecasts:SampleCrps",
    "interval_coverage_error": "forecasts:IntervalCoverage",
    "r2": "correlation:RSquared",
    "pearson": "correlation:Pearson",
    "spearman": "rank_correlation:Spearman",
    "ndcg_at_k": "ndcg:NdcgAtK",
    "map_at_k": "map_at_k:MapAtK",
    "trec_map": "retrieval:TrecMap",
    "trec_ndcg": "retrieval:TrecNdcg",
    "trec_mrr": "retrieval:TrecReciprocalRank",
    "trec_recall": "retrieval:TrecRecall",
    "exact_match": "answers:ExactMatch",
    "token_f1": "answers:TokenF1",
    "word_error_rate": "answers:WordErrorRate",
    "bleu": "answers:Bleu",
    "chrf": "answers:Chrf",
    "mean_average_precision": "detection:MeanAveragePrecision",
    "concordance_index": "survival:ConcordanceIndex",
    "dice": "segmentation:Dice",
    "iou": "segmentation:IntersectionOverUnion",
    "panoptic_quality": "instances:PanopticQuality",
    "instance_f1": "instances:InstanceF1",
    "surface_dice": "surfaces:SurfaceDice",
    "hausdorff": "surfaces:Hausdorff",
}
"""The name of a metric -> its module and class."""
_FAMILIES = ("kaggle", "hf", "evalai", "codabench", "mlebench", "")

METRICS = (
    *(Deferred(name, f"arena_metrics.{place}") for name, place in _CLASSES.items()),
    Deferred("sklearn", "arena_metrics.sklearn_family:ScikitLearn", is_family=True),
    *(
        Deferred(prefix, "arena_metrics.foreign.family:family_of", (prefix,), is_family=True)
        for prefix in _FAMILIES
    ),
)
"""Every metric with its default parameters, and the metric families."""


MODALITIES = (
    Deferred("row sets", "arena_metrics.modalities:RowSets"),
    Deferred("boxes", "arena_metrics.modalities:Boxes"),
    Deferred("instances", "arena_metrics.modalities:Instances"),
    Deferred("masks", "arena_metrics.modalities:Masks"),
    Deferred("several numbers", "arena_metrics.forecasts:SeveralNumbers"),
    Deferred("retrieval", "arena_metrics.retrieval:Retrieval"),
    Deferred("whole file", "arena_metrics.modalities:WholeFile"),
)
"""Every modality other than plain tables."""


def metric_of(name: str, parameters: Mapping[str, Any]) -> Metric:
    """Return a metric of this plugin with parameters.

    >>> metric_of("f1", {"average": "macro"}).average
    'macro'
    """
    module, _, made = _CLASSES[name].partition(":")
    metric: Metric = getattr(import_module(f"arena_metrics.{module}"), made)(**parameters)
    return metric


def all_metrics() -> tuple[Metric | MetricFamily, ...]:
    """Return every metric with its default parameters, and the metric families; imports them.

    >>> [metric.name for metric in all_metrics() if hasattr(metric, "name")][:3]
    ['accuracy', 'balanced_accuracy', 'f1']
    """
    return tuple(metric.load() for metric in METRICS)
