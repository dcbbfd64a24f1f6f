"""The compiled kernels, under the names of their plain counterparts in ``interpreted``.

Importing this imports numba. Several threads may call the kernels at once.
"""

from __future__ import annotations

from typing import Any

from arena_metrics import interpreted
from arena_metrics.kernels_pairs import LARGEST_WEIGHT
from arena_metrics.kernels_pairs import pairs_won as _pairs_won
from arena_metrics.kernels_ranks import centred_midranks, column_sums, precision_sums, rank_sums
from arena_metrics.kernels_rows import category_counts, log_losses
from arena_metrics.kernels_survival import sums_of_earlier_below
from arena_metrics.kernels_text import average_precisions, check_runs, overlaps

__all__ = [
    "average_precisions",
    "category_counts",
    "centred_midranks",
    "check_runs",
    "column_sums",
    "log_losses",
    "overlaps",
    "pairs_won",
    "precision_sums",
    "rank_sums",
    "sums_of_earlier_below",
]


def pairs_won(predictions: Any, positive: Any, weights: Any) -> Any:
    """Return twice the pairs won, ``(m, B)``, and the number of pairs, ``(B,)``.

    Counts that do not fit into half a byte, which no bootstrap draws, take the plain path.
    """
    fits = weights.max(initial=0) <= LARGEST_WEIGHT
    return (_pairs_won if fits else interpreted.pairs_won)(predictions, positive, weights)
