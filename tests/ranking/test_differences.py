"""Standard errors of differences, fingerprints, near-duplicates."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from arena.errors import UsageError
from arena.evaluation.case_metrics import MeanOfCases
from arena.evaluation.combination_parts import Combination
from arena.evaluation.combinations import combined_metric
from arena.evaluation.score_intervals import interval_ends, score_errors
from arena.types import RowContext
from arena.utils.tabular import as_json
from arena_ranking import fingerprints
from arena_ranking.combined_ranks import bounds_of_part, ranks_of_parts
from arena_ranking.differences import (
    floor_standard_errors,
    standard_errors_from_resamples,
    standard_errors_from_values,
    sum_by_unit,
)
from arena_ranking.evidence import pairwise_evidence
from arena_ranking.fingerprints import count_differing, first_identical, row_fingerprints
from arena_ranking.near_duplicates import near_duplicates
from kept import check_kept_document
from thinned import examples

SETTINGS = settings(max_examples=examples(25))
seeds = st.integers(0, 2**32 - 1)


def centred(values):
    return values - values.mean(axis=1, keepdims=True)


@SETTINGS
@given(seeds, st.integers(1, 12), st.integers(2, 40))
def test_from_row_values_it_is_the_paired_standard_error(seed, m, n):
    values = np.random.default_rng(seed).random((m, n))
    errors = standard_errors_from_values(centred(values))
    for j in range(m):
        for k in range(m):
            expected = np.std(values[j] - values[k], ddof=1) / np.sqrt(n)
            assert errors[j, k] == pytest.approx(expected, rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("noise", [1e-3, 1e-6, 1e-9, 1e-12])
def test_nearly_equal_vectors_do_not_cancel(noise):
    rng = np.random.default_rng(0)
    base = rng.normal(size=300)
    values = centred(np.stack([base, base + noise * rng.normal(size=300), rng.normal(size=300)]))
    expected = np.std(values[0] - values[1], ddof=1) / np.sqrt(300)
    assert standard_errors_from_values(values)[0, 1] == pytest.approx(expected, rel=1e-9)
    errors = standard_errors_from_values(values[[0, 2, 1]])
    assert errors[0, 2] == pytest.approx(expected, rel=1e-9)


def test_many_blocks_and_workers_give_the_bits_of_one():
    values = centred(np.random.default_rng(0).random((600, 50)))
    by_one, by_two = (standard_errors_from_values(values, workers=workers) for workers in (1, 2))
    np.testing.assert_array_equal(by_one, by_two)
    np.testing.assert_array_equal(by_one, by_one.T)
    j, k = 3, 599
    assert by_one[j, k] == pytest.approx(np.std(values[j] - values[k], ddof=1) / np.sqrt(50))


def test_whole_clusters_count_as_one_unit():
    # Each row ten times over, clustered, knows no more than the rows once.
    values = centred(np.random.default_rng(0).random((3, 30)))
    often, units = np.repeat(values, 10, axis=1), np.repeat(np.arange(30), 10)
    clustered = standard_errors_from_values(sum_by_unit(often, units), 300)
    np.testing.assert_allclose(clustered, standard_errors_from_values(values))
    shuffled = np.random.default_rng(1).permutation(300)
    again = sum_by_unit(often[:, shuffled], units[shuffled])
    np.testing.assert_allclose(standard_errors_from_values(again, 300), clustered)


def test_from_resamples_it_is_the_standard_deviation_of_the_difference():
    resampled = np.random.default_rng(0).random((5, 40))
    errors = standard_errors_from_resamples(resampled)
    assert errors[1, 3] == pytest.approx(np.std(resampled[1] - resampled[3], ddof=1))
    assert errors[2, 2] == 0


def test_one_unit_has_no_standard_error():
    assert not standard_errors_from_values(np.ones((3, 1))).any()


def test_what_does_not_fit_is_refused():
    with pytest.raises(UsageError, match="at least two resamples"):
        standard_errors_from_resamples(np.ones((2, 1)))
    with pytest.raises(UsageError, match="finite numbers"):
        standard_errors_from_values(np.array([[np.nan, 1.0]]))


@pytest.mark.parametrize("n", [100, 1000, 20_000])
@pytest.mark.parametrize("differing", [1, 4, 9])
def test_the_floor_for_accuracy_is_that_of_ten_rows(n, differing):
    right = (np.random.default_rng(0).random((2, n)) < 0.8).astype(float)
    right[1] = right[0]
    wrong = np.flatnonzero(right[0] == 0)[:differing]
    right[1, wrong] = 1
    counts = count_differing(row_fingerprints(right))
    errors = floor_standard_errors(
        standard_errors_from_values(centred(right)), counts, right.mean(axis=1)
    )
    assert counts[0, 1] == differing
    assert errors[0, 1] == pytest.approx(np.sqrt(10) / n, rel=0.05)


def test_ten_rows_and_more_are_left_alone_and_noise_is_tied():
    errors = np.array([[0, 0.1, 1e-13], [0.1, 0, 0.2], [1e-13, 0.2, 0]])
    differing = np.array([[0, 10, 99], [10, 0, 0], [99, 0, 0]], dtype=np.uint8)
    floored = floor_standard_errors(errors, differing, np.array([0.5, 0.6, 0.5]))
    assert floored.tolist() == [[0, 0.1, 0], [0.1, 0, 0], [0, 0, 0]]


def test_noise_is_relative_to_the_scores_of_the_pair():
    errors = np.array([[0, 1e-11, 1.0], [1e-11, 0, 1.0], [1.0, 1.0, 0]])
    differing = np.full((3, 3), 2, dtype=np.uint8)
    floored = floor_standard_errors(errors, differing, np.array([0.5, 0.6, 1e10]), n_units=2)
    assert floored[0].tolist() == [0, 0, 0]
    floored = floor_standard_errors(errors * 1e3, differing, np.array([0.5, 0.6, 1e10]), n_units=2)
    assert floored[0].tolist() == [0, 1e-8, 1000]


@SETTINGS
@given(seeds, st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_]))
def test_up_to_256_rows_the_count_is_exact(seed, dtype):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 257))
    values = rng.integers(0, 2 if dtype is np.bool_ else 3, (5, n)).astype(dtype)
    expected = (values[:, None, :] != values).sum(axis=2)
    counts = count_differing(row_fingerprints(values))
    np.testing.assert_array_equal(counts, np.minimum(expected, 255))


@SETTINGS
@given(seeds)
def test_on_many_rows_it_is_a_lower_bound_and_near_for_a_few(seed):
    rng = np.random.default_rng(seed)
    values = np.tile(rng.random(5000), (20, 1))
    differing = np.arange(20)
    for value, count in zip(values, differing, strict=True):
        value[rng.choice(5000, count, replace=False)] += 1e-12
    counts = count_differing(row_fingerprints(values))[0]
    assert (counts <= differing).all()
    assert counts[1] == 1
    assert (differing - counts <= 6).all()


def test_several_columns_and_clusters_count_rows_and_clusters():
    values = np.zeros((3, 6, 2))
    values[1, 4, 0] = values[1, 4, 1] = 1.0
    values[2, 0, 1] = values[2, 5, 1] = 1.0
    assert count_differing(row_fingerprints(values))[0].tolist() == [0, 1, 2]
    units = np.array([7, 0, 0, 1, 1, 7])
    assert count_differing(row_fingerprints(values, units))[0].tolist() == [0, 1, 1]


def test_the_sign_of_zero_and_the_order_of_rows():
    assert first_identical(row_fingerprints(np.array([[0.0, 1.0], [-0.0, 1.0]]))).tolist() == [0, 0]
    swapped = np.array([[1.0, 2.0, 2.0], [2.0, 1.0, 2.0], [1.0, 2.0, 2.0]])
    assert first_identical(row_fingerprints(swapped)).tolist() == [0, 1, 0]


def test_near_duplicates_by_hand():
    # s = 1: correlation 0.99 means SE**2 = 2 (1 - 0.99) = 0.02.
    errors = np.full((5, 5), 1.0)
    for j, k, squared in [(0, 1, 0.0199), (1, 2, 0.0199), (3, 4, 0.0201)]:
        errors[j, k] = errors[k, j] = np.sqrt(squared)
    differing = np.full((5, 5), 100, dtype=np.uint8)
    assert [g.tolist() for g in near_duplicates(errors, np.ones(5), differing, 10_000)] == [
        [0, 1, 2]
    ]
    differing[0, 4] = differing[4, 0] = 9
    groups = near_duplicates(errors, np.ones(5), differing, 10_000)
    assert [g.tolist() for g in groups] == [[0, 1, 2, 4]]
    assert [g.tolist() for g in near_duplicates(errors, np.ones(5), differing, 800)] == [[0, 1, 2]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "source"),
    [("accuracy", "row values"), ("rmse", "row values"), ("black_box", "resampled scores")],
)
def test_evidence_takes_the_best_source_of_a_metric(
    study_of, metrics, correlated_labels, name, source
):
    truth, predictions = correlated_labels(np.random.default_rng(0), np.full(6, 0.8), 400)
    study = study_of(metrics[name], truth, predictions, resamples=2000)
    evidence = pairwise_evidence(study)
    assert evidence.source == source
    sampled = standard_errors_from_resamples(study.resampled)
    pairs = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(evidence.standard_errors[pairs], sampled[pairs], rtol=0.12)
    np.testing.assert_allclose(evidence.deviations, study.resampled.std(axis=1), rtol=0.12)


def test_near_duplicates_differ_on_few_rows_or_have_a_correlation_of_99_percent():
    far, close, closer = (np.sqrt(2 * (1 - correlation)) for correlation in (0, 0.9899, 0.9901))
    for n_rows, n_units, error, deviation, near in (
        (9, 10_000, far, 1.0, True),
        (10, 10_000, far, 1.0, False),
        (8, 801, far, 1.0, True),
        (8, 800, far, 1.0, False),
        (0, 50, far, 1.0, True),
        (1, 50, far, 1.0, False),
        (99, 10_000, close, 1.0, False),
        (99, 10_000, closer, 1.0, True),
        (99, 10_000, 0.0, 0.0, False),  # values that do not vary have no correlation
    ):
        errors = np.array([[0.0, error], [error, 0.0]])
        differing = np.array([[0, n_rows], [n_rows, 0]], dtype=np.uint8)
        groups = near_duplicates(errors, np.full(2, deviation), differing, n_units)
        assert [group.tolist() for group in groups] == [[0, 1]] * near, (n_rows, n_units, error)


def test_bounds_of_the_worst_part_hold_for_all_submissions_and_upper_ones_for_all_parts(
    study_of, metrics, correlated_labels
):
    """Bonferroni: 0.0125 is shared by 3 lower bounds, and by 6 upper bounds, 3 of each part."""
    truth, predictions = correlated_labels(np.random.default_rng(0), [0.7, 0.8, 0.9], 200)
    for name in ("accuracy", "rmse"):
        part = study_of(metrics[name], truth, predictions)
        low, high = bounds_of_part(part, 0.0125, 2)
        below, above = stats.norm.isf(0.0125 / 3), stats.norm.isf(0.0125 / 6)
        errors = score_errors(part)
        if name == "accuracy":
            expected = interval_ends(errors, below, above)
        else:  # smaller is better: the negative upper end is the lower bound
            ends = interval_ends(errors, above, below)
            expected = -ends[1], -ends[0]
        np.testing.assert_allclose((low, high), expected)


def test_parts_that_decide_every_pair_decide_the_board(study_of):
    share = MeanOfCases("mean", greater_is_better=True, value_range=(0.0, 1.0))
    codes = np.repeat([0, 1], 60)
    means = np.array([[0.7, 0.8], [0.5, 0.6], [0.3, 0.2]])
    values = means[:, codes] + 0.02 * np.random.default_rng(0).normal(size=(3, 120))
    parts = tuple(study_of(share, np.zeros(60), values[:, codes == task]) for task in (0, 1))
    context = RowContext("id", codes, ("y",), ("y",), tasks=codes, task_names=("A", "B"))
    for how in ("mean_rank", "worst"):
        metric = combined_metric({"mean": share}, Combination(how), by_task=True)
        study = study_of(metric.for_rows(context), np.zeros(120), values)
        ranks = ranks_of_parts(replace(study, parts=parts))
        assert (ranks.low.tolist(), ranks.high.tolist()) == ([1, 2, 3], [1, 2, 3])
        assert ranks.possible_winner.tolist() == [True, False, False]
        if how == "mean_rank":  # every pair is decided in both parts
            assert ranks.score_low.tolist() == ranks.score_high.tolist() == [1, 2, 3]
        else:
            worst = np.array([0.7, 0.5, 0.2])
            assert ((ranks.score_low < worst) & (worst < ranks.score_high)).all()


def test_ranks_of_parts_are_kept(study_of):
    """Of teams that some parts decide, for gains and for losses, and of one with several files."""
    codes, documents = np.repeat([0, 1], 40), {}
    means = np.array([[0.7, 0.75], [0.62, 0.6], [0.6, 0.35], [0.3, 0.5]])
    values = means[:, codes] + 0.12 * np.random.default_rng(3).normal(size=(4, 80))
    context = RowContext("id", codes, ("y",), ("y",), tasks=codes, task_names=("A", "B"))
    for name, sign in (("gains", 1), ("losses", -1)):
        share = MeanOfCases("mean", greater_is_better=sign == 1)
        signed_values = sign * values
        parts = tuple(
            study_of(share, np.zeros(40), signed_values[:, codes == task]) for task in (0, 1)
        )
        for how in ("mean_rank", "worst"):
            metric = combined_metric({"mean": share}, Combination(how), by_task=True)
            study = study_of(metric.for_rows(context), np.zeros(80), signed_values)
            ranks = ranks_of_parts(replace(study, parts=parts, level=0.9))
            documents[f"{how} of {name}"] = as_json(asdict(ranks))
    check_kept_document("ranking-parts", documents)


def test_deviations_of_means_are_their_standard_errors(study_of, metrics, correlated_labels):
    truth, predictions = correlated_labels(np.random.default_rng(0), np.full(3, 0.8), 8)
    right = predictions == truth
    evidence = pairwise_evidence(study_of(metrics["accuracy"], truth, predictions))
    np.testing.assert_allclose(evidence.deviations, right.std(axis=1, ddof=1) / np.sqrt(8))


def test_evidence_counts_clusters(study_of, metrics, correlated_labels):
    truth, predictions = correlated_labels(np.random.default_rng(0), np.full(4, 0.8), 60)
    clusters = np.repeat(np.arange(60), 8) * 3  # codes need not be dense
    truth, predictions = np.repeat(truth, 8), np.repeat(predictions, 8, axis=1)
    study = study_of(metrics["accuracy"], truth, predictions, clusters=clusters // 3)
    clustered = pairwise_evidence(study)
    rows = pairwise_evidence(study_of(metrics["accuracy"], truth, predictions))
    assert (clustered.n_units, rows.n_units) == (60, 480)
    pairs = ~np.eye(4, dtype=bool)
    ratio = clustered.standard_errors[pairs] / rows.standard_errors[pairs]
    np.testing.assert_allclose(ratio, np.sqrt(8), rtol=0.02)
    assert (clustered.differing[pairs] < rows.differing[pairs]).all()


def test_evidence_too_large_for_row_values_comes_from_resamples(
    study_of, metrics, correlated_labels, monkeypatch
):
    truth, predictions = correlated_labels(np.random.default_rng(0), np.full(6, 0.8), 400)
    predictions[4] = predictions[1]
    study = study_of(metrics["accuracy"], truth, predictions, resamples=500)
    whole = pairwise_evidence(study)
    monkeypatch.setattr("arena_ranking.evidence.MOST_VALUES", 1)
    large = pairwise_evidence(study)
    assert large.source == "resampled scores"
    np.testing.assert_array_equal(large.differing, whole.differing)
    assert large.first_identical.tolist() == [0, 1, 2, 3, 1, 5]
    assert large.standard_errors[1, 4] == 0
    np.testing.assert_array_equal(large.standard_errors[1], large.standard_errors[4])


def test_a_perfect_submission_under_a_square_root(study_of, metrics):
    truth = np.random.default_rng(0).normal(size=50)
    predictions = np.stack([truth, truth + 0.1, truth + np.random.default_rng(1).normal(size=50)])
    evidence = pairwise_evidence(study_of(metrics["rmse"], truth, predictions))
    assert np.isfinite(evidence.standard_errors).all()


def test_two_resamples_give_standard_errors():
    standard_errors = standard_errors_from_resamples(np.array([[1.0, 3.0], [1.0, 1.0]]))
    assert standard_errors == pytest.approx(np.array([[0, 2], [2, 0]]) / np.sqrt(2))


@pytest.mark.parametrize("m", [13, pytest.param(150, marks=pytest.mark.slow)])
def test_the_compiled_count_is_that_of_numpy(m, monkeypatch):
    """Few submissions are counted by the source of the loop, which also counts in tiles."""
    if m < 100:
        monkeypatch.setattr(fingerprints, "compiled", lambda function: function)
        monkeypatch.setattr(fingerprints, "_TILE", 4)
    values = np.random.default_rng(0).integers(0, 3, (m, 300)).astype(float)
    values[1] = values[0]
    values[2, 5:] = values[0, 5:]
    hashes = row_fingerprints(values)
    expected = count_differing(hashes)
    monkeypatch.setattr(fingerprints, "COMPILE_ABOVE", 0)
    for workers in (1, 2):
        np.testing.assert_array_equal(count_differing(hashes, workers=workers), expected)
