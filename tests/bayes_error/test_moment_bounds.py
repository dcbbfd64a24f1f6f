"""Model-free bounds of the Bayes error from counts, and counts of dependent labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from arena_bayes_error import moment_bounds as module
from arena_bayes_error.annotators import DEPENDENT, from_counts
from arena_bayes_error.dirichlet import corrected_resamples
from arena_bayes_error.moment_bounds import (
    cell_intervals,
    contradicts_independence,
    effective_units,
    interval_of_bounds,
    moment_bounds,
    nearest_ends,
    optimum_of,
    programme_of,
    t_bound,
)


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
    bounds = moment_bounds(counts_of(ones, 2), np.random.default_rng(0))
    assert bounds.low == pytest.approx((1 - np.sqrt(1 - 2 * 0.18)) / 2, abs=2e-4)
    assert bounds.high == pytest.approx(0.18, abs=1e-4)
    assert bounds.interval[0] < bounds.low < bounds.high < bounds.interval[1]


@pytest.mark.slow
def test_more_labels_give_narrower_bounds_around_the_truth():
    rng = np.random.default_rng(1)
    widths = []
    for labels in (2, 3, 5, 20):
        counts, truth = two_points(20_000, labels, rng)
        bounds = moment_bounds(counts, rng)
        assert bounds.interval[0] <= truth <= bounds.interval[1]
        widths.append(bounds.interval[1] - bounds.interval[0])
    assert (np.diff(widths) < 0).all()


@pytest.mark.slow
def test_the_model_can_be_wrong_and_the_bounds_are_not():
    counts, truth = two_points(20_000, 3, np.random.default_rng(2))
    estimate = from_counts(counts)
    assert not estimate.corrected_interval[0] <= truth <= estimate.corrected_interval[1]
    assert estimate.moment_interval[0] <= truth <= estimate.moment_interval[1]


@pytest.mark.few(1)
@pytest.mark.parametrize("labels", [2, 3, 50])
def test_unanimous_counts_of_few_rows_leave_room(labels):
    bounds = moment_bounds(counts_of(np.zeros(30, dtype=int), labels), np.random.default_rng(0))
    assert bounds.low == pytest.approx(0, abs=1e-6)
    assert bounds.interval[0] == 0
    assert 0.01 < bounds.interval[1] < 0.2


def test_rows_of_different_numbers_of_labels_use_as_many_as_the_fewest():
    rng = np.random.default_rng(3)
    ones = rng.binomial(4, 0.3, 300)
    counts = np.concatenate([counts_of(ones, 4), [[1.0, 0.0]], counts_of(ones + 3, 7)])
    bounds = moment_bounds(counts, rng)
    assert (bounds.labels_per_row, bounds.n) == (4, 600)
    assert moment_bounds(np.array([[1.0, 0.0], [0.0, 1.0]]), rng) is None


@pytest.mark.parametrize("clusters", [None, [4, 7]])
def test_a_single_row_with_several_labels_has_the_bounds_of_its_count(clusters):
    """With one of two labels positive, the chance 2 E c(1 - c) of that is at least 0.05 / 6.

    That is Bonferroni's share of three exact intervals. c(1 - c) of 1/240 or more, c near 0.
    """
    low, high = from_counts([[1, 1], [1, 0]], clusters=clusters, resamples=2).moment_interval
    assert low == pytest.approx((1 - np.sqrt(1 - 4 / 240)) / 2, abs=1e-5)
    assert high == pytest.approx(0.5)


@pytest.mark.slow
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
    estimate = from_counts(np.tile([2.0, 2.0], (100, 1)))
    assert DEPENDENT in estimate.assumptions
    assert estimate.moment_interval is None
    assert estimate.moment_bounds is None
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
        estimate = from_counts(counts_of(ones, labels), resamples=200, rng=rng)
        covered += estimate.corrected_interval[0] <= 0.25 <= estimate.corrected_interval[1]
    assert covered >= 181


# -- the parts -------------------------------------------------------------------------------------


def test_each_cell_has_its_exact_interval_and_all_hold_at_once():
    ones = np.repeat([0, 1, 3], [30, 8, 22])
    for codes, factor in ((None, 1), (np.arange(60) // 2, 2)):  # pairs of rows count as one
        low, high = cell_intervals(programme_of(3), ones, 0.9, codes)
        for cell, count in enumerate([30, 8, 0, 22]):
            exact = stats.binomtest(count // factor, 60 // factor)
            ends = exact.proportion_ci(1 - 0.1 / 4, "exact")
            assert (low[cell], high[cell]) == pytest.approx(tuple(ends), abs=1e-9)
    low, high = cell_intervals(programme_of(3), np.full(20, 1), 0.9, None)
    assert (low[1], high[1]) == pytest.approx((0.0125 ** (1 / 20), 1.0))
    assert (low[0], high[0]) == pytest.approx((0.0, 1 - 0.0125 ** (1 / 20)))


def test_many_labels_are_grouped_into_cells_and_keep_the_mean_of_the_smaller_share():
    ten, fifty = programme_of(10), programme_of(50)
    assert ten.functions.tolist() == np.eye(11).tolist()
    cells, smaller = fifty.functions[:11], fifty.functions[11]
    assert fifty.n_cells == len(cells) == 11
    assert cells.sum(axis=0).tolist() == [1.0] * 51
    assert cells.sum(axis=1).tolist() == cells.sum(axis=1)[::-1].tolist()  # symmetric
    assert np.diff(cells.argmax(axis=0)).min() >= 0
    assert cells.sum(axis=1).min() >= 1
    assert smaller == pytest.approx(np.minimum(np.arange(51), 50 - np.arange(51)) / 50)
    for programme, k in ((ten, 10), (fifty, 50)):
        assert programme.grid[[0, 200, 400]] == pytest.approx([0.0, 0.5, 1.0])
        c = programme.grid[77]
        probabilities = stats.binom.pmf(np.arange(k + 1), k, c)
        assert programme.means[:, 77] == pytest.approx(programme.functions @ probabilities)
    ones = np.random.default_rng(0).binomial(50, 0.3, 400)
    low, high = cell_intervals(fifty, ones, 0.9, None)
    mean = np.minimum(ones, 50 - ones).mean() / 50
    half = stats.t.ppf(1 - 0.1 / 12 / 2, 399) * np.minimum(ones, 50 - ones).std() / 50 / 20
    assert low[-1] == pytest.approx(mean - half, rel=0.05)
    assert high[-1] == pytest.approx(mean + half, rel=0.05)
    assert low[-1] < mean < high[-1]


@pytest.mark.parametrize("grouped", [False, True])
def test_the_t_bound_is_that_of_the_rows_and_the_pseudo_rows(grouped):
    rng = np.random.default_rng(0)
    ones, fold = rng.integers(0, 4, 60), rng.integers(0, 2, 60)
    functions = rng.normal(size=(2, 4)) + np.arange(4)
    codes = np.repeat(np.arange(20), 3) if grouped else None
    values = np.array([functions[f, k] for f, k in zip(fold, ones, strict=True)])
    units, each = (20, 3) if grouped else (60, 1)
    z = stats.t.ppf(0.95, units - 1)
    added = z**2 * each  # as many rows as z squared units have
    shrunk = (values.sum() + added * functions.mean()) / (60 + added)
    mean = min(shrunk, values.mean())
    sums = (values - values.mean()).reshape(units, each).sum(axis=1)
    variance = sums.var(ddof=1) * units / (60 + added) ** 2
    variance += added / (60 + added) / (units + z**2) * ((functions - mean) ** 2).mean()
    assert t_bound(functions, ones, fold, 0.9, codes) == pytest.approx(mean - z * variance**0.5)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_dual_function_lies_below_the_bayes_error(sign):
    programme = programme_of(4)
    ones = np.random.default_rng(0).binomial(4, 0.2, 200)
    low, high = cell_intervals(programme, ones, 0.9, None)
    least, weights, constant = optimum_of(programme, sign, low, high)
    error = sign * np.minimum(programme.grid, 1 - programme.grid)
    dual = weights @ programme.means + constant
    assert (dual <= error + 1e-7).all()
    assert (error - dual).min() == pytest.approx(0, abs=1e-6)
    worst = constant + np.where(weights > 0, weights * low, weights * high).sum()
    assert worst == pytest.approx(least, abs=1e-6)  # strong duality
    assert optimum_of(programme, sign, np.full(5, 0.3), np.ones(5)) is None


def test_counts_that_no_distribution_gives_are_met_as_nearly_as_possible():
    low, high = nearest_ends(programme_of(2), np.ones(40, dtype=int))
    assert low == pytest.approx(np.array([0, 1, 0]) - 0.5, abs=1e-5)  # at best half have one of two
    assert high == pytest.approx(np.array([0, 1, 0]) + 0.5, abs=1e-5)
    for times in (1, 1_000):  # no wider with more rows
        low, high = nearest_ends(
            programme_of(2), np.repeat([0, 1, 2], times * np.array([25, 50, 25]))
        )
        assert low == pytest.approx([0.25, 0.5, 0.25], abs=1e-7)
        assert high == pytest.approx([0.25, 0.5, 0.25], abs=1e-7)
        assert (low < high).all()


@pytest.mark.slow
@pytest.mark.parametrize("labels", [2, 12])
def test_the_interval_is_within_that_of_the_cells(labels):
    counts, truth = two_points(500, labels, np.random.default_rng(2))
    bounds = moment_bounds(counts, np.random.default_rng(0), level=0.9)
    ends = cell_intervals(programme_of(labels), counts[:, 1].astype(int), 0.9, None)
    low, high = (sign * optimum_of(programme_of(labels), sign, *ends)[0] for sign in (1, -1))
    assert max(low, 0) <= bounds.interval[0] < truth < bounds.interval[1] <= min(high, 0.5)
    assert bounds.interval[1] - bounds.interval[0] < 0.9 * (high - low)
    surer = moment_bounds(counts, np.random.default_rng(0), level=0.99)
    assert surer.interval[0] < bounds.interval[0]
    assert bounds.interval[1] < surer.interval[1]
    assert (surer.low, surer.high) == (bounds.low, bounds.high)


def test_two_classes_are_one_test_at_the_whole_level():
    alternating = np.tile([2.0, 2.0], (6, 1))  # so few rows that the level decides
    assert contradicts_independence(alternating, np.random.default_rng(0), level=0.95)
    assert not contradicts_independence(alternating, np.random.default_rng(0), level=0.975)


def test_independence_of_several_classes_is_tested_for_each():
    rng = np.random.default_rng(5)
    assert contradicts_independence(np.tile([1.0, 1.0, 1.0], (100, 1)), rng)
    assert not contradicts_independence(rng.multinomial(3, [0.5, 0.3, 0.2], 100) * 1.0, rng)
    # Only the third class is regular: the labels of the others are independent of each other.
    third = np.column_stack([2.0 - (ones := rng.binomial(2, 0.5, 200)), ones, np.full(200, 2.0)])
    assert contradicts_independence(third, rng)
    assert not contradicts_independence(np.eye(3)[rng.integers(0, 3, 50)], rng)
    assert contradicts_independence(np.tile([2.0, 2.0], (12, 1)), rng, level=0.5)
    assert not contradicts_independence(np.tile([2.0, 2.0], (2, 1)), rng, level=0.95)


def test_the_effective_number_of_groups_is_that_of_kish():
    assert effective_units(4, None) == 4.0
    assert effective_units(4, np.array([0, 0, 0, 1])) == pytest.approx(16 / 10)
    assert effective_units(6, np.repeat([0, 1, 2], 2)) == pytest.approx(3.0)


@pytest.mark.parametrize("k", [11, 12, 50])
def test_cells_are_even_on_the_arcsine_scale(k):
    programme = programme_of(k)
    for count in range(k + 1):
        cell = sum(round((k + 1) * np.sin(np.pi * i / 22) ** 2) <= count for i in range(1, 11))
        assert programme.functions[:11, count].tolist() == np.eye(11)[cell].tolist()


def test_cells_of_one_row_and_of_part_of_a_group_have_their_exact_intervals():
    ones = np.repeat([0, 1, 3], [29, 1, 10])
    low, high = cell_intervals(programme_of(3), ones, 0.9, None)
    for cell, count in enumerate([29, 1, 0, 10]):
        ends = stats.binomtest(count, 40).proportion_ci(1 - 0.1 / 4, "exact")
        assert (low[cell], high[cell]) == pytest.approx(tuple(ends), abs=1e-9)
    # Twenty groups of two rows, and one of the forty rows: half a group.
    low, high = cell_intervals(programme_of(3), ones, 0.9, np.arange(40) // 2)
    assert low[1] == pytest.approx(stats.beta.ppf(0.0125, 0.5, 20.5))
    assert high[1] == pytest.approx(stats.beta.isf(0.0125, 1.5, 19.5))


@pytest.mark.parametrize("rows", [1, 2])
def test_the_t_bound_of_one_or_two_rows_has_one_degree_of_freedom(rows):
    ones, functions = np.arange(rows), np.array([[1.0, 3.0]])
    z = stats.t.ppf(0.95, 1)
    values = functions[0, :rows]
    mean = min((values.sum() + z**2 * 2) / (rows + z**2), values.mean())
    variance = np.square(values - values.mean()).sum() * rows / (rows + z**2) ** 2
    variance += z**2 / (rows + z**2) ** 2 * np.square(functions - mean).mean()
    bound = t_bound(functions, ones, np.zeros(rows, dtype=int), 0.9, None)
    assert bound == pytest.approx(mean - z * variance**0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "k", "codes"), [(12, 2, None), (20, 3, None), (8, 12, None), (36, 3, np.arange(36) // 4)]
)
def test_the_interval_is_the_better_of_the_programme_and_the_t_interval(n, k, codes):
    """Each end separately; the function of a fifth of the rows comes from the other four."""
    rng = np.random.default_rng(n)
    ones = rng.binomial(k, rng.choice([0.1, 0.8], n))
    programme = programme_of(k)
    whole = cell_intervals(programme, ones, 0.9, codes)
    units = n if codes is None else 9
    folds = np.random.default_rng(1).permutation(units) % 5
    fold = folds if codes is None else folds[codes]
    ends = []
    for sign in (1, -1):
        optimum = optimum_of(programme, sign, *whole)
        functions = []
        for fold_number in range(5):
            others = None
            if codes is not None:
                others = np.searchsorted(
                    np.unique(codes[fold != fold_number]), codes[fold != fold_number]
                )
            limits = cell_intervals(programme, ones[fold != fold_number], 0.9, others)
            _, weights, constant = optimum_of(programme, sign, *limits) or optimum
            functions.append([weights @ programme.functions[:, c] + constant for c in range(k + 1)])
        tail = t_bound(np.array(functions), ones, fold, 0.9, codes)
        ends.append(sign * max(optimum[0], tail))
    interval = interval_of_bounds(programme, ones, 0.9, codes, np.random.default_rng(1))
    assert interval == pytest.approx((max(ends[0], 0), min(ends[1], 0.5)))


def test_all_cells_are_met_within_the_same_number_of_standard_errors():
    ones = np.repeat([0, 1, 2, 3], [2, 40, 0, 8])  # too regular for any distribution
    observed = np.array([2, 40, 0, 8]) / 50
    low, high = nearest_ends(programme_of(3), ones)
    errors = np.sqrt(np.maximum(observed * (1 - observed), 1 / 50) / 50)
    away = (high - observed) / errors
    assert away[0] > 1
    assert away == pytest.approx(away[0], rel=1e-6)
    assert observed - low == pytest.approx(high - observed)


def test_two_classes_are_tested_once(monkeypatch):
    programmes = []

    def optimum(*arguments):
        programmes.append(arguments)
        return 0.0, np.zeros(3), 0.0

    monkeypatch.setattr(module, "optimum_of", optimum)
    for n_classes, tests in ((2, 1), (3, 3), (4, 4)):
        programmes.clear()
        counts = np.full((5, n_classes), 2.0)
        assert not contradicts_independence(counts, np.random.default_rng(0))
        assert len(programmes) == tests


def test_three_classes_share_the_level():
    """As two classes, of which six regular rows contradict independence at a tail of 0.05."""
    regular = np.tile([2.0, 2.0, 0.0], (6, 1))
    assert contradicts_independence(regular, np.random.default_rng(0), level=1 - 3 * 0.05)
    assert not contradicts_independence(regular, np.random.default_rng(0), level=1 - 3 * 0.025)
