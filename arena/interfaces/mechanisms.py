"""What a mechanism of the public board is, and what it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from arena.types import Release

__all__ = ["ClipsScores", "Evaluation", "Mechanism", "PublicBoard", "ReviewsBoard"]


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
