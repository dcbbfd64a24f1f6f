"""The Protocols that plugins implement, and the study that an analysis receives.

A metric must be a :class:`Metric`. Whatever else it can do is found by Protocol, never by name:
what it lacks is made up for by a slower path, and nothing is refused for lacking it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from arena.types import (
    CompetitionInfo,
    Fault,
    Finding,
    FloatArray,
    IntArray,
    MetricTraits,
    PredictionKind,
    Release,
    RowContext,
    WeightArray,
)

__all__ = [
    "Analysis",
    "Answer",
    "ChecksPredictions",
    "ChecksTruth",
    "Competitor",
    "Evaluation",
    "HasExample",
    "HasInfluenceValues",
    "HasNotes",
    "HasResample",
    "HasRowValues",
    "HasSource",
    "HasTraits",
    "HasVariants",
    "KnowsLabels",
    "Mechanism",
    "Metric",
    "MetricFamily",
    "MetricFamilyOfFiles",
    "Move",
    "NeedsRowContext",
    "Participation",
    "Player",
    "PredictionBlocks",
    "PreparesSubmissions",
    "PublicBoard",
    "ReviewsBoard",
    "Study",
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

    def settle(self, rest: str, parameters: Mapping[str, Any]) -> str:
        """Return the specification as it means the same in every folder, once the code is tried.

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


@runtime_checkable
class PredictionBlocks(Protocol):
    """Predictions of m submissions, handed out in blocks so that all never stand in memory."""

    @property
    def n_submissions(self) -> int:
        """The number m of submissions."""

    def blocks(self, size: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield ``(start, predictions)``, at most ``size`` submissions each, in order.

        ``predictions`` is ``(k, n)`` or ``(k, n, n_columns)``: the rows of one split.
        """

    def subset(self, submissions: IntArray) -> PredictionBlocks:
        """Return the same for the submissions at these positions, in this order."""


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """What an analysis of a board receives: everything that the organiser's machine knows."""

    metric: Metric
    """Bound to the ranked rows, if it is a :class:`NeedsRowContext`."""
    truth: npt.NDArray[Any]
    """``(n,)`` of the ranked rows, or ``(n, n_targets)``."""
    teams: tuple[str, ...]
    submissions: IntArray
    """``(m,)`` submission ids; m submissions, in the order in which they were received."""
    predictions: PredictionBlocks
    scores: FloatArray
    """``(m,)`` in the metric's natural sign, all finite."""
    resampled: FloatArray
    """``(m, B)`` scores of the same B joint resamples of the rows."""
    level: float
    """Confidence level of every interval, such as 0.95."""
    clusters: IntArray | None = None
    """``(n,)`` codes of the groups that were resampled whole."""
    classes: tuple[str, ...] | None = None
    tasks: IntArray | None = None
    """``(n,)`` codes of the task of each row, where there are several. The scores are those on all
    rows together, whatever their task."""
    task_names: tuple[str, ...] = ()
    """The names of the tasks, in the order of their codes; not every task need have a row."""


@runtime_checkable
class Analysis(Protocol):
    """Something to find out about a finished board."""

    @property
    def name(self) -> str:
        """The name under which the analysis is asked for."""

    def run(self, study: Study, rng: np.random.Generator) -> Finding:
        """Return what was found; the same study and generator give the same finding."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """One submission on the public rows, as a mechanism sees it."""

    submission: int
    score: float
    """On the public rows, at full precision, in the metric's natural sign."""
    greater_is_better: bool
    n_rows: int
    standard_error_of_difference: Callable[[int], float]
    """The standard error of this score less that of an earlier submission, named by its id."""
    budget: int | None = None
    """How many submissions a team may send in all; None: no limit."""
    baseline: float | None = None
    """The public score of the organiser's baseline, if there is one."""
    row_range: tuple[float, float] | None = None
    """The range of the metric's row values, if they are bounded."""
    score_range: tuple[float, float] | None = None
    """The range of all conceivable scores, if it is bounded: steps and noise are shares of it."""
    baseline_submission: int | None = None
    """The id of the baseline's submission, for a paired comparison with it."""


@dataclass(frozen=True, slots=True)
class PublicBoard:
    """What a mechanism is to be used for, before anything is released by it."""

    metric: str
    """As it was asked for, such as ``log_loss(clip=0.01)``."""
    greater_is_better: bool
    n_rows: int
    """The number of public rows."""
    score_range: tuple[float, float] | None
    """The range of all conceivable scores, after a clip of the mechanism's; None: not bounded."""
    budget: int | None
    """How many submissions an instance of the mechanism can receive; None: not limited."""
    has_baseline: bool
    """Whether the organiser named a team as the baseline."""
    baseline: float | None
    """The baseline's public score, once it was submitted."""


@runtime_checkable
class ReviewsBoard(Protocol):
    """A mechanism that does not suit every metric or setting."""

    def review(self, board: PublicBoard) -> Sequence[str]:
        """Return what the organiser should know of this choice, in sentences.

        Called when ``competition.toml`` is read, so that nothing is refused at a submission.

        Raises
        ------
        InputError
            If the mechanism cannot be used so; the message says why and what to do.
        """


@runtime_checkable
class ClipsScores(Protocol):
    """A mechanism that wants a metric's row values, or else its scores, moved into bounds."""

    @property
    def clip(self) -> tuple[float, float] | None:
        """The lowest and the highest value; None: as they are."""


@runtime_checkable
class Mechanism(Protocol):
    """Decides what the public board shows. A pure function of a small stored state."""

    @property
    def name(self) -> str:
        """The name under which the mechanism is asked for."""

    def release(
        self, state: Mapping[str, Any], evaluation: Evaluation, rng: np.random.Generator
    ) -> Release:
        """Return what is shown for this submission, and the state for the next one."""


@dataclass(frozen=True, slots=True, eq=False)
class Participation:
    """What a team knows before it sends anything: what the organiser publishes, and no label."""

    metric: Metric
    """Its formula is public, and its direction."""
    n_rows: int
    """The rows that a submission holds."""
    n_public: int
    """How many of them the public score is computed on; which ones is not published."""
    n_classes: int | None
    """The number of labels; None for numbers."""
    submissions: int
    """How many may be sent before the last one."""
    baseline: npt.NDArray[Any] | None = None
    """The predictions of the organiser's baseline, such as the sample submission."""
    baseline_score: float | None = None
    """What the public board shows for it."""
    training: Any = None
    """Training data, where a simulation has some; None: there are labels only."""
    test: Any = None
    """The features of the rows that are to be predicted, in the order of a submission."""


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """One submission, and which of a participant's teams sends it."""

    prediction: npt.NDArray[Any]
    """``(n_rows,)`` or ``(n_rows, n_columns)``, as :class:`~arena.types.PredictionKind` says."""
    team: int = 0
    """0 unless the participant plays through several teams."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the public board showed for a submission."""

    score: float
    previous: float | None
    """What it showed to the same team before; None for the team's first submission."""


@runtime_checkable
class Player(Protocol):
    """A competitor in one competition. Sends, hears, and in the end sends once more."""

    def submit(self) -> Move:
        """Return the next submission."""

    def hear(self, answer: Answer) -> None:
        """Take in what the board showed for the submission that :meth:`submit` returned last."""

    def finish(self) -> Move:
        """Return what would be sent if this were the last submission; changes nothing."""


@runtime_checkable
class KnowsLabels(Protocol):
    """A player that reads labels off the board, for certain and not by a guess."""

    def known_labels(self) -> IntArray:
        """Return ``(n_rows,)`` codes, -1 where the label is not known."""


@runtime_checkable
class Competitor(Protocol):
    """A simulated participant. Sees what a participant sees and nothing else.

    A competitor that is a dataclass takes its fields as parameters: ``block-flip(rows=16)``.
    """

    @property
    def name(self) -> str:
        """The name under which the competitor is asked for."""

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player for one competition; the same generator gives the same play.

        Raises
        ------
        UsageError
            If it cannot play for this metric.
        """


@runtime_checkable
class HasVariants(Protocol):
    """A competitor that would try several settings at home; the strongest of them counts."""

    def variants(self) -> Sequence[Competitor]:
        """Return the settings, each a competitor."""
