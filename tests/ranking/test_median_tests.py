"""Sign tests of medians: what they decide, and what no bootstrap of medians may decide."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm, t

from arena.evaluation.sampling_units import SamplingUnits
from arena_ranking.median_tests import errors_of_median_differences
from arena_ranking.small_samples import normal_equivalents


def p_value(first: np.ndarray, second: np.ndarray, clusters: np.ndarray | None = None) -> float:
    """Return the one-sided p-value of the first median being larger."""
    values = np.stack([first, second])
    medians = np.median(values, axis=1)
    sampling = SamplingUnits.of(len(first), clusters)
    error = errors_of_median_differences(values, medians, sampling)[0, 1]
    return float(t.sf((medians[0] - medians[1]) / error, sampling.n_units - 1))


def test_separate_values_are_compared_by_their_number_only():
    for n in (3, 10, 31):
        assert np.isclose(p_value(np.arange(n) + 100.0, np.arange(n) * 1.0), 0.5**n)


def test_a_gap_in_the_middle_of_the_values_decides_nothing():
    # 36 and 24 of 60 values above a gap: the medians lie at its two ends, and hardly move in
    # resamples. Of 60 tosses of a coin, 36 or more are heads in 8% of cases.
    z = np.random.default_rng(0).normal(size=60)
    first = np.where(np.arange(60) < 36, 2, -1) + z / 100
    second = np.where(np.arange(60) < 24, 2, -1) + z / 100
    assert np.median(first) - np.median(second) > 2.9
    assert p_value(first, second) >= binom.sf(11, 12, 0.5)
    assert p_value(first, np.roll(second, 30)) >= 0.02


def test_repeated_rows_of_a_group_are_no_evidence():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 40)) + np.array([[0.8], [0.0]])
    single, groups = p_value(first, second), np.repeat(np.arange(40), 4)
    repeated = p_value(np.repeat(first, 4), np.repeat(second, 4), groups)
    assert 1e-6 < single < repeated < 20 * single
    assert p_value(np.repeat(first, 4), np.repeat(second, 4)) < single**2


@pytest.mark.parametrize("rows_of_group", [1, 3])
def test_the_weakest_test_of_all_numbers_counts(rows_of_group: int):
    rng = np.random.default_rng(2)
    for n in (5, 9, 21):
        groups = None if rows_of_group == 1 else rng.integers(0, n // rows_of_group + 1, n)
        sampling = SamplingUnits.of(n, groups)
        first, second = np.round(rng.normal([[1.0], [0.0]], size=(2, n)), rng.integers(0, 3))
        if np.median(first) > np.median(second):
            leads = [_lead_at(number, first, second, sampling) for number in {*first, *second}]
            error = errors_of_median_differences(
                np.stack([first, second]), np.array([np.median(first), np.median(second)]), sampling
            )[0, 1]
            statistic = (np.median(first) - np.median(second)) / error
            p = t.sf(statistic, sampling.n_units - 1)
            assert (
                np.isclose(p, norm.sf(min(*leads, 7.0)), rtol=1e-6) or min(leads) <= 0 == statistic
            )


def _lead_at(
    number: float, first: np.ndarray, second: np.ndarray, sampling: SamplingUnits
) -> float:
    """Return the normal value of the strongest of the three tests, each by its definition."""
    is_above, is_below = first > number, second < number
    return max(
        _sign_test(np.where(is_above, 1, -1), sampling),
        _sign_test(np.where(is_below, 1, -1), sampling),
        _sign_test(is_above.astype(int) + is_below - 1, sampling),
    )


def _sign_test(signs: np.ndarray, sampling: SamplingUnits) -> float:
    positive, n_signs = np.count_nonzero(signs > 0), np.count_nonzero(signs)
    lead = max(-norm.ppf(binom.sf(positive - 1, n_signs, 0.5)), 0.0)
    if sampling.clusters is None:
        return lead
    shifts = sampling.moved(sampling.means(signs[np.newaxis].astype(float)))[1]
    of_rows = signs.var() / len(signs)
    effect = (
        sampling.standard_errors(shifts)[0] ** 2 / of_rows
        if of_rows > 1e-12
        else sampling.another * sampling.n / sampling.n_units
    )
    degrees = min(sampling.n_units - 1, sampling.most_degrees)
    statistic = lead / np.sqrt(max(effect, 1.0))
    return normal_equivalents(np.array([statistic]), np.array([float(degrees)]))[0]
