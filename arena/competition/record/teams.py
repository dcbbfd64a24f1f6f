"""Which team a name refers to, after teams were renamed or merged.

Stored data are never changed: a submission keeps the name that its team had when it first
submitted. That name also counts the team's limits and names its instance of the mechanism, so that
both continue when the team is renamed. Everything that is shown has the current name.

A merged team has the submissions of both teams, and its limits count both together. Its instance of
the mechanism is that of the team that the other one joined.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from arena.store import Event

RENAMED, MERGED = "team renamed", "team merged"
TEAM_CHANGES = (RENAMED, MERGED)
"""The kinds of events that change the names of teams: ``team``, and ``to``, its name from then."""


@dataclass(frozen=True, slots=True)
class Teams:
    """The names of teams, former ones included.

    Examples
    --------
    >>> facts = ("2026-03-01T12:00:00.000000+00:00", "host")
    >>> renamed = Event(1, *facts, RENAMED, {"team": "a", "to": "b"}, "", "")
    >>> merged = Event(2, *facts, MERGED, {"team": "b", "to": "c"}, "", "")
    >>> Teams.of([renamed]).current("a"), Teams.of([renamed]).stored("b")
    ('b', 'a')
    >>> Teams.of([renamed, merged]).current("a"), Teams.of([renamed, merged]).members("c")
    ('c', ('a', 'b', 'c'))
    """

    _current: dict[str, str] = field(default_factory=dict)
    _stored: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, events: Iterable[Event]) -> Teams:
        """Return the names after these events; those of other kinds are ignored."""
        teams = cls()
        changes = [event for event in events if event.kind in TEAM_CHANGES]
        for event in sorted(changes, key=lambda event: event.sequence):
            before, after = str(event.payload["team"]), str(event.payload["to"])
            if event.kind == RENAMED:
                teams._stored[after] = teams.stored(before)
            for name in (*teams.members(before), after):
                teams._current[name] = after
        return teams

    def current(self, name: str) -> str:
        """Return the current name of the team that has or had a name."""
        return self._current.get(name, name)

    def stored(self, name: str) -> str:
        """Return the name under which new submissions of a team are stored, by its current name."""
        return self._stored.get(name, name)

    def members(self, name: str) -> tuple[str, ...]:
        """Return every name that submissions of a team may be stored under, sorted."""
        former = {name_before for name_before, current in self._current.items() if current == name}
        return tuple(sorted({*former, name}))

    def former(self) -> dict[str, str]:
        """Return the current name of each former name."""
        return {name: now for name, now in self._current.items() if name != now}

    def was_used(self, name: str) -> bool:
        """Return whether a name is or was that of a team that was renamed or merged."""
        return name in self._current
