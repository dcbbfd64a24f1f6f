"""Compiled sums over ordered pairs of rows, for the concordance index."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena_metrics.kernels.compilation import compiled

_LANES = 16
"""Weightings processed at once: one node of the tree fills a cache line."""
_LARGEST_TOTAL = 2**30


def concordance_sums(ranks: Any, times: Any, weights: Any, selected: Any) -> Any:
    """Return ``(n, B)``: for row i twice the weight of the rows j with ``times[j] < times[i]``.

    Rows with equal rank count half, rows with a higher rank not at all. 0 for rows that are not
    selected. Uses a Fenwick tree over the ranks (Fenwick 1994), ``n log n`` steps per weighting.
    Counts are summed as integers, other weights as float64.
    """
    order = np.argsort(times, kind="stable")
    sums = np.empty(weights.shape)
    dtype = _sum_dtype(weights)
    n_ranks = int(ranks.max(initial=-1)) + 1
    for start in range(0, weights.shape[1], _LANES):
        lanes = slice(start, start + _LANES)
        strip = np.ascontiguousarray(weights[:, lanes], dtype=dtype)
        tree = np.zeros((n_ranks, strip.shape[1]), dtype=dtype)
        at_rank, out = np.zeros_like(tree), np.zeros_like(strip)
        _pass_through(ranks, times, order, selected, strip, tree, at_rank, out)
        sums[:, lanes] = out
    return sums


def _sum_dtype(weights: Any) -> Any:
    """Return int32 if the weights are counts whose doubled sum fits, else float64."""
    if weights.sum(axis=0).max(initial=0) < _LARGEST_TOTAL and (weights == np.rint(weights)).all():
        return np.int32
    return np.float64


@compiled
def _pass_through(
    ranks: Any,
    times: Any,
    order: Any,
    selected: Any,
    weights: Any,
    tree: Any,
    at_rank: Any,
    out: Any,
) -> None:
    n, n_lanes = weights.shape
    first = 0
    while first < n:
        last = first
        while last < n and times[order[last]] == times[order[first]]:
            last += 1
        for position in range(first, last):
            row = order[position]
            node = ranks[row] if selected[row] else 0
            while node > 0:
                for lane in range(n_lanes):
                    out[row, lane] += tree[node, lane]
                node -= node & -node
            if selected[row]:
                for lane in range(n_lanes):
                    out[row, lane] += out[row, lane] + at_rank[ranks[row], lane]
        for position in range(first, last):
            row = order[position]
            for lane in range(n_lanes):
                at_rank[ranks[row], lane] += weights[row, lane]
            node = ranks[row] + 1
            while node < len(tree):
                for lane in range(n_lanes):
                    tree[node, lane] += weights[row, lane]
                node += node & -node
        first = last
