"""When each participant sends something: days and times, before anything is played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

import numpy as np

from arena.config import Settings
from arena.simulation.competition.roster import Participant

__all__ = ["FIRST_DAY", "Visit", "calendar", "first_day"]

FIRST_DAY = datetime(2001, 1, 1, tzinfo=UTC)
"""Of a competition without a deadline: long past, so that nobody takes it for a real one."""

_CALENDAR_STREAM = 2**32 - 11
_MOST_A_DAY = 3
"""What a person sends on a day at most, whatever is allowed. Whoever attacks sends all."""
_ACTIVITY = (0.1, 0.5)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Visit:
    """A participant sends one submission."""

    when: datetime
    participant: int
    is_last: bool
    """Of this participant: what it sends is final."""


def first_day(settings: Settings, days: int) -> datetime:
    """Return the midnight at which so many days begin, of which the last holds the deadline."""
    deadline = settings.competition.deadline
    if deadline is None:
        return FIRST_DAY
    last = datetime.combine((deadline - timedelta(microseconds=1)).date(), time(), tzinfo=UTC)
    return last - (days - 1) * _DAY


def calendar(
    roster: Sequence[Participant], settings: Settings, days: int, seed: int
) -> list[list[Visit]]:
    """Return rounds of visits in the order of time, each participant at most once in a round.

    Participants join sooner or later and come more or less often; who attacks comes from the first
    day on and sends all that the limits allow. Nobody sends more than the limits allow, nor after
    the deadline. It depends on the seed, the limits and the roster only, so that it is the same
    under every mechanism.
    """
    allowed = settings.limits.per_day or _MOST_A_DAY
    start = first_day(settings, days)
    deadline = settings.competition.deadline or start + days * _DAY
    parts = allowed * max(one.kind.accounts for one in roster)
    slots: dict[int, list[tuple[datetime, int]]] = {}
    for one in roster:
        rng = np.random.default_rng(
            np.random.SeedSequence(seed, spawn_key=(_CALENDAR_STREAM, one.number))
        )
        own = _slots(_counts(one, days, allowed, rng), parts, rng)
        total = settings.limits.total
        for slot in own if total is None else own[: total * one.kind.accounts]:
            when = start + (slot + rng.uniform(0.01, 0.99)) / parts * _DAY
            if when <= deadline:
                slots.setdefault(slot, []).append((when, one.number))
    return _marked([sorted(slots[slot]) for slot in sorted(slots)])


def _slots(counts: Sequence[int], parts: int, rng: np.random.Generator) -> list[int]:
    """Return in which parts of the days somebody comes, each day having so many parts."""
    return [
        int(day * parts + part)
        for day, count in enumerate(counts)
        for part in np.sort(rng.choice(parts, count, replace=False))
    ]


def _counts(one: Participant, days: int, allowed: int, rng: np.random.Generator) -> Sequence[int]:
    """Return how much a participant sends on each day."""
    if one.kind.conduct == "attacks":
        return [allowed * one.kind.accounts] * days
    joins = int(days * rng.uniform() ** 2 * 0.8)
    activity = rng.uniform(*_ACTIVITY)
    counts = rng.binomial(min(allowed, _MOST_A_DAY), activity, days)
    counts[:joins] = 0
    counts[joins] = max(counts[joins], 1)
    return [int(count) for count in counts]


def _marked(rounds: list[list[tuple[datetime, int]]]) -> list[list[Visit]]:
    """Mark the last visit of each participant."""
    last = {number: when for visits in rounds for when, number in visits}
    return [
        [Visit(when, number, last[number] == when) for when, number in visits] for visits in rounds
    ]
