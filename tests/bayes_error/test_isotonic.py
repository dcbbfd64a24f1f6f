"""Isotonic calibration: the estimate is that of the regression, and its interval holds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.isotonic import IsotonicRegression

from arena.errors import InputError
from arena_bayes_error import isotonic
from arena_bayes_error.isotonic import from_ordered_scores
from kept import check_kept_document


def sample(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return scores that are no linear function of the log odds, and labels."""
    x = rng.normal(size=n)
    return np.exp(x) / 5, rng.random(n) < 1 / (1 + np.exp(-2 * x))


def test_the_estimate_is_the_error_of_the_regression():
    scores, labels = sample(300, np.random.default_rng(0))
    scores = scores.round(1)  # with equal scores
    fit = IsotonicRegression(y_min=0, y_max=1).fit_transform(scores, labels)
    estimate = from_ordered_scores(scores, labels, resamples=2)
    assert estimate.estimate == pytest.approx(np.minimum(fit, 1 - fit).mean())
    low, high = estimate.reported_interval
    assert low < estimate.estimate < high
    with pytest.raises(InputError, match="needs both labels"):
        from_ordered_scores(scores, np.ones(300))


def test_the_estimate_from_sixty_rows_is_the_kept_one():
    """Its interval depends on how rows are drawn into folds."""
    estimate = from_ordered_scores(*sample(60, np.random.default_rng(1)), resamples=2)
    check_kept_document("bayes-error-isotonic", estimate.to_dict())


@pytest.mark.parametrize(
    ("units", "sizes"),
    [
        (np.arange(20), [2] * 10),
        (np.arange(4), [1] * 4),
        (np.arange(8) // 2, [2] * 4),
    ],
)
def test_thresholds_are_tested_on_tenths_of_the_rows_that_hold_whole_units(
    monkeypatch, units, sizes
):
    folds = []

    def losses(scores, positive, tested, labels):
        assert len(scores) == len(positive) == len(units) - len(tested)
        assert not {*units[scores]} & {*units[tested]}
        folds.append(len(tested))
        return labels

    monkeypatch.setattr(isotonic, "threshold_losses", losses)
    rows = np.arange(len(units))
    assert isotonic.cross_fitted_losses(rows, rows % 2 == 0, units).tolist() == [*(rows % 2 == 0)]
    assert folds == sizes


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 500])
def test_the_interval_holds(n):
    grid = np.linspace(-8, 8, 40_001)
    chance = 1 / (1 + np.exp(-2 * grid))
    truth = np.trapezoid(np.minimum(chance, 1 - chance) * stats.norm.pdf(grid), grid)
    held = 0
    for number in range(200):
        scores, labels = sample(n, np.random.default_rng(number))
        low, high = from_ordered_scores(scores, labels, resamples=2).reported_interval
        held += low <= truth <= high
    assert held >= 186  # 95% less two standard errors
