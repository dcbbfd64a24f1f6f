"""Every figure that the papers print, or should have printed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from arena_sota.binormal import auc_maximum
from arena_sota.dependence import bounds, correlation_from_similarity
from arena_sota.maximum import sample_maximum

SPREAD = 0.025
UPPER_END = 0.90 + SPREAD / 1_001  # so that (m b + a) / (m + 1) is 0.90
UNIFORM = stats.uniform(UPPER_END - SPREAD, SPREAD)


@pytest.mark.parametrize(
    ("m", "n", "theta", "mean", "std"),
    [
        (1000, 3000, 0.90, 0.9173, 0.001817),
        (100, 3000, 0.90, 0.9135, 0.002250),
        (500, 3000, 0.90, 0.9163, 0.001923),
        (5000, 3000, 0.90, 0.9196, 0.001623),
        (1000, 1000, 0.90, 0.9294, 0.003007),
        (1000, 10000, 0.90, 0.9096, 0.001022),
        (1000, 3000, 0.85, 0.8707, 0.002197),
        (1000, 3000, 0.95, 0.9624, 0.001277),
    ],
)
def test_independent_identical(m, n, theta, mean, std):
    maximum = sample_maximum(n, theta, m)
    assert round(maximum.mean, 4) == mean
    assert round(maximum.std, 6) == std
    assert maximum.theta_sota == theta
    assert maximum.bias == pytest.approx(maximum.mean - theta)


@pytest.mark.parametrize(
    ("theta", "settings", "upper", "mean", "std"),
    [
        (0.90, {}, 0.9213, 0.9173, 0.0018),
        (UNIFORM, {"theta0": 0.90}, 0.9177, 0.9130, 0.0021),
        (0.90, {"rho0": 0.6, "theta0": 0.90}, 0.9207, 0.9140, 0.0035),
        (0.90, {"rho0": 0.6, "theta0": 0.90, "correct0": 2700}, 0.9173, 0.9140, 0.0015),
        (UNIFORM, {"rho0": 0.6, "theta0": 0.90}, 0.9173, 0.9101, 0.0037),
    ],
)
def test_models(theta, settings, upper, mean, std):
    maximum = sample_maximum(3000, theta, 1000, **settings)
    assert round(maximum.interval()[1], 4) == upper
    assert round(maximum.mean, 4) == mean
    assert round(maximum.std, 4) == std
    assert maximum.theta_sota == pytest.approx(0.90, abs=1e-9)


def test_tail_probabilities_that_differ_by_a_row():
    maximum = sample_maximum(3000, 0.90, 1000)
    assert round(maximum.sf(2764 / 3000), 4) == 0.0247
    assert round(maximum.sf(2763 / 3000), 4) == 0.0325


def test_coin_flips():
    assert round(sample_maximum(20, 0.5, 1).sf(14 / 20), 5) == 0.02069
    assert round(sample_maximum(20, 0.5, 100).sf(14 / 20), 4) == 0.8765
    assert round(sample_maximum(20, 0.5, 1).sf(17 / 20), 5) == 0.00020
    assert round(sample_maximum(20, 0.5, 1000).sf(17 / 20), 4) == 0.1823


def test_similarity_gives_another_correlation_than_printed():
    pair = correlation_from_similarity(0.85, 0.756)
    assert round(pair, 3) == 0.593
    assert round(math.sqrt(pair), 3) == 0.770
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


def test_bounds_are_where_a_conditional_probability_ends():
    low, high = bounds(0.6, 0.9)
    assert low == pytest.approx(0.36 * 9 / (1 + 0.36 * 9))
    assert high == pytest.approx(0.9 / (0.9 + 0.36 * 0.1))


@pytest.mark.slow
def test_auc_of_a_single_classifier():
    one = auc_maximum(np.array([0.9]), 52, 2948, np.random.default_rng(0), repetitions=4000)
    assert one.mean == pytest.approx(0.90, abs=0.0015)
    assert one.interval() == pytest.approx((0.856, 0.938), abs=0.0025)


@pytest.mark.slow
def test_auc_of_the_best_of_a_thousand():
    best = auc_maximum(np.full(1000, 0.9), 52, 2948, np.random.default_rng(0), repetitions=2000)
    error = best.std / 2000**0.5
    assert abs(best.mean - 0.956) < 0.0005 + 4 * error
    assert best.std == pytest.approx(0.0045, abs=0.0003)
    assert best.interval() == pytest.approx((0.949, 0.966), abs=0.001)
