"""An attacker with several teams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from arena.errors import UsageError
from arena.interfaces import (
    Competitor,
    Conduct,
    Feedback,
    HasVariants,
    KnowsLabels,
    Move,
    Participation,
    Player,
)
from arena.types import IntArray
from arena_competitors.attackers.guesses import is_better
from arena_competitors.naming import written


def _unknown(name: str) -> Competitor:
    raise UsageError(f"sybil: of={name!r} is not the name of an attack.")


@dataclass(frozen=True, slots=True)
class Sybil:
    """Run another attack through several teams, which submit in turn.

    Where the board keeps an instance of its mechanism for every team (Blum and Hardt 2015,
    section 2.1), every new team starts without a score, so that its first score is always
    released: with as many teams as submissions, a Ladder per team is plain rounding. One instance
    per rank, or a start from the baseline's score, prevents this. The last submission is made by
    the team with the best score. It has the requirements of the other attack.

    Parameters
    ----------
    of
        The attack: a name (quoted if it contains a hyphen) with optional parameters.
    teams
        How many teams there are.

    Raises
    ------
    UsageError
        If ``teams`` is not a positive integer.
    """

    of: str = "boosting"
    teams: int = 10
    name: str = "sybil"
    conduct: ClassVar[Conduct] = "attacks"
    resolve: Callable[[str], Competitor] = field(default=_unknown, repr=False)
    """Resolves the name of the other attack."""

    def __post_init__(self) -> None:
        if not isinstance(self.teams, int) or self.teams < 1:
            raise UsageError(f"sybil: teams must be a positive integer, not {self.teams!r}.")

    def variants(self) -> Sequence[Competitor]:
        """Return itself with every setting of the other attack."""
        inner = self.resolve(self.of)
        attacks = inner.variants() if isinstance(inner, HasVariants) else (inner,)
        return tuple(replace(self, of=written(attack)) for attack in attacks)

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player; UsageError if the other attack cannot play."""
        inner = self.resolve(self.of)
        return _SybilPlayer(inner.start(participation, rng), participation, self.teams)


class _SybilPlayer:
    def __init__(self, inner: Player, participation: Participation, teams: int) -> None:
        self._inner, self._metric, self._teams = inner, participation.metric, teams
        self._n_rows = participation.n_rows
        self._sent = -1
        self._best: tuple[int, float] | None = None

    def submit(self) -> Move:
        self._sent += 1
        return replace(self._inner.submit(), team=self._sent % self._teams)

    def receive(self, feedback: Feedback) -> None:
        if self._best is None or is_better(feedback.score, self._best[1], self._metric):
            self._best = (self._sent % self._teams, feedback.score)
        self._inner.receive(feedback)

    def finish(self) -> Move:
        return replace(self._inner.finish(), team=self._best[0] if self._best else 0)

    def known_labels(self) -> IntArray:
        """Return the attack's own knowledge."""
        if isinstance(self._inner, KnowsLabels):
            return self._inner.known_labels()
        return np.full(self._n_rows, -1, dtype=np.intp)
