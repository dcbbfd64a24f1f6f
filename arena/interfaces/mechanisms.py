"""The interface of mechanisms of the public board, and their view of a submission."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from arena.types import Release

Scope: TypeAlias = Literal["team", "rank", "competition"]
"""What has an instance of the mechanism, with a state: each team, each rank of the board, or the
whole competition."""

_TOLERANCE = 1e-11
"""Relative. Scores are rounded to 12 significant digits: a relative error of up to 5e-12."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """One submission on the public rows, as a mechanism sees it.

    The methods let a mechanism ignore the direction of the metric and its unit.

    Examples
    --------
    >>> one = Evaluation(2, 0.73, True, 100, lambda other: 0.01)
    >>> one.beats(0.72), one.beats(0.72, by=0.01), one.beats(0.72, by=0.009)
    (True, False, True)
    """

    submission: int
    score: float
    """On the public rows, at full precision, in the metric's natural sign."""
    greater_is_better: bool
    n_rows: int
    standard_error_of_difference: Callable[[int], float]
    """The standard error of the difference between this score and that of an earlier submission,
    given by its id.

    For a black-box metric it takes 200 times as long as the score. Call it in every release or in
    none, independently of the score: otherwise the response time reveals what is not released.
    """
    standard_error: Callable[[], float] = lambda: np.nan
    """The standard error of this score alone; as costly, and to be called in every release."""
    budget: int | None = None
    """The total number of submissions that a team may send; None: no limit."""
    baseline: float | None = None
    """The public score of the organiser's baseline, if there is one."""
    row_range: tuple[float, float] | None = None
    """The range of the metric's row values, if they are bounded."""
    score_range: tuple[float, float] | None = None
    """The range of all possible scores, if it is bounded: steps and noise are fractions of it."""
    baseline_submission: int | None = None
    """The id of the baseline's submission, for a paired comparison with it."""
    team: str = ""
    """A code of the team, the same for all of its submissions. It tells teams apart in a state that
    they share, under ``scope = "competition"``; it stays when the team is renamed."""

    def beats(self, other: float, by: float = 0.0) -> bool:
        """Return whether the score is better than another by strictly more than ``by``.

        Exact ties are common because one more correct row adds 1/n, and releasing a tie reveals a
        label. A gain that rounding alone can explain therefore does not count.
        """
        theirs, loss = self.to_loss(other), self.to_loss(self.score)
        return theirs - loss - by > _TOLERANCE * (abs(theirs) + abs(loss) + abs(by))

    def to_loss(self, score: float) -> float:
        """Convert a score to a loss, for which smaller is better, or a loss to a score."""
        return -score if self.greater_is_better else score

    def at_most(self, bound: float | None) -> Evaluation:
        """Return the evaluation with its score limited to be no better than a bound."""
        if bound is None:
            return self
        worse = min if self.greater_is_better else max
        return replace(self, score=worse(self.score, bound))

    @property
    def range_width(self) -> float:
        """The width of the range of possible scores, else of row values, else 1."""
        low, high = self.score_range or self.row_range or (0.0, 1.0)
        return high - low

    def within_range(self, score: float) -> float:
        """Return the score clipped to the range of possible scores, if that is bounded."""
        low, high = self.score_range or (-np.inf, np.inf)
        return float(np.clip(score, low, high))


@dataclass(frozen=True, slots=True)
class PublicBoard:
    """The public board for which a mechanism is configured, before the first release."""

    metric: str
    """The specification of the metric, such as ``log_loss(clip=0.01)``."""
    greater_is_better: bool
    n_rows: int
    """The number of public rows."""
    score_range: tuple[float, float] | None
    """The range of all possible scores, after clipping by the mechanism; None: not bounded."""
    budget: int | None
    """The number of submissions that an instance of the mechanism can receive; None: no limit."""
    has_baseline: bool
    """Whether the organiser named a team as the baseline."""
    baseline: float | None
    """The public score of the baseline, once it was submitted."""
    suggested_clip: tuple[float, float] | None = None
    """Bounds for the row values, or else the score, from those of a constant prediction, where the
    scores are not bounded; None: unknown."""
    scope: Scope = "team"
    """What has an instance. A mechanism that compares teams needs ``competition``."""


@runtime_checkable
class ReviewsBoard(Protocol):
    """A mechanism with requirements on the metric or the settings."""

    def review(self, board: PublicBoard) -> Sequence[str]:
        """Return notes about this configuration for the organiser, in sentences.

        Called when ``competition.toml`` is read, so that no submission fails later.

        Raises
        ------
        InputError
            If the mechanism does not support this board; the message says why and what to do.
        """


@runtime_checkable
class ClipsScores(Protocol):
    """A mechanism for which row values, or else scores, are clipped."""

    @property
    def clip(self) -> tuple[float, float] | None:
        """The lowest and the highest value; None: no clipping."""


@runtime_checkable
class ExplainsScores(Protocol):
    """A mechanism that explains its public scores to participants."""

    @property
    def for_participants(self) -> str:
        """One or two plain sentences, shown on the board; they end with the source, if any."""


@runtime_checkable
class Mechanism(Protocol):
    """Decides which score the public board shows, as a pure function of a small stored state.

    A released score keeps the direction of the metric, also where it is a rank or a decile: with
    ``greater_is_better`` the board is sorted with the largest first.

    The state is stored with each release. Under ``scope = "competition"``, where it is shared by
    all teams, keep it to a number or two for each team.
    """

    @property
    def name(self) -> str:
        """The name that selects the mechanism."""

    def release(
        self, state: Mapping[str, Any], evaluation: Evaluation, rng: np.random.Generator
    ) -> Release:
        """Return the released score of this submission and the state for the next one."""
