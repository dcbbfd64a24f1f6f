"""Standings as boards of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arena.formats import Show, number, score_decimals, score_format
from arena.report.model import Board, Column
from arena.score_result import STANDING_COLUMNS, ScoreResult
from arena.standing_columns import PUBLIC_COLUMNS, RANKED_COLUMNS, StandingColumn

__all__ = ["competition_board", "private_board"]

Row = Mapping[str, Any]
_BARS = ("rank_low", "rank_high")
"""What a bar is drawn under."""


def private_board(result: ScoreResult) -> Board:
    """Return the board of a result, with every column that it has."""
    standings = result.standings
    score = score_format(standings)
    others = [key for key in (standings[0] if standings else ()) if key not in STANDING_COLUMNS]
    kinds = (
        *RANKED_COLUMNS,
        *(StandingColumn(key.replace("_", " "), (key,), lambda _: _anything) for key in others),
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
            f"better. Intervals are at {100 * result.level:.10g} %."
        ),
        columns=tuple(column for column in columns if any(column.cells)),
        tiers=() if None in known else tuple(known),
        notes=notes,
    )


def _baseline(baseline: Row, score: Show) -> str:
    return f"The baseline, {baseline['team']}, has {score(baseline['score'])} and is not ranked."


def _column(kind: StandingColumn, standings: Sequence[Row], score: Show) -> Column:
    cells = tuple(kind.cell(row, score) for row in standings)
    first = [row.get(kind.keys[0]) for row in standings]
    textual = any(isinstance(value, str) for value in first)
    order = None if textual else tuple(_finite(value) for value in first)
    bars = None
    if kind.keys == _BARS:
        low, high = _BARS
        bars = tuple(_bar(row.get(low), row.get(high), len(standings)) for row in standings)
    return Column(kind.title, kind.meaning, cells, order, bars)


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
    named = [{**row, "team": _name(row)} for row in standings]
    columns = [_column(kind, named, score) for kind in PUBLIC_COLUMNS if kind.title != "submission"]
    return Board(name, title, caption, tuple(columns))


def _name(row: Row) -> str:
    return f"{row['team']}{' (baseline)' if row['baseline'] else ''}"
