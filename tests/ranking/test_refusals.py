"""Arrays that the functions of the rankings refuse, and the smallest ones that fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arena.errors import UsageError
from arena_ranking.bootstrap_ranks import bootstrap_rank_ranges, prize_shares
from arena_ranking.challenger.agreement import kendall_tau, kendall_tau_of_resamples
from arena_ranking.challenger.consensus import consensus_ranking
from arena_ranking.challenger.frequencies import rank_frequencies
from arena_ranking.challenger.methods import compare_ranking_methods
from arena_ranking.challenger.podium import MOST_ON_PODIUM, podium
from arena_ranking.challenger.significance import significance_map_from_errors
from arena_ranking.challenger.wilcoxon import signed_rank_p_values
from arena_ranking.differences import standard_errors_from_resamples
from arena_ranking.paired_tests import paired_p_values, top_against_others
from arena_ranking.simultaneous import rank_intervals

TWO, PAIR = np.array([2.0, 1.0]), np.ones((2, 2))
ONE_ROW, CUBE, NONE = np.ones((1, 2)), np.ones((2, 2, 1)), np.ones((2, 0))
UNDEFINED = np.array([[1.0, np.nan], [1.0, 2.0]])
DRAWN = np.array([[2.0, 3.0], [1.0, 1.5]])
CODES = PAIR.astype(np.int64)
Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Call:
    return function, arguments, options


REFUSED: dict[str, list[Call]] = {
    "The rankings must have one row for each submission of the full ranking.": [
        call(kendall_tau, TWO, TWO),
        call(kendall_tau, ONE_ROW, TWO),
        call(kendall_tau, CUBE, TWO),
    ],
    "The resampled scores must be one row per submission.": [
        call(kendall_tau_of_resamples, TWO, ONE_ROW),
        call(kendall_tau_of_resamples, TWO, TWO),
        call(rank_intervals, TWO, ONE_ROW),
        call(rank_intervals, TWO, CUBE),
    ],
    "There is no resample in which every submission has a score.": [
        call(kendall_tau_of_resamples, TWO, UNDEFINED[:, 1:]),
        call(bootstrap_rank_ranges, UNDEFINED[:, 1:]),
    ],
    "Rank intervals need at least two resamples in which all scores exist.": [
        call(rank_intervals, TWO, UNDEFINED)
    ],
    "Ranks need at least one submission, and every score finite.": [
        call(rank_intervals, TWO[:0], NONE.T),
        call(rank_intervals, UNDEFINED[0], PAIR),
    ],
    "The family must have at least the pairs of the submissions.": [
        call(rank_intervals, TWO, DRAWN, comparisons=1)
    ],
    "The standard errors must be one row and one column per submission.": [
        call(rank_intervals, TWO, DRAWN, standard_errors=ONE_ROW),
        call(significance_map_from_errors, TWO, ONE_ROW, 9),
    ],
    "A consensus needs one finite rank per submission and task.": [
        call(consensus_ranking, TWO),
        call(consensus_ranking, NONE),
        call(consensus_ranking, UNDEFINED),
    ],
    "A podium needs one row of finite values per submission.": [
        call(podium, TWO),
        call(podium, NONE),
        call(podium, UNDEFINED),
    ],
    f"A podium shows at most {MOST_ON_PODIUM} submissions: pass fewer.": [
        call(podium, np.ones((MOST_ON_PODIUM + 1, 1)))
    ],
    "The values must be one row per score, of at least one case.": [
        call(compare_ranking_methods, TWO, TWO),
        call(compare_ranking_methods, TWO, ONE_ROW),
        call(compare_ranking_methods, TWO, NONE),
    ],
    "The values of the cases must be finite.": [call(compare_ranking_methods, TWO, UNDEFINED)],
    "The p-values must be one row and one column per score.": [
        call(compare_ranking_methods, TWO, p_values=ONE_ROW)
    ],
    "The weights must be one row per case of the values.": [
        call(compare_ranking_methods, TWO, weights=CODES),
        call(compare_ranking_methods, TWO, PAIR, weights=CODES[:1]),
    ],
    "A paired test needs at least two rows, or two clusters of rows.": [
        call(significance_map_from_errors, TWO, PAIR, 0),
        call(paired_p_values, TWO, TWO, 0),
        call(top_against_others, TWO, PAIR, 0, 0),
    ],
    "The top submission must be one of the 2.": [
        call(top_against_others, TWO, PAIR, 9, -1),
        call(top_against_others, TWO, PAIR, 9, 2),
    ],
    "Rank frequencies need one row of ranks from 1 per submission.": [
        call(rank_frequencies, CODES[0]),
        call(rank_frequencies, NONE.astype(np.int64)),
        call(rank_frequencies, CODES - [[0], [1]]),
    ],
    "Signed-rank tests need one row of finite values per submission.": [
        call(signed_rank_p_values, TWO),
        call(signed_rank_p_values, UNDEFINED),
    ],
    "Standard errors need one row of finite numbers per submission.": [
        call(standard_errors_from_resamples, TWO),
        call(standard_errors_from_resamples, UNDEFINED),
    ],
    "Standard errors need at least two resamples.": [
        call(standard_errors_from_resamples, PAIR[:, :1])
    ],
    "The resampled scores must be one row per submission, at least one.": [
        call(bootstrap_rank_ranges, TWO),
        call(bootstrap_rank_ranges, NONE.T),
    ],
    "Prize shares need one team per submission.": [call(prize_shares, CODES, ["a"])],
}
FITS = [
    call(kendall_tau, PAIR, TWO),
    call(kendall_tau_of_resamples, TWO, UNDEFINED),
    call(rank_intervals, TWO, DRAWN, comparisons=2, standard_errors=PAIR),
    call(consensus_ranking, [[1.0]]),
    call(podium, np.ones((MOST_ON_PODIUM, 1))),
    call(compare_ranking_methods, TWO, PAIR[:, :1], p_values=PAIR, weights=CODES[:1]),
    call(significance_map_from_errors, TWO, PAIR, 1),
    call(paired_p_values, TWO, TWO, 1),
    call(top_against_others, TWO, PAIR, 1, 0),
    call(top_against_others, TWO, PAIR, 1, 1),
    call(rank_frequencies, CODES[:, :1]),
    call(signed_rank_p_values, PAIR),
    call(standard_errors_from_resamples, PAIR),
    call(bootstrap_rank_ranges, UNDEFINED),
    call(prize_shares, CODES, ["a", "b"]),
]


def test_arrays_of_a_wrong_shape_are_refused_with_a_sentence() -> None:
    for sentence, calls in REFUSED.items():
        for function, arguments, options in calls:
            with pytest.raises(UsageError) as refusal:
                function(*arguments, **options)
            assert str(refusal.value) == sentence, function


def test_the_smallest_arrays_that_fit_are_accepted() -> None:
    for function, arguments, options in FITS:
        function(*arguments, **options)
