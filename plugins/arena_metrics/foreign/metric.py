"""A foreign metric, as arena scores with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.errors import MetricError, ScoringError, UsageError
from arena.types import MetricTraits, PredictionKind, RowContext
from arena_metrics.foreign.failures import as_number, refusal
from arena_metrics.foreign.kinds import Asked, Call
from arena_metrics.foreign.source import load

__all__ = ["ForeignMetric", "Scorer"]


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """The score of one submission as a function of ``(n,)`` counts of its rows."""

    asked: Asked
    call: Call

    def __call__(self, weight: npt.NDArray[Any]) -> float:
        """Return the score; a copy of everything is passed on.

        Raises
        ------
        ScoringError
            If the metric refuses the submission, fails on it, or returns no number.
        MetricError
            If the metric cannot be imported, or what it returns has to be chosen from.
        """
        asked = self.asked
        function = load(asked.source, asked.kind.stand_ins)
        try:
            result = self.call(function, weight)
        except (MetricError, ScoringError):
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises
            path = str(asked.source.path or "")
            raise refusal(asked.name, error, asked.kind.shown_error, path) from None
        return as_number(asked.name, result)


class ForeignMetric:
    """A metric of someone else, run unchanged and called as a whole, with a limit of time.

    This is no sandbox: its code is the organiser's choice, and may do what the organiser may.
    """

    def __init__(self, asked: Asked, context: RowContext | None = None) -> None:
        self.asked = asked
        self._context = context

    @property
    def name(self) -> str:
        """Kind and file, or module and function."""
        return self.asked.name

    @property
    def greater_is_better(self) -> bool:
        """As it was asked for, else as the module says, else True."""
        return self.asked.greater_is_better

    @property
    def prediction(self) -> PredictionKind:
        """What a submission holds."""
        return self.kinds[0]

    @property
    def kinds(self) -> tuple[PredictionKind, ...]:
        """What a submission may hold; the solution decides."""
        wanted = self.asked.own.get("prediction")
        if wanted:
            return (PredictionKind(wanted),)
        if self.asked.kind.prediction is PredictionKind.VALUE:
            return (PredictionKind.VALUE, PredictionKind.LABEL)
        return (self.asked.kind.prediction,)

    @property
    def traits(self) -> MetricTraits:
        """A limit of time; whole tables are taken at once, with empty cells if need be."""
        table = self.asked.kind.prediction is PredictionKind.TEXT
        return MetricTraits(
            joint_targets=table, empty_cells=table, time_limit=self.asked.time_limit
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the organiser should know: which direction is taken to be better."""
        return (self.asked.note,)

    @property
    def source_text(self) -> str:
        """The code, as it was read."""
        return self.asked.source.text

    def for_rows(self, context: RowContext) -> ForeignMetric:
        """Return the metric for these rows: with their ids and the names of the columns."""
        return ForeignMetric(self.asked, context)

    def prepare(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
    ) -> Callable[[npt.NDArray[Any]], float]:
        """Return the score of a submission as a function of counts of its rows."""
        context = self._context
        if context is None or len(context.ids) != len(truth):
            context = _nameless(truth, prediction)
        return Scorer(self.asked, self.asked.kind.prepare(self.asked, context, truth, prediction))

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Call the metric in this process, without a limit of time.

        Weights that are whole numbers are how often each row is passed; any others are passed as
        ``sample_weight``, if the function takes that.

        Raises
        ------
        UsageError
            If there are other weights than whole numbers, and the function takes none.
        """
        scorer = self.prepare(truth, prediction)
        if weight is None:
            return scorer(np.ones(len(truth), dtype=np.intp))
        counts = np.asarray(weight).astype(np.intp)
        if np.array_equal(counts, weight):
            return scorer(counts)
        if not self.asked.takes_weights:
            raise UsageError(f"{self.name} takes no weights but how often each row counts.")
        return scorer(np.asarray(weight, dtype=np.float64))


def _nameless(truth: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> RowContext:
    """Return a context for rows of which nothing is known."""

    def names(values: npt.NDArray[Any]) -> tuple[str, ...]:
        n_columns = values.shape[1] if values.ndim > 1 else 1
        return tuple(f"column {at}" if at else "target" for at in range(n_columns))

    ids = pa.array([str(row) for row in range(len(truth))], pa.string())
    return RowContext("id", ids, names(truth), names(prediction))
