"""Metrics of scikit-learn by name."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sklearn.metrics as skm

from arena.errors import UnknownNameError, UsageError
from arena.evaluation.scores import resample_block
from arena.interfaces import HasResample, HasRowValues, Metric, MetricFamily
from arena.types import PredictionKind
from arena_metrics.sklearn_family import ScikitLearn

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 2, 50), RNG.integers(0, 2, 50)
VALUES = RNG.normal(size=50), RNG.normal(size=50)
PROBABILITIES = LABELS[0], RNG.random(50)

EXAMPLES = [
    ("jaccard_score", {}, LABELS, PredictionKind.LABEL, True),
    ("fbeta_score", {"beta": 2.0}, LABELS, PredictionKind.LABEL, True),
    ("hamming_loss", {}, LABELS, PredictionKind.LABEL, False),
    ("median_absolute_error", {}, VALUES, PredictionKind.VALUE, False),
    ("mean_pinball_loss", {"alpha": 0.9}, VALUES, PredictionKind.VALUE, False),
    ("explained_variance_score", {}, VALUES, PredictionKind.VALUE, True),
    ("roc_auc_score", {"max_fpr": 0.3}, PROBABILITIES, PredictionKind.SCORE, True),
    ("d2_log_loss_score", {}, PROBABILITIES, PredictionKind.CLASS_PROBABILITIES, True),
    ("brier_score_loss", {}, PROBABILITIES, PredictionKind.PROBABILITY, False),
]


@pytest.mark.parametrize(("name", "parameters", "data", "kind", "greater"), EXAMPLES)
def test_a_function_is_called_with_its_parameters(
    name: str, parameters: dict[str, float], data: tuple, kind: PredictionKind, greater: bool
) -> None:
    metric = ScikitLearn().make(name, parameters)
    assert isinstance(metric, Metric)
    assert not isinstance(metric, HasResample | HasRowValues)
    assert metric.name == f"sklearn:{name}"
    assert (metric.prediction, metric.greater_is_better) == (kind, greater)
    assert metric.score(*data) == float(getattr(skm, name)(*data, **parameters))


def test_weights_are_passed_on() -> None:
    weight = RNG.integers(0, 3, 50)
    metric = ScikitLearn().make("hamming_loss", {})
    drawn = np.repeat(np.arange(50), weight)
    repeated = metric.score(LABELS[0][drawn], LABELS[1][drawn])
    assert metric.score(*LABELS, weight) == pytest.approx(repeated, rel=1e-12)
    with pytest.raises(UsageError, match="takes no weights"):
        ScikitLearn().make("max_error", {}).score(*VALUES, weight)


def test_the_host_resamples_what_can_only_be_called_as_a_whole() -> None:
    weights = RNG.poisson(1.0, (50, 3)).astype(np.uint8)
    metric = ScikitLearn().make("median_absolute_error", {})
    drawn = np.repeat(np.arange(50), weights[:, 1])
    expected = skm.median_absolute_error(VALUES[0][drawn], VALUES[1][drawn])
    scores = resample_block(metric, VALUES[0], VALUES[1][np.newaxis], weights)
    assert scores[0, 1] == pytest.approx(expected, rel=1e-12)


def test_where_the_library_warns_the_value_that_it_substitutes_counts() -> None:
    nothing = np.zeros(4, int)
    assert ScikitLearn().make("recall_score", {}).score(nothing, LABELS[0][:4]) == 0.0
    assert ScikitLearn().make("precision_score", {}).score(LABELS[0][:4], nothing) == 0.0
    assert math.isnan(ScikitLearn().make("roc_auc_score", {}).score(nothing, VALUES[0][:4]))


@pytest.mark.parametrize("name", ["max_eror", "confusion_matrix", "os", "roc_curve", ""])
def test_what_is_no_metric_is_refused(name: str) -> None:
    with pytest.raises(UnknownNameError, match="scikit-learn has no metric"):
        ScikitLearn().make(name, {})


def test_the_nearest_names_are_given() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean matthews_corrcoef"):
        ScikitLearn().make("mathews_corrcoef", {})


@pytest.mark.parametrize("parameter", ["alfa", "sample_weight", "y_true"])
def test_an_unknown_parameter_is_refused_at_once(parameter: str) -> None:
    with pytest.raises(UsageError, match="has no parameter"):
        ScikitLearn().make("mean_pinball_loss", {parameter: 1})


def test_every_known_name_makes_a_metric() -> None:
    family = ScikitLearn()
    assert isinstance(family, MetricFamily)
    assert len(family.known()) > 30
    for name in family.known():
        assert isinstance(family.make(name, {}), Metric)
