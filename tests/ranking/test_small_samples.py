"""Degrees of freedom, skewness, sign-test bounds, possible winners and candidates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtri

from arena.errors import UsageError
from arena.evaluation.clusters import cluster_leverage
from arena.evaluation.row_weights import weighted
from arena.interfaces import Candidates
from arena.plugin.manager import PluginManager
from arena.scoring.rank import MeanOfCases
from arena_ranking.analysis import Ranks
from arena_ranking.board_ranks import board_ranks
from arena_ranking.differences import floor_standard_errors, standard_errors_from_values
from arena_ranking.evidence import pairwise_evidence
from arena_ranking.max_statistics import largest_leads
from arena_ranking.simultaneous import Leads, rank_intervals
from arena_ranking.small_samples import (
    difference_shapes,
    normal_bounds,
    normal_equivalents,
    pooled_degrees_of_freedom,
    sign_test_units,
    used_units,
    without_skewness,
)
from thinned import examples

SETTINGS = settings(max_examples=examples(25))
seeds = st.integers(0, 2**32 - 1)
RNG = np.random.default_rng(0)


@SETTINGS
@given(seeds, st.integers(2, 8), st.integers(3, 60))
def test_shapes_are_kurtosis_and_skewness_of_each_difference(seed, m, n):
    values = np.random.default_rng(seed).exponential(size=(m, n))
    values -= values.mean(axis=1, keepdims=True)
    shapes = difference_shapes(values)
    for j in range(m):
        for k in range(m):
            if j == k:
                continue
            difference = values[j] - values[k]
            kurtosis = stats.kurtosis(difference, fisher=False)
            expected = min(n - 1, 2 * n / (kurtosis - 1)) if kurtosis > 1 else n - 1
            assert shapes.degrees_of_freedom[j, k] == pytest.approx(expected, rel=1e-6)
            skewness = stats.skew(difference) / np.sqrt(n)
            assert shapes.skewness[j, k] == pytest.approx(skewness, abs=1e-7)


def test_near_duplicates_do_not_cancel():
    base = RNG.normal(size=400)
    values = np.stack([base, base + 1e-5 * RNG.standard_t(3, size=400), -base])
    values -= values.mean(axis=1, keepdims=True)
    kurtosis = stats.kurtosis(values[0] - values[1], fisher=False)
    shapes = difference_shapes(values).degrees_of_freedom[0, 1]
    assert shapes == pytest.approx(800 / (kurtosis - 1), rel=1e-4)


def test_a_part_of_the_units_holds_the_largest_values(monkeypatch):
    values = RNG.normal(size=(5, 20_000))
    values[0, :4] += 300
    values -= values.mean(axis=1, keepdims=True)
    whole = difference_shapes(values)
    monkeypatch.setattr("arena_ranking.small_samples.PRODUCTS", 1e3)
    part = difference_shapes(values)
    assert part.degrees_of_freedom[0, 1] == pytest.approx(whole.degrees_of_freedom[0, 1], rel=0.01)
    assert part.degrees_of_freedom[1, 2] == pytest.approx(whole.degrees_of_freedom[1, 2], rel=0.3)


def test_half_of_the_units_used_are_the_largest_and_the_others_are_spread_evenly():
    positions, weights = used_units(np.array([[3.0, 6.0, 5.0, -4.0, 2.0, 1.0]]), 4)
    assert positions.tolist() == [1, 2, 3, 5]
    assert weights.tolist() == [1, 1, 2, 2]
    assert [part.tolist() for part in used_units(np.ones((2, 3)), 3)] == [[0, 1, 2], [1, 1, 1]]


@pytest.mark.few(6)
@pytest.mark.parametrize("df", [1.0, 2.5, 7.0, 40.0, 3000.0])
@pytest.mark.parametrize("c", [0.5, 2.0, 3.7, 9.0])
def test_t_statistics_have_normal_equivalents(df, c):
    statistic = np.array([stats.t.isf(stats.norm.sf(c), df)])
    assert normal_equivalents(statistic, np.array([df]))[0] == pytest.approx(c, rel=1e-9)


@pytest.mark.parametrize("df", [0.6, 1.0, 7.0, 300.0])
def test_values_that_decide_nothing_or_everything_are_bounded_from_below(df):
    statistics = np.logspace(-3, 3, 500)
    equivalents = normal_equivalents(statistics, np.full(500, df))
    with np.errstate(divide="ignore"):
        exact = stats.norm.isf(stats.t.sf(statistics, df))
    assert (equivalents <= exact * (1 + 1e-9)).all()
    assert (np.diff(equivalents) > 0).all()
    between = (equivalents > 0.3) & (equivalents < 10)
    np.testing.assert_allclose(equivalents[between], exact[between], rtol=1e-9)


def test_no_degrees_of_freedom_decide_nothing():
    equivalents = normal_equivalents(np.array([50.0, 50.0]), np.array([0.0, 0.3]))
    assert equivalents.tolist() == [0.0, 0.0]
    assert normal_equivalents(np.array([0.0]), np.array([5.0])).tolist() == [0.0]


def test_skewness_against_a_claim_weakens_it_and_never_strengthens_it():
    skewness = np.array([0.5, 0.0, -0.1, -0.3, -1.0, -30.0])
    statistics_without = without_skewness(np.full(6, 3.0), skewness)
    assert statistics_without[:2].tolist() == [3.0, 3.0]
    assert (np.diff(statistics_without[1:5]) < 0).all()
    assert (statistics_without <= 3.0).all()
    t, a = 3.0, -0.1  # Hall (1992), with a the skewness over the root of the units
    assert statistics_without[2] == pytest.approx(t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6)
    # The larger the lead, the stronger the claim, however skewed.
    leads = np.linspace(0.01, 40, 500)
    for skew in skewness:
        assert (np.diff(without_skewness(leads, np.full(500, skew))) >= 0).all()


def test_unequal_clusters_have_the_jackknife_variance():
    units = np.repeat([0, 1, 2, 3], [40, 5, 3, 2])
    values = RNG.normal(size=50)
    left_out = np.array([values[units != g].mean() for g in range(4)])
    jackknife = np.sqrt(3 / 4 * ((left_out - values.mean()) ** 2).sum())
    sums = np.bincount(units, weights=values - values.mean()) * cluster_leverage(units)
    pair = np.stack([sums, np.zeros(4)])
    assert standard_errors_from_values(pair, 50)[0, 1] == pytest.approx(jackknife, rel=1e-12)


@pytest.mark.slow
def test_pooled_degrees_of_freedom_follow_the_tails_of_resamples():
    light, heavy = RNG.normal(size=(20, 4000)), RNG.standard_t(5, size=(20, 4000))
    assert pooled_degrees_of_freedom(light, 1000) > 50
    assert pooled_degrees_of_freedom(heavy, 1000) < 10
    assert pooled_degrees_of_freedom(light, 2) == pooled_degrees_of_freedom(heavy, 2) == 1


@pytest.mark.parametrize(
    ("m", "least", "all_pairs"),
    [(2, 6, True), (30, 15, True), (2, 6, False), (30, 8, False)],  # 30: 8 for the leader's test
)
def test_a_constant_difference_is_decided_by_a_sign_test(m, least, all_pairs):
    if all_pairs:
        assert int(np.ceil(sign_test_units(m * (m - 1), 0.95))) == least
    scores = np.linspace(0, 1, m)
    resampled = np.tile(scores[:, None], 10)
    for n_units, decided in ((least - 1, False), (least, True)):
        ranks = rank_intervals(
            scores, resampled, 0.95, standard_errors=np.zeros((m, m)), n_units=n_units,
            all_pairs=all_pairs,
        )  # fmt: skip
        assert ranks.better.any() == decided
    assert not rank_intervals(scores * 0, resampled * 0, n_units=1000).better.any()


def test_a_pair_that_differs_in_too_few_rows_is_not_decided():
    errors = np.full((2, 2), 0.1)
    differing = np.array([[0, 12], [12, 0]], dtype=np.uint8)
    floored = floor_standard_errors(
        errors, differing, np.array([0.0, 1.0]), n_units=100, needed=14.1
    )
    assert floored[0, 1] == np.inf
    few = floor_standard_errors(errors, differing, np.array([0.0, 1.0]), n_units=12, needed=14.1)
    assert few[0, 1] == 0.1  # every unit differs: degrees of freedom deal with it


@pytest.mark.slow
@pytest.mark.parametrize("groups", [3, 5])
def test_equal_submissions_on_few_groups_are_not_told_apart(study_of, metrics, groups):
    decided = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        clusters = np.repeat(np.arange(groups), 40)
        own = 1 + 0.5 * rng.normal(size=(10, groups))[:, clusters]
        study = study_of(
            metrics["rmse"], np.zeros(40 * groups), own, resamples=20, clusters=clusters
        )
        decided += board_ranks(study).intervals.better.any()
    assert decided <= 3  # all 20 without the repair


def test_two_groups_with_the_same_difference_decide_nothing(study_of):
    """Influence values have the error of a numerical slope; it is no standard error."""
    rng, clusters = np.random.default_rng(0), np.repeat([0, 1], 5)
    predictions = rng.integers(0, 2, (30, 10))
    predictions[-2:] = [[1, 1, 1, 1, 0] * 2, [1, 1, 1, 0, 0] * 2]
    study = study_of(PluginManager().metrics.resolve("accuracy"), np.ones(10, int), predictions,
                     resamples=20, clusters=clusters)  # fmt: skip
    assert not board_ranks(study).intervals.better.any()


def test_auc_like_metrics_need_positives(study_of):
    metric = PluginManager().metrics.resolve("roc_auc")
    truth = np.zeros(300, dtype=np.intp)
    truth[:2] = 1
    scores = RNG.normal(size=(6, 300))
    study = replace(study_of(metric, truth, scores, resamples=20), classes=("0", "1"))
    evidence = pairwise_evidence(study)
    assert evidence.rarest_class == 2
    m = len(evidence.standard_errors)
    assert evidence.degrees_of_freedom[np.triu_indices(m)].max() <= 1


@pytest.mark.parametrize(
    ("name", "units"), [("balanced_accuracy", 4), ("accuracy", 60), ("mcc", 60)]
)
def test_a_metric_that_subtracts_the_mean_of_each_class_has_the_units_of_the_rarest(
    study_of, name, units
):
    rng, truth = np.random.default_rng(0), np.repeat([0, 1, 2], [36, 20, 4])
    predictions = np.where(rng.random((5, 60)) < 0.6, truth, (truth + 1) % 3)
    predictions[:, -4:-2] = 0  # two of the four of the rarest class are wrong, and two right
    metric = PluginManager().metrics.resolve(name)
    study = replace(study_of(metric, truth, predictions, resamples=20), classes=("0", "1", "2"))
    evidence = pairwise_evidence(study)
    assert evidence.rarest_class == units
    if units < 10:
        assert evidence.degrees_of_freedom[np.triu_indices(5)].max() <= units - 1
    patients = np.arange(60) // 2  # the four rows are of two patients
    grouped = pairwise_evidence(replace(study, clusters=patients))
    assert grouped.rarest_class == (2 if units == 4 else 30)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("weights", "clusters", "units"),
    [
        (np.r_[np.ones(3), np.full(17, 0.001), np.ones(80)], None, 3),
        (None, np.r_[np.zeros(8), np.arange(1, 93)].astype(np.intp), 5),  # 20^2 / (8^2 + 12)
        (None, np.repeat(np.arange(50), 2), 10),
    ],
)
def test_rows_of_the_rarest_class_count_by_their_weights_and_groups(
    study_of, weights, clusters, units
):
    truth = np.repeat([1, 0], [20, 80])
    metric = PluginManager().metrics.resolve("roc_auc")
    if weights is not None:
        metric = replace(weighted(metric), weights=weights)
    study = study_of(metric, truth, RNG.normal(size=(4, 100)), resamples=20, clusters=clusters)
    study = replace(study, classes=("0", "1"))
    assert pairwise_evidence(study).rarest_class == units


# -- possible winners ------------------------------------------------------------------------------


def test_the_clear_leader_is_the_only_possible_winner():
    scores = np.array([0.9, 0.7, 0.71])
    resampled = scores[:, None] + 0.02 * np.random.default_rng(0).normal(size=(3, 1000))
    ranks = rank_intervals(scores, resampled)
    assert ranks.possible_winner.tolist() == [True, False, False]
    assert ranks.possible_top(1).tolist() == [True, False, False]
    assert ranks.possible_top(2).all()


@SETTINGS
@given(seeds)
def test_the_first_of_the_board_is_always_a_possible_winner(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=8)
    resampled = scores[:, None] + rng.normal(size=(8, 200))
    for n_units in (None, 10, 200):
        degrees = np.full((8, 8), 9.0)
        ranks = rank_intervals(scores, resampled, n_units=n_units, degrees_of_freedom=degrees)
        assert ranks.possible_winner[np.argmax(scores)]


def test_possible_winners_by_hand():
    # SE = 1, alpha = 0.5. The lead of the first is resampled as 0, 0.1, ..., 1.5 too large: c_1 is
    # 1.2, the 4th largest (0.5 / 2 * 17 = 4.25). A quarter of alpha leaves 2 of 17, the lead itself
    # included: one resample may lie between the lead and c_1. Its own test asks for a lead of 1.53.
    moved, errors = (
        np.array([0.1 * np.arange(16), np.zeros(16)]),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
    )
    for lead, possible in ((1.05, [True, True]), (1.15, [True, False]), (1.25, [True, False])):
        scores = np.array([lead, 0.0])
        ranks = rank_intervals(scores, scores[:, None] + moved, 0.5, standard_errors=errors)
        assert ranks.possible_winner.tolist() == possible
        assert ranks.better.any() == (not possible[1])


def test_of_few_resamples_a_lead_over_one_excludes_it_at_a_share_of_the_level():
    # 20 resamples are too few for a quantile. Half of 0.05 is for all pairs: 0.025 / 6, or 2.638.
    # Another quarter is for the two leads: one has (0.0125 + 0.025 / 6) / 2, or 2.394.
    resampled = 0.7 * np.random.default_rng(0).normal(size=(3, 20))
    for lead, possible, better in ((2.38, 3, 0), (2.41, 2, 0), (2.62, 2, 0), (2.65, 2, 1)):
        scores = np.array([lead, lead - 0.5, 0.0])
        errors = 1 - np.eye(3)
        ranks = rank_intervals(scores, scores[:, None] + resampled, standard_errors=errors)
        assert (ranks.possible_winner.sum(), ranks.better.sum()) == (possible, better), lead


def test_the_leader_is_shown_by_its_own_test():
    # Three submissions in the mass of 28 others: its lead is clear of each, not of the largest.
    scores, errors = np.r_[2.7, np.zeros(29)], np.sqrt(2) * (1 - np.eye(30))
    resampled = np.random.default_rng(0).normal(size=(30, 1000)) + scores[:, None]
    for lead, alone in ((2.4 * np.sqrt(2), False), (2.6 * np.sqrt(2), True)):
        scores[0] = lead  # the two-sided quantile at 0.05 / 4 is 2.498
        options = {"standard_errors": errors.copy()}
        ranks = rank_intervals(scores, resampled, **options)
        assert (ranks.possible_winner.sum() == 1) == alone
        assert (ranks.high[0] == 1) == alone
        assert ranks.better[0].sum() == 29 * alone
        everyone = rank_intervals(scores, resampled, **options, all_pairs=True)
        assert everyone.possible_winner.all()
    scores[1] = scores[0]  # two equal leaders
    assert rank_intervals(scores, resampled, **options).possible_winner[:2].all()


@pytest.mark.slow
@SETTINGS
@given(seeds)
def test_the_compiled_leads_have_the_bits_of_the_numpy_form(seed):
    rng = np.random.default_rng(seed)
    errors, precisions = rng.normal(size=(9, 30)), rng.random((9, 9))
    precisions += precisions.T
    np.fill_diagonal(precisions, 0)
    rows, others = np.array([0, 3, 8]), np.array([0, 1, 2, 5, 8])
    plain = dict(largest_leads(errors, precisions, rows, others))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arena_ranking.max_statistics.COMPILE_ABOVE", 0)
        patch.setattr("arena_ranking.max_statistics.TILE", 2)
        compiled = dict(largest_leads(errors, precisions, rows, others, workers=2))
    assert plain.keys() == compiled.keys()
    for j, leads in plain.items():
        np.testing.assert_array_equal(leads, compiled[j])


@SETTINGS
@given(seeds, st.floats(0.1, 4))
def test_leads_that_count_are_exact_and_others_no_larger(seed, least):
    rng = np.random.default_rng(seed)
    errors, precisions = rng.normal(size=(9, 30)), rng.random((9, 9))
    precisions += precisions.T
    np.fill_diagonal(precisions, 0)
    rows, others = np.array([0, 3, 8]), np.arange(9)
    whole = dict(largest_leads(errors, precisions, rows, others))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arena_ranking.max_statistics.COMPILE_ABOVE", 0)
        some = dict(largest_leads(errors, precisions, rows, others, least=np.full(3, least)))
    for j, leads in whole.items():
        counts = leads >= least
        np.testing.assert_array_equal(some[j][counts], leads[counts])
        assert (some[j] <= leads).all()


@pytest.mark.parametrize("n_units", [30, 400])
def test_pairs_are_decided_as_by_the_values_of_all_of_them(n_units):
    """Bounds of the values save time and change nothing, on either side of a critical value."""
    rng = np.random.default_rng(0)
    m = 60
    scores = rng.normal(size=m)
    precisions = np.triu(rng.uniform(0.5, 4, size=(m, m)), k=1)
    precisions += precisions.T
    degrees = np.triu(rng.choice([0.4, 0.7, 3, 20, 500, np.inf], size=(m, m)), k=1)
    skewness = np.triu(rng.normal(scale=0.2, size=(m, m)), k=1)
    leads = Leads(
        scores, scores, precisions, degrees + degrees.T, skewness - skewness.T, n_units < 50
    )
    j, k = np.nonzero(scores[:, None] > scores)
    values = np.zeros((m, m))
    values[j, k] = leads.values(j, k)
    for critical in (0.1, 1.5, *values[values > 0][:20], 12.0):
        for workers in (1, 2):
            decided = leads.decided(precisions > 0, critical, workers)
            np.testing.assert_array_equal(decided, values > critical)
    columns = np.array([0, 5, 59, int(scores.argmax())])
    np.testing.assert_array_equal(leads.largest_over(columns), values[:, columns].max(axis=0))


@SETTINGS
@given(st.floats(0.01, 60), st.floats(0.51, 1e6))
def test_bounds_enclose_the_normal_equivalents(statistic, df):
    statistics, degrees = np.array([statistic]), np.array([df])
    low, high = normal_bounds(statistics, degrees)
    value = normal_equivalents(statistics, degrees)
    assert low * (1 - 1e-12) <= value <= high * (1 + 1e-12)


@pytest.mark.slow
def test_possible_winners_of_a_large_board_are_those_compared_with_all():
    """A first comparison with fifty submissions saves time and changes nothing."""
    rng = np.random.default_rng(0)
    true = np.concatenate([np.zeros(60), rng.normal(-1.5, 1, 60)])
    moved = rng.normal(size=(120, 300))
    scores = true + 0.7 * rng.normal(size=120)
    intervals = rank_intervals(scores, scores[:, None] + 0.7 * moved, 0.9).possible_winner
    deviations = 0.7 * np.sqrt([[np.var(a - b, ddof=1) for a in moved] for b in moved])
    np.fill_diagonal(deviations, np.inf)
    pairs = [
        (0.7 * (moved - mean) / deviation[:, None])
        for mean, deviation in zip(moved, deviations, strict=True)
    ]
    first = np.sort(np.max(pairs, axis=(0, 1)))[-15]  # 0.1 / 2 * 301 = 15.05
    for j, possible in enumerate(intervals):
        leads = (scores - scores[j]) / deviations[j]
        largest = (0.7 * (moved - moved[j]) / deviations[j][:, None]).max(axis=0)
        exceed = np.sum((largest >= leads.max()) & (largest <= first))
        assert possible == (leads.max() <= 0 or 1 + exceed > 0.1 / 4 * 301)
    assert 10 < intervals.sum() < 110


# -- candidates ------------------------------------------------------------------------------------


def test_candidates_enter_the_family(study_of, metrics, correlated_labels):
    truth, predictions = correlated_labels(np.random.default_rng(3), np.full(12, 0.8), 400)
    study = study_of(metrics["accuracy"], truth, predictions)
    best = int(np.argmax(study.scores[:10]))
    counting = np.array([best, 10, 11])
    own = study_of(metrics["accuracy"], truth, predictions[counting])
    team = np.array([0] * 10 + [1, 2])
    candidates = Candidates(study.scores, study.resampled, study.predictions, counting, team)
    alone, among = board_ranks(own), board_ranks(replace(own, candidates=candidates))
    assert (alone.comparisons, among.comparisons) == (6, 132)
    assert among.intervals.critical_value > alone.intervals.critical_value
    assert (among.intervals.better <= alone.intervals.better).all()
    assert among.intervals.low.shape == (3,)
    document = Ranks().run(replace(own, candidates=candidates), RNG).document
    assert document["comparisons"] == 132
    assert document["effective_units"] > 100


def test_of_very_many_candidates_only_the_counting_ones_are_compared(
    study_of, metrics, correlated_labels, monkeypatch
):
    accuracies = np.array([0.8] * 11 + [0.3])
    truth, predictions = correlated_labels(np.random.default_rng(3), accuracies, 400)
    study = study_of(metrics["accuracy"], truth, predictions)
    counting = np.array([int(np.argmax(study.scores[:10])), 10, 11])
    own = study_of(metrics["accuracy"], truth, predictions[counting])
    team = np.array([0] * 10 + [1, 2])
    own = replace(
        own,
        candidates=Candidates(study.scores, study.resampled, study.predictions, counting, team),
    )
    among = board_ranks(own)
    monkeypatch.setattr("arena_ranking.board_ranks.MOST_CANDIDATES", 11)
    ranks = board_ranks(own)
    assert ranks.comparisons == among.comparisons == 132
    intervals = ranks.intervals
    assert intervals.low.tolist() == [1, 1, 3]
    assert intervals.possible_winner.tolist() == [True, True, False]
    # Two of the 132 pairs are decided in the first round, and nothing in the second.
    assert intervals.rounds == 2
    assert intervals.critical_value == pytest.approx(-ndtri(0.05 / 130))
    assert intervals.critical_value > among.intervals.critical_value


def test_a_family_has_at_least_the_pairs_that_are_compared():
    resampled = np.random.default_rng(0).normal(size=(3, 50))
    with pytest.raises(UsageError, match="at least the pairs"):
        rank_intervals(np.arange(3.0), resampled, comparisons=5)


def test_ranks_that_rest_on_rare_large_errors_are_withheld(study_of, metrics):
    rng = np.random.default_rng(0)
    losses = rng.uniform(0.5, 1.5, (10, 200))
    losses[1::2] = np.where(rng.random((5, 200)) < 0.02, 50.0, 0.0)
    study = study_of(metrics["rmse"], np.zeros(200), np.sqrt(losses), resamples=50)
    sets = board_ranks(study)
    finding = Ranks().run(replace(study, ranks=sets), RNG)
    assert finding.verdict == f"Rank intervals are withheld. {sets.not_offered}"
    assert all(values == [None] * 10 for values in sets.columns().values())


@pytest.mark.parametrize(
    ("name", "matrix"), [("degrees_of_freedom", np.ones((3, 3))), ("skewness", np.ones((1, 1)))]
)
def test_matrices_of_another_shape_are_refused(name, matrix):
    with pytest.raises(UsageError, match="one row and one column"):
        rank_intervals(np.ones(2), np.ones((2, 5)), **{name: matrix})


def test_two_resamples_are_enough_and_one_is_not():
    scores, resampled = np.array([1.0, 0.0]), np.array([[1.0, 1.1], [0.0, 0.0]])
    assert rank_intervals(scores, resampled).better.shape == (2, 2)
    with pytest.raises(UsageError, match="at least two resamples"):
        rank_intervals(scores, resampled[:, :1])


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1])
def test_levels_at_the_ends_are_refused(level):
    from arena_ranking.challenger import kendall_tau, significance_map
    from arena_ranking.challenger.frequencies import rank_frequencies

    calls = (
        lambda: rank_intervals(np.array([1.0, 0.0]), np.ones((2, 5)), level),
        lambda: kendall_tau([[1, 2], [2, 1]], [1, 2], level),
        lambda: significance_map(np.ones((2, 5)), level),
        lambda: rank_frequencies(np.array([[1, 2], [2, 1]]), level),
    )
    for call in calls:
        with pytest.raises(UsageError, match="level must be between 0 and 1"):
            call()


def test_halves_of_a_matrix_follow_the_submissions():
    values = np.random.default_rng(2).exponential(size=(9, 40))
    values -= values.mean(axis=1, keepdims=True)
    whole, positions = difference_shapes(values), np.array([5, 2, 2, 8, 0])
    j, k = np.indices((5, 5))
    part, first, second = whole.subset(positions), positions[j], positions[k]
    degrees, skewness = whole.degrees_of_freedom, whole.skewness
    assert (part.degrees_of_freedom[j, k] == degrees[first, second]).all()
    assert (part.skewness[j, k] == skewness[first, second]).all()
    assert (skewness[first, second] == -skewness[second, first]).all()
    limited = part.limited(10)
    assert (limited.degrees_of_freedom[j, k] == np.minimum(degrees[first, second], 10)).all()
    assert (limited.skewness[j, k] == skewness[first, second]).all()


# -- what used to be claimed, or missed ------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["roc_auc", "gini", "mcc", "balanced_accuracy", "quadratic_weighted_kappa", "f1",
     "concordance_index", "accuracy"],
)  # fmt: skip
def test_a_perfect_submission_beats_a_constant_one(study_of, name):
    """No single row changes either score, so that neither has a standard error."""
    metric = PluginManager().metrics.resolve(name)
    for n, tiers in ((400, [1, 2]), (8, [1, 1])):
        truth = np.arange(n) % 2
        scores = np.array([truth, np.zeros(n)])
        predictions = scores if name in ("roc_auc", "gini") else scores.astype(int)
        study = replace(study_of(metric, truth, predictions, resamples=50), classes=("a", "b"))
        assert board_ranks(study).tier.tolist() == tiers


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_handful_of_cases_decides_nothing(study_of, n):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.choice([0.1, 0.5, 0.9], (4, n)) + 0.001 * rng.random((4, n))
        sets = board_ranks(study_of(MeanOfCases("mean", True), np.zeros(n), values, resamples=50))
        assert sets.possible_winner.all()


@pytest.mark.slow
@pytest.mark.parametrize(("n", "most"), [(50, 0), (40, 5)])
def test_ranks_are_withheld_where_half_of_the_teams_fail_rarely_and_completely(study_of, n, most):
    """Dice of equal true means; a sample of 40 without these failures cannot be told (.13)."""
    offered = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        odd = (np.arange(10) % 2 == 1)[:, None]
        noise = np.sqrt(0.7) * rng.normal(size=n) + np.sqrt(0.3) * rng.normal(size=(10, n))
        dice = np.clip(np.where(odd, 0.9, 0.882) + 0.03 * noise, 0, 1)
        dice[(rng.random((10, n)) < 0.02) & odd] = 0
        study = study_of(MeanOfCases("dice", True, (0.0, 1.0)), np.zeros(n), dice, resamples=50)
        offered += board_ranks(study).not_offered is None
    assert offered <= most
