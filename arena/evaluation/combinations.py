"""One score of several: of several metrics, of the tasks of a solution, or of both.

With the scores s_c of C parts and weights w_c that sum to 1, a combination is

============= ====================================================================
``mean``      the sum of w_c s_c
``rows``      the same, with weights times the number of rows of each part
``geometric`` exp of the sum of w_c log s_c, for positive scores
``worst``     the smallest score, or the largest of losses
``mean_rank`` the sum of w_c r_c, the rank of a submission among all by part c
============= ====================================================================

Rows are resampled within tasks, so that each task keeps its number of rows; groups that are in
several tasks are resampled as a whole. A combined metric is a metric like any other, except that a
mean rank depends on the other submissions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, UsageError
from arena.evaluation.combination_parts import (
    Column,
    Combination,
    Part,
    WeightedRowMean,
    as_few_products,
    is_plain_mean,
)
from arena.evaluation.combined_metric import CombinedMetric, scores_of_parts
from arena.evaluation.ranks import doubled_mean_ranks
from arena.evaluation.scores import (
    influence_values,
    is_black_box,
    mean_correction,
    resample_block,
    weighted_means,
)
from arena.evaluation.served_kinds import common_kind, conversion
from arena.evaluation.shared_weights import keep_sizes, weights_on
from arena.interfaces import HasInfluenceValues, HasRowValues, Metric, PredictionBlocks, traits_of
from arena.types import FloatArray, MetricTraits, Solution, SolutionOutline, WeightArray
from arena.utils.parallel import Progress


def combined_metric(
    metrics: Mapping[str, Metric],
    combination: Combination,
    *,
    by_task: bool = False,
    solution: Solution | SolutionOutline | None = None,
) -> CombinedMetric:
    """Return the combination of metrics, or of the tasks of a solution, or of both.

    Parameters
    ----------
    metrics
        Name -> metric, averaged over the targets of the solution.
    combination
        How the scores become one.
    by_task
        Whether each metric is computed on each task.
    solution
        Where it is known: its kind of predictions is that of the combination.

    Raises
    ------
    UsageError
        If no submission serves all metrics, or their directions differ and the combination is not
        one of ranks.
    """
    _check_directions(metrics, combination)
    if not by_task:
        combination.check_names(metrics)
    inner = list(metrics.values())
    outline = solution.outline() if isinstance(solution, Solution) else solution
    kinds = common_kind(inner) if outline is None else (outline.kind,)
    n_classes = 2 if outline is None else outline.n_classes
    columns = tuple(
        Column(name, metric, conversion(metric, kinds[0], n_classes))
        for name, metric in metrics.items()
    )
    combination_type = _type_of(inner, combination, by_task=by_task)
    return combination_type(columns, combination, by_task, kinds)


def combined_metric_of_tasks(
    metrics: Mapping[str, tuple[str, Metric]], combination: Combination, solution: Solution
) -> CombinedMetric:
    """Return the combination of the tasks of a solution, each by a metric of its own.

    Parameters
    ----------
    metrics
        Task -> name and metric, averaged over the targets of the solution.
    combination
        How the scores become one; its weights are those of tasks.
    solution
        Its tasks are those of the metrics.

    Raises
    ------
    UsageError
        As :func:`combined_metric`.
    """
    inner = {task: metric for task, (_, metric) in metrics.items()}
    _check_directions(inner, combination)
    combination.check_names(metrics)
    outline = solution.outline()
    columns = tuple(
        Column(name, metric, conversion(metric, outline.kind, outline.n_classes), task)
        for task, (name, metric) in metrics.items()
    )
    combination_type = _type_of(list(inner.values()), combination, by_task=True)
    return combination_type(columns, combination, by_task=True, kinds=(outline.kind,))


def served_metric(
    name: str, metric: Metric, outline: SolutionOutline, *, scores: bool = True
) -> Metric:
    """Return a metric that scores the submissions of a solution, if need be by their labels.

    ``metric`` is averaged over the targets of the solution. With ``scores``, those of two classes
    serve a metric of probabilities, which has no value for those outside [0, 1].

    Raises
    ------
    UsageError
        If it cannot score what submissions contain.
    """
    convert = conversion(metric, outline.kind, outline.n_classes, scores=scores)
    if convert is None:
        return metric
    return combined_metric({name: metric}, Combination(), solution=outline)


def _check_directions(metrics: Mapping[str, Metric], combination: Combination) -> None:
    directions = {metric.greater_is_better for metric in metrics.values()}
    if len(directions) > 1 and combination.how != "mean_rank":
        smaller = [name for name, metric in metrics.items() if not metric.greater_is_better]
        raise UsageError(
            f"Of {', '.join(metrics)}, smaller values of {', '.join(smaller)} are better, and "
            f"larger ones of the others: their {combination.how} has no direction. Combine them "
            "by mean_rank, or choose metrics of one direction."
        )


def _type_of(
    metrics: Sequence[Metric], combination: Combination, *, by_task: bool
) -> type[CombinedMetric]:
    """Return the class of a combination of these metrics."""
    combination_type: type[CombinedMetric] = CombinedMetric
    if combination.how == "mean_rank":
        combination_type = MeanRank
    elif not by_task and combination.is_mean and all(map(is_plain_mean, metrics)):
        combination_type = _RowMean
    elif any(is_black_box(metric) for metric in metrics):
        combination_type = _WorstBlackBox if combination.how == "worst" else combination_type
    elif combination.how == "worst":
        combination_type = _Worst
    elif all(isinstance(metric, HasRowValues | HasInfluenceValues) for metric in metrics):
        combination_type = _InfluencedCombination
    else:
        combination_type = _ResampledCombination
    return combination_type


class _RowMean(CombinedMetric):
    """A mean of means of the same rows: the mean of the weighted sums of their row values."""

    @property
    def traits(self) -> MetricTraits:
        """A row value is a weighted sum, too."""
        ranges = [traits_of(column.metric).row_range for column in self.columns]
        traits = super().traits
        if any(ends is None for ends in ranges):
            return traits
        low, high = self._weights_of_columns() @ np.array(ranges, dtype=np.float64)
        return replace(traits, row_range=(float(low), float(high)))

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return the ``(m, n)`` weighted sums of the row values."""
        return WeightedRowMean(self._bound()).row_values(truth, predictions)

    def from_mean(self, mean: FloatArray) -> FloatArray:
        """Return the mean itself."""
        return mean

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` means: row by row the metrics need no more than their rows."""
        return weighted_means(WeightedRowMean(self._bound()), truth, predictions, weights)


class _ResampledCombination(CombinedMetric):
    """A combination of metrics that are resampled exactly, so that it is, too."""

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` combined scores under each column of counts."""
        parts = self._bound()
        if self.combination.is_mean:
            alike = not (self._differ_by_task or self.scores_of_absent)
            tasks = self.tasks if alike else None
            fixed = tasks is not None and keep_sizes(tasks, weights)
            parts = as_few_products(parts, tasks if fixed else None)
        scores = [_resampled_part(part, truth, predictions, weights) for part in parts]
        combined = replace(self, parts=parts).combine(np.array(scores))
        if self.baseline is None:
            return combined
        single = self.baseline[np.newaxis]
        return combined / replace(self, baseline=None).resample(truth, single, weights)


def _resampled_part(
    part: Part, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
) -> FloatArray:
    own_truth, part_block, metric = part.of_rows(truth), part.of_block(predictions), part.metric
    if part.row_factors is not None and isinstance(metric, HasRowValues):
        return weighted_means(
            metric, own_truth, block=part_block, weights=weights, of_rows=part.row_factors
        )
    return resample_block(metric, own_truth, part_block, weights_on(part.rows, weights))


class _Worst(_ResampledCombination):
    by_parts: ClassVar[bool] = True


class _WorstBlackBox(CombinedMetric):
    by_parts: ClassVar[bool] = True


class _InfluencedCombination(_ResampledCombination):
    """A smooth combination of metrics with influence values."""

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return ``(m, n)``: of each row, those of its parts times their slopes.

        A part of n_c of n rows has its values times ``n / n_c``, and ``sqrt(n_c / (n_c - 1))``
        for the mean of its own rows that is subtracted.
        """
        if self.baseline is not None:
            return self._relative_influence(truth, predictions)
        m, n = predictions.shape[:2]
        once = np.ones((n, 1), dtype=np.uint8)
        values = np.zeros((m, n))
        for part in self._bound():
            rows = slice(None) if part.rows is None else part.rows
            own_truth, part_block = part.of_rows(truth), part.of_block(predictions)
            influence = influence_values(part.metric, own_truth, part_block)
            if influence is None:
                raise MetricError(f"{part.metric.name} has no influence values.")
            count = influence.shape[1]
            slope = np.full(m, part.weight)
            if self.combination.how == "geometric":
                scores = resample_block(part.metric, own_truth, part_block, once[:count])[:, 0]
                slope /= scores
            unbiased = mean_correction(count, n) if self.by_task else 1.0
            values[:, rows] += influence * (slope * n / count * unbiased)[:, np.newaxis]
        if self.combination.how == "geometric":
            values *= self.resample(truth, predictions, once)
        return values

    def _relative_influence(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> FloatArray:
        """Return the influence on a ratio: that on its numerator, less its share of the other."""
        alone, single = replace(self, baseline=None), self.baseline
        both = np.concatenate([predictions, np.asarray(single)[np.newaxis]])
        values = alone.influence_values(truth, both)
        scores = alone.resample(truth, both, np.ones((len(truth), 1), dtype=np.uint8))
        ratio = scores[:-1] / scores[-1]
        return np.asarray((values[:-1] - ratio * values[-1]) / scores[-1])


class MeanRank(CombinedMetric):
    """The mean over the parts of a submission's rank; equal scores share the mean of places."""

    by_parts: ClassVar[bool] = True
    relative: ClassVar[bool] = True

    @property
    def greater_is_better(self) -> bool:
        """A smaller rank is better."""
        return False

    def score(
        self,
        truth: npt.NDArray[Any],  # noqa: ARG002 - the interface
        prediction: npt.NDArray[Any],  # noqa: ARG002
        weight: npt.NDArray[Any] | None = None,  # noqa: ARG002
    ) -> float:
        """Raise MetricError: one submission alone has no rank among others."""
        raise MetricError(f"{self.name} is defined for several submissions, not for one.")

    def combine(self, scores: FloatArray) -> FloatArray:
        """Return the ``(m, …)`` mean ranks of ``(C, m, …)`` scores.

        A submission with an undefined score has NaN, and the others are ranked without it.
        """
        defined = np.isfinite(scores).all(axis=0)
        mean_ranks = np.zeros(scores.shape[1:])
        for part, part_scores in zip(self._bound(), scores, strict=True):
            signed = np.where(
                defined, -part_scores if part.metric.greater_is_better else part_scores, np.inf
            )
            ranks = doubled_mean_ranks(signed.reshape(len(part_scores), -1).T).T / 2
            mean_ranks += part.weight * ranks.reshape(part_scores.shape)
        return np.where(defined, mean_ranks, np.nan)

    def score_together(
        self,
        truth: npt.NDArray[Any],
        predictions: PredictionBlocks,
        weights: WeightArray,
        *,
        workers: int = 1,
        progress: Progress | None = None,
    ) -> FloatArray:
        """Return the ``(m, B)`` mean ranks of all submissions under each column of counts."""
        return self.combine(
            scores_of_parts(self, truth, predictions, weights, workers=workers, progress=progress)
        )
