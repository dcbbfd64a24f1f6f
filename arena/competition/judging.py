"""Judges the predictions of a submission: its public score, or the fault that its team is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.competition.other_labels import other_labels
from arena.errors import MetricError, PluginError, ScoringError
from arena.evaluation.binding import BoundMetric
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores
from arena.interfaces import Metric, traits_of
from arena.plugin.info import attributed_unquoted, log_failure
from arena.public_board.mechanism import public_rows
from arena.scoring.splits import rows_of
from arena.types import Fault, FloatArray, PredictionKind, Solution

_REFUSED = "refused by the metric"
"""The kind of a fault whose message the metric's author wrote for participants."""
COULD_NOT_BE_SCORED = Fault(
    "could not be scored",
    "These predictions could not be scored. Look for extreme values, and for predictions that are "
    "all alike.",
)
"""The only message to a team if the metric failed, timed out or has no finite value."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of judging the predictions of a submission."""

    public: float | None = None
    """The public score; None without public rows or if there is a fault."""
    fault: Fault | None = None
    """Why it is rejected; shown to the team."""
    detail: str = ""
    """Details for the organiser only."""


@dataclass(slots=True, eq=False)
class Judge:
    """Scores predictions against the solution; it knows no team, no limit and no store."""

    solution: Solution
    metric: Metric
    metric_plugin: str
    bound: BoundMetric = field(init=False)
    """The metric bound to the rows of each split."""
    public_rows: npt.NDArray[np.bool_] = field(init=False)
    """``(n_rows,)``."""

    def __post_init__(self) -> None:
        self.bound = BoundMetric(self.metric, self.solution)
        self.public_rows = public_rows(self.solution)

    def judge(self, values: npt.NDArray[Any], submission_name: str) -> Judgement:
        """Score predictions on the public rows, and run a foreign metric on the private rows.

        If a team could tell a failing metric, an undefined score and a time limit apart, it would
        learn something about the labels: the message is the same in all three cases.

        Parameters
        ----------
        values
            ``(n_rows, n_columns)``, in the order of the solution.
        submission_name
            What the log calls the submission.
        """
        public = None
        rows = self.public_rows
        if rows.any():
            public, error = self._score(values, rows)
            if error is not None:
                if (fault := self._refusal(error, values)) is not None:
                    return Judgement(fault=fault)
                log_failure(error, submission_name)
                return Judgement(fault=COULD_NOT_BE_SCORED, detail=str(error))
        # A metric of arena has already refused files that it cannot score, by their cells alone.
        foreign = traits_of(self.metric).time_limit is not None
        rows = rows_of(self.solution, "private")
        if not foreign or not rows.any():
            return Judgement(public)
        # The team must learn of a refusal while it can still correct the file. Any
        # other outcome on these rows stays secret: whether a score exists may depend on one label.
        _, error = self._score(values, rows)
        if error is None:
            return Judgement(public)
        if (fault := self._refusal(error, values)) is not None:
            return Judgement(fault=fault)
        log_failure(error, f"{submission_name}, on the private rows")
        return Judgement(public, detail=f"On the private rows: {error}")

    def scores(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return the scores on the public and on the private rows, NaN where there is none.

        A split without rows is left out.

        Parameters
        ----------
        values
            As in :meth:`judge`.
        """
        each_split = (self.public_rows, rows_of(self.solution, "private"))
        return np.array([self._score(values, rows)[0] for rows in each_split if rows.any()])

    def block(self, values: npt.NDArray[Any], rows: Any) -> Any:
        """Return one submission as a block: ``(1, n)`` or ``(1, n, n_columns)``."""
        chosen = values[rows]
        if self.solution.kind is PredictionKind.LABEL:
            chosen = chosen.astype(np.intp)
        return chosen[np.newaxis, :, 0] if chosen.shape[1] == 1 else chosen[np.newaxis]

    def _refusal(self, error: ScoringError, values: npt.NDArray[Any]) -> Fault | None:
        """Return the fault that the team is shown, or None if only the organiser may see the error.

        A metric writes the text of a refusal for the team. The text can still quote a label or name
        rows of the split. So the team is shown the text of a call on the rows of all splits, and
        only if two more calls, with other labels, refuse with the same text.
        """
        if error.kind != _REFUSED:
            return None
        rows = rows_of(self.solution, "all")
        _, refusal = self._score(values, rows)
        if refusal is None or refusal.kind != _REFUSED:
            return None
        for truth in other_labels(self.solution.truth[rows]):
            _, again = self._score(values, rows, truth)
            if again is None or (again.kind, again.shown) != (refusal.kind, refusal.shown):
                return None
        return Fault(refusal.kind, refusal.shown)

    def _score(
        self,
        values: npt.NDArray[Any],
        rows: npt.NDArray[np.bool_],
        other_truth: npt.NDArray[Any] | None = None,
    ) -> tuple[float, ScoringError | None]:
        """Return the score on some rows, or NaN and the reason, which is for the organiser."""
        failures: list[tuple[int, ScoringError]] = []
        try:
            with attributed_unquoted(self.metric_plugin, f"scoring {self.metric.name}"):
                predictions = ArrayPredictions(self.block(values, rows))
                metric = self.bound.for_rows(rows)
                truth = self.solution.truth[rows] if other_truth is None else other_truth
                score = float(full_scores(metric, truth, predictions, failures=failures)[0])
        except (PluginError, MetricError) as error:
            return np.nan, ScoringError(str(error), "metric failed", "")
        if failures:
            return np.nan, failures[0][1]
        if not np.isfinite(score):
            message = f"{self.metric.name} has no finite value."
            return np.nan, ScoringError(message, "undefined score", "")
        return score, None
