"""Truth, tests and what becomes of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

import arena
from arena.errors import MetricError, UsageError
from arena.simulation.data import Population
from arena.simulation.ranks.draws import draw_test, draw_tests
from arena.simulation.ranks.outcome import (
    rank_quantiles,
    rows_until_best_wins,
    win_frequency,
    wins_of_sets,
)
from arena.simulation.ranks.scores import ModelScores, score_models
from arena.simulation.ranks.study import compare_ranks, rows_for_probabilities
from arena.simulation.ranks.submission import shape_for
from arena.simulation.requests import RanksRequest
from arena.utils.tabular import as_json


def _scores(world, manager, folder, metric, **changes):
    resolved = manager.metrics.resolve(metric)
    options = {"test_rows": (200, 800), "tests": 30, "seed": 1, **changes}
    count = options.pop("count", 12)
    return score_models(
        world, resolved, folder, count, options.pop("test_rows"), options.pop("tests"), **options
    )


@pytest.mark.slow
def test_truth_is_the_mean_over_all_labels(world, manager, folder):
    """The exact truth is what scikit-learn has with every label weighted by its chance."""
    scores = _scores(world, manager, folder, "roc_auc").true
    chance = world.population.chance / 100
    both = np.repeat([1, 0], len(chance))
    for number in (0, 11):
        twice = np.tile(folder.get(number), 2)
        weight = np.concatenate([chance, 1 - chance])
        expected = roc_auc_score(both, twice, sample_weight=weight)
        assert scores[number] == pytest.approx(expected, abs=1e-11)


def test_tests_are_scored_as_rows(world, manager, folder):
    scores = _scores(world, manager, folder, "log_loss", tests=3)
    test = draw_test(world.population, 200, 2, 1, n_classes=None)
    expected = log_loss(test.target, folder.get(5)[test.rows].astype(float))
    assert scores.competition[200][5, 2] == pytest.approx(expected, rel=1e-9)
    assert not scores.greater_is_better


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["roc_auc", "accuracy", "log_loss", "f1", "brier"])
def test_tests_are_unbiased(world, manager, folder, metric):
    """The mean over many tests is the truth, within four standard errors."""
    scores = _scores(world, manager, folder, metric, test_rows=(2_000,), tests=200, count=3)
    errors = scores.competition[2_000] - scores.true[:, np.newaxis]
    standard_errors = errors.std(axis=1, ddof=1) / np.sqrt(200)
    bias = 2e-3 if metric == "f1" else 0  # a ratio is biased in finite tests
    assert (np.abs(errors.mean(axis=1)) < 4 * standard_errors + bias).all()


def test_same_numbers_for_more_models_tests_and_workers(world, manager, folder):
    few = _scores(world, manager, folder, "roc_auc", tests=4, count=3)
    many = _scores(world, manager, folder, "roc_auc", tests=9, workers=2)
    for rows in (200, 800):
        assert (many.competition[rows][:3, :4] == few.competition[rows]).all()
    assert (many.true[:3] == few.true).all()


def test_black_box_metric_has_the_drawn_labels_for_truth(world, manager, folder):
    scores = _scores(world, manager, folder, "sklearn:jaccard_score", tests=2, count=1)
    from sklearn.metrics import jaccard_score

    expected = jaccard_score(world.population.target, folder.get(0) >= 0.5)
    assert scores.true[0] == pytest.approx(expected, rel=1e-9)


def test_populations_and_classes_that_do_not_reach(world, manager):
    with pytest.raises(UsageError, match="population"):
        draw_tests(world.population, 5_000, 2, 0, n_classes=None)
    rare = Population(np.zeros((900, 1)), np.arange(900) == 0)
    with pytest.raises(MetricError, match="rare"):
        draw_test(rare, 2, 0, 0, n_classes=3)
    with pytest.raises(MetricError, match="labels"):
        shape_for(manager.metrics.resolve("rmse"), 2)
    with pytest.raises(MetricError, match="numbers"):
        shape_for(manager.metrics.resolve("roc_auc"), None)


def test_win_frequency_averages_over_sets_of_models():
    true = np.array([0.9, 0.8, 0.9, 0.7])
    # The best of the first set wins 3 of 4 tests, and of the second shares one and wins two.
    competition = np.array([[9, 9, 9, 1], [1, 1, 1, 9], [9, 9, 5, 1], [1, 1, 5, 9]], dtype=float)
    scores = ModelScores(true, {100: competition}, greater_is_better=True)
    frequencies = win_frequency(scores, 100, 2)
    assert frequencies.frequency == pytest.approx((0.75 + 2.5 / 4) / 2)
    assert frequencies.populations == 2
    assert frequencies.low < frequencies.frequency < frequencies.high
    assert win_frequency(scores, 100, 4).populations == 1


def test_rank_quantiles_by_hand():
    competition = np.array([[1.0, 1.0, 2.0, 3.0], [2.0, 2.0, 1.0, 2.0], [3.0, 3.0, 3.0, 1.0]])
    scores = ModelScores(np.array([2.0, 1.0, 3.0]), {9: competition}, greater_is_better=False)
    quantiles = rank_quantiles(scores, 9, 3)
    assert quantiles.models.tolist() == [1, 0, 2]
    assert quantiles.quantiles.tolist() == [[1, 2, 2, 2], [1, 1, 3, 3], [1, 3, 3, 3]]


def test_rows_until_best_wins_against_trying_every_number():
    rng = np.random.default_rng(0)
    true, errors = rng.normal(size=6), rng.normal(size=(6, 300))
    needed = rows_until_best_wins(true, errors, 50, greater_is_better=False)
    best = true.argmin()
    for rows in (5, 50, 500, 50_000):
        scores = true[:, np.newaxis] + np.sqrt(50 / rows) * errors
        assert (scores.argmin(axis=0) == best).mean() == (needed <= rows).mean()


def test_any_of_equally_good_models_may_win():
    errors = np.array([[0.0, 0.2, 0.0], [0.1, 0.1, 0.0], [0.3, 0.0, 0.05]])
    true = np.array([0.5, 0.5, 0.4])
    needed = rows_until_best_wins(true, errors, 10, greater_is_better=True)
    assert needed == pytest.approx([10 * 2**2, 0, 10 * 0.5**2])
    tied = ModelScores(true, {10: true[:, np.newaxis] + errors}, greater_is_better=True)
    assert wins_of_sets(tied, 10, 3).tolist() == [[0.0, 1.0, 1.0]]


@pytest.mark.slow
def test_simulation_as_a_whole(world, manager, folder):
    settings = RanksRequest(
        test_rows=(200, 800), competitors=(4, 12), tests=20, boards=4, resamples=100
    )
    judges = manager.rankers.resolve("simultaneous"), manager.analyses.resolve("ranks")
    metric = manager.metrics.resolve("roc_auc")
    simulation = compare_ranks(world, metric, *judges, folder, settings)
    again = compare_ranks(world, metric, *judges, folder, settings, workers=2)
    assert simulation.to_dict() == again.to_dict()
    by_grid = {
        (frequency.test_rows, frequency.competitors): frequency.frequency
        for frequency in simulation.win_frequency
    }
    assert by_grid[800, 12] >= by_grid[200, 12]
    intervals = [coverage for coverage in simulation.coverage if coverage.kind == "intervals"]
    spreads = [row for row in simulation.coverage if row.kind == "spread"]
    assert min(interval.each for interval in intervals) > 0.95
    assert spreads[1].all_ranks < intervals[1].all_ranks
    assert simulation.boards[3].true_ranks.shape == (12,)


@pytest.mark.parametrize(
    "change",
    [
        {"test_rows": ()},
        {"competitors": (1,)},
        {"tests": 1},
        {"boards": 99},
        {"level": 1.0},
        {"level": 0.0},
        {"resamples": 1},
        {"seed": -1},
    ],
)
def test_settings_out_of_range(change):
    with pytest.raises(UsageError):
        dataclasses.replace(RanksRequest(), **change)


def test_models_that_a_constant_prediction_equals_get_no_verdict(world, folder):
    """With ties at the top, or nothing better than a constant, nothing follows about the rows."""
    from dataclasses import replace

    from arena.plugin.manager import PluginManager
    from arena.simulation.ranks.study import simulation_verdict

    n_models = 12

    settings = RanksRequest(test_rows=(100,), competitors=(n_models,), tests=4, boards=0)
    manager = PluginManager()
    judges = manager.rankers.resolve("simultaneous"), manager.analyses.resolve("ranks")
    metric = manager.metrics.resolve("accuracy")
    result = compare_ranks(world, metric, *judges, folder, settings)
    chance = world.population.chance / 100
    assert result.scores.constant == pytest.approx(max(chance.mean(), 1 - chance.mean()))
    assert "the truly best one wins" in simulation_verdict(result)
    assert "This is one set of models" in simulation_verdict(result)
    needed = next(row for row in result.rows_needed if row.probability == 0.9)
    far = replace(result, rows_needed=(replace(needed, rows=1_125_069_711.0),))
    assert "more than 10,000 rows would be needed" in simulation_verdict(far)
    tied = replace(result.scores, true=np.full(n_models, 0.9))
    verdict = simulation_verdict(replace(result, scores=tied))
    assert verdict.startswith(f"{n_models} of {n_models} submissions share the best score, 0.9.")
    assert "no meaning" in verdict
    assert "wins" not in verdict
    useless = replace(result.scores, true=result.scores.constant - 0.01 * np.arange(n_models))
    verdict = simulation_verdict(replace(result, scores=useless))
    assert verdict.startswith("No submission scores better than a constant prediction")


@pytest.mark.parametrize(("rows", "models"), [((), (10,)), ((100,), ())])
def test_the_function_needs_sizes(rows, models):
    with pytest.raises(UsageError, match="at least one"):
        arena.simulate_ranks(rows, models)


@pytest.mark.slow
def test_the_interval_of_the_rows_needed_holds_over_tests():
    rng = np.random.default_rng(0)
    true = np.array([0.80, 0.79, 0.78])
    many = 0.02 * rng.normal(size=(3, 20_000))
    until = rows_until_best_wins(true, many, 400, greater_is_better=True)
    truth, held = {share: np.quantile(until, share) for share in (0.5, 0.8, 0.9)}, []
    for _ in range(200):
        shown_scores = {400: true[:, None] + 0.02 * rng.normal(size=(3, 60))}
        for needed_rows in rows_for_probabilities(ModelScores(true, shown_scores, True), 3):
            if needed_rows.probability in truth:
                most = np.inf if needed_rows.high is None else needed_rows.high
                held.append(needed_rows.low <= np.ceil(truth[needed_rows.probability]) <= most)
                assert needed_rows.low <= needed_rows.rows <= most
    assert 0.93 < np.mean(held) < 0.995


def test_few_tests_give_no_upper_limit():
    shown_scores = {400: np.array([[0.8, 0.7, 0.8, 0.8], [0.7, 0.75, 0.7, 0.6]])}
    needed = rows_for_probabilities(ModelScores(np.array([0.8, 0.7]), shown_scores, True), 2)
    assert [row.high for row in needed if row.probability >= 0.8] == [None, None, None]
    assert all(row.low == 0 for row in needed if row.probability == 0.5)


def test_models_beyond_the_last_whole_set_do_not_count():
    true, errors = np.array([0.8, 0.7, 0.9]), np.random.default_rng(0).normal(size=(3, 60))
    for competitors, n_models in ((2, 2), (1, 3)):
        of_all, of_sets = (
            rows_for_probabilities(
                ModelScores(true[:n], {400: true[:n, None] + 0.1 * errors[:n]}, True), competitors
            )
            for n in (3, n_models)
        )
        assert of_all == of_sets


def test_rows_are_not_extrapolated_far():
    shown_scores = {400: np.array([np.full(60, 0.8), np.linspace(0.5, 2.0, 60)])}
    needed = rows_for_probabilities(ModelScores(np.array([0.8, 0.7]), shown_scores, True), 2)
    rows = {
        needed_rows.probability: as_json(dataclasses.asdict(needed_rows))["rows"]
        for needed_rows in needed
    }
    assert rows[0.5] == pytest.approx(11_548)
    assert rows[0.95] is None


def test_the_ends_are_the_order_statistics_of_a_binomial_interval():
    # In floating point 28 / 41 * 41 is more than 28: a quantile of this share is the next one.
    tests = np.arange(1, 42)
    shown_scores = {400: np.array([np.full(41, 0.8), 0.7 + 0.1 * np.sqrt(tests)])}
    needed = rows_for_probabilities(ModelScores(np.array([0.8, 0.7]), shown_scores, True), 2)
    intervals = {row.probability: (row.low, row.high) for row in needed}
    assert intervals[0.5] == pytest.approx((14 * 400, 28 * 400), abs=1)
    assert intervals[0.8] == pytest.approx((28 * 400, 38 * 400), abs=1)
