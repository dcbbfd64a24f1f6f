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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, UsageError
from arena.evaluation.absent import with_score_of_absent
from arena.evaluation.binding import part_of_context
from arena.evaluation.predictions import MappedPredictions
from arena.evaluation.ranks import doubled_mean_ranks
from arena.evaluation.scores import (
    influence_values,
    is_black_box,
    is_mean_of_rows,
    mean_correction,
    resample_block,
    score_under_weights,
    weighted_means,
)
from arena.evaluation.served_kinds import Conversion, common_kind, conversion
from arena.evaluation.shared_weights import keep_sizes, weights_on
from arena.evaluation.wrapped_metric import WrappedMetric
from arena.interfaces import (
    BaseMetric,
    HasInfluenceValues,
    HasRowValues,
    Metric,
    NeedsRowContext,
    PointwiseMetric,
    PredictionBlocks,
    faults_of_predictions,
    faults_of_truth,
    modality_of,
    notes_of,
    traits_of,
)
from arena.types import (
    LEAST_WEIGHT,
    MOST_WEIGHT,
    CompetitionInfo,
    Fault,
    FloatArray,
    IntArray,
    MetricTraits,
    PredictionKind,
    RowContext,
    Solution,
    SolutionOutline,
    WeightArray,
)
from arena.utils.parallel import Progress

COMBINATIONS = ("mean", "rows", "geometric", "worst", "mean_rank")
"""How the scores of parts become one; see the module."""


@dataclass(frozen=True, slots=True)
class Combination:
    """How the scores of several metrics, or of several tasks, become one.

    Raises
    ------
    UsageError
        If the name is unknown, or a weight is not a positive number.
    """

    how: str = "mean"
    """One of :data:`COMBINATIONS`."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Metric or task -> weight; others have 1. Of a metric on a task, the two are multiplied."""

    def __post_init__(self) -> None:
        if self.how not in COMBINATIONS:
            raise UsageError(
                f"The combination must be one of {', '.join(COMBINATIONS)}, not {self.how!r}."
            )
        if self.weights and self.how == "worst":
            raise UsageError("The worst of several scores takes no weights.")
        for name, weight in self.weights.items():
            if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
                raise UsageError(
                    f"The weight of {name} must be a positive number from {LEAST_WEIGHT:g} to "
                    f"{MOST_WEIGHT:g}, not {weight}."
                )

    @property
    def is_mean(self) -> bool:
        """Whether it is a weighted sum of the scores."""
        return self.how in ("mean", "rows")

    def check_names(self, names: Iterable[str]) -> None:
        """Raise UsageError if a weight is for something that does not exist."""
        column_names = list(names)
        for name in self.weights:
            if name not in column_names:
                listed = ", ".join(column_names)
                raise UsageError(f"There is no metric or task {name!r} to weight: {listed}.")


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A score that enters a combination: a metric on all rows, or on those of a task."""

    name: str
    metric: Metric
    """Bound to its rows, if it needs that."""
    weight: float
    """Of all parts, the weights sum to 1."""
    rows: IntArray | slice | None = None
    """The positions of its rows; None: all."""
    convert: Conversion | None = None
    """Converts predictions to those of its metric; None: they need no conversion."""
    row_factors: FloatArray | None = None
    """``(n,)`` factors of the weights of rows; None: they have none."""

    def of_rows(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return an array ``(n, …)`` on the rows of the part."""
        return values if self.rows is None else values[self.rows]

    def of_block(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return predictions ``(k, n, …)`` as the metric takes them."""
        part_block = block if self.rows is None else block[:, self.rows]
        return part_block if self.convert is None else self.convert(part_block)

    def of_predictions(self, predictions: PredictionBlocks) -> PredictionBlocks:
        """Return the predictions on the rows of the part, as the metric takes them."""
        if self.rows is None and self.convert is None:
            return predictions
        return MappedPredictions(predictions, self.of_block)


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A metric of a combination, before it is bound to rows."""

    name: str
    metric: Metric
    convert: Conversion | None
    task: str = ""
    """The task that it scores; empty: each task, or all rows."""

    def weight(self, weights: Mapping[str, float], task: str) -> float:
        """Return its weight in a task."""
        of_metric = 1.0 if self.task else weights.get(self.name, 1.0)
        return of_metric * weights.get(task, 1.0)


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
        _Column(name, metric, conversion(metric, kinds[0], n_classes))
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
        _Column(name, metric, conversion(metric, outline.kind, outline.n_classes), task)
        for task, (name, metric) in metrics.items()
    )
    combination_type = _type_of(list(inner.values()), combination, by_task=True)
    return combination_type(columns, combination, by_task=True, kinds=(outline.kind,))


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
    elif not by_task and combination.is_mean and all(map(_is_plain_mean, metrics)):
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


RELATIVE = ", relative to the baseline"
"""The end of the name of a geometric mean that is divided by that of a baseline."""


@dataclass(frozen=True, eq=False)
class CombinedMetric(BaseMetric):
    """A combination of metrics; a part that is a black box makes it one, too."""

    columns: tuple[_Column, ...]
    combination: Combination
    by_task: bool
    kinds: tuple[PredictionKind, ...]
    parts: tuple[Part, ...] = ()
    """The scores that are combined; empty: not bound to rows."""
    tasks: IntArray | None = None
    """``(n,)`` codes of the tasks of the rows, if the tasks are parts."""
    baseline: npt.NDArray[Any] | None = None
    """Predictions on these rows by whose score a geometric mean is divided; None: it is not."""
    task_word: str = "tasks"
    """What the tasks are called, such as rounds."""
    scores_of_absent: Mapping[str, float] = field(default_factory=dict)
    """The score in a task of a submission that lacks it: see :mod:`arena.evaluation.absent`."""
    by_parts: ClassVar[bool] = False
    """Whether ranks follow from the decisions of the parts: the score is not a smooth function."""
    relative: ClassVar[bool] = False
    """Whether a score depends on the other submissions."""

    @property
    def name(self) -> str:
        """Such as ``weighted mean of roc_auc and f1 over tasks``."""
        if len(self.columns) == 1 and not self.by_task:
            return self.columns[0].name
        how = self.combination.how.replace("_", " ")
        how = {"geometric": "geometric mean", "rows": "mean over rows"}.get(how, how)
        how = f"weighted {how}" if self.combination.weights else how
        *others, last = dict.fromkeys(column.name for column in self.columns)
        names = f"{', '.join(others)} and {last}" if others else last
        over = f" over {self.task_word}" if self.by_task else ""
        ratio = "" if self.baseline is None else RELATIVE
        return f"{how} {'by' if self.relative else 'of'} {names}{over}{ratio}"

    @property
    def greater_is_better(self) -> bool:
        """The direction of the metrics; a smaller mean rank is better."""
        return self.columns[0].metric.greater_is_better

    @property
    def prediction(self) -> PredictionKind:
        """What serves all metrics."""
        return self.kinds[0]

    @property
    def modality(self) -> Any:
        """That of the first metric."""
        return modality_of(self.columns[0].metric)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the metrics, and which of them take labels for probabilities."""
        notes = [note for column in self.columns for note in notes_of(column.metric)]
        labels = [column.name for column in self.columns if column.convert is not None]
        if labels:
            notes.append(f"{', '.join(labels)}: the label is the most probable one.")
        return tuple(dict.fromkeys(notes))

    @property
    def traits(self) -> MetricTraits:
        """What all metrics need; the range of the combined score."""
        each = [traits_of(column.metric) for column in self.columns]
        lows, highs = zip(*(traits.score_range for traits in each), strict=True)
        most = [traits.max_classes for traits in each if traits.max_classes is not None]
        limits = [traits.time_limit for traits in each if traits.time_limit is not None]
        memory = [traits.memory_limit for traits in each if traits.memory_limit is not None]
        weights = self._weights_of_columns()
        mean = (float(weights @ lows), float(weights @ highs))
        # How many rows each task has is not known here.
        over_rows = (min(lows), max(highs)) if self._differ_by_task else mean
        # Rows of one task may lie outside the range of another one's metric.
        joint = _widest if self._differ_by_task else _shared
        ends = {
            "mean": mean,
            "rows": over_rows,
            "geometric": (max(min(lows), 0.0), max(highs) if self.baseline is None else np.inf),
            "worst": (min(lows), min(highs)) if self.greater_is_better else (max(lows), max(highs)),
            "mean_rank": (1.0, np.inf),
        }
        return replace(
            each[0],
            prediction_range=joint([traits.prediction_range for traits in each]),
            truth_range=joint([traits.truth_range for traits in each]),
            row_range=None,
            score_range=ends[self.combination.how],
            needs_every_class=any(traits.needs_every_class for traits in each),
            stratify_by_class=all(traits.stratify_by_class for traits in each),
            max_classes=min(most, default=None),
            time_limit=sum(limits) or None,
            memory_limit=max(memory, default=None),
            extra_columns=tuple(
                dict.fromkeys(name for traits in each for name in traits.extra_columns)
            ),
            row_weights=all(traits.row_weights for traits in each),
        )

    @property
    def _differ_by_task(self) -> bool:
        """Whether each task has a metric of its own."""
        return any(column.task for column in self.columns)

    def _weights_of_columns(self) -> FloatArray:
        given_weights = self.combination.weights
        weights = np.array([column.weight(given_weights, column.task) for column in self.columns])
        return np.asarray(weights / weights.sum())

    @property
    def weights_of_tasks(self) -> FloatArray:
        """The ``(T,)`` sums of the weights of the parts of each task, in the order of the codes."""
        weights = np.array([part.weight for part in self._bound()])
        n_tasks = 1 if self.tasks is None else int(self.tasks.max()) + 1
        return np.asarray(weights.reshape(n_tasks, -1).sum(axis=1))

    def faults(
        self, predictions: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        """Return the faults that any metric finds in predictions that it takes as they are."""
        for column in self.columns:
            if column.convert is None:
                yield from faults_of_predictions(column.metric, predictions, competition)

    def faults_of_truth(
        self, truth: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        """Return the faults that any metric finds in the solution."""
        for column in self.columns:
            yield from faults_of_truth(column.metric, truth, competition)

    def for_rows(self, context: RowContext) -> CombinedMetric:
        """Return the combination on these rows, whose tasks the context names.

        Raises
        ------
        MetricError
            If the tasks are combined, and the rows have none.
        """
        if not self.by_task:
            parts = [self._part(column, context, None, "") for column in self.columns]
            return replace(self, parts=tuple(_normalised(parts)), tasks=None)
        if context.tasks is None:
            raise MetricError(f"{self.name} needs the tasks of the rows: name their column.")
        present = np.unique(context.tasks)
        names = [context.task_names[code] for code in present]
        if not self._differ_by_task:
            self.combination.check_names([*(column.name for column in self.columns), *names])
        parts = []
        for code, name in zip(present, names, strict=True):
            rows = np.flatnonzero(context.tasks == code)
            row_context = part_of_context(context, rows, name)
            parts += [
                self._part(column, row_context, _as_slice(rows), name)
                for column in self.columns
                if column.task in ("", name)
            ]
        codes = np.searchsorted(present, context.tasks)
        return replace(self, parts=tuple(_normalised(parts)), tasks=codes)

    def for_tasks(self, n_rows: Mapping[str, int]) -> CombinedMetric:
        """Return the combination of known scores on tasks, from the number of rows of each.

        It can only combine scores: its metrics know no rows.
        """
        parts = [
            self._unbound_part(column, task, count)
            for task, count in n_rows.items()
            for column in self.columns
            if column.task in ("", task)
        ]
        return replace(self, parts=tuple(_normalised(parts)))

    def _part(
        self, column: _Column, context: RowContext, rows: IntArray | slice | None, task: str
    ) -> Part:
        part, metric = self._unbound_part(column, task, len(context.ids)), column.metric
        if isinstance(metric, NeedsRowContext):
            metric = metric.for_rows(context)
        if task in self.scores_of_absent:
            score = self.scores_of_absent[task]
            metric = with_score_of_absent(metric, score, part.convert)
            part = replace(part, convert=None)
        return replace(part, metric=metric, rows=rows)

    def _unbound_part(self, column: _Column, task: str, n_rows: int) -> Part:
        weight = column.weight(self.combination.weights, task)
        if self.combination.how == "rows":
            weight *= n_rows
        name = f"{column.name} of {task}" if task else column.name
        return Part(name, column.metric, weight, convert=column.convert)

    def of_each_part(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> FloatArray:
        """Return the ``(C,)`` scores of one submission."""
        return np.array(
            [
                part.metric.score(
                    part.of_rows(truth),
                    part.of_block(prediction[np.newaxis])[0],
                    None if weight is None else part.of_rows(weight),
                )
                for part in self._bound()
            ]
        )

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the combined score of one submission."""
        score = self.combine(self.of_each_part(truth, prediction, weight)[:, np.newaxis])[0]
        if self.baseline is not None:
            score /= replace(self, baseline=None).score(truth, self.baseline, weight)
        return float(score)

    def combine(self, scores: FloatArray) -> FloatArray:
        """Return the ``(m, …)`` combination of ``(C, m, …)`` scores; NaN where one is undefined.

        Raises
        ------
        MetricError
            If a geometric mean is asked of a score that is not positive.
        """
        weights = np.array([part.weight for part in self._bound()])
        if self.combination.is_mean:
            return np.asarray(np.tensordot(weights, scores, axes=1))
        if self.combination.how == "worst":
            worst = np.min if self.greater_is_better else np.max
            return np.asarray(worst(scores, axis=0))
        if (scores <= 0).any():
            raise MetricError(
                "A geometric mean needs scores above 0, and a score is not. Combine them by mean."
            )
        return np.asarray(np.exp(np.tensordot(weights, np.log(scores), axes=1)))

    def _bound(self) -> tuple[Part, ...]:
        if not self.parts:
            raise MetricError(f"{self.name} needs the rows that it scores: call for_rows first.")
        return self.parts


def _is_plain_mean(metric: Metric) -> bool:
    return is_mean_of_rows(metric) and not isinstance(metric, NeedsRowContext)


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
        return _WeightedRowMean(self._bound()).row_values(truth, predictions)

    def from_mean(self, mean: FloatArray) -> FloatArray:
        """Return the mean itself."""
        return mean

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` means: row by row the metrics need no more than their rows."""
        return weighted_means(_WeightedRowMean(self._bound()), truth, predictions, weights)


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
            parts = _as_few_products(parts, tasks if fixed else None)
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


def tasks_of(metric: Metric) -> IntArray | None:
    """Return the ``(n,)`` codes of the tasks that are parts of a score; None: rows are not."""
    return metric.tasks if isinstance(metric, CombinedMetric) else None


def within_tasks(metric: Metric, codes: IntArray | None) -> IntArray | None:
    """Return codes of strata within the tasks that are parts of a score; None: there are none.

    >>> from arena.plugin.manager import PluginManager
    >>> accuracy = PluginManager().metrics.resolve("accuracy")
    >>> within_tasks(accuracy, np.array([1, 0, 1])).tolist()
    [1, 0, 1]
    """
    tasks = tasks_of(metric)
    if tasks is None or codes is None:
        return codes if tasks is None else tasks
    joint: Any = np.unique(tasks * (codes.max() + 1) + codes, return_inverse=True)[1]
    return np.asarray(joint, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class EachPart(WrappedMetric):
    """The scores of all parts of a bound combination, one part below the other."""

    metric: CombinedMetric

    def score_together(
        self,
        truth: npt.NDArray[Any],
        predictions: PredictionBlocks,
        weights: WeightArray,
        *,
        workers: int = 1,
        progress: Progress | None = None,
    ) -> FloatArray:
        """Return ``(C m, B)`` scores."""
        scores = scores_of_parts(
            self.metric, truth, predictions, weights, workers=workers, progress=progress
        )
        return scores.reshape(-1, scores.shape[2])


def scores_of_parts(
    metric: CombinedMetric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    weights: WeightArray,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> FloatArray:
    """Return the ``(C, m, B)`` scores of the parts of a bound combination."""
    return np.array(
        [
            score_under_weights(
                part.metric,
                part.of_rows(truth),
                part.of_predictions(predictions),
                weights_on(part.rows, weights),
                workers=workers,
                progress=progress,
            )
            for part in metric.parts
        ]
    )


# -- parts -----------------------------------------------------------------------------------------


def _normalised(parts: Sequence[Part]) -> Iterator[Part]:
    total = sum(part.weight for part in parts)
    for part in parts:
        yield replace(part, weight=part.weight / total)


@dataclass(frozen=True, eq=False)
class _WeightedRowMean(PointwiseMetric):
    """The weighted sum of means of row values, which is the mean of the weighted sums."""

    parts: tuple[Part, ...]
    name: ClassVar[str] = "weighted mean"
    prediction: ClassVar[PredictionKind] = PredictionKind.VALUE

    @property
    def greater_is_better(self) -> bool:
        return self.parts[0].metric.greater_is_better

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        values = np.zeros(predictions.shape[:2])
        for part in self.parts:
            converted = predictions if part.convert is None else part.convert(predictions)
            metric: Any = part.metric
            values += part.weight * metric.row_values(truth, converted)
        return values


def _as_few_products(parts: Sequence[Part], tasks: IntArray | None) -> tuple[Part, ...]:
    """Return parts with the same mean: those that are means of the same rows become one.

    One product of row values with the weights of the resamples then serves all of them. Where the
    ``(n,)`` codes of tasks are given, every resample has as many rows of a task as the task has:
    then means of the rows of all tasks become one, too.
    """
    if tasks is not None and any(_is_plain_mean(part.metric) for part in parts):
        return _over_tasks(parts, tasks)
    joined: dict[Any, list[Part]] = {}
    others = []
    for part in parts:
        if _is_plain_mean(part.metric):
            joined.setdefault(id(part.rows), []).append(part)
        else:
            others.append(part)
    joint = []
    for of_rows in joined.values():
        if len(of_rows) == 1:
            joint += of_rows
            continue
        total = sum(part.weight for part in of_rows)
        mean = _WeightedRowMean(
            tuple(replace(part, weight=part.weight / total) for part in of_rows)
        )
        joint.append(Part("", mean, total, of_rows[0].rows))
    return (*joint, *others)


def _over_tasks(parts: Sequence[Part], tasks: IntArray) -> tuple[Part, ...]:
    """Return parts with the same mean, of which one has all means of rows, over all tasks.

    A weight is that of a metric times that of a task: the metrics are summed row by row, and a row
    of a task with n_c rows has the weight of the task over n_c as a factor.
    """
    plain = [part for part in parts if _is_plain_mean(part.metric)]
    counts = np.bincount(tasks)
    weights = np.array([part.weight for part in plain]).reshape(len(counts), -1)
    of_metrics = zip(plain, weights.sum(axis=0) / weights.sum(), strict=False)
    mean = _WeightedRowMean(
        tuple(replace(part, rows=None, weight=weight) for part, weight in of_metrics)
    )
    factors = (weights.sum(axis=1) / counts)[tasks]
    others = [part for part in parts if not _is_plain_mean(part.metric)]
    return Part("", mean, float(weights.sum()), row_factors=factors), *others


def _as_slice(rows: IntArray) -> IntArray | slice:
    """Return positions as a slice, whose arrays are views, where they are consecutive."""
    if rows[-1] - rows[0] != len(rows) - 1:
        return rows
    return slice(int(rows[0]), int(rows[-1]) + 1)


def _shared(ranges: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return what lies in all ranges."""
    return max(low for low, _ in ranges), min(high for _, high in ranges)


def _widest(ranges: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return what lies in any range."""
    return min(low for low, _ in ranges), max(high for _, high in ranges)
