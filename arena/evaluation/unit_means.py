"""Intervals of scores that are functions of means over rows, or groups of them.

A mean of values in a known range has bounds that hold for every distribution
(:mod:`arena.evaluation.mean_bounds`). Where losses have no upper bound, none can: a sample may lack
the largest ones. The bounds then assume that the tail of the largest losses goes on beyond them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.evaluation.combination_parts import Part
from arena.evaluation.combined_metric import CombinedMetric
from arena.evaluation.mean_bounds import Units, both_bounds
from arena.evaluation.row_weights import row_weights_of, weighted_row_metric
from arena.evaluation.sampling_units import SamplingUnits, block_size, in_cache
from arena.evaluation.score_errors import FEWEST_UNITS, Ends, ScoreErrors, too_few_units, unmoved
from arena.evaluation.scores import (
    influence_values,
    is_mean_of_rows,
    mean_correction,
    slope_of_score,
)
from arena.interfaces import GroupInfluence, HasRowValues, Metric, Study, traits_of
from arena.types import TEAMS, FloatArray, IntArray, PredictionKind, Vocabulary
from arena.utils.read_only import read_only

_TAIL_SHARE, _TAIL_UNITS, _MOST_EXCESS = 1.4, 20, 5.0
"""The tail is that of the ``1.4 sqrt(U)`` largest of at least 20 units, and its mean excess at most
5: chosen by ``tests/coverage/derive_tail.py``."""

ToScore: TypeAlias = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class UnitMeans(ScoreErrors):
    """Scores that are functions of means over units, whose values lie in a known range."""

    units: Units
    """On the scale of the mean."""
    worst: FloatArray
    """``(2, m)`` the smallest and the largest value that another unit can have."""
    to_score: ToScore
    """Monotone: from the scale of the mean to the score."""

    def ends(self, below: FloatArray, above: FloatArray) -> Ends:
        """Return the bounds of :mod:`arena.evaluation.mean_bounds` as scores."""
        with np.errstate(over="ignore", invalid="ignore"):
            ends = self.to_score(np.stack([self.units.smallest, self.units.largest]))
        tails = (above, below) if (ends[0] > ends[1]).any() else (below, above)
        bounds = np.stack(both_bounds(self.units, self.worst, np.stack(tails)))
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = np.sort(self.to_score(bounds), axis=0)
        return low, high


@dataclass(slots=True)
class _Parts:
    """The fields of :class:`UnitMeans`, of one block of submissions after the other."""

    units: list[Units] = field(default_factory=list)
    worst: list[FloatArray] = field(default_factory=list)
    errors: list[FloatArray] = field(default_factory=list)
    degrees: list[FloatArray] = field(default_factory=list)


def errors_of_means(
    values: npt.NDArray[np.floating[Any]],
    value_range: tuple[float, float],
    clusters: IntArray | None = None,
) -> UnitMeans:
    """Return the uncertainty of the means of ``(m, n)`` values of rows in a known range.

    An end of the range may be infinite. With ``(n,)`` clusters, these are drawn and not the rows.
    """
    sampling = SamplingUnits.of(values.shape[1], clusters)
    parts, step = _Parts(), block_size(values.shape[1])
    for start in range(0, len(values), step):
        block = values[start : start + step].astype(np.float64)
        _add_block(parts, sampling, values=block, row_range=value_range, other=None)
    scores = values.mean(axis=1, dtype=np.float64)
    return _unit_means(
        parts,
        sampling,
        scores=scores,
        score_range=value_range,
        row_range=value_range,
        to_score=_same,
    )


def errors_from_rows(study: Study, sampling: SamplingUnits) -> ScoreErrors | None:
    """Return the uncertainty of functions of means over rows; None where the score is none."""
    metric = weighted_row_metric(study.metric) or study.metric
    if not isinstance(metric, HasRowValues):
        return None
    row_range, truth = _row_range(metric, study), study.truth
    parts = _Parts()
    blocks = study.predictions.blocks(block_size(truth.size))
    for block in (part for _, whole in blocks for part in in_cache(whole)):
        with np.errstate(all="ignore"):
            values = np.asarray(metric.row_values(*read_only((truth, block))), dtype=np.float64)
            if not np.isfinite(values).all():
                return None
            other = None
            if np.isfinite(row_range).sum() == 1:
                other = opposite_losses(metric, truth, block)
        _add_block(parts, sampling, values=values, row_range=row_range, other=other)
        slope = np.abs(slope_of_score(metric, sampling.moved(sampling.means(values))[0]))
        parts.errors[-1] = parts.errors[-1] * slope
    score_range = range_of(study.metric)
    if np.isfinite(row_range).all():
        score_range = _narrowed(score_range, metric, row_range)
    return _unit_means(
        parts,
        sampling,
        scores=study.scores,
        score_range=score_range,
        row_range=row_range,
        to_score=metric.from_mean,
        words=study.words,
    )


def errors_of_tasks(study: Study, sampling: SamplingUnits) -> UnitMeans | None:
    """Return the uncertainty of a mean over tasks of means in known ranges; None for others.

    The most that another unit can change is what it can change in one of the tasks. A geometric
    mean is linearised.
    """
    metric = study.metric
    if not isinstance(metric, CombinedMetric) or metric.tasks is None or metric.by_parts:
        return None
    ranges = [_range_of_mean(part.metric) for part in metric.parts]
    if metric.baseline is not None or not np.isfinite(ranges).all():
        return None
    parts, n_tasks = _Parts(), int(metric.tasks.max()) + 1
    for start, block in study.predictions.blocks(block_size(study.truth.size)):
        scores = study.scores[start : start + len(block), np.newaxis]
        shifts, changes = np.zeros((len(block), sampling.n)), []
        for part, ends in zip(metric.parts, ranges, strict=True):
            units, values, weights = _values_of_part(part, study, block)
            means = (values @ weights / units.n)[:, np.newaxis]
            slope = part.weight if metric.combination.is_mean else part.weight * scores / means
            per_row = slope * sampling.n / units.n * mean_correction(units.n, sampling.n)
            rows = slice(None) if part.rows is None else part.rows
            shifts[:, rows] += per_row * weights * (values - means)
            per_unit = slope * sampling.n_units / units.n_units
            changes.append(per_unit * units.another * (ends - means))
        of_tasks = np.reshape(changes, (n_tasks, -1, len(block), 2)).sum(axis=1)
        most = [of_tasks[..., 0].min(axis=0), of_tasks[..., 1].max(axis=0)]
        of_units = sampling.of_units(sampling.sums(shifts))
        parts.worst.append(scores[:, 0] + np.stack(most))
        parts.units.append(Units.of(scores + of_units))
        parts.errors.append(sampling.standard_errors(of_units))
        parts.degrees.append(sampling.degrees_of_freedom(of_units))
    lows, highs = zip(*ranges, strict=True)
    return _unit_means(
        parts,
        sampling,
        scores=study.scores,
        score_range=range_of(metric),
        row_range=(min(lows), max(highs)),
        to_score=_same,
        words=study.words,
    )


def _values_of_part(
    part: Part, study: Study, block: npt.NDArray[Any]
) -> tuple[SamplingUnits, FloatArray, FloatArray]:
    """Return the units of a part, ``(k, n)`` values of its rows and their weights, of mean 1."""
    truth = part.of_rows(study.truth)
    clusters = None if study.clusters is None else part.of_rows(study.clusters)
    units = SamplingUnits.of(len(truth), clusters, row_weights_of(part.metric))
    metric: Any = weighted_row_metric(part.metric) or part.metric
    values = metric.row_values(*read_only((truth, part.of_block(block))))
    weights = np.ones(units.n) if units.weights is None else units.weights / units.weights.mean()
    return units, values, weights


def _range_of_mean(metric: Metric) -> tuple[float, float]:
    """Return the range of a mean of row values, weighted or not; infinite for other scores."""
    of_rows = weighted_row_metric(metric) or metric
    known_range = range_of(of_rows)
    return known_range if is_mean_of_rows(of_rows) else (-np.inf, np.inf)


def errors_from_influence(study: Study, sampling: SamplingUnits) -> UnitMeans | None:
    """Return the uncertainty of scores without two bounds, linearised; None for a black box."""
    parts, unbounded = _Parts(), (-np.inf, np.inf)
    for start, block in study.predictions.blocks(block_size(study.truth.size)):
        values = unit_influence(study, sampling, block)
        if values is None:
            return None
        scores = study.scores[start : start + len(block)]
        _add_shifts(
            parts,
            sampling,
            mean=scores,
            shifts=values,
            row_range=unbounded,
            means=scores[:, np.newaxis] + values,
        )
    score_range = range_of(study.metric)
    return _unit_means(
        parts,
        sampling,
        scores=study.scores,
        score_range=score_range,
        row_range=unbounded,
        to_score=_same,
        words=study.words,
    )


def errors_from_groups(
    study: Study, sampling: SamplingUnits, influence: GroupInfluence
) -> UnitMeans:
    """Return the uncertainty of scores of a black box, which are linear in groups of rows.

    The range is known only if each group is right or wrong, as a single row is.
    """
    shifts = sampling.of_units(influence.sums)
    units = study.scores[:, np.newaxis] + shifts
    is_share = bool(np.isin(np.round(units, 9), (0.0, 1.0)).all())
    row_range = (0.0, 1.0) if is_share else (-np.inf, np.inf)
    parts, (low, high) = _Parts(), range_of(study.metric)
    _add_shifts(parts, sampling, mean=study.scores, shifts=shifts, row_range=row_range, means=units)
    score_range = (max(low, row_range[0]), min(high, row_range[1]))
    return _unit_means(
        parts,
        sampling,
        scores=study.scores,
        score_range=score_range,
        row_range=row_range,
        to_score=_same,
        words=study.words,
    )


def unit_influence(
    study: Study, sampling: SamplingUnits, block: npt.NDArray[Any]
) -> FloatArray | None:
    """Return ``(k, U)`` influence values of units, which sum to 0; None for a black box."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = influence_values(study.metric, study.truth, block)
    if values is None or not np.isfinite(values).all():
        return None
    return sampling.of_units(sampling.sums(values - values.mean(axis=1, keepdims=True)))


def _add_block(
    parts: _Parts,
    sampling: SamplingUnits,
    values: FloatArray,
    row_range: tuple[float, float],
    other: FloatArray | None,
) -> None:
    means = sampling.means(values)
    opposite = None if other is None else sampling.means(other)
    mean, shifts = sampling.moved(means)
    _add_shifts(
        parts,
        sampling,
        mean=mean,
        shifts=shifts,
        row_range=row_range,
        means=means,
        other=opposite,
    )


def _add_shifts(
    parts: _Parts,
    sampling: SamplingUnits,
    mean: FloatArray,
    shifts: FloatArray,
    row_range: tuple[float, float],
    means: FloatArray,
    other: FloatArray | None = None,
) -> None:
    """Add the units of a block, and the worst value that another unit could have.

    An end of the range that is infinite is replaced by the mean excess of the tail towards it: the
    expected value of a unit beyond the largest one, seen from the other end (Hill 1975).
    """
    low, high = row_range
    moved = (mean - shifts.mean(axis=1))[:, np.newaxis] + shifts
    smallest, largest = np.nanmin(means, axis=1), np.nanmax(means, axis=1)
    base, top = (low if np.isfinite(low) else smallest), (high if np.isfinite(high) else largest)
    if not np.isfinite(high):
        end = largest if other is None else np.maximum(largest, np.nanmax(other, axis=1))
        beyond = _mean_excess(moved - moved.min(axis=1, keepdims=True)) * (largest - base)
        high = np.maximum(base + beyond, end)
    if not np.isfinite(low):
        end = smallest if other is None else np.minimum(smallest, np.nanmin(other, axis=1))
        beyond = _mean_excess(moved.max(axis=1, keepdims=True) - moved) * (top - smallest)
        low = np.minimum(top - beyond, end)
    worst = mean + sampling.another * (np.stack(np.broadcast_arrays(low, high, mean)[:2]) - mean)
    parts.worst.append(worst)
    parts.units.append(Units.of(moved))
    parts.errors.append(sampling.standard_errors(shifts))
    parts.degrees.append(sampling.degrees_of_freedom(shifts))


def _unit_means(
    parts: _Parts,
    sampling: SamplingUnits,
    scores: FloatArray,
    score_range: tuple[float, float],
    row_range: tuple[float, float],
    to_score: ToScore,
    words: Vocabulary = TEAMS,
) -> UnitMeans:
    bounded = bool(np.isfinite(row_range).all())
    units, effective = Units.joined(parts.units), sampling.n_units / sampling.another
    few = too_few_units(sampling.n_units, effective, words) if effective < FEWEST_UNITS else None
    reasons = [
        None if bounded else unmoved(words) if equal else few
        for equal in units.largest == units.smallest
    ]
    drawn = words.rows if sampling.clusters is None else f"groups of {words.rows}"
    assumption = (
        f"Score intervals assume only independent {drawn} with values from {row_range[0]:g} to "
        f"{row_range[1]:g} (Gaffke 2005)."
        if bounded
        else f"Score intervals assume independent {drawn}, and that the tail of the largest losses "
        "goes on beyond them (Hill 1975), to at most five times the largest one."
    )
    return UnitMeans(
        scores=scores,
        score_range=score_range,
        n_units=sampling.n_units,
        standard_errors=np.concatenate(parts.errors),
        degrees_of_freedom=np.concatenate(parts.degrees),
        assumption=assumption,
        reasons=tuple(reasons),
        units=units,
        worst=np.concatenate(parts.worst, axis=1),
        to_score=to_score,
    )


def _mean_excess(lengths: FloatArray) -> FloatArray:
    """Return ``(k,)`` how far a unit beyond the largest of ``(k, U)`` lies, over the largest.

    In a tail of index g it is expected at ``1 / (1 - g)``. Hill's estimate of g counts with one
    standard error, because larger values are those that a sample lacks.

    >>> _mean_excess(np.linspace(0, 1, 100)[np.newaxis]).round(2).tolist()
    [1.12]
    """
    count, n_units = len(lengths), lengths.shape[1]
    if n_units < _TAIL_UNITS:
        return np.full(count, _MOST_EXCESS)
    k = int(np.ceil(_TAIL_SHARE * np.sqrt(n_units)))
    largest = np.partition(lengths, n_units - k - 1, axis=1)[:, n_units - k - 1 :]
    q = largest[:, :1]
    with np.errstate(divide="ignore", invalid="ignore"):
        index = np.where(q[:, 0] > 0, np.log(largest[:, 1:] / q).mean(axis=1), 1.0)
    index = np.minimum(index * (1 + 1 / np.sqrt(k)), 1 - 1 / _MOST_EXCESS)
    return np.asarray(1 / (1 - index))


def _row_range(metric: Any, study: Study) -> tuple[float, float]:
    """Return the range of row values: declared, or as the range of scores implies."""
    traits = traits_of(metric)
    if traits.row_range is not None:
        return traits.row_range
    if not np.isfinite(traits.score_range).any() and _counts_rows(metric, study):
        return 0.0, 1.0
    with np.errstate(all="ignore"):
        zero = float(metric.from_mean(np.zeros(1))[0])
        ends = [
            end for end in traits.score_range if np.isfinite(end)
            and float(metric.from_mean(np.full(1, end))[0]) == end
        ]  # fmt: skip
    if zero in traits.score_range:
        return 0.0, (max(ends) if max(ends, default=0.0) > 0 else np.inf)
    low, high = traits.score_range
    return (low if low in ends else -np.inf), (high if high in ends else np.inf)


def opposite_losses(
    metric: Any, truth: npt.NDArray[Any], block: npt.NDArray[Any]
) -> FloatArray | None:
    """Return ``(k, n)`` losses that the same predictions could have had; None: unknown.

    With the error on the other side, or with the label that a prediction finds least likely: errors
    that cost much more than others can be too rare to be seen.
    """
    values: Any = None
    truth, block = read_only((truth, block))
    if metric.prediction is PredictionKind.CLASS_PROBABILITIES and truth.ndim == 1:
        values = [
            metric.row_values(_least_likely(prediction), prediction[np.newaxis])[0]
            for prediction in block
        ]
    elif np.issubdtype(truth.dtype, np.floating) and block.shape[1:] == truth.shape:
        values = metric.row_values(
            truth, np.clip(2 * truth - block, *traits_of(metric).prediction_range)
        )
    values = np.asarray(values, dtype=np.float64) if values is not None else None
    return values if values is not None and np.isfinite(values).all() else None


def _least_likely(prediction: npt.NDArray[Any]) -> IntArray:
    """Return ``(n,)`` codes of the least likely label; ``(n,)`` holds that of the second of two."""
    if prediction.ndim == 1:
        return (prediction < 0.5).astype(np.intp)
    return np.asarray(prediction.argmin(axis=1))


def _counts_rows(metric: Any, study: Study) -> bool:
    """Return whether the first block has row values 0 and 1 only: the score is a proportion."""
    probes = np.array([0.3, 0.7])
    if not (metric.from_mean(probes) == probes).all():
        return False
    _, block = next(iter(study.predictions.blocks(block_size(len(study.truth)))))
    values = np.asarray(metric.row_values(*read_only((study.truth, block))))
    return bool(((values == 0) | (values == 1)).all())


def _same(mean: FloatArray) -> FloatArray:
    return mean


def range_of(metric: Metric) -> tuple[float, float]:
    """Return the declared range of a metric's scores, narrowed by the range of its row values."""
    traits = traits_of(metric)
    if isinstance(metric, HasRowValues) and traits.row_range is not None:
        return _narrowed(traits.score_range, metric, traits.row_range)
    return traits.score_range


def _narrowed(
    score_range: tuple[float, float], metric: Any, row_range: tuple[float, float]
) -> tuple[float, float]:
    low, high = np.sort(metric.from_mean(np.asarray(row_range, dtype=np.float64))).tolist()
    return max(score_range[0], low), min(score_range[1], high)
