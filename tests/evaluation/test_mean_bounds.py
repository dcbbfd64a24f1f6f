"""Bounds of means of units in a known range."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from arena.evaluation.mean_bounds import Units, lower_bounds, upper_bounds
from thinned import examples

ZERO, ONE = np.zeros(1), np.ones(1)


@pytest.mark.parametrize("right", [0, 1, 17, 39, 40])
@pytest.mark.parametrize("tail", [1e-6, 0.025, 0.1])
def test_of_zeros_and_ones_they_are_those_of_clopper_and_pearson(right, tail):
    units = Units.of(np.r_[np.ones(right), np.zeros(40 - right)][np.newaxis])
    exact = stats.binomtest(right, 40).proportion_ci(1 - 2 * tail, "exact")
    ends = lower_bounds(units, ZERO, np.full(1, tail)), upper_bounds(units, ONE, np.full(1, tail))
    assert np.ravel(ends) == pytest.approx([exact.low, exact.high], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("tail", [0.001, 0.025, 0.2])
def test_they_are_quantiles_of_the_mean_with_random_weights(tail):
    rng = np.random.default_rng(0)
    values = np.r_[rng.beta(8, 1, 19), 0.05]
    weights = rng.exponential(size=(400_000, 21))
    means = weights @ np.r_[0.0, values] / weights.sum(axis=1)
    bounds = lower_bounds(Units.of(values[np.newaxis]), ZERO, np.full(1, tail))
    assert bounds[0] == pytest.approx(np.quantile(means, tail), abs=0.004)


def test_an_upper_bound_is_a_lower_one_of_the_opposite():
    values = np.random.default_rng(0).random((3, 30))
    worst, tail = np.array([1.0, 1.5, 9.0]), np.full(3, 0.025)
    opposite = -lower_bounds(Units.of(-values), -worst, tail)
    np.testing.assert_array_equal(upper_bounds(Units.of(values), worst, tail), opposite)


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**6))
def test_better_values_and_a_better_worst_one_never_lower_a_bound(seed):
    rng = np.random.default_rng(seed)
    n, tail = int(rng.integers(1, 40)), np.full(1, rng.uniform(1e-4, 0.4))
    values = rng.beta(*rng.uniform(0.1, 3, 2), size=(1, n)).round(rng.integers(1, 8))
    bound = lower_bounds(Units.of(values), ZERO, tail)
    better = np.minimum(values + rng.random((1, n)) * 0.2, 1)
    assert (lower_bounds(Units.of(better), ZERO, tail) >= bound - 1e-7).all()
    nearer = values.min(axis=1) * rng.random()
    assert (lower_bounds(Units.of(values), nearer, tail) >= bound - 1e-7).all()
    assert (lower_bounds(Units.of(values), ZERO, tail / 2) <= bound + 1e-7).all()
    assert (bound >= 0).all()
    assert (bound <= values.mean() + 1e-9).all()


def test_many_values_keep_their_mean_and_their_ends():
    values = np.random.default_rng(0).normal(size=(2, 5_000)) ** 2
    units, every = Units.of(values), Units(values, np.ones_like(values))
    assert units.values.shape == (2, 512)
    np.testing.assert_allclose((units.values * units.counts).sum(axis=1), values.sum(axis=1))
    np.testing.assert_array_equal(units.largest, values.max(axis=1))
    np.testing.assert_array_equal(units.smallest, values.min(axis=1))
    tail = np.full(2, 0.025)
    for worst in (2 * units.largest, 50 * units.largest):
        exact = upper_bounds(every, worst, tail)
        np.testing.assert_allclose(upper_bounds(units, worst, tail), exact, rtol=1e-5)


def test_blocks_of_few_and_of_many_values_join():
    rng = np.random.default_rng(0)
    few, many = np.round(rng.random((2, 60))), rng.random((3, 60))
    joined = Units.joined([Units.of(few), Units.of(many)])
    tail = np.full(5, 0.025)
    apart = [lower_bounds(Units.of(v), np.zeros(len(v)), tail[: len(v)]) for v in (few, many)]
    np.testing.assert_allclose(lower_bounds(joined, np.zeros(5), tail), np.concatenate(apart))


def test_without_a_value_above_the_worst_one_this_is_the_bound():
    assert lower_bounds(Units.of(np.zeros((1, 9))), ZERO, np.full(1, 0.025)) == [0.0]


@pytest.mark.parametrize("rate", [0.01, 0.02, 0.1])
def test_rare_failures_are_allowed_for_where_the_sample_has_none(rate):
    """Of overlaps near .9; Student's t holds on .5 to .9 of these samples."""
    rng = np.random.default_rng(1)
    values = np.clip(0.9 + 0.03 * rng.normal(size=(500, 30)), 0, 1)
    values[rng.random(values.shape) < rate] = 0
    units, tail = Units.of(values), np.full(500, 0.025)
    true = 0.9 * (1 - rate)
    low, high = lower_bounds(units, np.zeros(500), tail), upper_bounds(units, np.ones(500), tail)
    assert ((low <= true) & (true <= high)).mean() > 0.97
