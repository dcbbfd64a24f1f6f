"""The fast paths against plain sums, against simulation, and at the edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from arena.errors import UsageError
from arena_sota.dependence import conditional_probabilities
from arena_sota.maximum import sample_maximum
from drawn_maximum import simulate_maximum
from thinned import examples


def plain_cumulative(n, theta, m, rho0, theta0, *, random):
    """Return F by the sums as they stand in the text, over every K and every probability."""
    values, counts = np.unique(theta, return_counts=True)
    right, wrong = conditional_probabilities(values, rho0, theta0)
    total = np.zeros(n + 1)
    weights = stats.binom.pmf(np.arange(n + 1), n, theta0)
    likely = np.flatnonzero(weights > 1e-13)
    for k in likely:
        first = stats.binom.pmf(np.arange(k + 1), k, right[:, np.newaxis])
        second = stats.binom.pmf(np.arange(n - k + 1), n - k, wrong[:, np.newaxis])
        pmf = np.array([np.convolve(a, b) for a, b in zip(first, second, strict=True)])
        cdf = np.minimum(np.cumsum(pmf, axis=1), 1.0)
        if random:
            total += weights[k] * (counts @ cdf / counts.sum()) ** m
        else:
            total += weights[k] * np.prod(cdf ** counts[:, np.newaxis], axis=0)
    return total / weights[likely].sum()


def difference(maximum, expected):
    scores = np.arange(maximum.n_rows + 1) / maximum.n_rows
    return max(abs(maximum.cdf(s) - f) for s, f in zip(scores, expected, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("random", [False, True])
def test_250_distinct_scores_against_the_plain_sum(random):
    theta = np.linspace(0.75, 0.92, 250)
    n, rho0 = 150, 0.5
    expected = plain_cumulative(n, theta, 250, rho0, 0.92, random=random)
    maximum = sample_maximum(n, theta, rho0=rho0, random=random)
    assert difference(maximum, expected) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("random", [False, True])
def test_250_distinct_scores_on_many_rows(random):
    theta = np.concatenate([np.linspace(0.89, 0.9, 200), np.linspace(0.85, 0.92, 50)])
    n, rho0 = 700, 0.6
    expected = plain_cumulative(n, theta, 250, rho0, 0.92, random=random)
    maximum = sample_maximum(n, theta, rho0=rho0, random=random)
    assert difference(maximum, expected) < 1e-6


def test_independent_different_is_a_product():
    theta = np.random.default_rng(0).uniform(0.2, 0.9, 300)
    x = np.arange(201)
    expected = np.prod(stats.binom.cdf(x, 200, theta[:, np.newaxis]), axis=0)
    assert difference(sample_maximum(200, theta), expected) < 1e-10


@settings(max_examples=examples(25))
@given(
    st.integers(5, 120),
    st.lists(st.floats(0.05, 0.95), min_size=1, max_size=30),
    st.floats(0, 0.9),
    st.booleans(),
)
@pytest.mark.slow
def test_dependent_case_agrees_with_simulation(n, theta, rho0, random):
    repetitions = 1500
    rng = np.random.default_rng(len(theta) * 1000 + n)
    maxima = simulate_maximum(n, theta, repetitions, rng, rho0=rho0, random=random)
    maximum = sample_maximum(n, theta, rho0=rho0, random=random)
    error = max(maximum.std, 1e-9) / repetitions**0.5
    assert abs(maxima.mean() - maximum.mean) < 5 * error
    middle = maximum.quantile(0.5)
    share = maximum.cdf(middle)
    spread = max((share * (1 - share) / repetitions) ** 0.5, 1e-9)
    assert abs((maxima <= middle + 1e-12).mean() - share) < 5 * spread


@settings(max_examples=examples(25))
@given(st.integers(1, 60), st.floats(0, 1), st.integers(1, 10**5), st.floats(0, 0.95))
def test_is_a_distribution(n, theta, m, rho0):
    rho0 = rho0 if 1e-9 < theta < 1 - 1e-9 else 0.0
    maximum = sample_maximum(n, theta, m, rho0=rho0)
    assert maximum.probabilities.min() >= 0
    assert maximum.probabilities.sum() == pytest.approx(1)
    assert maximum.bias > -1e-9
    low, high = maximum.interval()
    assert 0 <= low <= maximum.quantile(0.5) <= high <= 1
    assert maximum.cdf(high) >= 0.975
    assert maximum.cdf(high - 1 / n) < 0.975


def test_bootstrap_of_few_is_between_fixed_and_all_best():
    theta = [0.5, 0.6, 0.9]
    maximum = sample_maximum(50, theta, random=True)
    assert maximum.theta_sota == pytest.approx(0.5 / 27 + 0.6 * 7 / 27 + 0.9 * 19 / 27)
    assert maximum.mean < sample_maximum(50, [0.9] * 3).mean


def test_user_supplied_dependence():
    rng = np.random.default_rng(0)
    copies = simulate_maximum(100, lambda r: np.full(9, r.binomial(100, 0.7)), 3000, rng)
    assert abs(copies.mean() - 0.7) < 5 * copies.std() / 3000**0.5


def test_only_counts_that_can_be_seen_are_kept():
    """The last one is the first above which a binomial distribution has at most 1e-13."""
    single = sample_maximum(2_000, 0.5, 1)
    counts = single.counts
    assert counts.tolist() == list(range(counts[0], counts[-1] + 1))
    above = stats.binom.sf(counts, 2_000, 0.5)
    assert above[-1] <= 1e-13 < above[-2]
    assert stats.binom.cdf(counts[0] - 1, 2_000, 0.5) < 1e-12
    assert single.cumulative[-1] == 1
    np.testing.assert_allclose(single.cumulative, 1 - above, rtol=0, atol=1e-12)


def test_large_numbers_stay_exact():
    maximum = sample_maximum(1_000_000, 0.9, 100_000)
    # The upper tail of the maximum is m times that of one, where that is small.
    score = 0.9016
    expected = 100_000 * stats.binom.sf(901_600, 1_000_000, 0.9)
    assert maximum.sf(score) == pytest.approx(-np.expm1(-expected), rel=1e-6)


def test_half_of_the_easy_rows_known():
    fixed = sample_maximum(400, [0.7, 0.8], rho0=0.4, theta0=0.75, correct0=300)
    rng = np.random.default_rng(0)
    maxima = simulate_maximum(400, [0.7, 0.8], 4000, rng, rho0=0.4, theta0=0.75, correct0=300)
    assert abs(maxima.mean() - fixed.mean) < 5 * fixed.std / 4000**0.5


@pytest.mark.parametrize(
    ("arguments", "settings_", "words"),
    [
        ((0, 0.5, 2), {}, "number of rows"),
        ((10, 1.5, 2), {}, "number 1 is 1.5"),
        ((10, [0.5, float("nan")]), {}, "number 2 is nan"),
        ((10, [0.5, 0.6], 3), {}, "2 success probabilities are given for 3"),
        ((10, [0.5], 2), {"rho0": 1.0}, "below 1"),
        ((10, 1.0, 2), {"rho0": 0.5}, "strictly between"),
        ((10, 0.99, 10), {"rho0": 0.9, "theta0": 0.5}, "largest rho0 that leaves one is 0.1005"),
        ((10, stats.norm(), 2), {}, "within"),
        ((10, 0.5, 2), {"correct0": 11, "rho0": 0.1}, "easy rows"),
    ],
)
def test_bad_input_is_said_in_sentences(arguments, settings_, words):
    with pytest.raises(UsageError, match=words):
        sample_maximum(*arguments, **settings_)


def test_the_largest_rho0_works_and_a_larger_one_does_not():
    sample_maximum(10, 0.99, 10, rho0=0.1005, theta0=0.5)
    with pytest.raises(UsageError):
        sample_maximum(10, 0.99, 10, rho0=0.1007, theta0=0.5)


def test_the_best_need_not_be_among_those_drawn():
    """A leader far ahead is missed by one bootstrap in e; then the others decide."""
    theta = np.concatenate([[0.9], np.full(99, 0.5)])
    maximum = sample_maximum(400, theta, random=True)
    others = sample_maximum(400, 0.5, 100)
    assert maximum.cdf(0.75) == pytest.approx(0.99**100, rel=1e-6)
    assert maximum.cdf(others.quantile(0.5)) > 0.4 * 0.99**100
