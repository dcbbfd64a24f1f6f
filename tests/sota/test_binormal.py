"""The simulated best AUC: its printed errors, and brute force without approximations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arena.errors import UsageError
from arena_sota.binormal import (
    DrawnMaximum,
    auc_maximum,
    check_simulation,
    largest_rank_sum,
    relevant_classifiers,
)
from kept import check_kept_document
from refusals import refusal_of


def test_the_errors_are_the_spread_over_seeds():
    rng = np.random.default_rng(0)
    simulations = [DrawnMaximum(np.sort(rng.gumbel(0.9, 0.01, 400)), 0.9) for _ in range(400)]
    for values, errors in (
        (
            [simulation.mean for simulation in simulations],
            [simulation.simulation_error for simulation in simulations],
        ),
        (
            [simulation.std for simulation in simulations],
            [simulation.std_simulation_error for simulation in simulations],
        ),
        (
            [simulation.quantile(0.95) for simulation in simulations],
            [simulation.quantile_error(0.95) for simulation in simulations],
        ),
        (
            [simulation.at_least(0.92) for simulation in simulations],
            [simulation.at_least_error(0.92) for simulation in simulations],
        ),
    ):
        assert np.mean(errors) == pytest.approx(np.std(values), rel=0.15)


def test_a_share_of_no_draw_has_an_error():
    best = DrawnMaximum(np.linspace(0.8, 0.9, 100), 0.8)
    assert best.at_least(0.95) == 0
    assert 0.005 < best.at_least_error(0.95) < 0.02


@pytest.mark.slow
def test_the_best_auc_is_that_of_whole_rows():
    """The rarer class is drawn and the other approximated; here every row is drawn."""
    rng = np.random.default_rng(1)
    positives, negatives, m, repetitions = 40, 300, 20, 400
    mu = np.sqrt(2) * 1.2815515655  # AUC 0.9
    scores = rng.standard_normal((repetitions, m, positives + negatives))
    scores[..., :positives] += mu
    ranks = (np.argsort(scores, axis=2) < positives) @ np.arange(1.0, positives + negatives + 1)
    whole = (ranks - positives * (positives + 1) / 2) / (positives * negatives)
    best = whole.max(axis=1)
    drawn_maximum = auc_maximum(np.full(m, 0.9), positives, negatives, rng, repetitions=repetitions)
    error = np.hypot(best.std() / repetitions**0.5, drawn_maximum.simulation_error)
    assert abs(best.mean() - drawn_maximum.mean) < 4 * error


DRAWN = {
    "every row, without a common part": ([0.7, 0.9, 0.9], 5, 9, 0.0),
    "every row, with one": ([0.7, 0.9, 0.9], 9, 5, 0.5),
    "the rarer class": ([0.85, 0.9], 20, 300, 0.0),
    "the rarer class, with a common part": ([0.85, 0.9], 300, 20, 0.4),
    "variances from a table": ([0.9, 0.91], 257, 400, 0.4),
    "a part of the rarer class": ([0.995, 0.99], 20_000, 40_000, 0.0),
    "a part, with a common part": ([0.995, 0.99], 20_000, 40_000, 0.3),
}
"""AUCs of classifiers, positive and negative rows, and the share of the common part."""


def test_the_best_of_a_few_draws_is_the_kept_one() -> None:
    """Each of three draws is shown, as its distance from the best true AUC in units of 0.0001."""
    quantiles_of_case = {}
    for case, (aucs, positives, negatives, rho) in DRAWN.items():
        rng = np.random.default_rng(3)
        best = auc_maximum(np.array(aucs), positives, negatives, rng, rho=rho, repetitions=3)
        draws = [best.quantile(share) for share in (0.0, 0.5, 1.0)]
        distances = [1e4 * (draw - max(aucs)) for draw in draws]
        quantiles_of_case[case] = [*distances, best.simulation_error]
    check_kept_document("drawn-aucs", quantiles_of_case)


def test_rank_sums_from_sorted_bits_are_those_from_sorted_positions():
    scores = np.random.default_rng(0).normal(size=(50, 400))
    sums = (np.argsort(scores, axis=1) < 150) @ np.arange(1.0, 401)
    assert [largest_rank_sum(score[np.newaxis].copy(), 150) for score in scores] == sums.tolist()


@pytest.mark.parametrize(
    ("rare", "other", "rho", "lowest"),
    [
        # 0.75 is 0.15 below the best, which is less than 7 of its standard deviations of 0.02691.
        (100, 400, 0.0, 0.75),
        # 0.85 is 0.05 below, less than 7 * 0.00885; 0.75 is 0.15 below, more than 7 * 0.01133.
        (900, 900, 0.0, 0.85),
        # The correlation multiplies by sqrt(1 - 0.96) + 0.2 = 0.4: 0.02 < 0.4 * 7 * 0.00783.
        (900, 900, 0.96, 0.88),
        # For 0.88 of more rows: 0.02 > 0.4 * 7 * 0.00710.
        (900, 1_400, 0.96, 0.9),
    ],
)
def test_classifiers_that_cannot_overtake_the_best_are_left_out(
    rare: int, other: int, rho: float, lowest: float
) -> None:
    values = np.array([0.75, 0.9, 0.85, 0.4, 0.88])
    chosen = values[relevant_classifiers(values, rare, other, rho)].tolist()
    assert chosen == sorted((value for value in values if value >= lowest), reverse=True)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0, 1, 0.0, 2), "An AUC needs at least one positive and one negative row."),
        ((1, 0, 0.0, 2), "An AUC needs at least one positive and one negative row."),
        ((1, 1, -1e-9, 2), "The correlation rho must be at least 0 and below 1, not -1e-09."),
        ((1, 1, 1.0, 2), "The correlation rho must be at least 0 and below 1, not 1."),
        ((1, 1, 0.0, 1), "A simulation needs at least two repetitions."),
        ((1, 1, 0.0, 2), None),
        ((1, 1, 1 - 1e-9, 2), None),
    ],
)
def test_what_no_maximum_can_be_drawn_for(arguments: tuple[Any, ...], sentence: str | None) -> None:
    assert refusal_of(UsageError, check_simulation, *arguments) == sentence
