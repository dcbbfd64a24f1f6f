"""Every quantity of a plan, held to a simulation of what it claims."""

from __future__ import annotations

import numpy as np
import pytest

from arena.errors import UsageError
from arena.simulation.planned_uncertainty import paired_power, shrinkage, single_step_widths
from arena.simulation.planning import plan_rows

TRUE = np.array([0.83, 0.82, 0.80, 0.80, 0.77])


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


@pytest.mark.parametrize(("difference", "rows"), [(0.1, 400), (0.03, 2_000), (0.2, 100)])
def test_power_is_that_of_statsmodels(difference, rows):
    from statsmodels.stats.power import TTestPower, normal_power

    error = 1 / np.sqrt(rows)
    for comparisons in (1, 10):
        found = paired_power(difference, error, 0.95, comparisons)
        given = {"nobs": rows, "alpha": 0.05 / comparisons}
        assert found == pytest.approx(normal_power(difference, **given), abs=1e-12)
        exact = TTestPower().power(difference, **given, alternative="two-sided")
        assert found == pytest.approx(exact, abs=0.02)  # the t distribution has wider tails


def test_shrinkage_finds_how_much_is_chance():
    rng = np.random.default_rng(0)
    true = rng.normal(size=400)
    errors = rng.normal(scale=1.0, size=(400, 200)) + rng.normal(size=200)
    found = shrinkage(true + rng.normal(size=400) + 3.0, errors)
    assert found == pytest.approx(np.sqrt(0.5), abs=0.05)
    assert shrinkage(np.array([1.0, 1.0]), errors[:2]) == 0.0


def test_the_best_wins_as_often_as_is_said():
    """Over many worlds whose truth is known: the mean of what is said is the mean of what is."""
    m, n, grid = 12, 2_000, [500, 2_000, 8_000]
    said, happened = [], []
    for world in range(60):
        rng = np.random.default_rng(world)
        true = 0.01 * rng.normal(size=m)
        mixing = 0.007 * (np.eye(m) + 0.3 * rng.normal(size=(m, m)))
        scores = true + mixing @ rng.normal(size=m)
        resampled = scores[:, np.newaxis] + mixing @ rng.normal(size=(m, 100))
        made = plan_rows(
            scores, resampled, n, greater_is_better=True, difference=0.01, test_rows=grid, rng=rng
        )
        errors = mixing @ rng.normal(size=(m, 300))
        boards = [true[:, np.newaxis] + np.sqrt(n / rows) * errors for rows in grid]
        if made.shrinkage:
            said.append([row.best_wins for row in made.rows])
            happened.append([(board.argmax(axis=0) == true.argmax()).mean() for board in boards])
    assert len(said) >= 45
    error = np.std(np.subtract(said, happened), axis=0) / np.sqrt(len(said))
    assert (np.abs(np.mean(said, axis=0) - np.mean(happened, axis=0)) < 3 * error).all()


@pytest.mark.slow
def test_widths_are_those_of_real_boards():
    """Interval widths of fresh boards, by the analysis that ranks them, with its stepdown."""
    from arena_ranking.differences import standard_errors_from_values
    from arena_ranking.simultaneous import rank_intervals

    scores, resampled = pilot(2_000, 500)
    grid = [500, 2_000, 8_000]
    made = plan_rows(scores, resampled, 2_000, greater_is_better=True, test_rows=grid)
    for row in made.rows:
        widths = []
        for board in range(30):
            values = rows_of(row.test_rows, np.random.default_rng(100 + board))
            weights = np.random.default_rng(board).multinomial(
                row.test_rows, np.full(row.test_rows, 1 / row.test_rows), size=300
            )
            found = rank_intervals(
                values.mean(axis=1),
                values @ weights.T / row.test_rows,
                standard_errors=standard_errors_from_values(values),
            )
            widths.append(np.mean(found.high - found.low))
        assert row.interval_width == pytest.approx(np.mean(widths), abs=0.6)


def test_errors_scale_with_the_rows():
    """A pilot of four times the rows says the same of a number of rows."""
    (small, few), (large, many) = pilot(1_000, 800), pilot(4_000, 800, seed=3)
    given = {"greater_is_better": True, "difference": 0.02, "test_rows": [4_000]}
    one = plan_rows(small, few, 1_000, **given).rows[0]
    other = plan_rows(large, many, 4_000, **given).rows[0]
    assert one.power == pytest.approx(other.power, abs=0.12)


def test_widths_cover_the_truth():
    """Boards simulated by the same normal errors are covered at the level, all ranks at once."""
    rng = np.random.default_rng(0)
    errors = 0.01 * (rng.normal(size=(5, 1_000)) + rng.normal(size=1_000))
    fresh = 0.01 * (rng.normal(size=(5, 200)) + rng.normal(size=200))
    boards = [TRUE[:, np.newaxis] + scale * fresh for scale in (1.0, 0.1)]
    wide, _ = single_step_widths(boards[0], errors, 0.95, 1.0)
    narrow, winners = single_step_widths(boards[1], errors, 0.95, 0.1)
    assert wide.mean() > narrow.mean()
    assert (wide <= 4).all()
    assert winners.mean() == 0.0
    # The third and fourth are equal: apart from errors at the level nothing decides them.
    assert (narrow[:, 2] >= 1).mean() > 0.93
    assert (narrow[:, 2] >= 1).mean() == (narrow[:, 3] >= 1).mean()


def test_smaller_is_better_is_the_mirror_image():
    scores, resampled = pilot(500, 200)
    up = plan_rows(scores, resampled, 500, greater_is_better=True, difference=0.01)
    down = plan_rows(-scores, -resampled, 500, greater_is_better=False, difference=0.01)
    assert up.to_dict() == down.to_dict()
    assert [pair["power"] for pair in up.to_dict()["power_rows"]] == [0.5, 0.8, 0.9, 0.95]
    needed = dict(up.power_rows)[0.8]
    there = plan_rows(
        scores, resampled, 500, greater_is_better=True, difference=0.01, test_rows=[int(needed)]
    )
    assert there.rows[0].power_corrected == pytest.approx(0.8, abs=1e-3)


def test_what_chance_alone_explains_has_no_best():
    errors = np.random.default_rng(0).normal(size=(4, 300))
    scores = np.array([0.1, 0.0, 0.05, 0.02])
    made = plan_rows(scores, scores[:, None] + errors, 100, greater_is_better=True)
    assert made.shrinkage == 0.0
    assert made.rows[0].best_wins is None
    assert made.best_wins_rows[0][1] is None


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


def test_whoever_ties_with_the_best_may_be_best():
    """Two leaders of equal scores do not keep the best from winning, and split the first place."""
    scores, resampled = pilot(2_000, 500)
    first, second = np.argsort(scores)[:-3:-1]
    resampled[second] += scores[first] - scores[second]
    scores[second] = scores[first]
    made = plan_rows(scores, resampled, 2_000, greater_is_better=True, test_rows=[2_000, 10**6])
    assert made.difference == pytest.approx(scores.max() - np.sort(scores)[-3])
    assert 0.3 < made.rows[0].best_wins < made.rows[1].best_wins
    assert made.rows[1].best_wins > 0.9


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"level": 1.0}, "level"),
        ({"test_rows": [1]}, "2 or more"),
        ({"difference": -1.0}, "positive"),
    ],
)
def test_refusals(change, said):
    scores, resampled = pilot(100, 50)
    with pytest.raises(UsageError, match=said):
        plan_rows(scores, resampled, 100, greater_is_better=True, **change)
    with pytest.raises(UsageError, match="two"):
        plan_rows(scores[:1], resampled[:1], 100, greater_is_better=True)
    with pytest.raises(UsageError, match="state one"):
        plan_rows(np.ones(5), resampled, 100, greater_is_better=True)
