"""Which instance of a mechanism a submission meets: that of its team, or one of each rank.

Blum and Hardt (2015, section 2.1) have two ways to make a board of a mechanism that keeps one
score: an instance for each team, or one for each rank, so that a person gains nothing from more
accounts. Both work for any mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from arena.types import Release

__all__ = ["Answer", "Instances", "Placed", "RankInstances", "Scope", "TeamInstances", "instances"]

Scope: TypeAlias = Literal["team", "rank"]

Answer: TypeAlias = Callable[[Mapping[str, Any], float | None, int], Release]
"""What a mechanism releases for a submission: given the state of an instance, a score that it
counts as no better than (None: no such), and the place of the instance, from 0."""

_RANK = "rank "


@dataclass(frozen=True, slots=True)
class Placed:
    """A release, and the instance that gave it."""

    instance: str
    """The name of a team, or ``rank 1`` and so on."""
    release: Release


class Instances(Protocol):
    """The instances of a mechanism in an epoch, and their states."""

    def place(self, team: str, answer: Answer) -> Placed:
        """Return what a submission of a team is answered, and by which instance."""

    def take_up(self, team: str, placed: Placed) -> None:
        """Go on from what was placed; all releases in their order give the instances anew."""


class TeamInstances:
    """One instance for each team: nobody's submissions change another's release.

    It assumes that nobody has several accounts.
    """

    def __init__(self) -> None:
        self._states: dict[str, Mapping[str, Any]] = {}

    def place(self, team: str, answer: Answer) -> Placed:
        """Return the answer of the team's instance."""
        return Placed(team, answer(self._states.get(team, {}), None, 0))

    def take_up(self, team: str, placed: Placed) -> None:
        """Keep the state of the team's instance."""
        self._states[team] = placed.release.state


@dataclass(frozen=True, slots=True)
class _Held:
    team: str
    state: Mapping[str, Any]
    mark: float
    """What the rank stands at."""


class RankInstances:
    """One instance for each rank of the board: a submission meets them from the best rank down.

    The first one that it improves is its rank, and the teams between that and its own former rank
    move down by one. At its team's own rank the way ends, improved or not; a new team that improves
    none gets an instance of its own below. A rank that was not improved is one that was not shown
    to be beaten: below it the score counts as no better than what that rank stands at, so that
    more accounts do not read a score which the rank above would not release. The state of an
    instance that was passed by stays as it was.

    A board of r ranks asks the mechanism up to r times; a Ladder looks at row values only where
    the plain score is better.
    """

    def __init__(self, *, greater_is_better: bool) -> None:
        self._held: list[_Held] = []
        self._worst = min if greater_is_better else max

    def place(self, team: str, answer: Answer) -> Placed:
        """Return the answer of the first instance that is improved, or of the team's own."""
        bound: float | None = None
        for position, held in enumerate(self._held):
            release = answer(held.state, bound, position)
            if release.improved or held.team == team:
                return Placed(f"{_RANK}{position + 1}", release)
            bound = held.mark if bound is None else self._worst(bound, held.mark)
        last = len(self._held)
        return Placed(f"{_RANK}{last + 1}", answer({}, bound, last))

    def take_up(self, team: str, placed: Placed) -> None:
        """Give the team its rank, and move down those whom it passed."""
        former = next((held for held in self._held if held.team == team), None)
        if former is not None:
            self._held.remove(former)
        release = placed.release
        mark = release.score if release.ranked_by is None else release.ranked_by
        if former is not None and not release.improved:
            mark = former.mark
        position = int(placed.instance.removeprefix(_RANK)) - 1
        self._held.insert(position, _Held(team, release.state, mark))


def instances(scope: Scope, *, greater_is_better: bool) -> Instances:
    """Return the instances of a scope, before the first release.

    >>> instances("team", greater_is_better=True).place("a", lambda *_: Release(0.5, True)).instance
    'a'
    """
    if scope == "team":
        return TeamInstances()
    return RankInstances(greater_is_better=greater_is_better)
