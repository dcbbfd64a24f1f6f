"""ndcg_at_k against scikit-learn, on queries that are drawn whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from arena.errors import MetricError
from arena.evaluation.scores import resample_block
from arena.evaluation.standard_errors import standard_error
from arena.types import RowContext
from arena_metrics.ndcg import NdcgAtK


def _bound(codes: Any, **parameters: Any) -> NdcgAtK:
    context = RowContext("id", None, ("relevance",), ("relevance",), clusters=codes)
    return NdcgAtK(**parameters).for_rows(context)


@pytest.fixture
def problem() -> Any:
    """Queries of 2 to 14 documents, their rows shuffled; predictions with ties."""
    rng = np.random.default_rng(5)
    codes = rng.permutation(np.repeat(np.arange(40), rng.integers(2, 15, 40)))
    truth = rng.integers(0, 4, len(codes)).astype(np.float64)
    truth[np.isin(codes, (3, 8))] = 0.0
    predictions = np.round(rng.normal(size=(3, len(codes))) + truth, 1)
    return codes, truth, predictions


def _of_each_query(codes: Any, gains: Any, prediction: Any, k: int) -> Any:
    return np.array(
        [
            ndcg_score([gains[codes == query]], [prediction[codes == query]], k=k)
            for query in np.unique(codes)
        ]
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("k", [1, 3, 10, 100])
@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_it_is_the_mean_of_scikit_learns_value_over_the_queries(
    problem: Any, k: int, gain: str
) -> None:
    codes, truth, predictions = problem
    gains = truth if gain == "linear" else 2.0**truth - 1.0
    metric = _bound(codes, k=k, gain=gain)
    for prediction in predictions:
        expected = _of_each_query(codes, gains, prediction, k).mean()
        assert metric.score(truth, prediction) == pytest.approx(expected, rel=1e-12)


def test_resamples_are_means_over_the_queries_that_were_drawn(problem: Any) -> None:
    codes, truth, predictions = problem
    metric = _bound(codes, k=5)
    query_weights = np.random.default_rng(0).poisson(1.0, (40, 6)).astype(np.uint8)
    weights = query_weights[codes]
    resampled = resample_block(metric, truth, predictions, weights)
    for j, prediction in enumerate(predictions):
        of_queries = _of_each_query(codes, truth, prediction, 5)
        expected = of_queries @ query_weights / query_weights.sum(axis=0)
        np.testing.assert_allclose(resampled[j], expected, rtol=1e-12)
        score = metric.score(truth, prediction, weights[:, 0])
        assert score == pytest.approx(expected[0], rel=1e-12)


def test_rows_of_one_query_must_be_drawn_together(problem: Any) -> None:
    codes, truth, predictions = problem
    weights = np.ones((len(codes), 1), np.uint8)
    weights[0] = 2
    with pytest.raises(ValueError, match="same weight"):
        _bound(codes).resample(truth, predictions, weights)


def test_neither_the_order_of_rows_nor_a_monotone_transform_matters(problem: Any) -> None:
    codes, truth, predictions = problem
    weights = np.ones((len(codes), 1), np.uint8)
    expected = _bound(codes).resample(truth, predictions, weights)
    shuffled = np.random.default_rng(1).permutation(len(codes))
    shuffled_scores = _bound(codes[shuffled]).resample(
        truth[shuffled], predictions[:, shuffled], weights
    )
    np.testing.assert_allclose(shuffled_scores, expected, rtol=1e-12)
    np.testing.assert_allclose(
        _bound(codes).resample(truth, np.exp(predictions), weights), expected, rtol=1e-12
    )


def test_influence_values_are_those_of_the_queries(problem: Any) -> None:
    codes, truth, predictions = problem
    metric = _bound(codes)
    values = metric.influence_values(truth, predictions)
    np.testing.assert_allclose(values.mean(axis=1), 0.0, atol=1e-12)
    of_queries = np.array(
        [_of_each_query(codes, truth, prediction, 10) for prediction in predictions]
    )
    difference = of_queries[0] - of_queries[1]
    rng = np.random.default_rng(0)
    error = standard_error(metric, truth, predictions[:2], rng, codes)
    assert error == pytest.approx(difference.std(ddof=1) / np.sqrt(40), rel=1e-9)


def test_a_single_query_has_no_standard_error(problem: Any) -> None:
    codes, truth, predictions = problem
    codes_of_one = np.zeros_like(codes)
    rng = np.random.default_rng(0)
    error = standard_error(_bound(codes_of_one), truth, predictions[:2], rng, codes_of_one)
    assert np.isnan(error)


def test_without_queries_it_is_refused_in_a_sentence() -> None:
    with pytest.raises(MetricError, match="--cluster"):
        NdcgAtK().for_rows(RowContext("id", None, ("y",), ("y",)))
    with pytest.raises(MetricError, match="for_rows"):
        NdcgAtK().score(np.zeros(2), np.zeros(2))
