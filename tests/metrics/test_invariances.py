"""What every metric, or a set of them, must not depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arena.interfaces import traits_of

RANKS_ONLY = ("roc_auc", "average_precision", "gini", "spearman", "concordance_index")


def _scores(case: Any, resampled: Any, truth: Any, predictions: Any, weights: Any) -> Any:
    return np.column_stack(
        [
            [case.metric.score(truth, prediction) for prediction in predictions],
            resampled(case.metric, truth, predictions, weights),
        ]
    )


@pytest.fixture
def problem(case: Any) -> Any:
    rng = np.random.default_rng(17)
    truth, predictions = case.problem(rng, 60, 4, hostile=False)
    return truth, predictions, rng.poisson(1.0, (60, 5)).astype(np.uint8)


def test_the_order_of_the_rows_does_not_matter(case: Any, problem: Any, resampled: Any) -> None:
    truth, predictions, weights = problem
    shuffled = np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(
        _scores(case, resampled, truth[shuffled], predictions[:, shuffled], weights[shuffled]),
        _scores(case, resampled, truth, predictions, weights),
        rtol=1e-12,
    )


def test_a_block_scores_as_its_submissions_do_alone(
    case: Any, problem: Any, resampled: Any
) -> None:
    truth, predictions, weights = problem
    alone = [
        resampled(case.metric, truth, prediction[np.newaxis], weights)[0]
        for prediction in predictions
    ]
    np.testing.assert_allclose(
        resampled(case.metric, truth, predictions, weights), alone, rtol=1e-12
    )


def test_identical_submissions_get_identical_scores(
    case: Any, problem: Any, resampled: Any
) -> None:
    truth, predictions, weights = problem
    scores = resampled(case.metric, truth, predictions[[0, 1, 0, 2, 0]], weights)
    np.testing.assert_allclose(scores[[2, 4]], scores[[0, 0]], rtol=3e-14)
    if hasattr(case.metric, "resample") and case.metric.name not in ("r2", "pearson"):
        assert (scores[[2, 4]] == scores[[0, 0]]).all()


def test_weights_of_one_give_the_score(case: Any, problem: Any, resampled: Any) -> None:
    truth, predictions, _ = problem
    scores = _scores(case, resampled, truth, predictions, np.ones((60, 1), np.uint8))
    np.testing.assert_allclose(scores[:, 1], scores[:, 0], rtol=1e-12)


def test_scaling_the_weights_changes_nothing(case: Any, problem: Any, resampled: Any) -> None:
    truth, predictions, weights = problem
    np.testing.assert_allclose(
        resampled(case.metric, truth, predictions, 17 * weights),
        resampled(case.metric, truth, predictions, weights),
        rtol=1e-12,
    )
    score, scaled_score = (
        case.metric.score(truth, predictions[0], k * weights[:, 0]) for k in (1, 0.3)
    )
    np.testing.assert_allclose(score, scaled_score, rtol=1e-12)


def test_a_monotone_transform_leaves_rank_metrics_as_they_are(
    case: Any, problem: Any, resampled: Any
) -> None:
    if case.metric.name not in RANKS_ONLY:
        pytest.skip("depends on more than ranks")
    truth, predictions, weights = problem
    assert (
        _scores(case, resampled, truth, np.exp(predictions), weights)
        == _scores(case, resampled, truth, predictions, weights)
    ).all()


def test_row_values_stay_in_their_range(case: Any, problem: Any) -> None:
    bounds = traits_of(case.metric).row_range
    if bounds is None:
        pytest.skip("unbounded")
    truth, predictions, _ = problem
    if case.metric.name == "log_loss":
        predictions = np.round(predictions)
    values = case.metric.row_values(truth, predictions)
    assert values.min() >= bounds[0]
    assert values.max() <= bounds[1]


def test_a_better_submission_gets_a_better_score(case: Any) -> None:
    rng = np.random.default_rng(4)
    truth, _ = case.problem(rng, 60, hostile=False)
    if case.n_classes is None:
        truth = np.abs(truth)
        good, bad = truth + 0.01 * rng.random(60), truth + 2.0 * rng.random(60)
    else:
        hit = np.equal.outer(truth, np.arange(case.n_classes))
        noise = rng.dirichlet(np.ones(case.n_classes), 60)
        good, bad = 0.8 * hit + 0.2 * noise, 0.2 * hit + 0.8 * noise
        if case.metric.prediction.value == "label":
            good, bad = good.argmax(axis=1), bad.argmax(axis=1)
        elif case.n_classes == 2:
            good, bad = good[:, 1], bad[:, 1]
    difference = case.metric.score(truth, good) - case.metric.score(truth, bad)
    if case.metric.name == "quantile_loss":
        difference = -abs(difference)
    assert (difference > 0) == case.metric.greater_is_better


def test_extreme_but_finite_predictions_raise_no_warning(case: Any) -> None:
    if case.n_classes is not None:
        pytest.skip("bounded by what a submission may hold")
    truth = np.array([1.0, 2.0, 3.0, 4.0])
    predictions = np.array([[1e308, 0.0, 1.0, 1e-308], [1e200, 3.0, 1.0, 2.0]])
    for prediction in predictions:
        case.metric.score(truth, prediction)
    if hasattr(case.metric, "row_values"):
        case.metric.from_mean(case.metric.row_values(truth, predictions).max(axis=1))
    else:
        weights = np.array([[1, 1, 1, 1], [0, 2, 1, 1]], np.uint8).T
        case.metric.resample(truth, predictions, weights)
