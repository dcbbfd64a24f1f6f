"""The metrics of this plugin, in the order in which they are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_metrics.classification import F1, BalancedAccuracy, Matthews, QuadraticWeightedKappa
from arena_metrics.correlation import Pearson, RSquared
from arena_metrics.detection import MeanAveragePrecision
from arena_metrics.foreign.family import FAMILIES
from arena_metrics.map_at_k import MapAtK
from arena_metrics.ndcg import NdcgAtK
from arena_metrics.pointwise import Accuracy, Brier, LogLoss
from arena_metrics.rank_correlation import Gini, Spearman
from arena_metrics.ranking import AveragePrecision, RocAuc
from arena_metrics.regression import (
    MeanAbsoluteError,
    MeanAbsolutePercentageError,
    MeanSquaredError,
    QuantileLoss,
    RootMeanSquaredError,
    RootMeanSquaredLogError,
    SymmetricMeanAbsolutePercentageError,
)
from arena_metrics.segmentation import Dice, IntersectionOverUnion
from arena_metrics.sklearn_family import ScikitLearn
from arena_metrics.surfaces import Hausdorff, SurfaceDice
from arena_metrics.survival import ConcordanceIndex

if TYPE_CHECKING:
    from arena.interfaces import Metric, MetricFamily


def all_metrics() -> tuple[Metric | MetricFamily, ...]:
    """Return every metric with its default parameters, and the metric families.

    >>> [metric.name for metric in all_metrics() if hasattr(metric, "name")][:3]
    ['accuracy', 'balanced_accuracy', 'f1']
    """
    return (
        Accuracy(),
        BalancedAccuracy(),
        F1(),
        Matthews(),
        QuadraticWeightedKappa(),
        RocAuc(),
        AveragePrecision(),
        Gini(),
        LogLoss(),
        Brier(),
        MeanAbsoluteError(),
        MeanSquaredError(),
        RootMeanSquaredError(),
        RootMeanSquaredLogError(),
        MeanAbsolutePercentageError(),
        SymmetricMeanAbsolutePercentageError(),
        QuantileLoss(),
        RSquared(),
        Pearson(),
        Spearman(),
        NdcgAtK(),
        MapAtK(),
        MeanAveragePrecision(),
        ConcordanceIndex(),
        Dice(),
        IntersectionOverUnion(),
        SurfaceDice(),
        Hausdorff(),
        ScikitLearn(),
        *FAMILIES,
    )
