"""Problems of every kind, random and hostile, for sets of metrics."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from arena.evaluation.scores import resample_block
from arena.interfaces import HasResample, HasRowValues, Metric
from arena.types import FloatArray, PredictionKind
from arena_metrics.catalogue import all_metrics
from kernel_modules import KernelModules, compiled_kernels, python_kernels
from thinned import thinned

_EDGES = np.array([-3.0, -1.0, -0.0, 0.0, 1e-300, 0.25, 0.5, 0.5, 1.0, 7.0])


PROBLEMS_OF_THEIR_OWN = {
    *("ndcg_at_k", "map_at_k", "dice", "iou", "surface_dice", "hausdorff"),
    *("mean_average_precision", "panoptic_quality", "instance_f1"),
    *("mase", "rmsse", "wrmsse", "owa", "wis", "crps", "interval_coverage_error"),
    *("class_weighted_log_loss", "ams", "eer", "min_dcf"),
    *("trec_map", "trec_ndcg", "trec_mrr", "trec_recall"),
    *("exact_match", "token_f1", "word_error_rate", "bleu", "chrf"),
}
"""Metrics of texts, of rows in groups, or of several numbers: see the tests of their modules."""


@dataclass(frozen=True)
class Case:
    """A metric with parameters, and the number of classes of the problem it is tried on."""

    metric: Any
    n_classes: int | None

    @property
    def label(self) -> str:
        names = [field.name for field in dataclasses.fields(self.metric) if field.init]
        inside = ", ".join(f"{name}={getattr(self.metric, name)}" for name in names)
        return f"{self.metric.name}({inside})-{self.n_classes}"

    def problem(
        self, rng: np.random.Generator, n_rows: int, n_submissions: int = 3, *, hostile: bool
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return truth and ``(m, n[, C])`` predictions; hostile ones are mostly ties and edges."""
        shape = (n_submissions, n_rows)
        if self.n_classes is None:
            values = _numbers(rng, (n_submissions + 1, n_rows), hostile)
            values[1:] += 0 if hostile else values[0]
            if self.metric.name == "rmsle":
                values = np.maximum(values, -0.75)
            return values[0], values[1:]
        truth = rng.integers(0, self.n_classes, n_rows)
        if self.metric.prediction is PredictionKind.LABEL:
            labels = rng.integers(0, self.n_classes, shape)
            guess = rng.random(shape) < 0.5
            return truth, labels if hostile else np.where(guess, truth, labels)
        scores = _numbers(rng, (*shape, self.n_classes), hostile)
        if not hostile:
            scores += truth[:, np.newaxis] == np.arange(self.n_classes)
        if self.metric.prediction is PredictionKind.CLASS_PROBABILITIES:
            with np.errstate(over="ignore", under="ignore"):
                scores = np.exp(40.0 * scores if hostile else scores)
            scores /= scores.sum(axis=-1, keepdims=True)
        return truth, scores[..., 1] if self.n_classes == 2 else scores


def _numbers(
    rng: np.random.Generator, shape: tuple[int, ...], hostile: bool
) -> npt.NDArray[np.float64]:
    return rng.choice(_EDGES, shape) if hostile else rng.normal(size=shape)


def _cases() -> list[Case]:
    cases = []
    for metric in all_metrics():
        if not isinstance(metric, Metric) or metric.name in PROBLEMS_OF_THEIR_OWN:
            continue
        if metric.prediction is PredictionKind.VALUE:
            cases.append(Case(metric, None))
        else:
            cases.append(Case(metric, 2))
            if metric.name not in ("f1", "average_precision"):
                cases.append(Case(metric, 3))
    by_name = {case.metric.name: case.metric for case in cases}
    changed = [
        *((by_name["f1"], {"average": average}, 4) for average in ("macro", "micro", "weighted")),
        (by_name["roc_auc"], {"average": "weighted"}, 3),
        (by_name["roc_auc"], {"average": "weighted"}, 2),
        (by_name["log_loss"], {"clip": 0.01}, 2),
        (by_name["log_loss"], {"clip": 0.01}, 3),
        (by_name["quantile_loss"], {"alpha": 0.9}, None),
    ]
    replaced = [
        Case(dataclasses.replace(metric, **fields), n_classes)
        for metric, fields, n_classes in changed
    ]
    return cases + replaced


CASES = _cases()


@pytest.fixture(params=thinned(CASES, every=4), ids=lambda case: case.label)
def case(request: pytest.FixtureRequest) -> Case:
    """Every metric, on the numbers of classes and with the parameters that matter."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(
    params=[python_kernels, pytest.param(compiled_kernels, marks=pytest.mark.slow)],
    ids=lambda import_kernels: import_kernels.__name__,
    scope="session",
)
def kernels(request: pytest.FixtureRequest) -> KernelModules:
    """The kernels, compiled or not."""
    return request.param()  # type: ignore[no-any-return]


@pytest.fixture
def cases() -> list[Case]:
    """All of them at once."""
    return CASES


@pytest.fixture
def resampled() -> Callable[[Any, Any, Any, Any], FloatArray]:
    """Return the host's fast path: ``resample``, or a matrix product of row values."""

    def score(metric: Any, truth: Any, predictions: Any, weights: Any) -> FloatArray:
        assert isinstance(metric, HasResample | HasRowValues)
        return resample_block(metric, truth, predictions, weights)

    return score
