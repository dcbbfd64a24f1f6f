"""Metrics of scikit-learn by name."""

from __future__ import annotations

import contextlib
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import sklearn.metrics as skm
from sklearn.utils import Tags, TargetTags

import arena
from arena.errors import UnknownNameError, UsageError
from arena.evaluation.scores import resample_block
from arena.interfaces import HasResample, HasRowValues, Metric, MetricFamily, traits_of
from arena.types import PredictionKind
from arena_metrics.sklearn_family import FAST, ScikitLearn, ScikitLearnMetric

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 2, 50), RNG.integers(0, 2, 50)
VALUES = RNG.normal(size=50), RNG.normal(size=50)
PROBABILITIES = LABELS[0], RNG.random(50)

EXAMPLES = [
    ("jaccard_score", {}, LABELS, PredictionKind.LABEL, True),
    ("fbeta_score", {"beta": 2.0}, LABELS, PredictionKind.LABEL, True),
    ("hamming_loss", {}, LABELS, PredictionKind.LABEL, False),
    ("median_absolute_error", {}, VALUES, PredictionKind.VALUE, False),
    ("max_error", {}, VALUES, PredictionKind.VALUE, False),
    ("explained_variance_score", {}, VALUES, PredictionKind.VALUE, True),
    ("roc_auc_score", {"max_fpr": 0.3}, PROBABILITIES, PredictionKind.SCORE, True),
    ("d2_log_loss_score", {}, PROBABILITIES, PredictionKind.CLASS_PROBABILITIES, True),
    ("f1_score", {"average": "macro", "zero_division": 1.0}, LABELS, PredictionKind.LABEL, True),
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
    rows = np.repeat(np.arange(50), weight)
    repeated = metric.score(LABELS[0][rows], LABELS[1][rows])
    assert metric.score(*LABELS, weight) == pytest.approx(repeated, rel=1e-12)
    with pytest.raises(UsageError, match="takes no weights"):
        ScikitLearn().make("max_error", {}).score(*VALUES, weight)


def test_the_host_resamples_what_can_only_be_called_as_a_whole() -> None:
    weights = RNG.poisson(1.0, (50, 3)).astype(np.uint8)
    metric = ScikitLearn().make("median_absolute_error", {})
    rows = np.repeat(np.arange(50), weights[:, 1])
    expected = skm.median_absolute_error(VALUES[0][rows], VALUES[1][rows])
    scores = resample_block(metric, VALUES[0], VALUES[1][np.newaxis], weights)
    assert scores[0, 1] == pytest.approx(expected, rel=1e-12)


def test_where_the_library_warns_the_value_that_it_substitutes_counts() -> None:
    nothing = np.zeros(4, int)
    assert ScikitLearn().make("recall_score", {}).score(nothing, LABELS[0][:4]) == 0.0
    assert ScikitLearn().make("precision_score", {}).score(LABELS[0][:4], nothing) == 0.0
    assert math.isnan(ScikitLearn().make("roc_auc_score", {}).score(nothing, VALUES[0][:4]))


@pytest.mark.slow
def test_no_interval_of_a_loss_has_a_negative_score() -> None:
    rng = np.random.default_rng(8)
    ids = range(20)
    truth = rng.random(20)
    predictions = {team: truth + size * rng.normal(size=20) for size, team in ((1, "a"), (2, "b"))}
    for name, sign in (("median_absolute_error", 1), ("neg_median_absolute_error", -1)):
        board = arena.score(
            {"id": ids, "y": truth},
            {team: {"id": ids, "y": values} for team, values in predictions.items()},
            metric=f"sklearn:{name}",
            resamples=50,
        )
        ends = [row[end] for row in board.standings for end in ("score_low", "score_high")]
        ends += [board.best_score_corrected[end] for end in ("low", "high")]
        losses = [sign * end for end in ends if end is not None]
        assert losses
        assert min(losses) >= 0
    truth = np.random.default_rng(0).random(40) + 0.5
    # That of scikit-learn is negative by rounding.
    assert ScikitLearn().make("mean_tweedie_deviance", {"power": 1.5}).score(truth, truth) == 0


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


CLASSES = RNG.integers(0, 3, 60)
GUESSES = np.where(RNG.random(60) < 0.6, CLASSES, RNG.integers(0, 3, 60))
CLASS_PROBABILITIES = CLASSES, np.random.default_rng(1).dirichlet(np.ones(3), 60)
SHARES = RNG.dirichlet(np.ones(3), 60)
ABOVE = np.exp(VALUES[0]), np.exp(VALUES[1])


class Sent:
    """A fitted classifier or regressor whose predictions are the rows that it is given."""

    def __init__(self, kind: str, classes: np.ndarray) -> None:
        self._estimator_type, self.classes_ = kind, classes

    def __sklearn_tags__(self) -> Tags:
        return Tags(self._estimator_type, TargetTags(required=True))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self) -> None:
        raise NotImplementedError

    def predict(self, predictions: np.ndarray) -> np.ndarray:
        return predictions

    def predict_proba(self, predictions: np.ndarray) -> np.ndarray:
        return (
            np.column_stack([1 - predictions, predictions])
            if predictions.ndim == 1
            else predictions
        )


def data_of(metric: Metric, scorer: str) -> tuple[str, np.ndarray, np.ndarray]:
    if metric.prediction is PredictionKind.VALUE:
        return "regressor", *(ABOVE if "log" in scorer or "deviance" in scorer else VALUES)
    if metric.prediction is PredictionKind.LABEL:
        averaged = scorer.endswith(("macro", "micro", "weighted"))
        return "classifier", *((CLASSES, GUESSES) if averaged else LABELS)
    if "_ovr" in scorer:
        return "classifier", *CLASS_PROBABILITIES
    return "classifier", *PROBABILITIES


def test_each_scorer_that_is_known_has_the_number_of_scikit_learn() -> None:
    family, compared = ScikitLearn(), set()
    for scorer in skm.get_scorer_names():
        if scorer == "top_k_accuracy":  # of two classes, the default k of 2 says nothing
            continue
        try:
            metric = family.make(scorer, {})
        except UnknownNameError:
            continue
        kind, truth, predictions = data_of(metric, scorer)
        deviance = "deviance" in scorer and kind == "regressor"
        truth, predictions = (
            (np.exp(truth), np.exp(predictions)) if deviance else (truth, predictions)
        )
        expected = skm.get_scorer(scorer)(Sent(kind, np.unique(truth)), predictions, truth)
        assert metric.greater_is_better, scorer
        assert metric.score(truth, predictions) == pytest.approx(expected, rel=1e-12), scorer
        compared.add(scorer)
    assert len(compared) > 40
    fast = {name for name in compared if not isinstance(family.make(name, {}), ScikitLearnMetric)}
    named = {"f1_macro", "balanced_accuracy", "average_precision", "neg_log_loss"}
    assert named | {"roc_auc_ovr", "roc_auc_ovr_weighted"} <= fast


@pytest.mark.parametrize("function", FAST)
def test_a_fast_form_has_the_number_of_the_function(function: str) -> None:
    metric, of_library = ScikitLearn().make(function, {}), getattr(skm, function)
    _, truth, predictions = data_of(metric, function)
    assert isinstance(metric, HasResample | HasRowValues)
    assert metric.score(truth, predictions) == pytest.approx(
        of_library(truth, predictions), rel=1e-12
    )
    weights = RNG.poisson(1.0, (len(truth), 4)).astype(np.uint8)
    scores = resample_block(metric, truth, predictions[np.newaxis], weights)[0]
    for column, score in zip(weights.T, scores, strict=True):
        rows = np.repeat(np.arange(len(truth)), column)
        assert score == pytest.approx(of_library(truth[rows], predictions[rows]), rel=1e-9)


def test_the_documentation_has_a_table_of_all_fast_forms() -> None:
    family, scorers = ScikitLearn(), defaultdict[str, list[str]](list)
    for scorer in skm.get_scorer_names():
        with contextlib.suppress(UnknownNameError):
            scorers[family.make(scorer, {}).name].append(f"`{scorer}`")
    page = (ROOT / "docs" / "how-to" / "other-platforms-metrics.md").read_text("utf-8")
    table = [
        f"| `{function}` | {', '.join(scorers[name])} | "
        f"{', '.join(f'`{parameter}`' for parameter in parameters)} | `{name}` |"
        for function, (name, parameters) in FAST.items()
    ]
    assert "\n".join(["|---|---|---|---|", *table, ""]) in page


def test_the_negative_of_a_loss_is_ranked_and_resampled_as_the_loss() -> None:
    names = ("neg_root_mean_squared_error", "root_mean_squared_error")
    negative, loss = (ScikitLearn().make(name, {}) for name in names)
    weights = RNG.poisson(1.0, (50, 4)).astype(np.uint8)
    resampled, losses = (
        resample_block(metric, VALUES[0], VALUES[1][np.newaxis], weights)
        for metric in (negative, loss)
    )
    assert negative.greater_is_better
    assert (resampled == -losses).all()
    assert traits_of(negative).score_range == (-np.inf, 0.0)
