"""Standings as boards of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arena.formats import Show, number, percent, plain, score_decimals, score_format, span
from arena.report.model import Board, Column
from arena.score_result import STANDING_COLUMNS, ScoreResult

__all__ = ["competition_board", "private_board"]

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one column of a private board is made."""

    title: str
    keys: tuple[str, ...]
    """Of a standing: a value, or both ends of a range."""
    show: Callable[[Show], Show]
    """Given how scores are shown, how this is."""
    meaning: str = ""
    bar: bool = False


def _plain(_: Show) -> Show:
    return plain


def _percent(_: Show) -> Show:
    return percent


def _score(score: Show) -> Show:
    return score


_RANKED = (
    _Kind("rank", ("rank",), _plain),
    _Kind("team", ("team",), lambda _: str),
    _Kind("score", ("score",), _score, "The score on the ranked rows."),
    _Kind(
        "possible ranks",
        ("rank_low", "rank_high"),
        _plain,
        "The ranks that the team may truly have: those of all teams hold at once.",
        bar=True,
    ),
    _Kind(
        "tier",
        ("tier",),
        _plain,
        "1 for everyone who is shown to be worse than nobody. Whoever is in tier 2 is shown to be "
        "worse than someone in tier 1, and so on. Teams of one tier need not be equally good.",
    ),
    _Kind(
        "score interval",
        ("score_low", "score_high"),
        _score,
        "Where the true score of this team alone may lie.",
    ),
    _Kind(
        "rank spread",
        ("spread_low", "spread_high"),
        _plain,
        "How the rank would vary if other rows were drawn: a description, not a promise.",
    ),
    _Kind(
        "comes first",
        ("share_won",),
        _percent,
        "In how many of other draws of the rows the team comes first, ties included.",
    ),
    _Kind(
        "prize share",
        ("prize_share",),
        _percent,
        "What the team would get on average of one prize for the first place; ties split it.",
    ),
    _Kind("public score", ("public_score",), _score, "The same submission on the public rows."),
    _Kind("public rank", ("public_rank",), _plain, "Its rank by that score."),
)


def private_board(result: ScoreResult) -> Board:
    """Return the board of a result, with every column that it has."""
    standings = result.standings
    score = score_format(standings)
    others = [key for key in (standings[0] if standings else ()) if key not in STANDING_COLUMNS]
    kinds = (
        *_RANKED,
        *(_Kind(key.replace("_", " "), (key,), lambda _: _anything) for key in others),
    )
    columns = [_column(kind, standings, score) for kind in kinds]
    direction = "larger" if result.greater_is_better else "smaller"
    known = [row.get("tier") for row in standings]
    notes = () if result.baseline is None else (_baseline(result.baseline, score),)
    return Board(
        name="board",
        title="The board",
        caption=(
            f"{result.metric} on {result.n_rows:,} {result.split} rows; a {direction} score is "
            f"better. Intervals and possible ranks are at {100 * result.level:.10g} %."
        ),
        columns=tuple(column for column in columns if any(column.cells)),
        tiers=() if None in known else tuple(known),
        notes=notes,
    )


def _baseline(baseline: Row, score: Show) -> str:
    return f"The baseline, {baseline['team']}, has {score(baseline['score'])} and is not ranked."


def _column(kind: _Kind, standings: Sequence[Row], score: Show) -> Column:
    show = kind.show(score)
    first = [row.get(kind.keys[0]) for row in standings]
    if len(kind.keys) == 1:
        cells = ["" if value is None else show(value) for value in first]
        textual = any(isinstance(value, str) for value in first)
        order = None if textual else tuple(_finite(value) for value in first)
        return Column(kind.title, kind.meaning, tuple(cells), order)
    ends = [(row.get(kind.keys[0]), row.get(kind.keys[1])) for row in standings]
    return Column(
        kind.title,
        kind.meaning,
        tuple(span(low, high, show) for low, high in ends),
        tuple(_finite(low) for low, _ in ends),
        tuple(_bar(low, high, len(ends)) for low, high in ends) if kind.bar else None,
    )


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _bar(low: int | None, high: int | None, m: int) -> tuple[float, float] | None:
    """Return where the ranks from low to high lie among m, in per cent."""
    if low is None or high is None:
        return None
    return round(100 * (low - 1) / m, 1), round(100 * (high - low + 1) / m, 1)


def _anything(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def competition_board(standings: Sequence[Row], *, title: str, caption: str, name: str) -> Board:
    """Return a public board, from the standings of ``Competition.leaderboard``."""
    score = number(score_decimals([row["score"] for row in standings]))
    teams = [row["team"] + (" (baseline)" if row["baseline"] else "") for row in standings]
    columns = (
        _column(_Kind("rank", ("rank",), _plain), standings, score),
        Column("team", "", tuple(teams)),
        _column(_Kind("score", ("score",), _score), standings, score),
        _column(_Kind("submissions", ("n_submissions",), _plain), standings, score),
    )
    return Board(name, title, caption, columns)
