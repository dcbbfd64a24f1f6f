"""The public board day by day, compared with the truth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np


@dataclass(frozen=True, slots=True)
class Day:
    """The public board at the end of a day."""

    day: int
    """From 1."""
    submissions: int
    """Submissions so far, without the baseline's."""
    shown_best: float
    """The score of its first place."""
    true_best: float
    """The best true score of any submission so far."""
    true_of_leader: float
    """The true score of the submission in first place."""
    error: float
    """The largest difference so far of the former two: Blum and Hardt (2015), Equation 3."""


def timeline(
    scores: Iterable[tuple[datetime, float, float]],
    days: int,
    start: datetime,
    *,
    greater_is_better: bool,
) -> tuple[float | None, tuple[Day, ...]]:
    """Return the leaderboard error, and the leaderboard at the end of every day once it has scores.

    The leaderboard error is ``max_t |min_{i <= t} R_D(f_i) - R_t|``: f_i is the i-th submission of
    any team, R_D its true loss, and R_t the loss shown in first place after the t-th.

    Parameters
    ----------
    scores
        Time, released score and true score of each submission, in their order; those without a
        finite true score are left out.
    """
    board = _Board(sign=1 if greater_is_better else -1)
    days_by_number: dict[int, Day] = {}
    for when, released, true_score in scores:
        if np.isfinite(true_score):
            day = (when - start).days + 1
            board.add(released, true_score)
            days_by_number[day] = board.at_the_end_of(day)
    filled, last = [], None
    for day in range(1, days + 1):
        last = days_by_number.get(day, last)
        if last is not None:
            filled.append(replace(last, day=day))
    return (board.error if board.submissions else None), tuple(filled)


@dataclass(slots=True)
class _Board:
    """First place and the best true score so far. ``sign`` is 1 if larger is better."""

    sign: int
    submissions: int = 0
    shown: float = np.nan
    true_best: float = np.nan
    of_leader: float = np.nan
    error: float = 0.0

    def add(self, released: float, true: float) -> None:
        self.submissions += 1
        if not self.sign * released <= self.sign * self.shown:
            self.shown, self.of_leader = released, true
        if not self.sign * true <= self.sign * self.true_best:
            self.true_best = true
        self.error = max(self.error, abs(self.true_best - self.shown))

    def at_the_end_of(self, day: int) -> Day:
        return Day(
            day,
            self.submissions,
            shown_best=self.shown,
            true_best=self.true_best,
            true_of_leader=self.of_leader,
            error=self.error,
        )
