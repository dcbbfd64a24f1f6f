"""Draws teams like those of past leaderboards.

A drawn team is a team of a past board, chosen at random with replacement, with small changes: so
the heavy tail of the entries, the crowded top, the dependence of public and private scores and that
of entries and scores are those of the board, without a parametric model of any of them. What a
board does not show has a default: :class:`Defaults`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from arena.simulation.past.boards import PastBoard, read_boards
from arena.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a leaderboard does not show."""

    median_entries: float = 5.0
    """Of a team, if the board has no entries: real boards have 3 to 6."""
    entries_spread: float = 1.3
    """Standard deviation of the logarithm of the entries; 1.0 to 1.5 on real boards."""
    rank_correlation: float = 0.85
    """Of public and private scores (normal scores), if the board does not pair them."""
    first_gap: float = 1.0
    """Mean distance of a team's first entry from its last, in gaps of the median team to the top.
    The distance shrinks with the logarithm of the entries."""
    setback: float = 0.1
    """Mean loss of a single entry against the team's progress, in the same unit."""
    early: float = 2.0
    """A team joins at ``u ** early`` of the time before its last entry, u uniform."""
    rush: float = 0.3
    """Share of the teams whose last entry is on the last day; the others stop at a time that is
    uniform between 0 and 1."""
    busy_last_day: float = 3.0
    """How much more likely an entry of a team that stays is on the last day than on another."""


@dataclass(frozen=True, slots=True, eq=False)
class PastTeams:
    """n drawn teams. A gap is a distance from the top: 0 is the best team, 1 the median one."""

    entries: IntArray
    public_gap: FloatArray
    """Of the team's last entry."""
    private_gap: FloatArray
    first_gap: FloatArray
    """How much larger the gap of the first entry is."""
    joins: FloatArray
    """In [0, 1] of the competition."""
    stops: FloatArray
    """In [0, 1], not before it joins."""
    notebook: IntArray
    """The number of the public notebook that a team submits unchanged; -1: its own work."""


@dataclass(frozen=True, slots=True, eq=False)
class LikePast:
    """Past boards that teams are drawn from: for each simulation one of them, at random."""

    boards: tuple[PastBoard, ...]
    defaults: Defaults = field(default_factory=Defaults)

    def identity(self) -> str:
        """Return a hash of the boards and the defaults."""
        digest = hashlib.sha256(repr(self.defaults).encode())
        for board in self.boards:
            for array in (board.private, board.public, board.entries, board.last):
                digest.update(b"none" if array is None else array.tobytes())
        return digest.hexdigest()

    def draw(self, n_teams: int, rng: np.random.Generator) -> PastTeams:
        """Draw the teams of one competition.

        >>> teams = LikePast((typical_board(),)).draw(1_000, np.random.default_rng(0))
        >>> bool(3 <= np.median(teams.entries) <= 6), bool(0.1 < (teams.entries == 1).mean() < 0.3)
        (True, True)
        """
        board = self.boards[int(rng.integers(len(self.boards)))]
        defaults = self.defaults
        entry = rng.integers(0, board.n_teams, n_teams)
        notebook = shared_notebooks(board)[entry]
        is_own = notebook < 0
        if board.entries is None:
            log_entries = rng.normal(
                np.log(defaults.median_entries), defaults.entries_spread, n_teams
            )
            entries = np.maximum(1, np.round(np.exp(log_entries)))
        else:
            entries = board.entries[entry]
            spread = np.exp(_ENTRIES_CHANGE * rng.standard_normal(n_teams))
            entries = np.where(entries > 2, np.maximum(2, np.round(entries * spread)), entries)
        private, public = (relative_gaps(scores) for scores in (board.private, board.public))
        if board.paired:
            public = public[entry]
        else:
            mixed = defaults.rank_correlation * _normal_scores(entry, board.n_teams, rng)
            mixed += np.sqrt(1 - defaults.rank_correlation**2) * rng.standard_normal(n_teams)
            order = np.argsort(np.argsort(-mixed))
            public = np.quantile(public, (order + 0.5) / n_teams)
        private = private[entry]
        change = np.where(is_own, np.exp(_GAP_CHANGE * rng.standard_normal(n_teams)), 1.0)
        stops = rng.random(n_teams) if board.last is None else board.last[entry]
        if board.last is None:
            stops = np.where(rng.random(n_teams) < defaults.rush, 1.0, stops)
        single = entries == 1
        return PastTeams(
            entries=entries.astype(np.intp),
            public_gap=public * change,
            private_gap=private * change,
            first_gap=np.where(single, 0.0, rng.exponential(defaults.first_gap, n_teams)),
            joins=np.where(single, stops, stops * rng.random(n_teams) ** defaults.early),
            stops=stops,
            notebook=notebook,
        )


_ENTRIES_CHANGE = 0.05
_GAP_CHANGE = 0.03
_NOTEBOOK_TEAMS = 3
"""A pair of scores that at least so many teams share is that of a public notebook."""


TYPICAL = "typical"
"""The name of :func:`typical_board` where a path of boards is expected."""


def typical_board() -> PastBoard:
    """Return a board without measured scores, for a simulation that imitates none.

    The gaps are lognormal, with a spread of 1: half of the teams are within one gap of the median
    team to the top.
    """
    from scipy.special import ndtri

    levels = (np.arange(1_000) + 0.5) / 1_000
    scores = -np.exp(ndtri(levels))
    return PastBoard("typical", scores, scores, paired=False)


def boards_like(like: Path) -> tuple[PastBoard, ...]:
    """Return the past boards of a path; ``typical`` is the board that imitates none."""
    return (typical_board(),) if like == Path(TYPICAL) and not like.exists() else read_boards(like)


def relative_gaps(scores: FloatArray) -> FloatArray:
    """Return the ``(n,)`` gaps to the best score, in those of the median team."""
    top = scores.max()
    unit = top - np.median(scores)
    return np.asarray((top - scores) / (unit or top - scores.mean()))


def _normal_scores(entry: IntArray, n_teams: int, rng: np.random.Generator) -> FloatArray:
    """Return a standard normal number for each drawn team, the larger the better its place."""
    from scipy.special import ndtri

    return np.asarray(-ndtri((entry + rng.random(len(entry))) / n_teams))


def shared_notebooks(board: PastBoard) -> IntArray:
    """Return ``(n,)`` numbers of shared pairs of scores; -1: a score of one team's own."""
    none = np.full(board.n_teams, -1, dtype=np.intp)
    if not board.paired:
        return none
    pairs = np.stack([board.private, board.public], axis=1)
    _, which, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    return np.where(counts[which] >= _NOTEBOOK_TEAMS, which, none)


def entry_days(
    entries: int, joins: float, stops: float, days: int, allowed: int, defaults: Defaults,
    rng: np.random.Generator,
) -> Sequence[int]:  # fmt: skip
    """Return the number of a team's entries on each day, at most ``allowed``.

    The first entry is on the day it joins and the last on the day it stops, unless the limit
    needs more days; then the days before and after are used.

    >>> counts = entry_days(7, 0.2, 0.6, 10, 2, Defaults(), np.random.default_rng(0))
    >>> sum(counts), counts[0], max(counts)
    (7, 0, 2)
    """
    first, last = (min(days - 1, int(days * fraction)) for fraction in (joins, stops))
    entries = min(entries, days * allowed)
    while (last - first + 1) * allowed < entries:
        if first > 0:
            first -= 1
        if last < days - 1 and (last - first + 1) * allowed < entries:
            last += 1
    counts = np.zeros(days, dtype=np.intp)
    counts[last] = 1
    if entries > 1:
        counts[first] += 1
    free = np.repeat(np.arange(first, last + 1), allowed - counts[first : last + 1])
    weights = np.where((free == days - 1) & (last > first), defaults.busy_last_day, 1.0)
    if entries > 2:
        chosen = rng.choice(len(free), entries - 2, replace=False, p=weights / weights.sum())
        np.add.at(counts, free[chosen], 1)
    return [int(count) for count in counts]
