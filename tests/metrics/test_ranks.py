"""The order of a submission's rows, with ties, for any numbers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from arena_metrics.ranks import CachedLast, Ranking, sort_with_ties
from arena_metrics.rows import is_constant

FINITE = st.floats(allow_nan=False, allow_infinity=False)
CLOSE = st.integers(0, 3).map(lambda step: 1.0 + step * float(np.finfo(np.float64).eps))
"""Neighbouring floats, whose last bits are those that the sorting loses."""
VALUES = st.one_of(FINITE, CLOSE, CLOSE.map(lambda value: -value), st.sampled_from([0.0, -0.0]))
COLUMNS = arrays(np.float64, st.integers(0, 40), elements=VALUES)


@pytest.mark.slow
@given(COLUMNS)
@example(np.array([-0.0, 0.0, -1.0]))
@example(np.array([0.0, -0.0, 1.0]))
def test_rows_are_put_in_order_and_ties_are_found(values: np.ndarray) -> None:
    order, first = sort_with_ties(values)
    assert sorted(order) == list(range(len(values)))
    np.testing.assert_array_equal(values[order], np.sort(values))
    assert first.sum() == len(np.unique(values))
    np.testing.assert_array_equal(values[order][first], np.unique(values))


@given(COLUMNS.filter(len))
def test_midranks_are_those_of_scipy(values: np.ndarray) -> None:
    expected = (scipy.stats.rankdata(values) - 0.5) / len(values) - 0.5
    np.testing.assert_allclose(Ranking(values).midranks(), expected, atol=1e-12)


@given(COLUMNS.filter(len))
def test_rows_below_are_summed_with_ties_halved(values: np.ndarray) -> None:
    summed = np.arange(len(values)) ** 2
    kernel = (values[:, None] < values) + 0.5 * (values[:, None] == values)
    np.testing.assert_allclose(Ranking(values).doubled_kernel_sums(summed), 2 * summed @ kernel)


def test_a_hundred_thousand_rows_that_differ_in_their_last_bit() -> None:
    values = np.random.default_rng(0).permutation(1.0 + np.arange(100_000) * 2.0**-52)
    order, first = sort_with_ties(values)
    assert first.all()
    np.testing.assert_array_equal(values[order], np.sort(values))


def test_what_was_made_of_other_values_is_not_given() -> None:
    cached_last = CachedLast(is_constant)
    ones, numbers = np.ones(3), np.arange(3.0)
    assert [cached_last(ones), cached_last(numbers), cached_last(ones)] == [True, False, True]
