"""Turns a model's probabilities or numbers into a submission for a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.errors import MetricError
from arena.interfaces import Metric, NeedsRowContext, kinds_of, traits_of
from arena.types import PredictionKind, RowContext
from arena.utils.text import plural

_LABELLED = (
    PredictionKind.PROBABILITY,
    PredictionKind.CLASS_PROBABILITIES,
    PredictionKind.SCORE,
    PredictionKind.LABEL,
)


@dataclass(frozen=True, slots=True)
class Shape:
    """The form in which a metric takes predictions."""

    kind: PredictionKind
    low: float
    high: float
    """The range of valid predictions."""

    def submission(self, raw: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
        """Return the submission of a team that predicts this.

        Parameters
        ----------
        raw
            ``(n,)`` probabilities of the positive class or numbers, or ``(n, n_classes)``.

        Examples
        --------
        >>> shape = Shape(PredictionKind.LABEL, -np.inf, np.inf)
        >>> shape.submission(np.array([0.2, 0.7], dtype=np.float32)).tolist()
        [0, 1]
        """
        values = np.asarray(raw, dtype=np.float64)
        if self.kind is PredictionKind.LABEL:
            codes = values >= 0.5 if values.ndim == 1 else values.argmax(axis=1)
            return np.asarray(codes, dtype=np.intp)
        if values.ndim == 2:  # float32 rows sum to 1 to seven digits only
            values = values / values.sum(axis=1, keepdims=True)
        return np.clip(values, self.low, self.high)


def check_kinds(metric: Metric) -> None:
    """Refuse a metric for which the kind of predictions is not known.

    Raises
    ------
    MetricError
        If it takes cells of text instead of numbers, labels or probabilities.
    """
    if not {PredictionKind.VALUE, *_LABELLED}.intersection(kinds_of(metric)):
        raise MetricError(
            f"{metric.name} reads the cells of a submission itself, so whether it takes numbers, "
            f"labels or probabilities is not known. State it with --prediction, such as "
            f"--prediction probability, or choose a metric that declares it: arena metrics lists "
            f"them."
        )


def shape_for(metric: Metric, n_classes: int | None) -> Shape:
    """Return how models of this target are scored by a metric.

    Raises
    ------
    MetricError
        If they cannot be.
    """
    check_kinds(metric)
    traits = traits_of(metric)
    kinds = kinds_of(metric)
    wanted_kinds = (PredictionKind.VALUE,) if n_classes is None else _LABELLED
    suitable = [kind for kind in kinds if kind in wanted_kinds]
    what = "a target of numbers"
    if n_classes is not None:
        what = f"a target of {plural(n_classes, 'label')}"
        if n_classes > (traits.max_classes or n_classes):
            suitable = []
        if n_classes > 2:
            suitable = [kind for kind in suitable if kind is not PredictionKind.PROBABILITY]
    if not suitable:
        raise MetricError(
            f"{metric.name} cannot score models of {what}. Choose another metric: arena metrics "
            f"lists them."
        )
    return Shape(suitable[0], *traits.prediction_range)


def bound_to(metric: Metric, n_rows: int, classes: tuple[str, ...] | None) -> Metric:
    """Return the metric for n rows that have numbers for ids, and no group or extra column.

    Raises
    ------
    MetricError
        If the metric needs more of the rows.
    """
    if not isinstance(metric, NeedsRowContext):
        return metric
    ids = pa.array([str(row) for row in range(n_rows)])
    columns = ("target",) if classes is None or len(classes) < 3 else classes
    return metric.for_rows(RowContext("id", ids, ("target",), columns, classes=classes))
