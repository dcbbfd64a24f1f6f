"""Report sections on the stability and significance of a ranking, as in challengeR."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from arena.charts import Specification
from arena.evaluation.ranks import minimum_ranks, tied_ranks
from arena.evaluation.scores import round_significant
from arena.interfaces import Study
from arena.types import Chart, IntArray, Section, Table
from arena.utils.formatting import level_text
from arena.utils.parallel import available_workers
from arena.utils.text import plural
from arena_ranking.challenger.agreement import kendall_tau_of_resamples
from arena_ranking.challenger.board import Board, technical_section
from arena_ranking.challenger.frequencies import SHARE, rank_frequencies
from arena_ranking.challenger.methods import RankingMethods
from arena_ranking.challenger.pair_charts import (
    cases_chart,
    pairs_chart,
    podium_chart,
    violins_chart,
)
from arena_ranking.challenger.podium import MOST_ON_PODIUM, podium
from arena_ranking.challenger.rank_charts import (
    blobs_chart,
    heatmap_chart,
    methods_chart,
    ranks_together,
)
from arena_ranking.challenger.significance import SignificanceMap
from arena_ranking.challenger.task_sections import task_sections
from arena_ranking.challenger.top import TopOfBoard

_TABLE_ROWS = 10
_FLAT = 0.05
"""A podium on which the shares of every place differ by less says nothing."""
_MOST_ALIKE = 0.8
"""A method that gives more of the teams the same rank says nothing."""


def reading_sections(study: Study, top: TopOfBoard, seed: int) -> Iterable[Section]:
    """Return the sections of a board; none if it has a single team.

    For 3,000 teams and 1,000 resamples, or for 200 teams and 100,000 rows, this takes a few
    seconds on two processors. Only the first 50 teams of a board are shown.
    """
    if len(top.positions) < 2 or top.n_cases < 2:
        return []
    board = Board(study, top, seed, available_workers())
    pairs = board.pairs()
    methods = board.methods(pairs)
    telling = RankingMethods(
        {name: ranks for name, ranks in methods.ranks.items() if not _all_alike(ranks)},
        {
            name: agreement
            for name, agreement in methods.agreement.items()
            if not _all_alike(methods.ranks[name])
        },
    )
    sections = [
        _stability(board),
        _significance(board, pairs),
        _podium(board),
        _ranking_methods(board, telling, [n for n in methods.ranks if n not in telling.ranks]),
        _agreement(board, telling),
        _heatmap(board),
        *_tasks(board),
        technical_section(board, pairs, methods),
    ]
    return [section for section in sections if section is not None]


def _all_alike(ranks: IntArray) -> bool:
    """Return whether most of the teams have the same rank."""
    most = np.bincount(ranks).max()
    return bool(most == len(ranks) or (len(ranks) > 2 and most > _MOST_ALIKE * len(ranks)))


def _chart(name: str, title: str, description: str, specification: Specification) -> Chart:
    return Chart(f"reading-{name}", title, description, specification)


def _stability(board: Board) -> Section:
    words = board.study.words
    study = board.study
    ranks = minimum_ranks(round_significant(study.resampled), greater_is_better=board.larger)
    frequencies = rank_frequencies(ranks[board.top.positions], study.level)
    title = "How stable the ranks are"
    if len(frequencies.share) == len(frequencies.median):
        return Section(
            title,
            f"In random samples of the {words.rows} each {words.team} took one rank in all of "
            f"them.{board.first}",
        )
    block = ranks_together(frequencies.rank)
    together = f" Each circle combines {block} neighbouring ranks." if block > 1 else ""
    text = (
        f"Each circle is a rank that {words.a_team} took in random samples of the {words.rows}; a "
        "larger circle means more often. The vertical mark is the median rank. The line covers "
        f"{level_text(study.level)} of the samples.{board.first}{together}\n\nThis describes how "
        f"much ranks vary by chance. It does not show which {words.team} is better; the rank "
        "intervals do."
    )
    described = (
        f"The ranks of each {words.team} in random samples of the {words.rows}, and how often it "
        "has them."
    )
    picture = blobs_chart(frequencies.rows(board.teams), SHARE)
    return Section(title, text, charts=(_chart("stability", title, described, picture),))


def _significance(board: Board, pairs: SignificanceMap) -> Section:
    words = board.study.words
    level = level_text(pairs.level)
    of = pairs.better.size - len(pairs.better)
    n_better = int(pairs.better.sum())
    signed_rank = pairs.test == "signed-rank"
    question = (
        f"Which of two {words.teams} is better on single {board.cases}? The test counts on how "
        f"many {board.cases} {words.a_team} is better, weighted by the rank of the difference. "
        f"The rank intervals compare scores instead. {words.A_team} that is slightly better "
        "almost everywhere can have the worse score because of a few large errors."
        if signed_rank
        else f"Which of two {words.teams} has the better score? The rank intervals answer the same "
        f"question. (This metric scores all {words.rows} together, not each {words.row}.)"
    )
    tests = "Wilcoxon signed-rank tests" if signed_rank else "paired t tests"
    disagree = (
        f"This map and the rank intervals can disagree on a pair of {words.teams}. "
        + ("They answer different questions. " if signed_rank else "")
        + (
            f"This map compares {len(board.teams):,} {words.teams}, the rank intervals compare all "
            f"{len(board.study.teams):,}. "
            if len(board.teams) < len(board.study.teams)
            else ""
        )
        + "They correct for multiple comparisons differently. Use the rank intervals to award "
        "prizes."
    )
    if not n_better:
        text = (
            f"{question}\n\nNo difference is significant: {tests} of {plural(of, 'ordered pair')}, "
            f"corrected for multiple comparisons (Holm), {level} confidence.{board.first}"
        )
        return Section("Significance map", text)
    text = (
        f"{question}\n\nA square means that the {words.team} in its row is significantly better "
        f"than the {words.team} in its column. {tests[0].upper()}{tests[1:]} of "
        f"{plural(of, 'ordered pair')}, corrected for multiple comparisons (Holm): all "
        f"squares hold at once with {level} "
        f"confidence. A missing square does not mean that two {words.teams} are "
        f"equal.{board.first}\n\n{disagree}"
    )
    title = "Significance map"
    described = (
        f"A difference is significant for {n_better:,} of {plural(of, 'ordered pair')} of "
        f"{words.teams}."
    )
    picture = pairs_chart(board.teams, pairs.better)
    counts = zip(board.teams, pairs.better.sum(axis=1), pairs.better.sum(axis=0), strict=True)
    table = Table(
        f"The first {words.teams}, pair by pair",
        (words.team, "significantly better than", "significantly worse than"),
        tuple((team, int(won), int(lost)) for team, won, lost in counts)[:_TABLE_ROWS],
    )
    return Section(title, text, (table,), (_chart("significance", title, described, picture),))


def _podium(board: Board) -> Section | None:
    words = board.study.words
    if board.top.values is None:
        return None
    teams = board.teams[:MOST_ON_PODIUM]
    podium_rows = podium(
        board.top.values[: len(teams)], greater_is_better=board.top.values_greater_is_better
    )
    if np.ptp(podium_rows.shares, axis=0).max() < _FLAT:
        return None
    text = (
        f"The first {len(teams)} {words.teams} are ranked among themselves on each single "
        f"{board.case}. The bars show how often each {words.team} takes each place. Tied "
        f"{words.teams} share their places equally. {words.A_team} can lead the board because it "
        "is good everywhere, or because it is often first and rarely last."
    )
    title = "The podium"
    described = (
        f"How often each of the first {words.teams} takes each place, over the {board.cases}."
    )
    charts = [
        _chart(
            "podium",
            title,
            described,
            podium_chart(teams, podium_rows.shares, f"share of the {board.cases}"),
        )
    ]
    if podium_rows.values.shape[1] > 1:
        text += (
            f"\n\nThe second chart shows {podium_rows.values.shape[1]} {board.cases} without ties, "
            f"evenly spaced over all of them. Each line is one {board.case}."
        )
        described = f"The values of some {board.cases} by place, one line each."
        picture = cases_chart(
            teams, podium_rows.values, podium_rows.places, f"value of the {board.case}"
        )
        charts.append(
            _chart("podium-cases", f"The podium on some {board.cases}", described, picture)
        )
    return Section(title, text, charts=tuple(charts))


_METHOD_WORDS = {
    "score": "score: by the score, as on the board",
    "median": "median: by the median of the values of the {cases}",
    "mean rank": "mean rank: {words.teams} are ranked on each {case}, and these ranks are averaged",
    "median rank": "median rank: the same, with the median of these ranks",
    "tests": (
        "tests: by the number of other {words.teams} that {words.a_team} beats in a paired test"
    ),
}


def _ranking_methods(
    board: Board, methods: RankingMethods, left_out: Sequence[str]
) -> Section | None:
    words = board.study.words
    if len(methods.ranks) < 2:
        return None
    described_methods = [
        _METHOD_WORDS[name].format(case=board.case, cases=board.cases, words=words)
        for name in methods.ranks
    ]
    title = "Ranks by other methods"
    first, *others = methods.ranks.values()
    if all(np.array_equal(first, ranks) for ranks in others):
        teams = (
            f"the first {len(board.teams):,} {words.teams}"
            if board.first
            else (f"all {words.teams}")
        )
        text = f"All methods give {teams} the same ranks as the score does"
        return Section(title, f"{text}: {'; '.join(described_methods)}.")
    text = (
        f"The board ranks {words.teams} by score. Other reasonable methods rank the same "
        "predictions differently. Where lines cross, the order depends on the method.\n\n"
        + "; ".join(described_methods) + "."
    )  # fmt: skip
    if left_out:
        text += (
            f" Left out, because {'they give' if len(left_out) > 1 else 'it gives'} most "
            f"{words.teams} the same rank: {', '.join(left_out)}."
        )
    several = len(board.teams) > _TABLE_ROWS
    if several:
        text += (
            f" The picture and the table show the first {_TABLE_ROWS} {words.teams}, of "
            f"{len(board.teams):,} that were ranked by every method."
        )
    described = (
        f"The ranks of the first {_TABLE_ROWS} {words.teams} by each method, one line per "
        f"{words.team}."
        if several
        else f"The ranks of each {words.team} by each method, one line per {words.team}."
    )
    table = Table(
        "Ranks by method",
        (words.team, *methods.ranks),
        tuple(
            (team, *(int(ranks[position]) for ranks in methods.ranks.values()))
            for position, team in enumerate(board.teams[:_TABLE_ROWS])
        ),
    )
    picture = methods_chart(board.teams, methods.ranks)
    return Section(title, text, (table,), (_chart("methods", title, described, picture),))


def _agreement(board: Board, methods: RankingMethods) -> Section:
    words = board.study.words
    study = board.study
    whole = kendall_tau_of_resamples(
        round_significant(study.scores),
        round_significant(study.resampled),
        study.level,
        greater_is_better=board.larger,
    )
    agreements = {"score": whole, **methods.agreement}
    text = (
        f"How well does the ranking on all {words.rows} agree with the rankings on samples of the "
        f"{words.rows}? 1 means the same order, 0 no agreement, and -1 the reverse order."
    )
    same = not any(agreement.low < agreement.high for agreement in agreements.values())
    if not same:
        text += (
            " A shape is wide where an agreement is frequent. The bar covers "
            f"{level_text(study.level)} of the samples, and the vertical mark is the median."
        )
    if np.isfinite(whole.median):
        text += (
            f" For the ranking by score of all {len(study.teams):,} {words.teams}, the agreement "
            f"is {whole.low:.2f} to {whole.high:.2f} (median {whole.median:.2f})."
        )
    if methods.agreement:
        n_shown, m = len(board.top.positions), len(study.teams)
        ranked = (
            f"the first {n_shown:,} {words.teams} only"
            if n_shown < m
            else (f"the same {words.teams}")
        )
        text += (
            " High agreement means that a method is stable, not that it is the right one. "
            f"The other methods rank {ranked}."
        )
    title = "Agreement of the ranking with samples"
    described = "The distribution of Kendall's tau for each ranking method."
    picture = violins_chart(
        {name: agreement.tau for name, agreement in agreements.items()},
        {name: agreement.summary() for name, agreement in agreements.items()},
    )
    charts = () if same else (_chart("agreement", title, described, picture),)
    return Section(title, text, charts=charts)


def _heatmap(board: Board) -> Section | None:
    words = board.study.words
    values = board.values
    if values is None:
        return None
    ranks, _ = tied_ranks(-values)
    if _all_alike(np.floor(np.median(ranks, axis=1)).astype(np.intp)):
        return None  # one colour: most teams tie for the same rank in most cases
    frequencies = rank_frequencies(ranks, board.study.level)
    if frequencies.is_flat:
        return None
    what = f"share of the {board.cases}"
    text = (
        f"The {words.teams} are ranked on each single {board.case}. Tied {words.teams} share the "
        f"better rank. The stronger the colour of a square, the more often the {words.team} has "
        f"this rank.{board.first}"
    )
    title = f"Ranks {board.case} by {board.case}"
    described = (
        f"The ranks of each {words.team} on single {board.cases}, and how often it has them."
    )
    picture = heatmap_chart(frequencies.rows(board.teams), what)
    return Section(title, text, charts=(_chart("heatmap", title, described, picture),))


def _tasks(board: Board) -> list[Section]:
    if board.top.tasks is None:
        return []
    return task_sections(
        board.teams,
        board.top.tasks,
        level=board.study.level,
        shown=board.first,
        words=board.study.words,
    )


def sections_of_result(result: Any) -> Iterable[Section]:
    """Return the sections of a :class:`~arena.scoring.result.ScoreResult`; none without a board."""
    study = getattr(result, "study", None)
    if study is None:
        return []
    for finding in result.findings:
        if isinstance(finding.details, TopOfBoard):
            return reading_sections(study, finding.details, result.seed)
    return []
