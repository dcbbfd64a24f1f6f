"""The columns of a board, under the same names in a terminal and in a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arena.utils.formatting import Show, percent, plain, span


def _yes(value: Any) -> str:
    return "yes" if value else ""


@dataclass(frozen=True, slots=True)
class StandingColumn:
    """A column of a board: which values of a standing it holds, and how they are shown.

    >>> ranks = StandingColumn("ranks", ("low", "high"), plain)
    >>> ranks.cell({"low": 1, "high": 3}, score=plain)
    '1 to 3'
    """

    title: str
    """With ``{words.team}`` and the like for the nouns of a :class:`~arena.types.Vocabulary`."""
    keys: tuple[str, ...]
    """Keys of a standing: one value, or both ends of a range."""
    show: Show | None
    """Its formatter; None: that of scores."""
    meaning: str = ""
    """In plain words, with nouns as in the title; empty where the title is enough."""
    importance: int | None = None
    """1 is shown in the narrowest terminal; None: never shown in a terminal."""
    compares: bool = False
    """Whether it compares teams, so that it says nothing about a single one."""

    @property
    def is_range(self) -> bool:
        """Whether it holds both ends of a range."""
        return len(self.keys) == 2

    def cell(self, row: Mapping[str, Any], score: Show) -> str:
        """Return the text of a cell; empty if its value is unknown."""
        show, first, last = self.show or score, row.get(self.keys[0]), row.get(self.keys[-1])
        if self.is_range:
            return span(first, last, show)
        return "" if first is None else show(first)


_RANK = StandingColumn("rank", ("rank",), plain, importance=1)
_TEAM = StandingColumn("{words.team}", ("team",), str, importance=2)

RANKED_COLUMNS = (
    _RANK,
    _TEAM,
    StandingColumn("score", ("score",), None, "The score on the ranked {words.rows}.", 3),
    StandingColumn(
        "rank interval",
        ("rank_low", "rank_high"),
        plain,
        "The ranks that the data do not exclude, for all {words.teams} at once.",
        4,
        compares=True,
    ),
    StandingColumn(
        "tier",
        ("tier",),
        plain,
        "Tier 1: {words.teams} that may truly be the best. Each {words.team} in tier t has at "
        "least t - 1 truly better ones. Those of one tier need not be equally good.",
        5,
        compares=True,
    ),
    StandingColumn(
        "may be first",
        ("possible_winner",),
        _yes,
        "Whether the {words.team} may truly be the best: whether its rank interval contains 1. "
        "Rank intervals, tiers and these marks hold together at the confidence of the board.",
        compares=True,
    ),
    StandingColumn(
        "score interval",
        ("score_low", "score_high"),
        None,
        "A confidence interval for the true score of this {words.team} alone.",
        6,
    ),
    StandingColumn(
        "bootstrap rank range",
        ("bootstrap_rank_low", "bootstrap_rank_high"),
        plain,
        "How the rank varies when {words.rows} are drawn again: no confidence interval.",
        8,
        compares=True,
    ),
    StandingColumn(
        "win rate",
        ("win_rate",),
        percent,
        "How often the {words.team} comes first when {words.rows} are drawn again, ties included.",
        9,
        compares=True,
    ),
    StandingColumn(
        "prize share",
        ("prize_share",),
        percent,
        "The average share of one first prize when {words.rows} are drawn again; ties split it.",
        7,
        compares=True,
    ),
    StandingColumn(
        "score on public {words.rows}",
        ("public_score",),
        None,
        "The same {words.submission} on the public {words.rows}.",
        10,
    ),
    StandingColumn(
        "rank on public {words.rows}",
        ("public_rank",),
        plain,
        "Its rank by that score.",
        compares=True,
    ),
)
"""The columns of a ranked board, in order."""


def ranked_columns(m: int) -> tuple[StandingColumn, ...]:
    """Return the columns of a ranked board of m teams.

    >>> [column.title for column in ranked_columns(1)]
    ['rank', '{words.team}', 'score', 'score interval', 'score on public {words.rows}']
    """
    return tuple(
        ranked_column for ranked_column in RANKED_COLUMNS if m > 1 or not ranked_column.compares
    )


PUBLIC_COLUMNS = (
    _RANK,
    _TEAM,
    StandingColumn("score", ("score",), None, importance=3),
    StandingColumn("submission", ("submission",), plain, importance=5),
    StandingColumn(
        "sent", ("n_submissions",), plain, "How many accepted submissions the team has.", 4
    ),
    StandingColumn("brackets", ("brackets",), str, "The brackets of the team.", 4),
    StandingColumn("seconds", ("seconds",), plain, "The running time of its program.", 6),
    StandingColumn(
        "seconds of all runs",
        ("seconds_low", "seconds_high"),
        plain,
        "From the shortest to the longest run of its program, where it was run again.",
        7,
    ),
    StandingColumn("MB", ("memory_mb",), plain, "The memory that its program needed.", 6),
    StandingColumn(
        "MB of all runs",
        ("memory_mb_low", "memory_mb_high"),
        plain,
        "The same over all runs.",
        7,
    ),
)
"""The columns of the public board, in order."""
