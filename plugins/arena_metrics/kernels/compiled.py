"""The compiled kernels, with the same names as their numpy versions in ``interpreted``.

Imports numba. The kernels are thread-safe.
"""

from __future__ import annotations

from typing import Any

from arena.evaluation.shared_weights import derived_once
from arena_metrics.kernels import interpreted
from arena_metrics.kernels.rank_sums import (
    centred_midranks,
    rank_sums,
    weighted_average_precision,
)
from arena_metrics.kernels.roc_auc import LARGEST_WEIGHT
from arena_metrics.kernels.roc_auc import concordant_pairs as _concordant_pairs
from arena_metrics.kernels.rows import category_counts, log_losses
from arena_metrics.kernels.survival import concordance_sums, concordance_totals
from arena_metrics.kernels.text import average_precisions, check_runs, overlaps
from arena_metrics.kernels.thresholds import crossing_shares, least_costs

__all__ = [
    "average_precisions",
    "category_counts",
    "centred_midranks",
    "check_runs",
    "concordance_sums",
    "concordance_totals",
    "concordant_pairs",
    "crossing_shares",
    "least_costs",
    "log_losses",
    "overlaps",
    "rank_sums",
    "weighted_average_precision",
]


def concordant_pairs(predictions: Any, positive: Any, weights: Any) -> Any:
    """Return twice the number of concordant pairs, ``(m, B)``, and the number of pairs, ``(B,)``.

    Weights that do not fit into half a byte (a bootstrap does not draw them) use plain numpy.
    """
    largest = derived_once(weights, _largest)
    return (_concordant_pairs if largest <= LARGEST_WEIGHT else interpreted.concordant_pairs)(
        predictions, positive, weights
    )


def _largest(weights: Any) -> int:
    return int(weights.max(initial=0))
