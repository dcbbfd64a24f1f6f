"""What the functions of the rankings return for one small board, in both directions."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.sampling_units import SamplingUnits
from arena.utils.tabular import as_json
from arena_ranking.aggregates import aggregate_scores
from arena_ranking.bootstrap_ranks import bootstrap_rank_ranges, prize_shares, share_in_top
from arena_ranking.challenger import (
    compare_ranking_methods,
    consensus_ranking,
    kendall_tau_of_resamples,
    podium,
    rank_frequencies,
    significance_map,
    significance_map_from_errors,
)
from arena_ranking.critical_difference import compare_mean_ranks
from arena_ranking.differences import standard_errors_from_values
from arena_ranking.failures import failures_to_reverse, unseen_rate
from arena_ranking.median_tests import errors_of_median_differences
from arena_ranking.paired_tests import top_against_others
from arena_ranking.simultaneous import rank_intervals
from arena_ranking.small_samples import (
    difference_shapes,
    normal_bounds,
    normal_equivalents,
    pooled_degrees_of_freedom,
    without_skewness,
)
from kept import check_kept_document

TEAMS = list("abcde")
_RNG = np.random.default_rng(8)
VALUES = np.round(
    _RNG.normal(size=14) / 8
    + _RNG.normal(size=(5, 14)) / 8
    + np.array([[0.62], [0.6], [0.6], [0.56], [0.3]]),
    2,
)
VALUES[2, :12] = VALUES[1, :12]
VALUES[3, 7], VALUES[0, :3] = -0.9, VALUES[3, :3]
"""Of five teams on 14 rows: the third is nearly a copy of the second, the fourth fails once."""
WEIGHTS = draw_resamples(14, 59, 5).weights
SCORES, DRAWN = VALUES.mean(axis=1), np.round(VALUES @ WEIGHTS / 14, 12)
GROUPS = np.repeat(np.arange(6), [3, 3, 2, 3, 1, 2])


def in_both_directions(function: Any, *arrays: Any, **options: Any) -> Any:
    """Return what a function answers for gains, which it must also answer for losses."""
    answer = as_json(asdict(function(*arrays, **options)))
    losses = function(*(-array for array in arrays), **options, greater_is_better=False)
    mirrored = {
        name: (np.array(values) * -1).tolist() if name == "values" else values
        for name, values in as_json(asdict(losses)).items()
    }
    assert mirrored == answer, function
    return answer


def test_readings_of_a_small_board_are_kept() -> None:
    errors = standard_errors_from_values(VALUES - SCORES[:, np.newaxis])
    pairs = significance_map(VALUES, 0.9)
    ranks = bootstrap_rank_ranges(DRAWN).ranks
    by_score = significance_map_from_errors(SCORES, errors, 13, 0.9)
    mirrored = significance_map_from_errors(-SCORES, errors, 13, 0.9, greater_is_better=False)
    assert asdict(by_score).keys() == asdict(mirrored).keys()
    assert (by_score.p_values == mirrored.p_values).all()
    assert (by_score.better == mirrored.better).all()
    methods = {
        name: compare_ranking_methods(
            sign * SCORES,
            sign * VALUES,
            pairs.p_values,
            0.8,
            greater_is_better=sign == 1,
            weights=WEIGHTS,
        ).to_dict()
        for name, sign in (("gains", 1), ("losses", -1))
    }
    assert methods["gains"] == methods["losses"]
    frequencies = rank_frequencies(ranks, 0.8)
    consensus = consensus_ranking(ranks)
    tests = [
        top_against_others(SCORES, errors, 13, top, chosen_elsewhere=chosen_elsewhere)
        for top in (0, 3)
        for chosen_elsewhere in (False, True)
    ]
    check_kept_document("ranking-functions", as_json({
        "significance map": in_both_directions(significance_map, VALUES, level=0.9),
        "significance map of two": [pairs.to_dict(), significance_map(VALUES[:2]).to_dict()],
        "pairs": pairs.to_frame(TEAMS).to_dict("records")[:6],
        "significance of scores": [asdict(by_score), by_score.to_dict()],
        "methods": methods["gains"],
        "methods of scores": compare_ranking_methods(SCORES).to_dict(),
        "agreement": in_both_directions(kendall_tau_of_resamples, SCORES, DRAWN, level=0.8),
        "podium": in_both_directions(podium, VALUES),
        "places": podium(VALUES[:2]).to_frame(TEAMS[:2]).to_dict("records"),
        "bootstrap ranks": in_both_directions(bootstrap_rank_ranges, DRAWN, level=0.8),
        "in top": [share_in_top(ranks, k) for k in (1, 2, 5)],
        "prizes": prize_shares(ranks, ["x", "y", "y", "x", "z"]),
        "frequencies": [asdict(frequencies), frequencies.is_flat, frequencies.rows(TEAMS)],
        "consensus": [asdict(consensus), consensus.specification(TEAMS)],
        "first against others": [asdict(of_top) for of_top in tests],
        "mean ranks": [
            asdict(compare_mean_ranks(VALUES[teams], level))
            for teams, level in (([0, 1, 3, 4], 0.95), ([0, 3, 4], 0.9))
        ],
        "aggregates": [
            asdict(aggregate_scores(VALUES, WEIGHTS, 0.8)),
            asdict(aggregate_scores(VALUES[:3], WEIGHTS, 0.8, n_units=6, n_tasks=2)),
        ],
    }))  # fmt: skip


def test_decisions_on_a_small_board_are_kept() -> None:
    errors = standard_errors_from_values(VALUES - SCORES[:, np.newaxis])
    shapes = difference_shapes(VALUES - SCORES[:, np.newaxis])
    j, k = np.triu_indices(5, k=1)
    medians = np.median(VALUES, axis=1)
    options: dict[str, dict[str, Any]] = {
        "resampled": {},
        "errors": {"standard_errors": errors},
        "all pairs": {"standard_errors": errors, "all_pairs": True},
        "a larger family": {"standard_errors": errors, "comparisons": 90},
        "14 units": {"standard_errors": errors, "n_units": 14},
        "60 units": {"standard_errors": errors, "n_units": 60},
        "allowances": {"standard_errors": errors, "allowances": np.linspace(0, 0.2, 5)},
        "degrees of freedom": {
            "standard_errors": errors, "degrees_of_freedom": shapes.degrees_of_freedom
        },
        "skewness": {
            "standard_errors": errors, "n_units": 49,
            "degrees_of_freedom": shapes.degrees_of_freedom, "skewness": shapes.skewness,
        },
        "errors of 0": {
            "standard_errors": np.where(errors < 0.03, 0.0, errors), "n_units": 60,
        },
    }  # fmt: skip
    statistics = np.array([0.0, 0.2, 0.25, 0.26, 1.0, 2.5, 9.9, 10.1, 60.0])
    degrees = np.array([0.4, 0.5, 0.6, 1.0, 4.0, 30.0, np.inf])
    both = [grid.ravel() for grid in np.meshgrid(statistics, degrees)]
    check_kept_document("ranking-decisions", as_json({
        "rank intervals": {
            name: asdict(rank_intervals(SCORES, DRAWN, 0.8, **of_board))
            for name, of_board in options.items()
        },
        "shapes": [shapes.degrees_of_freedom[j, k], shapes.skewness[k, j]],
        "pooled": [pooled_degrees_of_freedom(DRAWN[:m], n) for m, n in ((5, 60), (2, 3), (2, 2))],
        "normal equivalents": np.reshape(normal_equivalents(*both), (7, 9)),
        "normal bounds": [np.reshape(bound, (7, 9)) for bound in normal_bounds(*both)],
        "without skewness": without_skewness(np.full(5, 2.0), np.linspace(-1, 1, 5)),
        "errors of medians": {
            name: errors_of_median_differences(
                VALUES, medians, SamplingUnits.of(14, clusters), factors=factors
            )
            for name, clusters, factors in (
                ("rows", None, (1.0, 1.0)), ("families", None, (1.25, 2.5)),
                ("groups", GROUPS, (1.0, 1.0)), ("families of groups", GROUPS, (1.25, 2.5)),
            )
        },
        "failures": [
            failures_to_reverse(lead, 0.5, n) for lead in (0.0, 0.1, 0.25) for n in (1, 2, 10)
        ],
        "none": failures_to_reverse(0.1, 0.0, 10),
        "unseen": [unseen_rate(n, level) for n in (1, 60) for level in (0.8, 0.95)],
    }))  # fmt: skip
