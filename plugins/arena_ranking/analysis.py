"""The analysis ``ranks``: how certain the rank of each submission is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arena.evaluation.ranks import best_first
from arena.evaluation.scores import round_significant
from arena.interfaces import RankSets, Study
from arena.types import Finding, FloatArray, IntArray, Table
from arena.utils.formatting import percent
from arena.utils.parallel import available_workers
from arena.utils.text import plural
from arena_ranking.board_ranks import BoardRanks, board_ranks
from arena_ranking.bootstrap_ranks import (
    BootstrapRankRanges,
    bootstrap_rank_ranges,
    prize_shares,
    share_in_top,
)
from arena_ranking.challenger.top import top_of_board
from arena_ranking.combined_ranks import ranks_of_parts
from arena_ranking.paired_tests import PairedTests
from arena_ranking.verdict import ranks_verdict

_TOPS = (3, 10)
_TABLE_ROWS = 10


@dataclass(frozen=True, slots=True)
class Ranks:
    """What a reader needs of the ranks: the verdict, bootstrap ranks, prizes and paired tests.

    The rank sets are those of the study, if this plugin computed them; else they are computed.

    For 3,000 submissions and 1,000 resamples the process peaks at 1.0 GB, or at 1.2 GB if row
    values of 20,000 rows are used.
    """

    name: str = "ranks"

    def run(self, study: Study, rng: np.random.Generator) -> Finding:
        """Return the finding. ``rng`` is used only for resamples within tasks.

        Raises
        ------
        UsageError
            If the study holds no submission.
        """
        workers = available_workers()
        better_is_greater = study.metric.greater_is_better
        ranked = study.ranks
        if study.parts:
            return self._of_parts(study, ranked or ranks_of_parts(study, workers=workers))
        if not isinstance(ranked, BoardRanks):
            ranked = board_ranks(study, workers=workers)
        pairs = ranked.pairs
        spread = bootstrap_rank_ranges(
            round_significant(study.resampled)[ranked.same],
            study.level,
            greater_is_better=better_is_greater,
        )
        prizes = prize_shares(spread.ranks, study.teams)
        order = best_first(ranked.scores, greater_is_better=better_is_greater)
        return Finding(
            analysis=self.name,
            verdict=ranks_verdict(
                ranked.possible_winner, study.level, ranked.not_offered, study.words
            ),
            document=_document(study, ranked, spread, prizes),
            columns=_columns(spread, prizes),
            tables=_tables(study, spread, prizes=prizes, tests=pairs.tests, order=order),
            details=top_of_board(
                study,
                pairs.standard_errors,
                n_units=pairs.n_units,
                source=pairs.source,
                rng=rng,
                workers=workers,
            ),
        )

    def _of_parts(self, study: Study, ranked: RankSets) -> Finding:
        """Return the finding on a mean rank or worst score: no test compares two of them."""
        spread = bootstrap_rank_ranges(
            round_significant(study.resampled),
            study.level,
            greater_is_better=study.metric.greater_is_better,
        )
        prizes = prize_shares(spread.ranks, study.teams)
        return Finding(
            analysis=self.name,
            verdict=ranks_verdict(
                ranked.possible_winner, study.level, ranked.not_offered, study.words
            ),
            document={
                "level": ranked.level,
                "resamples": spread.ranks.shape[1],
                "not_offered": ranked.not_offered,
                "submissions": study.submissions.tolist(),
                "share_in_top": {str(k): share_in_top(spread.ranks, k).tolist() for k in _TOPS},
                "prizes": prizes_of_teams(study.teams, prizes),
            },
            columns=_columns(spread, prizes),
        )


def _columns(spread: BootstrapRankRanges, prizes: FloatArray) -> dict[str, list[Any]]:
    arrays = {
        "bootstrap_rank_low": spread.low,
        "bootstrap_rank_high": spread.high,
        "rank_median": spread.median,
        "win_rate": spread.win_rate,
        "prize_share": round_significant(prizes),
    }
    return {name: array.tolist() for name, array in arrays.items()}


def _document(
    study: Study,
    ranked: BoardRanks,
    spread: BootstrapRankRanges,
    prizes: FloatArray,
) -> dict[str, Any]:
    pairs, intervals = ranked.pairs, ranked.intervals
    return {
        "level": intervals.level,
        "resamples": spread.ranks.shape[1],
        "standard_errors_from": pairs.source,
        "critical_value": float(round_significant(intervals.critical_value)),
        "rounds": intervals.rounds,
        "comparisons": ranked.comparisons,
        "effective_units": float(round_significant(pairs.effective_units, 4)),
        "not_offered": ranked.not_offered,
        "possible_in_top": {
            str(k): study.submissions[intervals.possible_top(k)].tolist() for k in _TOPS
        },
        "submissions": study.submissions.tolist(),
        "share_in_top": {str(k): share_in_top(spread.ranks, k).tolist() for k in _TOPS},
        "prizes": prizes_of_teams(study.teams, prizes),
        "near_copies": [study.submissions[group].tolist() for group in pairs.near_copies],
        "paired_tests": None if pairs.tests is None else _tests_document(study, pairs.tests),
    }


def prizes_of_teams(teams: tuple[str, ...], prizes: FloatArray) -> list[dict[str, Any]]:
    """Return the teams that ever win, the largest share first."""
    totals: dict[str, float] = {}
    for team, share in zip(teams, prizes.tolist(), strict=True):
        totals[team] = totals.get(team, 0.0) + share
    ordered = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    return [
        {"team": team, "share": float(round_significant(share))} for team, share in ordered if share
    ]


def _tests_document(study: Study, tests: PairedTests) -> dict[str, Any]:
    columns = {
        "submission": study.submissions[tests.others],
        "difference": round_significant(tests.difference),
        "statistic": round_significant(tests.statistic),
        "raw": round_significant(tests.raw),
        "bonferroni": round_significant(tests.bonferroni),
        "holm": round_significant(tests.holm),
        "benjamini_hochberg": round_significant(tests.benjamini_hochberg),
    }
    rows = zip(*(array.tolist() for array in columns.values()), strict=True)
    return {
        "top": int(study.submissions[tests.top]),
        "comparisons": tests.comparisons,
        "tests": [dict(zip(columns, row, strict=True)) for row in rows],
    }


def _tables(
    study: Study,
    spread: BootstrapRankRanges,
    prizes: FloatArray,
    tests: PairedTests | None,
    order: IntArray,
) -> tuple[Table, ...]:
    if len(order) < 2:
        return ()
    shown_positions, words = order[:_TABLE_ROWS], study.words
    heads = (words.team, words.submission) if words.numbered else (words.team,)

    def names(j: int) -> tuple[Any, ...]:
        return (study.teams[j], int(study.submissions[j]))[: len(heads)]

    chances = Table(
        f"How often each {words.submission} is first on random samples of the {words.rows}",
        (*heads, "first", "among the first 3", "share of the prize"),
        tuple(
            (*names(j), percent(won), percent(top), percent(prize))
            for j, won, top, prize in zip(
                shown_positions,
                spread.win_rate[shown_positions],
                share_in_top(spread.ranks[shown_positions], 3),
                prizes[shown_positions],
                strict=True,
            )
        ),
    )
    return (chances,) if tests is None else (chances, _tests_table(study, tests, order))


def _tests_table(study: Study, tests: PairedTests, order: IntArray) -> Table:
    """Return the table of tests against the next submissions on the board."""
    words = study.words
    place_of = {int(other): place for place, other in enumerate(tests.others)}
    places = [place_of[int(j)] for j in order[1 : _TABLE_ROWS + 1]]
    corrected = (tests.raw, tests.bonferroni, tests.holm, tests.benjamini_hochberg)
    return Table(
        f"Is {study.teams[tests.top]} better than each of these {words.teams}? Paired tests: "
        "smaller values are stronger evidence, corrected for "
        f"{plural(tests.comparisons, 'comparison')}. They make no allowance for few or skewed "
        f"{words.rows}: where they and the rank intervals disagree, the rank intervals hold",
        (words.team, "lead", "uncorrected", "Bonferroni", "Holm", "Benjamini-Hochberg"),
        tuple(
            (
                study.teams[tests.others[place]],
                abs(float(tests.difference[place])),
                *(float(values[place]) for values in corrected),
            )
            for place in places
        ),
    )
