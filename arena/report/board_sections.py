"""The sections that every board has: its ranks, its wins, its scores, and its shake-up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from arena.charts import MOST_TEAMS, standings_chart
from arena.scoring.best_score_text import intervals_at_the_top
from arena.scoring.result import ScoreResult
from arena.types import Chart, Section, Table, Vocabulary
from arena.utils.formatting import level_text, percent, score_format, span
from arena.utils.text import plural, shorten

_Standings = Sequence[Mapping[str, Any]]
_ROWS_AT_ONCE = 256


def board_sections(result: ScoreResult) -> list[Section]:
    """Return the sections of a board of several teams; without its figures one is left out."""
    makers: Sequence[Callable[[ScoreResult], Iterator[Section]]] = (
        _ranks,
        _wins,
        _scores,
        _shake_up,
    )
    if len(result.standings) < 2:
        return []  # the head of the page has the score and its interval already
    return [section for make in makers for section in make(result)]


def _chart(result: ScoreResult, name: str, title: str, description: str) -> tuple[Chart, ...]:
    specification = standings_chart(
        name, result.standings, result.best_score_corrected, result.display
    )
    return () if specification is None else (Chart(name, title, description, specification),)


def _only_the_first(standings: _Standings, words: Vocabulary) -> str:
    if len(standings) <= MOST_TEAMS:
        return ""
    teams_text = f"the first {MOST_TEAMS} of {len(standings):,}"
    return f" The picture shows {teams_text}; the board above lists all {words.teams}."


def _ranks(result: ScoreResult) -> Iterator[Section]:
    words = result.words
    charts = _chart(
        result,
        "rank-intervals",
        "The ranks that the data do not exclude",
        f"One line per {words.team}, the best first: its rank, the ranks that are not excluded, "
        f"and how its rank varies when {words.rows} are drawn again.",
    )
    if not charts:
        return
    document = next(
        (finding.document for finding in result.findings if "not_offered" in finding.document), {}
    )
    if document.get("not_offered"):
        text = f"Rank intervals are withheld. {document['not_offered']}"
        yield Section("How certain each rank is", text)
        return
    comparisons = document.get("comparisons", len(result.standings) * (len(result.standings) - 1))
    text = (
        f"The ranked {words.rows} are a sample, and another sample may rank the {words.teams} "
        "differently. The wide bar holds the ranks that the data do not exclude: at "
        f"{_level(result)} confidence, all these bars hold at once, over all "
        f"{plural(comparisons, 'comparison')} of one {words.team} with another, and so do the "
        f"tiers. {words.A_team} may truly be the best if its bar reaches rank 1. The narrow bar "
        f"describes how the rank varies when {words.rows} are drawn again; it is no confidence "
        "interval."
    )
    text += _only_the_first(result.standings, words)
    yield Section("How certain each rank is", text, (), charts)


def _wins(result: ScoreResult) -> Iterator[Section]:
    words = result.words
    charts = _chart(
        result,
        "wins",
        f"How often each {words.team} came first",
        f"One bar per {words.team}: the share of random samples of the {words.rows} in which it "
        "is first.",
    )
    winners = [row for row in result.standings if row.get("win_rate")]
    if not charts or not winners:
        return
    most = max(row["win_rate"] for row in winners)
    leaders = [row for row in winners if percent(row["win_rate"]) == percent(most)]
    leading = (
        f"{shorten(leaders[0]['team'])} came first in {percent(most)} of them, more often than any "
        f"other {words.team}."
        if len(leaders) == 1
        else f"{len(leaders):,} {words.teams} each came first in {percent(most)} of them: "
        f"{', '.join(shorten(row['team']) for row in leaders[:3])}"
        f"{' and others.' if len(leaders) > 3 else '.'}"
    )
    drawn = f"The {words.rows} were drawn again from themselves {plural(result.resamples, 'time')}."
    text = (
        f"{drawn} {leading} {plural(len(winners), words.team)} of {len(result.standings):,} came "
        f"first at least once. {words.teams.capitalize()} that tie for the first place all count, "
        "so the shares may add up to more than 100%."
        if len(winners) > 1
        else f"{drawn} {shorten(winners[0]['team'])} came first each time."
    )
    text += (
        f" This describes these {words.rows}. Which {words.teams} may truly be the best is told "
        "by the ranks."
    )
    yield Section("How often each comes first", text, (), charts if len(winners) > 1 else ())


def _scores(result: ScoreResult) -> Iterator[Section]:
    words = result.words
    charts = (
        *_chart(
            result,
            "best-score",
            "The best score, observed and corrected",
            "One line: the best score on the board, the same corrected for selection, and the "
            "interval for the best true score.",
        ),
        *_chart(
            result,
            "score-intervals",
            "Scores and their intervals",
            f"One line per {words.team}, the best first: its score and the interval of that score "
            "alone; a dashed line marks the corrected best score.",
        ),
    )
    if charts:
        text = "\n\n".join(part for part in (_best(result), _intervals(result)) if part)
        yield Section("How good the scores are", text, _winners(result), charts)


def _best(result: ScoreResult) -> str:
    words = result.words
    best = result.best_score_corrected
    if best["estimate"] is None or not result.standings:
        return ""
    score = score_format(result.standings, result.display)
    observed, corrected = score(result.standings[0]["score"]), score(best["estimate"])
    change = (
        "Corrected for selection it stays the same."
        if corrected == observed
        else f"Such a score is better than the true one on average. Corrected for selection it is "
        f"{corrected}."
    )
    return (
        f"The best score, {observed}, was selected among {len(result.standings):,} on the same "
        f"{words.rows}. {change} {intervals_at_the_top(best, result.level, score)}"
    )


def _winners(result: ScoreResult) -> tuple[Table, ...]:
    """Return the intervals of the next places, where there are any."""
    winners = [
        winner
        for winner in result.best_score_corrected.get("winners", ())[1:]
        if winner["low"] is not None
    ]
    if not winners:
        return ()
    score = score_format(result.standings, result.display)
    return (
        Table(
            f"True scores of the next places, corrected for their selection, at once with the "
            f"first at {_level(result)}",
            ("place", "team", "score", "true score"),
            tuple(
                (winner["place"], winner["team"], score(winner["score"]),
                 span(winner["low"], winner["high"], score))
                for winner in winners
            ),
        ),
    )  # fmt: skip


def _intervals(result: ScoreResult) -> str:
    words = result.words
    assumption = result.best_score_corrected.get("assumption", "")
    return (
        f"Each interval is for one score alone, at {_level(result)}. {assumption} Two "
        f"{words.teams} whose intervals overlap may still be told apart, since both were scored "
        f"on the same {words.rows}: the board's rank intervals and tiers take account of that. "
        f"{words.teams.capitalize()} far behind are left out of the picture."
        + _only_the_first(result.standings, words)
    )


def _shake_up(result: ScoreResult) -> Iterator[Section]:
    words = result.words
    both = [row for row in result.standings if row.get("public_rank") and row.get("rank")]
    if result.split != "private" or len(both) < 2:
        return
    charts = _chart(
        result,
        "shake-up",
        f"Rank on the public {words.rows} against rank on the private ones",
        f"One point per {words.team}: its rank on the public {words.rows} and on the private "
        "ones; on the dashed line both are the same, and above it are those who rose.",
    )
    moved = any(row["public_rank"] != row["rank"] for row in both)
    yield Section("Public against private", _moves(both, words), (), charts if moved else ())


def _moves(both: _Standings, words: Vocabulary) -> str:
    public = np.array([row["public_rank"] for row in both])
    private = np.array([row["rank"] for row in both])
    moved = public - private
    if not moved.any():
        return (
            f"Every {words.team} has the same rank on the public {words.rows} and on the private "
            "ones."
        )
    rose, fell = both[int(moved.argmax())], both[int(moved.argmin())]
    leaders = [row for row in both if row["public_rank"] == public.min()]
    text = (
        f"Of all pairs of {words.teams}, {percent(_same_order(public, private))} are in the same "
        "order on both. "
    )
    if len(leaders) == 1:
        text += (
            f"The {words.team} that was first on the public {words.rows}, "
            f"{shorten(leaders[0]['team'])}, has rank {leaders[0]['rank']:,} on the private ones."
        )
    else:
        text += f"{len(leaders):,} {words.teams} shared the first place on the public {words.rows}."
    if moved.max() > 0:
        text += f" {shorten(rose['team'])} rose most, by {plural(int(moved.max()), 'place')}."
    if moved.min() < 0:
        text += f" {shorten(fell['team'])} fell most, by {plural(-int(moved.min()), 'place')}."
    return text


def _same_order(public: Any, private: Any) -> float:
    """Return the share of pairs in the same order, of those that are tied in neither."""
    same = other = 0
    for start in range(0, len(public), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        ahead = public[rows, np.newaxis] < public
        same += int(np.count_nonzero(ahead & (private[rows, np.newaxis] < private)))
        other += int(np.count_nonzero(ahead & (private[rows, np.newaxis] > private)))
    return same / (same + other) if same + other else 1.0


def _level(result: ScoreResult) -> str:
    return level_text(result.level)
