"""The corrected best score of a board."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from arena.errors import UsageError
from arena.evaluation.best_score import (
    Draws,
    corrected_best,
    corrected_best_score,
)
from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.score_intervals import (
    errors_from_resamples,
    own_intervals,
    score_errors,
)
from arena.evaluation.winner_intervals import intervals_of_teams, winner_intervals
from arena.types import MetricTraits
from selected_scores import candidates_of, errors_of
from thinned import examples

SETTINGS = settings(max_examples=examples(8))
seeds = st.integers(0, 2**32 - 1)


def means(values):
    """Scores under weights of a pointwise metric with these ``(m, n)`` row values."""

    def score_under(weights, submissions):
        with np.errstate(invalid="ignore"):
            return values[submissions] @ weights.astype(float) / weights.sum(axis=0)

    return score_under


def draws(n, count=60, seed=0):
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=count).T


def correct(values, chosen_on=None, judged_on=None, *, larger=True, score_under=None, **known):
    n = values.shape[1]
    chosen_on = draws(n) if chosen_on is None else np.asarray(chosen_on)
    judged_on = chosen_on == 0 if judged_on is None else np.asarray(judged_on, dtype=bool)
    resampled = means(values)(draws(n, 120, 1), np.arange(len(values)))
    errors = errors_from_resamples(values.mean(axis=1), resampled, n, **known)
    return corrected_best_score(
        errors, resampled, score_under or means(values), chosen_on, judged_on,
        greater_is_better=larger,
    )  # fmt: skip


# -- the estimate ----------------------------------------------------------------------------------


def test_the_estimate_by_hand():
    # Rows 2, 3 choose a (0.75 to 0.5), which scores 0.5 on rows 0, 1; rows 0, 1 choose b (1.0 to
    # 0.5), which scores 0.5 on rows 2, 3. Mean: 0.5. On all rows both score more, so it is replaced
    # by the smaller of their scores, 0.625; that c scores 0.25 does not count, since it never won.
    values = np.array([[1.0, 0, 1, 0.5], [1, 1, 1, 0], [0, 0, 0, 1]])
    best = correct(values, [[0, 1], [0, 1], [1, 0], [1, 0]])
    assert (best.estimate, best.observed) == (0.625, 0.75)
    assert best.selected.tolist() == [0.5, 0.5, 0]
    assert (best.choices, best.choices_left_out) == (2, 0)


def test_choices_count_by_the_rows_that_judge_them():
    values = np.array([[1.0, 0, 0], [0.5, 0, 0.5], [0, 0.1, 0]])
    # Rows 1, 2 choose the second, 0.5 on row 0 (weight 1/6); row 0 the first, 0 on rows 1, 2; row 1
    # the third, 0 on rows 0, 2; rows 0, 2 the first and the second, 0 on row 1.
    best = correct(values, [[0, 1, 0, 1], [1, 0, 1, 0], [1, 0, 0, 1]])
    assert best.estimate == pytest.approx(0.5 / 6)


def test_ties_for_the_win_count_by_their_mean():
    values = np.array([[1.0, 1, 1, 0], [0, 1, 1, 1], [0, 0, 0, 0]])
    # Row 1 alone: the first two tie, 2/3 on the others; rows 0, 2, 3: they tie again, 1 on row 1.
    best = correct(values, [[0, 1], [1, 0], [0, 1], [0, 1]])
    assert best.estimate == pytest.approx(0.75 * 2 / 3 + 0.25)
    assert best.selected.tolist() == [0.5, 0.5, 0.0]


@SETTINGS
@given(seeds)
def test_a_loss_is_mirrored(seed):
    values = np.random.default_rng(seed).random((5, 30))
    score, loss = correct(values), correct(-values, larger=False)
    assert loss.estimate == pytest.approx(-score.estimate, rel=1e-11)
    assert (loss.low, loss.high) == pytest.approx((-score.high, -score.low), rel=1e-11)
    assert loss.observed == -score.observed
    np.testing.assert_array_equal(loss.selected, score.selected)
    np.testing.assert_allclose(loss.winners.low, -score.winners.high)


@SETTINGS
@given(seeds)
def test_the_order_of_the_submissions_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (6, 30)).astype(float)
    order = rng.permutation(6)
    in_order, reordered = correct(values), correct(values[order])
    assert in_order.estimate == pytest.approx(reordered.estimate, rel=1e-11)
    assert (in_order.low, in_order.high) == pytest.approx((reordered.low, reordered.high), rel=1e-4)
    np.testing.assert_allclose(in_order.selected[order], reordered.selected)


def test_only_winners_are_scored_on_the_other_rows():
    values = np.random.default_rng(0).random((8, 40))
    values[0] += 1
    calls = []

    def score_under(weights, submissions):
        calls.append(submissions.tolist())
        return means(values)(weights, submissions)

    best = correct(values, score_under=score_under)
    assert calls == [list(range(8)), [0]]
    assert best.estimate == pytest.approx(best.observed)


def test_one_submission_has_its_own_score():
    best = correct(np.random.default_rng(0).random((1, 23)))
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
        return 1 - squared / spread  # R2, lower on few rows

    score = score_under(np.ones((40, 1)), np.arange(1))[:, 0]
    resampled = score_under(draws(40), np.arange(1))
    best = corrected_best_score(
        errors_from_resamples(score, resampled, 40), resampled, score_under, draws(40),
        draws(40) == 0, greater_is_better=True,
    )  # fmt: skip
    assert score_under(draws(40) == 0, np.arange(1)).mean() < score[0] - 0.01
    assert best.estimate == pytest.approx(score[0], rel=1e-11)


def test_choices_that_cannot_be_judged_are_left_out_and_counted():
    values = np.array([[1.0, 0, 1, 1], [1, 1, 1, 0]])
    halves = [[0, 1], [0, 1], [1, 0], [1, 0]]

    def undefined_without_the_first_row(weights, submissions):
        scores = means(values)(weights, submissions)
        scores[:, weights[0] == 0] = np.nan
        return scores

    # The first choice has no score where it is made, and the second where it is judged.
    best = correct(values, halves, score_under=undefined_without_the_first_row)
    assert np.isnan(best.estimate)
    assert best.choices_left_out == 2

    def first_undefined(weights, submissions):
        scores = means(values)(weights, submissions)
        scores[submissions == 0] = np.nan
        return scores

    # A submission without a score cannot win; the second one does, everywhere.
    best = correct(values, halves, score_under=first_undefined)
    assert best.selected.tolist() == [0.0, 1.0]
    assert best.estimate == pytest.approx(0.75)


def test_no_score_of_a_submission_that_did_not_win_matters():
    values = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]])
    halves = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])

    def score_under(weights, submissions):
        scores = means(values)(weights, submissions)
        if weights.dtype == np.uint8:  # where winners are judged: not where the other one has won
            scores[submissions == 0, 1] = np.nan
            scores[submissions == 1, 0] = np.nan
        return scores

    best = correct(values, halves, score_under=score_under)
    assert best.choices_left_out == 0
    # Each is judged once, and its score there less its mean over all such rows is nothing.
    assert best.estimate == pytest.approx(0.5)


def test_submissions_without_a_score_on_any_draw_have_won_none():
    values = np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0]])
    best = correct(
        values, score_under=lambda weights, some: np.full((len(some), weights.shape[1]), np.nan)
    )
    assert best.selected.tolist() == [0.0, 0.0]
    assert np.isnan(best.estimate)
    assert best.choices_left_out == best.choices


@pytest.mark.parametrize(("m", "estimate_exists"), [(1, True), (3, False)])
def test_a_single_row_leaves_nothing_to_judge_on(m, estimate_exists):
    best = correct(np.arange(1.0, m + 1)[:, None])
    assert np.isfinite(best.estimate) == estimate_exists
    assert best.choices_left_out == 60


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"errors": errors_of([])}, "at least one submission"),
        ({"errors": errors_of([np.nan, 1.0])}, "must be finite"),
        ({"resampled": np.ones((3, 4))}, "one row per submission"),
        ({"judged_on": np.ones((4, 1), dtype=bool)}, "matrices of the same shape"),
        ({"level": 0.0}, "between 0 and 1"),
        ({"level": 1.0}, "between 0 and 1"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    arguments = {
        "errors": errors_of(np.ones(2)),
        "resampled": np.ones((2, 4)),
        "chosen_on": np.eye(4, dtype=int),
        "judged_on": np.eye(4) == 0,
        "level": 0.9,
    } | change
    with pytest.raises(UsageError, match=message):
        corrected_best_score(
            score_under=means(np.ones((2, 4))), greater_is_better=True, **arguments
        )


# -- a study ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["accuracy", "black_box"])
def test_a_study_is_corrected_the_same_on_any_workers(study_of, metrics, correlated_labels, name):
    truth, predictions = correlated_labels(np.random.default_rng(0), np.full(12, 0.8), 150)
    study = study_of(metrics[name], truth, predictions, resamples=100)
    results = [
        corrected_best(study, np.random.default_rng(1), draws=20, workers=workers)
        for workers in (1, 2)
    ]
    assert results[0].estimate == results[1].estimate
    best = results[0]
    optimism = best.observed - best.estimate
    assert optimism > 0 if name == "accuracy" else optimism < 0
    assert best.low < best.estimate < best.high


def test_clusters_of_a_study_are_drawn_whole(study_of, metrics):
    # Copies of a row within its cluster must not tell who wins on the other rows.
    rng = np.random.default_rng(0)
    right = np.repeat(rng.random((20, 30)) < 0.7, 10, axis=1)
    truth = np.zeros(300, dtype=np.intp)
    clusters = np.repeat(np.arange(30), 10)
    predictions = 1 - right.astype(np.intp)
    whole = study_of(metrics["accuracy"], truth, predictions, clusters=clusters)
    split = study_of(metrics["accuracy"], truth, predictions)
    corrected = [corrected_best(s, np.random.default_rng(1)).estimate for s in (whole, split)]
    assert corrected[0] < corrected[1] - 0.02


@dataclass(frozen=True)
class Recorded:
    """A share of right cells that records the positives of each draw it is asked for."""

    traits: MetricTraits
    seen: list[int] = field(default_factory=list)
    name: str = "recorded"
    greater_is_better: bool = True

    def resample(self, truth, predictions, weights):
        first = truth if truth.ndim == 1 else truth[:, 0]
        self.seen.extend((weights * (first == 1)[:, None]).sum(axis=0).tolist())
        right = predictions == truth
        right = right if right.ndim == 2 else right.mean(axis=2)
        return right @ weights.astype(float) / weights.sum(axis=0)


@pytest.mark.parametrize(
    ("traits", "stratified"),
    [
        (MetricTraits(needs_every_class=True), True),
        (MetricTraits(stratify_by_class=True), True),
        (MetricTraits(), False),
    ],
)
def test_rows_are_drawn_within_classes_where_the_metric_needs_them(study_of, traits, stratified):
    rng = np.random.default_rng(0)
    truth = (np.arange(40) < 4).astype(np.intp)
    study = study_of(Recorded(traits), truth, rng.integers(0, 2, (3, 40)), resamples=120)
    study.metric.seen.clear()
    corrected_best(study, np.random.default_rng(1), draws=30)
    rows = study.metric.seen[:30]
    assert (set(rows) == {4}) == stratified
    assert stratified or len(set(rows)) > 2


def test_several_targets_are_not_taken_for_classes(study_of):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, (40, 2))
    study = study_of(Recorded(MetricTraits(needs_every_class=True, score_range=(0.0, 1.0))), truth,
                     rng.integers(0, 2, (3, 40, 2)), resamples=120)  # fmt: skip
    best = corrected_best(study, np.random.default_rng(1), draws=30)
    assert best.low < best.estimate < best.high


# -- the interval ----------------------------------------------------------------------------------


def test_intervals_are_withheld_together():
    intervals = correct(np.random.default_rng(0).normal(0, 1, (3, 80)))
    assert np.isfinite(
        [intervals.low, intervals.high, intervals.winner_low, intervals.winner_high]
    ).all()
    without = intervals.withheld("Few rows.")
    ends = without.low, without.high, without.winner_low, without.winner_high
    assert np.isnan([*ends, *without.winners.low, *without.winners.high]).all()
    assert {without.reason, without.winner_reason, *without.winners.reasons} == {"Few rows."}
    assert without.estimate == intervals.estimate


def test_an_interval_is_withheld_with_the_reason():
    values = np.random.default_rng(0).random((3, 40))
    errors = replace(errors_of(values.mean(axis=1)), reasons=("Too few rows.",) * 3)
    weights = draws(40, 120)
    best = corrected_best_score(
        errors, means(values)(weights, np.arange(3)), means(values), weights, weights == 0,
        greater_is_better=True,
    )  # fmt: skip
    assert np.isnan([best.low, best.high, *best.winners.low, *best.winners.high]).all()
    assert best.reason == "Too few rows."
    assert np.isfinite(best.estimate)
    assert best.to_dict()["low"] is None


def test_no_absurd_prediction_moves_the_estimate_out_of_its_interval():
    rng = np.random.default_rng(2)
    losses = rng.chisquare(1, (6, 600)) * np.array([1.0, 1.0, 1.0, 1.1, 1.2, 0.7])[:, None]
    losses[5, 17] = 5_000.0**2  # best wherever this row is left out
    best = correct(losses, larger=False, score_range=(0.0, np.inf))
    assert best.low <= best.estimate <= best.high < 2


@SETTINGS
@given(seeds, st.integers(1, 12), st.integers(2, 30), st.booleans())
def test_the_estimate_and_the_scores_lie_in_their_intervals(seed, m, n, larger):
    values = np.random.default_rng(seed).integers(0, 2, (m, n)).astype(float)
    best = correct(values, larger=larger, score_range=(0.0, 1.0), limit_units=float(n))
    assert 0 <= best.low <= best.high <= 1
    assert np.isnan(best.estimate) or best.low <= best.estimate <= best.high
    assert best.low <= best.observed <= best.high
    assert (best.winners.low <= best.winners.high).all()
    assert len(best.winners.submission) == min(m, 3)


def test_a_study_is_judged_on_the_rows_that_were_not_drawn(study_of, metrics, correlated_labels):
    truth, predictions = correlated_labels(np.random.default_rng(0), np.full(6, 0.8), 80)
    study = study_of(metrics["accuracy"], truth, predictions, resamples=100)
    best = corrected_best(study, np.random.default_rng(1), draws=25)
    seed = int(np.random.default_rng(1).integers(2**62))
    chosen_on = draw_resamples(80, 25, seed).weights
    right = (predictions == truth).astype(float)
    expected = corrected_best_score(
        score_errors(study), study.resampled, means(right), chosen_on, chosen_on == 0,
        greater_is_better=True,
    )  # fmt: skip
    assert best.estimate == pytest.approx(expected.estimate, rel=1e-11)
    np.testing.assert_allclose(best.selected, expected.selected)


def test_draws_that_are_held_in_parts_give_the_same(
    study_of, metrics, correlated_labels, monkeypatch
):
    truth, predictions = correlated_labels(np.random.default_rng(0), np.full(6, 0.8), 12)
    study = study_of(metrics["accuracy"], truth, predictions, resamples=100)
    whole = corrected_best(study, np.random.default_rng(1), draws=50)
    monkeypatch.setattr("arena.evaluation.best_score.WEIGHT_BYTES", 12 * 7)
    parts = corrected_best(study, np.random.default_rng(1), draws=50)
    assert (parts.estimate, parts.low, parts.high) == (whole.estimate, whole.low, whole.high)
    assert (parts.choices, parts.choices_left_out) == (50, whole.choices_left_out)
    np.testing.assert_array_equal(parts.selected, whole.selected)


# -- candidates ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["accuracy", "rmse"])
def test_all_candidates_of_a_team_enter_the_correction(study_of, metrics, correlated_labels, name):
    truth, predictions = correlated_labels(np.random.default_rng(4), np.full(20, 0.8), 300)
    every = study_of(metrics[name], truth, predictions)
    larger = metrics[name].greater_is_better
    team = np.array([0, 1, 1, 2] + [1] * 16)
    board = candidates_of(every, team, larger=larger)
    among = corrected_best(board, np.random.default_rng(0))
    whole = corrected_best(every, np.random.default_rng(0))
    assert (among.low, among.high, among.estimate) == (whole.low, whole.high, whole.estimate)
    np.testing.assert_allclose(among.selected, np.bincount(team, weights=whole.selected))
    assert among.winners.contenders == 20
    signed = board.scores if larger else -board.scores
    assert among.winners.submission.tolist() == np.argsort(-signed, kind="stable").tolist()
    alone = corrected_best(replace(board, candidates=None), np.random.default_rng(0))
    assert among.low < alone.low if larger else among.high > alone.high

    # The interval of a team alone allows for its own candidates and for no others.
    low, high = intervals_of_teams(board)
    singly = own_intervals(score_errors(every), every.level)
    for code, index in enumerate(board.candidates.counting):
        fair = (singly[1] if larger else singly[0])[index]
        flattered = (singly[0] if larger else singly[1])[index]
        assert (high if larger else low)[code] == fair
        assert (
            (low if larger else high)[code] == flattered
            if (team == code).sum() == 1
            else (low[code] < flattered if larger else high[code] > flattered)
        )
    assert (low < board.scores).all()
    assert (board.scores < high).all()


@pytest.mark.slow
def test_a_team_with_many_equal_candidates_keeps_its_level(study_of, metrics, correlated_labels):
    team, held, rounds = np.array([0] * 30 + [1, 2]), np.zeros(2), 40
    for seed in range(rounds):
        rng = np.random.default_rng(seed)
        truth, predictions = correlated_labels(rng, np.full(32, 0.8), 200)
        board = candidates_of(study_of(metrics["accuracy"], truth, predictions), team)
        best = corrected_best(board, rng, draws=20)
        low, high = intervals_of_teams(board)
        held += [best.low <= 0.8 <= best.high, low[0] <= 0.8 <= high[0]]
    assert (held >= 36).all()  # without the candidates about 24 and 5


def test_several_numbers_of_places_share_their_computation_and_nothing_else():
    values = np.random.default_rng(0).normal(0, 1, (30, 80))
    values[:5] += 1.5
    intervals = correct(values)
    resampled = means(values)(draws(80, 120, 1), np.arange(30))
    errors = errors_from_resamples(values.mean(axis=1), resampled, 80)
    alone = [
        winner_intervals(errors, resampled, greater_is_better=True, level=0.95, places=places)
        for places in (1, 3)
    ]
    assert alone[0].contenders < alone[1].contenders < 30
    # A product of matrices of other shapes is rounded differently.
    near = {"rel": 1e-6, "abs": 0.0}
    of_winner = intervals.winner_low, intervals.winner_high
    assert of_winner == pytest.approx((alone[0].low[0], alone[0].high[0]), **near)
    assert intervals.low == intervals.winner_low
    assert intervals.high >= intervals.winner_high
    assert intervals.winners.low == pytest.approx(alone[1].low, **near)
    assert intervals.winners.high == pytest.approx(alone[1].high, **near)
    assert intervals.winners.submission.tolist() == alone[1].submission.tolist()
    assert intervals.winners.contenders == alone[1].contenders


def test_resamples_that_are_known_are_not_scored_again(study_of, metrics, correlated_labels):
    truth, predictions = correlated_labels(np.random.default_rng(0), np.full(6, 0.8), 80)
    study = study_of(metrics["accuracy"], truth, predictions, resamples=100)
    weights = draw_resamples(80, 25, int(np.random.default_rng(1).integers(2**62))).weights
    scores = means((predictions == truth).astype(float))(weights, np.arange(6))
    weights = np.column_stack([weights, np.ones(80, np.uint8)])  # the last one leaves no row out
    scores = np.column_stack([scores, scores[:, :1]])
    plain = corrected_best(study, np.random.default_rng(1), draws=25)
    reused = corrected_best(study, np.random.default_rng(9), draws=25, drawn=(weights, scores))
    assert reused.estimate == pytest.approx(plain.estimate, rel=1e-11)
    np.testing.assert_allclose(reused.selected, plain.selected)
    assert (reused.choices, reused.low, reused.high) == (25, plain.low, plain.high)
    with_all = corrected_best(study, np.random.default_rng(9), drawn=(weights, scores))
    assert with_all.estimate == pytest.approx(plain.estimate, rel=1e-11)


# -- limits ----------------------------------------------------------------------------------------


def test_a_winner_without_contenders_has_the_exact_critical_value():
    scores = np.r_[0.9, np.full(24, 0.5)]
    for resamples in range(120, 126):
        errors = 0.01 * np.random.default_rng(resamples).normal(size=(25, resamples))
        best = corrected_best_score(
            errors_of(scores, 0.01), scores[:, None] + errors, means(np.ones((25, 2)) * 0.5),
            np.eye(2, dtype=int), np.eye(2) == 0, greater_is_better=True, level=0.9,
        )  # fmt: skip
        # Nine tenths of one tail; the second and third places have other contenders.
        assert best.low == pytest.approx(0.9 - 0.01 * stats.norm.isf(0.045), rel=1e-12)
        assert best.winners.contenders == 25


def test_draws_without_rows_to_choose_or_to_judge_on_are_left_out():
    values = np.array([[1.0, 0, 1, 1], [1, 1, 1, 0]])
    # The first column judges nothing, the second chooses nothing, and the third is a draw.
    chosen_on = np.array([[1, 0, 0], [1, 0, 0], [1, 0, 1], [1, 0, 1]])
    judged_on = np.array([[0, 1, 1], [0, 1, 1], [0, 1, 0], [0, 1, 0]])
    best = correct(values, chosen_on, judged_on)
    assert (best.choices, best.choices_left_out) == (3, 2)
    assert best.selected.tolist() == [1.0, 0.0]
    assert best.estimate == pytest.approx(0.75)  # judged once: its score on all rows
    parts = [(chosen_on[:, [number]], judged_on[:, [number]] > 0) for number in range(3)]
    draws_of = Draws.of(2, means(values), parts)
    assert (draws_of.left_out, draws_of.sizes.tolist()) == (2, [2.0])
    assert draws_of.chosen.tolist() == [[1.0], [0.5]]


def test_nobody_is_selected_from_a_single_row():
    best = correct(np.arange(1.0, 4)[:, None])
    assert best.selected == pytest.approx(np.full(3, 1 / 3))
    assert (best.choices, best.choices_left_out) == (60, 60)


def test_four_hundred_draws_are_the_default(study_of, metrics, correlated_labels):
    truth, predictions = correlated_labels(np.random.default_rng(0), np.full(2, 0.8), 30)
    study = study_of(metrics["accuracy"], truth, predictions, resamples=100)
    assert corrected_best(study, np.random.default_rng(1)).choices == 400


def test_a_part_holds_at_least_one_draw(study_of, metrics, correlated_labels, monkeypatch):
    truth, predictions = correlated_labels(np.random.default_rng(0), np.full(3, 0.8), 12)
    study = study_of(metrics["accuracy"], truth, predictions, resamples=100)
    whole = corrected_best(study, np.random.default_rng(1), draws=9)
    monkeypatch.setattr("arena.evaluation.best_score.WEIGHT_BYTES", 5)
    parts = corrected_best(study, np.random.default_rng(1), draws=9)
    assert (parts.estimate, parts.choices) == (whole.estimate, 9)
