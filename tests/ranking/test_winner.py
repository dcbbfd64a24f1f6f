"""The corrected best score: folds, ties, undefined folds, directions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import UsageError
from arena.held_out import held_out_folds
from arena.winner import corrected_best, corrected_best_score

SETTINGS = settings(deadline=None, max_examples=25, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


def means(values):
    """Scores under weights of a pointwise metric with these ``(m, n)`` row values."""

    def score_under(weights, submissions):
        return values[submissions] @ weights.astype(float) / weights.sum(axis=0)

    return score_under


def correct(values, held, folds, *, greater_is_better=True, score_under=None, seed=0):
    n = values.shape[1]
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=100).T
    return corrected_best_score(
        values.mean(axis=1),
        means(values)(drawn, np.arange(len(values))),
        score_under or means(values),
        held,
        folds,
        greater_is_better=greater_is_better,
    )


@SETTINGS
@given(seeds, st.integers(2, 60), st.integers(2, 7))
def test_every_partition_holds_each_row_once_in_folds_of_one_size(seed, n, folds):
    held = held_out_folds(n, np.random.default_rng(seed), partitions=4, folds=folds)
    folds = min(folds, n)
    assert held.shape == (n, 4 * folds)
    assert (held.reshape(n, 4, folds).sum(axis=2) == 1).all()
    assert np.ptp(held.sum(axis=0)) <= 1


@SETTINGS
@given(seeds)
def test_classes_are_spread_evenly_over_the_folds(seed):
    rng = np.random.default_rng(seed)
    strata = rng.integers(0, 3, 50)
    held = held_out_folds(50, rng, partitions=3, folds=5, strata=strata)
    for code in range(3):
        assert np.ptp(held[strata == code].sum(axis=0)) <= 1
    assert np.ptp(held.sum(axis=0)) <= 1


@SETTINGS
@given(seeds)
def test_clusters_stay_whole_and_the_rare_class_is_spread(seed):
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, 20, 200)
    rare = np.isin(clusters, np.unique(clusters)[:5]) & (np.arange(200) % 3 == 0)
    held = held_out_folds(200, rng, 3, 5, strata=rare.astype(int), clusters=clusters)
    for code in np.unique(clusters):
        assert (held[clusters == code] == held[clusters == code][0]).all()
    holding = len(np.unique(clusters[rare]))
    for column in held.T:
        spread = len(np.unique(clusters[rare & column]))
        assert abs(spread - holding / 5) < 1


def test_partitions_differ_and_the_seed_decides():
    held = [held_out_folds(30, np.random.default_rng(seed), 2) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(held[0], held[1])
    assert (held[0] != held[2]).any()
    assert (held[0][:, :5] != held[0][:, 5:]).any()


@pytest.mark.parametrize("numbers", [(0, 1, 2), (5, 0, 2), (5, 1, 1)])
def test_numbers_that_make_no_partition_are_refused(numbers):
    with pytest.raises(UsageError, match="at least one row"):
        held_out_folds(numbers[0], np.random.default_rng(0), numbers[1], numbers[2])


def test_the_estimate_by_hand():
    # Two folds of two rows. Rows 2, 3 choose a (1.0 to 0.5), which scores 0.5 on rows 0, 1;
    # rows 0, 1 choose b (1.0 to 0.5), which scores 0.5 on rows 2, 3. Mean: 0.5; observed: 0.75.
    values = np.array([[1.0, 0, 1, 1], [1, 1, 1, 0]])
    held = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=bool)
    best = correct(values, held, 2)
    assert (best.estimate, best.observed) == (0.5, 0.75)
    assert best.selected.tolist() == [0.5, 0.5]


def test_folds_count_by_their_rows():
    values = np.array([[1.0, 0, 0], [0, 0, 1]])
    held = np.array([[1, 0], [0, 1], [0, 1]], dtype=bool)
    # Rows 1, 2 choose the second, 0 on row 0 (weight 1/3); row 0 the first, 0 on rows 1, 2.
    assert correct(values, held, 2).estimate == 0.0
    values[1, 0], values[0, 2] = 0.5, 0.5
    # Now 0.5 on row 0 with weight 1/3, and 0.25 on rows 1, 2 with weight 2/3.
    assert correct(values, held, 2).estimate == pytest.approx(1 / 3, abs=1e-12)


def test_ties_for_the_win_count_by_their_mean():
    values = np.array([[1.0, 1, 1, 0], [0, 1, 1, 1], [0, 0, 0, 0]])
    held = np.array([[1, 0], [0, 1], [0, 1], [0, 1]], dtype=bool)
    best = correct(values, held, 2)
    # Rows 1-3 choose the second: 0 on row 0. Row 0 chooses the first: 2/3 on rows 1-3.
    assert best.estimate == pytest.approx(0.5)
    held = np.array([[1, 0], [0, 1], [1, 0], [1, 0]], dtype=bool)
    # Row 1 alone: the first two tie, 2/3 on the others; rows 0, 2, 3: they tie again, 1 on row 1.
    best = correct(values, held, 2)
    assert best.estimate == pytest.approx(0.75 * 2 / 3 + 0.25)
    assert best.selected.tolist() == [0.5, 0.5, 0.0]


@SETTINGS
@given(seeds)
def test_a_loss_is_mirrored(seed):
    values = np.random.default_rng(seed).random((5, 30))
    held = held_out_folds(30, np.random.default_rng(seed), 3)
    score, loss = correct(values, held, 5), correct(-values, held, 5, greater_is_better=False)
    assert loss.estimate == pytest.approx(-score.estimate, rel=1e-11)
    assert (loss.low, loss.high) == pytest.approx((-score.high, -score.low), rel=1e-11)
    assert loss.observed == -score.observed
    np.testing.assert_array_equal(loss.selected, score.selected)


@SETTINGS
@given(seeds)
def test_the_order_of_the_submissions_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (6, 30)).astype(float)
    order = rng.permutation(6)
    held = held_out_folds(30, rng, 3)
    one, other = correct(values, held, 5), correct(values[order], held, 5)
    assert one.estimate == pytest.approx(other.estimate, rel=1e-11)
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-11)
    np.testing.assert_allclose(one.selected[order], other.selected)


def test_only_winners_are_scored_on_the_held_out_rows():
    values = np.random.default_rng(0).random((8, 40))
    values[0] += 1
    asked = []

    def score_under(weights, submissions):
        asked.append(submissions.tolist())
        return means(values)(weights, submissions)

    held = held_out_folds(40, np.random.default_rng(0), 3)
    best = correct(values, held, 5, score_under=score_under)
    assert asked == [list(range(8)), [0]]
    assert best.estimate == pytest.approx(best.observed)


def test_one_submission_has_its_own_score():
    values = np.random.default_rng(0).random((1, 23))
    best = correct(values, held_out_folds(23, np.random.default_rng(0), 5), 5)
    assert best.estimate == pytest.approx(best.observed, abs=1e-12)
    assert best.low < best.observed < best.high


def test_a_score_that_is_no_mean_keeps_its_level():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=40)
    predictions = truth + rng.normal(size=(1, 40))

    def score_under(weights, submissions):
        weights = weights.astype(float)
        squared = ((predictions[submissions] - truth) ** 2) @ weights
        mean = truth @ weights / weights.sum(axis=0)
        spread = truth**2 @ weights - weights.sum(axis=0) * mean**2
        return 1 - squared / spread  # R2, much lower on few rows

    held = held_out_folds(40, rng, 50)
    score = score_under(np.ones((40, 1)), np.arange(1))[:, 0]
    best = corrected_best_score(
        score, np.tile(score, (2, 1)).T, score_under, held, 5, greater_is_better=True
    )
    assert score_under(held, np.arange(1)).mean() < score[0] - 0.01
    assert best.estimate == pytest.approx(score[0], rel=1e-11)


def test_folds_without_a_score_are_left_out_and_counted():
    values = np.array([[1.0, 0, 1, 1], [1, 1, 1, 0]])
    held = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=bool)

    def score_under(weights, submissions):
        scores = means(values)(weights, submissions)
        scores[:, weights[0] + weights[2] * 0 == 0] = np.nan  # undefined without the first row
        return scores

    # The complement of the first fold has no score, nor has the second fold itself.
    best = correct(values, held, 2, score_under=score_under)
    assert np.isnan(best.estimate)
    assert best.folds_left_out == 2

    def first_undefined(weights, submissions):
        scores = means(values)(weights, submissions)
        scores[(submissions == 0) & (weights.shape[1] == 2)] = np.nan
        return scores

    # A submission without a score cannot win; the second one does, everywhere.
    best = correct(values, held, 2, score_under=first_undefined)
    assert best.selected.tolist() == [0.0, 1.0]
    assert best.estimate == pytest.approx(0.75)


@pytest.mark.parametrize(("m", "estimate_exists"), [(1, True), (3, False)])
def test_a_single_row_leaves_nothing_to_choose_on(m, estimate_exists):
    held = held_out_folds(1, np.random.default_rng(0), 4)
    best = correct(np.arange(1.0, m + 1)[:, None], held, held.shape[1] // 4)
    assert np.isfinite(best.estimate) == estimate_exists


def test_fewer_rows_than_folds():
    held = held_out_folds(3, np.random.default_rng(0), 4)
    best = correct(np.array([[1.0, 0, 1], [0, 1, 1]]), held, held.shape[1] // 4)
    assert held.shape == (3, 12)
    assert 0 <= best.estimate <= 2 / 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": np.array([])}, "at least one submission"),
        ({"scores": np.array([np.nan, 1.0])}, "all finite"),
        ({"resampled": np.ones((3, 4))}, "one row per submission"),
        ({"folds": 3}, "whole partitions"),
        ({"level": 0.0}, "between 0 and 1"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    arguments = {
        "scores": np.ones(2),
        "resampled": np.ones((2, 4)),
        "held_out": np.eye(4, dtype=bool),
        "folds": 2,
        "level": 0.9,
    } | change
    with pytest.raises(UsageError, match=message):
        corrected_best_score(
            score_under=means(np.ones((2, 4))), greater_is_better=True, **arguments
        )


@pytest.mark.parametrize("name", ["accuracy", "opaque"])
def test_a_study_is_corrected_the_same_on_any_workers(study_of, metrics, correlated_labels, name):
    truth, predictions = correlated_labels(np.random.default_rng(0), np.full(12, 0.8), 150)
    study = study_of(metrics[name], truth, predictions, resamples=50)
    results = [
        corrected_best(study, np.random.default_rng(1), partitions=4, workers=workers)
        for workers in (1, 2)
    ]
    assert results[0].estimate == results[1].estimate
    best = results[0]
    optimism = best.observed - best.estimate
    assert optimism > 0 if name == "accuracy" else optimism < 0
    assert best.low < best.estimate < best.high


def test_clusters_of_a_study_are_held_out_whole(study_of, metrics):
    # Copies of a row within its cluster must not tell who wins on the held-out ones.
    rng = np.random.default_rng(0)
    right = np.repeat(rng.random((20, 30)) < 0.7, 10, axis=1)
    truth = np.zeros(300, dtype=np.intp)
    clusters = np.repeat(np.arange(30), 10)
    predictions = 1 - right.astype(np.intp)
    whole = study_of(metrics["accuracy"], truth, predictions, clusters=clusters, resamples=50)
    split = study_of(metrics["accuracy"], truth, predictions, resamples=50)
    corrected = [corrected_best(s, np.random.default_rng(1)).estimate for s in (whole, split)]
    assert corrected[0] < corrected[1] - 0.02


def test_one_absurd_prediction_of_a_good_submission_moves_no_estimate_to_anywhere():
    rng = np.random.default_rng(2)
    losses = rng.chisquare(1, (6, 600)) * np.array([1.0, 1.0, 1.0, 1.1, 1.2, 0.7])[:, None]
    losses[5, 17] = 5_000.0**2  # best wherever this row is held out
    held = held_out_folds(600, np.random.default_rng(3))
    best = correct(losses, held, 5, greater_is_better=False)
    assert best.high < 2
    assert best.estimate < 3
    without = correct(losses[:5], held, 5, greater_is_better=False)
    assert abs(best.estimate - without.estimate) < 1
