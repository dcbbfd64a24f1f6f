"""The concordance index of survival times with censoring."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.types import (
    FloatArray,
    IntArray,
    MetricTraits,
    PredictionKind,
    RowContext,
    WeightArray,
)
from arena_metrics.kernels.engine import KernelEngine, choose_engine
from arena_metrics.parameters import require_choice
from arena_metrics.rows import bound_copy, drawn_rows

_WORK_OF_A_PAIR = 0.1
"""In plain numpy, a pair of rows costs a tenth of sorting one row weight."""


@dataclass(frozen=True)
class ConcordanceIndex:
    """Harrell's concordance index: the fraction of comparable pairs in the correct order.

    The target is a time. Two rows are comparable if the event of the earlier one was observed; of
    two equal times, an observed event comes before a censored one. Tied predictions count half.
    Integer weights are exactly equivalent to repeating the rows.

    Parameters
    ----------
    predicts
        ``time``: a larger prediction means a later event, as in lifelines' ``concordance_index``.
        ``risk``: a larger prediction means an earlier event, as in scikit-survival's
        ``concordance_index_censored``.
    event
        The column of the solution that is 1 if the event was observed and 0 if the time is
        censored. If there is no column with the default name, all events count as observed.

    Notes
    -----
    Harrell, Califf, Pryor, Lee and Rosati (1982). Undefined (NaN) without comparable pairs.
    Influence values are the derivatives of the ratio of the two sums over pairs.

    Examples
    --------
    >>> metric = ConcordanceIndex(predicts="risk")
    >>> times, risks = np.array([1.0, 2.0, 3.0, 4.0]), np.array([9.0, 5.0, 6.0, 1.0])
    >>> round(metric.score(times, risks), 6)
    0.833333
    """

    predicts: str = "time"
    event: str = "event"
    _observed: npt.NDArray[np.bool_] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    name = "concordance_index"
    greater_is_better = True
    prediction = PredictionKind.VALUE

    def __post_init__(self) -> None:
        require_choice(self.name, "predicts", self.predicts, ("time", "risk"))

    @property
    def traits(self) -> MetricTraits:
        """The column of events is not a target."""
        return MetricTraits(score_range=(0.0, 1.0), extra_columns=(self.event,))

    def for_rows(self, context: RowContext) -> ConcordanceIndex:
        """Return the metric bound to the event column of these rows.

        Raises
        ------
        MetricError
            If the named column is missing or has values other than 0 and 1.
        """
        events = context.extra.get(self.event)
        if events is None and self.event != "event":
            raise MetricError(
                f"The solution has no column {self.event!r} for whether the event was observed (1) "
                f"or the time is censored (0): name it, as in concordance_index(event=observed)."
            )
        if events is not None and not np.isin(events, (0.0, 1.0)).all():
            raise MetricError(
                f"The column {self.event!r} of the solution must contain only 1 (event observed) "
                f"and 0 (time censored)."
            )
        return bound_copy(self, _observed=None if events is None else events == 1.0)

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the index of one submission; NaN without comparable pairs."""
        rows = np.arange(len(truth))
        rows, _, counted = drawn_rows(rows, rows, weight)
        if not len(rows):
            return np.nan
        weights = np.ones(len(rows)) if counted is None else counted
        pairs = _Pairs(truth[rows], self._events(len(truth))[rows])
        concordant = pairs.concordant(self._risks(prediction[rows]), weights[:, np.newaxis])[0]
        comparable = pairs.comparable(weights[:, np.newaxis])[0]
        return float(concordant / comparable) if comparable > 0 else np.nan

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of weights; NaN without comparable pairs."""
        pairs = _Pairs(truth, self._events(len(truth)))
        scores = np.empty((len(predictions), weights.shape[1]))
        for j, prediction in enumerate(predictions):
            scores[j] = pairs.concordant(self._risks(prediction), weights)
        comparable = pairs.concordant(-pairs.order, weights)  # every pair is in the correct order
        with np.errstate(invalid="ignore"):
            return scores / comparable

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values; NaN without comparable pairs."""
        pairs = _Pairs(truth, self._events(len(truth)))
        return np.stack([pairs.influence(self._risks(prediction)) for prediction in predictions])

    def _risks(self, prediction: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return prediction if self.predicts == "risk" else -prediction

    def _events(self, n_rows: int) -> npt.NDArray[np.bool_]:
        return np.ones(n_rows, dtype=np.bool_) if self._observed is None else self._observed


class _Pairs:
    """The comparable pairs of rows, given their times and whether the event was observed."""

    def __init__(self, times: npt.NDArray[Any], observed: npt.NDArray[np.bool_]) -> None:
        self.observed = observed[:, np.newaxis]
        self._sorted = np.lexsort((~observed, times))
        changed = np.diff(times[self._sorted]) != 0
        changed |= np.diff(observed[self._sorted])
        self._ends = np.append(np.flatnonzero(changed), len(times) - 1)
        self.order = np.empty(len(times), dtype=np.intp)
        """Dense ranks of the times; of equal times, censored ones come after observed ones."""
        self.order[self._sorted] = np.concatenate([[0], np.cumsum(changed)])

    def comparable(self, weights: FloatArray) -> FloatArray:
        """Return the ``(B,)`` total weights of the comparable pairs."""
        return np.asarray(np.einsum("nb,nb->b", weights * self.observed, self._later(weights)))

    def concordant(self, risks: npt.NDArray[Any], weights: npt.NDArray[Any]) -> FloatArray:
        """Return the ``(B,)`` weights of comparable pairs whose earlier row has the higher risk."""
        totals = self._engine(weights.shape[1]).concordance_totals
        return 0.5 * totals(_dense_ranks(risks), -self.order, weights, self.observed[:, 0])

    def influence(self, risks: npt.NDArray[Any]) -> FloatArray:
        """Return the ``(n,)`` influence values; a row acts through the pairs that contain it."""
        ones, engine = np.ones((len(risks), 1)), self._engine(2)
        events = ones * self.observed
        ranks = _dense_ranks(risks)
        sums, selected = engine.concordance_sums, np.ones(len(risks), dtype=np.bool_)
        as_earlier = sums(ranks, -self.order, ones, selected) * events
        as_later = sums(ranks.max() - ranks, self.order, events, selected)
        concordant = 0.5 * (as_earlier + as_later)[:, 0]
        comparable = (self._later(ones) * events + self._earlier(events))[:, 0]
        total = 0.5 * comparable.sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            index = 0.5 * concordant.sum() / total
            return np.asarray(len(risks) * (concordant - index * comparable) / total)

    def _engine(self, n_weightings: int) -> KernelEngine:
        pairs = len(self.order) ** 2 * _WORK_OF_A_PAIR
        return choose_engine(int(pairs * (1 + n_weightings * _WORK_OF_A_PAIR)))

    def _later(self, weights: FloatArray) -> FloatArray:
        """Return ``(n, B)``: for each row the weight of the rows with later times."""
        through = np.cumsum(weights[self._sorted], axis=0)
        return np.asarray(through[-1] - through[self._ends[self.order]])

    def _earlier(self, weights: FloatArray) -> FloatArray:
        """Return ``(n, B)``: for each row the weight of the rows with earlier times."""
        through = np.cumsum(weights[self._sorted], axis=0)
        before = np.concatenate([np.zeros((1, weights.shape[1])), through[self._ends]])
        return np.asarray(before[self.order])


def _dense_ranks(values: npt.NDArray[Any]) -> IntArray:
    """Return the rank of each value among the distinct values, from 0."""
    ranks: Any = np.unique(values, return_inverse=True)[1]
    return np.asarray(ranks.reshape(-1), dtype=np.intp)
