"""What a simulated team is, and what it sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from arena.interfaces.metrics import Metric
from arena.types import IntArray

__all__ = [
    "Answer",
    "Competitor",
    "Computation",
    "ComputesAhead",
    "Conduct",
    "DeclaresConduct",
    "HasVariants",
    "KnowsLabels",
    "Move",
    "Participation",
    "Player",
    "PlaysThroughTeams",
]

Conduct: TypeAlias = Literal["honest", "copies", "attacks"]
"""``copies``: starts from what others made public; ``attacks``: is after the labels."""


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


@dataclass(frozen=True, slots=True, eq=False)
class Computation:
    """What a player computes before its next submission: another process may do it."""

    key: str
    """The same for the same result, such as a sha256 of all that it depends on."""
    function: Callable[..., npt.NDArray[Any]]
    """Found by its module and name."""
    arguments: tuple[Any, ...]
    """Picklable."""


@runtime_checkable
class ComputesAhead(Protocol):
    """A player whose submissions take time to compute, several of them side by side.

    The host asks for a computation before :meth:`Player.submit` and brings the result, which it
    may have kept. A player that nobody asks computes by itself.
    """

    def computation(self) -> Computation:
        """Return what the next submission rests on; asked again, the same."""

    def take(self, result: npt.NDArray[Any]) -> None:
        """Receive the result, once, before the submission."""


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


@runtime_checkable
class DeclaresConduct(Protocol):
    """A competitor that says how it plays; one that does not is taken for honest."""

    @property
    def conduct(self) -> Conduct:
        """What a simulation holds against whoever is flagged."""


@runtime_checkable
class PlaysThroughTeams(Protocol):
    """A competitor that is one person behind several teams."""

    @property
    def teams(self) -> int:
        """How many teams: each may send as much as any team."""
