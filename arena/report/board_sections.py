"""The sections that every board has: its ranks, its wins, its scores, and its shake-up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from arena.charts import MOST_TEAMS, standings_chart
from arena.formats import percent, score_format, span
from arena.score_result import ScoreResult
from arena.text import shorten
from arena.types import Chart, Section

__all__ = ["board_sections"]

_Standings = Sequence[Mapping[str, Any]]


def board_sections(result: ScoreResult) -> list[Section]:
    """Return the sections of a board; one whose figures are missing is left out."""
    makers: Sequence[Callable[[ScoreResult], Iterator[Section]]] = (
        _ranks,
        _wins,
        _scores,
        _shake_up,
    )
    return [section for make in makers for section in make(result)]


def _chart(result: ScoreResult, name: str, title: str, description: str) -> tuple[Chart, ...]:
    drawn = standings_chart(name, result.standings, result.best_score_corrected)
    return () if drawn is None else (Chart(name, title, description, drawn),)


def _only_the_first(standings: _Standings, what: str = "The picture shows") -> str:
    if len(standings) <= MOST_TEAMS:
        return ""
    return f" {what} the first {MOST_TEAMS} of {len(standings):,}; the board above holds everyone."


def _ranks(result: ScoreResult) -> Iterator[Section]:
    charts = _chart(
        result,
        "rank-intervals",
        "The ranks that each team may truly have",
        "One line per team, the best first: its rank, the ranks that are not excluded, and how "
        "its rank spreads when other rows are drawn.",
    )
    if not charts:
        return
    text = (
        "The rows on which teams are ranked are a sample, and another sample would have ranked "
        f"them somewhat differently. The wide bar holds the ranks that a team may truly have: at "
        f"{_level(result)}, all these bars are right at once. The narrow bar only describes how "
        "the rank would vary if other rows were drawn; it is no promise about the true rank."
    )
    yield Section("How certain each rank is", text + _only_the_first(result.standings), (), charts)


def _wins(result: ScoreResult) -> Iterator[Section]:
    charts = _chart(
        result,
        "wins",
        "How often each team would come first",
        "One bar per team: the share of other draws of the rows in which it comes first.",
    )
    winners = [row for row in result.standings if row.get("share_won")]
    if not charts or not winners:
        return
    most = max(winners, key=lambda row: row["share_won"])
    text = (
        f"If rows were drawn again from the same source, {shorten(most['team'])} would come first "
        f"in {percent(most['share_won'])} of the draws, more often than anyone else. "
        f"{_count(len(winners), 'team')} of {len(result.standings):,} would come first at least "
        "once in a while. Teams that tie for the first place all count, so the shares may add up "
        "to more than 100 %."
    )
    yield Section("How often each comes first", text, (), charts)


def _scores(result: ScoreResult) -> Iterator[Section]:
    charts = (
        *_chart(
            result,
            "best-score",
            "The best score, as it stands and as it is corrected",
            "One line: the best score on the board, what it comes to when corrected for having "
            "been selected, and where the best true score lies.",
        ),
        *_chart(
            result,
            "score-intervals",
            "Scores and their intervals",
            "One line per team, the best first: its score and the interval of that score alone; a "
            "dashed line marks the corrected best score.",
        ),
    )
    if charts:
        text = "\n\n".join(part for part in (_best(result), _intervals(result)) if part)
        yield Section("How good the scores are", text, (), charts)


def _best(result: ScoreResult) -> str:
    best = result.best_score_corrected
    if best["estimate"] is None or not result.standings:
        return ""
    score = score_format(result.standings)
    return (
        f"The best score, {score(result.standings[0]['score'])}, is the best of "
        f"{len(result.standings):,} on these very rows, and the best of many is partly luck. "
        f"Corrected for that it is {score(best['estimate'])}. At {_level(result)}, the best true "
        f"score among all teams lies in {span(best['low'], best['high'], score)}."
    )


def _intervals(result: ScoreResult) -> str:
    return (
        f"Each interval is for one score alone, at {_level(result)}. Two teams whose intervals "
        "overlap may still be told apart, since both were scored on the same rows: the board's "
        "rank intervals and tiers take account of that. Teams far behind are left out of the "
        "picture." + _only_the_first(result.standings)
    )


def _shake_up(result: ScoreResult) -> Iterator[Section]:
    both = [row for row in result.standings if row.get("public_rank") and row.get("rank")]
    if result.split != "private" or len(both) < 2:
        return
    charts = _chart(
        result,
        "shake-up",
        "Public rank against private rank",
        "One point per team: its rank on the public rows and on the private ones; on the dashed "
        "line both are the same, and above it are those who rose.",
    )
    yield Section("Public against private", _moves(both), (), charts)


def _moves(both: _Standings) -> str:
    public = np.array([row["public_rank"] for row in both])
    private = np.array([row["rank"] for row in both])
    moved = public - private
    rose, fell = both[int(moved.argmax())], both[int(moved.argmin())]
    leader = both[int(public.argmin())]
    text = (
        f"Of all pairs of teams, {percent(_same_order(public, private))} stand in the same order "
        f"on both. The team that was first on the public rows, {shorten(leader['team'])}, has rank "
        f"{leader['rank']:,} on the private ones."
    )
    if moved.max() > 0:
        text += f" {shorten(rose['team'])} rose most, by {_count(int(moved.max()), 'place')}"
        text += f"; {shorten(fell['team'])} fell most, by {_count(-int(moved.min()), 'place')}."
    return text


def _same_order(public: Any, private: Any) -> float:
    """Return the share of pairs in the same order, of those that are tied in neither."""
    before = np.sign(public[:, np.newaxis] - public).astype(np.int8)
    after = np.sign(private[:, np.newaxis] - private).astype(np.int8)
    product = before * after
    compared = int(np.count_nonzero(product))
    return float(np.count_nonzero(product > 0) / compared) if compared else 1.0


def _level(result: ScoreResult) -> str:
    return f"{100 * result.level:.10g}\u00a0%"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
