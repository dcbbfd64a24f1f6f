"""The interval of each score alone, by the procedure that suits what the score is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from arena.errors import UsageError
from arena.evaluation import score_intervals
from arena.evaluation.case_metrics import MeanOfCases, MedianOfCases
from arena.evaluation.clusters import fewest_units
from arena.evaluation.mean_bounds import Units, lower_bounds, upper_bounds
from arena.evaluation.order_statistics import OrderStatistics
from arena.evaluation.row_weights import WeightedMean
from arena.evaluation.score_errors import Widest
from arena.evaluation.score_intervals import (
    errors_from_resamples,
    errors_of_means,
    interval_ends,
    own_intervals,
    range_of,
    score_errors,
)
from arena.evaluation.statistic_errors import Statistics, errors_from_standard_errors
from arena.evaluation.unit_means import UnitMeans
from arena.interfaces import GroupInfluence
from arena.plugin.manager import PluginManager
from arena.types import MetricTraits, PredictionKind

UNBOUNDED, LOSS, SHARE = (-np.inf, np.inf), (0.0, np.inf), (0.0, 1.0)
METRICS = PluginManager().metrics
DICE = MeanOfCases("mean Dice", greater_is_better=True, value_range=SHARE)
TAIL = np.full(1, 0.025)


def errors_of(scores, error, score_range=UNBOUNDED, degrees=np.inf, limit_units=np.inf):
    scores = np.asarray(scores, dtype=float)
    shape = scores.shape
    return errors_from_standard_errors(
        scores, np.broadcast_to(float(error), shape), np.full(shape, float(degrees)), 100,
        score_range, limit_units,
    )  # fmt: skip


# -- which procedure -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "procedure", "said"),
    [
        ("accuracy", UnitMeans, "only independent rows with values from 0 to 1"),
        ("brier", UnitMeans, "values from 0 to 2"),
        ("log_loss", UnitMeans, "the tail of the largest losses"),
        ("mse", UnitMeans, "the tail of the largest losses"),
        ("rmse", UnitMeans, "the tail of the largest losses"),
        ("rmsle", UnitMeans, "the tail of the largest losses"),
        ("roc_auc", Statistics, "influence values"),
        ("f1", Statistics, "influence values"),
        ("spearman", Statistics, "the jackknife"),
        ("r2", Widest, "The wider of two"),
        ("pearson", Statistics, "the jackknife"),
        (DICE, UnitMeans, "only independent rows"),
        (MedianOfCases("median", greater_is_better=True), OrderStatistics, "order statistic"),
    ],
)
def test_every_kind_of_score_has_its_procedure_and_says_what_it_assumes(
    study_of, name, procedure, said
):
    metric = METRICS.resolve(name) if isinstance(name, str) else name
    rng, n = np.random.default_rng(0), 60
    numbers = metric.prediction is PredictionKind.VALUE
    truth = rng.random(n) if numbers else np.arange(n) % 2
    predictions = rng.random((3, n))
    if metric.prediction is PredictionKind.LABEL:
        predictions = np.round(predictions).astype(int)
    if metric.prediction is PredictionKind.CLASS_PROBABILITIES:
        predictions = np.stack([1 - predictions, predictions], axis=2)
    errors = score_errors(study_of(metric, truth, predictions))
    assert type(errors) is procedure
    assert said in errors.assumption
    low, high = own_intervals(errors, 0.95)
    assert ((low < errors.scores) & (errors.scores < high)).all()
    assert (errors.standard_errors > 0).all()
    assert ((errors.degrees_of_freedom >= 1) & (errors.degrees_of_freedom < n)).all()


def test_values_of_too_many_rows_are_not_read(study_of, monkeypatch):
    study = study_of(METRICS.resolve("mse"), np.zeros(50), np.ones((2, 50)) + np.arange(50) / 50)
    assert isinstance(score_errors(study), UnitMeans)
    monkeypatch.setattr(score_intervals, "MOST_VALUES", 99)
    errors = score_errors(study)
    assert isinstance(errors, Statistics)
    assert "resamples" in errors.assumption


@pytest.mark.parametrize(
    "name", ["accuracy", "mse", "rmse", "roc_auc", "r2", "balanced_accuracy", "pearson", "spearman"]
)
def test_an_interval_does_not_depend_on_the_other_submissions(study_of, name):
    metric = METRICS.resolve(name)
    rng = np.random.default_rng(0)
    labels = metric.prediction is PredictionKind.LABEL
    truth = rng.integers(0, 2, 80) if labels or name == "roc_auc" else rng.normal(size=80)
    predictions = truth + rng.normal(size=(12, 80))
    if labels:
        predictions = (predictions > 0.5).astype(int)
    every = own_intervals(score_errors(study_of(metric, truth, predictions)), 0.95)
    alone = own_intervals(score_errors(study_of(metric, truth, predictions[3:4])), 0.95)
    np.testing.assert_allclose(np.array(every)[:, 3:4], alone, rtol=1e-9)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_out_of_range_is_refused(level):
    with pytest.raises(UsageError, match="between 0 and 1"):
        own_intervals(errors_of([0.5], 0.1), level)


# -- means over rows -------------------------------------------------------------------------------


@pytest.mark.few(5)
@pytest.mark.parametrize("right", [0, 1, 17, 39, 40])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_an_accuracy_has_the_interval_of_clopper_and_pearson(study_of, right, level):
    predictions = np.r_[np.zeros(right, int), np.ones(40 - right, int)]
    study = study_of(METRICS.resolve("accuracy"), np.zeros(40, int), predictions[None], level=level)
    low, high = own_intervals(score_errors(study), level)
    exact = stats.binomtest(right, 40).proportion_ci(level, "exact")
    assert (low[0], high[0]) == pytest.approx(tuple(exact), abs=1e-9)


def test_a_metric_that_counts_right_rows_need_not_say_so(study_of, metrics):
    study = study_of(metrics["accuracy"], np.zeros(40, int), np.zeros((2, 40), int))
    assert range_of(study.metric) == UNBOUNDED
    assert score_errors(study).score_range == SHARE
    low, high = own_intervals(score_errors(study), 0.95)
    assert low == pytest.approx(0.025 ** (1 / 40))
    assert (high == 1).all()


@dataclass(frozen=True)
class Doubled:
    """A loss of 0 or 2 a row."""

    name: str = "doubled"
    greater_is_better: bool = False
    prediction: PredictionKind = PredictionKind.LABEL

    def row_values(self, truth, predictions):
        return 2.0 * (predictions != truth)

    def from_mean(self, mean):
        return mean


@dataclass(frozen=True)
class Falling(Doubled):
    def from_mean(self, mean):
        return 1 - np.sqrt(mean)

    @property
    def traits(self):
        return MetricTraits(row_range=(0.0, 2.0))


@dataclass(frozen=True)
class Narrowed(Doubled):
    @property
    def traits(self):
        return MetricTraits(row_range=(0.0, 2.0), score_range=(0.5, 1.5))


@dataclass(frozen=True)
class OfLosses(Doubled):
    """The best score is 1, of losses of 0; a loss of 1 has the score 0, which is no end."""

    def from_mean(self, mean):
        return 1 - mean

    @property
    def traits(self):
        return MetricTraits(score_range=(-np.inf, 1.0))


def test_an_end_of_the_scores_that_is_none_of_row_values_does_not_bound_them(study_of):
    study = study_of(OfLosses(), np.zeros(50, int), np.arange(50)[np.newaxis] % 2)
    assert score_errors(study).score_range == (-np.inf, 1.0)


def test_the_range_of_row_values_narrows_that_of_scores():
    assert range_of(Doubled()) == UNBOUNDED
    assert range_of(Falling()) == (pytest.approx(1 - np.sqrt(2)), 1.0)
    assert range_of(Narrowed()) == (0.5, 1.5)


def test_only_shares_of_rows_are_taken_for_shares(study_of):
    rng = np.random.default_rng(0)
    study = study_of(Doubled(), np.zeros(50, int), rng.integers(0, 2, (3, 50)))
    errors = score_errors(study)
    assert errors.score_range == UNBOUNDED
    assert "Hill" in errors.assumption


def test_a_function_of_a_mean_has_the_bounds_of_the_mean(study_of):
    predictions = np.random.default_rng(0).integers(0, 2, (1, 50))
    errors = score_errors(study_of(Falling(), np.zeros(50, int), predictions))
    low, high = own_intervals(errors, 0.95)
    share = stats.binomtest(int(predictions.sum()), 50).proportion_ci(0.95, "exact")
    assert (low[0], high[0]) == pytest.approx(
        (1 - np.sqrt(2 * share.high), 1 - np.sqrt(2 * share.low))
    )
    mean = 2 * predictions.mean()
    slope = 0.5 / np.sqrt(mean)
    error = 2 * predictions[0].std(ddof=1) / np.sqrt(50) * slope
    assert errors.standard_errors[0] == pytest.approx(error)


def test_an_overlap_without_failures_may_have_rare_ones():
    """At 30 cases, up to 12% of the cases may fail: 0.025 = (1 - 0.116)^30."""
    values = np.clip(0.9 + 0.03 * np.random.default_rng(0).normal(size=(1, 30)), 0, 1)
    low, high = own_intervals(errors_of_means(values, SHARE), 0.95)
    assert low[0] < 0.9 * (1 - 0.11)
    assert high[0] < 0.93
    narrow, _ = own_intervals(errors_of_means(values, (0.8, 1.0)), 0.95)  # a host who knows
    assert narrow[0] > 0.87


def test_groups_are_the_units_and_count_by_their_sizes(study_of):
    rng = np.random.default_rng(0)
    sizes = np.array([30, 25, 20, 15, 10])
    clusters = np.repeat(np.arange(5), sizes)
    predictions = np.repeat(rng.normal(size=(1, 5)), sizes, axis=1)
    study = study_of(METRICS.resolve("mse"), np.zeros(100), predictions, clusters=clusters)
    errors = score_errors(study)
    losses = predictions[0] ** 2 - study.scores[0]
    left_out = [losses[clusters != code].mean() for code in range(5)]
    jackknife = np.sqrt(4 / 5 * np.square(left_out).sum())
    assert errors.n_units == 5
    assert errors.standard_errors[0] == pytest.approx(jackknife)
    squares = sizes.astype(float) ** 2
    assert errors.degrees_of_freedom[0] <= squares.sum() ** 2 / np.square(squares).sum() - 1


def test_groups_of_equal_scores_do_not_make_a_score_certain(study_of):
    predictions = np.tile(np.r_[np.ones(8, int), np.zeros(2, int)], (1, 2))
    study = study_of(METRICS.resolve("accuracy"), np.ones(20, int), predictions,
                     clusters=np.repeat([0, 1], 10))  # fmt: skip
    low, high = own_intervals(score_errors(study), 0.95)
    assert low < 0.2
    assert high > 0.95


def test_another_group_counts_by_the_size_that_a_row_meets(study_of):
    """Sizes 30 and 10 of 40: a row meets 25 on average, 1.25 times the mean of 20."""
    clusters = np.repeat([0, 1], [30, 10])
    study = study_of(METRICS.resolve("accuracy"), np.ones(40, int), np.ones((1, 40), int),
                     clusters=clusters)  # fmt: skip
    low, _ = own_intervals(score_errors(study), 0.95)
    units = Units.of(np.ones((1, 2)))
    assert low[0] == pytest.approx(max(lower_bounds(units, np.full(1, 1 - 1.25), TAIL)[0], 0.0))


def test_weights_count_as_sizes(study_of):
    weights = np.repeat([1.0, 3.0], 20)
    metric = WeightedMean(METRICS.resolve("accuracy"), weights)
    truth = np.repeat([0, 1], [5, 35])
    predictions = np.where(np.arange(40) % 4 == 3, 1 - truth, truth)[None]
    errors = score_errors(study_of(metric, truth, predictions))
    right = (predictions[0] == truth) * 1.0
    mean = np.average(right, weights=weights)
    away = weights / 40 / (1 - weights / 80) * (1 - 1 / 40) * 40 / 80 * (right - mean)
    assert errors.standard_errors[0] == pytest.approx(np.sqrt(np.square(away).sum() * 40 / 39))
    units = Units.of(mean + 40 * (away - away.mean())[np.newaxis])
    another = 40 * np.square(weights / 80).sum()
    worst = mean * (1 - another), mean + another * (1 - mean)
    expected = (
        lower_bounds(units, np.full(1, worst[0]), TAIL),
        upper_bounds(units, np.full(1, worst[1]), TAIL),
    )
    np.testing.assert_allclose(own_intervals(errors, 0.95), np.clip(expected, 0, 1), rtol=1e-9)


def test_losses_are_allowed_to_have_a_longer_tail_than_the_sample(study_of):
    """The 17 largest of 144 Pareto losses of index 1/3: Hill's estimate, and one standard error."""
    rng = np.random.default_rng(0)
    losses = (1 - (np.arange(144) + 0.5) / 144) ** (-1 / 3)
    losses = rng.permutation(losses)[np.newaxis]
    errors = score_errors(study_of(METRICS.resolve("mae"), np.zeros(144), losses))
    lengths = np.sort(losses[0] - losses.min())[::-1]
    index = np.log(lengths[:17] / lengths[17]).mean() * (1 + 1 / np.sqrt(17))
    factor = min(1 / (1 - min(index, 0.8)), 5)
    assert 1 < factor < 5
    assert errors.worst[1] == pytest.approx(factor * losses.max())
    assert errors.worst[0] == pytest.approx(0)


@pytest.mark.parametrize(("units", "most"), [(19, 5.0), (20, 1.63)])
def test_fewer_than_twenty_units_tell_nothing_of_a_tail(units, most):
    values = 1 + np.arange(units)[np.newaxis] / 20
    times = errors_of_means(values, LOSS).worst[1, 0] / values.max()
    assert times == pytest.approx(most, abs=0.01)


def test_a_mean_without_bounds_may_lean_to_both_sides():
    values = np.random.default_rng(0).normal(size=(1, 10))
    worst = errors_of_means(values, UNBOUNDED).worst[:, 0]
    low, high = values.min(), values.max()
    assert worst == pytest.approx([high - 5 * (high - low), low + 5 * (high - low)])


@pytest.mark.parametrize(
    ("metric", "truth", "predictions", "cost"),
    [
        ("quantile_loss(alpha=0.95)", np.zeros(40), np.ones((1, 40)), 0.95),
        ("log_loss", np.zeros(40, int), np.tile([0.999, 0.001], (1, 40, 1)), -np.log(0.001)),
        ("log_loss", np.zeros(40, int), np.full((1, 40), 0.001), -np.log(0.001)),
    ],
)
def test_an_error_that_the_sample_lacks_counts_as_it_would_cost(
    study_of, metric, truth, predictions, cost
):
    errors = score_errors(study_of(METRICS.resolve(metric), truth, predictions))
    assert errors.worst[1, 0] == pytest.approx(cost)


def test_a_loss_that_no_row_changes_has_no_interval(study_of):
    study = study_of(METRICS.resolve("mse"), np.zeros(30), np.ones((1, 30)))
    errors = score_errors(study)
    assert np.isnan(own_intervals(errors, 0.95)).all()
    assert "No row changes" in errors.reasons[0]


def test_one_group_of_nearly_all_rows_is_no_sample(study_of):
    rng = np.random.default_rng(0)
    clusters = np.r_[np.zeros(90, int), 1 + np.arange(10) // 2]
    study = study_of(METRICS.resolve("mse"), np.zeros(100), rng.normal(size=(3, 100)),
                     clusters=clusters)  # fmt: skip
    assert "worth only 1.2 of equal size, which is too few" in score_errors(study).reasons[0]


def test_blocks_of_submissions_change_nothing(study_of, monkeypatch):
    rng = np.random.default_rng(0)
    for name in ("mse", "accuracy"):
        truth = np.zeros(60) if name == "mse" else np.zeros(60, int)
        predictions = rng.normal(size=(5, 60))
        predictions = predictions if name == "mse" else (predictions > 0).astype(int)
        study = study_of(METRICS.resolve(name), truth, predictions)
        whole = own_intervals(score_errors(study), 0.95)
        with monkeypatch.context() as patch:
            patch.setattr("arena.evaluation.unit_means.block_size", lambda _: 2)
            np.testing.assert_allclose(own_intervals(score_errors(study), 0.95), whole, rtol=1e-9)


@pytest.mark.slow
def test_losses_of_infinite_variance_hold():
    rng, held = np.random.default_rng(0), 0
    for _ in range(300):
        low, high = own_intervals(errors_of_means(1 + rng.pareto(1.5, (1, 100)), LOSS), 0.95)
        held += low[0] <= 3 <= high[0]
    assert held >= 0.92 * 300


# -- medians ---------------------------------------------------------------------------------------


def test_a_median_lies_between_order_statistics(study_of):
    values = np.random.default_rng(0).permutation(np.arange(30.0))[np.newaxis]
    metric = MedianOfCases("median", greater_is_better=True)
    errors = score_errors(study_of(metric, np.zeros(30), values))
    # P(at most 9 of 30 below the median) = .0214: the 10th value from either end.
    assert [end[0] for end in own_intervals(errors, 0.95)] == [9.0, 20.0]


def test_too_few_cases_reach_to_the_end_of_the_range(study_of):
    values = np.array([[0.2, 0.4, 0.5]])
    ranged = MedianOfCases("median", greater_is_better=True, value_range=SHARE)
    low, high = own_intervals(score_errors(study_of(ranged, np.zeros(3), values)), 0.95)
    assert (low[0], high[0]) == (0.0, 1.0)
    plain = score_errors(study_of(MedianOfCases("median", True), np.zeros(3), values))
    assert np.isnan(own_intervals(plain, 0.95)).all()
    assert "too few rows" in plain.reasons[0]


def test_a_median_without_a_range_needs_six_cases(study_of):
    """All of n values are on one side of the median with 2**-n: 0.031 of five, and 0.016 of six."""
    metric = MedianOfCases("median", greater_is_better=True)
    for n, ends in ((5, [np.nan, np.nan]), (6, [0.0, 5.0])):
        errors = score_errors(study_of(metric, np.zeros(n), np.arange(n * 1.0)[np.newaxis]))
        np.testing.assert_array_equal(np.ravel(own_intervals(errors, 0.95)), ends)
        assert (errors.reasons[0] is None) == (n == 6)


def test_a_median_of_groups_counts_groups(study_of):
    values = np.repeat(np.random.default_rng(0).normal(size=(1, 20)), 10, axis=1)
    metric = MedianOfCases("median", greater_is_better=True)
    alone = score_errors(study_of(metric, np.zeros(200), values))
    grouped = score_errors(
        study_of(metric, np.zeros(200), values, clusters=np.repeat(np.arange(20), 10))
    )
    low, high = own_intervals(grouped, 0.95)
    of_groups = stats.binom.ppf(0.025, 20, 0.5)
    ordered = np.sort(values[0, ::10])
    assert low[0] <= ordered[int(of_groups)] <= own_intervals(alone, 0.95)[0][0]
    assert high[0] > own_intervals(alone, 0.95)[1][0]


# -- statistics ------------------------------------------------------------------------------------


def test_ends_by_hand():
    errors = errors_of([2.0], 0.1)
    assert np.ravel(interval_ends(errors, 2.0)) == pytest.approx([1.8, 2.2])
    loss = errors_of([2.0], 0.2, LOSS)
    assert np.ravel(interval_ends(loss, 2.0)) == pytest.approx([2 * np.exp(-0.2), 2 * np.exp(0.2)])
    r2 = errors_of([0.5], 0.05, (-np.inf, 1.0))
    ends = 1 - 0.5 * np.exp(0.2), 1 - 0.5 * np.exp(-0.2)
    assert np.ravel(interval_ends(r2, 2.0)) == pytest.approx(ends)
    kappa = errors_of([0.5], np.sqrt(0.75 / 20), (-1.0, 1.0))
    tail = stats.norm.sf(1.5)
    ends = stats.beta.ppf(tail, 15, 6), stats.beta.isf(tail, 16, 5)
    assert np.ravel(interval_ends(kappa, 1.5)) == pytest.approx(2 * np.array(ends) - 1)


def test_the_critical_value_is_that_of_student():
    c = stats.norm.isf(0.001)
    low, high = interval_ends(errors_of([0.0], 1.0, degrees=4), c)
    assert high[0] == -low[0] == pytest.approx(stats.t.isf(0.001, 4))
    # A share of 25 rows; t makes fewer of them, and the bound of the variance never below ten.
    bounds = [interval_ends(errors_of([0.5], 0.1, SHARE, degrees, limit), c)[1][0]
              for degrees, limit in ((np.inf, np.inf), (4, np.inf), (4, 10.0))]  # fmt: skip
    fewer = 25 * (c / stats.t.isf(0.001, 4)) ** 2
    assert bounds == pytest.approx([
        stats.beta.isf(0.001, 13.5, 12.5),
        stats.beta.isf(0.001, fewer / 2 + 1, fewer / 2),
        stats.beta.isf(0.001, 6, 5),
    ])  # fmt: skip


def test_a_perfect_score_is_no_more_certain_than_its_rarest_class(study_of):
    truth = np.r_[np.ones(8, int), np.zeros(92, int)]
    study = study_of(METRICS.resolve("roc_auc"), truth, truth[None].astype(float))
    low, high = own_intervals(score_errors(study), 0.95)
    assert (low[0], high[0]) == pytest.approx((0.025 ** (1 / 8), 1.0))
    # In groups, those that hold a positive count: two of four rows each.
    clusters = np.r_[np.repeat([0, 1], 4), np.arange(92) % 10]
    study = study_of(METRICS.resolve("f1"), truth, truth[None], clusters=clusters)
    assert score_errors(study).limit_units == 2


def test_a_rare_class_that_counts_as_much_as_others_leaves_few_rows(study_of):
    truth = np.repeat([0, 1, 2], [2, 48, 50])
    predictions = np.where(np.arange(100) % 5 == 4, (truth + 1) % 3, truth)[None]
    plain, balanced = (
        score_errors(study_of(METRICS.resolve(name), truth, predictions))
        for name in ("f1(average=micro)", "balanced_accuracy")
    )
    # Both rows of the rare class are right, so its recall seems to have no error.
    assert balanced.spread[0] == pytest.approx(np.sqrt((1 / 2 + 1 / 48 + 1 / 50) / 9))
    assert plain.spread[0] == pytest.approx(1 / np.sqrt(100), rel=0.01)


def test_an_auc_of_several_classes_is_limited_by_the_rare_ones(study_of):
    truth = np.repeat([0, 1, 2], [50, 2, 2])
    scores = np.eye(3)[truth] + 1e-3 * np.random.default_rng(0).random((1, 54, 3))
    errors = score_errors(study_of(METRICS.resolve("roc_auc"), truth, scores))
    low, _ = own_intervals(errors, 0.95)
    assert low[0] < 0.7
    wrong = scores.copy()
    wrong[0, :25] = [-1.0, 1.5, 0.5]
    errors = score_errors(study_of(METRICS.resolve("roc_auc"), truth, wrong))
    assert errors.spread[0] > 0.2  # at most 25 rows


@pytest.mark.parametrize(("rare", "counts"), [(9, True), (10, False)])
def test_fewer_than_ten_rows_of_a_class_are_few(study_of, rare, counts):
    truth = np.repeat([0, 1, 2], [rare, 45, 45])
    predictions = truth.copy()
    predictions[[-1, -2, -50]] = [0, 1, 0]
    errors = score_errors(study_of(METRICS.resolve("balanced_accuracy"), truth, predictions[None]))
    by_class = np.sqrt((1 / rare + 1 / 45 + 1 / 45) / 9)
    assert (errors.spread[0] == pytest.approx(by_class)) == counts


def test_degrees_of_freedom_are_those_of_the_classes(study_of):
    rng = np.random.default_rng(0)
    truth = np.r_[np.ones(5, int), np.zeros(500, int)]
    scores = rng.normal(size=(20, 505)) + truth
    degrees = score_errors(study_of(METRICS.resolve("roc_auc"), truth, scores)).degrees_of_freedom
    assert ((degrees > 3) & (degrees < 6)).all()  # nearly all of the error is the positives'
    # F1 of a positive that is found among k false ones: the squares of its influence and of theirs
    # together are as k to 1. A class of one row counts as half a degree, one of 19 rows as 18.
    for false, expected in ((1, 2**2 / (1**2 / 0.5 + 1 / 18)), (5, 1.0)):  # at least 1
        truth = (np.arange(20) == 0).astype(int)
        study = study_of(METRICS.resolve("f1"), truth, (np.arange(20) <= false)[None].astype(int))
        assert score_errors(study).degrees_of_freedom == pytest.approx(expected)


@pytest.mark.parametrize(
    ("weights", "clusters", "expected"),
    [
        (None, None, 2.0),
        ([1.0, 1.0, 1.0, 0.0, 0.0], None, 0.0),  # a class that no weight counts
        ([1.0, 1.0, 1.0, 1.0, 3.0], None, 1.6),
        (None, [0, 1, 2, 3, 3], 1.0),
        ([1.0, 1.0, 1.0, 1.0, 3.0], [0, 0, 0, 0, 1], 1.0),
    ],
)
def test_the_limit_is_the_effective_number_of_the_rarest_class(weights, clusters, expected):
    weights = None if weights is None else np.array(weights)
    clusters = None if clusters is None else np.array(clusters)
    codes = np.array([0, 0, 0, 1, 1])
    assert fewest_units(codes, clusters, weights) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("score_range", "degrees", "said"),
    [
        (UNBOUNDED, 3.5, None),
        (UNBOUNDED, 3.49, "worth only 4.5 of equal size, which is too few."),
        (LOSS, 3.5, None),
        (LOSS, 2.0, "worth only 3.0 of equal size, which is too few."),
        ((0.0, 4.0), 1.0, None),  # the ends of the range keep such an interval finite
    ],
)
def test_few_effective_units_are_too_few_without_bounds(score_range, degrees, said):
    reason = errors_of([2.0], 0.1, score_range, degrees).reasons[0]
    assert reason is None if said is None else said in reason


def test_a_mean_of_normal_rows_has_as_many_effective_units_as_rows():
    assert errors_of([0.5], 0.1, degrees=9).effective_units.tolist() == [10.0]


def test_a_score_that_no_row_changes_needs_both_bounds_and_their_rows():
    for score_range, limit, is_given in (
        (SHARE, 30.0, True),
        (SHARE, np.inf, False),
        (LOSS, 30.0, False),
    ):
        errors = errors_of([0.5], np.nan, score_range, limit_units=limit)
        assert (errors.reasons[0] is None) == is_given
        assert np.isfinite(interval_ends(errors, 1.96)).all() == is_given


@pytest.mark.parametrize("end", [0, 1])
def test_a_ratio_takes_the_wider_end_of_two(study_of, end):
    rng = np.random.default_rng(0)
    truth = rng.lognormal(size=60)
    errors = score_errors(study_of(METRICS.resolve("r2"), truth, truth + rng.normal(size=(3, 60))))
    ends = [interval_ends(part, 1.96)[end] for part in errors.parts]
    widest = np.minimum(*ends) if end == 0 else np.maximum(*ends)
    np.testing.assert_array_equal(interval_ends(errors, 1.96)[end], widest)


@dataclass(frozen=True)
class CalledAsAWhole:
    """A mean over rows that says nothing of itself."""

    of_rows: object
    name: str = "called as a whole"

    def __getattr__(self, name):
        if name in ("greater_is_better", "prediction", "score"):
            return getattr(self.of_rows, name)
        raise AttributeError(name)


def as_black_box(study):
    """Return a study of which the influence of each row is known from calls."""
    n = len(study.truth)
    values = np.concatenate(
        [study.metric.row_values(study.truth, block) for _, block in study.predictions.blocks(n)]
    )
    influence = GroupInfluence(np.arange(n), values - study.scores[:, None])
    return replace(study, metric=CalledAsAWhole(study.metric), influence=influence)


def test_right_and_wrong_answers_of_a_black_box_are_a_share(study_of):
    predictions = np.stack([np.arange(50) < wrong for wrong in (0, 7)]).astype(int)
    study = study_of(METRICS.resolve("accuracy"), np.zeros(50, int), predictions)
    ends, of_shares = (
        own_intervals(score_errors(board), 0.95) for board in (as_black_box(study), study)
    )
    np.testing.assert_allclose(ends, of_shares, atol=1e-9)


def test_a_black_box_may_be_a_loss_with_a_longer_tail_than_the_sample(study_of):
    study = study_of(
        METRICS.resolve("mse"), np.zeros(60), np.random.default_rng(0).normal(size=(3, 60))
    )
    errors = score_errors(as_black_box(study))
    assert isinstance(errors, Widest)
    (_, high), (_, high_of_loss) = (
        own_intervals(each_errors, 0.95) for each_errors in (errors, score_errors(study))
    )
    assert (high >= 0.9 * high_of_loss).all()
    assert (high > 1.2 * own_intervals(errors.parts[0], 0.95)[1]).all()


# -- resamples -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ungraded:
    """A score of labels without row values, from ``low`` to 1."""

    low: float = 0.0
    name: str = "ungraded"
    greater_is_better: bool = True
    prediction: PredictionKind = PredictionKind.LABEL

    @property
    def traits(self):
        return MetricTraits(score_range=(self.low, 1.0))

    def score(self, truth, prediction, weight=None):
        return float(np.average(truth == prediction, weights=weight))


def still(study, spread=1e-4):
    """Return a study whose resamples hardly differ."""
    noise = np.random.default_rng(0).normal(size=study.resampled.shape)
    return replace(study, resampled=study.scores[:, None] + spread * noise)


@pytest.mark.parametrize(("low", "width"), [(0.0, 1.0), (-1.0, 2.0)])
def test_two_classes_are_worth_two_and_a_half_rows_of_the_rarer_one(study_of, low, width):
    truth = np.r_[np.ones(4, int), np.zeros(40, int)]
    predictions = np.where(np.arange(44) % 10 == 9, 1 - truth, truth)[None]
    errors = score_errors(still(study_of(Ungraded(low), truth, predictions)))
    assert errors.limit_units == 4
    assert errors.spread[0] == pytest.approx((2.5 * 4 * width**2) ** -0.5)
    three = score_errors(still(study_of(Ungraded(low), np.arange(44) % 3, predictions)))
    assert three.limit_units == 14
    assert three.spread[0] < 1e-3


@pytest.mark.slow
def test_resamples_say_the_same_where_there_are_no_values(study_of):
    residuals = np.random.default_rng(0).normal(size=(15, 200))
    study = study_of(METRICS.resolve("mse"), np.zeros(200), residuals, resamples=4000)
    exact = score_errors(study)
    statistics = errors_from_resamples(study.scores, study.resampled, 200, score_range=LOSS)
    np.testing.assert_allclose(statistics.standard_errors, exact.standard_errors, rtol=0.1)
    none = errors_from_resamples(study.scores, np.full((15, 3), np.nan), 200)
    assert np.isnan(own_intervals(none, 0.95)).all()


def test_two_resamples_are_enough_and_one_is_not():
    scores, resampled = np.array([0.5, 0.7]), np.array([[0.4, 0.6, np.nan], [0.6, 0.8, 0.7]])
    statistics = errors_from_resamples(scores, resampled, 40)
    np.testing.assert_allclose(statistics.spread, np.sqrt(0.02 * 40 / 39))
    unknown = errors_from_resamples(scores, resampled[:, 1:], 40)
    assert np.isnan(unknown.spread).all()
    # One unit less is none or one: the factor is U / (U - 1) from two units on.
    for n_units, factor in ((1, 1.0), (2, 2.0), (3, 1.5)):
        few = errors_from_resamples(scores, resampled, n_units)
        np.testing.assert_allclose(few.spread, np.sqrt(0.02 * factor))


def test_the_kurtosis_of_resamples_is_that_of_the_rows_over_their_number():
    rows, count = 50, 3_000
    resampled = 2 + 0.1 * np.random.default_rng(0).standard_gamma(4.0, (1, count))
    statistics = errors_from_resamples(np.array([2.0]), resampled, rows, score_range=LOSS)
    excess = stats.kurtosis(resampled[0]) - 3 * np.sqrt(24 / count)
    assert statistics.degrees_of_freedom[0] == pytest.approx(2 * rows / (2 + rows * excess))
    normal = 2 + 0.1 * np.random.default_rng(0).standard_normal((1, count))
    assert errors_from_resamples(np.array([2.0]), normal, rows).degrees_of_freedom[0] == 49


def test_resamples_that_do_not_move_a_score_leave_it_without_an_error():
    resampled = np.stack([np.full(400, 0.4), np.random.default_rng(0).random(400)])
    statistics = errors_from_resamples(np.array([0.4, 0.5]), resampled, 50)
    assert np.isfinite(statistics.spread).tolist() == [False, True]
    assert "No row changes" in statistics.reasons[0]
