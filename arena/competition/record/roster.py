"""Which teams are the organiser's baselines, which are in which brackets, and who is not ranked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from arena.competition.record.answers import ANSWERED
from arena.competition.record.teams import TEAM_CHANGES
from arena.config import Settings
from arena.store import Event

BRACKET = "bracket"
"""The kind of event after which a ``team`` is in a ``bracket``, or not (``member``)."""
ROSTER_EVENTS = (BRACKET, ANSWERED, *TEAM_CHANGES)
"""The kinds of events that a roster follows from."""


@dataclass(frozen=True, slots=True)
class Roster:
    """The baselines and the teams of brackets, by their current names."""

    baselines: tuple[str, ...] = ()
    """The organiser's own teams, the reference first."""
    brackets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Bracket of the settings -> its teams, sorted; some may have sent nothing."""
    unranked_brackets: frozenset[str] = frozenset()
    """The brackets whose teams are ranked on no board."""

    @classmethod
    def of(cls, settings: Settings, events: Iterable[Event]) -> Roster:
        """Return the roster after these events; those of other kinds are ignored.

        A merged team is in the brackets of both teams. Of the choices of a question it is in that
        of the team which the other one joined, if it is in one: a team gives one answer.

        Examples
        --------
        >>> settings = Settings.of(metric="f1", bracket={"staff": {"ranked": False}})
        >>> facts = ("2026-03-01T12:00:00.000000+00:00", "host")
        >>> payload = {"team": "owls", "bracket": "staff", "member": True}
        >>> Roster.of(settings, [Event(1, *facts, BRACKET, payload, "", "")]).unranked
        ('owls',)
        """
        members: dict[str, set[str]] = {name: set() for name in settings.brackets}
        for event in sorted(events, key=lambda event: event.sequence):
            team = event.payload["team"]
            for bracket, member in _memberships(settings, event):
                if bracket in members:
                    (members[bracket].add if member else members[bracket].discard)(team)
            if event.kind in TEAM_CHANGES:
                _move(members, settings, team, event.payload["to"])
        return cls(
            settings.competition.baselines,
            {name: tuple(sorted(teams)) for name, teams in members.items()},
            frozenset(name for name, bracket in settings.brackets.items() if not bracket.ranked),
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
            name: tuple(team for team in members if team in teams)
            for name, members in self.brackets.items()
        }
        return replace(self, brackets=brackets)

    def brackets_of(self, team: str) -> tuple[str, ...]:
        """Return the brackets of a team, in the order of the settings."""
        return tuple(name for name, teams in self.brackets.items() if team in teams)


def _move(members: dict[str, set[str]], settings: Settings, team: str, into: str) -> None:
    """Give the brackets of a team to the one that it joins, or to its new name."""
    questions = [question for question in settings.question.values() if question.brackets]
    answered = {
        choice
        for question in questions
        if any(into in members[choice] for choice in question.choices)
        for choice in question.choices
    }
    for bracket, teams in members.items():
        if team in teams:
            teams.remove(team)
            if bracket not in answered:
                teams.add(into)


def _memberships(settings: Settings, event: Event) -> Iterator[tuple[str, bool]]:
    """Yield each bracket that the team of an event enters (true) or leaves by it."""
    if event.kind == BRACKET:
        yield event.payload["bracket"], event.payload["member"]
    elif event.kind == ANSWERED:
        for key, answer in event.payload["answers"].items():
            question = settings.question.get(key)
            if question is not None and question.brackets:
                yield from ((choice, choice == answer) for choice in question.choices)
