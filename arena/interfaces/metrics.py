"""The interface of metrics and its optional parts.

A metric must satisfy :class:`Metric`; it need not inherit from anything. All other members are
optional and recognised by their names:

- :class:`BaseMetric` holds the defaults of what a metric declares (traits, notes, checks). A class
  that does not inherit from it gets the same defaults, through functions such as
  :func:`traits_of`.
- Five protocols define faster ways to resample. Without one of them the metric is a black box: it
  is called as a whole on many parts of the rows. :class:`PointwiseMetric` implements the most
  common one: its subclasses define ``row_values`` only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from arena.interfaces.modalities import TABLE, Modality
from arena.types import (
    CompetitionInfo,
    Fault,
    FloatArray,
    MetricTraits,
    PredictionKind,
    RowContext,
    WeightArray,
)
from arena.utils.row_products import weighted_sums

_STEP = 1e-3
"""Of a central difference, in rows."""


@runtime_checkable
class Metric(Protocol):
    """A score of predictions against the truth, in its natural sign.

    The fields of a metric that is a dataclass are its parameters: ``f1(average=macro)``.
    """

    @property
    def name(self) -> str:
        """The name that selects the metric."""

    @property
    def greater_is_better(self) -> bool:
        """Whether a larger score is better."""

    @property
    def prediction(self) -> PredictionKind:
        """The content of a submission."""

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission; NaN where it is undefined.

        ``truth`` is ``(n,)`` and ``prediction`` ``(n,)`` or ``(n, n_classes)``, as
        :class:`~arena.types.PredictionKind` says; ``weight`` is ``(n,)``, not negative.
        """


class BaseMetric:
    """Defaults of the optional declarations and checks of a metric; inheriting is optional.

    Two optional members have no default here. ``kinds`` is a tuple of
    :class:`~arena.types.PredictionKind`: ``prediction`` first, then what a submission may contain
    instead, depending on the solution. ``example(n_rows, n_submissions, rng)`` returns truth
    ``(n,)`` and predictions ``(m, n)`` for the conformance suite, if it cannot draw them itself.
    """

    @property
    def traits(self) -> MetricTraits:
        """Ranges and requirements."""
        return MetricTraits()

    @property
    def modality(self) -> Modality:
        """How what people send becomes arrays."""
        return TABLE

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the organiser, such as an assumed direction."""
        return ()

    @property
    def source_text(self) -> str | None:
        """The source code of a metric from the organiser's file, as read; else None."""
        return None

    def faults(
        self,
        predictions: npt.NDArray[Any],  # noqa: ARG002 - the interface
        competition: CompetitionInfo,  # noqa: ARG002
    ) -> Iterable[Fault]:
        """Return faults of a submission that the metric cannot score, for the participant.

        Called on the unbound metric after the organiser's own checks have passed. ``predictions``
        is ``(n, n_columns)``, the rows in the order of ``competition.ids``, read-only. Any fault
        rejects the submission; of each kind the first twenty are shown and the others counted. A
        fault names the id and the column, and no truth.
        """
        return ()

    def faults_of_truth(
        self,
        truth: npt.NDArray[Any],  # noqa: ARG002 - the interface
        competition: CompetitionInfo,  # noqa: ARG002
    ) -> Iterable[Fault]:
        """Return faults of a solution that the metric cannot score, for the organiser.

        Called once, when the solution is read. ``truth`` is ``(n, n_targets)``, ignored rows
        included; ``competition.columns`` are the target columns. With several targets it is called
        once per target, unless the metric has joint targets.
        """
        return ()


_DEFAULTS = BaseMetric()


def _declared(metric: Metric, member: str) -> Any:
    """Return a member of a metric, which need not inherit from :class:`BaseMetric`."""
    return getattr(metric, member, None) or getattr(_DEFAULTS, member)


def traits_of(metric: Metric) -> MetricTraits:
    """Return the traits that a metric declares, or the defaults."""
    traits: MetricTraits = _declared(metric, "traits")
    return traits


def modality_of(metric: Metric) -> Modality:
    """Return the modality that a metric declares, or a plain table."""
    modality: Modality = _declared(metric, "modality")
    return modality


def kinds_of(metric: Metric) -> tuple[PredictionKind, ...]:
    """Return the kinds of predictions that a metric takes, in the order in which they are tried."""
    kinds: tuple[PredictionKind, ...] = getattr(metric, "kinds", (metric.prediction,))
    return kinds


def notes_of(metric: Metric) -> tuple[str, ...]:
    """Return the notes of a metric for the organiser."""
    notes: tuple[str, ...] = _declared(metric, "notes")
    return notes


def source_of(metric: Metric) -> str | None:
    """Return the source code of a metric from the organiser's file; None for other metrics."""
    source: str | None = _declared(metric, "source_text")
    return source


def faults_of_predictions(
    metric: Metric, predictions: npt.NDArray[Any], competition: CompetitionInfo
) -> Iterable[Fault]:
    """Return faults of a submission; see :meth:`BaseMetric.faults`."""
    faults: Iterable[Fault] = _declared(metric, "faults")(predictions, competition)
    return faults


def faults_of_truth(
    metric: Metric, truth: npt.NDArray[Any], competition: CompetitionInfo
) -> Iterable[Fault]:
    """Return faults of a solution; see :meth:`BaseMetric.faults_of_truth`."""
    faults: Iterable[Fault] = _declared(metric, "faults_of_truth")(truth, competition)
    return faults


# -- how a metric is resampled ---------------------------------------------------------------------


@runtime_checkable
class HasRowValues(Protocol):
    """A pointwise metric: the score is ``from_mean`` of the (weighted) mean of its row values."""

    def row_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return ``(m, n)`` row values of ``(m, n)`` or ``(m, n, n_classes)`` predictions."""

    def from_mean(self, mean: FloatArray) -> FloatArray:
        """Return the score of a mean of row values, elementwise (identity, or a square root)."""


class PointwiseMetric(BaseMetric, ABC):
    """A metric that is the mean of its row values, or a function of it.

    A subclass defines ``row_values``, and ``from_mean`` if the score is not the mean itself.

    Examples
    --------
    >>> class MeanAbsolute(PointwiseMetric):
    ...     def row_values(self, truth, predictions):
    ...         return abs(predictions - truth)
    >>> MeanAbsolute().score(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    1.0
    """

    @abstractmethod
    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        """Return ``(m, n)`` row values of ``(m, n)`` or ``(m, n, n_classes)`` predictions."""

    def from_mean(self, mean: FloatArray) -> FloatArray:
        """Return the score of a mean of row values, elementwise."""
        return mean

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission; NaN if no row has a weight."""
        if len(truth) == 0 or (weight is not None and not np.any(weight)):
            return float("nan")
        with np.errstate(over="ignore"):
            values = self.row_values(truth, prediction[np.newaxis])[0]
            return float(self.from_mean(np.array([np.average(values, weights=weight)]))[0])


class MetricOfSums(BaseMetric, ABC):
    """A metric that is a function of sums over the cases, such as true and false positives.

    A subclass defines ``case_statistics`` and ``combine``. Resamples are then sums under weights,
    and influence values the derivatives of ``combine``.

    Examples
    --------
    >>> class Precision(MetricOfSums):
    ...     def case_statistics(self, truth, predictions):
    ...         return np.stack([predictions * truth, predictions], axis=-1)
    ...     def combine(self, sums):
    ...         return sums[..., 0] / sums[..., 1]
    >>> truth, predictions = np.array([1, 0, 1]), np.array([[1, 1, 0]])
    >>> Precision().score(truth, predictions[0])
    0.5
    >>> Precision().resample(truth, predictions, np.array([[1, 3], [1, 1], [1, 0]])).tolist()
    [[0.5, 0.75]]
    """

    @abstractmethod
    def case_statistics(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return ``(m, n, s)`` statistics of each case, of ``(m, n)`` or more predictions."""

    @abstractmethod
    def combine(self, sums: FloatArray) -> FloatArray:
        """Return the ``(…)`` scores of ``(…, s)`` sums of statistics; NaN where undefined."""

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission; NaN if no row has a weight."""
        if len(truth) == 0 or (weight is not None and not np.any(weight)):
            return float("nan")
        statistics = self.case_statistics(truth, prediction[np.newaxis])[0]
        weights = np.ones(len(truth)) if weight is None else weight
        return float(self._quietly(np.asarray(weights @ statistics)[np.newaxis])[0])

    def resample(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any], weights: WeightArray
    ) -> FloatArray:
        """Return ``(m, B)`` scores under each column of weights; NaN where undefined."""
        statistics = np.moveaxis(self.case_statistics(truth, predictions), -1, 1)
        m, n_statistics, n = statistics.shape
        sums = weighted_sums(statistics.reshape(m * n_statistics, n), weights)
        scores = np.empty((m, weights.shape[1]))
        for of_submission, row in zip(sums.reshape(m, n_statistics, -1), scores, strict=True):
            row[:] = self._quietly(of_submission.T)
        scores[:, ~weights.any(axis=0)] = np.nan
        return scores

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return ``(m, n)`` influence values by central differences; NaN where undefined."""
        statistics = self.case_statistics(truth, predictions)
        n, n_statistics = statistics.shape[1:]
        values = np.empty(statistics.shape[:2])
        for cases, row in zip(statistics, values, strict=True):
            sums = cases.sum(axis=0)
            steps = np.maximum(np.abs(cases).mean(axis=0), np.finfo(np.float64).tiny)
            moved = sums + 0.5 * _STEP * np.concatenate([np.diag(steps), -np.diag(steps)])
            ends = self._quietly(moved).reshape(2, n_statistics)
            slopes = (ends[0] - ends[1]) / (_STEP * steps)
            row[:] = n * ((cases - cases.mean(axis=0)) @ slopes)
        return values

    def _quietly(self, sums: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(self.combine(sums), dtype=np.float64)


@runtime_checkable
class HasInfluenceValues(Protocol):
    """A metric with known influence values: the first-order effect of each row on the score."""

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return ``(m, n)`` influence values, of mean zero in each row of the result.

        The standard error of the score is ``sqrt(sum(v**2) / (n * (n - 1)))``; that of the
        difference of two submissions follows from the differences of their values.
        """


@runtime_checkable
class HasResample(Protocol):
    """A metric with an exact, fast implementation for many weightings of the same rows."""

    def resample(
        self,
        truth: npt.NDArray[Any],
        predictions: npt.NDArray[Any],
        weights: WeightArray,
    ) -> FloatArray:
        """Return ``(m, B)``: the score of each submission under each column of ``weights``.

        ``predictions`` is ``(m, n)`` or ``(m, n, n_classes)``, ``weights`` ``(n, B)`` small
        counts. An undefined score is NaN. Must be thread-safe.
        """


@runtime_checkable
class HasCaseValues(Protocol):
    """A metric with a value for each row whose score is not their mean, such as a median.

    Analyses that compare submissions row by row use these values, in the direction of the score.
    """

    def case_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return ``(m, n)`` values of ``(m, n)`` or ``(m, n, n_classes)`` predictions."""


@runtime_checkable
class NeedsRowContext(Protocol):
    """A metric that needs more than truth and prediction: ids, groups or column names.

    It is first bound to the rows of a split, and then always called with all of these rows, in
    their order. Resamples and folds are passed as weights: to ``resample`` if the metric has it,
    else to ``score`` as its ``weight``, ``(n,)`` counts of how often each row was drawn. A row of
    weight 0 must have no effect. Groups are resampled and held out as a whole.
    """

    def for_rows(self, context: RowContext) -> Metric:
        """Return the metric for these rows; called once per split, before anything is scored.

        The result is a :class:`NeedsRowContext` too: it can be bound to other rows.

        Raises
        ------
        MetricError
            If the metric needs something that the rows do not have, such as groups.
        """


@runtime_checkable
class PreparesSubmissions(Protocol):
    """A black-box metric that prepares a submission once, for many resamples of its rows."""

    def prepare(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
    ) -> Callable[[npt.NDArray[Any]], float]:
        """Return the score of this submission as a function of ``(n,)`` counts of its rows.

        The arguments are those of ``score``. The function is pickled when it is called in a worker
        process. It raises :class:`~arena.errors.ScoringError` if the metric rejects the drawn rows
        or fails on them.
        """


@runtime_checkable
class CountsCases(Metric, Protocol):
    """A metric of sums over cases, such as true positives, that takes long to count them.

    Each submission of a board is counted once, and resamples are sums of its counts. The cases may
    be others than the rows: those of a file that only the metric reads.
    """

    def counter(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
    ) -> Callable[[], FloatArray]:
        """Return a function that can be pickled and returns ``(n_cases, s)`` counts.

        It raises :class:`~arena.errors.ScoringError` where ``score`` does.
        """

    def combine(self, sums: FloatArray) -> FloatArray:
        """Return the ``(…)`` scores of ``(…, s)`` sums of counts; NaN where undefined."""


@runtime_checkable
class NeedsClasses(Protocol):
    """A metric that needs the labels themselves, and not only their codes."""

    def for_classes(self, classes: Sequence[str]) -> Metric:
        """Return the metric for the labels in the order of their codes.

        With several targets all of them have these labels.
        """


# -- metrics created on demand ---------------------------------------------------------------------


@runtime_checkable
class MetricFamily(Protocol):
    """Metrics created on demand: ``prefix:rest`` is ``rest`` of the family ``prefix``."""

    @property
    def prefix(self) -> str:
        """The text before the colon."""

    def make(self, rest: str, parameters: Mapping[str, Any]) -> Metric:
        """Return the metric, or raise :class:`~arena.errors.UnknownNameError`."""

    def known(self) -> Sequence[str]:
        """Return the names that are valid after the colon, if they can be listed."""


@runtime_checkable
class MetricFamilyOfFiles(Protocol):
    """A family of metrics from the organiser's files, relative to the current folder."""

    @property
    def form(self) -> str:
        """How to write a metric of the family, such as ``kaggle:FILE.py``."""

    @property
    def description(self) -> str:
        """A one-line description of the family."""

    def within(self, folder: Path) -> MetricFamily:
        """Return the family with files relative to the folder of a competition."""

    def settle(self, rest: str, parameters: Mapping[str, Any]) -> str:
        """Return the specification independent of the current folder; imports the code first.

        A file in the folder of :meth:`within` is named relative to that folder, any other file by
        its absolute path.

        Raises
        ------
        MetricError
            If the code cannot be imported.
        """

    def remake(self, rest: str, parameters: Mapping[str, Any], text: str | None) -> Metric:
        """Return the metric with this stored code, even if the file was changed or deleted."""
