"""The interface of analyses of a finished board, and the study that they receive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from arena.interfaces.metrics import Metric
from arena.types import Finding, FloatArray, IntArray
from arena.utils.read_only import make_fields_read_only


@runtime_checkable
class PredictionBlocks(Protocol):
    """Predictions of m submissions, read in blocks so that they need not fit into memory."""

    @property
    def n_submissions(self) -> int:
        """The number m of submissions."""

    def blocks(self, size: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield ``(start, predictions)``, at most ``size`` submissions each, in order.

        ``predictions`` is ``(k, n)`` or ``(k, n, n_columns)``: the rows of one split.
        """

    def subset(self, submissions: IntArray) -> PredictionBlocks:
        """Return the predictions of the submissions at these positions, in this order."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """All submissions, if the best submission of each team was selected on the ranked rows.

    The arrays cannot be written to.
    """

    scores: FloatArray
    """``(k,)`` scores on all ranked rows, in the metric's natural sign."""
    resampled: FloatArray
    """``(k, B)`` scores of the resamples of the study."""
    predictions: PredictionBlocks
    """Of the k submissions."""
    counting: IntArray
    """``(m,)`` positions of the selected submissions, in the order of the study."""
    team: IntArray
    """``(k,)`` the position in the study of the team of each submission."""

    def __post_init__(self) -> None:
        make_fields_read_only(self, "scores", "resampled", "counting", "team")


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """The input of an analysis of a board, the labels included. The arrays cannot be written to."""

    metric: Metric
    """Bound to the ranked rows, if it is a :class:`NeedsRowContext`."""
    truth: npt.NDArray[Any]
    """``(n,)`` of the ranked rows, or ``(n, n_targets)``."""
    teams: tuple[str, ...]
    submissions: IntArray
    """``(m,)`` submission ids, in the order in which the submissions were received."""
    predictions: PredictionBlocks
    scores: FloatArray
    """``(m,)`` in the metric's natural sign, all finite."""
    resampled: FloatArray
    """``(m, B)`` scores of the same B joint resamples of the rows."""
    level: float
    """Confidence level of every interval, such as 0.95."""
    clusters: IntArray | None = None
    """``(n,)`` codes of the groups that were resampled as a whole."""
    classes: tuple[str, ...] | None = None
    tasks: IntArray | None = None
    """``(n,)`` codes of the task of each row, if there are several. The scores use all rows of all
    tasks."""
    task_names: tuple[str, ...] = ()
    """The names of the tasks, in the order of their codes; a task may have no rows."""
    soft_labels: FloatArray | None = None
    """``(n,)`` probability of the positive class, or ``(n, n_classes)``; as secret as the truth.
    None: the solution has no soft labels."""
    candidates: Candidates | None = None
    """All submissions, if the best of each team was selected on the ranked rows. None: each team's
    submission was selected without these rows."""
    best_interval: tuple[float, float] | None = None
    """The interval for the best true score, from these scores and resamples; NaN where withheld.
    None: it was not computed yet."""

    def __post_init__(self) -> None:
        arrays = ("truth", "submissions", "scores", "resampled", "clusters", "tasks", "soft_labels")
        make_fields_read_only(self, *arrays)

    def with_all_candidates(self) -> Study:
        """Return the study with the scores and predictions of all candidates, if there are any.

        ``teams`` and ``submissions`` stay those of the selected ones.
        """
        if self.candidates is None:
            return self
        return replace(
            self,
            scores=self.candidates.scores,
            resampled=self.candidates.resampled,
            predictions=self.candidates.predictions,
            best_interval=None,
        )


@runtime_checkable
class Analysis(Protocol):
    """An analysis of a finished board."""

    @property
    def name(self) -> str:
        """The name that selects the analysis."""

    def run(self, study: Study, rng: np.random.Generator) -> Finding:
        """Return the finding; the same study and generator give the same finding."""


@runtime_checkable
class SuitsStudies(Protocol):
    """An analysis that applies to some boards only, and is skipped for the others."""

    def suits(self, study: Study) -> bool:
        """Return whether the analysis applies, for example because there are soft labels."""
