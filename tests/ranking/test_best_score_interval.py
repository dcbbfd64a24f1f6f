"""The interval for the best true score."""

from __future__ import annotations

import numpy as np
import pytest

from arena.best_score_interval import best_score_interval, least_deviation_of


def test_the_interval_by_hand():
    # s is the same for both, errors are -s', 0, +s' of the first; the 0.95 quantile is the largest.
    resampled = np.array([[0.7, 0.8, 0.9], [0.4, 0.4, 0.4]])
    low, high = best_score_interval(
        np.array([0.8, 0.4]), resampled, greater_is_better=True, level=0.9
    )
    assert (low, high) == pytest.approx((0.7, 0.9))
    # A submission that never moves enters with its own score.
    low, high = best_score_interval(
        np.array([0.8, 0.95]),
        resampled + np.array([[0], [0.55]]),
        greater_is_better=True,
        level=0.9,
    )
    assert (low, high) == pytest.approx((0.95, 0.95))


def test_resamples_without_a_score_leave_the_interval_to_the_others():
    resampled = np.array([[0.7, np.nan, 0.8, 0.9]])
    one = best_score_interval(np.array([0.8]), resampled, greater_is_better=True, level=0.9)
    rest = best_score_interval(
        np.array([0.8]), resampled[:, [0, 2, 3]], greater_is_better=True, level=0.9
    )
    assert one == rest
    nothing = best_score_interval(
        np.array([0.8]), np.full((1, 3), np.nan), greater_is_better=True, level=0.9
    )
    assert np.isnan(nothing).all()


def test_one_row_is_the_least_that_a_perfect_score_may_move() -> None:
    assert least_deviation_of((0.0, 1.0), 50) == 0.02
    assert least_deviation_of((-np.inf, 1.0), 50) == 0.0
