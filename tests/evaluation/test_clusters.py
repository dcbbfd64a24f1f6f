"""Sizes of clusters, blocks of time, and the names of constant targets, worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.evaluation.clusters import (
    cluster_leverage,
    effective_rows,
    fewest_units,
    size_degrees_of_freedom,
    time_blocks,
)
from arena.evaluation.domain import constant_targets


@pytest.mark.parametrize(
    ("units", "weights", "leverage"),
    [
        ([0, 0, 1, 1, 2, 2], None, [1, 1, 1]),
        ([0, 0, 1], [1.0, 2.0, 1.0], [2, 2 / 3]),  # (1 - 1/2) / (1 - 3/4)
        ([0, 1, 2], [2.0, 1.0, 1.0], [4 / 3, 8 / 9, 8 / 9]),
        ([0, 1], [998.0, 2.0], [250, 0.5 / 0.998]),
        ([0, 1], [9_999.0, 1.0], [500, 0.5 / 0.9999]),  # a share counts as 0.999 at most
    ],
)
def test_a_large_cluster_counts_more(units: Any, weights: Any, leverage: list[float]) -> None:
    weight_array = None if weights is None else np.array(weights)
    assert cluster_leverage(np.array(units), weight_array) == pytest.approx(leverage)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_sizes_leave_degrees_of_freedom_and_rows(scale: float) -> None:
    """Sizes 1 and 3 have sums of squares 10 and of fourth powers 82: 10²/82 - 1 and 4²/10."""
    sizes = np.array([1.0, 3.0])
    assert size_degrees_of_freedom(np.arange(2), scale * sizes) == pytest.approx(100 / 82 - 1)
    assert size_degrees_of_freedom(np.array([0, 1, 1, 1])) == pytest.approx(100 / 82 - 1)
    assert effective_rows(scale * sizes) == pytest.approx(1.6)
    assert size_degrees_of_freedom(np.arange(2), np.array([1e-200, 1.0])) == 0


@pytest.mark.parametrize(
    ("codes", "clusters", "weights", "fewest"),
    [
        ([0, 0, 0, 1, 1], None, None, 2),
        ([0, 0, 0, 1, 1], None, [1.0, 1.0, 1.0, 1.0, 3.0], 1.6),
        ([0, 0, 0, 0], [0, 1, 1, 1], None, 1.6),
        ([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 0, 1], None, 1.8),
        ([0, 0, 1], None, [1.0, 1.0, 0.0], 0),
    ],
)
def test_the_rarest_code_counts(codes: Any, clusters: Any, weights: Any, fewest: float) -> None:
    arrays = [None if values is None else np.array(values) for values in (clusters, weights)]
    assert fewest_units(np.array(codes), *arrays) == pytest.approx(fewest)


@pytest.mark.parametrize(
    ("n_times", "sizes"),
    [(1, [1]), (3, [3]), (4, [2, 2]), (8, [4, 4]), (9, [3, 3, 3]), (10, [4, 3, 3])],
)
def test_blocks_of_time_have_as_many_times_as_there_are_blocks(
    n_times: int, sizes: list[int]
) -> None:
    assert np.bincount(time_blocks(np.arange(n_times) * 2.5)).tolist() == sizes
    backwards = time_blocks(np.repeat(np.arange(n_times), 2)[::-1].astype(float))
    assert (
        backwards.tolist() == np.repeat(np.arange(len(sizes)), 2 * np.array(sizes))[::-1].tolist()
    )


@pytest.mark.parametrize(
    ("n_constant", "names"),
    [
        (0, ""),
        (1, "target 'a'"),
        (5, "target 'a', 'b', 'c', 'd', 'e'"),
        (6, "target 'a', 'b', 'c', 'd', 'e' and 1 more"),
    ],
)
def test_five_constant_targets_are_named(n_constant: int, names: str) -> None:
    truth = np.tile(np.arange(7), (3, 1))
    truth[1, n_constant:] += 1
    truth[2] += 2  # this row is left out
    targets = [SimpleNamespace(name=name) for name in "abcdefg"]
    rows = np.array([True, True, False])
    several: Any = SimpleNamespace(truth=truth, targets=targets)
    assert constant_targets(several, rows) == names
    single: Any = SimpleNamespace(truth=truth[:, 0], targets=targets[:1])
    assert constant_targets(single, rows) == ("target 'a'" if n_constant else "")
