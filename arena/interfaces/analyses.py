"""What an analysis of a finished board is, and the study that it receives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from arena.interfaces.metrics import Metric
from arena.types import Finding, FloatArray, IntArray

__all__ = ["Analysis", "PredictionBlocks", "Study", "SuitsStudies"]


@runtime_checkable
class PredictionBlocks(Protocol):
    """Predictions of m submissions, handed out in blocks so that all never stand in memory."""

    @property
    def n_submissions(self) -> int:
        """The number m of submissions."""

    def blocks(self, size: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield ``(start, predictions)``, at most ``size`` submissions each, in order.

        ``predictions`` is ``(k, n)`` or ``(k, n, n_columns)``: the rows of one split.
        """

    def subset(self, submissions: IntArray) -> PredictionBlocks:
        """Return the same for the submissions at these positions, in this order."""


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """What an analysis of a board receives: everything that the organiser's machine knows."""

    metric: Metric
    """Bound to the ranked rows, if it is a :class:`NeedsRowContext`."""
    truth: npt.NDArray[Any]
    """``(n,)`` of the ranked rows, or ``(n, n_targets)``."""
    teams: tuple[str, ...]
    submissions: IntArray
    """``(m,)`` submission ids; m submissions, in the order in which they were received."""
    predictions: PredictionBlocks
    scores: FloatArray
    """``(m,)`` in the metric's natural sign, all finite."""
    resampled: FloatArray
    """``(m, B)`` scores of the same B joint resamples of the rows."""
    level: float
    """Confidence level of every interval, such as 0.95."""
    clusters: IntArray | None = None
    """``(n,)`` codes of the groups that were resampled whole."""
    classes: tuple[str, ...] | None = None
    tasks: IntArray | None = None
    """``(n,)`` codes of the task of each row, where there are several. The scores are those on all
    rows together, whatever their task."""
    task_names: tuple[str, ...] = ()
    """The names of the tasks, in the order of their codes; not every task need have a row."""
    soft_labels: FloatArray | None = None
    """``(n,)`` probability of the positive class, or ``(n, n_classes)``, where the solution has
    them; as secret as the truth."""


@runtime_checkable
class Analysis(Protocol):
    """Something to find out about a finished board."""

    @property
    def name(self) -> str:
        """The name under which the analysis is asked for."""

    def run(self, study: Study, rng: np.random.Generator) -> Finding:
        """Return what was found; the same study and generator give the same finding."""


@runtime_checkable
class SuitsStudies(Protocol):
    """An analysis that is not for every board, and is left out of those that it does not suit."""

    def suits(self, study: Study) -> bool:
        """Return whether there is something to find out, such as where there are soft labels."""
