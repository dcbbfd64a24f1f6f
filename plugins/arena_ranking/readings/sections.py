"""The readings as sections of a report, in words for participants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from arena.charts import Specification
from arena.execution import available_workers
from arena.interfaces import Study
from arena.leaderboard import minimum_ranks
from arena.resampling import round_significant
from arena.types import Chart, Section, Table
from arena_ranking.readings.agreement import kendall_tau_of_resamples
from arena_ranking.readings.board import Board, technical_section
from arena_ranking.readings.frequencies import SHARE, rank_frequencies
from arena_ranking.readings.methods import RankingMethods
from arena_ranking.readings.pictures import cases_chart, pairs_chart, podium_chart, violins_chart
from arena_ranking.readings.podium import MOST_ON_PODIUM, podium
from arena_ranking.readings.rank_pictures import (
    blobs_chart,
    heatmap_chart,
    methods_chart,
    ranks_together,
)
from arena_ranking.readings.significance import SignificanceMap
from arena_ranking.readings.task_sections import task_sections
from arena_ranking.readings.top import TopOfBoard

__all__ = ["reading_sections", "sections_of_result"]

_TABLE_ROWS = 10


def reading_sections(study: Study, top: TopOfBoard, seed: int) -> Iterable[Section]:
    """Return the sections of a board of two teams or more; of one there is nothing to compare.

    For 3,000 teams and 1,000 resamples, or for 200 teams and 100,000 rows, this takes some seconds
    on two processors; a board is shown by its first 50 teams.
    """
    if len(top.positions) < 2 or top.n_cases < 2:
        return []
    board = Board(study, top, seed, available_workers())
    pairs = board.pairs()
    methods = board.methods(pairs)
    made = [
        _stability(board),
        _significance(board, pairs),
        _podium(board),
        _ranking_methods(board, methods),
        _agreement(board, methods),
        _heatmap(board),
        *_tasks(board),
        technical_section(board, pairs, methods),
    ]
    return [section for section in made if section is not None]


def _chart(name: str, title: str, description: str, specification: Specification) -> Chart:
    return Chart(f"reading-{name}", title, description, specification)


def _stability(board: Board) -> Section:
    study = board.study
    ranks = minimum_ranks(round_significant(study.resampled), greater_is_better=board.larger)
    found = rank_frequencies(ranks[board.top.positions], study.level)
    block = ranks_together(found.rank)
    together = f" Every {block} neighbouring ranks are drawn as one circle." if block > 1 else ""
    text = (
        "Had other rows of the same kind been drawn for the test, the ranks would have come out "
        "differently. Each circle is a rank that a team would have taken, the larger the more "
        "often; the upright mark is the middle one, and the line spans "
        f"{100 * study.level:.4g} % of the draws.{board.first}{together}\n\n"
        "This describes how much ranks move by chance. It is no proof of who is better: look at "
        "the rank intervals for that."
    )
    title = "How stable the ranks are"
    described = "For each team the ranks that it takes on other draws of the rows, and how often."
    picture = blobs_chart(found.rows(board.teams), SHARE)
    return Section(title, text, charts=(_chart("stability", title, described, picture),))


def _significance(board: Board, pairs: SignificanceMap) -> Section:
    level = f"{100 * pairs.level:.4g} %"
    how = (
        f"Two teams are compared {board.case} by {board.case}: on how many of them, and by how "
        "much, one does better than the other. That need not agree with the score, which is a "
        "mean: a team that is a little better nearly everywhere can lose by a few large errors."
        if pairs.test == "signed-rank"
        else "Two teams are compared by the difference of their scores, and by how much that "
        "would change from one draw of the rows to another. (This metric gives a score to all "
        "rows together and not to each of them.)"
    )
    text = (
        "A square says that the team of its line is shown to be better than the team of its "
        f"column. All squares hold at once with a confidence of {level}; where there is none, "
        f"nothing is shown, which does not mean that the two are equal.{board.first}\n\n{how}"
    )
    title = "Who is shown to be better than whom"
    shown, of = int(pairs.better.sum()), pairs.better.size - len(pairs.better)
    described = f"A difference is shown for {shown:,} of {of:,} ordered pairs of teams."
    picture = pairs_chart(board.teams, pairs.better)
    counts = zip(board.teams, pairs.better.sum(axis=1), pairs.better.sum(axis=0), strict=True)
    table = Table(
        "The first teams, pair by pair",
        ("team", "shown to be better than", "shown to be worse than"),
        tuple((team, int(won), int(lost)) for team, won, lost in counts)[:_TABLE_ROWS],
    )
    return Section(title, text, (table,), (_chart("significance", title, described, picture),))


def _podium(board: Board) -> Section | None:
    if board.top.values is None:
        return None
    teams = board.teams[:MOST_ON_PODIUM]
    found = podium(
        board.top.values[: len(teams)], greater_is_better=board.top.values_greater_is_better
    )
    text = (
        f"The first {len(teams)} teams are ranked among themselves on each {board.case} alone. "
        "The bars say how often each of them takes each place; those who tie share the places "
        "between them. A team may lead the board by being good everywhere, or by being first "
        "often and last seldom."
    )
    title = "The podium"
    described = f"How often each of the first teams takes each place, over the {board.cases}."
    charts = [_chart("podium", title, described, podium_chart(teams, found.shares))]
    if found.values.shape[1] > 1:
        text += (
            f"\n\nThe second picture shows {found.values.shape[1]} of the {board.cases}, spread "
            f"over all of them, on which nobody ties: each line is one {board.case}."
        )
        described = f"The values of some {board.cases} by place, joined by a line each."
        picture = cases_chart(teams, found.values, found.places, f"value of the {board.case}")
        charts.append(
            _chart("podium-cases", f"The podium on some {board.cases}", described, picture)
        )
    return Section(title, text, charts=tuple(charts))


_METHOD_WORDS = {
    "score": "score: by the score, as on the board",
    "median": "median: by the middle value of the {cases}",
    "mean rank": "mean rank: teams are ranked on each {case}, and these ranks are averaged",
    "median rank": "median rank: the same, with the middle one of the ranks",
    "tests": "tests: by how many of the others a team beats in a comparison of two",
}


def _ranking_methods(board: Board, methods: RankingMethods) -> Section:
    words = [
        _METHOD_WORDS[name].format(case=board.case, cases=board.cases) for name in methods.ranks
    ]
    text = (
        "The board ranks by the score. There are other reasonable ways to turn the same "
        "predictions into ranks; where the lines cross, the order hangs on the choice.\n\n"
        + "; ".join(words) + f".{board.first}"
    )  # fmt: skip
    title = "The ranks by other methods"
    described = "A line per team through its ranks by each method."
    table = Table(
        "Ranks by method",
        ("team", *methods.ranks),
        tuple(
            (team, *(int(ranks[at]) for ranks in methods.ranks.values()))
            for at, team in enumerate(board.teams)
        ),
    )
    picture = methods_chart(board.teams, methods.ranks)
    return Section(title, text, (table,), (_chart("methods", title, described, picture),))


def _agreement(board: Board, methods: RankingMethods) -> Section:
    study = board.study
    whole = kendall_tau_of_resamples(
        round_significant(study.scores),
        round_significant(study.resampled),
        study.level,
        greater_is_better=board.larger,
    )
    found = {"score": whole, **methods.agreement}
    text = (
        "How well does the order on all rows agree with the orders on other draws of the rows? "
        "1 means the same order, 0 no agreement, -1 the reverse. The wider a shape, the more "
        "often that agreement; the bar spans "
        f"{100 * study.level:.4g} % of the draws, and the upright mark is the middle one."
    )
    if np.isfinite(whole.median):
        text += (
            f" For the score, over all {len(study.teams):,} teams, it lies between "
            f"{whole.low:.2f} and {whole.high:.2f}, with {whole.median:.2f} in the middle."
        )
    if methods.agreement:
        text += (
            " A method whose agreement is high is stable, which does not make it the right one; "
            f"the other methods rank {_how_many(board)}."
        )
    title = "How well the order holds"
    described = "The distribution of Kendall's tau, for each way of ranking."
    picture = violins_chart(
        {name: one.tau for name, one in found.items()},
        {name: one.summary() for name, one in found.items()},
    )
    return Section(title, text, charts=(_chart("agreement", title, described, picture),))


def _how_many(board: Board) -> str:
    shown, m = len(board.top.positions), len(board.study.teams)
    return f"the first {shown:,} teams only" if shown < m else "the same teams"


def _heatmap(board: Board) -> Section | None:
    from scipy.stats import rankdata

    values = board.values
    if values is None:
        return None
    ranks = rankdata(-values, method="min", axis=0).astype(np.intp)
    found = rank_frequencies(ranks, board.study.level)
    what = f"share of the {board.cases}"
    text = (
        f"The teams are ranked on each {board.case} alone; those who tie share the better rank. "
        f"The darker a square, the more often the team of the line takes that rank.{board.first}"
    )
    title = f"Ranks {board.case} by {board.case}"
    described = f"For each team the ranks that it takes on single {board.cases}, and how often."
    picture = heatmap_chart(found.rows(board.teams), what)
    return Section(title, text, charts=(_chart("heatmap", title, described, picture),))


def _tasks(board: Board) -> list[Section]:
    if board.top.tasks is None:
        return []
    return task_sections(board.teams, board.top.tasks, board.study.level, board.first)


def sections_of_result(result: Any) -> Iterable[Section]:
    """Return the sections of a :class:`~arena.score_result.ScoreResult`; none without a board."""
    study = getattr(result, "study", None)
    if study is None:
        return []
    for finding in result.findings:
        if isinstance(finding.details, TopOfBoard):
            return reading_sections(study, finding.details, result.seed)
    return []
