"""The participants: kinds of competitors and the number of teams of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from arena.errors import UsageError
from arena.interfaces import (
    Competitor,
    Conduct,
    DeclaresConduct,
    PlaysThroughTeams,
    SendsPrograms,
)
from arena.plugin.registry import Registry
from arena.plugin.specification import split_specifications

_WITH_SHARE = re.compile(r"(?P<name>.*[^=\s])\s*=\s*(?P<share>\d+(?:\.\d+)?)", re.DOTALL)
_WRONG_SHARE = re.compile(r"(?P<name>.*[^=\s])\s*=\s*(?P<share>[^()=]*)", re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class CompetitorKind:
    """A kind of competitor."""

    specification: str
    """Name and parameters, as given."""
    competitor: Competitor
    plugin: str
    share: float = 1.0
    """Of the teams, relative to the other kinds."""

    @property
    def conduct(self) -> Conduct:
        """How it plays; honest unless it declares otherwise."""
        competitor = self.competitor
        return competitor.conduct if isinstance(competitor, DeclaresConduct) else "honest"

    @property
    def sends_programs(self) -> bool:
        """Whether its submissions are programs."""
        competitor = self.competitor
        return isinstance(competitor, SendsPrograms) and competitor.sends_programs

    @property
    def accounts(self) -> int:
        """The number of teams it plays through."""
        competitor = self.competitor
        return competitor.teams if isinstance(competitor, PlaysThroughTeams) else 1


@dataclass(frozen=True, slots=True, eq=False)
class Participant:
    """A simulated person."""

    number: int
    """From 0; its random numbers depend on the seed and this number only."""
    kind: CompetitorKind

    def team(self, account: int = 0) -> str:
        """Return the name of its team, which marks it as simulated."""
        name = f"simulated {self.number + 1:02d} {self.kind.competitor.name}"
        return name if account == 0 else f"{name} (account {account + 1})"


def _plays_honestly(competitor: Competitor) -> bool:
    return not isinstance(competitor, DeclaresConduct) or competitor.conduct == "honest"


def baseline_of(specification: str, registry: Registry[Competitor]) -> CompetitorKind:
    """Find the competitor that makes a public baseline; suggestions are honest ones only.

    Raises
    ------
    UnknownNameError, UsageError
        As :func:`kind_of`.
    """
    competitor = registry.resolve(specification, suggest=_plays_honestly)
    return CompetitorKind(specification, competitor, registry.plugin_of(specification))


def kind_of(
    specification: str, registry: Registry[Competitor], share: float = 1.0
) -> CompetitorKind:
    """Find a competitor by its name and parameters.

    Raises
    ------
    UnknownNameError
        If there is no such competitor; the message suggests a name.
    UsageError
        If it refuses its parameters.
    """
    competitor = registry.resolve(specification)
    return CompetitorKind(specification, competitor, registry.plugin_of(specification), share)


def read_kinds(text: str, registry: Registry[Competitor]) -> tuple[CompetitorKind, ...]:
    """Read kinds with their shares, such as ``copycat=10, block-flip(rows=16)=1``.

    A kind without a share has 1.

    Raises
    ------
    UnknownNameError, UsageError
        If there is no such competitor, or no share above 0.
    """
    kinds = []
    for part in split_specifications(text):
        match = _WITH_SHARE.fullmatch(part)
        if match is None and (wrong := _WRONG_SHARE.fullmatch(part)):
            raise UsageError(
                f"The share of {wrong['name']} must be a number from 0, such as "
                f"{wrong['name']}=3, not {wrong['share']!r}."
            )
        name, share = (match["name"], float(match["share"])) if match else (part, 1.0)
        kinds.append(kind_of(name, registry, share))
    if sum(kind.share for kind in kinds) <= 0:
        raise UsageError("Name at least one kind of team with a share above 0.")
    return tuple(kinds)


def assign_teams(kinds: Sequence[CompetitorKind], teams: int) -> tuple[Participant, ...]:
    """Divide participants among the kinds by their shares (largest remainder method).

    >>> from arena.interfaces import Competitor
    >>> class Guesser:
    ...     name = "guesser"
    >>> kinds = [CompetitorKind("a", Guesser(), "p", 2), CompetitorKind("b", Guesser(), "p", 1)]
    >>> [team.kind.specification for team in assign_teams(kinds, 4)]
    ['a', 'a', 'a', 'b']
    """
    total = sum(kind.share for kind in kinds)
    exact = [teams * kind.share / total for kind in kinds]
    counts = [int(count) for count in exact]
    by_remainder = sorted(
        range(len(kinds)), key=lambda number: (counts[number] - exact[number], number)
    )
    for kind_number in by_remainder[: teams - sum(counts)]:
        counts[kind_number] += 1
    each = [kind for kind, count in zip(kinds, counts, strict=True) for _ in range(count)]
    return tuple(Participant(number, kind) for number, kind in enumerate(each))
