"""How long programs of participants wait for machines.

The model: so many programs a day on average, which come independently of each other and evenly over
some hours of the day (Poisson). Each needs its minutes, trial and hidden run together, of one
machine. Machines take them in the order in which they came, day and night. The range is that
between running times that are all equal and running times that vary as much as an exponential
distribution. Limits of one team are left out.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

import numpy as np

from arena.programs.figures import two_digits
from arena.simulation.requests import QueuePlanRequest
from arena.types import FloatArray
from arena.utils.formatting import span
from arena.utils.representation import short_repr
from arena.utils.tabular import as_json
from arena.utils.text import plural

_DRAWN_PROGRAMS = 20_000
"""About as many are drawn."""
_FEWEST_DAYS = 30
_MINUTES_PER_DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class QueueWaits:
    """The minutes that programs wait with a number of machines."""

    machines: int
    """Each runs one program at a time."""
    busy: float
    """The share of a day in which a machine runs programs; from 1 on the queue grows every day."""
    mean_low: float | None
    """The mean wait if all running times are equal; None: the queue grows."""
    mean_high: float | None
    """The same if they vary as an exponential distribution."""
    most_low: float | None
    """95% of the programs wait at most so long if all running times are equal."""
    most_high: float | None
    """The same if they vary as an exponential distribution."""
    at_once: float
    """The minutes until the last program has run if those of a day all come at once, as before a
    deadline, and their running times are equal."""


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """How long programs wait for machines."""

    __repr__ = short_repr

    programs: float
    """A day, on average."""
    minutes: float
    """Of a program's runs, on average."""
    hours: float
    """Of the day in which programs come."""
    waits: tuple[QueueWaits, ...]
    """By the number of machines."""

    def sentences(self) -> list[str]:
        """Return what each number of machines means."""
        return [self._sentence(waits) for waits in self.waits]

    def _sentence(self, waits: QueueWaits) -> str:
        machines = plural(waits.machines, "machine")
        if waits.mean_low is None:
            fewest = int(self.programs * self.minutes / _MINUTES_PER_DAY) + 1
            return f"With {machines} the queue grows every day: use at least {fewest:,}."
        mean, most = (
            _minutes(low or 0, high or 0)
            for low, high in ((waits.mean_low, waits.mean_high), (waits.most_low, waits.most_high))
        )
        return (
            f"With {machines} a program waits {mean} on average, and 95% of them wait at "
            f"most {most}. If those of a day come at once, the last one has run after "
            f"{two_digits(waits.at_once / 60):,g} hours."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document ``arena/plan-queue/1``."""
        document: dict[str, Any] = as_json(asdict(self))
        return {"schema": "arena/plan-queue/1", **document, "sentences": self.sentences()}


def _minutes(low: float, high: float) -> str:
    """Return a range, without figures below 0.1 minutes, which no plan depends on.

    >>> _minutes(0.0008, 0.0007), _minutes(0.01, 0.18), _minutes(1.7491, 3.3833)
    ('0 to 0.1 minutes', '0 to 0.18 minutes', '1.7 to 3.4 minutes')
    >>> _minutes(219.6, 220.3), _minutes(0.3, 0.1)
    ('220 minutes', '0.1 to 0.3 minutes')
    """
    low, high = sorted((low, high))
    least = two_digits(low) if low >= 0.1 else 0
    return f"{span(least, max(two_digits(high), 0.1), '{:,g}'.format)} minutes"


def plan_queue(
    programs: float,
    *,
    minutes: float = 10.0,
    machines: Sequence[int] = (1, 2, 4),
    hours: float = 24.0,
    seed: int = 0,
) -> QueuePlan:
    """Return how long programs of a code competition wait, by the number of machines.

    Parameters
    ----------
    programs
        A day, on average.
    minutes
        Of a program's trial and hidden run together, on average.
    machines
        Numbers of machines to compare.
    hours
        Of the day in which programs come.
    seed
        Of the drawn days.

    Raises
    ------
    UsageError
        If a number is out of range.

    Examples
    --------
    >>> plan_queue(100, minutes=12, machines=[1]).waits[0].at_once / 60
    20.0
    """
    return plan_of(
        QueuePlanRequest(
            programs=programs, minutes=minutes, machines=tuple(machines), hours=hours, seed=seed
        )
    )


def plan_of(request: QueuePlanRequest) -> QueuePlan:
    """Draw the waiting times of a request; see :func:`plan_queue`."""
    rng = np.random.default_rng(request.seed)
    days = max(_FEWEST_DAYS, ceil(_DRAWN_PROGRAMS / request.programs))
    counts = rng.poisson(request.programs, days)
    day = np.repeat(np.arange(days), counts)
    arrivals = np.sort(day * _MINUTES_PER_DAY + 60 * request.hours * rng.random(len(day)))
    equal = np.full(len(day), request.minutes)
    varied = request.minutes * rng.standard_exponential(len(day))

    def waits_with(machines: int) -> QueueWaits:
        busy = request.programs * request.minutes / (_MINUTES_PER_DAY * machines)

        def mean_and_most(running: FloatArray) -> tuple[float | None, float | None]:
            if busy >= 1:
                return None, None
            waits = waiting_times(arrivals, running, machines)
            return float(waits.mean()), float(np.quantile(waits, 0.95))

        mean_low, most_low = mean_and_most(equal)
        mean_high, most_high = mean_and_most(varied)
        return QueueWaits(
            machines=machines,
            busy=busy,
            mean_low=mean_low,
            mean_high=mean_high,
            most_low=most_low,
            most_high=most_high,
            at_once=ceil(request.programs / machines) * request.minutes,
        )

    return QueuePlan(
        programs=request.programs,
        minutes=request.minutes,
        hours=request.hours,
        waits=tuple(waits_with(machines) for machines in sorted(set(request.machines))),
    )


def waiting_times(
    arrivals: Sequence[float] | FloatArray, running: Sequence[float] | FloatArray, machines: int
) -> FloatArray:
    """Return how long each program waits, ``(n,)``, in the units of the arguments.

    Parameters
    ----------
    arrivals
        ``(n,)`` times, ascending.
    running
        ``(n,)`` running times.
    machines
        How many machines there are, at least 1.

    Examples
    --------
    >>> waiting_times([0.0, 1.0, 2.0], [5.0, 5.0, 5.0], machines=2).tolist()
    [0.0, 0.0, 3.0]
    """
    free = [0.0] * machines
    waits = np.empty(len(arrivals))
    for position, (arrival, minutes) in enumerate(zip(arrivals, running, strict=True)):
        start = max(arrival, free[0])
        waits[position] = start - arrival
        heapq.heapreplace(free, start + minutes)
    return waits
