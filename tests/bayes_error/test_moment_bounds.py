"""Model-free bounds of the Bayes error from counts, and counts of dependent labels."""

from __future__ import annotations

import numpy as np
import pytest

from arena_bayes_error.annotators import DEPENDENT, from_counts
from arena_bayes_error.dirichlet import corrected_resamples
from arena_bayes_error.moment_bounds import contradicts_independence, moment_bounds


def counts_of(ones, labels):
    return np.column_stack([labels - ones, ones]).astype(float)


def two_points(n, labels, rng):
    """Return counts of rows whose probability is 0.02 or 0.9, and their Bayes error."""
    ones = rng.binomial(labels, rng.choice([0.02, 0.9], n, p=[0.6, 0.4]))
    return counts_of(ones, labels), 0.6 * 0.02 + 0.4 * 0.1


def test_two_labels_give_the_bounds_that_can_be_derived_by_hand():
    """With 2 E c(1 - c) = 0.18 and equal classes, c is 0.1 or 0.9, or it is 0, 1/2 or 1.

    min(c, 1 - c) is at most 2 c(1 - c), with equality at 0, 1/2 and 1, and a convex function of it.
    """
    ones = np.repeat([0, 1, 2], [4_100, 1_800, 4_100])
    found = moment_bounds(counts_of(ones, 2), np.random.default_rng(0))
    assert found.low == pytest.approx((1 - np.sqrt(1 - 2 * 0.18)) / 2, abs=2e-4)
    assert found.high == pytest.approx(0.18, abs=1e-4)
    assert found.interval[0] < found.low < found.high < found.interval[1]


@pytest.mark.slow
def test_more_labels_give_narrower_bounds_around_the_truth():
    rng = np.random.default_rng(1)
    widths = []
    for labels in (2, 3, 5, 20):
        counts, truth = two_points(20_000, labels, rng)
        found = moment_bounds(counts, rng)
        assert found.interval[0] <= truth <= found.interval[1]
        widths.append(found.interval[1] - found.interval[0])
    assert (np.diff(widths) < 0).all()


def test_the_model_can_be_wrong_and_the_bounds_are_not():
    counts, truth = two_points(20_000, 3, np.random.default_rng(2))
    found = from_counts(counts)
    assert not found.corrected_interval[0] <= truth <= found.corrected_interval[1]
    assert found.moment_interval[0] <= truth <= found.moment_interval[1]


@pytest.mark.parametrize("labels", [2, 3, 50])
def test_unanimous_counts_of_few_rows_leave_room(labels):
    found = moment_bounds(counts_of(np.zeros(30, dtype=int), labels), np.random.default_rng(0))
    assert found.low == pytest.approx(0, abs=1e-6)
    assert found.interval[0] == 0
    assert 0.01 < found.interval[1] < 0.2


def test_rows_of_different_numbers_of_labels_use_as_many_as_the_fewest():
    rng = np.random.default_rng(3)
    ones = rng.binomial(4, 0.3, 300)
    counts = np.concatenate([counts_of(ones, 4), [[1.0, 0.0]], counts_of(ones + 3, 7)])
    found = moment_bounds(counts, rng)
    assert (found.labels_per_row, found.n) == (4, 600)
    assert moment_bounds(np.array([[1.0, 0.0], [0.0, 1.0]]), rng) is None


def test_groups_make_the_interval_wider():
    rng = np.random.default_rng(4)
    counts, _ = two_points(600, 3, rng)
    order = np.argsort(counts[:, 0])
    codes = np.empty(600, dtype=np.intp)
    codes[order] = np.arange(600) // 20  # rows of a group are alike
    alone = moment_bounds(counts, np.random.default_rng(0)).interval
    grouped = moment_bounds(counts, np.random.default_rng(0), codes=codes).interval
    assert grouped[1] - grouped[0] > 1.3 * (alone[1] - alone[0])
    values = corrected_resamples(counts, 200, np.random.default_rng(0))
    whole = corrected_resamples(counts, 200, np.random.default_rng(0), codes)
    assert whole.std() > 1.5 * values.std()


@pytest.mark.slow
def test_labels_that_agree_too_regularly_are_reported():
    rng = np.random.default_rng(5)
    found = from_counts(np.tile([2.0, 2.0], (100, 1)))
    assert DEPENDENT in found.assumptions
    assert found.moment_interval is None
    assert found.moment_bounds is None
    several = np.tile([1.0, 1.0, 1.0], (100, 1))
    assert DEPENDENT in from_counts(several, resamples=20).assumptions
    independent = rng.multinomial(3, [0.5, 0.3, 0.2], 100).astype(float)
    assert not contradicts_independence(independent, rng)


@pytest.mark.campaign
@pytest.mark.parametrize("labels", [2, 3, 5, 10, 50])
@pytest.mark.parametrize("name", ["two points", "rare doubt", "beta"])
def test_the_interval_covers(name, labels):
    rng = np.random.default_rng([labels, len(name)])
    draw = {
        "two points": lambda n: rng.choice([0.02, 0.9], n, p=[0.6, 0.4]),
        "rare doubt": lambda n: rng.choice([0.0, 1.0, 0.5], n, p=[0.5, 0.48, 0.02]),
        "beta": lambda n: rng.beta(1, 1, n),
    }[name]
    truth = {"two points": 0.052, "rare doubt": 0.01, "beta": 0.25}[name]
    for n in (30, 500):
        covered = 0
        for _ in range(100):
            ones = rng.binomial(labels, draw(n))
            low, high = moment_bounds(counts_of(ones, labels), rng).interval
            covered += low - 1e-9 <= truth <= high + 1e-9
        assert covered >= 89  # 0.95 less 2.7 standard errors


@pytest.mark.campaign
@pytest.mark.parametrize("labels", [3, 5, 10])
def test_the_corrected_interval_covers_where_the_model_is_right(labels):
    rng = np.random.default_rng(labels)
    covered = 0
    for _ in range(200):
        ones = rng.binomial(labels, rng.beta(1, 1, 300))
        found = from_counts(counts_of(ones, labels), resamples=200, rng=rng)
        covered += found.corrected_interval[0] <= 0.25 <= found.corrected_interval[1]
    assert covered >= 181
