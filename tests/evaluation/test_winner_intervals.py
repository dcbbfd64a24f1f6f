"""Intervals of the winners, of the best true score, and of teams with several submissions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from arena.errors import UsageError
from arena.evaluation.case_metrics import MedianOfCases
from arena.evaluation.score_intervals import (
    errors_of_means,
    interval_ends,
    own_intervals,
    score_errors,
)
from arena.evaluation.winner_intervals import (
    best_score_interval,
    intervals_of_teams,
    winner_intervals,
)
from selected_scores import candidates_of, errors_of, joint


@pytest.mark.few(1)
@pytest.mark.parametrize("larger", [True, False])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_flattered_end_is_for_all_and_the_other_for_one(larger, level):
    tail = (1 - level) / 2
    alone = stats.norm.isf(tail)
    both = stats.norm.isf(1 - (1 - tail) ** 0.5)
    for correlation, critical in ((0.0, both), (1.0, alone)):
        interval = best_score_interval(
            errors_of([0.8, 0.8]), joint(correlation, resamples=2000), greater_is_better=larger,
            level=level,
        )  # fmt: skip
        ends = 0.8 - 0.1 * critical, 0.8 + 0.1 * alone
        ends = ends if larger else (1.6 - ends[1], 1.6 - ends[0])
        assert interval.ends == pytest.approx(ends, abs=0.007)
        assert interval.reason is None


def test_submissions_that_no_resample_moves_count_as_independent():
    still = np.full((10, 150), 0.9)
    interval = best_score_interval(
        errors_of(np.full(10, 0.9)), still, greater_is_better=True, level=0.95
    )
    critical = stats.norm.isf(1 - 0.975**0.1)
    assert interval.ends == pytest.approx((0.9 - 0.1 * critical, 0.9 + 0.196), abs=0.015)


def test_perfect_scores_have_the_interval_of_their_rows():
    perfect = errors_of([1.0, 1.0], np.nan, (0.0, 1.0), limit_units=50.0)
    interval = best_score_interval(perfect, np.ones((2, 150)), greater_is_better=True, level=0.9)
    assert interval.ends[1] == 1.0
    assert interval.ends[0] == pytest.approx(0.025 ** (1 / 50), abs=0.005)


def test_few_resamples_get_bonferroni():
    interval = best_score_interval(
        errors_of(np.full(5, 0.5)), joint(1.0, 5, 90), greater_is_better=True, level=0.95
    )
    assert interval.ends[0] == pytest.approx(0.5 - 0.1 * stats.norm.isf(0.005))


def test_resamples_without_a_score_are_left_out():
    resampled = joint(0.5, 2, 300)
    holed = np.insert(resampled, 7, np.nan, axis=1)
    with_gaps, without = (
        best_score_interval(errors_of([0.8, 0.7]), scores, greater_is_better=True, level=0.9)
        for scores in (resampled, holed)
    )
    assert with_gaps == without


def test_the_upper_end_is_the_largest_of_those_who_stand_no_higher():
    errors = errors_of([0.9, 0.8, 0.7], [0.01, 0.2, 0.1])
    intervals = winner_intervals(errors, joint(0.0, 3, 200), greater_is_better=True, level=0.95,
                             places=2)  # fmt: skip
    critical = stats.norm.isf(0.0125)
    assert intervals.submission.tolist() == [0, 1]
    assert intervals.high == pytest.approx([0.8 + 0.2 * critical] * 2)
    alone = winner_intervals(errors_of([0.9, 0.8], [0.01, 0.01]), joint(0.0, 2, 200),
                             greater_is_better=True, level=0.95, places=5)  # fmt: skip
    assert alone.high == pytest.approx([0.9 + 0.01 * critical, 0.8 + 0.01 * critical])


def test_one_hopeless_submission_widens_neither_interval():
    errors, resampled = errors_of([0.9, 0.89, 0.1], [0.01, 0.02, 0.6]), joint(0.0, 3, 200)
    options = {"greater_is_better": True, "level": 0.95}
    end = stats.norm.isf(0.025)
    winner = winner_intervals(errors, resampled, **options)
    assert winner.high[0] == pytest.approx(0.9 + 0.01 * end)
    best = best_score_interval(
        errors, resampled, **options, may_be_first=np.array([True, True, False])
    )
    assert best.ends == pytest.approx((winner.low[0], 0.89 + 0.02 * end))
    everyone = best_score_interval(errors, resampled, **options)
    assert everyone.ends == pytest.approx((winner.low[0], 0.1 + 0.6 * end))
    losses = errors_of([-0.9, -0.89, -0.1], [0.01, 0.02, 0.6])
    mirrored = best_score_interval(
        losses, -resampled, greater_is_better=False, level=0.95,
        may_be_first=np.array([True, True, False]),
    )  # fmt: skip
    assert mirrored.ends == pytest.approx([-best.ends[1], -best.ends[0]])


def test_submissions_far_behind_cost_nothing():
    scores = np.r_[0.9, 0.89, np.full(200, 0.1)]
    resampled = scores[:, None] + 0.01 * np.sqrt(400) * joint(0.0, 202, 400)
    errors = errors_of(scores, 0.01)
    intervals = winner_intervals(errors, resampled, greater_is_better=True, level=0.95)
    assert intervals.contenders == 2
    assert intervals.low[0] == pytest.approx(0.9 - 0.01 * stats.norm.isf(0.0225 / 2), abs=0.001)
    # One whose error nothing is known of could be anywhere.
    resampled[7] = scores[7]
    assert winner_intervals(
        errors, resampled, greater_is_better=True, level=0.95
    ).contenders == 3  # fmt: skip


@pytest.mark.parametrize(("level", "places"), [(0.0, 1), (1.0, 1), (0.9, 0)])
def test_winners_need_a_level_and_a_place(level, places):
    with pytest.raises(UsageError, match="between 0 and 1|places must be at least 1"):
        winner_intervals(errors_of([0.5]), np.ones((1, 150)), greater_is_better=True, level=level,
                         places=places)  # fmt: skip


@pytest.mark.parametrize(("correlation", "contenders"), [(0.0, 30), (0.3, 30), (0.95, 1)])
def test_a_lead_over_correlated_submissions_is_surer(correlation, contenders):
    """The error of a difference counts what both submissions share, in their own units."""
    scores = np.r_[0.9, np.full(29, 0.8)]
    resampled = scores[:, None] + 0.02 * np.sqrt(400) * joint(correlation, 30, 400)
    intervals = winner_intervals(
        errors_of(scores, 0.02), resampled, greater_is_better=True, level=0.95
    )
    assert intervals.contenders == contenders


@pytest.mark.parametrize(("lead", "contenders"), [(0.3, 30), (0.45, 1)])
def test_the_errors_of_both_count_in_a_lead(lead, contenders):
    """The standard error of each lead is sqrt(0.04^2 + 0.01^2), of which 9.1 are needed."""
    scores = np.r_[0.9, np.full(29, 0.9 - lead)]
    spread = np.r_[0.04, np.full(29, 0.01)]
    resampled = scores[:, None] + spread[:, None] * np.sqrt(400) * joint(0.0, 30, 400)
    errors = errors_of(scores, spread)
    intervals = winner_intervals(errors, resampled, greater_is_better=True, level=0.95)
    assert intervals.contenders == contenders


@pytest.mark.parametrize(("m", "excluded"), [(20, True), (19, False)])
def test_contenders_are_those_within_two_critical_values_of_the_winner(m, excluded):
    """With twenty submissions, Student's t at a twentieth of the error over all ordered pairs."""
    level, degrees, spread = 0.9, 30, 0.02
    critical = stats.t.isf((1 - level) / 20 / (m * (m - 1)), degrees)
    needed = 2 * critical * spread * np.sqrt(2)
    errors = joint(0.0, m, 400)  # of exactly equal norm and uncorrelated
    for factor, contenders in ((0.999, m), (1.001, m - 1 if excluded else m)):
        scores = np.full(m, 0.9)
        scores[3] -= factor * needed
        resampled = scores[:, None] + spread * np.sqrt(399) * errors
        intervals = winner_intervals(
            errors_of(scores, spread, degrees=degrees), resampled, greater_is_better=True,
            level=level,
        )  # fmt: skip
        assert intervals.contenders == contenders


def test_the_error_of_a_lead_is_bounded_from_below():
    """Two submissions that err on the same rows: at least sqrt(0.05) of the own error counts."""
    m, level, spread = 20, 0.9, 0.02
    critical = stats.norm.isf((1 - level) / 20 / (m * (m - 1)))
    needed = 2 * critical * spread * np.sqrt(0.05)
    for factor, contenders in ((0.99, m), (1.01, 1)):
        scores = np.r_[0.9, np.full(m - 1, 0.9 - factor * needed)]
        resampled = scores[:, None] + spread * np.sqrt(399) * joint(1.0, m, 400)
        intervals = winner_intervals(
            errors_of(scores, spread), resampled, greater_is_better=True, level=level
        )
        assert intervals.contenders == contenders


@pytest.mark.few(5)
@pytest.mark.parametrize("m", [2, 3, 5])
@pytest.mark.parametrize("level", [0.9, 0.99, 0.995, 0.996, 0.9999])
def test_the_joint_critical_value_lies_between_that_of_one_and_that_of_bonferroni(m, level):
    tail = (1 - level) / 2
    intervals = winner_intervals(
        errors_of(np.full(m, 0.5)), joint(0.5, m, 200), greater_is_better=True, level=level
    )
    critical = (0.5 - intervals.low[0]) / 0.1
    assert stats.norm.isf(tail) < critical
    assert critical <= stats.norm.isf(tail / m) + 1e-9
    if level > 0.995:  # the quantile of a few nodes would be far too small
        assert critical == pytest.approx(stats.norm.isf(tail / m))


def test_independent_submissions_cost_at_most_bonferroni():
    intervals = winner_intervals(
        errors_of(np.full(3, 0.5)), joint(0.0, 3, 200), greater_is_better=True, level=0.9
    )
    assert intervals.low[0] == pytest.approx(0.5 - 0.1 * stats.norm.isf(0.05 / 3), abs=1e-9)


def test_contenders_beyond_a_block_of_rows_count():
    """299 submissions with the same errors and another one count as two, wherever it stands."""
    for position in (0, 299):
        shared, own = joint(0.0, 2, 120)
        resampled = np.tile(shared, (300, 1))
        resampled[position] = own
        intervals = winner_intervals(
            errors_of(np.full(300, 0.5)), resampled, greater_is_better=True, level=0.8
        )
        assert intervals.contenders == 300
        critical = stats.norm.isf(1 - (1 - 0.09) ** 0.5)
        assert intervals.low[0] == pytest.approx(0.5 - 0.1 * critical, abs=0.01)


@pytest.mark.parametrize(("resamples", "joint_value"), [(99, False), (100, True)])
def test_a_hundred_resamples_show_the_correlations(resamples, joint_value):
    for m in (5, 25):  # with and without the step that excludes submissions
        intervals = winner_intervals(
            errors_of(np.full(m, 0.5)), joint(1.0, m, resamples), greater_is_better=True,
            level=0.95,
        )  # fmt: skip
        critical = (0.5 - intervals.low[0]) / 0.1
        assert intervals.contenders == m
        if joint_value:
            assert critical < 2.2
        else:
            assert critical == pytest.approx(stats.norm.isf(0.025 / m))


@pytest.mark.parametrize(("level", "joint_value"), [(0.995, True), (0.9952, False)])
def test_ten_nodes_in_the_tail_are_needed(level, joint_value):
    intervals = winner_intervals(
        errors_of(np.full(5, 0.5)), joint(1.0, 5, 200), greater_is_better=True, level=level
    )
    bonferroni = 0.5 - 0.1 * stats.norm.isf((1 - level) / 10)
    assert (intervals.low[0] == pytest.approx(bonferroni)) != joint_value


@pytest.mark.parametrize("resamples", [99, 200])
def test_a_team_allows_for_its_own_candidates_jointly(
    study_of, metrics, correlated_labels, resamples
):
    """Four candidates with equal errors count as one if there are enough resamples to show it."""
    truth, predictions = correlated_labels(np.random.default_rng(0), np.full(2, 0.8), 400)
    predictions = predictions[[0, 0, 0, 0, 1]]
    every = study_of(metrics["accuracy"], truth, predictions, resamples=resamples)
    board = candidates_of(every, np.array([0, 0, 0, 0, 1]))
    low, _ = intervals_of_teams(board)
    errors = score_errors(every)
    alone, bonferroni = (
        interval_ends(errors, stats.norm.isf(tail))[0] for tail in (0.025, 0.025 / 4)
    )
    assert low[1] == pytest.approx(alone[4])
    if resamples < 100:
        assert low[0] == pytest.approx(bonferroni[0])
    else:
        assert low[0] == pytest.approx(alone[0], abs=0.1 * (alone[0] - bonferroni[0]))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "finite"), [(8, False), (40, True)])
def test_an_interval_without_an_end_is_withheld_with_its_reason(study_of, n, finite):
    """The corrected order statistics of a median may lie beyond the sample."""
    values = np.random.default_rng(0).normal(size=(10, n))
    study = study_of(MedianOfCases("median", greater_is_better=True), np.zeros(n), values)
    errors = score_errors(study)
    assert np.isfinite(own_intervals(errors, 0.95)).all()
    options = {"greater_is_better": True, "level": 0.95}
    first = winner_intervals(errors, study.resampled, **options)
    best = best_score_interval(errors, study.resampled, **options)
    assert np.isfinite([*first.low, *first.high, *best.ends]).all() == finite
    for reason in (*first.reasons, best.reason):
        assert reason == (
            None if finite else "The sample is too small for both ends of this interval."
        )


@pytest.mark.parametrize(("rows", "given"), [(8, False), (9, True)])
def test_the_first_of_many_by_few_losses_may_be_so_by_luck(rows, given):
    losses = np.random.default_rng(0).exponential(size=(20, rows))
    errors = errors_of_means(losses, (0.0, np.inf))
    first = winner_intervals(errors, np.empty((20, 0)), greater_is_better=False, level=0.95)
    assert np.isfinite(first.low[0]) == given
    assert (first.reasons[0] is None) == given
