"""The interfaces of rankers and analyses of a board, and the study that they receive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from arena.interfaces.metrics import Metric
from arena.types import TEAMS, Finding, FloatArray, IntArray, Vocabulary, WeightArray
from arena.utils.read_only import make_fields_read_only


@runtime_checkable
class PredictionBlocks(Protocol):
    """Predictions of m submissions, read in blocks so that they need not fit into memory."""

    @property
    def n_submissions(self) -> int:
        """The number m of submissions."""

    def blocks(self, size: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield ``(start, predictions)``, at most ``size`` submissions each, in order.

        ``predictions`` is ``(k, n)`` or ``(k, n, n_columns)``: the rows of one split.
        """

    def subset(self, submissions: IntArray) -> PredictionBlocks:
        """Return the predictions of the submissions at these positions, in this order."""


@runtime_checkable
class ScoresTogether(Protocol):
    """A metric whose scores depend on the other submissions, such as a mean rank."""

    def score_together(
        self,
        truth: npt.NDArray[Any],
        predictions: PredictionBlocks,
        weights: WeightArray,
        *,
        workers: int = 1,
        progress: Any = None,
    ) -> FloatArray:
        """Return ``(m, B)``: the score of each submission under each column of ``weights``."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupInfluence:
    """The effect of random groups of rows on scores by a metric that is called as a whole.

    Rows i that are drawn c_i times change the score of a submission by the mean of the values of
    their groups, to first order. The arrays cannot be written to.

    Examples
    --------
    Three groups, of which the second one has two rows:

    >>> influence = GroupInfluence(np.array([0, 1, 1, 2]), np.array([[0.2, -0.1, 0.0]]))
    >>> influence.sums.tolist()
    [[0.2, -0.2, 0.0]]
    """

    groups: IntArray
    """``(n,)`` codes from 0 of the G groups."""
    values: FloatArray
    """``(m, G)``; the mean over the rows is 0 for each submission."""

    def __post_init__(self) -> None:
        make_fields_read_only(self, "groups", "values")

    @property
    def sums(self) -> FloatArray:
        """``(m, G)`` sums over the rows of each group."""
        return self.values * np.bincount(self.groups)

    def subset(self, positions: IntArray) -> GroupInfluence:
        """Return the influence on the scores of the submissions at some positions."""
        return replace(self, values=self.values[positions])


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """All submissions, if the best submission of each team was selected on the ranked rows.

    The arrays cannot be written to.
    """

    scores: FloatArray
    """``(k,)`` scores on all ranked rows, in the metric's natural sign."""
    resampled: FloatArray
    """``(k, B)`` scores of the resamples of the study."""
    predictions: PredictionBlocks
    """Of the k submissions."""
    counting: IntArray
    """``(m,)`` positions of the selected submissions, in the order of the study."""
    team: IntArray
    """``(k,)`` the position in the study of the team of each submission."""
    influence: GroupInfluence | None = None
    """Of groups of rows on the k scores; see :attr:`Study.influence`."""

    def __post_init__(self) -> None:
        make_fields_read_only(self, "scores", "resampled", "counting", "team")


@dataclass(frozen=True, slots=True, eq=False)
class RankSets:
    """The true ranks that are possible for m submissions, all at once, as a ranker found them.

    The arrays cannot be written to.

    Examples
    --------
    >>> sets = RankSets(
    ...     low=np.array([1, 2]), high=np.array([1, 2]), tier=np.array([1, 2]),
    ...     possible_winner=np.array([True, False]), level=0.95)
    >>> sets.columns()["rank_low"]
    [1, 2]
    """

    low: IntArray
    """``(m,)`` the best possible rank, from 1."""
    high: IntArray
    """``(m,)`` the worst possible rank, at least ``low`` and at most m."""
    tier: IntArray
    """``(m,)`` from 1: a submission in tier t has at least t - 1 truly better ones."""
    possible_winner: npt.NDArray[np.bool_]
    """``(m,)`` whether the submission may truly be the best."""
    level: float
    """The probability, at least, that all sets hold."""
    not_offered: str | None = None
    """Why the sets are withheld from the board, in a sentence; None: they are claimed."""
    score_low: FloatArray | None = None
    """``(m,)`` lower ends of the true scores, which hold at once with the sets; None: the board
    takes the interval of each score by itself."""
    score_high: FloatArray | None = None
    """``(m,)`` upper ends."""

    def __post_init__(self) -> None:
        arrays = ("low", "high", "tier", "possible_winner", "score_low", "score_high")
        make_fields_read_only(self, *arrays)

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns ``rank_low``, ``rank_high``, ``tier`` and ``possible_winner``.

        Each value is None where the sets are withheld.
        """
        arrays = {
            "rank_low": self.low,
            "rank_high": self.high,
            "tier": self.tier,
            "possible_winner": self.possible_winner,
        }
        withheld = None if self.not_offered is None else [None] * len(self.low)
        return {name: withheld or array.tolist() for name, array in arrays.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """The input of an analysis of a board, the labels included. The arrays cannot be written to."""

    metric: Metric
    """Bound to the ranked rows, if it is a :class:`NeedsRowContext`."""
    truth: npt.NDArray[Any]
    """``(n,)`` of the ranked rows, or ``(n, n_targets)``."""
    teams: tuple[str, ...]
    submissions: IntArray
    """``(m,)`` submission ids, in the order in which the submissions were received."""
    predictions: PredictionBlocks
    scores: FloatArray
    """``(m,)`` in the metric's natural sign, all finite."""
    resampled: FloatArray
    """``(m, B)`` scores of the same B joint resamples of the rows."""
    level: float
    """Confidence level of every interval, such as 0.95."""
    clusters: IntArray | None = None
    """``(n,)`` codes of the groups that were resampled as a whole."""
    influence: GroupInfluence | None = None
    """Of groups of rows, if the metric can only be called as a whole and was called on parts of the
    rows; the resamples are then of these groups."""
    classes: tuple[str, ...] | None = None
    tasks: IntArray | None = None
    """``(n,)`` codes of the task of each row, if there are several. The scores use all rows of all
    tasks."""
    task_names: tuple[str, ...] = ()
    """The names of the tasks, in the order of their codes; a task may have no rows."""
    soft_labels: FloatArray | None = None
    """``(n,)`` probability of the positive class, or ``(n, n_classes)``; as secret as the truth.
    None: the solution has no soft labels."""
    candidates: Candidates | None = None
    """All submissions, if the best of each team was selected on the ranked rows. None: each team's
    submission was selected without these rows."""
    ranks: RankSets | None = None
    """The rank sets of the board, for its analyses; None: they were not computed."""
    best_interval: tuple[float, float] | None = None
    """The interval for the best true score, from these scores and resamples; NaN where withheld.
    None: it was not computed yet."""
    words: Vocabulary = TEAMS
    """The nouns for sentences about the board: teams, algorithms or models."""
    parts: tuple[Study, ...] = ()
    """A study of each part of a combined score whose ranks are decided part by part: a mean rank,
    or the worst of several scores. An analysis of one truth is not for such a study."""

    def __post_init__(self) -> None:
        arrays = ("truth", "submissions", "scores", "resampled", "clusters", "tasks", "soft_labels")
        make_fields_read_only(self, *arrays)

    def with_all_candidates(self) -> Study:
        """Return the study with the scores and predictions of all candidates, if there are any.

        ``teams`` and ``submissions`` stay those of the selected ones.
        """
        if self.candidates is None:
            return self
        return replace(
            self,
            scores=self.candidates.scores,
            resampled=self.candidates.resampled,
            predictions=self.candidates.predictions,
            influence=self.candidates.influence,
            ranks=None,
            best_interval=None,
            parts=(),
        )


@runtime_checkable
class Ranker(Protocol):
    """A procedure that says which true ranks are possible, for all submissions at once."""

    @property
    def name(self) -> str:
        """The name that selects the procedure."""

    def rank(self, study: Study) -> RankSets:
        """Return the rank sets of the submissions; the same study gives the same sets.

        With :attr:`Study.candidates` a team's submission was selected on the ranked rows, which the
        sets must allow for.
        """


@runtime_checkable
class Analysis(Protocol):
    """An analysis of a finished board."""

    @property
    def name(self) -> str:
        """The name that selects the analysis."""

    def run(self, study: Study, rng: np.random.Generator) -> Finding:
        """Return the finding; the same study and generator give the same finding."""


@runtime_checkable
class SuitsStudies(Protocol):
    """An analysis that applies to some boards only, and is skipped for the others."""

    def suits(self, study: Study) -> bool:
        """Return whether the analysis applies, for example because there are soft labels."""
