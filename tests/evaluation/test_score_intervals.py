"""The errors of scores and the interval of each score alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from arena.errors import UsageError
from arena.evaluation import score_intervals
from arena.evaluation.row_weights import _WeightedMean
from arena.evaluation.score_intervals import (
    LongTails,
    ScoreErrors,
    errors_from_moments,
    errors_from_resamples,
    interval_ends,
    own_intervals,
    range_of,
    score_errors,
)
from arena.plugin.manager import PluginManager
from arena.types import MetricTraits, PredictionKind

UNBOUNDED = (-np.inf, np.inf)
METRICS = PluginManager().metrics


def errors_of(
    scores, spread, score_range=UNBOUNDED, degrees=np.inf, limit_units=np.inf, skewness=(0, 0)
):
    scores = np.asarray(scores, dtype=float)
    return ScoreErrors(
        scores=scores,
        spread=np.broadcast_to(np.asarray(spread, dtype=float), scores.shape),
        degrees_of_freedom=np.full(len(scores), float(degrees)),
        score_range=score_range,
        n_units=100,
        limit_units=limit_units,
        heavy=np.zeros(len(scores), dtype=bool),
        skewness=np.zeros((2, len(scores))) + np.asarray(skewness, dtype=float)[:, None],
    )


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
    assert score_errors(study).score_range == (0.0, 1.0)
    low, high = own_intervals(score_errors(study), 0.95)
    assert low == pytest.approx(0.025 ** (1 / 40))
    assert (high == 1).all()


def test_ends_by_hand():
    one = errors_of([2.0], 0.1)
    assert np.ravel(interval_ends(one, 2.0)) == pytest.approx([1.8, 2.2])
    loss = errors_of([2.0], 0.1, (0.0, np.inf))
    assert np.ravel(interval_ends(loss, 2.0)) == pytest.approx([2 * np.exp(-0.2), 2 * np.exp(0.2)])
    r2 = errors_of([0.5], 0.1, (-np.inf, 1.0))
    ends = 1 - 0.5 * np.exp(0.2), 1 - 0.5 * np.exp(-0.2)
    assert np.ravel(interval_ends(r2, 2.0)) == pytest.approx(ends)
    kappa = errors_of([0.5], 1 / np.sqrt(20), (-1.0, 1.0))
    tail = stats.norm.sf(1.5)
    ends = stats.beta.ppf(tail, 15, 6), stats.beta.isf(tail, 16, 5)
    assert np.ravel(interval_ends(kappa, 1.5)) == pytest.approx(2 * np.array(ends) - 1)


def test_the_critical_value_is_that_of_student():
    c = stats.norm.isf(0.001)
    low, high = interval_ends(errors_of([0.0], 1.0, degrees=4), c)
    assert high[0] == -low[0] == pytest.approx(stats.t.isf(0.001, 4))
    # A share of 25 rows; t makes fewer of them, and the bound of the variance never below ten.
    bounds = [interval_ends(errors_of([0.5], 0.2, (0.0, 1.0), degrees, limit), c)[1][0]
              for degrees, limit in ((np.inf, np.inf), (4, np.inf), (4, 10.0))]  # fmt: skip
    fewer = 25 * (c / stats.t.isf(0.001, 4)) ** 2
    assert bounds == pytest.approx([
        stats.beta.isf(0.001, 13.5, 12.5),
        stats.beta.isf(0.001, fewer / 2 + 1, fewer / 2),
        stats.beta.isf(0.001, 6, 5),
    ])  # fmt: skip


def test_degrees_of_freedom_are_those_of_the_variance():
    found = errors_from_moments(np.zeros(1), np.ones(1), np.array([9.0]), np.zeros(1), 100)
    assert found.degrees_of_freedom.tolist() == [25.0]
    assert (found.score_range, found.limit_units) == ((-np.inf, np.inf), np.inf)
    light = errors_from_moments(np.zeros(1), np.ones(1), np.array([1.0]), np.zeros(1), 100)
    assert light.degrees_of_freedom.tolist() == [99.0]


def test_a_spread_is_raised_to_that_of_its_neighbours():
    scores = np.linspace(1, 2, 9)
    errors, kurtosis = np.full(9, 0.1), np.full(9, 3.0)
    errors[0], kurtosis[0] = 0.01, 1.5
    errors[4], kurtosis[4] = 1.0, 9.0
    found = errors_from_moments(scores, errors, kurtosis, np.zeros(9), 50)
    assert found.spread.tolist() == [0.1, 0.1, 0.1, 0.1, 1.0, 0.1, 0.1, 0.1, 0.1]
    assert found.degrees_of_freedom.tolist() == [49.0] * 4 + [12.5] + [49.0] * 4
    # A far part of a long board is no neighbour.
    scores = np.arange(100.0)
    errors = np.where(scores < 50, 0.1, 5.0)
    found = errors_from_moments(scores, errors, np.full(100, 3.0), np.zeros(100), 50)
    assert found.spread[0] == 0.1


def test_groups_are_the_units_and_count_by_their_sizes(study_of):
    rng = np.random.default_rng(0)
    sizes = np.array([30, 25, 20, 15, 10])
    clusters = np.repeat(np.arange(5), sizes)
    predictions = np.repeat(rng.normal(size=(1, 5)), sizes, axis=1)
    study = study_of(METRICS.resolve("mse"), np.zeros(100), predictions, clusters=clusters)
    found = score_errors(study)
    losses = predictions[0] ** 2 - study.scores[0]
    left_out = [losses[clusters != code].mean() for code in range(5)]
    jackknife = np.sqrt(4 / 5 * np.square(left_out).sum())
    assert found.n_units == 5
    assert found.spread[0] == pytest.approx(jackknife / study.scores[0])
    squares = sizes.astype(float) ** 2
    assert found.degrees_of_freedom[0] <= squares.sum() ** 2 / np.square(squares).sum() - 1


@pytest.mark.parametrize(
    ("score_range", "changed"),
    [((0.0, np.inf), 1), ((-np.inf, 1.0), 0), ((-np.inf, np.inf), 1), ((0.0, 1.0), None)],
)
def test_skewed_values_move_the_end_they_hide(score_range, changed):
    """Towards the side of the long tail; where the range is bounded the tail is short."""
    sign = -1 if changed == 0 else 1
    given = np.array([0.5]), np.array([0.05]), np.array([9.0])
    even, skewed = (
        interval_ends(errors_from_moments(*given, np.array([one]), 100, score_range=score_range), 2)
        for one in (0.0, sign * 0.4)
    )
    for end in (0, 1):
        outwards = (skewed[end] - even[end]) * (1 if end else -1)
        assert (outwards > 0.005) if end == changed else outwards == pytest.approx(0)


def test_the_correction_for_skewness_is_that_of_the_expansion():
    """The low quantile of the studentised mean of exponential values, on their own scale."""
    n, rng = 200, np.random.default_rng(0)
    values = rng.exponential(size=(20_000, n))
    studentised = (values.mean(axis=1) - 1) / values.std(axis=1, ddof=1) * np.sqrt(n)
    _, high = interval_ends(errors_of([0.0], 1.0, skewness=(0, 2 / np.sqrt(n))), 1.959964)
    assert -high[0] == pytest.approx(np.quantile(studentised, 0.025), abs=0.1)


def test_a_perfect_score_is_no_more_certain_than_its_rarest_class(study_of):
    truth = np.r_[np.ones(8, int), np.zeros(92, int)]
    study = study_of(METRICS.resolve("roc_auc"), truth, truth[None].astype(float))
    low, high = own_intervals(score_errors(study), 0.95)
    assert (low[0], high[0]) == pytest.approx((0.025 ** (1 / 8), 1.0))
    # In groups, those that hold a positive count: two of four rows each.
    clusters = np.r_[np.repeat([0, 1], 4), np.arange(92) % 10]
    study = study_of(METRICS.resolve("f1"), truth, truth[None], clusters=clusters)
    assert score_errors(study).limit_units == 2


def test_a_loss_that_no_row_changes_has_no_interval(study_of):
    study = study_of(METRICS.resolve("mse"), np.zeros(30), np.ones((1, 30)))
    found = score_errors(study)
    assert np.isnan(own_intervals(found, 0.95)).all()
    assert "No row changes" in found.why_none(0)


@pytest.mark.parametrize(("tails", "heavy"), [(0.0, False), (1.5, True)])
def test_tails_that_are_too_heavy_are_found(study_of, tails, heavy):
    rng = np.random.default_rng(1)
    residuals = rng.normal(size=(20, 400)) * np.exp(tails * rng.normal(size=400))
    found = score_errors(study_of(METRICS.resolve("rmse"), np.zeros(400), residuals))
    assert (found.why_none(0) is not None) == heavy
    assert np.isnan(own_intervals(found, 0.95)).any() == heavy


def test_one_group_of_nearly_all_rows_is_no_sample(study_of):
    rng = np.random.default_rng(0)
    clusters = np.r_[np.zeros(90, int), 1 + np.arange(10) // 2]
    study = study_of(METRICS.resolve("mse"), np.zeros(100), rng.normal(size=(3, 100)),
                     clusters=clusters)  # fmt: skip
    assert "of equal size, which is too few" in score_errors(study).why_none(0)


def test_groups_of_equal_scores_do_not_make_a_score_certain(study_of):
    predictions = np.tile(np.r_[np.ones(8, int), np.zeros(2, int)], (1, 2))
    study = study_of(METRICS.resolve("accuracy"), np.ones(20, int), predictions,
                     clusters=np.repeat([0, 1], 10))  # fmt: skip
    low, high = own_intervals(score_errors(study), 0.95)
    assert low < 0.2
    assert high > 0.95


def test_the_tail_of_the_largest_losses_is_measured(study_of):
    """Losses 2^(i / 100) of 400 rows: of the 28 largest, the logarithms lie 0.00693 apart."""
    rng = np.random.default_rng(0)
    losses = 2 ** (np.stack([rng.permutation(400) for _ in range(20)]) / 100)
    tails = score_errors(study_of(METRICS.resolve("mae"), np.zeros(400), losses)).tails
    longest = np.sort(losses[0])[::-1][:29] - 1
    assert tails.units == 28
    assert tails.index.shape == tails.start.shape == tails.share.shape == (2, 20)
    assert tails.index[1] == pytest.approx(np.log(longest[:28] / longest[28]).mean())
    assert tails.start[1] == pytest.approx(28 / 400 * longest[28])
    assert tails.share[1] == pytest.approx(longest[:28].sum() / 400)
    assert not tails.index[0].any()
    accuracy = study_of(METRICS.resolve("accuracy"), np.zeros(400, int), np.zeros((1, 400), int))
    assert score_errors(accuracy).tails is None


def test_the_upper_end_allows_for_large_losses_that_the_sample_lacks(study_of):
    """Pareto losses with infinite variance: without the tail, .57 of such intervals hold."""
    rng, held, offered = np.random.default_rng(0), 0, 0
    for _ in range(50):
        losses = 1 + rng.pareto(1.5, (1, 100))
        study = study_of(METRICS.resolve("mae"), np.zeros(100), losses, resamples=2)
        low, high = own_intervals(score_errors(study), 0.95)
        offered += np.isfinite(high[0])
        held += low[0] <= 3 <= high[0]
    assert offered > 25
    assert held >= 0.88 * offered


@pytest.mark.parametrize(("index", "heavy"), [(0.89, False), (0.91, True)])
def test_tails_are_heavy_if_kurtosis_and_index_are_large(index, heavy):
    tails = LongTails(np.full((2, 1), index), np.ones((2, 1)), np.ones((2, 1)), 16)
    for kurtosis, few in ((21.0, True), (7.0, False)):
        moments = np.zeros(1), np.full(1, 0.1), np.full(1, kurtosis), np.zeros(1)
        found = errors_from_moments(*moments, 100, tails=tails)
        assert found.heavy.tolist() == [heavy and few]


def test_resamples_say_the_same_where_there_are_no_values(study_of):
    rng = np.random.default_rng(0)
    residuals = rng.normal(size=(15, 200))
    study = study_of(METRICS.resolve("mse"), np.zeros(200), residuals, resamples=4000)
    exact = score_errors(study)
    found = errors_from_resamples(study.scores, study.resampled, 200, score_range=exact.score_range)
    np.testing.assert_allclose(found.spread, exact.spread, rtol=0.1)
    assert not found.heavy.any()
    none = errors_from_resamples(study.scores, np.full((15, 3), np.nan), 200)
    assert np.isnan(own_intervals(none, 0.95)).all()


@dataclass(frozen=True)
class Doubled:
    """A loss of 0 or 2 a row."""

    name: str = "doubled"
    greater_is_better: bool = False

    def row_values(self, truth, predictions):
        return 2.0 * (predictions != truth)

    def from_mean(self, mean):
        return mean


@dataclass(frozen=True)
class Bounded(Doubled):
    @property
    def traits(self):
        return MetricTraits(row_range=(0.0, 2.0))


@dataclass(frozen=True)
class Root(Bounded):
    def from_mean(self, mean):
        return np.sqrt(mean)


def test_the_bound_of_the_variance_is_of_means_only(study_of):
    rng = np.random.default_rng(0)
    truth, predictions = np.zeros(2_000, int), (rng.random((1, 2_000)) < 0.02).astype(int)
    found = score_errors(study_of(Root(), truth, predictions))
    # The standard error of sqrt(x) is that of x over 2 sqrt(x): a bound by rows would be too small.
    assert found.limit_units == np.inf
    assert 1 / found.spread[0] ** 2 < 1_500
    assert score_errors(study_of(Bounded(), truth, predictions)).limit_units == 2_000


def test_only_shares_of_rows_are_taken_for_shares(study_of):
    rng = np.random.default_rng(0)
    study = study_of(Doubled(), np.zeros(50, int), rng.integers(0, 2, (3, 50)))
    assert score_errors(study).score_range == UNBOUNDED


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_out_of_range_is_refused(level):
    with pytest.raises(UsageError, match="between 0 and 1"):
        own_intervals(errors_of([0.5], 0.1), level)


def test_two_resamples_are_enough_and_one_is_not():
    scores, resampled = np.array([0.5, 0.7]), np.array([[0.4, 0.6, np.nan], [0.6, 0.8, 0.7]])
    known = errors_from_resamples(scores, resampled, 40)
    np.testing.assert_allclose(known.spread, np.sqrt(0.02 * 40 / 39))
    unknown = errors_from_resamples(scores, resampled[:, 1:], 40)
    assert np.isnan([unknown.spread, unknown.degrees_of_freedom]).all()
    assert unknown.skewness.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    # One unit less is none or one: the factor is U / (U - 1) from two units on.
    for n_units, factor in ((1, 1.0), (2, 2.0), (3, 1.5)):
        few = errors_from_resamples(scores, resampled, n_units)
        np.testing.assert_allclose(few.spread, np.sqrt(0.02 * factor))


@pytest.mark.parametrize(
    ("m", "n_units", "fewest"), [(1, 12_000, 24.0), (4, 12_000, 15.0), (1, 14, 6.0), (2, 14, 4.0)]
)
def test_tails_are_too_heavy_below_so_many_degrees_of_freedom(m, n_units, fewest):
    for factor, heavy in ((0.99, True), (1.0, False), (1.01, False)):
        kurtosis = np.full(m, 1 + 2 * n_units / (factor * fewest))
        found = errors_from_moments(
            np.linspace(0, 1, m), np.full(m, 0.1), kurtosis, np.zeros(m), n_units
        )
        assert found.heavy.tolist() == [heavy] * m


def test_two_units_have_one_degree_of_freedom():
    found = errors_from_moments(np.zeros(1), np.ones(1), np.full(1, 1.5), np.zeros(1), 2)
    assert found.degrees_of_freedom.tolist() == [1.0]
    many = errors_from_moments(np.zeros(1), np.ones(1), np.full(1, 3.0), np.zeros(1), 50)
    assert many.degrees_of_freedom.tolist() == [49.0]
    # A kurtosis of 1 is the smallest, and rounding can make it smaller.
    for kurtosis in (1.0, 1 - 1e-12):
        given = np.ones(1), np.full(1, 0.1), np.full(1, kurtosis), np.zeros(1)
        even = errors_from_moments(*given, 50, score_range=(0.0, np.inf))
        assert (even.degrees_of_freedom.tolist(), even.heavy.tolist()) == ([49.0], [False])
    # Never below one, and not rounded up to more; a single unit counts as two.
    for kurtosis, n_units, degrees in ((101.0, 60, 1.2), (1_001.0, 60, 1.0), (1.5, 1, 1.0)):
        found = errors_from_moments(
            np.zeros(1), np.ones(1), np.full(1, kurtosis), np.zeros(1), n_units
        )
        assert found.degrees_of_freedom == pytest.approx([degrees])


def test_scores_have_no_bounds_where_none_are_given():
    resampled = np.random.default_rng(0).normal(size=(1, 2_000)) - 0.7
    found = errors_from_resamples(np.array([-0.7]), resampled, 500)
    assert found.score_range == UNBOUNDED
    low, high = np.ravel(own_intervals(found, 0.95))
    assert low < -0.7 < high


def test_a_rare_class_that_counts_as_much_as_others_leaves_few_rows(study_of):
    truth = np.repeat([0, 1, 2], [2, 48, 50])
    predictions = np.where(np.arange(100) % 5 == 4, (truth + 1) % 3, truth)[None]
    plain, balanced = (
        score_errors(study_of(METRICS.resolve(name), truth, predictions))
        for name in ("f1(average=micro)", "balanced_accuracy")
    )
    # Both rows of the rare class are right, so its recall seems to have no error.
    assert balanced.spread[0] == pytest.approx(np.sqrt((1 / 2 + 1 / 48 + 1 / 50) / 9))
    assert balanced.degrees_of_freedom[0] < 2
    assert plain.spread[0] == pytest.approx(1 / np.sqrt(100), rel=0.01)
    assert plain.degrees_of_freedom[0] > 50


@pytest.mark.parametrize(("costly", "given"), [(0, False), (4, False), (5, True)])
def test_few_errors_on_the_costly_side_hide_the_true_score(study_of, costly, given):
    rng = np.random.default_rng(0)
    residuals = rng.uniform(0.5, 1.5, size=(1, 100))
    residuals[0, :costly] *= -1
    found = score_errors(
        study_of(METRICS.resolve("quantile_loss(alpha=0.95)"), np.zeros(100), residuals)
    )
    assert found.costly[0] == costly
    assert (f"only {costly} of the 100 rows" in str(found.why_none(0))) == (not given)


def test_errors_that_cost_the_same_on_both_sides_are_not_counted(study_of):
    residuals = np.abs(np.random.default_rng(0).normal(size=(3, 50)))
    for name in ("mse", "quantile_loss(alpha=0.5)"):
        found = score_errors(study_of(METRICS.resolve(name), np.zeros(50), residuals))
        assert np.isinf(found.costly).all()


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_moments_of_resamples_are_those_of_scipy(sign):
    """Of resampled means over 50 rows; what a normal sample of as many would show is subtracted."""
    rows, count = 50, 3_000
    drawn = 2 + sign * 0.1 * np.random.default_rng(0).standard_gamma(4.0, (1, count))
    found = errors_from_resamples(np.array([2.0]), drawn, rows, score_range=(0.0, np.inf))
    excess = stats.kurtosis(drawn[0]) - np.sqrt(24 / count)
    skewness = sign * (abs(stats.skew(drawn[0])) - np.sqrt(6 / count))
    expected = errors_from_moments(
        np.array([2.0]),
        drawn.std(axis=1, ddof=1) * np.sqrt(rows / (rows - 1)),
        np.array([3 + rows * excess]),
        np.array([skewness]),
        rows,
        score_range=(0.0, np.inf),
    )
    assert 0.5 < abs(skewness) < 1.5
    for name in ("spread", "degrees_of_freedom", "skewness"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9)


def test_resamples_that_are_normal_have_no_skewness():
    drawn = 2 + 0.1 * np.random.default_rng(0).standard_normal((1, 3_000))
    found = errors_from_resamples(np.array([2.0]), drawn, 50)
    assert found.skewness.tolist() == [[0.0], [0.0]]
    assert found.degrees_of_freedom == pytest.approx(49)


@pytest.mark.parametrize(("degrees", "given"), [(30.0, True), (2.6, False)])
def test_an_interval_that_ends_a_hundred_times_as_far_from_the_bound_is_withheld(degrees, given):
    errors = errors_of([2.0], 0.6, (0.0, np.inf), degrees=degrees)
    low, high = own_intervals(errors, 0.999)
    assert np.isfinite([low[0], high[0]]).all() == given
    unbounded = own_intervals(errors_of([2.0], 0.6, degrees=degrees), 0.999)
    assert np.isfinite(unbounded).all()


@pytest.mark.parametrize(
    ("score_range", "degrees", "said"),
    [
        (UNBOUNDED, 2.5, None),
        (UNBOUNDED, 2.49, "worth only 3.5 of equal size, which is too few."),
        ((0.0, np.inf), 2.5, None),
        ((0.0, np.inf), 2.0, "worth only 3.0 of equal size, which is too few."),
        ((0.0, 4.0), 1.0, None),  # the ends of the range keep such an interval finite
    ],
)
def test_fewer_effective_units_than_three_and_a_half_are_too_few(score_range, degrees, said):
    reason = errors_of([2.0], 0.1, score_range, degrees).why_none(0)
    assert reason is None if said is None else said in reason


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("score", "score_range", "ends", "given"),
    [
        (2.0, (0.0, np.inf), (1.0, 200.0), True),
        (2.0, (0.0, np.inf), (1.0, 201.0), False),
        (2.5, (0.5, np.inf), (1.0, 200.0), True),
        (2.5, (0.5, np.inf), (1.0, 201.0), False),
        (0.5, (-np.inf, 1.0), (-49.0, 0.9), True),
        (0.5, (-np.inf, 1.0), (-50.0, 0.9), False),
        (0.0, (0.0, np.inf), (0.0, 5.0), True),  # at its bound nothing is far from it
        (0.005, (0.0, np.inf), (0.001, 0.6), False),
        (2.0, UNBOUNDED, (1.0, 9_999.0), True),
        (2.0, (0.0, 1e6), (1.0, 9_999.0), True),
        (2.0, (0.0, np.inf), (np.nan, np.nan), True),  # not computed yet
    ],
)
def test_ends_are_at_most_a_hundred_times_as_far_from_the_bound(score, score_range, ends, given):
    reason = errors_of([score], 0.1, score_range).why_none(0, *ends)
    assert reason is None if given else "more than 100 times as far from" in reason


def test_a_score_that_no_row_changes_needs_both_bounds_and_their_rows():
    for score_range, limit, given in (
        ((0.0, 1.0), 30.0, True),
        ((0.0, 1.0), np.inf, False),
        ((0.0, np.inf), 30.0, False),
    ):
        errors = errors_of([0.5], np.nan, score_range, limit_units=limit)
        assert (errors.why_none(0) is None) == given
        assert np.isfinite(interval_ends(errors, 1.96)).all() == given


@pytest.mark.parametrize(("rare", "counts"), [(9, True), (10, False)])
def test_fewer_than_ten_rows_of_a_class_are_few(study_of, rare, counts):
    truth = np.repeat([0, 1, 2], [rare, 45, 45])
    predictions = truth.copy()
    predictions[[-1, -2, -50]] = [0, 1, 0]
    found = score_errors(study_of(METRICS.resolve("balanced_accuracy"), truth, predictions[None]))
    by_class = np.sqrt((1 / rare + 1 / 45 + 1 / 45) / 9)
    assert (found.spread[0] == pytest.approx(by_class)) == counts


@pytest.mark.parametrize(("alpha", "counted"), [(0.74, np.inf), (0.76, 1.0)])
def test_an_error_that_costs_three_times_as_much_is_costly(study_of, alpha, counted):
    residuals = np.random.default_rng(0).uniform(0.5, 1.5, size=(1, 60))
    residuals[0, 0] = -1e-3
    metric = METRICS.resolve(f"quantile_loss(alpha={alpha})")
    assert score_errors(study_of(metric, np.zeros(60), residuals)).costly.tolist() == [counted]


def test_long_tails_move_only_the_ends_that_are_too_near():
    plain = interval_ends(errors_of([2.0], 0.1, (0.0, np.inf)), 2.0)
    start, share, units = 0.5, 0.8, 16

    def ends(lower, upper):
        index = np.array([[lower], [upper]])
        tails = LongTails(index, np.full((2, 1), start), np.full((2, 1), share), units)
        return interval_ends(replace(errors_of([2.0], 0.1, (0.0, np.inf)), tails=tails), 2.0)

    def further(index):  # the index is raised by two standard errors of a quarter each
        return start / (1 - min(1.5 * index, 0.9)) - share

    assert further(0.1) < 0
    assert ends(0.1, 0.1) == plain
    low, high = ends(0.1, 0.5)
    assert (low, high[0]) == (plain[0], pytest.approx(2 + further(0.5)))
    low, high = ends(0.5, 0.1)
    assert (low[0], high) == (pytest.approx(2 - further(0.5)), plain[1])
    assert ends(0.1, 0.7)[1][0] == pytest.approx(2 + start / 0.1 - share)


def test_values_of_too_many_rows_are_not_read(study_of, monkeypatch):
    residuals = np.random.default_rng(0).uniform(0.5, 1.5, size=(2, 50))
    study = study_of(METRICS.resolve("quantile_loss(alpha=0.9)"), np.zeros(50), residuals)
    for most, read in ((100, True), (99, False)):
        monkeypatch.setattr(score_intervals, "_MOST_VALUES", most)
        found = score_errors(study)
        assert (found.tails is not None) == read
        assert (found.costly is not None) == read


@dataclass(frozen=True)
class Falling(Bounded):
    def from_mean(self, mean):
        return 1 - mean


@dataclass(frozen=True)
class Narrowed(Bounded):
    @property
    def traits(self):
        return MetricTraits(row_range=(0.0, 2.0), score_range=(0.5, 1.5))


def test_the_range_of_row_values_narrows_that_of_scores():
    assert range_of(Bounded()) == (0.0, 2.0)
    assert range_of(Root()) == (0.0, pytest.approx(np.sqrt(2)))
    assert range_of(Falling()) == (-1.0, 1.0)
    assert range_of(Narrowed()) == (0.5, 1.5)
    assert range_of(Doubled()) == UNBOUNDED


@pytest.mark.parametrize(("score_range", "end"), [((0.0, np.inf), 1), ((-np.inf, 2.0), 0)])
def test_losses_count_as_no_less_skewed_than_a_gamma_distribution(score_range, end):
    """Towards the long tail: (2 + 1/m) times the spread, less what the logarithm takes away."""
    for m in (1, 4):
        scores = 1 + 1e-6 * np.arange(m)
        for skewness, moved in ((0.0, 2 + 1 / m - 1.5), (0.3, 2 * 0.3 / 0.1 - 1.5)):
            sign = 1 if end else -1
            found = errors_from_moments(
                scores, np.full(m, 0.1), np.full(m, 3.0), np.full(m, sign * skewness), 100,
                score_range=score_range,
            )  # fmt: skip
            assert found.spread == pytest.approx(0.1, rel=1e-4)
            assert found.skewness[end] == pytest.approx(0.1 * moved, rel=1e-4)
            assert not found.skewness[1 - end].any()


def test_scores_without_bounds_lean_to_both_sides():
    found = errors_from_moments(
        np.arange(3.0), np.ones(3), np.full(3, 3.0), np.array([0.1, 0.2, -0.3]), 100
    )
    # Twice its own skewness, or twice the median of its neighbours.
    assert found.skewness[1] == pytest.approx([0.2, 0.4, 0.2])
    assert found.skewness[0] == pytest.approx([0.0, 0.0, 0.6])


def test_what_moves_a_score_by_rounding_alone_does_not_move_it():
    errors = np.array([2e-8, 0.5e-8])
    for score_range, scores, moving in (
        (UNBOUNDED, [1.0, 1.0], [True, False]),
        (UNBOUNDED, [100.0, 0.1], [False, True]),
        (UNBOUNDED, [2.0, 0.5], [False, False]),  # as large as rounding
        ((0.0, np.inf), [1.0, 1.0], [True, False]),
        ((0.0, np.inf), [1.0, 0.0], [True, False]),  # a loss of 0 has no relative error
    ):
        found = errors_from_moments(
            np.array(scores), errors, np.full(2, 3.0), np.zeros(2), 50, score_range=score_range
        )
        assert np.isfinite(found.spread).tolist() == moving


@pytest.mark.parametrize("percentile", [50, 90])
@pytest.mark.parametrize("m", [1, 4, 31, 80])
def test_neighbours_are_fifteen_on_each_side_and_mirrored_at_the_ends(m, percentile):
    rng = np.random.default_rng(m)
    scores, values = rng.normal(size=m), rng.normal(size=m)
    order = np.argsort(scores)
    # The board continues as its mirror image: d c b a | a b c d | d c b a.
    mirrored = [*range(m), *reversed(range(m))]
    for place, own in enumerate(order):
        window = [order[mirrored[at % (2 * m)]] for at in range(place - 15, place + 16)]
        among = np.sort(values[window])
        expected = among[15] if percentile == 50 else among[27]
        assert score_intervals._of_neighbours(scores, values, percentile)[own] == expected


@pytest.mark.parametrize(("heavy_ones", "heavy"), [(3, False), (4, True)])
def test_tails_are_judged_by_the_heavier_tenth_of_the_neighbours(heavy_ones, heavy):
    kurtosis = np.where(np.arange(31) < heavy_ones, 10_000.0, 3.0)
    found = errors_from_moments(
        np.arange(31.0), np.ones(31), np.roll(kurtosis, 14), np.zeros(31), 1_000
    )
    assert found.heavy[15] == heavy


@pytest.mark.parametrize(("m", "factor"), [(1, 1.0), (2, 1.5), (3, 2.0), (9, 2.0)])
def test_neighbours_double_the_degrees_of_freedom_of_a_spread(m, factor):
    critical, units, degrees = 1.959964, 30.0, 4
    found = interval_ends(errors_of(np.full(m, 0.6), units**-0.5, (0.0, 1.0), degrees), critical)
    units *= (critical / stats.t.isf(0.025, degrees * factor)) ** 2
    ends = (
        stats.beta.ppf(0.025, 0.6 * units, 0.4 * units + 1),
        stats.beta.isf(0.025, 0.6 * units + 1, 0.4 * units),
    )
    assert np.array(found) == pytest.approx(np.repeat(ends, m).reshape(2, m), abs=1e-6)


@pytest.mark.parametrize(("units", "known"), [(19, False), (20, True)])
def test_a_tail_needs_twenty_units(study_of, units, known):
    losses = np.random.default_rng(0).uniform(0.5, 1.5, size=(1, units))
    found = score_errors(study_of(METRICS.resolve("mae"), np.zeros(units), losses))
    assert (found.tails is not None) == known


def test_the_tail_of_losses_that_are_mostly_zero_is_the_longest(study_of):
    """Of 100 losses the 14 largest count: the next one is 0, and no ratio to it exists."""
    losses = np.zeros((3, 100))
    losses[0, :5] = [1e-3, 2e-3, 3e-3, 4e-3, 5e-3]
    losses[1] = 1e-3 * np.random.default_rng(0).uniform(1, 2, 100)
    losses[2] = 0.25
    tails = score_errors(study_of(METRICS.resolve("mae"), np.zeros(100), losses)).tails
    assert tails.units == 14
    assert tails.start[1] == pytest.approx(
        [0, 14 / 100 * (np.sort(losses[1])[-15] - losses[1].min()), 0]
    )
    assert tails.share[1, 0] == pytest.approx(15e-3 / 100)
    longest = np.sort(losses[1] - losses[1].min())[-15:]
    own = np.log(longest[1:] / longest[0]).mean()
    # The equal losses have no tail, those with zeros one of 1; the median is that of neighbours.
    usual = np.sort([0.0, 1.0, own])[1]
    assert tails.index[1] == pytest.approx([1.0, max(own, usual), usual])


def test_what_is_asked_of_long_tails_follows_from_their_kurtosis():
    """U / (kurtosis - 1) equally large losses are there; half the fewest degrees are needed."""
    for m, n_units, fewest in ((1, 12_000, 24.0), (4, 12_000, 15.0), (1, 14, 6.0)):
        moments = np.arange(1.0, m + 1), np.full(m, 0.1), np.full(m, 1.5), np.zeros(m)
        error = 1 / np.sqrt(16)
        for index, long in ((0.6 * (1 + 2 * error), False), (0.91, True)):
            tails = LongTails(np.full((2, m), index), np.ones((2, m)), np.ones((2, m)), 16)
            found = errors_from_moments(*moments, n_units, tails=tails)
            observed, needed = found.equal_losses
            assert observed == pytest.approx(np.full(m, n_units / 0.5 if long else np.inf))
            assert needed == pytest.approx(np.full(m, fewest / 2 if long else 0.0))


def test_as_many_losses_as_needed_say_nothing_of_the_lower_end():
    """Where so many are needed as there are, any smaller mean may have given them by chance."""
    one = replace(errors_of([2.0], 0.01, (0.0, np.inf)), equal_losses=np.array([[12.0], [12.0]]))
    assert interval_ends(one, 1.96)[0][0] == pytest.approx(0, abs=1e-6)
    fewer = replace(one, equal_losses=np.array([[12.0], [13.0]]))  # then none is given
    assert interval_ends(fewer, 1.96)[0][0] == pytest.approx(2 * np.exp(-0.0196))
    unknown = replace(one, equal_losses=np.array([[np.inf], [0.0]]))
    assert interval_ends(unknown, 1.96)[0][0] == pytest.approx(2 * np.exp(-0.0196))


def test_constant_resamples_have_no_tails_of_their_own():
    """The medians over three submissions are those of the two that no resample moves."""
    drawn = 0.5 + 0.01 * np.random.default_rng(0).standard_exponential(size=400)
    resampled = np.stack([np.full(400, 0.4), drawn, np.full(400, 0.6)])
    found = errors_from_resamples(np.array([0.4, 0.51, 0.6]), resampled, 50)
    assert np.isfinite(found.spread).tolist() == [False, True, False]
    assert found.degrees_of_freedom.tolist() == [49.0] * 3
    assert not found.skewness.any()


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
    found = score_errors(still(study_of(Ungraded(low), truth, predictions)))
    assert found.limit_units == 4
    assert found.spread[0] == pytest.approx((2.5 * 4 * width**2) ** -0.5)
    three = score_errors(still(study_of(Ungraded(low), np.arange(44) % 3, predictions)))
    assert three.limit_units == 14
    assert three.spread[0] < 1e-3


@pytest.mark.parametrize(("low", "width"), [(0.0, 1.0), (-1.0, 2.0)])
def test_the_typical_submission_is_the_median_of_the_board(study_of, monkeypatch, low, width):
    truth = np.repeat([0, 1, 2], [4, 20, 20])
    wrong = (6, 2, 9, 4, 1)  # of 44 rows: the fourth submission is the third best
    predictions = np.stack([np.where(np.arange(44) < 44 - k, truth, 0) for k in wrong])
    study, asked = still(study_of(Ungraded(low), truth, predictions)), []

    def changes(size):
        def weights(metric, rows, prediction):
            asked.append(prediction.tolist())
            return None if size is None else np.full(len(rows), size)

        monkeypatch.setattr(score_intervals, "class_weights", weights)
        return score_errors(study)

    found = changes(0.05)
    assert asked == [predictions[3].tolist()]
    assert found.spread == pytest.approx(0.05 * np.sqrt(44) / width)
    assert found.degrees_of_freedom.max() <= 43
    unknown, nothing = changes(None), changes(0.0)  # nothing: no row changes the score
    assert unknown.spread.max() < 1e-3
    assert nothing.spread.tolist() == unknown.spread.tolist()
    assert nothing.degrees_of_freedom.tolist() == unknown.degrees_of_freedom.tolist()


def test_degrees_of_freedom_between_one_and_two_stay(study_of):
    truth = np.arange(60) % 2
    study = still(study_of(Ungraded(), truth, (np.arange(60) % 20 < 9)[None] * 1))
    resampled = study.resampled.copy()
    resampled[0, 0] += 5e-4  # one resample far from the others
    study = replace(study, resampled=resampled)
    (degrees,) = score_errors(study).degrees_of_freedom
    kurtosis = 3 + 60 * (stats.kurtosis(study.resampled[0]) - np.sqrt(24 / 200))
    assert degrees == pytest.approx(max(120 / (kurtosis - 1), 1.0))
    assert degrees < 2


def test_a_dominant_group_leaves_one_degree_of_freedom(study_of):
    rng = np.random.default_rng(0)
    clusters = np.r_[np.zeros(90, int), 1 + np.arange(10)]
    study = study_of(METRICS.resolve("mse"), np.zeros(100), rng.normal(size=(2, 100)),
                     clusters=clusters)  # fmt: skip
    assert score_errors(study).degrees_of_freedom.tolist() == [1.0, 1.0]


def test_two_unequal_groups_have_the_error_of_the_jackknife(study_of):
    predictions = np.r_[np.full(30, 1.0), np.full(10, 2.0)][None]
    clusters = np.repeat([0, 1], [30, 10])
    found = score_errors(
        study_of(METRICS.resolve("mse"), np.zeros(40), predictions, clusters=clusters)
    )
    mean = (30 * 1 + 10 * 4) / 40
    jackknife = np.sqrt(1 / 2 * ((4 - mean) ** 2 + (1 - mean) ** 2))  # each group left out
    assert found.spread[0] == pytest.approx(jackknife / mean)
    assert found.degrees_of_freedom.tolist() == [1.0]


def test_a_mean_over_rows_is_limited_by_all_rows_and_not_by_the_rarest_class(study_of):
    truth = np.repeat([0, 1, 2], [2, 8, 30])
    perfect = score_errors(study_of(METRICS.resolve("accuracy"), truth, truth[None]))
    assert perfect.limit_units == 40
    assert perfect.costly is None
    low, high = own_intervals(perfect, 0.95)
    assert (low[0], high[0]) == (pytest.approx(0.025 ** (1 / 40)), 1.0)
    halves = np.r_[np.zeros(20, int), np.ones(20, int)]
    grouped = study_of(METRICS.resolve("accuracy"), truth, truth[None], clusters=halves)
    assert score_errors(grouped).limit_units == 2


def test_a_ratio_can_have_a_long_tail_towards_its_bound(study_of):
    """The variance of the truth of a sample without the rare large numbers is too small."""
    rng = np.random.default_rng(0)
    truth = np.r_[rng.normal(size=98), 6.0, 7.0]
    r2 = METRICS.resolve("r2")
    found = score_errors(study_of(r2, truth, truth + rng.normal(size=(1, 100))))
    assert found.score_range == (-np.inf, 1.0)
    assert found.skewness[1, 0] > found.skewness[0, 0]
    assert found.tails.index[1, 0] > 0
    high = interval_ends(found, 1.96)[1]
    one_side = replace(found, skewness=found.skewness * [[1], [0]], tails=None)
    assert high[0] > interval_ends(one_side, 1.96)[1][0]
    losses = score_errors(study_of(METRICS.resolve("mse"), truth, np.zeros((1, 100))))
    assert losses.skewness[0, 0] == losses.tails.index[0, 0] == 0  # towards the bound of a mean


def test_scores_of_numbers_or_of_several_targets_have_no_bound_of_their_variance(study_of):
    rng = np.random.default_rng(0)
    values = rng.normal(size=30)
    found = score_errors(study_of(METRICS.resolve("r2"), values, values + rng.normal(size=(2, 30))))
    assert (found.limit_units, found.costly) == (np.inf, None)
    truth = rng.integers(0, 2, (30, 2))

    @dataclass(frozen=True)
    class Both(Ungraded):
        def resample(self, truth, predictions, weights):
            return (predictions == truth).mean(axis=2) @ weights.astype(float) / len(truth)

        def score(self, truth, prediction, weight=None):
            return float((truth == prediction).mean())

    assert (
        score_errors(study_of(Both(), truth, rng.integers(0, 2, (3, 30, 2)))).limit_units == np.inf
    )


def test_a_weighted_mean_is_limited_by_the_effective_number_of_all_rows(study_of):
    weights = np.repeat([1.0, 3.0], 20)
    metric = _WeightedMean(METRICS.resolve("accuracy"), weights)
    truth = np.repeat([0, 1], [5, 35])
    predictions = np.where(np.arange(40) % 4 == 3, 1 - truth, truth)[None]
    found = score_errors(study_of(metric, truth, predictions))
    assert found.limit_units == pytest.approx(80**2 / (20 * 1 + 20 * 9))
    right = (predictions[0] == truth) * 1.0
    mean = np.average(right, weights=weights)
    away = weights / 40 / (1 - weights / 80) * (1 - 1 / 40) * 40 / 80 * (right - mean)
    error = np.sqrt(np.square(away).sum() * 40 / 39)
    assert found.spread[0] == pytest.approx(error / np.sqrt(mean * (1 - mean)))


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
    assert score_intervals._limit_units(codes, clusters, weights) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("score", "affine"),
    [
        (lambda mean: mean, True),
        (lambda mean: 7.3 - 1e6 * mean, True),
        (np.sqrt, False),
        (lambda mean: 1e-13 * np.sqrt(mean), False),  # in any unit
        (lambda mean: 0.0 * mean, True),
    ],
)
def test_a_score_is_affine_if_its_slope_is_constant(score, affine):
    class Scored(Doubled):
        def from_mean(self, mean):
            return score(mean)

    assert score_intervals._is_affine(Scored()) == affine
    assert not score_intervals._is_affine(Ungraded())


def test_only_a_mean_of_zeros_and_ones_is_a_share(study_of):
    @dataclass(frozen=True)
    class Share(Doubled):
        def row_values(self, truth, predictions):
            return (predictions == truth) * 1.0

        def from_mean(self, mean):
            return np.clip(mean, 0.0, 1.0)  # defined on shares only

    @dataclass(frozen=True)
    class RootOfShare(Share):
        def from_mean(self, mean):
            return np.sqrt(mean)

    truth, predictions = np.zeros(8, int), np.array([[0, 0, 1, 0, 1, 1, 0, 0]])
    given = {"resamples": 2}
    assert score_errors(study_of(Share(), truth, predictions, **given)).score_range == (0.0, 1.0)
    assert score_errors(study_of(Doubled(), truth, predictions, **given)).score_range == UNBOUNDED
    found = score_errors(study_of(RootOfShare(), truth, predictions, **given))
    assert found.score_range == UNBOUNDED
    # A declared range stays, whatever the values are.
    losses = study_of(METRICS.resolve("mse"), np.zeros(8), predictions * 1.0, **given)
    assert score_errors(losses).score_range == (0.0, np.inf)


def test_blocks_of_submissions_change_nothing(study_of, monkeypatch):
    residuals = np.random.default_rng(0).uniform(0.5, 1.5, size=(5, 60))
    residuals[0] *= np.where(np.arange(60) % 2, 1, -1)  # even errors
    for j, rows in enumerate((0, 7, 2, 30, 9)):
        residuals[j, :rows] *= -1
    study = study_of(METRICS.resolve("quantile_loss(alpha=0.95)"), np.zeros(60), residuals)
    whole = score_errors(study)
    own = np.array([np.inf, 7, 2, 30, 9])
    neighbours = score_intervals._of_neighbours(study.scores, own)
    assert whole.costly.tolist() == np.minimum(own, neighbours).tolist()
    for held in (1, 8 * 60 * 2):
        monkeypatch.setattr(score_intervals, "_BLOCK_BYTES", held)
        parts = score_errors(study)
        for name in ("spread", "degrees_of_freedom", "skewness", "costly"):
            np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
        np.testing.assert_array_equal(parts.tails.index, whole.tails.index)


def test_a_row_without_an_error_costs_nothing(study_of):
    residuals = np.r_[-np.ones(6), np.zeros(14), np.ones(40)][None]
    metric = METRICS.resolve("quantile_loss(alpha=0.95)")
    assert score_errors(study_of(metric, np.zeros(60), residuals)).costly.tolist() == [6.0]
    # Exactly three times as much on the other side is not much more.
    metric = METRICS.resolve("quantile_loss(alpha=0.75)")
    found = score_errors(study_of(metric, np.zeros(60), np.ones((1, 60))))
    assert found.costly.tolist() == [np.inf]


def test_small_losses_have_the_moments_of_large_ones(study_of):
    losses = np.random.default_rng(0).gamma(0.3, size=(3, 50))
    large, small = (
        score_errors(study_of(METRICS.resolve("mae"), np.zeros(50), unit * losses))
        for unit in (1e3, 1e-4)
    )
    for name in ("spread", "degrees_of_freedom", "skewness"):
        np.testing.assert_allclose(getattr(large, name), getattr(small, name), rtol=1e-9)
    assert (small.degrees_of_freedom < 40).all()


def test_influence_that_is_not_finite_is_not_used(study_of):
    @dataclass(frozen=True)
    class Undefined(Ungraded):
        def influence_values(self, truth, predictions):
            return np.where(predictions == truth, 1.0, np.inf)

    truth = np.arange(30) % 2
    predictions = np.where(np.arange(30) == 7, 1 - truth, truth)[None]
    plain, odd = (score_errors(study_of(m, truth, predictions)) for m in (Ungraded(), Undefined()))
    np.testing.assert_array_equal(odd.spread, plain.spread)


def test_a_single_row_has_no_error(study_of):
    found = score_errors(
        study_of(METRICS.resolve("mae"), np.zeros(1), np.ones((1, 1)), resamples=5)
    )
    assert np.isnan(found.spread).all()
    assert found.degrees_of_freedom.tolist() == [1.0]
