"""Which instance of a mechanism releases a score: its team's, that of a rank, or the only one.

Blum and Hardt (2015, section 2.1) describe two ways to build a board from a mechanism that keeps
one score: an instance for each team, or one for each rank, so that extra accounts reveal nothing
more. Both work for any mechanism. A mechanism that compares teams has one instance for all.

The instances hold no state that a transaction could lose: what they continue from is read from a
:class:`ReleaseLog`, which is the store of a competition or, in a replay, a list in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol, TypeAlias

from arena.interfaces import Scope
from arena.store import RANK, Holder, Holders
from arena.types import Release

ReleaseFn: TypeAlias = Callable[[Mapping[str, Any], float | None, int], Release]
"""What a mechanism releases for a submission, given the state of an instance, a score that it
counts as no better than (None: no such bound), and the position of the instance, from 0."""


@dataclass(frozen=True, slots=True)
class InstanceRelease:
    """A release, and the instance that made it."""

    instance: str
    """The name of a team, ``rank 1`` and so on, or ``competition``."""
    release: Release


@dataclass(frozen=True, slots=True)
class LoggedRelease:
    """A release as recorded in a log."""

    number: int
    """Grows from one release to the next."""
    submission: int
    team: str
    released: InstanceRelease
    score: float | None = None
    """The public score at full precision, where the log knows it."""


class ReleaseLog(Protocol):
    """The releases of one epoch of the public board, to read and to append to."""

    def state_of(self, instance: str) -> Mapping[str, Any]:
        """Return the state that the last release left an instance in; empty before the first."""

    def holders(self, outside: Collection[str] = ()) -> Iterator[Holder]:
        """Yield the holders of the ranks, best first, without those of some teams."""

    def since(self, number: int, team: str) -> Sequence[LoggedRelease]:
        """Return the releases of a team after the one of this number (0: all), in order."""

    def add(self, submission: int, team: str, released: InstanceRelease) -> None:
        """Append a release."""


@dataclass(slots=True, eq=False)
class MemoryLog:
    """A log in memory, for a replay, an attack or a test."""

    releases: list[LoggedRelease] = field(default_factory=list)
    _states: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _holders: Holders = field(default_factory=Holders)
    _by_team: dict[str, list[LoggedRelease]] = field(default_factory=dict)

    def state_of(self, instance: str) -> Mapping[str, Any]:
        """Return the state that the last release left an instance in."""
        return self._states.get(instance, {})

    def holders(self, outside: Collection[str] = ()) -> Iterator[Holder]:
        """Yield the holders of the ranks, best first, without those of some teams."""
        holders = self._holders
        if any(team in holders for team in outside):  # a team whose name is that of a rank
            holders = Holders()
            for release in self.releases:
                if release.team not in outside:
                    _add(holders, release)
        return iter(holders.ranks)

    def since(self, number: int, team: str) -> Sequence[LoggedRelease]:
        """Return the releases of a team after the one of this number."""
        return [logged for logged in self._by_team.get(team, ()) if logged.number > number]

    def add(self, submission: int, team: str, released: InstanceRelease) -> None:
        """Append a release."""
        number = len(self.releases) + 1
        logged = LoggedRelease(number, submission, team, released)
        self.releases.append(logged)
        self._by_team.setdefault(team, []).append(logged)
        self._states[released.instance] = released.release.state
        _add(self._holders, logged)


def _add(holders: Holders, logged: LoggedRelease) -> None:
    release = logged.released.release
    mark = release.score if release.ranked_by is None else release.ranked_by
    instance, state = logged.released.instance, release.state
    holders.add(logged.submission, logged.team, instance, release.improved, mark, state)


def late_instance(team: str) -> str:
    """Return the instance for the files of a team after the deadline: no team has such a name.

    So a late file changes no score of a file in time.
    """
    return f"{team}\tlate"


class Instances(Protocol):
    """The instances of a mechanism in one epoch."""

    def release(self, team: str, release: ReleaseFn, log: ReleaseLog) -> InstanceRelease:
        """Return the release for a submission of a team. The caller appends it to the log."""


class PerTeam:
    """One instance for each team: no team's submissions change another team's releases.

    It assumes that each participant has one account.
    """

    def release(self, team: str, release: ReleaseFn, log: ReleaseLog) -> InstanceRelease:
        """Return the release of the team's instance."""
        return InstanceRelease(team, release(log.state_of(team), None, 0))


class PerCompetition:
    """One instance for all teams: a submission of any of them can change what others are shown.

    Each of the organiser's baselines has a separate instance: it does not count as a participant.
    """

    def __init__(self, *, outside: Sequence[str] = ()) -> None:
        # No team can have these names: that of the first is on record in earlier competitions.
        names = ["baseline", *(f"{team}\tbaseline" for team in outside[1:])]
        self._outside = dict(zip(outside, names, strict=False))

    def release(self, team: str, release: ReleaseFn, log: ReleaseLog) -> InstanceRelease:
        """Return the release of the instance that all teams share."""
        instance = self._outside.get(team, "competition")
        return InstanceRelease(instance, release(log.state_of(instance), None, 0))


class PerRank:
    """One instance per rank of the board; a submission is compared with each, best rank first.

    The first instance that it improves is its rank, and the teams between that rank and its own
    former rank move down by one. At its team's own rank the search ends, improved or not; a new
    team that improves no instance gets a new one at the bottom. A submission that did not improve
    a rank was not shown to beat it: below that rank its score counts as no better than the rank's
    mark, so that extra accounts cannot read a score which the rank above would not release. The
    state of an instance that was not improved stays as it was.

    The mechanism of a board of r ranks is called up to r times for a submission.

    Parameters
    ----------
    greater_is_better
        The direction of the scores.
    outside
        Teams that hold no rank: the organiser's baselines. Each has a separate instance.
    """

    def __init__(self, *, greater_is_better: bool, outside: Sequence[str] = ()) -> None:
        self._worst = min if greater_is_better else max
        self._outside = outside

    def release(self, team: str, release: ReleaseFn, log: ReleaseLog) -> InstanceRelease:
        """Return the release of the first instance that is improved, or of the team's own."""
        if team in self._outside:
            return PerTeam().release(team, release, log)
        bound: float | None = None
        last = 0
        for position, holder in enumerate(log.holders(self._outside)):
            released = release(holder.state, bound, position)
            if released.improved or holder.team == team:
                return InstanceRelease(f"{RANK}{position + 1}", released)
            bound = holder.mark if bound is None else self._worst(bound, holder.mark)
            last = position + 1
        return InstanceRelease(f"{RANK}{last + 1}", release({}, bound, last))


def instances(scope: Scope, *, greater_is_better: bool, outside: Sequence[str] = ()) -> Instances:
    r"""Return the instances of a scope; ``outside`` names the teams that hold no rank.

    >>> per_team = instances("team", greater_is_better=True)
    >>> per_team.release("a", lambda *_: Release(0.5, True), MemoryLog()).instance
    'a'
    >>> shared = instances("competition", greater_is_better=True, outside=["bert", "mean"])
    >>> answer = (lambda *_: Release(0.5, True)), MemoryLog()
    >>> [shared.release(team, *answer).instance for team in ("bert", "mean", "a")]
    ['baseline', 'mean\tbaseline', 'competition']
    """
    if scope == "rank":
        return PerRank(greater_is_better=greater_is_better, outside=outside)
    return PerTeam() if scope == "team" else PerCompetition(outside=outside)


def team_code(team: str) -> str:
    """Return the code by which a mechanism tells teams apart: a digest of the stored name.

    >>> len(team_code("owls")), team_code("owls") == team_code("Owls")
    (16, False)
    """
    return blake2b(team.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
