"""Synthetic truth and predictions of the kind that a metric needs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.errors import UsageError
from arena.interfaces import Metric, NeedsRowContext, source_of, traits_of
from arena.types import FloatArray, IntArray, PredictionKind, RowContext, WeightArray

_CLUSTER_ROWS = 6


@dataclass(frozen=True, slots=True, eq=False)
class MetricProblem:
    """m submissions for n rows, and B weightings of the rows."""

    unbound: Metric
    truth: npt.NDArray[Any]
    """``(n,)`` or ``(n, n_targets)``."""
    predictions: npt.NDArray[Any]
    """``(m, n)`` or ``(m, n, n_columns)``."""
    weights: WeightArray
    """``(n, B)`` small counts, equal within a group if the metric needs row context."""
    clusters: IntArray
    """``(n,)`` codes of groups of six rows."""

    @property
    def metric(self) -> Metric:
        """The metric, bound to the rows if it needs that."""
        if not isinstance(self.unbound, NeedsRowContext):
            return self.unbound
        n_rows = len(self.truth)
        columns = self.predictions.shape[2] if self.predictions.ndim == 3 else 1
        names = tuple(f"column {position}" for position in range(columns))
        targets = self.truth.shape[1] if self.truth.ndim == 2 else 1
        context = RowContext(
            id_column="id",
            ids=pa.array([str(row) for row in range(n_rows)]),
            targets=tuple(f"target {position}" for position in range(targets)),
            columns=names,
            clusters=np.unique(self.clusters, return_inverse=True)[1].astype(np.intp),
            extra=getattr(self.unbound, "example_extra", _no_extra)(n_rows),
        )
        return self.unbound.for_rows(context)

    def take(self, rows: IntArray) -> MetricProblem:
        """Return the problem of these rows, in this order; a repeated group becomes a new group."""
        copies = _occurrences(rows) * (self.clusters.max(initial=0) + 1)
        return dataclasses.replace(
            self,
            truth=self.truth[rows],
            predictions=self.predictions[:, rows],
            weights=self.weights[rows],
            clusters=self.clusters[rows] + copies,
        )


def _no_extra(n_rows: int) -> dict[str, FloatArray]:  # noqa: ARG001 - that of example_extra
    return {}


def _occurrences(rows: IntArray) -> IntArray:
    """Return how often each row has occurred before.

    >>> _occurrences(np.array([4, 7, 4, 4]))
    array([0, 0, 1, 2])
    """
    order = np.argsort(rows, kind="stable")
    changes = np.flatnonzero(np.diff(rows[order], prepend=-1))
    since = np.arange(len(rows)) - np.repeat(changes, np.diff(np.append(changes, len(rows))))
    counts = np.empty(len(rows), dtype=np.intp)
    counts[order] = since
    return counts


def problem_for(
    metric: Metric, n_rows: int = 240, n_submissions: int = 5, seed: int = 0
) -> MetricProblem:
    """Return a problem for a metric, within its declared ranges.

    The target has two classes or is numeric; a metric of texts provides data by ``example``.

    Raises
    ------
    UsageError
        If no data can be generated for a metric of texts.

    Examples
    --------
    >>> from arena.testing.examples import MeanAbsolute
    >>> problem_for(MeanAbsolute(), n_rows=60).predictions.shape
    (5, 60)
    """
    rng = np.random.default_rng(seed)
    example = getattr(metric, "example", None)
    if example is not None:
        truth, predictions = example(n_rows, n_submissions, rng)
    elif metric.prediction is PredictionKind.TEXT and source_of(metric) is not None:
        raise UsageError(
            f"{metric.name} reads tables with unknown columns, so no data can be generated for it: "
            f"try it on your own files with arena score SOLUTION SUBMISSIONS --metric …"
        )
    elif metric.prediction is PredictionKind.TEXT:
        raise UsageError(
            f"{metric.name} reads texts, for which no data can be generated: give it a method "
            f"example(n_rows, n_submissions, rng) that returns truth and predictions."
        )
    elif metric.prediction is PredictionKind.VALUE:
        truth, predictions = _numbers(metric, n_rows, n_submissions, rng)
    else:
        truth, predictions = _classes(metric, n_rows, n_submissions, rng)
    clusters = np.arange(n_rows, dtype=np.intp) // _CLUSTER_ROWS
    if isinstance(metric, NeedsRowContext):
        weights = rng.poisson(1.0, (clusters[-1] + 1, 4)).astype(np.uint8)[clusters]
    else:
        weights = rng.poisson(1.0, (n_rows, 4)).astype(np.uint8)
    return MetricProblem(metric, truth, predictions=predictions, weights=weights, clusters=clusters)


def _numbers(
    metric: Metric, n_rows: int, n_submissions: int, rng: np.random.Generator
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    traits = traits_of(metric)
    truth = np.clip(rng.lognormal(size=n_rows), *traits.truth_range)
    noise = rng.normal(0.0, 0.5, (n_submissions, n_rows))
    return truth, np.clip(truth + noise, *traits.prediction_range)


def _classes(
    metric: Metric, n_rows: int, n_submissions: int, rng: np.random.Generator
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    truth = (rng.random(n_rows) < 0.4).astype(np.intp)
    probability = np.clip(0.25 + 0.5 * truth + rng.normal(0, 0.25, (n_submissions, n_rows)), 0, 1)
    if metric.prediction is PredictionKind.LABEL:
        return truth, (probability > 0.5).astype(np.intp)
    low, high = traits_of(metric).prediction_range
    return truth, np.clip(probability, max(low, 0.01), min(high, 0.99))
