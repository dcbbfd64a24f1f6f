"""Metrics that count the cases of each submission once, and the metric of these counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.evaluation.black_box import run_calls, time_advice
from arena.evaluation.wrapped_metric import WrappedMetric
from arena.interfaces import TABLE, CountsCases, MetricOfSums, PredictionBlocks
from arena.types import FloatArray, PredictionKind
from arena.utils.processes import Ended
from arena.utils.read_only import read_only


def case_counts(
    metric: CountsCases, truth: npt.NDArray[Any], predictions: PredictionBlocks, *, workers: int
) -> list[FloatArray]:
    """Return the ``(n_cases, s)`` counts of each submission, within the limits of the metric.

    Raises
    ------
    MetricError
        If a call exceeds the time limit of the metric, or its process dies.
    ScoringError
        If the metric fails on a submission.
    """
    counters = (
        (metric.counter(*read_only((truth, block[0]))),) for _, block in predictions.blocks(1)
    )
    return [
        _of_process(metric, "a submission", result)
        for result in run_calls(metric, _called, counters, workers)
    ]


def _called(function: Callable[..., FloatArray], *arguments: Any) -> FloatArray:
    return function(*arguments)


def _of_process(metric: CountsCases, what: str, result: FloatArray | Ended) -> FloatArray:
    """Return what a function of the metric returned, or raise if its process ended first."""
    if isinstance(result, Ended):
        raise MetricError(f"{metric.name} failed on {what}: {result}.{time_advice(result)}")
    return result


@dataclass(frozen=True)
class MetricOfCounts(WrappedMetric, MetricOfSums):
    """A metric whose predictions are the ``(m, n_cases, s)`` counts that another one returned."""

    metric: CountsCases

    prediction = PredictionKind.VALUE
    modality = TABLE

    def case_statistics(
        self,
        truth: npt.NDArray[Any],  # noqa: ARG002 - the interface
        predictions: npt.NDArray[Any],
    ) -> FloatArray:
        """Return the counts."""
        return np.asarray(predictions, dtype=np.float64)

    def combine(self, sums: FloatArray) -> FloatArray:
        """Return the scores of sums, which code of the metric computes in another process.

        Raises
        ------
        MetricError
            As :func:`case_counts`.
        """
        (scores,) = run_calls(self.metric, _called, [(self.metric.combine, sums)], 1)
        return _of_process(self.metric, "sums of counts", scores)
