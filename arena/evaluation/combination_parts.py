"""The scores that enter a combination, and how much each of them counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.evaluation.predictions import MappedPredictions
from arena.evaluation.scores import is_mean_of_rows
from arena.evaluation.served_kinds import Conversion
from arena.interfaces import Metric, NeedsRowContext, PointwiseMetric, PredictionBlocks
from arena.types import LEAST_WEIGHT, MOST_WEIGHT, FloatArray, IntArray, PredictionKind

COMBINATIONS = ("mean", "rows", "geometric", "worst", "mean_rank")
"""How the scores of parts become one; see :mod:`arena.evaluation.combinations`."""


@dataclass(frozen=True, slots=True)
class Combination:
    """How the scores of several metrics, or of several tasks, become one.

    Raises
    ------
    UsageError
        If the name is unknown, or a weight is not a positive number.
    """

    how: str = "mean"
    """One of :data:`COMBINATIONS`."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Metric or task -> weight; others have 1. Of a metric on a task, the two are multiplied."""

    def __post_init__(self) -> None:
        if self.how not in COMBINATIONS:
            raise UsageError(
                f"The combination must be one of {', '.join(COMBINATIONS)}, not {self.how!r}."
            )
        if self.weights and self.how == "worst":
            raise UsageError("The worst of several scores takes no weights.")
        for name, weight in self.weights.items():
            if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
                raise UsageError(
                    f"The weight of {name} must be a positive number from {LEAST_WEIGHT:g} to "
                    f"{MOST_WEIGHT:g}, not {weight}."
                )

    @property
    def is_mean(self) -> bool:
        """Whether it is a weighted sum of the scores."""
        return self.how in ("mean", "rows")

    def check_names(self, names: Iterable[str]) -> None:
        """Raise UsageError if a weight is for something that does not exist."""
        column_names = list(names)
        for name in self.weights:
            if name not in column_names:
                listed = ", ".join(column_names)
                raise UsageError(f"There is no metric or task {name!r} to weight: {listed}.")


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A score that enters a combination: a metric on all rows, or on those of a task."""

    name: str
    metric: Metric
    """Bound to its rows, if it needs that."""
    weight: float
    """Of all parts, the weights sum to 1."""
    rows: IntArray | slice | None = None
    """The positions of its rows; None: all."""
    convert: Conversion | None = None
    """Converts predictions to those of its metric; None: they need no conversion."""
    row_factors: FloatArray | None = None
    """``(n,)`` factors of the weights of rows; None: they have none."""

    def of_rows(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return an array ``(n, …)`` on the rows of the part."""
        return values if self.rows is None else values[self.rows]

    def of_block(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return predictions ``(k, n, …)`` as the metric takes them."""
        part_block = block if self.rows is None else block[:, self.rows]
        return part_block if self.convert is None else self.convert(part_block)

    def of_predictions(self, predictions: PredictionBlocks) -> PredictionBlocks:
        """Return the predictions on the rows of the part, as the metric takes them."""
        if self.rows is None and self.convert is None:
            return predictions
        return MappedPredictions(predictions, self.of_block)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A metric of a combination, before it is bound to rows."""

    name: str
    metric: Metric
    convert: Conversion | None
    task: str = ""
    """The task that it scores; empty: each task, or all rows."""

    def weight(self, weights: Mapping[str, float], task: str) -> float:
        """Return its weight in a task."""
        of_metric = 1.0 if self.task else weights.get(self.name, 1.0)
        return of_metric * weights.get(task, 1.0)


def normalised(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts with weights that sum to 1."""
    total = sum(part.weight for part in parts)
    return tuple(replace(part, weight=part.weight / total) for part in parts)


def as_few_products(parts: Sequence[Part], tasks: IntArray | None) -> tuple[Part, ...]:
    """Return parts with the same mean: those that are means of the same rows become one.

    One product of row values with the weights of the resamples then serves all of them. Where the
    ``(n,)`` codes of tasks are given, every resample has as many rows of a task as the task has:
    then means of the rows of all tasks become one, too.
    """
    if tasks is not None and any(is_plain_mean(part.metric) for part in parts):
        return _over_tasks(parts, tasks)
    joined: dict[Any, list[Part]] = {}
    others = []
    for part in parts:
        if is_plain_mean(part.metric):
            joined.setdefault(id(part.rows), []).append(part)
        else:
            others.append(part)
    joint = []
    for of_rows in joined.values():
        if len(of_rows) == 1:
            joint += of_rows
            continue
        total = sum(part.weight for part in of_rows)
        joint.append(Part("", WeightedRowMean(normalised(of_rows)), total, of_rows[0].rows))
    return (*joint, *others)


def is_plain_mean(metric: Metric) -> bool:
    """Return whether a score is a mean of values that follow from a row alone."""
    return is_mean_of_rows(metric) and not isinstance(metric, NeedsRowContext)


@dataclass(frozen=True, eq=False)
class WeightedRowMean(PointwiseMetric):
    """The weighted sum of means of row values, which is the mean of the weighted sums."""

    parts: tuple[Part, ...]
    name: ClassVar[str] = "weighted mean"
    prediction: ClassVar[PredictionKind] = PredictionKind.VALUE

    @property
    def greater_is_better(self) -> bool:
        """The direction of the metrics."""
        return self.parts[0].metric.greater_is_better

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return the ``(m, n)`` weighted sums of the row values."""
        values = np.zeros(predictions.shape[:2])
        for part in self.parts:
            converted = predictions if part.convert is None else part.convert(predictions)
            metric: Any = part.metric
            values += part.weight * metric.row_values(truth, converted)
        return values


def _over_tasks(parts: Sequence[Part], tasks: IntArray) -> tuple[Part, ...]:
    """Return parts with the same mean, of which one has all means of rows, over all tasks.

    A weight is that of a metric times that of a task: the metrics are summed row by row, and a row
    of a task with n_c rows has the weight of the task over n_c as a factor.
    """
    plain = [part for part in parts if is_plain_mean(part.metric)]
    counts = np.bincount(tasks)
    weights = np.array([part.weight for part in plain]).reshape(len(counts), -1)
    of_metrics = zip(plain, weights.sum(axis=0) / weights.sum(), strict=False)
    mean = WeightedRowMean(
        tuple(replace(part, rows=None, weight=weight) for part, weight in of_metrics)
    )
    factors = (weights.sum(axis=1) / counts)[tasks]
    others = [part for part in parts if not is_plain_mean(part.metric)]
    return Part("", mean, float(weights.sum()), row_factors=factors), *others
