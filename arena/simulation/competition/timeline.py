"""What the public board showed day by day, beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from arena.competition_state import CompetitionState
from arena.types import FloatArray, SubmissionRecord

__all__ = ["Day", "timeline"]


@dataclass(frozen=True, slots=True)
class Day:
    """The public board at the end of a day."""

    day: int
    """From 1."""
    submissions: int
    """Up to then, the baseline's left out."""
    shown_best: float
    """What its first place showed."""
    true_best: float
    """The truth of the best submission so far."""
    true_of_leader: float
    """The truth of the submission in the first place."""
    error: float
    """The largest distance so far between the first two: Blum and Hardt (2015), Equation 3."""


def timeline(
    state: CompetitionState,
    counting: Sequence[SubmissionRecord],
    true: FloatArray,
    days: int,
    start: datetime,
) -> tuple[float | None, tuple[Day, ...]]:
    """Return the leaderboard error, and the board at the end of every day that shows something.

    The leaderboard error is ``max_t |min_{i <= t} R_D(f_i) - R_t|``: f_i is the i-th submission of
    anyone, R_D its true loss, and R_t what the first place shows after the t-th.

    Parameters
    ----------
    counting
        m accepted submissions, in their order.
    true
        ``(m,)`` of each.
    """
    released = {
        one.submission: one.release for one in state.store.releases(state.settings.public.epoch)
    }
    baseline = state.settings.competition.baseline
    board = _Board(sign=1 if state.metric.greater_is_better else -1)
    found: dict[int, Day] = {}
    for record, own in zip(counting, true.tolist(), strict=True):
        release = released.get(record.submission)
        if record.team == baseline or release is None or not np.isfinite(own):
            continue
        day = (datetime.fromisoformat(record.received) - start).days + 1
        board.add(release.score, own)
        found[day] = board.at_the_end_of(day)
    filled, last = [], None
    for day in range(1, days + 1):
        last = found.get(day, last)
        if last is not None:
            filled.append(replace(last, day=day))
    return (board.error if board.submissions else None), tuple(filled)


@dataclass(slots=True)
class _Board:
    """The first place, and the best there is. ``sign`` is 1 where larger is better."""

    sign: int
    submissions: int = 0
    shown: float = np.nan
    true_best: float = np.nan
    of_leader: float = np.nan
    error: float = 0.0

    def add(self, shown: float, true: float) -> None:
        self.submissions += 1
        if not self.sign * shown <= self.sign * self.shown:
            self.shown, self.of_leader = shown, true
        if not self.sign * true <= self.sign * self.true_best:
            self.true_best = true
        self.error = max(self.error, abs(self.true_best - self.shown))

    def at_the_end_of(self, day: int) -> Day:
        return Day(day, self.submissions, self.shown, self.true_best, self.of_leader, self.error)
