"""Compiled sums over pairs of rows of which one came first: what the concordance index counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena_metrics.compilation import compiled

__all__ = ["sums_of_earlier_below"]

_LANES = 16
"""Weightings that pass at once: a node of the tree fills a cache line."""
_LARGEST_TOTAL = 2**30


def sums_of_earlier_below(places: Any, times: Any, weights: Any, asked: Any) -> Any:
    """Return ``(n, B)``: at row i twice the weight of the rows j with ``times[j] < times[i]``.

    A row whose place is the same counts half, and one whose place is above not at all; 0 where
    not asked. By a tree of partial sums over the places (Fenwick 1994): ``n log n`` steps for each
    weighting. Counts are summed as integers, other weights as float64.
    """
    order = np.argsort(times, kind="stable")
    sums = np.empty(weights.shape)
    kind = _kind(weights)
    n_places = int(places.max(initial=-1)) + 1
    for start in range(0, weights.shape[1], _LANES):
        lanes = slice(start, start + _LANES)
        strip = np.ascontiguousarray(weights[:, lanes], dtype=kind)
        tree = np.zeros((n_places + 1, strip.shape[1]), dtype=kind)
        at_place, out = np.zeros_like(tree), np.zeros_like(strip)
        _pass_through(places, times, order, asked, strip, tree, at_place, out)
        sums[:, lanes] = out
    return sums


def _kind(weights: Any) -> Any:
    """Return int32 for counts whose sum it holds, twice, and float64 otherwise."""
    if weights.sum(axis=0).max(initial=0) < _LARGEST_TOTAL and (weights == np.rint(weights)).all():
        return np.int32
    return np.float64


@compiled
def _pass_through(
    places: Any,
    times: Any,
    order: Any,
    asked: Any,
    weights: Any,
    tree: Any,
    at_place: Any,
    out: Any,
) -> None:
    n, n_lanes = weights.shape
    first = 0
    while first < n:
        last = first
        while last < n and times[order[last]] == times[order[first]]:
            last += 1
        for at in range(first, last):
            row = order[at]
            node = places[row] if asked[row] else 0
            while node > 0:
                for lane in range(n_lanes):
                    out[row, lane] += tree[node, lane]
                node -= node & -node
            if asked[row]:
                for lane in range(n_lanes):
                    out[row, lane] += out[row, lane] + at_place[places[row], lane]
        for at in range(first, last):
            row = order[at]
            for lane in range(n_lanes):
                at_place[places[row], lane] += weights[row, lane]
            node = places[row] + 1
            while node < len(tree):
                for lane in range(n_lanes):
                    tree[node, lane] += weights[row, lane]
                node += node & -node
        first = last
