"""What is compared between a past leaderboard and simulated ones.

No statistic depends on the unit or the origin of the scores, so that boards of different metrics
can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from arena.types import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class FinalBoard:
    """The final scores of n teams, larger is better."""

    private: FloatArray
    public: FloatArray | None
    """None: not known to be of the same teams."""
    entries: FloatArray | None


_Statistic = Callable[[FinalBoard], float | None]


def _of_entries(function: Callable[[FloatArray], float]) -> _Statistic:
    return lambda board: None if board.entries is None else float(function(board.entries))


def share_of_busiest_tenth(entries: FloatArray) -> float:
    """Return the share of all entries that the tenth of the teams with most of them sent."""
    ordered = np.sort(entries)[::-1]
    return float(ordered[: max(1, len(ordered) // 10)].sum() / ordered.sum())


def gap_at_level(level: float) -> _Statistic:
    """Return the gap to the top of the team at a level of the board, relative to the median's."""

    def gap(board: FinalBoard) -> float | None:
        top, upper, median = np.quantile(board.private, [1, 1 - level, 0.5])
        return float((top - upper) / (top - median)) if top > median else None

    return gap


def _tau(ranks: FloatArray | None, other: FloatArray | None) -> float | None:
    from scipy.stats import kendalltau

    if ranks is None or other is None or np.ptp(ranks) == 0 or np.ptp(other) == 0:
        return None
    return float(kendalltau(ranks, other).statistic)


STATISTICS: Mapping[str, _Statistic] = {
    "entries of a team, median": _of_entries(np.median),
    "entries of a team, mean": _of_entries(np.mean),
    "entries of a team, most": _of_entries(np.max),
    "teams with one entry": _of_entries(lambda entries: float(np.mean(entries == 1))),
    "entries of the busiest tenth of teams": _of_entries(share_of_busiest_tenth),
    "gap to the top at 10% of the ranks": gap_at_level(0.10),
    "gap to the top at 25% of the ranks": gap_at_level(0.25),
    "gap to the top at 75% of the ranks": gap_at_level(0.75),
    "tau of public and private scores": lambda board: _tau(board.public, board.private),
    "tau of entries and private scores": lambda board: _tau(board.entries, board.private),
}
"""Gaps are relative to that of the median team."""


def board_statistics(board: FinalBoard) -> dict[str, float | None]:
    """Return every statistic of :data:`STATISTICS`; None: the board does not show it.

    >>> found = board_statistics(FinalBoard(np.arange(11.0), None, np.ones(11)))
    >>> found["teams with one entry"], found["gap to the top at 25% of the ranks"]
    (1.0, 0.5)
    """
    return {name: function(board) for name, function in STATISTICS.items()}
