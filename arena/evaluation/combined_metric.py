"""A metric whose score combines those of several metrics, or of the tasks of a solution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.evaluation.absent import with_score_of_absent
from arena.evaluation.binding import part_of_context
from arena.evaluation.combination_parts import Column, Combination, Part, normalised
from arena.evaluation.scores import score_under_weights
from arena.evaluation.shared_weights import weights_on
from arena.evaluation.wrapped_metric import WrappedMetric
from arena.interfaces import (
    BaseMetric,
    Metric,
    NeedsRowContext,
    PredictionBlocks,
    faults_of_predictions,
    faults_of_truth,
    modality_of,
    notes_of,
    traits_of,
)
from arena.types import (
    CompetitionInfo,
    Fault,
    FloatArray,
    IntArray,
    MetricTraits,
    PredictionKind,
    RowContext,
    WeightArray,
)
from arena.utils.parallel import Progress

RELATIVE = ", relative to the baseline"
"""The end of the name of a geometric mean that is divided by that of a baseline."""


@dataclass(frozen=True, eq=False)
class CombinedMetric(BaseMetric):
    """A combination of metrics; a part that is a black box makes it one, too."""

    columns: tuple[Column, ...]
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
        all_traits = [traits_of(column.metric) for column in self.columns]
        lows, highs = zip(*(traits.score_range for traits in all_traits), strict=True)
        most = [traits.max_classes for traits in all_traits if traits.max_classes is not None]
        limits = [traits.time_limit for traits in all_traits if traits.time_limit is not None]
        memory = [traits.memory_limit for traits in all_traits if traits.memory_limit is not None]
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
            all_traits[0],
            prediction_range=joint([traits.prediction_range for traits in all_traits]),
            truth_range=joint([traits.truth_range for traits in all_traits]),
            row_range=None,
            score_range=ends[self.combination.how],
            needs_every_class=any(traits.needs_every_class for traits in all_traits),
            stratify_by_class=all(traits.stratify_by_class for traits in all_traits),
            max_classes=min(most, default=None),
            time_limit=sum(limits) or None,
            memory_limit=max(memory, default=None),
            extra_columns=tuple(
                dict.fromkeys(name for traits in all_traits for name in traits.extra_columns)
            ),
            row_weights=all(traits.row_weights for traits in all_traits),
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
            return replace(self, parts=normalised(parts), tasks=None)
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
        return replace(self, parts=normalised(parts), tasks=codes)

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
        return replace(self, parts=normalised(parts))

    def _part(
        self, column: Column, context: RowContext, rows: IntArray | slice | None, task: str
    ) -> Part:
        part, metric = self._unbound_part(column, task, len(context.ids)), column.metric
        if isinstance(metric, NeedsRowContext):
            metric = metric.for_rows(context)
        if task in self.scores_of_absent:
            score = self.scores_of_absent[task]
            metric = with_score_of_absent(metric, score, part.convert)
            part = replace(part, convert=None)
        return replace(part, metric=metric, rows=rows)

    def _unbound_part(self, column: Column, task: str, n_rows: int) -> Part:
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
