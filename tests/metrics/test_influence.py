"""Influence values against the jackknife and against the bootstrap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arena.evaluation.scores import influence_values, resample_block
from arena_metrics.correlation import Pearson, RSquared
from arena_metrics.rank_correlation import Gini, Spearman


def _jackknife(metric: Any, truth: Any, prediction: Any) -> Any:
    """Return ``(n - 1)`` times what each row takes with it, the finite-sample influence."""
    n = len(truth)
    without = np.ones((n, n), np.uint8) - np.eye(n, dtype=np.uint8)
    scores = resample_block(metric, truth, prediction[np.newaxis], without)[0]
    return (n - 1) * (scores.mean() - scores)


def _standard_error(values: Any) -> Any:
    n = values.shape[-1]
    return np.sqrt((values**2).sum(axis=-1) / (n * (n - 1)))


def _problem(case: Any, n_rows: int) -> Any:
    truth, predictions = case.problem(np.random.default_rng(8), n_rows, 2, hostile=False)
    if case.metric.prediction.value != "label":
        predictions[1] = np.round(predictions[1], 1)
    return truth, predictions


def test_influence_values_follow_the_jackknife(case: Any) -> None:
    truth, predictions = _problem(case, 400)
    values = influence_values(case.metric, truth, predictions)
    np.testing.assert_allclose(values.mean(axis=1), 0.0, atol=1e-9 * np.abs(values).max())
    for value, prediction in zip(values, predictions, strict=True):
        jackknife = _jackknife(case.metric, truth, prediction)
        if case.metric.name == "mape":
            assert _standard_error(value) == pytest.approx(_standard_error(jackknife), rel=1e-3)
            continue
        assert np.corrcoef(value, jackknife)[0, 1] > 0.998
        assert _standard_error(value) == pytest.approx(_standard_error(jackknife), rel=0.03)


@pytest.mark.parametrize("metric", [Spearman(), Gini()])
def test_influence_values_of_ranks_are_derivatives(metric: Any) -> None:
    """Of 200 copies of each row one is left out: the change is 1 / 5,999 of the derivative."""
    n, copies = 30, 200
    rng = np.random.default_rng(4)
    truth = np.round(rng.normal(size=n), 1)
    predictions = np.round(truth + rng.normal(size=(2, n)), 1)
    weights = np.full((n, n + 1), copies, np.uint8)
    weights[np.arange(n), np.arange(n)] -= 1
    scores = resample_block(metric, truth, predictions, weights)
    derivatives = (n * copies - 1) * (scores[:, n:] - scores[:, :n])
    values = influence_values(metric, truth, predictions)
    np.testing.assert_allclose(values, derivatives, atol=2e-3 * np.abs(values).max())


@pytest.mark.slow
def test_standard_errors_of_differences_are_those_of_the_bootstrap(
    case: Any, resampled: Any
) -> None:
    if case.metric.name == "mape":
        pytest.skip("a row near 0 decides everything")
    n_rows = 600
    truth, predictions = _problem(case, n_rows)
    values = influence_values(case.metric, truth, predictions)
    rng = np.random.default_rng(1)
    weights = rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), 2000).T.astype(np.uint8)
    scores = resampled(case.metric, truth, predictions, weights)
    for of_rows, of_resamples in (
        (values[0], scores[0]),
        (values[0] - values[1], scores[0] - scores[1]),
    ):
        assert _standard_error(of_rows) == pytest.approx(of_resamples.std(), rel=0.12)


def test_the_auc_has_delongs_standard_error(cases: Any) -> None:
    metric = next(case.metric for case in cases if case.metric.name == "roc_auc")
    rng = np.random.default_rng(3)
    truth = np.repeat([0, 1], [300, 100])
    prediction = np.round(rng.normal(size=400) + truth, 1)
    positive, negative = prediction[truth == 1], prediction[truth == 0]
    wins = 0.5 * (np.sign(positive[:, np.newaxis] - negative) + 1.0)
    delong = np.sqrt(wins.mean(axis=1).var(ddof=1) / 100 + wins.mean(axis=0).var(ddof=1) / 300)
    values = metric.influence_values(truth, prediction[np.newaxis])
    assert _standard_error(values)[0] == pytest.approx(delong, rel=0.01)


def test_where_a_score_is_undefined_so_are_its_influence_values(case: Any) -> None:
    truth, predictions = _problem(case, 20)
    truth[:] = truth[0]
    if np.isnan(case.metric.score(truth, predictions[0])):
        assert np.isnan(influence_values(case.metric, truth, predictions)[0]).any()


@pytest.mark.parametrize("metric", [Pearson(), RSquared()])
@pytest.mark.parametrize("scale", [1e-300, 1e307])
def test_no_unit_is_too_large_or_too_small(metric: Any, scale: float) -> None:
    truth, noise = np.random.default_rng(3).normal(size=(2, 50))
    predictions = (truth + noise)[np.newaxis]
    np.testing.assert_allclose(
        metric.influence_values(scale * truth, scale * predictions),
        metric.influence_values(truth, predictions),
        rtol=1e-9,
    )


def test_influence_values_of_few_rows_follow_the_jackknife(cases: Any) -> None:
    """Every metric is tried; with few rows the two agree less than in the limit of many."""
    for case in cases:
        truth, predictions = _problem(case, 60)
        values = influence_values(case.metric, truth, predictions)
        np.testing.assert_allclose(values.mean(axis=1), 0.0, atol=1e-9 * np.abs(values).max())
        if case.metric.name == "mape":  # a row near 0 decides everything
            continue
        for value, prediction in zip(values, predictions, strict=True):
            jackknife = _jackknife(case.metric, truth, prediction)
            assert np.corrcoef(value, jackknife)[0, 1] > 0.99, case.label
            ratio = _standard_error(value) / _standard_error(jackknife)
            assert ratio == pytest.approx(1, abs=0.07), case.label
