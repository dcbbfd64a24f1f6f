"""Joint resamples, and that every path to the resampled scores gives the same numbers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import MetricError, UsageError
from arena.evaluation import bootstrap
from arena.evaluation.bootstrap import draw_halves, draw_resamples
from arena.evaluation.multi_target import mean_over_targets
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import (
    full_scores,
    influence_values,
    round_significant,
    score_under_weights,
)
from arena.evaluation.shared_weights import derived_once, share_each_row, shared_weights
from arena.evaluation.standard_errors import standard_error, standard_error_of_mean
from arena.interfaces import NeedsRowContext
from counted_progress import CountedProgress
from thinned import examples
from toy_metrics import BlackBoxRmse, PointwiseRmse, Recall, ResampledRmse


@pytest.fixture
def board() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    truth = rng.normal(size=120)
    return truth, truth + rng.normal(size=(7, 120)) * np.linspace(0.5, 2, 7)[:, np.newaxis]


# -- what is drawn -------------------------------------------------------------------------------


def test_a_single_row_is_drawn_once_in_each_resample() -> None:
    assert draw_resamples(1, 3, 0).weights.tolist() == [[1, 1, 1]]
    with pytest.raises(UsageError, match="at least one row"):
        draw_resamples(0, 3, 0)


def test_each_resample_draws_as_many_rows_as_there_are() -> None:
    weights = draw_resamples(50, 200, seed=1).weights
    assert (weights.sum(axis=0) == 50).all()
    assert abs(weights.var() - (1 - 1 / 50)) < 0.1


@given(workers=st.integers(1, 4), resamples=st.integers(1, 150))
@settings(max_examples=examples(10))
def test_resamples_depend_on_nothing_but_the_seed(workers: int, resamples: int) -> None:
    some = draw_resamples(30, resamples, seed=5, workers=workers).weights
    assert (some == draw_resamples(30, 150, seed=5).weights[:, :resamples]).all()


def test_another_seed_draws_other_rows() -> None:
    assert (draw_resamples(30, 9, seed=1).weights != draw_resamples(30, 9, seed=2).weights).any()


def test_strata_keep_their_sizes() -> None:
    strata = np.repeat([0, 1, 2], [5, 30, 15])
    weights = draw_resamples(50, 40, seed=0, strata=strata).weights
    for code, size in enumerate([5, 30, 15]):
        assert (weights[strata == code].sum(axis=0) == size).all()


def test_clusters_stay_whole() -> None:
    clusters = np.repeat(np.arange(10), [1, 2, 3, 4, 5, 1, 2, 3, 4, 5])
    weights = draw_resamples(30, 40, seed=0, clusters=clusters).weights
    first = np.unique(clusters, return_index=True)[1]
    assert (weights == weights[first][clusters]).all()
    assert (weights[first].sum(axis=0) == 10).all()


def test_many_rows_are_drawn_by_block_with_the_same_distribution() -> None:
    n = 2**16 + 3
    weights = draw_resamples(n, 30, seed=0).weights
    assert (weights.sum(axis=0, dtype=np.int64) == n).all()
    assert weights[[0, 2**16 - 1, 2**16, n - 1]].any(axis=1).all()
    for rows in (slice(2**16), slice(2**15, 2**16), slice(2**16, None)):
        size = len(weights[rows])
        sums = weights[rows].sum(axis=0, dtype=np.int64)
        deviation = np.sqrt(size * (1 - size / n))
        assert abs(sums.mean() - size) < 4 * deviation / np.sqrt(30)
        assert 0.6 < sums.std() / deviation < 1.4
    times_drawn = np.bincount(weights.ravel())[:5] / weights.size
    np.testing.assert_allclose(times_drawn, np.exp(-1) / np.array([1, 1, 2, 6, 24]), atol=1e-3)
    few = draw_resamples(2**16, 1, seed=0).weights[:, 0]
    rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0,)))
    places = rng.integers(0, 2**16, 2**16)
    assert (few == np.bincount(places, minlength=2**16)).all()


@pytest.mark.parametrize("unit", ["rows", "strata", "clusters"])
def test_a_row_is_drawn_at_most_as_often_as_a_byte_counts(unit: str) -> None:
    n = 300
    codes = {"strata": np.repeat([0, 1], [n, 5]), "clusters": np.arange(n)}
    n_rows = n + 5 * (unit == "strata")
    sampler = bootstrap.Sampler(
        n_rows,
        seed=0,
        groups=[np.flatnonzero(codes[unit] == code) for code in (0, 1)]
        if unit == "strata"
        else None,
        clusters=codes[unit] if unit == "clusters" else None,
        required=None,
        first=0,
    )
    for times_of_the_first, fits in ((255, True), (256, False), (300, False)):

        def integers(
            low: int, n_units: int, size: int, times: int = times_of_the_first, **_dtype: Any
        ) -> Any:
            return np.maximum(np.arange(low, size) - times + 1, 0) % n_units

        weights = np.empty((n_rows, 1), dtype=np.uint8)
        rng: Any = SimpleNamespace(integers=integers)
        assert sampler.draw([rng], weights).tolist() == [fits]
        counts = weights[:, 0]
        if fits:
            assert counts[0] == times_of_the_first
            assert counts[: n - times_of_the_first + 1].sum() == n


def test_a_resample_that_does_not_fit_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    usable = iter([False, False, True])

    def draw(_sampler: Any, _rngs: Any, weights: Any) -> Any:
        weights[:] = [[0], [255]]
        return np.array([next(usable)])

    monkeypatch.setattr(bootstrap.Sampler, "draw", draw)
    monkeypatch.setattr(bootstrap, "_KEPT_BYTES", 0)
    resamples = draw_resamples(2, 1, seed=0)
    assert (resamples.weights.tolist(), resamples.redrawn) == ([[0], [255]], 2)


def test_a_class_that_is_a_stratum_occurs_in_every_resample() -> None:
    classes = np.array([0] * 28 + [1] * 2)
    resamples = draw_resamples(30, 50, seed=0, strata=classes, required=classes)
    assert resamples.redrawn == 0
    assert (resamples.weights[classes == 1].sum(axis=0) == 2).all()


def test_resamples_without_a_class_are_redrawn_and_counted() -> None:
    classes = np.array([0] * 28 + [1] * 2)
    resamples = draw_resamples(30, 300, seed=0, required=classes)
    assert (resamples.weights[classes == 1].sum(axis=0) > 0).all()
    assert 15 < resamples.redrawn < 80  # (1 - 2/30)^30 = 12.6% of the drawings


def test_a_class_that_cannot_be_drawn_is_an_error() -> None:
    classes, clusters = np.array([0, 0, 1]), np.array([0, 0, 0])
    draw_resamples(3, 5, seed=0, required=classes, clusters=clusters)
    with pytest.raises(MetricError, match="so rare .* that 1,000 consecutive resamples lacked it"):
        draw_resamples(3, 5, seed=0, required=np.array([0, 2, 2]))


@pytest.mark.parametrize("arguments", [(0, 5, 0), (5, 0, 0), (5, 5, -1)])
def test_numbers_out_of_range_are_refused(arguments: tuple[int, int, int]) -> None:
    with pytest.raises(UsageError):
        draw_resamples(*arguments)


def test_resamples_may_be_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = draw_resamples(30, 40, seed=3).weights
    for first, count in ((0, 7), (1, 7), (33, 7)):
        part = draw_resamples(30, count, seed=3, first=first).weights
        assert (part == whole[:, first : first + count]).all()
    groups = {"clusters": np.arange(30)}
    assert (draw_resamples(30, 40, seed=3, **groups).weights == whole).all()
    monkeypatch.setattr(bootstrap, "TASK_BYTES", 300)  # ten resamples at a time
    assert (draw_resamples(30, 40, seed=3, workers=2, **groups).weights == whole).all()
    monkeypatch.setattr(bootstrap, "_KEPT_BYTES", 0)
    memory = whole.copy()
    part = draw_resamples(30, 7, seed=3, first=33, memory=memory).weights
    assert np.shares_memory(part, memory)
    assert (part == whole[:, 33:]).all()


def test_changed_weights_do_not_change_later_draws() -> None:
    weights = draw_resamples(30, 40, seed=3).weights
    drawn_weights = weights.copy()
    weights[:] = 0
    assert (draw_resamples(30, 40, seed=3).weights == drawn_weights).all()


def test_strata_and_clusters_exclude_each_other() -> None:
    codes = np.zeros(4, dtype=np.intp)
    with pytest.raises(UsageError):
        draw_resamples(4, 2, seed=0, strata=codes, clusters=codes)


# -- scores under resamples ----------------------------------------------------------------------


@pytest.mark.parametrize("metric", [PointwiseRmse(), ResampledRmse()])
@pytest.mark.parametrize("workers", [1, 2])
def test_every_path_gives_the_numbers_of_the_slowest(
    board: tuple[Any, Any], metric: Any, workers: int
) -> None:
    truth, predictions = board
    weights = draw_resamples(120, 30, seed=0).weights
    slow = score_under_weights(BlackBoxRmse(), truth, ArrayPredictions(predictions), weights)
    fast = score_under_weights(
        metric, truth, ArrayPredictions(predictions), weights, workers=workers
    )
    np.testing.assert_allclose(fast, slow, rtol=1e-12)


@pytest.mark.slow
def test_worker_processes_change_no_number(
    board: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, predictions = board
    weights = draw_resamples(120, 60, seed=0).weights
    serial = score_under_weights(BlackBoxRmse(), truth, ArrayPredictions(predictions), weights)
    monkeypatch.setattr("arena.evaluation.black_box.SECONDS_WORTH_A_PROCESS", 0.0)
    progress = CountedProgress()
    spread = score_under_weights(
        BlackBoxRmse(), truth, ArrayPredictions(predictions), weights, workers=2, progress=progress
    )
    assert (serial == spread).all()
    assert progress.done == progress.total > 0
    assert progress.messages[0].endswith("takes about 1 s on 2 workers.")


def test_block_size_changes_no_number(
    board: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, predictions = board
    weights = draw_resamples(120, 60, seed=0).weights
    whole = score_under_weights(PointwiseRmse(), truth, ArrayPredictions(predictions), weights)
    monkeypatch.setattr("arena.evaluation.scores.BLOCK_BYTES", 1)
    monkeypatch.setattr("arena.evaluation.scores.TILE_ROWS", 7)
    one_by_one = score_under_weights(PointwiseRmse(), truth, ArrayPredictions(predictions), weights)
    np.testing.assert_allclose(whole, one_by_one, rtol=1e-12)


def test_identical_submissions_score_equally(board: tuple[Any, Any]) -> None:
    truth, predictions = board
    twins = np.concatenate([predictions, predictions[:1], predictions[3:4]])
    weights = draw_resamples(120, 200, seed=0).weights
    scores = score_under_weights(PointwiseRmse(), truth, ArrayPredictions(twins), weights)
    assert (scores[7] == scores[0]).all()
    assert (scores[8] == scores[3]).all()


def test_a_metric_that_refuses_the_drawn_rows_is_undefined_there() -> None:
    truth = np.array([1, 0, 0, 0])
    weights = np.array([[1, 0], [1, 2], [1, 1], [1, 1]], dtype=np.uint8)
    scores = score_under_weights(Recall(), truth, ArrayPredictions(np.ones((1, 4))), weights)
    assert scores[0, 0] == 1.0
    assert np.isnan(scores[0, 1])


@dataclass(frozen=True)
class Refusing(PointwiseRmse):
    """Raises an error for every block of submissions."""

    error: Exception = field(default_factory=lambda: MetricError("of a submission"))

    def row_values(self, truth: Any, predictions: Any) -> Any:
        raise self.error


def test_only_errors_of_submissions_are_set_apart(board: tuple[Any, Any]) -> None:
    truth, predictions = board[0], ArrayPredictions(board[1])
    failures: list[Any] = []
    with pytest.raises(UsageError, match="of the settings"):
        full_scores(
            Refusing(error=UsageError("of the settings")), truth, predictions, failures=failures
        )
    assert failures == []
    scores = full_scores(Refusing(), truth, predictions, failures=failures)
    assert np.isnan(scores).all()
    assert [position for position, _ in failures] == [*range(7)]


@pytest.mark.parametrize("metric", [BlackBoxRmse(), PointwiseRmse(), ResampledRmse()])
def test_full_scores_are_the_metrics_own(board: tuple[Any, Any], metric: Any) -> None:
    truth, predictions = board
    expected = [metric.score(truth, prediction) for prediction in predictions]
    scores = full_scores(metric, truth, ArrayPredictions(predictions))
    np.testing.assert_allclose(scores, expected, rtol=1e-11)


def test_influence_values_carry_the_slope_of_the_mean(board: tuple[Any, Any]) -> None:
    truth, predictions = board
    values = influence_values(PointwiseRmse(), truth, predictions)
    assert values is not None
    np.testing.assert_allclose(values.mean(axis=1), 0, atol=1e-12)
    errors = np.sqrt((values**2).sum(axis=1) / (120 * 119))
    weights = draw_resamples(120, 4_000, seed=0).weights
    spread = score_under_weights(PointwiseRmse(), truth, ArrayPredictions(predictions), weights)
    np.testing.assert_allclose(errors, spread.std(axis=1), rtol=0.1)
    assert influence_values(BlackBoxRmse(), truth, predictions) is None


def test_the_resamples_of_a_standard_error_depend_on_the_seed_and_the_predictions_only() -> None:
    rng = np.random.default_rng(0)
    truth, pair = rng.normal(size=30), rng.normal(size=(2, 30))
    key = (7).to_bytes(16, "little")
    digest = hashlib.blake2b(pair.tobytes(), digest_size=8, key=key).digest()
    own_seed = int.from_bytes(digest, "little") >> 1  # of 63 bits
    weights = draw_resamples(30, 200, own_seed).weights
    first, second = score_under_weights(BlackBoxRmse(), truth, ArrayPredictions(pair), weights)
    expected = np.std(first - second, ddof=1)
    assert standard_error(BlackBoxRmse(), truth, pair, 7) == pytest.approx(expected, rel=1e-12)
    assert standard_error(BlackBoxRmse(), truth, pair, 8) != pytest.approx(expected)
    assert np.isnan(standard_error(BlackBoxRmse(), truth[:1], pair[:, :1], 7))


@pytest.mark.parametrize("exponent", [0, 390, 399, 400, 401, 700, 1_000])
def test_a_standard_error_is_in_proportion_to_values_of_any_size(exponent: int) -> None:
    """The sum of squares of the largest is more than a float holds."""
    values = np.array([1.0, -1.0, 3.0, 0.0] * 10)
    scaled = standard_error_of_mean(values * 2.0**exponent)
    assert scaled == standard_error_of_mean(values) * 2.0**exponent
    spread = np.std(values, ddof=1) / np.sqrt(40)
    assert standard_error_of_mean(values) == pytest.approx(spread)


# -- several targets -----------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [BlackBoxRmse(), PointwiseRmse(), ResampledRmse()])
def test_several_targets_count_by_their_mean(board: tuple[Any, Any], metric: Any) -> None:
    truth, predictions = board
    both = np.stack([truth, truth**2], axis=1)
    predicted = np.stack([predictions, predictions * 0.5], axis=2)
    mean = mean_over_targets(metric, 2)
    assert not isinstance(mean, NeedsRowContext)
    assert isinstance(mean_over_targets(metric, 2, gaps=True), NeedsRowContext)
    expected = [
        (metric.score(truth, prediction) + metric.score(truth**2, prediction * 0.5)) / 2
        for prediction in predictions
    ]
    np.testing.assert_allclose(
        full_scores(mean, both, ArrayPredictions(predicted)), expected, rtol=1e-11
    )
    weights = draw_resamples(120, 20, seed=0).weights
    slow = score_under_weights(
        mean_over_targets(BlackBoxRmse(), 2), both, ArrayPredictions(predicted), weights
    )
    fast = score_under_weights(mean, both, ArrayPredictions(predicted), weights)
    np.testing.assert_allclose(fast, slow, rtol=1e-12)
    influence = influence_values(mean, both, predicted)
    assert (influence is not None) == isinstance(metric, PointwiseRmse)
    if influence is not None:
        squared = influence_values(metric, truth**2, predictions * 0.5)
        single = influence_values(metric, truth, predictions)
        assert single is not None
        assert squared is not None
        np.testing.assert_allclose(influence, (single + squared) / 2, rtol=1e-12)


def test_one_target_needs_no_mean() -> None:
    metric = BlackBoxRmse()
    assert mean_over_targets(metric, 1) is metric


# -- rounding ------------------------------------------------------------------------------------


@given(st.floats(1e-200, 1e200))
@settings(max_examples=examples(200))
def test_rounding_keeps_twelve_digits(value: float) -> None:
    rounded = float(round_significant(value))
    assert rounded == pytest.approx(value, rel=6e-12)
    assert float(round_significant(rounded)) == rounded
    assert float(round_significant(-value)) == -rounded


def test_rounding_leaves_the_special_values_alone() -> None:
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-308, 5e-324])
    np.testing.assert_array_equal(round_significant(special)[:5], special[:5])
    values = special.copy()
    assert round_significant(values, overwrite=True).base is values.base or values.base is None
    np.testing.assert_array_equal(values, round_significant(special))


@pytest.mark.slow
@pytest.mark.parametrize(
    "groups",
    [{}, {"strata": np.arange(30) % 3}, {"clusters": np.arange(30) // 2}],
    ids=["rows", "strata", "clusters"],
)
def test_every_row_is_drawn_once_on_average(groups: dict[str, Any]) -> None:
    weights = draw_resamples(30, 4_000, 5, **groups).weights
    assert weights.shape == (30, 4_000)
    assert weights.mean(axis=1) == pytest.approx(np.ones(30), abs=0.1)  # six standard errors
    assert (weights.sum(axis=0) == 30).all()


def test_halves_of_the_rows_are_drawn_within_classes_and_by_cluster() -> None:
    classes = np.repeat([0, 1, 2], [30, 7, 1])
    halves = draw_halves(38, 200, 0, strata=classes)
    assert set(halves.ravel()) == {0, 1}
    sizes = np.array([halves[classes == code].sum(axis=0) for code in range(3)])
    assert (sizes[0] == 15).all()
    assert set(sizes[1]) == {3, 4}
    assert (sizes[2] == 1).all()  # a class never disappears
    pairs = draw_halves(6, 50, 0, strata=np.repeat([0, 1, 2], 2))
    assert (pairs.reshape(3, 2, 50).sum(axis=1) == 1).all()
    clusters = np.arange(40) // 4
    whole = draw_halves(40, 50, 0, clusters=clusters).reshape(10, 4, 50)
    assert (whole == whole[:, :1]).all()
    assert (whole[:, 0].sum(axis=0) == 5).all()
    both = draw_halves(40, 50, 0, clusters=clusters, strata=np.arange(40) % 3)
    assert (both.reshape(10, 4, 50) == whole).all()


def test_what_is_derived_from_weights_is_shared_while_they_are_in_use_only():
    weights, other, calls = np.ones((3, 2), np.uint8), np.ones((3, 2), np.uint8), []

    def derive(given):
        calls.append(given)
        return given.sum()

    for _ in range(2):
        derived_once(weights, derive)
    assert len(calls) == 2
    with shared_weights(weights), shared_weights(weights):
        for _ in range(3):
            assert derived_once(weights, derive) == 6
            derived_once(other, derive)
    assert [derived is weights for derived in calls[2:]] == [True, False, False, False]
    derived_once(weights, derive)
    assert len(calls) == 7


def test_what_is_derived_from_rows_is_shared_as_long_as_their_array_exists():
    memory, calls = np.arange(6.0), []
    array = memory.reshape(2, 3)

    def derive(given):
        calls.append(given.tolist())
        return given.sum()

    share_each_row(array)
    for _ in range(2):
        assert [derived_once(row, derive) for row in array[::-1]] == [12, 3]
        assert derived_once(array[0], derive, "another key") == 3
        assert derived_once(array[0, :2], derive) == 1
    row = [0.0, 1.0, 2.0]
    assert calls == [[3.0, 4.0, 5.0], row, row, row[:2], row[:2]]
    del array
    memory[0] = 9
    assert derived_once(memory[:3], derive) == 12
