"""The interface of simulated teams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from arena.interfaces.metrics import Metric
from arena.types import IntArray
from arena.utils.read_only import make_fields_read_only

Conduct: TypeAlias = Literal["honest", "copies", "attacks"]
"""``copies``: starts from public predictions; ``attacks``: tries to infer the labels."""


@dataclass(frozen=True, slots=True, eq=False)
class Notebook:
    """A submission that its team has made public."""

    prediction: npt.NDArray[Any]
    """As in :class:`Move`."""
    score: float | None
    """Its released score; None: there is none."""

    def __post_init__(self) -> None:
        make_fields_read_only(self, "prediction")


@dataclass(frozen=True, slots=True, eq=False)
class Participation:
    """The knowledge of a team before its first submission: published information, no labels.

    Teams share the arrays, which cannot be written to.
    """

    metric: Metric
    """The metric; its formula and direction are public."""
    n_rows: int
    """Number of rows of a submission."""
    n_public: int
    """Number of rows that the public score uses; which rows these are is not published."""
    n_classes: int | None
    """The number of labels; None for numeric targets."""
    submissions: int
    """Number of submissions allowed before the last one."""
    baseline: npt.NDArray[Any] | None = None
    """The predictions of the organiser's baseline, such as the sample submission."""
    baseline_score: float | None = None
    """Its released score."""
    training: Any = None
    """Training data; None: no training data."""
    test: Any = None
    """Features of the rows to predict, in the row order of a submission."""
    notebooks: Sequence[Notebook] = ()
    """Submissions that other teams made public; it grows during the competition."""

    def __post_init__(self) -> None:
        make_fields_read_only(self, "baseline", "training", "test")


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """A submission and the team that sends it."""

    prediction: npt.NDArray[Any]
    """``(n_rows,)`` or ``(n_rows, n_columns)``, as :class:`~arena.types.PredictionKind` says."""
    team: int = 0
    """0 unless the participant plays through several teams."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The view of the public board that a team has."""

    rank: int
    """Of the team's best released score; tied teams share the smallest rank."""
    teams: int
    """On the leaderboard."""
    best: float
    """The released score in first place."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """The released score of a submission."""

    score: float
    previous: float | None
    """The score released to the same team before; None for the team's first submission."""
    standing: Standing | None = None
    """The public board after this submission; None where there are no other teams."""


@runtime_checkable
class Player(Protocol):
    """A competitor in one competition: submits, receives feedback, and submits a last time."""

    def submit(self) -> Move:
        """Return the next submission."""

    def receive(self, feedback: Feedback) -> None:
        """Receive the released score of the submission that :meth:`submit` returned last."""

    def finish(self) -> Move:
        """Return the last submission as if the competition ended now; changes no state."""


@dataclass(frozen=True, slots=True, eq=False)
class Computation:
    """A computation before a player's next submission, which another process may run."""

    key: str
    """Identifies the result, such as a sha256 of everything that it depends on."""
    function: Callable[..., npt.NDArray[Any]]
    """A module-level function."""
    arguments: tuple[Any, ...]
    """Picklable."""


@runtime_checkable
class ComputesAhead(Protocol):
    """A player whose submissions take time to compute; the host runs several in parallel.

    The host calls :meth:`computation` before :meth:`Player.submit` and delivers the result, which
    may come from a cache. Without these calls the player computes by itself.
    """

    def computation(self) -> Computation:
        """Return the computation for the next submission; repeated calls return the same."""

    def receive_result(self, result: npt.NDArray[Any]) -> None:
        """Receive the result, once, before the next submission."""


@runtime_checkable
class KnowsLabels(Protocol):
    """A player that infers labels from released scores with certainty."""

    def known_labels(self) -> IntArray:
        """Return ``(n_rows,)`` codes; -1 where the label is unknown."""


@runtime_checkable
class MayStop(Protocol):
    """A player that may leave the competition before its planned end."""

    def has_stopped(self) -> bool:
        """Whether it has left; asked before each of its submissions."""


@runtime_checkable
class Competitor(Protocol):
    """A simulated participant; sees only what a real participant sees.

    A competitor that is a dataclass takes its fields as parameters: ``block-flip(rows=16)``.
    """

    @property
    def name(self) -> str:
        """The name of the competitor."""

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player for one competition; the same seed gives the same submissions.

        Raises
        ------
        UsageError
            If the competitor does not support this metric.
        """


@runtime_checkable
class HasVariants(Protocol):
    """A competitor with several settings; simulations report the strongest."""

    def variants(self) -> Sequence[Competitor]:
        """Return a competitor for each setting."""


@runtime_checkable
class DeclaresConduct(Protocol):
    """A competitor that declares its conduct; others count as honest."""

    @property
    def conduct(self) -> Conduct:
        """The conduct, which decides whether a flag in a simulation is correct."""


@runtime_checkable
class PlaysThroughTeams(Protocol):
    """One person behind several teams."""

    @property
    def teams(self) -> int:
        """The number of teams; each has the full submission limit."""


@runtime_checkable
class SendsPrograms(Protocol):
    """A competitor whose submissions are sent as programs, which a sandbox runs."""

    @property
    def sends_programs(self) -> bool:
        """Whether they are: the host packs each prediction into a program that writes it."""
