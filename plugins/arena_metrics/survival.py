"""The concordance index of times that may be censored."""

from __future__ import annotations

import copy
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
from arena_metrics.engine import Engine, choose_engine
from arena_metrics.parameters import require_choice
from arena_metrics.rows import drawn_rows

__all__ = ["ConcordanceIndex"]

_RESAMPLES_AT_ONCE = 64
_WORK_OF_A_PAIR = 0.1
"""A pair of rows costs plain numpy a tenth of a sorted row weight."""


@dataclass(frozen=True)
class ConcordanceIndex:
    """Harrell's concordance index: the share of comparable pairs of rows that are ordered rightly.

    The target is a time. Two rows are comparable if the earlier of them had its event: a time is
    compared with a later one, and with an equal one that is censored. A tie of predictions counts
    half. Under integer weights the score is that of the repeated rows exactly.

    Parameters
    ----------
    predicts
        ``time``: a larger prediction means a later event, as the column that is predicted has it,
        and as in lifelines' ``concordance_index``. ``risk``: it means an earlier one, as in
        scikit-survival's ``concordance_index_censored``.
    event
        The column of the solution that holds 1 where the event was observed and 0 where the time
        is censored. Without a column of the default name every event was observed.

    Notes
    -----
    Harrell, Califf, Pryor, Lee and Rosati (1982). Undefined (NaN) if no pair is comparable.
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
        """The column of events is no target."""
        return MetricTraits(score_range=(0.0, 1.0), extra_columns=(self.event,))

    def for_rows(self, context: RowContext) -> ConcordanceIndex:
        """Return the metric that knows of these rows whether their event was observed.

        Raises
        ------
        MetricError
            If the column that was named is not there, or holds other numbers than 0 and 1.
        """
        events = context.extra.get(self.event)
        if events is None and self.event != "event":
            raise MetricError(
                f"The solution has no column {self.event!r} that says whether the event was "
                f"observed (1) or the time is censored (0): name it, as in "
                f"concordance_index(event=observed)."
            )
        if events is not None and not np.isin(events, (0.0, 1.0)).all():
            raise MetricError(
                f"The column {self.event!r} of the solution must hold 1 where the event was "
                f"observed and 0 where the time is censored, and nothing else."
            )
        bound = copy.copy(self)
        object.__setattr__(bound, "_observed", None if events is None else events == 1.0)
        return bound

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the index of one submission; NaN if no pair of rows is comparable."""
        rows = np.arange(len(truth))
        rows, _, counted = drawn_rows(rows, rows, weight)
        if not len(rows):
            return np.nan
        weights = np.ones(len(rows)) if counted is None else counted
        pairs = _Pairs(truth[rows], self._events(len(truth))[rows])
        right = pairs.ordered_rightly(self._risks(prediction[rows]), weights[:, np.newaxis])[0]
        comparable = pairs.comparable(weights[:, np.newaxis])[0]
        return float(right / comparable) if comparable > 0 else np.nan

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of weights; NaN where no pair is comparable.

        Beside the result it holds 1.5 kB per row.
        """
        pairs = _Pairs(truth, self._events(len(truth)))
        scores = np.empty((len(predictions), weights.shape[1]))
        for start in range(0, weights.shape[1], _RESAMPLES_AT_ONCE):
            columns = slice(start, start + _RESAMPLES_AT_ONCE)
            strip = weights[:, columns].astype(np.float64)
            for j, prediction in enumerate(predictions):
                scores[j, columns] = pairs.ordered_rightly(self._risks(prediction), strip)
            with np.errstate(invalid="ignore"):
                scores[:, columns] /= pairs.comparable(strip)
        return scores

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)`` influence values; NaN if no pair of rows is comparable."""
        pairs = _Pairs(truth, self._events(len(truth)))
        return np.stack([pairs.influence(self._risks(one)) for one in predictions])

    def _risks(self, prediction: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return prediction if self.predicts == "risk" else -prediction

    def _events(self, n_rows: int) -> npt.NDArray[np.bool_]:
        return np.ones(n_rows, dtype=np.bool_) if self._observed is None else self._observed


class _Pairs:
    """The comparable pairs of rows, given their times and whether their event was observed."""

    def __init__(self, times: npt.NDArray[Any], observed: npt.NDArray[np.bool_]) -> None:
        self.observed = observed[:, np.newaxis]
        self._sorted = np.lexsort((~observed, times))
        changed = np.diff(times[self._sorted]) != 0
        changed |= np.diff(observed[self._sorted])
        self._ends = np.append(np.flatnonzero(changed), len(times) - 1)
        self.order = np.empty(len(times), dtype=np.intp)
        """Of the times, a censored one after an equal one that is not; ties share a place."""
        self.order[self._sorted] = np.concatenate([[0], np.cumsum(changed)])

    def comparable(self, weights: FloatArray) -> FloatArray:
        """Return the ``(B,)`` weights of all comparable pairs."""
        return np.asarray(np.einsum("nb,nb->b", weights * self.observed, self._later(weights)))

    def ordered_rightly(self, risks: npt.NDArray[Any], weights: FloatArray) -> FloatArray:
        """Return the ``(B,)`` weights of the comparable pairs in which the earlier is riskier."""
        engine = self._engine(weights.shape[1])
        # Asked of the rows with an event only: the others' sums are 0.
        asked = self.observed[:, 0]
        below = engine.sums_of_earlier_below(_places(risks), -self.order, weights, asked)
        return np.asarray(0.5 * np.einsum("nb,nb->b", weights, below))

    def influence(self, risks: npt.NDArray[Any]) -> FloatArray:
        """Return ``(n,)``: how the index moves with each row, through the pairs that it is in."""
        ones, engine = np.ones((len(risks), 1)), self._engine(2)
        events = ones * self.observed
        places = _places(risks)
        of_pairs, asked = engine.sums_of_earlier_below, np.ones(len(risks), dtype=np.bool_)
        as_earlier = of_pairs(places, -self.order, ones, asked) * events
        as_later = of_pairs(places.max() - places, self.order, events, asked)
        right = 0.5 * (as_earlier + as_later)[:, 0]
        comparable = (self._later(ones) * events + self._earlier(events))[:, 0]
        total = 0.5 * comparable.sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            index = 0.5 * right.sum() / total
            return np.asarray(len(risks) * (right - index * comparable) / total)

    def _engine(self, n_weightings: int) -> Engine:
        pairs = len(self.order) ** 2 * _WORK_OF_A_PAIR
        return choose_engine(int(pairs * (1 + n_weightings * _WORK_OF_A_PAIR)))

    def _later(self, weights: FloatArray) -> FloatArray:
        """Return ``(n, B)``: at each row the weight of the rows after it."""
        through = np.cumsum(weights[self._sorted], axis=0)
        return np.asarray(through[-1] - through[self._ends[self.order]])

    def _earlier(self, weights: FloatArray) -> FloatArray:
        """Return ``(n, B)``: at each row the weight of the rows before it."""
        through = np.cumsum(weights[self._sorted], axis=0)
        before = np.concatenate([np.zeros((1, weights.shape[1])), through[self._ends]])
        return np.asarray(before[self.order])


def _places(values: npt.NDArray[Any]) -> IntArray:
    """Return the place of each value among the different ones, from 0."""
    places: Any = np.unique(values, return_inverse=True)[1]
    return np.asarray(places.reshape(-1), dtype=np.intp)
