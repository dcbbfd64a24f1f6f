"""Every figure that the papers print, or should have printed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from arena.errors import UsageError
from arena_sota.binormal import auc_maximum
from arena_sota.dependence import bounds, correlation_from_similarity
from arena_sota.maximum import sample_maximum
from arena_sota.paper import printed_numbers


def test_all_but_three_exact_numbers_agree() -> None:
    wrong = {row.quantity: row for row in printed_numbers() if row.agrees is False}
    assert {name: round(row.computed or 0, 4) for name, row in wrong.items()} == {
        "mean, b - a = 0.025": 0.9130,
        "standard deviation, rho0 0.6, b - a = 0.025": 0.0037,
        "correlation of classifiers that agree on 85% at accuracy 0.756": 0.5934,
    }
    assert all(row.note for row in wrong.values())
    assert sum(row.agrees is True for row in printed_numbers()) == 43


def test_tail_probabilities_that_differ_by_a_row():
    maximum = sample_maximum(3000, 0.90, 1000)
    assert round(maximum.sf(2764 / 3000), 4) == 0.0247
    assert round(maximum.sf(2763 / 3000), 4) == 0.0325


def test_similarity_of_independent_classifiers() -> None:
    independent = 0.9**2 + 0.1**2
    assert correlation_from_similarity(independent, 0.9) == pytest.approx(0, abs=1e-12)


def test_similarity_of_unequal_accuracies_is_that_of_two_by_two_tables():
    rng = np.random.default_rng(0)
    for table in rng.dirichlet(np.ones(4), size=20):
        both, first, second, neither = table
        theta_j, theta_k = both + first, both + second
        expected = (both - theta_j * theta_k) / math.sqrt(
            theta_j * (1 - theta_j) * theta_k * (1 - theta_k)
        )
        assert correlation_from_similarity(both + neither, theta_j, theta_k) == pytest.approx(
            expected
        )


@pytest.mark.parametrize("accuracies", [(0.0,), (1.0,), (0.5, 1.0), (0.0, 0.5)])
def test_an_accuracy_of_0_or_1_has_no_correlation(accuracies: tuple[float, ...]) -> None:
    with pytest.raises(UsageError, match="strictly between 0 and 1"):
        correlation_from_similarity(0.5, *accuracies)


def test_bounds_are_where_a_conditional_probability_ends():
    low, high = bounds(0.6, 0.9)
    assert low == pytest.approx(0.36 * 9 / (1 + 0.36 * 9))
    assert high == pytest.approx(0.9 / (0.9 + 0.36 * 0.1))


@pytest.mark.slow
def test_auc_of_a_single_classifier():
    drawn_maximum = auc_maximum(
        np.array([0.9]), 52, 2948, np.random.default_rng(0), repetitions=4000
    )
    assert drawn_maximum.mean == pytest.approx(0.90, abs=0.0015)
    assert drawn_maximum.interval() == pytest.approx((0.856, 0.938), abs=0.0025)


@pytest.mark.slow
def test_auc_of_the_best_of_a_thousand():
    best = auc_maximum(np.full(1000, 0.9), 52, 2948, np.random.default_rng(0), repetitions=2000)
    error = best.std / 2000**0.5
    assert abs(best.mean - 0.956) < 0.0005 + 4 * error
    assert best.std == pytest.approx(0.0045, abs=0.0003)
    assert best.interval() == pytest.approx((0.949, 0.966), abs=0.001)
