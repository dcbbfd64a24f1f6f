"""Boards for the tests of ranking: metrics, predictions and studies made from arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores, score_under_weights
from arena.interfaces import Study
from arena.types import FloatArray, IntArray, PredictionKind, WeightArray

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Accuracy:
    """Pointwise."""

    name: str = "accuracy"
    greater_is_better: bool = True
    prediction: PredictionKind = PredictionKind.LABEL

    def score(self, truth: Array, prediction: Array, weight: Array | None = None) -> float:
        return float(np.average(truth == prediction, weights=weight))

    def row_values(self, truth: Array, predictions: Array) -> FloatArray:
        return (predictions == truth).astype(np.float64)

    def from_mean(self, mean: FloatArray) -> FloatArray:
        return mean


@dataclass(frozen=True)
class RootMeanSquaredError:
    """Pointwise through a square root; smaller is better."""

    name: str = "rmse"
    greater_is_better: bool = False
    prediction: PredictionKind = PredictionKind.VALUE

    def score(self, truth: Array, prediction: Array, weight: Array | None = None) -> float:
        return float(np.sqrt(np.average((truth - prediction) ** 2, weights=weight)))

    def row_values(self, truth: Array, predictions: Array) -> FloatArray:
        return np.asarray((predictions - truth) ** 2, dtype=np.float64)

    def from_mean(self, mean: FloatArray) -> FloatArray:
        return np.sqrt(mean)


@dataclass(frozen=True)
class BlackBox:
    """The error rate, with nothing but a score."""

    name: str = "black_box"
    greater_is_better: bool = False
    prediction: PredictionKind = PredictionKind.LABEL

    def score(self, truth: Array, prediction: Array, weight: Array | None = None) -> float:
        return float(np.average(truth != prediction, weights=weight))


@lru_cache(maxsize=50)
def weights_of(n: int, resamples: int, seed: int) -> WeightArray:
    return draw_resamples(n, resamples, seed).weights


StudyMaker = Callable[..., Study]


def make_study(
    metric: Any,
    truth: Array,
    predictions: Array,
    *,
    teams: tuple[str, ...] | None = None,
    resamples: int = 200,
    level: float = 0.95,
    seed: int = 0,
    clusters: IntArray | None = None,
) -> Study:
    held = ArrayPredictions(predictions)
    if clusters is None:
        weights = weights_of(len(truth), resamples, seed)
    else:
        weights = draw_resamples(len(truth), resamples, seed, clusters=clusters).weights
    return Study(
        metric=metric,
        truth=truth,
        teams=teams or tuple(f"team {j}" for j in range(len(predictions))),
        submissions=np.arange(1, len(predictions) + 1),
        predictions=held,
        scores=full_scores(metric, truth, held),
        resampled=score_under_weights(metric, truth, held, weights),
        level=level,
        clusters=clusters,
    )


@pytest.fixture(scope="session")
def study_of() -> StudyMaker:
    return make_study


@pytest.fixture(scope="session")
def metrics() -> dict[str, Any]:
    return {"accuracy": Accuracy(), "rmse": RootMeanSquaredError(), "black_box": BlackBox()}


def labels(
    rng: np.random.Generator, accuracies: npt.ArrayLike, n: int, correlation: float = 0.5
) -> tuple[Array, Array]:
    """Return 0/1 truth and predictions whose errors share one common cause per row."""
    from scipy.special import ndtri

    targets = np.asarray(accuracies, dtype=np.float64)
    common = np.sqrt(correlation) * rng.normal(size=n)
    own = np.sqrt(1 - correlation) * rng.normal(size=(len(targets), n))
    right = common + own < ndtri(targets)[:, np.newaxis]
    truth = (rng.random(n) < 0.5).astype(np.intp)
    return truth, np.where(right, truth, 1 - truth)


@pytest.fixture(scope="session")
def correlated_labels() -> Callable[..., tuple[Array, Array]]:
    return labels
