"""Every quantity of a plan, held to a simulation of what it claims."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from scipy import stats

from arena.errors import UsageError
from arena.simulation.plan.metric_choice import compare_metrics
from arena.simulation.plan.places import (
    RankTarget,
    has_ties,
    least_favourable_for,
    rows_until,
    share_right,
    targets_for,
)
from arena.simulation.plan.plan import (
    DecidingDifferences,
    PairedTestPower,
    PlanRow,
    ScoreScenarios,
    plan_rows,
    target_plan,
)
from arena.simulation.plan.priors import (
    draw_flat,
    draw_nonparametric,
    draw_normal,
    least_favourable,
    nonparametric_prior,
    shrinkage,
)
from arena.simulation.plan.uncertainty import (
    board_critical_value,
    board_widths,
    degrees_with_resamples,
    deviation_bounds,
    largest_error,
    normal_errors,
    pair_degrees_of_freedom,
    pair_errors,
    paired_power,
    rows_until_the_best_leads,
)
from arena.utils.tabular import as_json
from kept import check_kept_document

TRUE = np.array([0.83, 0.82, 0.80, 0.80, 0.77])


def widths_of(boards, errors, scale, n_units=10**6):
    """Return the widths on boards with errors larger by a factor than the given ones."""
    m = len(errors)
    critical = board_critical_value(
        largest_error(errors, 0.95), 0.05 / (m * (m - 1)), n_units, n_units
    )
    needed = scale * critical * pair_errors(errors)
    return board_widths(boards, needed, np.full((m, m), np.inf))


def rows_of(n, rng):
    """Correlated right and wrong answers of five submissions: ``(5, n)``."""
    easy = rng.random(n)
    own = rng.random((5, n)) * 0.6 + 0.4 * easy
    cut = np.quantile(np.random.default_rng(1).random((5, 4_000)) * 0.6 + 0.4 * np.tile(
        np.random.default_rng(2).random(4_000), (5, 1)
    ), TRUE)  # fmt: skip
    return (own < cut[:, np.newaxis]).astype(float)


def pilot(n=3_000, resamples=500, seed=0):
    rng = np.random.default_rng(seed)
    rows = rows_of(n, rng)
    weights = rng.multinomial(n, np.full(n, 1 / n), size=resamples).T
    return rows.mean(axis=1), rows @ weights / n


def test_power_is_the_share_of_tests_that_reject():
    rng = np.random.default_rng(5)
    rejected = []
    for _ in range(2_000):
        differences = rng.normal(0.1, 1.0, 400)
        error = differences.std(ddof=1) / 20
        rejected.append(abs(differences.mean()) > 2.2414 * error)  # two comparisons at 0.95
    assert paired_power(0.1, 0.05, 0.95, 2) == pytest.approx(np.mean(rejected), abs=0.03)
    assert paired_power(0.1, 0.0, 0.95) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("difference", "rows"), [(0.1, 400), (0.03, 2_000), (0.2, 100)])
def test_power_is_that_of_statsmodels(difference, rows):
    from statsmodels.stats.power import TTestPower, normal_power

    error = 1 / np.sqrt(rows)
    for comparisons in (1, 10):
        power = paired_power(difference, error, 0.95, comparisons)
        arguments = {"nobs": rows, "alpha": 0.05 / comparisons}
        assert power == pytest.approx(normal_power(difference, **arguments), abs=1e-12)
        exact = TTestPower().power(difference, **arguments, alternative="two-sided")
        assert power == pytest.approx(exact, abs=0.02)  # the t distribution has wider tails


def test_shrinkage_finds_how_much_is_chance():
    rng = np.random.default_rng(0)
    true = rng.normal(size=400)
    errors = rng.normal(scale=1.0, size=(400, 200)) + rng.normal(size=200)
    share_of_chance = shrinkage(true + rng.normal(size=400) + 3.0, errors)
    assert share_of_chance == pytest.approx(np.sqrt(0.5), abs=0.05)
    assert shrinkage(np.array([1.0, 1.0]), errors[:2]) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("worlds", [5, pytest.param(60, marks=pytest.mark.campaign)])
def test_the_best_wins_as_often_as_is_said(worlds):
    """Over many worlds whose truth is known: the mean of what is said is the mean of what is."""
    m, n, grid = 12, 2_000, [500, 2_000, 8_000]
    predicted, happened = [], []
    for world in range(worlds):
        rng = np.random.default_rng(world)
        true = 0.01 * rng.normal(size=m)
        mixing = 0.007 * (np.eye(m) + 0.3 * rng.normal(size=(m, m)))
        scores = true + mixing @ rng.normal(size=m)
        resampled = scores[:, np.newaxis] + mixing @ rng.normal(size=(m, 100))
        plan = plan_rows(
            scores, resampled, n, greater_is_better=True, difference=0.01, test_rows=grid, rng=rng
        )
        errors = mixing @ rng.normal(size=(m, 300))
        boards = [true[:, np.newaxis] + np.sqrt(n / rows) * errors for rows in grid]
        if plan.shrinkage:
            predicted.append([row.best_wins for row in plan.rows])
            happened.append([(board.argmax(axis=0) == true.argmax()).mean() for board in boards])
    assert len(predicted) >= 0.75 * worlds
    error = np.std(np.subtract(predicted, happened), axis=0) / np.sqrt(len(predicted))
    assert (np.abs(np.mean(predicted, axis=0) - np.mean(happened, axis=0)) < 3 * error).all()


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "n"), [(12, 240), (30, 600), (200, 2_000)])
def test_widths_are_those_of_boards_with_few_units(groups, n):
    """A plan for boards as large as the pilot, against the ranks of such boards."""
    from arena_ranking.differences import standard_errors_from_values, sum_by_unit
    from arena_ranking.simultaneous import rank_intervals

    rng = np.random.default_rng(0)
    codes, true = np.arange(n) % groups, np.array([0.0, 0.25, 0.5, 1.2, 2.0])

    def board():
        values = rng.normal(size=(5, n)) + rng.normal(size=(5, groups))[:, codes]
        values = values - values.mean(axis=1, keepdims=True)
        sums = sum_by_unit(values, codes)
        counts = rng.multinomial(groups, np.full(groups, 1 / groups), size=300)
        return sums @ counts.T / n, sums

    errors, _ = board()
    scores = true + errors[:, 0]
    row, = plan_rows(
        scores, scores[:, None] + errors, n, greater_is_better=True, test_rows=[n],
        difference=0.5, n_units=groups,
    ).rows  # fmt: skip
    widths = []
    for _ in range(40):
        errors, sums = board()
        scores = true + errors[:, 0]
        intervals = rank_intervals(
            scores, scores[:, None] + errors, n_units=groups,
            standard_errors=standard_errors_from_values(sums, n),
            degrees_of_freedom=np.full((5, 5), groups - 1.0),
        )  # fmt: skip
        widths.append(np.mean(intervals.high - intervals.low))
    low, high = row.intervals["interval_width"]
    assert low - 0.3 <= np.mean(widths) <= high + 0.1  # a plan lacks the stepdown


def test_a_board_of_few_units_decides_nothing():
    rng = np.random.default_rng(0)
    scores, errors = np.array([0.9, 0.1, 0.0]), 0.01 * rng.standard_normal((3, 400))
    row, = plan_rows(scores, scores[:, None] + errors, 600, greater_is_better=True,
                     test_rows=[600], n_units=5).rows  # fmt: skip
    assert (row.interval_width, row.winner_shown) == (2.0, 0.0)
    assert row.intervals["winner_width"] == (2.0, 2.0)


@pytest.mark.slow
def test_widths_are_those_of_real_boards():
    """Interval widths of fresh boards, by the analysis that ranks them, with its stepdown."""
    from arena_ranking.differences import standard_errors_from_values
    from arena_ranking.simultaneous import rank_intervals

    scores, resampled = pilot(2_000, 500)
    grid = [500, 2_000, 8_000]
    plan = plan_rows(scores, resampled, 2_000, greater_is_better=True, test_rows=grid)
    for row in plan.rows:
        widths = []
        for board in range(30):
            values = rows_of(row.test_rows, np.random.default_rng(100 + board))
            weights = np.random.default_rng(board).multinomial(
                row.test_rows, np.full(row.test_rows, 1 / row.test_rows), size=300
            )
            intervals = rank_intervals(
                values.mean(axis=1),
                values @ weights.T / row.test_rows,
                standard_errors=standard_errors_from_values(values),
            )
            widths.append(np.mean(intervals.high - intervals.low))
        assert row.interval_width == pytest.approx(np.mean(widths), abs=0.6)


@pytest.mark.slow
def test_errors_scale_with_the_rows():
    """A pilot of four times the rows says the same of a number of rows."""
    (small, few), (large, many) = pilot(1_000, 800), pilot(4_000, 800, seed=3)
    arguments = {"greater_is_better": True, "difference": 0.02, "test_rows": [4_000]}
    small_plan = plan_rows(small, few, 1_000, **arguments).rows[0]
    large_plan = plan_rows(large, many, 4_000, **arguments).rows[0]
    assert small_plan.power == pytest.approx(large_plan.power, abs=0.12)


def test_widths_cover_the_truth():
    """Boards simulated by the same normal errors are covered at the level, all ranks at once."""
    rng = np.random.default_rng(0)
    errors = 0.01 * (rng.normal(size=(5, 1_000)) + rng.normal(size=1_000))
    fresh = 0.01 * (rng.normal(size=(5, 200)) + rng.normal(size=200))
    boards = [TRUE[:, np.newaxis] + scale * fresh for scale in (1.0, 0.1)]
    wide, _ = widths_of(boards[0], errors, 1.0)
    narrow, winners = widths_of(boards[1], errors, 0.1)
    assert wide.mean() > narrow.mean()
    assert (wide <= 4).all()
    assert winners.mean() == 0.0
    # The third and fourth are equal: apart from errors at the level nothing decides them.
    assert (narrow[:, 2] >= 1).mean() > 0.93
    assert (narrow[:, 2] >= 1).mean() == (narrow[:, 3] >= 1).mean()


@pytest.mark.slow
def test_smaller_is_better_is_the_mirror_image():
    scores, resampled = pilot(500, 200)
    up = plan_rows(scores, resampled, 500, greater_is_better=True, difference=0.01)
    down = plan_rows(-scores, -resampled, 500, greater_is_better=False, difference=0.01)
    assert up.to_dict() == down.to_dict()
    assert [pair["power"] for pair in up.to_dict()["power_rows"]] == [0.5, 0.8, 0.9, 0.95]
    (needed,) = [row.test_rows for row in up.power_rows if row.probability == 0.8]
    mirrored = plan_rows(
        scores, resampled, 500, greater_is_better=True, difference=0.01, test_rows=[int(needed)]
    )
    assert mirrored.rows[0].power_corrected == pytest.approx(0.8, abs=1e-3)


def test_what_chance_alone_explains_has_no_best():
    errors = np.random.default_rng(0).normal(size=(4, 300))
    scores = np.array([0.1, 0.0, 0.05, 0.02])
    plan = plan_rows(scores, scores[:, None] + errors, 100, greater_is_better=True)
    assert plan.shrinkage == 0.0
    assert plan.rows[0].best_wins is None
    assert plan.best_wins_rows[0].test_rows is None
    assert {share.normal for target in plan.targets for share in target.shares} == {None}
    assert {needed_rows.test_rows for target in plan.targets for needed_rows in target.needed} == {
        None
    }
    assert [row.test_rows for row in plan.rows] == [25, 50, 100, 200, 400, 800, 1_600]


@pytest.mark.slow
def test_copies_count_once():
    scores, resampled = pilot(500, 200)
    twice = np.append(scores, scores.max())
    resampled_twice = np.vstack([resampled, resampled[scores.argmax()]])
    once = plan_rows(scores, resampled, 500, greater_is_better=True)
    again = plan_rows(twice, resampled_twice, 500, greater_is_better=True)
    assert again.copies == 1
    assert {**again.to_dict(), "copies": 0} == once.to_dict()
    with pytest.raises(UsageError, match="differ"):
        plan_rows(scores[[0, 0]], resampled[[0, 0]], 500, greater_is_better=True)


def test_a_submission_that_ties_with_the_best_may_be_best():
    """Two leaders of equal scores do not keep the best from winning, and split the first place."""
    scores, resampled = pilot(2_000, 500)
    first, second = np.argsort(scores)[:-3:-1]
    resampled[second] += scores[first] - scores[second]
    scores[second] = scores[first]
    plan = plan_rows(scores, resampled, 2_000, greater_is_better=True, test_rows=[2_000, 10**6])
    assert plan.difference == pytest.approx(scores.max() - np.sort(scores)[-3])
    assert 0.3 < plan.rows[0].best_wins < plan.rows[1].best_wins
    assert plan.rows[1].best_wins > 0.9


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"level": 0.0}, "level"),
        ({"level": 1.0}, "level"),
        ({"test_rows": [1]}, "2 or more"),
        ({"difference": -1.0}, "positive"),
        ({"difference": 0.0}, "positive"),
        ({"difference": np.inf}, "positive"),
    ],
)
def test_refusals(change, said):
    scores, resampled = pilot(100, 50)
    with pytest.raises(UsageError, match=said):
        plan_rows(scores, resampled, 100, greater_is_better=True, **change)
    with pytest.raises(UsageError, match="two"):
        plan_rows(scores[:1], resampled[:1], 100, greater_is_better=True)
    for none in ({"prizes": 0}, {"top": -3}):
        with pytest.raises(UsageError, match="must be 1 or more"):
            plan_rows(scores, resampled, 100, greater_is_better=True, **none)
    with pytest.raises(UsageError, match="state one"):
        plan_rows(np.ones(5), resampled, 100, greater_is_better=True)


@pytest.mark.slow
def test_each_figure_is_that_of_boards_of_the_same_draws():
    """Widths of all, widths of winners and winners shown, by another computation of each."""
    from scipy.stats import norm

    m, n, rng = 3, 1_000, np.random.default_rng(0)
    scores = np.array([0.9, 0.6, 0.1])
    errors = 0.02 * rng.standard_normal((m, 300))
    plan = plan_rows(
        scores, scores[:, None] + errors, n, greater_is_better=True, test_rows=[n], difference=0.07
    )
    (row,) = plan.rows
    # Three scores that are far apart: every pair is decided, and the winner is shown.
    assert (row.interval_width, row.winner_width, row.winner_shown) == (0.0, 0.0, 1.0)
    error = np.sqrt(2) * 0.02
    assert plan.standard_error == pytest.approx(error, rel=0.08)
    power = [norm.sf(norm.ppf(1 - 0.025 / k) - 0.07 / plan.standard_error) for k in (1, 3)]
    assert row.power == pytest.approx(power[0], abs=2e-3)
    assert row.power_corrected == pytest.approx(power[1], abs=2e-3)
    assert row.intervals["power"][0] < row.power < row.intervals["power"][1]
    assert [needed_rows.probability for needed_rows in plan.power_rows] == [0.5, 0.8, 0.9, 0.95]
    # A crowd below a leader: the winner is shown, and its width is not that of the others.
    scores = np.array([0.9, 0.11, 0.1, 0.1])
    errors = 0.02 * rng.standard_normal((4, 300))
    plan = plan_rows(scores, scores[:, None] + errors, n, greater_is_better=True, test_rows=[n])
    assert (plan.rows[0].winner_width, plan.rows[0].winner_shown) == (0.0, 1.0)
    assert plan.rows[0].interval_width > 1.0
    # Two leaders above a crowd: the winner has a width of one rank and is not shown.
    scores = np.array([0.9, 0.899, 0.1, 0.1])
    plan = plan_rows(scores, scores[:, None] + errors, n, greater_is_better=True, test_rows=[n])
    assert plan.rows[0].winner_width == pytest.approx(1.0, abs=0.1)
    assert plan.rows[0].winner_shown == pytest.approx(0.0, abs=0.1)


def test_errors_and_what_decides_grow_on_fewer_rows():
    """On a sixteenth of the rows errors are four times as large, and true scores are the same."""
    from scipy.stats import norm

    scores, rng = np.array([0.9, 0.75, 0.1]), np.random.default_rng(0)
    resampled = scores[:, None] + 0.02 * rng.standard_normal((3, 300))
    plan = plan_rows(
        scores, resampled, 1_600, greater_is_better=True, test_rows=[100, 1_600], difference=0.1
    )
    few, many = plan.rows
    assert (many.winner_shown, many.best_wins) == pytest.approx((0.976, 1.0), abs=0.02)
    deviations = np.sqrt(2) * 0.02 * np.array([4.0, np.sqrt(17)])  # of a test, and of the drawn
    shown = norm.sf((2.5 * deviations[0] - 0.15) / deviations[1])  # by the leader's test
    assert few.winner_shown == pytest.approx(shown, abs=0.07)
    assert few.winner_width == pytest.approx(1 - shown, abs=0.07)
    assert few.best_wins == pytest.approx(norm.cdf(0.15 / deviations[1]), abs=0.07)
    assert few.power == pytest.approx(norm.sf(1.96 - 0.1 / deviations[0]), abs=0.05)
    # In the least favourable case the lead is smaller by what decides on the pilot.
    lead = 0.15 - 2.6 * deviations[0] / 4
    for row, factor in ((few, 1.0), (many, 4.0)):
        low, high = row.intervals["best_wins"]
        assert low == pytest.approx(norm.cdf(factor * lead / deviations[0]), abs=0.07)
        assert high == pytest.approx(1.0, abs=0.1)
    # The last of three is never near: who is second depends on who is first.
    (second,) = plan.targets
    for row, share in zip(plan.rows, second.shares, strict=True):
        assert share.normal == pytest.approx(row.best_wins, abs=0.01)
        assert share.nonparametric == pytest.approx(row.best_wins_nonparametric, abs=0.01)
    for needed_rows, first in zip(second.needed, plan.best_wins_rows, strict=True):
        assert needed_rows.test_rows == pytest.approx(first.test_rows, abs=5)
        assert needed_rows.nonparametric == pytest.approx(first.nonparametric, abs=5)
    # Each draw of the true scores has its own lead, judged on sixteen boards.
    leads = 0.15 + 2.24 * np.sqrt(2) * 0.02 * np.array([-1, 1])
    least, most = norm.sf((2.4 * deviations[0] - leads) / deviations[0])
    low, high = few.intervals["winner_shown"]
    assert low <= least
    assert most <= high <= most + 0.25
    assert few.intervals["winner_width"] == pytest.approx((1 - high, 1 - low), abs=0.05)
    assert few.intervals["interval_width"] == pytest.approx((2 / 3 - high * 2 / 3, 2 / 3), abs=0.1)
    for needed_rows in plan.best_wins_rows:
        needed = 1_600 * (norm.ppf(needed_rows.probability) * deviations[0] / 4 / lead) ** 2
        assert needed_rows.high == pytest.approx(max(needed, needed_rows.low), rel=0.3, abs=5)
        assert needed_rows.low <= needed_rows.test_rows <= needed_rows.high


def test_submissions_that_always_differ_by_the_same_leave_nothing_to_chance():
    resampled = np.random.default_rng(0).normal(0.5, 0.02, 300)
    plan = plan_rows(
        np.array([0.6, 0.5]), resampled + np.array([[0.1], [0.0]]), 400, greater_is_better=True,
        test_rows=[400],
    )  # fmt: skip
    assert (plan.standard_error, plan.rows[0].power, plan.rows[0].best_wins) == (0.0, 1.0, 1.0)


def test_the_error_of_a_difference_is_its_standard_deviation():
    rng = np.random.default_rng(0)
    errors = rng.normal(size=(4, 50)) + 2 * rng.normal(size=50)
    errors[3] = errors[2] + 5.0  # always the same difference
    expected = [[np.std(error - other, ddof=1) for other in errors] for error in errors]
    assert pair_errors(errors) == pytest.approx(np.array(expected), abs=1e-12)
    assert pair_errors(errors)[2, 3] == 0.0
    assert pair_errors(errors[:1]).tolist() == [[0.0]]


def test_widths_follow_the_board_and_not_the_true_order():
    """The winner's width is that of the board's winner, which is not the truly best here."""
    errors = 0.01 * np.random.default_rng(0).standard_normal((3, 500))
    boards = np.array([[0.0, 0.0], [1.0, 0.001], [0.0, 1.0]])
    widths, winners = widths_of(boards, errors, 1.0)
    assert winners.tolist() == [0.0, 0.0]
    assert widths.tolist() == [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]


def test_the_nonparametric_prior_maximises_the_likelihood():
    """No single step towards any centre raises the likelihood: the condition of its maximum."""
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(0, 0.1, 30), rng.normal(3, 0.1, 10)]) + rng.normal(size=40)
    centres, weights = nonparametric_prior(scores, np.ones(40), 0.0)
    density = np.exp(-0.5 * (scores[:, None] - centres) ** 2)
    gradient = (density / (density @ weights)[:, None]).mean(axis=0)
    assert weights.sum() == pytest.approx(1.0)
    assert gradient.max() < 1.01
    assert gradient[weights > 0.01] == pytest.approx(1.0, abs=0.02)


def test_draws_follow_their_priors():
    rng = np.random.default_rng(1)
    true = np.where(np.arange(200) < 100, 0.0, 4.0)
    errors = rng.standard_normal((200, 400))
    scores = true + rng.standard_normal(200)
    draws = draw_nonparametric(scores, errors, np.arange(200), 200, rng)
    assert draws[:100].mean() == pytest.approx(0.0, abs=0.3)
    assert draws[100:].mean() == pytest.approx(4.0, abs=0.3)
    assert np.abs(draws.mean(axis=1) - true).mean() < np.abs(scores - true).mean() / 2
    flat = draw_flat(scores, errors, 4.0, 2_000, rng)
    assert flat.mean(axis=1) == pytest.approx(scores, abs=0.2)
    assert np.median(flat.var(axis=1)) == pytest.approx(2.0, rel=0.2)  # t with 4 degrees


@pytest.mark.slow
def test_draws_about_one_centre_have_the_normal_width_in_any_unit():
    """The prior's width is 0.3 standard errors: 0.09 / 1.09 of the variance remains."""
    rng = np.random.default_rng(0)
    errors, scores = rng.standard_normal((20, 5_000)), rng.standard_normal(20)

    def drawn(scores, unit):
        models = np.arange(20)
        chance = np.random.default_rng(1)
        return draw_nonparametric(unit * scores, unit * errors, models, 2_000, chance) / unit

    assert drawn(np.zeros(20), 100.0).mean() == pytest.approx(0.0, abs=0.01)
    assert drawn(np.zeros(20), 100.0).std() == pytest.approx(np.sqrt(0.09 / 1.09), rel=0.02)
    assert drawn(scores, 100.0) == pytest.approx(drawn(scores, 1.0))


@pytest.mark.slow
def test_the_least_favourable_gaps_are_lower_confidence_bounds():
    held = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        true = np.array([1.0, 0.9, 0.9, 0.5])
        scores = true + 0.1 * rng.standard_normal(4)
        errors = 0.1 * rng.standard_normal((4, 400))
        gaps = least_favourable(scores, errors, largest_error(errors, 0.95))
        best = scores.argmax()
        held.append((gaps <= np.maximum(true[best] - true, 0) + 1e-12).all())
    assert np.mean(held) > 0.92
    assert least_favourable(np.array([9.0, 1.0]), errors[:2], 2.0)[1] > 7


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_degrees_of_freedom_give_the_spread_of_estimated_errors(share):
    """Errors of new samples vary as the chi-square distribution with these degrees says."""
    rng = np.random.default_rng(0)

    def values():
        difference = rng.choice([-1.0, 0.0, 1.0], 2_000, p=[share / 2, 1 - share, share / 2])
        return np.stack([difference, np.zeros(2_000)])

    errors = [np.std(values()[0]) for _ in range(500)]
    degrees = pair_degrees_of_freedom(values())
    assert np.std(errors) / np.mean(errors) == pytest.approx(np.sqrt(0.5 / degrees), rel=0.25)
    low, high = deviation_bounds(degrees, 0.95)
    inside = [low * error <= np.sqrt(share) <= high * error for error in errors]
    assert 0.9 < np.mean(inside) < 0.99


def test_degrees_of_freedom_are_the_median_over_all_pairs():
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(size=300), rng.exponential(size=300), rng.standard_t(3, 300)])
    # A pair that differs by a constant does not count; by rounding it is not quite constant.
    values = np.vstack([values, values[2] + 1.0])
    kurtosis = [
        stats.kurtosis(values[i] - values[j], fisher=False)
        for i, j in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
    ]
    expected = np.median(600 / (np.array(kurtosis) - 1))
    assert pair_degrees_of_freedom(values) == pytest.approx(expected)
    assert pair_degrees_of_freedom(values[2:]) == 299.0
    assert pair_degrees_of_freedom(values[:, :1]) == 1.0
    assert pair_degrees_of_freedom(values[:1]) == 299.0  # no pair


@pytest.mark.parametrize(("degrees", "resamples"), [(1e9, 100), (60, 1_000), (150, 150)])
def test_few_resamples_widen_the_interval_of_a_standard_error(degrees, resamples):
    rng = np.random.default_rng(0)
    of_rows = np.sqrt(rng.chisquare(degrees, 3_000) / degrees)
    estimated = of_rows * np.sqrt(rng.chisquare(resamples - 1, 3_000) / (resamples - 1))
    low, high = deviation_bounds(degrees_with_resamples(degrees, resamples), 0.95)
    held = ((low * estimated <= 1) & (high * estimated >= 1)).mean()
    assert held == pytest.approx(0.95, abs=0.02)


def test_intervals_of_a_plan_allow_for_its_resamples():
    rng = np.random.default_rng(0)
    scores, errors = np.array([0.8, 0.79]), 0.01 * rng.normal(size=(2, 100))
    plan = plan_rows(
        scores, scores[:, None] + errors, 10**6, greater_is_better=True, difference=0.03,
        test_rows=[10**6],
    )  # fmt: skip
    low, high = deviation_bounds(99, 0.95)
    ends = [paired_power(0.03, factor * plan.standard_error, 0.95) for factor in (high, low)]
    assert plan.rows[0].intervals["power"] == pytest.approx(ends, rel=1e-3)


def test_two_rows_are_the_fewest_that_can_be_planned():
    scores, errors = np.array([0.6, 0.5]), np.random.default_rng(0).normal(size=(2, 200))
    pilot = (scores, scores[:, None] + 0.1 * errors, 50)
    (row,) = plan_rows(*pilot, greater_is_better=True, test_rows=[2]).rows
    assert row.test_rows == 2
    with pytest.raises(UsageError, match="must be 2 or more"):
        plan_rows(*pilot, greater_is_better=True, test_rows=[1])


def kinds_of_boards(kind, m, rng):
    if kind == "long tail":
        return -rng.exponential(2.0, m)
    if kind == "leader and crowd":
        true = 0.3 * rng.normal(size=m)
        true[0] = true.max() + 2.5
        return true
    return np.where(np.arange(m) < m // 2, 0.15 * rng.normal(size=m), -3 + rng.normal(size=m))


def pilots_that_hold(kind, pilots, m=10, n=1_000):
    """Return how often each interval holds the figure of the true scores, by name."""
    grid, held = [n, 4 * n], {}
    for seed in range(pilots):
        rng = np.random.default_rng(seed)
        true = 0.8 + 0.01 * kinds_of_boards(kind, m, rng)
        scores = true + 0.01 * rng.normal(size=m)
        resampled = scores[:, None] + 0.01 * rng.normal(size=(m, 300))
        plan = plan_rows(
            scores, resampled, n, greater_is_better=True, difference=0.02, test_rows=grid, rng=rng
        )
        errors = 0.01 * rng.normal(size=(m, 2_000))
        until = rows_until_the_best_leads(true[:, None], errors, n)
        for row in plan.rows:
            scale = np.sqrt(n / row.test_rows)
            boards = true[:, None] + scale * errors[:, :200]
            widths, winners = widths_of(boards, errors, scale, row.test_rows)
            truth = {
                "best_wins": ((until <= row.test_rows).mean(), 0.02),
                "interval_width": (widths.mean(), 0.1),
                "winner_width": (winners.mean(), 0.2),
                "winner_shown": ((winners == 0).mean(), 0.03),
            }  # each with the error of its own simulation
            for name, (value, error) in truth.items():
                low, high = row.intervals[name]
                held.setdefault(name, []).append(low - error <= value <= high + error)
        for needed_rows in plan.best_wins_rows:
            value, most = np.quantile(until, needed_rows.probability), needed_rows.high or np.inf
            held.setdefault("rows", []).append(
                needed_rows.low <= 1.05 * value + 5 and value <= 1.05 * most
            )
    return {name: np.mean(own) for name, own in held.items()}


KINDS = ["long tail", "leader and crowd", "crowded top"]


@pytest.mark.campaign
@pytest.mark.parametrize("kind", KINDS)
def test_every_interval_holds_over_pilots(kind):
    for name, share in pilots_that_hold(kind, 100).items():
        assert share > 0.9, name  # 0.95 less 2.3 standard errors


@pytest.mark.slow
def test_a_range_over_two_priors_is_given():
    """Where a crowd leads, the normal prior promises more than the nonparametric one."""
    rng = np.random.default_rng(3)
    true = np.concatenate([0.85 + 0.001 * rng.normal(size=15), 0.78 + 0.01 * rng.normal(size=15)])
    scores = true + 0.01 * rng.normal(size=30)
    resampled = scores[:, None] + 0.01 * rng.normal(size=(30, 300))
    plan = plan_rows(scores, resampled, 1_000, greater_is_better=True, test_rows=[1_000, 16_000])
    for row in plan.rows:
        assert row.best_wins > row.best_wins_nonparametric
        low, high = row.intervals["best_wins"]
        assert low <= row.best_wins_nonparametric <= row.best_wins <= high
    assert plan.best_wins_rows[0].high is None


# -- the parts -------------------------------------------------------------------------------------


def tiny(m=2, n=4, **changes):
    """Return a plan that takes milliseconds."""
    scores = 0.5 + 0.02 * np.arange(m)[::-1]
    resampled = scores[:, None] + 0.01 * np.random.default_rng(0).normal(size=(m, 100))
    return plan_rows(scores, resampled, n, greater_is_better=True, **changes)


def test_figures_of_a_plan_and_of_its_parts_are_kept():
    """Six submissions, of which two are tied and two nearly; smaller draws than those of a plan."""
    rng = np.random.default_rng(5)
    scores = np.array([0.9, 0.85, 0.85, 0.8, 0.79, 0.6])
    errors = 0.03 * rng.normal(size=(6, 40))
    taus = 0.5 + 0.1 * np.cos(np.arange(25))
    agreements = {"worse": taus - 0.4, "best": taus, "equal": taus, "near": taus**2}
    targets = {
        target.label: target
        for target in (RankTarget(1, True), RankTarget(2, True), *targets_for(6, 4, 3))
    }
    document = {
        "plan": tiny(12, 100, test_rows=[100]).to_dict(),
        "losses, at another level": plan_rows(
            np.array([0.9, 0.8, 0.75]),
            np.array([[0.9], [0.8], [0.75]]) + errors[:3],
            60,
            greater_is_better=False,
            test_rows=[30],
            level=0.9,
        ).to_dict()["rows"],
        "targets": {
            name: {
                "rows": rows_until(scores[:, None], errors, 50, target)[:4],
                "least favourable": least_favourable_for(scores, errors, target, 1.5),
                "right": [
                    share_right(true, errors, target)
                    for true in (scores, scores + 0.01 * np.arange(6) ** 2)
                ],
                "ties": has_ties(scores, target),
            }
            for name, target in targets.items()
        },
        "priors": {
            "share of chance": shrinkage(scores, errors),
            "normal": draw_normal(scores, errors, np.arange(3), 2, np.random.default_rng(2)),
            "flat": draw_flat(scores, errors, 5.0, 2, np.random.default_rng(2)),
            "atoms": draw_nonparametric(
                scores, errors, np.array([0, 5]), 3, np.random.default_rng(2)
            ),
        },
        "boards": board_widths(
            scores[:, None] + errors[:, :5], 2 * pair_errors(errors), pair_errors(errors)
        ),
        "degrees": pair_degrees_of_freedom(errors),
        "metrics of few submissions": {
            str(m): [asdict(row) for row in compare_metrics(agreements, 0.9, m)]
            for m in (2, 3, 4, 5)
        },
    }
    check_kept_document("plan-figures", as_json(document))


def test_places_in_order_and_the_top_need_others_behind_them():
    assert targets_for(3, 3, 3) == (RankTarget(2, True),)
    assert targets_for(4, 3, 3) == (RankTarget(2, True), RankTarget(3, True), RankTarget(3, False))
    assert targets_for(9, 1, 1) == ()
    assert targets_for(9, 1, 2) == (RankTarget(2, False),)
    for scores, first, second, top in (
        ([3, 2, 2, 1], False, True, True), ([2, 2, 1, 0], True, True, False),
        ([3, 2, 1, 1], False, False, False),
    ):  # fmt: skip
        true = np.array(scores, dtype=float)
        assert has_ties(true, RankTarget(1, ordered=True)) == first
        assert has_ties(true, RankTarget(2, ordered=True)) == second
        assert has_ties(true, RankTarget(2, ordered=False)) == top


def test_no_grid_has_fewer_than_two_rows():
    assert [row.test_rows for row in tiny().rows] == [2, 2, 4, 8, 16, 32, 64]


@pytest.mark.slow
def test_prize_places_and_the_top_ten_are_planned():
    planned = tiny(12, 100, test_rows=[100]).targets
    assert [(need.target.size, need.target.ordered) for need in planned] == [
        (2, True), (3, True), (10, False),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_plan_is_for_the_best_fifty():
    plan = tiny(52, 100, test_rows=[100])
    assert (plan.submissions, plan.copies) == (50, 0)


@pytest.mark.parametrize(
    ("given", "degrees"),
    [
        ({}, 99.0),
        ({"n_units": 20}, 19.0),
        ({"n_units": 1}, 1.0),
        ({"n_units": 20, "degrees_of_freedom": 7.5}, 7.5),
    ],
)
def test_degrees_of_freedom_are_given_or_one_less_than_the_units(given, degrees):
    plan = tiny(2, 100, test_rows=[100], **given)
    assert plan.degrees_of_freedom == degrees
    low, high = deviation_bounds(degrees_with_resamples(degrees, 100), 0.95)
    for row in plan.power_rows:  # a standard error that is larger by a factor needs its square
        assert row.low == pytest.approx(row.test_rows * low**2, abs=1 + low**2)
        assert row.high == pytest.approx(row.test_rows * high**2, abs=1 + high**2)


def test_a_plan_without_a_generator_has_seed_0():
    explicit = tiny(3, 100, test_rows=[100], rng=np.random.default_rng(0))
    assert tiny(3, 100, test_rows=[100]) == explicit


def test_pairs_that_always_differ_by_the_same_have_no_error():
    """Three submissions err alike: the median is over the three pairs with the fourth."""
    resampled_scores = np.random.default_rng(0).normal(0.5, 0.02, (2, 300))
    resampled = np.vstack(
        [resampled_scores[0] + np.array([[0.3], [0.2], [0.1]]), resampled_scores[1]]
    )
    plan = plan_rows(
        np.array([0.8, 0.7, 0.6, 0.5]), resampled, 400, greater_is_better=True, test_rows=[400]
    )
    assert plan.standard_error == pytest.approx(
        np.std(resampled_scores[0] - resampled_scores[1], ddof=1)
    )


def test_a_row_of_a_plan_is_written_with_its_intervals():
    row = PlanRow(
        test_rows=100,
        power=0.8,
        power_corrected=0.7,
        interval_width=1.5,
        winner_width=0.5,
        winner_shown=0.4,
        best_wins=None,
        best_wins_nonparametric=0.6,
        intervals={"power": (0.1, 0.9)},
    )
    assert row.to_dict() == {
        "test_rows": 100, "power": 0.8, "power_corrected": 0.7, "interval_width": 1.5,
        "winner_width": 0.5, "winner_shown": 0.4, "best_wins": None,
        "best_wins_nonparametric": 0.6, "power_low": 0.1, "power_high": 0.9,
    }  # fmt: skip


@pytest.mark.parametrize(("level", "pairs"), [(0.95, 1), (0.9, 6)])
def test_the_rows_for_a_power_are_those_of_the_formula(level, pairs):
    z = stats.norm.isf((1 - level) / 2 / pairs)
    for power in (0.5, 0.8):
        needed_rows = PairedTestPower(0.02, 0.3, pairs, 50, level, (0.9, 1.2)).rows_for(power)
        rows = 50 * ((z + stats.norm.ppf(power)) * 0.3 / 0.02) ** 2
        assert (needed_rows.probability, needed_rows.nonparametric) == (power, None)
        assert (needed_rows.test_rows, needed_rows.low, needed_rows.high) == tuple(
            np.ceil(rows * factor) for factor in (1.0, 0.81, 1.44)
        )


def test_what_decides_on_a_board_is_infinite_for_pairs_without_an_error():
    deviations = np.array([[0.0, 0.3], [0.3, 0.0]])
    deciding = DecidingDifferences(deviations, 2.2, 0.95, 0.5, 2.0)
    critical = board_critical_value(2.2, 0.025 / 2, 0.5 * 60, 2.0 * 60)
    assert deciding.critical_value(60) == critical
    of_leader = stats.t.isf(0.0125 / 2, 30)  # two-sided at a quarter of 5%, not corrected
    for decides, value in zip(deciding.on_the_pilot(60), (critical, of_leader), strict=True):
        assert decides[0, 1] == decides[1, 0] == pytest.approx(0.3 * value)
        assert np.isinf(decides.diagonal()).all()


def scenarios(until, worst=(0.0, -1.0, -1.0), level=0.9, **changes):
    """Return scenarios of three submissions on 100 rows."""
    rng = np.random.default_rng(7)
    worst = np.array(worst)
    deviations = pair_errors(rng.normal(size=(len(worst), 50)))
    fields = {
        "draws": [rng.normal(size=(len(worst), 41)) for _ in until],
        "worst": worst,
        "until": until,
        "deciding": DecidingDifferences(deviations, 2.4, level, 1.0, 1.0),
        "fresh": rng.normal(size=(len(worst), 470)),
        "n_rows": 100,
        "level": level,
    }
    return ScoreScenarios(**fields | changes)


COUNTED = 10.3 * np.arange(41)[:, None] + np.arange(10)
"""``(41, 10)`` rows: 41 scenarios, and ten errors in each."""


def test_the_interval_of_the_rows_is_of_all_scenarios():
    """At a level of 0.9 a quarter of 10% is left out: one of 40 steps from the smallest."""
    scenario = scenarios([COUNTED + 900, COUNTED])
    low, high = scenario.rows_for(0.5)
    assert low == np.ceil(10.3 + 4)  # five of ten errors: the fifth smallest
    assert scenarios([COUNTED]).rows_for(0.8)[0] == np.ceil(10.3 + 7)
    # The least favourable case: how many rows until the first of 470 errors leads the others.
    lag = (scenario.fresh[1:] - scenario.fresh[0]).max(axis=0)
    needed = np.sort(100 * np.maximum(lag, 0) ** 2)
    assert high == np.ceil(needed[234])
    many = scenarios([COUNTED + 9_000]).rows_for(0.5)
    assert many == (np.ceil(9_010.3 + 4),) * 2  # never fewer than the lower end
    assert scenarios([COUNTED], worst=(0.0, 0.0, -1.0)).rows_for(0.5)[1] is None


def test_the_interval_of_winning_is_of_all_scenarios():
    # Of fifty errors the first s need no more than 400 rows in scenario s.
    counts = np.where(np.arange(50) < np.arange(41)[:, None], 400.0, 400.5)
    scenario = scenarios([counts + 1_000, counts])
    interval = scenario.intervals(400)["best_wins"]
    boards = scenario.worst[:, None] + 0.5 * scenario.fresh[:, :160]
    assert interval[0] == (boards.argmax(axis=0) == 0).mean()
    assert interval[1] == pytest.approx(39 / 50)  # one of 40 steps from the largest
    tied = scenarios([counts], worst=(0.0, 0.0, -1.0))
    boards = tied.worst[:, None] + 0.5 * tied.fresh[:, :160]
    assert tied.intervals(400)["best_wins"][0] == (boards.argmax(axis=0) < 2).mean() / 2


def test_the_intervals_of_widths_are_of_all_scenarios_and_the_worst():
    class Known(ScoreScenarios):
        """Widths that are the numbers of the scenarios, each figure of another size."""

        def _widths(self, true, rows, times=1):
            assert rows == 400
            count = true.shape[1]
            scale = np.array([1.0, 10.0, 100.0])
            if count == 1:  # the least favourable case
                assert times > 1
                return tuple(scale[:, None] * self.worst_width)
            offset = 5.0 if np.shares_memory(true, self.draws[1]) else 0.0
            return tuple(scale[:, None] * (offset + np.arange(41.0)))

    known_scenarios = scenarios([COUNTED, COUNTED])
    values = [getattr(known_scenarios, name) for name in known_scenarios.__dataclass_fields__]
    for worst, ends in ((20.0, (1.0, 44.0)), (0.5, (0.5, 44.0)), (90.0, (1.0, 90.0))):
        known_widths = Known(*values)
        Known.worst_width = worst
        intervals = known_widths.intervals(400)
        for name, unit in (("interval_width", 1), ("winner_width", 10), ("winner_shown", 100)):
            assert intervals[name] == pytest.approx((unit * ends[0], unit * ends[1]))


def test_the_widths_of_a_scenario_are_means_over_its_own_boards():
    """Sixteen boards each, with the next sixteen errors; after the last comes the first again."""
    scenario = scenarios([COUNTED])
    true = scenario.draws[0]
    for times, columns in ((1, 41), (10, 3)):
        mean_widths = scenario._widths(true[:, :columns], 400, times)
        number = 16 * times
        needed = [0.5 * decides for decides in scenario.deciding.on_the_pilot(400)]
        for s in range(columns):
            picked = [(s * number + b) % 470 for b in range(number)]
            boards = true[:, [s]] + 0.5 * scenario.fresh[:, picked]
            widths, winners = board_widths(boards, *needed)
            expected = widths.mean(), winners.mean(), (winners == 0).mean()
            assert [means[s] for means in mean_widths] == pytest.approx(expected)


@pytest.mark.parametrize("whole", [True, False])
def test_a_target_is_planned_like_the_first_place(whole):
    """Every figure of a target, by its definition, from errors that are whole numbers or not."""
    rng = np.random.default_rng(3)
    fresh = rng.integers(-2, 3, (4, 430)).astype(float)
    by_prior = [np.cumsum(rng.integers(1, 3, (4, 430)), axis=0)[::-1] * 1.0 for _ in range(2)]
    draws = [own[:, :41] for own in by_prior]
    if not whole:
        draws = [own * rng.uniform(0.2, 2.0, 41) for own in draws]
        fresh += rng.normal(size=fresh.shape)
    target, grid = RankTarget(2, ordered=True), [50, 100, 400]
    score_scenarios = scenarios([COUNTED], draws=draws, fresh=fresh)
    worst = np.array([3.0, 2.0, 1.0, 0.5])
    plan_of_target = target_plan(target, score_scenarios, by_prior, worst, grid)
    until = [rows_until(own, fresh, 100, target) for own in by_prior]
    some = fresh[:, 30:]
    spread = [
        [np.sort(rows_until(own[:, [s]], some, 100, target)) for s in range(41)] for own in draws
    ]
    for share, rows in zip(plan_of_target.shares, grid, strict=True):
        points = [(own <= rows).mean() for own in until]
        assert (share.nonparametric, share.normal) == tuple(points)
        least = share_right(worst, np.sqrt(100 / rows) * fresh, target)
        assert share.low == min(least, *points)
        most = [np.sort([(own <= rows).mean() for own in prior])[39] for prior in spread]
        assert share.high == pytest.approx(max(*most, *points))
    at_worst = np.sort(rows_until(worst[:, None], fresh, 100, target))
    assert [needed_rows.probability for needed_rows in plan_of_target.needed] == [
        0.5,
        0.8,
        0.9,
        0.95,
    ]
    for needed_rows in plan_of_target.needed:
        place = int(np.ceil(needed_rows.probability * 430 - 1e-9)) - 1
        assert needed_rows.nonparametric == np.ceil(np.sort(until[0])[place])
        assert needed_rows.test_rows == np.ceil(np.sort(until[1])[place])
        own_place = int(np.ceil(needed_rows.probability * 400 - 1e-9)) - 1
        smallest = [np.sort([own[own_place] for own in prior])[:3] for prior in spread]
        low = min(own[1] for own in smallest)
        assert needed_rows.low == np.ceil(low)
        assert whole or np.ceil(low) > min(np.ceil(own[0]) for own in smallest)
        assert needed_rows.high == max(np.ceil(at_worst[place]), needed_rows.low)
    alone = target_plan(target, score_scenarios, by_prior[:1], worst, grid)
    assert (
        {need.normal for need in alone.shares}
        == {need.test_rows for need in alone.needed}
        == {None}
    )
    tied = target_plan(target, score_scenarios, by_prior, worst * 0, grid)
    assert {need.high for need in tied.needed} == {None}


def test_scenarios_are_eighty_draws_of_each_prior_with_the_last_errors():
    rng = np.random.default_rng(2)
    prior, flat, fresh = (rng.normal(size=(3, columns)) for columns in (100, 80, 450))
    gaps = np.array([0.0, 0.5, 0.75])
    deciding = DecidingDifferences(np.ones((3, 3)), 2.4, 0.9, 1.0, 1.0)
    scenarios = ScoreScenarios.of([prior], flat, gaps, deciding, fresh, 100, 0.9)
    assert scenarios.worst.tolist() == [0.0, -0.5, -0.75]
    for draws, of_prior, until in zip(
        scenarios.draws, (flat, prior[:, :80]), scenarios.until, strict=True
    ):
        np.testing.assert_array_equal(draws, of_prior)
        assert until.shape == (80, 400)
        for s in (0, 7, 79):
            again = rows_until_the_best_leads(of_prior[:, [s]], fresh[:, 50:], 100)
            np.testing.assert_array_equal(until[s], again)


@pytest.mark.parametrize(
    ("m", "level", "n_units", "degrees", "critical", "freedom"),
    [
        (4, 0.95, 50, 1e6, 2.6, 49),
        (4, 0.95, 49, 1e6, stats.norm.isf(0.05 / 12), 48),  # Bonferroni below fifty units
        (4, 0.95, 49, 7.0, stats.norm.isf(0.05 / 12), 7),
        (3, 0.9, 200, 0.5, 2.6, 1),
        (3, 0.9, 200, 1.5, 2.6, 1.5),
        (2, 0.5, 2, 1e6, stats.norm.isf(0.25), 1),  # log2(2 / 0.5): as many as are needed
    ],
)
def test_what_decides_on_a_board_is_students_value(m, level, n_units, degrees, critical, freedom):
    critical_value = board_critical_value(2.6, (1 - level) / (m * (m - 1)), degrees, n_units)
    assert critical_value == pytest.approx(stats.t.isf(stats.norm.sf(critical), freedom), rel=1e-9)


def test_too_few_units_for_any_sign_test_decide_nothing():
    assert board_critical_value(2.6, 0.25, 1e6, 1.99) == np.inf
    assert board_critical_value(2.6, 0.05 / 12, 1e6, 7) == np.inf  # log2(12 / 0.05) is 7.9
    assert np.isfinite(board_critical_value(2.6, 0.05 / 12, 1e6, 8))


def test_a_difference_that_is_just_what_decides_is_not_decided():
    needed = np.full((2, 2), 0.5)
    boards = np.array([[1.5, 1.75], [1.0, 1.0]])
    for pair, alone in ((needed, np.full((2, 2), 9.0)), (np.full((2, 2), 9.0), needed)):
        widths, winners = board_widths(boards, pair, alone)
        assert widths[0].tolist() == [1.0, 1.0]
        assert winners.tolist() == [1.0, 0.0]


def test_a_leader_that_is_clear_of_each_other_one_is_shown():
    boards = np.array([[1.5, 1.5], [1.0, 1.2], [1.0, 1.0]])
    widths, winners = board_widths(boards, np.full((3, 3), 9.0), np.full((3, 3), 0.4))
    assert winners.tolist() == [0.0, 2.0]
    assert widths.tolist() == [[0.0, 1.0, 1.0], [2.0, 2.0, 2.0]]


def test_a_test_without_an_error_finds_every_difference():
    for difference, power in ((0.0, 0.0), (1.0, 1.0), (-0.5, 1.0)):
        assert paired_power(difference, 0.0, 0.95) == power
    assert paired_power(3.0, 1.0, 0.95) == pytest.approx(stats.norm.sf(1.959964 - 3), abs=1e-6)


def test_neither_the_unit_nor_the_origin_of_values_matters():
    rng = np.random.default_rng(0)
    values = rng.standard_t(4, size=(3, 200))
    kurtosis = [
        stats.kurtosis(values[i] - values[j], fisher=False) for i, j in [(0, 1), (0, 2), (1, 2)]
    ]
    expected = np.median(400 / (np.array(kurtosis) - 1))
    moved = values + np.array([[1e7], [0.0], [0.0]])
    for scores in (values, 1e-7 * values, moved):
        assert pair_degrees_of_freedom(scores) == pytest.approx(expected, rel=1e-6)
    assert pair_degrees_of_freedom(np.zeros((2, 30))) == 29.0  # no pair that differs
    even = np.tile([1.0, -1.0], 15)  # the smallest kurtosis, 1
    assert pair_degrees_of_freedom(np.stack([even, np.zeros(30)])) == 29.0
    assert pair_errors(1e-7 * values) == pytest.approx(1e-7 * pair_errors(values))


def test_normal_errors_have_the_covariance_of_the_given_ones():
    errors = np.random.default_rng(0).normal(size=(3, 5)) * [[1.0], [2.0], [5.0]] + 10
    normal = normal_errors(errors, np.random.default_rng(1))
    assert normal.shape == (3, 4_000)
    assert normal.mean(axis=1) == pytest.approx(0, abs=0.3)
    size = np.sqrt(np.outer(np.var(errors, axis=1, ddof=1), np.var(errors, axis=1, ddof=1)))
    assert np.cov(normal) / size == pytest.approx(np.cov(errors) / size, abs=0.08)
