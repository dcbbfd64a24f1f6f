"""What a metric is, and what it may offer beside its score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from arena.types import (
    CompetitionInfo,
    Fault,
    FloatArray,
    MetricTraits,
    PredictionKind,
    RowContext,
    WeightArray,
)

__all__ = [
    "ChecksPredictions",
    "ChecksTruth",
    "HasExample",
    "HasInfluenceValues",
    "HasNotes",
    "HasResample",
    "HasRowValues",
    "HasSource",
    "HasTraits",
    "Metric",
    "MetricFamily",
    "MetricFamilyOfFiles",
    "NeedsRowContext",
    "PreparesSubmissions",
    "SuitsKinds",
    "kinds_of",
    "notes_of",
    "traits_of",
]


@runtime_checkable
class Metric(Protocol):
    """A score of predictions against the truth, in its natural sign.

    A metric that is a dataclass takes its fields as parameters: ``f1(average=macro)``.
    """

    @property
    def name(self) -> str:
        """The name under which the metric is asked for."""

    @property
    def greater_is_better(self) -> bool:
        """Whether a larger score is a better one."""

    @property
    def prediction(self) -> PredictionKind:
        """What a submission must hold."""

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the score of one submission; NaN where it is not defined.

        ``truth`` is ``(n,)`` and ``prediction`` ``(n,)`` or ``(n, n_classes)``, as
        :class:`~arena.types.PredictionKind` says; ``weight`` is ``(n,)``, not negative.
        """


@runtime_checkable
class HasTraits(Protocol):
    """A metric that declares ranges or needs of its own."""

    @property
    def traits(self) -> MetricTraits:
        """What the metric declares."""


@runtime_checkable
class HasExample(Protocol):
    """A metric that brings data to be checked on, where nobody else can make it up."""

    def example(
        self, n_rows: int, n_submissions: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return truth ``(n,)`` and predictions ``(m, n)``, both perhaps with columns as well."""


@runtime_checkable
class SuitsKinds(Protocol):
    """A metric that takes what the solution has: numbers, say, and labels where there are none."""

    @property
    def kinds(self) -> tuple[PredictionKind, ...]:
        """What a submission may hold, ``prediction`` first."""


@runtime_checkable
class HasNotes(Protocol):
    """A metric of which the organiser should know something, such as what was taken for granted."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences, said wherever the metric is asked for."""


@runtime_checkable
class HasSource(Protocol):
    """A metric whose code stands in a file of the organiser, who may change it at any time."""

    @property
    def source_text(self) -> str:
        """The code, as it was read."""


@runtime_checkable
class NeedsRowContext(Protocol):
    """A metric that must know more of the rows than truth and prediction: ids, groups, names.

    It is bound to the rows of a split first, and then always given those rows: all of them, in
    their order. A resample or a fold of them comes as weights: to ``resample`` where there is one,
    else to ``score`` as its ``weight``, ``(n,)`` counts: how often each row was drawn. A row of
    weight 0 must count as if it were not there. Groups are resampled and held out whole.
    """

    def for_rows(self, context: RowContext) -> Metric:
        """Return the metric for these rows; asked for once per split, before anything is scored.

        What is returned is a :class:`NeedsRowContext` too: it may be bound to other rows.

        Raises
        ------
        MetricError
            If the rows lack something that the metric needs, such as groups.
        """


@runtime_checkable
class ChecksPredictions(Protocol):
    """A metric that cannot score everything that a submission of its kind may hold."""

    def faults(
        self, predictions: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        """Return what is wrong with the cells of a submission, for the person who sent it.

        Asked of the metric as it is, bound to no rows, after the host's own checks have passed.
        ``predictions`` is ``(n, n_columns)``, the rows in the order of ``competition.ids``,
        read-only. Any fault refuses the submission; of each kind the first twenty are shown and
        the others counted. A fault names the id and the column, and no truth.
        """


@runtime_checkable
class PreparesSubmissions(Protocol):
    """A metric called as a whole that readies a submission once, for many draws of its rows."""

    def prepare(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
    ) -> Callable[[npt.NDArray[Any]], float]:
        """Return the score of this submission as a function of ``(n,)`` counts of its rows.

        The arguments are those of ``score``. The function is pickled where it is called in a
        worker process. It raises :class:`~arena.errors.ScoringError` where the metric refuses
        the drawn rows or fails on them.
        """


@runtime_checkable
class ChecksTruth(Protocol):
    """A metric that cannot score against everything that a solution of its kind may hold."""

    def faults_of_truth(
        self, truth: npt.NDArray[Any], competition: CompetitionInfo
    ) -> Iterable[Fault]:
        """Return what is wrong with the cells of a solution, for the organiser.

        Asked once, when the solution is read. ``truth`` is ``(n, n_targets)``, ignored rows too;
        ``competition.columns`` are the target columns. Of several targets each is asked about on
        its own, unless the metric takes all at once.
        """


@runtime_checkable
class HasRowValues(Protocol):
    """A pointwise metric: the score is ``from_mean`` of the (weighted) mean of its row values."""

    def row_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return ``(m, n)`` row values of ``(m, n)`` or ``(m, n, n_classes)`` predictions."""

    def from_mean(self, mean: FloatArray) -> FloatArray:
        """Return the score of a mean of row values, elementwise (identity, or a square root)."""


@runtime_checkable
class HasInfluenceValues(Protocol):
    """A metric whose score moves with each row by a known amount."""

    def influence_values(
        self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return ``(m, n)`` influence values, of mean zero in each row of the result.

        The standard error of the score is ``sqrt(sum(v**2) / (n * (n - 1)))``, and that of a
        difference of two submissions the same of the difference of their values.
        """


@runtime_checkable
class HasResample(Protocol):
    """A metric with an exact, fast path for many weightings of the same rows."""

    def resample(
        self,
        truth: npt.NDArray[Any],
        predictions: npt.NDArray[Any],
        weights: WeightArray,
    ) -> FloatArray:
        """Return ``(m, B)``: the score of each submission under each column of ``weights``.

        ``predictions`` is ``(m, n)`` or ``(m, n, n_classes)``, ``weights`` ``(n, B)`` small
        counts. An undefined score is NaN. Runs in several threads at once.
        """


@runtime_checkable
class MetricFamily(Protocol):
    """Metrics made on demand: ``prefix:rest`` asks the family ``prefix`` for ``rest``."""

    @property
    def prefix(self) -> str:
        """What stands before the colon."""

    def make(self, rest: str, parameters: Mapping[str, Any]) -> Metric:
        """Return the metric, or raise :class:`~arena.errors.UnknownNameError`."""

    def known(self) -> Sequence[str]:
        """Return the names that can stand after the colon, where they can be listed."""


@runtime_checkable
class MetricFamilyOfFiles(Protocol):
    """A family that makes metrics of the organiser's own files, relative to the current folder."""

    @property
    def form(self) -> str:
        """How one is asked for, such as ``kaggle:FILE.py``."""

    @property
    def description(self) -> str:
        """What the family makes, in a line."""

    def within(self, folder: Path) -> MetricFamily:
        """Return the same family for files that are relative to a folder: of a competition."""

    def settle(self, rest: str, parameters: Mapping[str, Any]) -> str:
        """Return the specification without the current folder, once the code is tried.

        What lies in the folder of :meth:`within` is named from there on, anything else absolutely.

        Raises
        ------
        MetricError
            If the code cannot be imported.
        """

    def remake(self, rest: str, parameters: Mapping[str, Any], text: str | None) -> Metric:
        """Return the metric with this code, which was kept, whatever became of the file."""


def kinds_of(metric: Metric) -> tuple[PredictionKind, ...]:
    """Return what a submission may hold for a metric; the first is what is tried first."""
    return metric.kinds if isinstance(metric, SuitsKinds) else (metric.prediction,)


def notes_of(metric: Metric) -> tuple[str, ...]:
    """Return what the organiser should know of a metric."""
    return metric.notes if isinstance(metric, HasNotes) else ()


def traits_of(metric: Metric) -> MetricTraits:
    """Return what a metric declares about itself, or the defaults."""
    return metric.traits if isinstance(metric, HasTraits) else MetricTraits()
