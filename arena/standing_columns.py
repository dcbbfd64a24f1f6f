"""The columns of a board, under the same names in a terminal and in a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from arena.formats import Show, percent, plain, span

__all__ = ["PUBLIC_COLUMNS", "RANKED_COLUMNS", "StandingColumn"]


def _plain(_: Show) -> Show:
    return plain


def _percent(_: Show) -> Show:
    return percent


def _score(score: Show) -> Show:
    return score


@dataclass(frozen=True, slots=True)
class StandingColumn:
    """A column of a board: which values of a standing it holds, and how they are shown.

    >>> ranks = StandingColumn("ranks", ("low", "high"), _plain)
    >>> ranks.cell({"low": 1, "high": 3}, score=plain)
    '1 to 3'
    """

    title: str
    keys: tuple[str, ...]
    """Of a standing: a value, or both ends of a range."""
    show: Callable[[Show], Show]
    """Given how scores are shown, how this is."""
    meaning: str = ""
    """In plain words; empty where the title is enough."""
    importance: int | None = None
    """1 is shown in the narrowest terminal; None: in none."""

    @property
    def is_range(self) -> bool:
        """Whether it holds both ends of a range."""
        return len(self.keys) == 2

    def cell(self, row: Mapping[str, Any], score: Show) -> str:
        """Return what the cell of a standing holds; nothing where that is unknown."""
        show, first, last = self.show(score), row.get(self.keys[0]), row.get(self.keys[-1])
        if self.is_range:
            return span(first, last, show)
        return "" if first is None else show(first)


_RANK = StandingColumn("rank", ("rank",), _plain, importance=1)
_TEAM = StandingColumn("team", ("team",), lambda _: str, importance=2)

RANKED_COLUMNS = (
    _RANK,
    _TEAM,
    StandingColumn("score", ("score",), _score, "The score on the ranked rows.", 3),
    StandingColumn(
        "rank interval",
        ("rank_low", "rank_high"),
        _plain,
        "The ranks that the team may truly have: those of all teams hold at once.",
        4,
    ),
    StandingColumn(
        "tier",
        ("tier",),
        _plain,
        "1 for everyone who is shown to be worse than nobody. Whoever is in tier 2 is shown to be "
        "worse than someone in tier 1, and so on. Teams of one tier need not be equally good.",
        5,
    ),
    StandingColumn(
        "score interval",
        ("score_low", "score_high"),
        _score,
        "Where the true score of this team alone may lie.",
        6,
    ),
    StandingColumn(
        "rank spread",
        ("spread_low", "spread_high"),
        _plain,
        "How the rank would vary if other rows were drawn: a description, not a promise.",
        8,
    ),
    StandingColumn(
        "won",
        ("share_won",),
        _percent,
        "In how many of other draws of the rows the team comes first, ties included.",
        9,
    ),
    StandingColumn(
        "prize share",
        ("prize_share",),
        _percent,
        "What the team would get on average of one prize for the first place; ties split it.",
        7,
    ),
    StandingColumn(
        "public score", ("public_score",), _score, "The same submission on the public rows.", 10
    ),
    StandingColumn("public rank", ("public_rank",), _plain, "Its rank by that score."),
)
"""Of a ranked board, in their order."""

PUBLIC_COLUMNS = (
    _RANK,
    _TEAM,
    StandingColumn("score", ("score",), _score, importance=3),
    StandingColumn("submission", ("submission",), _plain, importance=5),
    StandingColumn(
        "sent", ("n_submissions",), _plain, "How many accepted submissions the team has.", 4
    ),
)
"""Of the public board, in their order."""
