"""Rows that come in groups: the groups were drawn, not the rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from arena.errors import UsageError
from arena_bayes_error.annotators import from_counts
from arena_bayes_error.best_scores import best_score
from arena_bayes_error.estimate import t_interval
from arena_bayes_error.estimators import from_hard_labels, from_soft_labels, row_floor
from arena_bayes_error.platt import from_scores
from arena_bayes_error.sampling import mean_loss


def grouped(n_groups, rng):
    """Return soft labels of groups of one to nine rows that share most of their log odds."""
    codes = np.repeat(np.arange(n_groups), rng.integers(1, 10, n_groups))
    logits = rng.normal(0, 2, n_groups)[codes] + rng.normal(size=len(codes))
    return expit(logits), codes


def truth_of_groups():
    logits = 5**0.5 * stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    return float(np.minimum(expit(logits), 1 - expit(logits)).mean())


@pytest.mark.slow
def test_the_standard_error_is_the_robust_one_of_a_regression_on_a_constant():
    from statsmodels.regression.linear_model import OLS

    c, codes = grouped(30, np.random.default_rng(0))
    loss = np.minimum(c, 1 - c)
    groups = {"groups": codes, "use_correction": False}
    fit = OLS(loss, np.ones(len(loss))).fit(cov_type="cluster", cov_kwds=groups)
    estimate = from_soft_labels(c, clusters=codes)
    assert estimate.standard_error == pytest.approx(fit.bse[0] * (30 / 29) ** 0.5)
    half = stats.t.ppf(0.975, 29) * estimate.standard_error
    assert estimate.interval == pytest.approx((loss.mean() - half, loss.mean() + half))
    assert (estimate.n, estimate.n_clusters) == (len(c), 30)
    assert estimate.assumptions[0].startswith("The groups of rows, not the rows, are drawn")
    brier = c * (1 - c)
    fit = OLS(brier, np.ones(len(loss))).fit(cov_type="cluster", cov_kwds=groups)
    error = best_score("brier", c, clusters=codes).standard_error
    assert error == pytest.approx(fit.bse[0] * (30 / 29) ** 0.5)


@pytest.mark.slow
def test_the_bootstrap_draws_whole_groups():
    rng = np.random.default_rng(1)
    c, codes = grouped(25, rng)
    loss = np.minimum(c, 1 - c)
    means = []
    for _ in range(4_000):
        rows = np.concatenate([np.flatnonzero(codes == g) for g in rng.integers(0, 25, 25)])
        means.append(loss[rows].mean())
    expected = tuple(np.quantile(means, [0.025, 0.975]))
    estimate = from_soft_labels(c, clusters=codes, resamples=20_000)
    assert estimate.bootstrap_interval == pytest.approx(expected, abs=4e-3)


@pytest.mark.slow
def test_a_group_for_each_row_changes_nothing():
    c = np.random.default_rng(0).random(70_000)
    plain, grouped_ = from_soft_labels(c), from_soft_labels(c, clusters=np.arange(70_000))
    assert grouped_.estimate == pytest.approx(plain.estimate, rel=1e-12)
    assert grouped_.standard_error == pytest.approx(plain.standard_error, rel=1e-9)
    assert grouped_.interval == pytest.approx(plain.interval, rel=1e-9)
    assert grouped_.bound == pytest.approx(plain.bound, rel=1e-9)
    assert grouped_.bootstrap_interval == pytest.approx(plain.bootstrap_interval, abs=2e-4)


@pytest.mark.slow
def test_many_groups_are_drawn_in_bins():
    c, codes = grouped(5_000, np.random.default_rng(4))
    estimate = from_soft_labels(c, clusters=codes, resamples=4_000)
    assert estimate.bootstrap_interval == pytest.approx(estimate.interval, abs=2e-4)
    same = from_soft_labels(np.full(10_000, 0.25), clusters=np.arange(10_000) // 2)
    assert same.bootstrap_interval == pytest.approx((0.25, 0.25))


def test_hoeffdings_bound_counts_groups_as_it_counts_rows():
    """Each row twice, in one group, says no more than each row once."""
    c = np.random.default_rng(0).random(50)
    once = from_soft_labels(c)
    twice = from_soft_labels(np.repeat(c, 2), clusters=np.repeat(np.arange(50), 2))
    assert twice.bound == pytest.approx(once.bound)
    assert twice.interval == pytest.approx(once.interval)


def test_every_estimator_takes_groups():
    rng = np.random.default_rng(3)
    c, codes = grouped(40, rng)
    labels = rng.random(len(c)) < c
    hard = from_hard_labels(labels, c > 0.5, clusters=codes)
    assert hard.wilson_interval is None
    several = from_counts(rng.binomial(9, np.stack([1 - c, c], axis=1)) + 1, clusters=codes)
    assert several.corrected_interval is not None
    scores, _ = from_scores(np.log(c / (1 - c)), labels, clusters=codes, resamples=200)
    alone, _ = from_scores(np.log(c / (1 - c)), labels, resamples=200)
    assert scores.refit_interval is not None
    assert np.diff(scores.refit_interval) > np.diff(alone.refit_interval)


@pytest.mark.parametrize(
    ("clusters", "said"), [([1, 1, 1], "two groups"), ([1, 2], "2 groups for 3 rows")]
)
def test_groups_that_cannot_be(clusters, said):
    with pytest.raises(UsageError, match=said):
        from_soft_labels([0.1, 0.2, 0.3], clusters=clusters)


def t_interval_of(c, codes):
    """Return the interval of an estimate without its other parts, which take most of the time."""
    loss = mean_loss(0.5, codes)
    loss.add(slice(0, len(c)), row_floor(c))
    return t_interval(loss.mean, loss.standard_error(), loss.n_units, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_groups", "least"),
    [(60, 0.935), pytest.param(200, 0.94, marks=pytest.mark.campaign)],
)
def test_coverage_with_groups(n_groups, least):
    rng, truth = np.random.default_rng(2), truth_of_groups()
    repetitions = 4_000
    inside, naive = 0, 0
    for repetition in range(repetitions):
        c, codes = grouped(n_groups, rng)
        low, high = interval = t_interval_of(c, codes)
        inside += low <= truth <= high
        if repetition < 10:
            assert from_soft_labels(c, clusters=codes, resamples=2).interval == interval
        low, high = t_interval_of(c, None)
        naive += low <= truth <= high
    assert least <= inside / repetitions <= 0.96
    assert naive / repetitions < 0.75  # rows taken for independent: what the groups are for
