"""Every metric against scikit-learn or scipy, called directly on the drawn rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics as skm
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.types import PredictionKind

_N = np.ndarray


def _log_loss(y: _N, f: _N, metric: Any) -> float:
    clip = metric.clip or np.finfo(float).eps
    chosen = np.where(y == 1, f, 1 - f) if f.ndim == 1 else f[np.arange(len(y)), y]
    return float(-np.log(np.clip(chosen, clip, 1 - clip)).mean())


def _brier(y: _N, f: _N, _: Any) -> float:
    if f.ndim == 1:
        return float(skm.brier_score_loss(y, f, labels=[0, 1], pos_label=1))
    return float(skm.brier_score_loss(y, f, labels=np.arange(f.shape[1])))


def _roc_auc(y: _N, f: _N, metric: Any) -> float:
    if f.ndim == 1:
        return float(skm.roc_auc_score(y, f))
    areas = [skm.roc_auc_score(y == k, f[:, k]) for k in range(f.shape[1])]
    rows = np.bincount(y, minlength=f.shape[1])
    return float(np.average(areas, weights=rows if metric.average == "weighted" else None))


def _gini(y: _N, f: _N, _: Any) -> float:
    def covariance(g: _N) -> float:
        return float(((y - y.mean()) * scipy.stats.rankdata(g)).mean())

    return covariance(f) / covariance(y)


def _r2(y: _N, f: _N, _: Any) -> float:
    return float(skm.r2_score(y, f))


def _mcc(y: _N, f: _N, _: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return float(skm.matthews_corrcoef(y, f))


def _balanced(y: _N, f: _N, _: Any) -> float:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "y_pred contains classes not in y_true")
        warnings.filterwarnings("ignore", "A single label was found")
        return float(skm.balanced_accuracy_score(y, f))


def _kappa(y: _N, f: _N, _: Any) -> float:
    labels = np.arange(max(y.max(), f.max(), 1) + 1)
    return float(skm.cohen_kappa_score(y, f, weights="quadratic", labels=labels))


def _concordance(y: _N, f: _N, _: Any) -> float:
    """Return the share of pairs of different times that are in the order of their predictions."""
    later = np.triu(np.sign(np.subtract.outer(y, y)) * np.sign(np.subtract.outer(f, f)), 1)
    comparable = np.triu(y[:, np.newaxis] != y, 1)
    return float((0.5 + 0.5 * later)[comparable].mean()) if comparable.any() else math.nan


REFERENCES: dict[str, Callable[[_N, _N, Any], float]] = {
    "accuracy": lambda y, f, _: skm.accuracy_score(y, f),
    "balanced_accuracy": _balanced,
    "f1": lambda y, f, metric: skm.f1_score(y, f, average=metric.average),
    "mcc": _mcc,
    "quadratic_weighted_kappa": _kappa,
    "roc_auc": _roc_auc,
    "average_precision": lambda y, f, _: skm.average_precision_score(y, f),
    "gini": _gini,
    "log_loss": _log_loss,
    "brier": _brier,
    "mae": lambda y, f, _: skm.mean_absolute_error(y, f),
    "mse": lambda y, f, _: skm.mean_squared_error(y, f),
    "rmse": lambda y, f, _: skm.root_mean_squared_error(y, f),
    "rmsle": lambda y, f, _: skm.root_mean_squared_log_error(y, f),
    "mape": lambda y, f, _: skm.mean_absolute_percentage_error(y, f),
    "smape": lambda y, f, _: np.mean(
        [2 * abs(a - b) / (abs(a) + abs(b)) if a or b else 0.0 for a, b in zip(y, f, strict=True)]
    ),
    "quantile_loss": lambda y, f, metric: skm.mean_pinball_loss(y, f, alpha=metric.alpha),
    "r2": _r2,
    "pearson": lambda y, f, _: scipy.stats.pearsonr(y, f).statistic,
    "spearman": lambda y, f, _: scipy.stats.spearmanr(y, f).statistic,
    "concordance_index": _concordance,
}


def reference(metric: Any, truth: Any, prediction: Any) -> float:
    """Return the library's value, NaN where it warns, raises, or the target is constant."""
    needs_variance = metric.name in ("r2", "gini", "pearson", "spearman")
    if needs_variance and len(np.unique(truth)) < 2:
        return math.nan
    try:
        return float(REFERENCES[metric.name](truth, prediction, metric))
    except (ValueError, Warning):
        return math.nan


def _same(actual: Any, expected: Any, scale: float = 1.0) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12 * scale)


@pytest.mark.few(4)
@pytest.mark.parametrize("examples", [4, pytest.param(14, marks=pytest.mark.slow)])
def test_scores_and_resamples_are_those_of_the_library(
    case: Any, resampled: Any, examples: int
) -> None:
    @settings(deadline=None, max_examples=examples, derandomize=True)
    @given(seed=st.integers(0, 2**32), n_rows=st.integers(1, 12), hostile=st.booleans())
    def agree(seed: int, n_rows: int, hostile: bool) -> None:
        rng = np.random.default_rng(seed)
        truth, predictions = case.problem(rng, n_rows, 2, hostile=hostile)
        if rng.random() < 0.2:
            predictions[0] = predictions[0, :1]
        if rng.random() < 0.2:
            truth[:] = truth[0]
        weights = rng.integers(0, 4, (n_rows, 3)).astype(np.uint8)
        weights[0, weights.sum(axis=0) == 0] = 1
        scores = resampled(case.metric, truth, predictions, weights)
        for j, prediction in enumerate(predictions):
            _same(case.metric.score(truth, prediction), reference(case.metric, truth, prediction))
            for b, weight in enumerate(weights.T):
                rows = np.repeat(np.arange(n_rows), weight)
                expected = reference(case.metric, truth[rows], prediction[rows])
                _same(scores[j, b], expected)
                _same(case.metric.score(truth, prediction, weight), expected)

    agree()


def test_a_middling_problem_agrees_too(case: Any, resampled: Any) -> None:
    rng = np.random.default_rng(5)
    truth, predictions = case.problem(rng, 400, hostile=False)
    weights = rng.poisson(1.0, (400, 3)).astype(np.uint8)
    rows = np.repeat(np.arange(400), weights[:, 2])
    scores = resampled(case.metric, truth, predictions, weights)
    for score, prediction in zip(scores[:, 2], predictions, strict=True):
        _same(score, reference(case.metric, truth[rows], prediction[rows]))


def test_gini_of_two_classes_is_twice_the_auc_less_one(cases: Any) -> None:
    gini = next(case.metric for case in cases if case.metric.name == "gini")
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 60).astype(float)
    prediction = rng.integers(0, 9, 60).astype(float)
    _same(gini.score(truth, prediction), 2 * skm.roc_auc_score(truth, prediction) - 1)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e9])
def test_moments_keep_their_digits_far_from_zero(cases: Any, resampled: Any, scale: float) -> None:
    rng = np.random.default_rng(3)
    truth = scale * (1e6 + rng.normal(size=200))
    predictions = truth + scale * rng.normal(size=(2, 200))
    weights = rng.poisson(1.0, (200, 4)).astype(np.uint8)
    for case in cases:
        if case.metric.name in ("r2", "pearson", "spearman", "gini"):
            scores = resampled(case.metric, truth, predictions, weights)
            for b, weight in enumerate(weights.T):
                rows = np.repeat(np.arange(200), weight)
                expected = [reference(case.metric, truth[rows], f[rows]) for f in predictions]
                np.testing.assert_allclose(scores[:, b], expected, rtol=1e-8, atol=1e-9)


def test_the_kind_of_truth_that_the_host_stores_does_not_matter(case: Any, resampled: Any) -> None:
    rng = np.random.default_rng(2)
    truth, predictions = case.problem(rng, 30, hostile=False)
    if case.metric.prediction is not PredictionKind.VALUE:
        weights = np.ones((30, 1), np.uint8)
        stored = truth.astype(np.float64), predictions.astype(np.float64)
        score = case.metric.score(truth, predictions[0])
        assert case.metric.score(stored[0], stored[1][0]) == score
        _same(resampled(case.metric, *stored, weights)[0, 0], score)
