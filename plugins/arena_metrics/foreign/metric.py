"""A foreign metric behind arena's metric interface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.errors import InputError, MetricError, UsageError
from arena.interfaces import Modality, PlainTable
from arena.types import MetricTraits, PredictionKind, RowContext
from arena.utils.processes import in_worker
from arena_metrics.foreign.failures import as_number, failed, submission_error
from arena_metrics.foreign.kinds import WHOLE_FILES, Call, Request
from arena_metrics.foreign.loading import function_of
from arena_metrics.foreign.source import Source
from arena_metrics.modalities import ROW_SETS, WHOLE_FILE


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """The score of one submission as a function of ``(n,)`` row counts."""

    request: Request
    call: Call

    def __call__(self, weight: npt.NDArray[Any]) -> float:
        """Return the score; the metric receives copies only.

        Raises
        ------
        ScoringError
            If the metric refuses the submission, fails on it, or does not return a number; or if
            it returns several values and none is selected.
        MetricError
            If the metric cannot be imported.
        """
        call = partial(self.call, weight=weight)
        return as_number(self.request.name, returned(self.request, self.request.source, call))


def returned(request: Request, source: Source, call: Callable[[Callable[..., Any]], Any]) -> Any:
    """Return what a call of a function of a metric returns; errors are those of a submission."""
    function = function_of(request.kind, source)
    try:
        return call(function)
    except MetricError:
        raise
    except (InputError, UsageError) as error:  # arena's own, about the organiser's files
        raise failed(f"{request.name}: {error}") from error
    except BaseException as error:  # a metric may raise anything
        if isinstance(error, KeyboardInterrupt) and not in_worker():
            raise
        path = str(request.source.path or "")
        raise submission_error(request.name, error, request.kind.shown_errors, path) from None


class ForeignMetric:
    """A metric of another platform, run unchanged and scored as a whole, with a time limit.

    This is not a sandbox: the code runs with the permissions of the organiser who chose it.
    """

    def __init__(self, request: Request, context: RowContext | None = None) -> None:
        self.request = request
        self._context = context

    @property
    def name(self) -> str:
        """The kind and the file, or the module and the function."""
        return self.request.name

    @property
    def greater_is_better(self) -> bool:
        """As requested, else as the module declares, else True."""
        return self.request.greater_is_better

    @property
    def prediction(self) -> PredictionKind:
        """The default of :attr:`kinds`."""
        return self.kinds[0]

    @property
    def kinds(self) -> tuple[PredictionKind, ...]:
        """The possible kinds of predictions; the solution decides which."""
        if self.request.options.get("format") == WHOLE_FILES:
            return (PredictionKind.TEXT,)
        prediction_kind = self.request.options.get("prediction")
        if prediction_kind:
            return (PredictionKind(prediction_kind),)
        if self.request.kind.prediction is PredictionKind.VALUE:
            return (PredictionKind.VALUE, PredictionKind.LABEL)
        return (self.request.kind.prediction,)

    @property
    def traits(self) -> MetricTraits:
        """Limits of one call; table metrics take all columns at once."""
        request = self.request
        table = self.prediction is PredictionKind.TEXT
        return MetricTraits(
            joint_targets=table,
            row_weights=request.takes_weights and not table,
            time_limit=request.time_limit,
            memory_limit=request.memory_limit,
            network=request.network,
            folder=request.source.folder,
        )

    @property
    def modality(self) -> Modality:
        """As the options say; tables of text may have empty cells."""
        if self.request.options.get("format") == WHOLE_FILES:
            return WHOLE_FILE
        if self.request.options["rows"] == "any":
            return ROW_SETS
        return PlainTable(empty_cells=self.request.kind.prediction is PredictionKind.TEXT)

    @property
    def notes(self) -> tuple[str, ...]:
        """Which direction is better, and where this comes from."""
        return (self.request.note,)

    @property
    def source_text(self) -> str:
        """The code as it was read."""
        return self.request.source.text

    def for_rows(self, context: RowContext) -> ForeignMetric:
        """Return the metric bound to the ids and column names of these rows."""
        return type(self)(self.request, context)

    def prepare(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
    ) -> Callable[[npt.NDArray[Any]], float]:
        """Return the score of a submission as a function of its row counts."""
        return Scorer(self.request, self.call_on(truth, prediction))

    def call_on(self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> Call:
        """Return the call of the function on a submission."""
        context = self._context
        if context is None or len(context.ids) != len(truth):
            context = default_context(truth, prediction)
        return self.request.kind.prepare(self.request, context, truth, prediction)

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Call the metric in this process, without a time limit.

        Integer weights repeat the rows. Other weights are passed as ``sample_weight``.

        Raises
        ------
        UsageError
            If the weights are not integers and the function has no ``sample_weight``.
        """
        scorer = self.prepare(truth, prediction)
        if weight is None:
            return scorer(np.ones(len(truth), dtype=np.intp))
        counts = np.asarray(weight).astype(np.intp)
        if np.array_equal(counts, weight):
            return scorer(counts)
        if not self.request.takes_weights:
            raise UsageError(f"{self.name} takes no weights other than integers.")
        return scorer(np.asarray(weight, dtype=np.float64))


def default_context(truth: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> RowContext:
    """Return a context with generated ids and column names."""

    def names(values: npt.NDArray[Any]) -> tuple[str, ...]:
        n_columns = values.shape[1] if values.ndim > 1 else 1
        return tuple(f"column {number}" if number else "target" for number in range(n_columns))

    ids = pa.array([str(row) for row in range(len(truth))], pa.string())
    return RowContext("id", ids, names(truth), names(prediction))
