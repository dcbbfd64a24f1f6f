"""When each participant submits: days and times, drawn before anything is played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

import numpy as np

from arena.config import Settings
from arena.simulation.competition.teams import Participant
from arena.simulation.past.teams import Defaults, PastTeams, entry_days

FIRST_DAY = datetime(2001, 1, 1, tzinfo=UTC)
"""Used without a deadline: in the past, so that it cannot be mistaken for a real competition."""

_CALENDAR_STREAM = 2**32 - 11
MOST_A_DAY = 3
"""The most that a person submits on a day, even if more is allowed. Attackers use every one."""
_ACTIVITY = (0.1, 0.5)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Visit:
    """A time at which a participant submits once."""

    when: datetime
    participant: int
    is_last: bool
    """Whether it is the participant's last, which becomes its final submission."""


def first_day(settings: Settings, days: int) -> datetime:
    """Return the midnight on which the first of these days begins; the last has the deadline."""
    deadline = settings.competition.deadline
    if deadline is None:
        return FIRST_DAY
    last = datetime.combine((deadline - timedelta(microseconds=1)).date(), time(), tzinfo=UTC)
    return last - (days - 1) * _DAY


def calendar(
    participants: Sequence[Participant],
    settings: Settings,
    days: int,
    seed: int,
    past: tuple[PastTeams, Defaults] | None = None,
    *,
    final_visits: bool = True,
) -> list[list[Visit]]:
    """Return rounds of visits in the order of time, each participant at most once in a round.

    Participants join at different times and submit more or less often. Attackers start on the first
    day and use every submission that the limits allow. No one exceeds the limits or the deadline.
    The calendar depends on the seed, the limits and the participants only, so it is the same under
    every mechanism.

    Parameters
    ----------
    past
        Teams drawn from past boards, by the participants' numbers: when the participants other
        than attackers come, and how often. None: a uniform level of activity.
    final_visits
        Whether a team with several entries comes once more to submit its best one again.
    """
    allowed = settings.limits.per_day or MOST_A_DAY
    start = first_day(settings, days)
    deadline = settings.competition.deadline or start + days * _DAY
    parts = allowed * max(participant.kind.accounts for participant in participants)
    slots: dict[int, list[tuple[datetime, int]]] = {}
    for participant in participants:
        rng = np.random.default_rng(
            np.random.SeedSequence(seed, spawn_key=(_CALENDAR_STREAM, participant.number))
        )
        if past is None or participant.kind.conduct == "attacks":
            counts = _counts(participant, days, allowed, rng)
        else:
            teams, defaults = past
            joins, stops = (
                float(times[participant.number]) for times in (teams.joins, teams.stops)
            )
            entries = int(teams.entries[participant.number])
            entries += bool(final_visits and entries > 1)
            counts = entry_days(
                entries, joins, stops=stops, days=days, allowed=allowed, defaults=defaults, rng=rng
            )
        own = _slots(counts, parts, rng)
        total = settings.limits.total
        for slot in own if total is None else own[: total * participant.kind.accounts]:
            when = start + (slot + rng.uniform(0.01, 0.99)) / parts * _DAY
            if when <= deadline:
                slots.setdefault(slot, []).append((when, participant.number))
    return _marked([sorted(slots[slot]) for slot in sorted(slots)])


def _slots(counts: Sequence[int], parts: int, rng: np.random.Generator) -> list[int]:
    """Return the parts of the days with a submission; each day has this many parts."""
    return [
        int(day * parts + part)
        for day, count in enumerate(counts)
        for part in np.sort(rng.choice(parts, count, replace=False))
    ]


def _counts(
    participant: Participant, days: int, allowed: int, rng: np.random.Generator
) -> Sequence[int]:
    """Return the number of submissions of a participant on each day."""
    if participant.kind.conduct == "attacks":
        return [allowed * participant.kind.accounts] * days
    joins = int(days * rng.uniform() ** 2 * 0.8)
    activity = rng.uniform(*_ACTIVITY)
    counts = rng.binomial(min(allowed, MOST_A_DAY), activity, days)
    counts[:joins] = 0
    counts[joins] = max(counts[joins], 1)
    return [int(count) for count in counts]


def _marked(rounds: list[list[tuple[datetime, int]]]) -> list[list[Visit]]:
    """Mark the last visit of each participant."""
    last = {number: when for visits in rounds for when, number in visits}
    return [
        [Visit(when, number, last[number] == when) for when, number in visits] for visits in rounds
    ]
