"""Whether a score is defined tells nothing about the truth: for every metric of arena."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from arena.evaluation.domain import is_defined_on
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores
from arena.interfaces import Metric, faults_of_predictions, faults_of_truth, traits_of
from arena.types import PredictionKind, RowContext
from arena_metrics.catalogue import all_metrics
from arena_metrics.map_at_k import MapAtK
from arena_metrics.ndcg import NdcgAtK
from arena_metrics.segmentation import Dice, IntersectionOverUnion
from arena_metrics.sklearn_family import ScikitLearn
from competition_info import info_of

N_ROWS = 24
LABELS, VALUES = PredictionKind.LABEL, PredictionKind.VALUE
OTHER_PROBLEMS = (
    *("ndcg_at_k", "map_at_k", "dice", "iou", "surface_dice", "hausdorff"),
    *("mean_average_precision", "panoptic_quality", "instance_f1"),
)
"""Metrics of groups and of texts, which are drawn in another way below."""
WORDS = ("a", "bé", "日本", "1", "2", "9" * 18, "-1", "0", "", "\0", "\u202e", "a" * 300)
MASKS = ("", "-1", "1 1", "1 5 9 2", "3 4", "1 1000000000", "2 1 4 1 6 1")
GAINS = (0.0, 1.0, 3.0, 30.0)


TEXTS = [
    metric
    for metric in all_metrics()
    if isinstance(metric, Metric)
    and metric.prediction is PredictionKind.TEXT
    and metric.name not in OTHER_PROBLEMS
]


class Probed:
    """Remembers the predictions that it scores."""

    name = "probed"
    greater_is_better = True

    def __init__(self, kind: PredictionKind) -> None:
        self.prediction, self.probes = kind, list[npt.NDArray[Any]]()

    def score(self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> float:
        self.probes.append(prediction.copy())
        return 0.5


@pytest.mark.parametrize(
    ("kind", "n_classes", "shape", "constant"),
    [
        (LABELS, 3, (4,), [None, 0, 1, 2]),
        (VALUES, 0, (4,), [None, None, None]),
        (PredictionKind.SCORE, 2, (4,), [None, 0, 1]),
        (PredictionKind.PROBABILITY, 2, (4,), [None, 0, 1]),
        (PredictionKind.PROBABILITY, 3, (4, 3), [None, 0, 1]),
        (PredictionKind.CLASS_PROBABILITIES, 2, (4,), [None, 0, 1]),
        (PredictionKind.CLASS_PROBABILITIES, 3, (4, 3), [None]),
    ],
)
def test_probes_have_the_shape_of_a_submission(
    kind: PredictionKind, n_classes: int, shape: tuple[int, ...], constant: list[float | None]
) -> None:
    metric = Probed(kind)
    assert is_defined_on(metric, np.array([0, 1, 2, 1]), kind, n_classes)
    assert [probe.shape for probe in metric.probes] == [shape] * len(constant)
    for probe, value in zip(metric.probes, constant, strict=True):
        assert len(np.unique(probe)) > 1 if value is None else (probe == value).all()
    if shape == (4,) and n_classes == 2:
        assert metric.probes[0].tolist() == np.random.default_rng(0).random(4).tolist()
    elif shape == (4, 3):
        assert metric.probes[0].sum(axis=1) == pytest.approx(1)


def test_a_probe_that_cannot_be_scored_is_passed_over() -> None:
    for answers, is_defined in (
        ((0.5, 0.5), True),
        ((KeyError(), 0.5), True),
        ((KeyError(), float("nan")), False),
        ((0.5, float("inf")), False),
        ((ValueError(), 0.5), False),  # scikit-learn's for a score that is undefined
    ):
        metric: Any = SimpleNamespace(
            prediction=LABELS, score=mock.Mock(side_effect=[*answers, KeyError()])
        )
        assert is_defined_on(metric, np.array([0, 1]), LABELS, 2) == is_defined


def _metrics() -> Iterator[tuple[Metric, int]]:
    """Yield every metric with a number of classes, 0 for numbers."""
    for metric in all_metrics():
        if metric in TEXTS or not isinstance(metric, Metric):
            continue
        if metric.name not in OTHER_PROBLEMS:
            counts = [0] if metric.prediction is VALUES else [2, 3]
            if traits_of(metric).max_classes == 2:
                counts = [2]
            yield from ((metric, n_classes) for n_classes in counts)
    family = ScikitLearn()
    for name in family.known():
        parameters: dict[str, Any] = {"beta": 2.0} if name == "fbeta_score" else {}
        metric = family.make(name, parameters)
        yield metric, 0 if metric.prediction is VALUES else 2
        averaged = ("f1_score", "fbeta_score", "jaccard_score", "precision_score", "recall_score")
        if name in averaged:
            yield family.make(name, {**parameters, "average": "macro"}), 3
        elif name == "roc_auc_score":
            yield family.make(name, {"multi_class": "ovr"}), 3
        elif metric.prediction is LABELS or name in ("log_loss", "hinge_loss", "d2_log_loss_score"):
            yield metric, 3
    for power in (-1.0, 1.5, 2.5, 3.0, 7.0):
        yield family.make("mean_tweedie_deviance", {"power": power}), 0
        yield family.make("d2_tweedie_score", {"power": power}), 0


CASES = list(_metrics())


def _numbers(rng: np.random.Generator, n: int, bounds: tuple[float, float]) -> Iterator[Any]:
    low, high = bounds
    edges = np.array([low, high, 0.0, 1.0, -1.0, 5e-324, 1e-300, 1e-160, 1e-100, 1e-17, 1e50])
    edges = np.clip(edges, low, high)
    inside = np.clip(rng.normal(size=n), low, high)
    for edge in edges:
        yield np.full(n, edge)
        yield np.where(np.arange(n) == rng.integers(n), edge, inside)
        yield np.where(np.arange(n) == rng.integers(n), edge, np.clip(1.0, low, high))
        yield np.where(np.arange(n) == rng.integers(n), edge, np.clip(0.0, low, high))
        yield np.where(rng.random(n) < 0.5, edge, np.nextafter(edge, np.clip(2.0, low, high)))
    for _ in range(6):
        yield rng.choice(edges, n)
        yield np.clip(rng.lognormal(sigma=20.0, size=n) * rng.choice([-1, 1], n), low, high)
        yield np.clip(rng.integers(0, 4, n).astype(float), low, high)
    yield inside


def _codes(rng: np.random.Generator, n: int, n_classes: int) -> Iterator[Any]:
    for code in range(n_classes):
        yield np.full(n, code)
        for other in range(n_classes):
            yield np.where(np.arange(n) == rng.integers(n), code, other)
    for _ in range(8):
        yield rng.integers(0, n_classes, n)
        yield rng.integers(0, max(1, n_classes - 1), n)


def _predictions(metric: Metric, n_classes: int, rng: np.random.Generator) -> Iterator[Any]:
    bounds = traits_of(metric).prediction_range
    if metric.prediction is LABELS:
        yield from _codes(rng, N_ROWS, n_classes)
    elif n_classes < 3:
        yield from _numbers(rng, N_ROWS, bounds)
    else:
        for columns in zip(*(_numbers(rng, N_ROWS, bounds) for _ in range(n_classes)), strict=True):
            table = np.column_stack(columns)
            if metric.prediction is not PredictionKind.SCORE:
                table[table.sum(axis=1) == 0] = 1.0
                table /= table.sum(axis=1, keepdims=True)
            yield table


def _defined(metric: Metric, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> bool:
    """Return what the host answers: whether the score of all rows is finite."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            scores = full_scores(metric, truth, ArrayPredictions(prediction[np.newaxis]))
        except ValueError:
            return False
    return bool(np.isfinite(scores[0]))


def _check(metric: Metric, n_classes: int, seed: int, most: int) -> None:
    """Compare the answers on at most so many truths, for at most so many predictions."""
    rng = np.random.default_rng(seed)
    bounds = traits_of(metric).truth_range
    columns = _codes(rng, N_ROWS, n_classes) if n_classes else _numbers(rng, N_ROWS, bounds)
    candidates = _some(rng, columns, 2 * most)
    truths = [
        candidate
        for candidate in candidates
        if is_defined_on(metric, candidate, metric.prediction, n_classes)
    ]
    assert len(truths) >= 3
    for prediction in _some(rng, _predictions(metric, n_classes, rng), most):
        answers = [_defined(metric, truth, prediction) for truth in truths]
        assert len(set(answers)) == 1, (prediction, truths[answers.index(not answers[0])])


def _some(rng: np.random.Generator, columns: Iterator[Any], most: int) -> list[Any]:
    every = list(columns)
    return [every[index] for index in rng.permutation(len(every))[:most]]


def _label(case: tuple[Metric, int]) -> str:
    metric, n_classes = case
    inside = ", ".join(f"{k}={v}" for k, v in getattr(metric, "parameters", {}).items())
    return f"{metric.name}({inside})-{n_classes}"


@pytest.mark.few(3)
@pytest.mark.parametrize("case", CASES, ids=_label)
def test_whether_a_score_is_defined_does_not_depend_on_the_truth(case: tuple[Metric, int]) -> None:
    _check(*case, seed=0, most=5)


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=_label)
def test_the_same_of_many_truths(case: tuple[Metric, int]) -> None:
    for seed in range(1, 16):
        _check(*case, seed=seed, most=100)


@pytest.mark.few(8)
@pytest.mark.parametrize("case", CASES, ids=_label)
def test_an_ordinary_truth_is_accepted(case: tuple[Metric, int]) -> None:
    metric, n_classes = case
    rng = np.random.default_rng(0)
    for n_rows in (8, 300):
        if n_classes:
            truth = rng.permutation(np.arange(n_rows) % n_classes)
        else:
            truth = np.clip(rng.lognormal(size=n_rows), *traits_of(metric).truth_range)
        assert is_defined_on(metric, truth, metric.prediction, n_classes)


def _cells(rng: np.random.Generator, words: tuple[str, ...], most: int) -> npt.NDArray[Any]:
    rows = [" ".join(rng.choice(words, rng.integers(most))) for _ in range(N_ROWS)]
    return np.array(rows, dtype=object)


@pytest.mark.few(3)
@pytest.mark.parametrize("metric", TEXTS, ids=lambda metric: metric.name)
def test_whether_texts_of_an_example_have_a_score_does_not_depend_on_the_truth(
    metric: Any,
) -> None:
    rng = np.random.default_rng(3)
    examples = [metric.example(N_ROWS, 2, rng) for _ in range(4)]
    words = np.array(WORDS, dtype=object)
    files = [prediction for _, predictions in examples for prediction in predictions]
    files += [np.where(rng.random(N_ROWS) < 0.5, rng.choice(words, N_ROWS), files[0])]
    info = info_of(metric, ["y"], [str(row) for row in range(N_ROWS)])
    truths = [truth for truth, _ in examples]
    assert not any(list(faults_of_truth(metric, truth[:, None], info)) for truth in truths)
    valid = [
        prediction
        for prediction in files
        if not list(faults_of_predictions(metric, prediction[:, None], info))
    ]
    assert len(valid) >= 8
    for prediction in valid:
        assert {_defined(metric, truth, prediction) for truth in truths} == {True}


@pytest.mark.parametrize("metric", [MapAtK(k=3), Dice(), IntersectionOverUnion()])
@pytest.mark.parametrize("seed", [0, pytest.param(range(1, 200), marks=pytest.mark.campaign)])
def test_whether_a_score_of_texts_is_defined_does_not_depend_on_the_truth(
    metric: Metric, seed: int | range
) -> None:
    """What the metric cannot score is refused without the truth; everything else has a score."""
    masks = not isinstance(metric, MapAtK)
    ids = pa.array([str(row) for row in range(N_ROWS)])
    info = info_of(metric, ["y"], ids)
    for own in range(seed, seed + 1) if isinstance(seed, int) else seed:
        rng = np.random.default_rng([7, own])
        truths = [_cells(rng, WORDS[:5], 4) for _ in range(3)]
        if masks:
            truths = [rng.choice(np.array(MASKS, dtype=object), N_ROWS) for _ in range(3)]
        truths.append(np.full(N_ROWS, "1 1" if masks else "a", dtype=object))
        truths = [
            truth for truth in truths if not list(faults_of_truth(metric, truth[:, None], info))
        ]
        assert len(truths) >= 2
        scored = 0
        for number in range(12):
            prediction = _cells(rng, WORDS, 6)
            if number % 2:
                prediction = rng.choice(np.array(MASKS if masks else WORDS, dtype=object), N_ROWS)
            if list(faults_of_predictions(metric, prediction[:, None], info)):
                continue
            scored += 1
            assert {_defined(metric, truth, prediction) for truth in truths} == {True}
        assert scored


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_whether_a_score_of_groups_is_defined_does_not_depend_on_the_truth(
    seed: int, gain: str
) -> None:
    rng = np.random.default_rng(seed)
    groups = np.sort(rng.integers(0, 6, N_ROWS))
    context = RowContext("id", None, ("y",), ("y",), clusters=groups)
    metric = NdcgAtK(k=4, gain=gain).for_rows(context)
    truths = [rng.choice(GAINS, N_ROWS) for _ in range(4)]
    truths += [np.zeros(N_ROWS), np.where(groups == 2, 1.0, 0.0)]
    for prediction in _some(rng, _numbers(rng, N_ROWS, traits_of(metric).prediction_range), 20):
        assert {_defined(metric, truth, prediction) for truth in truths} == {True}


@pytest.mark.parametrize("name", ["r2", "pearson", "spearman", "gini"])
def test_a_constant_target_is_refused(name: str) -> None:
    (metric,) = (metric for metric in all_metrics() if getattr(metric, "name", "") == name)
    assert isinstance(metric, Metric)
    assert not is_defined_on(metric, np.full(9, 0.1), VALUES, 0)
