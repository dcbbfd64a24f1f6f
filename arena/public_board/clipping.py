"""A metric whose row values, or else its scores, are moved into bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.evaluation.binding import bind
from arena.evaluation.wrapped_metric import WrappedMetric
from arena.interfaces import (
    HasInfluenceValues,
    HasRowValues,
    Metric,
    NeedsRowContext,
    traits_of,
)
from arena.types import (
    FloatArray,
    MetricTraits,
    PredictionKind,
    RowContext,
    Solution,
    Target,
    Usage,
)
from arena.utils.read_only import read_only

_USUAL_SHARE = 0.95
_TIMES_A_ROW, _TIMES_A_SCORE = 4.0, 2.0


def clip_values(metric: Metric, bounds: tuple[float, float] | None) -> Metric:
    """Return a metric of one target with its values moved into bounds; None: the metric itself.

    Of a pointwise metric every row value is moved before the mean is taken, so that no row can
    move a score far. Of another one the score itself is moved; its influence values stay.
    """
    if bounds is None:
        return metric
    if isinstance(metric, HasRowValues):
        return _ClippedRows(metric, bounds)
    return (_ClippedInfluence if isinstance(metric, HasInfluenceValues) else _ClippedScore)(
        metric, bounds
    )


def bounded_name(name: str, bounds: tuple[float, float] | None) -> str:
    """Return the name of a metric as a board shows it, whose values are moved into bounds.

    >>> bounded_name("rmse", (0.0, 5.0)), bounded_name("rmse", None)
    ('bounded rmse (0 to 5)', 'rmse')
    """
    return name if bounds is None else f"bounded {name} ({bounds[0]:g} to {bounds[1]:g})"


def share_at_bounds(
    metric: Metric,
    bounds: tuple[float, float],
    truth: npt.NDArray[Any],
    predictions: npt.NDArray[Any],
) -> FloatArray | None:
    """Return ``(k,)``, the share of rows of each submission at the upper or below the lower bound.

    None for a metric without row values. This depends on the labels: it is for the organiser.

    Parameters
    ----------
    metric
        Not clipped, and bound to the rows.
    predictions
        ``(k, n)``.
    """
    if not isinstance(metric, HasRowValues):
        return None
    values = metric.row_values(*read_only((truth, predictions)))
    shares: FloatArray = ((values < bounds[0]) | (values >= bounds[1])).mean(axis=1)
    return shares


def conceivable_scores(metric: Metric) -> tuple[float, float] | None:
    """Return the range that every score of a metric lies in; None if it is not bounded."""
    traits = traits_of(metric)
    if np.isfinite(traits.score_range).all():
        return traits.score_range
    if traits.row_range is None or not np.isfinite(traits.row_range).all():
        return None
    return _score_range(metric, traits.row_range)


def suggested_clip(metric: Metric, solution: Solution) -> tuple[float, float] | None:
    """Return bounds for the values of a metric, derived from a constant prediction.

    A row may cost four times what a row costs on average if every public row is predicted alike, by
    the median of the public truth, the shares of its classes or an empty text. The 5% of
    rows that cost most do not count in that average, so that one row cannot move the bound. Of a
    metric without row values, the score may be twice as far from its best as the constant's. Both
    are rounded up to two digits.

    Returns
    -------
    None where no constant prediction has a finite value above 0, or has the best score.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from arena.plugin.manager import PluginManager
    >>> from arena.types import PredictionKind, Solution, Target
    >>> truth = np.array([0.0, 1.0, 2.0, 9.0])
    >>> rows = Solution(id_column="id", targets=(Target("y", None),), columns=("y",),
    ...                 kind=PredictionKind.VALUE, ids=pa.array(list("abcd")), truth=truth,
    ...                 usage=np.zeros(4, dtype=np.uint8), sha256="")
    >>> suggested_clip(PluginManager().metrics.resolve("mae"), rows)
    (0.0, 10.0)
    """
    rows = solution.usage == np.uint8(Usage.PUBLIC)
    if not rows.any() or traits_of(metric).time_limit is not None:
        return None  # a call of a metric in a process of its own takes long
    metric = bind(metric, solution, rows)
    truth = solution.truth[rows].reshape(int(rows.sum()), -1)
    bounds_of_targets = [
        _bounds_of(metric, truth[:, position], _constant(target, truth[:, position], solution.kind))
        for position, target in enumerate(solution.targets)
    ]
    bounds = [clip for clip in bounds_of_targets if clip is not None]
    if not bounds or len(bounds) < len(bounds_of_targets):
        return None
    return min(low for low, _ in bounds), max(high for _, high in bounds)


def _constant(
    target: Target, truth: npt.NDArray[Any], kind: PredictionKind
) -> npt.NDArray[Any] | None:
    """Return the same prediction for every row; None for a kind of which there is none."""
    n = len(truth)
    if kind is PredictionKind.VALUE:
        return np.full(n, float(np.median(truth)))
    if kind in {PredictionKind.PROBABILITY, PredictionKind.CLASS_PROBABILITIES}:
        if target.classes is None:
            return None
        shares = np.bincount(truth.astype(np.intp), minlength=len(target.classes)) / n
        return np.full(n, shares[1]) if len(shares) == 2 else np.full((n, len(shares)), shares)
    return np.full(n, "", dtype=object) if kind is PredictionKind.TEXT else None


def _bounds_of(
    metric: Metric, truth: npt.NDArray[Any], constant: npt.NDArray[Any] | None
) -> tuple[float, float] | None:
    if constant is None:
        return None
    truth, constant = read_only((truth, constant))
    with np.errstate(all="ignore"):
        if isinstance(metric, HasRowValues):
            (values,) = metric.row_values(truth, constant[np.newaxis])
            costs = np.sort(values)
            usual = costs[: int(np.ceil(_USUAL_SHARE * len(costs)))]
            cost = float(usual.mean()) or float(costs.mean())
            return (0.0, _rounded_up(_TIMES_A_ROW * cost)) if 0 < cost < np.inf else None
        low, high = traits_of(metric).score_range
        best = high if metric.greater_is_better else low
        lost = abs(best - float(metric.score(truth, constant)))
    if not 0 < lost < np.inf:
        return None
    reach = _rounded_up(_TIMES_A_SCORE * lost)
    end = float(f"{best - reach if metric.greater_is_better else best + reach:.10g}")
    return min(end, best), max(end, best)


def _rounded_up(value: float) -> float:
    """Return the next number of two significant digits."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(f"{np.ceil(value / unit - 1e-9) * unit:.2g}")


def _score_range(metric: object, row_range: tuple[float, float]) -> tuple[float, float]:
    ends = np.array(row_range, dtype=np.float64)
    scores = metric.from_mean(ends) if isinstance(metric, HasRowValues) else ends
    return float(scores.min()), float(scores.max())


@dataclass(frozen=True)
class _ClippedMetric(WrappedMetric):
    metric: Any
    bounds: tuple[float, float]

    def for_rows(self, context: RowContext) -> Metric:
        """Return the same of the metric for these rows."""
        bindable = isinstance(self.metric, NeedsRowContext)
        return clip_values(self.metric.for_rows(context) if bindable else self.metric, self.bounds)


@dataclass(frozen=True)
class _ClippedRows(_ClippedMetric):
    @property
    def traits(self) -> MetricTraits:
        scores = _score_range(self.metric, self.bounds)
        return replace(traits_of(self.metric), row_range=self.bounds, score_range=scores)

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        return np.asarray(np.clip(self.metric.row_values(truth, predictions), *self.bounds))

    def from_mean(self, mean: FloatArray) -> FloatArray:
        score: FloatArray = self.metric.from_mean(mean)
        return score

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        (values,) = self.row_values(truth, prediction[np.newaxis])
        return float(self.from_mean(np.array([np.average(values, weights=weight)])).item())


@dataclass(frozen=True)
class _ClippedScore(_ClippedMetric):
    @property
    def traits(self) -> MetricTraits:
        return replace(traits_of(self.metric), score_range=self.bounds)

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        return float(np.clip(self.metric.score(truth, prediction, weight), *self.bounds))


@dataclass(frozen=True)
class _ClippedInfluence(_ClippedScore):
    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        values: FloatArray = self.metric.influence_values(truth, predictions)
        return values
