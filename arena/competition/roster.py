"""Which teams are the organiser's baselines, which are in which brackets, and who is not ranked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from arena.competition.teams import TEAM_CHANGES, Teams
from arena.config import Settings
from arena.store import Event

BRACKET = "bracket"
"""The kind of event after which a ``team`` is in a ``bracket``, or not (``member``)."""
ROSTER_EVENTS = (BRACKET, *TEAM_CHANGES)
"""The kinds of events that a roster follows from."""


@dataclass(frozen=True, slots=True)
class Roster:
    """The teams of a competition that are more than teams, by their current names."""

    baselines: tuple[str, ...] = ()
    """The organiser's own teams, the reference first."""
    brackets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Bracket of the settings -> its teams, sorted; some may have sent nothing."""
    unranked_brackets: frozenset[str] = frozenset()
    """The brackets whose teams are ranked on no board."""

    @classmethod
    def of(cls, settings: Settings, events: Iterable[Event]) -> Roster:
        """Return the roster after these events; those of other kinds are ignored.

        A merged team is in the brackets of both teams.

        Examples
        --------
        >>> settings = Settings.of(metric="f1", bracket={"staff": {"ranked": False}})
        >>> facts = ("2026-03-01T12:00:00.000000+00:00", "host")
        >>> payload = {"team": "owls", "bracket": "staff", "member": True}
        >>> Roster.of(settings, [Event(1, *facts, BRACKET, payload, "", "")]).unranked
        ('owls',)
        """
        events = sorted(events, key=lambda event: event.sequence)
        teams = Teams.of(events)
        members: dict[str, dict[str, bool]] = {name: {} for name in settings.bracket}
        for event in events:
            if event.kind == BRACKET and event.payload["bracket"] in members:
                team = event.payload["team"]
                members[event.payload["bracket"]][team] = event.payload["member"]
        return cls(
            settings.competition.baselines,
            {
                name: tuple(sorted({teams.current(team) for team, member in own.items() if member}))
                for name, own in members.items()
            },
            frozenset(name for name, one in settings.bracket.items() if not one.ranked),
        )

    @property
    def unranked(self) -> tuple[str, ...]:
        """The teams that are ranked on no board: the baselines, then those of brackets."""
        teams = {team for name in self.unranked_brackets for team in self.brackets[name]}
        return (*self.baselines, *sorted(teams.difference(self.baselines)))

    @property
    def boards(self) -> dict[str, tuple[str, ...]]:
        """The ranked teams of each bracket that has a board."""
        unranked = set(self.unranked)
        return {
            name: tuple(team for team in teams if team not in unranked)
            for name, teams in self.brackets.items()
            if name not in self.unranked_brackets
        }

    def among(self, teams: Collection[str]) -> Roster:
        """Return the roster with only some teams in its brackets."""
        brackets = {
            name: tuple(team for team in own if team in teams)
            for name, own in self.brackets.items()
        }
        return replace(self, brackets=brackets)

    def brackets_of(self, team: str) -> tuple[str, ...]:
        """Return the brackets of a team, in the order of the settings."""
        return tuple(name for name, teams in self.brackets.items() if team in teams)
