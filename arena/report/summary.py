"""The first screen of a board's report: who won, how certain that is, and the first places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arena.report.boards import rank_bar
from arena.report.model import Place, Summary
from arena.scoring.result import ScoreResult
from arena.utils.formatting import Show, level_text, plain, score_format, span
from arena.utils.text import shorten

_PLACES = 8
_NAMES = 12

Row = Mapping[str, Any]


def winner_sentence(result: ScoreResult) -> str:
    """Return a sentence that names the first team, or those that share the place, and the score."""
    words = result.words
    standings = result.standings
    first = [row for row in standings if row["rank"] == standings[0]["rank"]]
    score = f"{result.metric} {score_format(standings, result.display)(first[0]['score'])}"
    if len(standings) == 1:
        return f"{shorten(first[0]['team'])} has {score}."
    if len(first) == 1:
        return (
            f"{shorten(first[0]['team'])} is first of {len(standings):,} {words.teams}, with "
            f"{score}."
        )
    return (
        f"{_listed(first, 4)} share the first place of {len(standings):,} {words.teams}, with "
        f"{score}."
    )


def board_summary(result: ScoreResult) -> Summary | None:
    """Return the first places, and the findings on the best team; None without a ranking."""
    standings = result.standings
    if not standings:
        return None
    score = score_format(standings, result.display)
    first_rows = standings[:_PLACES]
    highest = max(row.get("rank_high") or row["rank"] for row in first_rows)
    places = tuple(_place(row, highest, score) for row in first_rows)
    lines = [_possible(standings), _best(result, score), _public(standings)]
    return Summary(
        places=places,
        highest=highest,
        n_teams=len(standings),
        lines=tuple(line for line in lines if line is not None),
    )


def _place(row: Row, highest: int, score: Show) -> Place:
    return Place(
        rank=row["rank"],
        team=row["team"],
        score=score(row["score"]),
        ranks=span(row.get("rank_low"), row.get("rank_high"), plain),
        bar=rank_bar(row.get("rank_low"), row.get("rank_high"), highest),
    )


def _possible(standings: Sequence[Row]) -> tuple[str, str] | None:
    possible = [row for row in standings if row.get("possible_winner")]
    if not possible or len(standings) == 1:
        return None
    return f"May truly be the best ({len(possible):,})", _listed(possible, _NAMES)


def _best(result: ScoreResult, score: Show) -> tuple[str, str] | None:
    best = result.best_score_corrected
    if best["estimate"] is None:
        return None
    text = score(best["estimate"])
    interval = ""
    of_winner = next(iter(best.get("winners", ())), best)
    if of_winner["low"] is not None:
        ends = span(of_winner["low"], of_winner["high"], score)
        interval = f"{level_text(result.level)} interval {ends}"
    if len(result.standings) == 1:
        return ("True score", interval) if interval else None
    if interval:
        text += f", {interval}"
    return "The winner's true score, corrected for selection", text


def _public(standings: Sequence[Row]) -> tuple[str, str] | None:
    both = [row for row in standings if row.get("public_rank")]
    if len(both) < 2:
        return None
    first = [row for row in both if row["public_rank"] == 1]
    listed = ", ".join(
        f"{shorten(row['team'])} (private rank {row['rank']:,})" for row in first[:3]
    )
    return "First on the public rows", listed + (" and others" if len(first) > 3 else "")


def _listed(rows: Sequence[Row], most: int) -> str:
    names = [shorten(row["team"]) for row in rows]
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1:,} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
