"""What the functions of this package return for a few scores, under each of their options."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from arena.utils.tabular import as_json
from arena_sota.auc_estimate import estimate_auc_sota
from arena_sota.binormal import DrawnMaximum
from arena_sota.dependence import (
    bounds,
    conditional_probabilities,
    correlation_from_similarity,
    inside_bounds,
    largest_rho0,
)
from arena_sota.dependence_estimate import ClassRanks, auc_dependence, estimate_dependence
from arena_sota.empirical_bayes import empirical_bayes_best, interval_of_best_accuracy
from arena_sota.estimate import estimate_sota
from arena_sota.maximum import SampleMaximum, sample_maximum
from arena_sota.posterior import best_posterior
from kept import check_kept_document

BOARD = np.array([0.84, 0.81, 0.8, 0.8, 0.76, 0.7, 0.52, 0.3])
CASES: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "coins": ((12, 0.5, 9), {}),
    "three": ((12, [0.9, 0.7, 0.5]), {}),
    "three of a cause": ((40, [0.9, 0.7, 0.5]), {"rho0": 0.4}),
    "a cause of its own": ((40, [0.9, 0.7, 0.5]), {"rho0": 0.4, "theta0": 0.8}),
    "known easy rows": ((40, [0.9, 0.7, 0.5]), {"rho0": 0.4, "correct0": 30}),
    "drawn": ((40, [0.9, 0.7, 0.5], 9), {"random": True}),
    "drawn, of a cause": ((400, [0.9, 0.7, 0.5], 9), {"random": True, "rho0": 0.4}),
    "outside": ((40, [0.8, 0.78, 0.2]), {"rho0": 0.9, "theta0": 0.8}),
    "many": ((300, np.linspace(0.7, 0.8, 45)), {}),
    "many, drawn": ((300, np.linspace(0.7, 0.8, 45)), {"random": True}),
}
"""Rows, success probabilities and a number of classifiers, and the options."""


def described(maximum: SampleMaximum | DrawnMaximum) -> dict[str, Any]:
    """Return what a distribution of the best score says of itself and of some scores."""
    scores, shares = (0.0, 0.7, 0.79, 0.8, 0.825, 1.0), (0.0, 0.01, 0.3, 0.5, 0.99, 1.0)
    return {
        **maximum.to_dict(),
        "below": [maximum.cdf(score) for score in scores],
        "at least": [maximum.at_least(score) for score in scores],
        "quantiles": [maximum.quantile(share) for share in shares],
        "interval of 80%": maximum.interval(0.8),
    }


def test_distributions_of_the_best_score_are_kept() -> None:
    drawn = DrawnMaximum(np.array([0.78, 0.79, 0.8, 0.8, 0.83]), 0.78)
    equal = DrawnMaximum(np.array([0.8, 0.8]), 0.8)
    grid = np.array([0.0, 0.2, 0.5, 0.8, 1.0])
    check_kept_document("sota-maxima", as_json({
        "exact": {
            name: described(sample_maximum(*arguments, **options))
            for name, (arguments, options) in CASES.items()
        },
        "drawn": [
            {
                **described(maximum),
                "errors": [maximum.simulation_error, maximum.std_simulation_error],
                "errors of shares": [maximum.at_least_error(score) for score in (0.5, 0.8, 1.0)],
                "errors of quantiles": [maximum.quantile_error(share) for share in (0, 0.3, 0.9)],
            }
            for maximum in (drawn, equal)
        ],
        "one draw": DrawnMaximum(np.array([0.8]), 0.8).std,
        "given the cause": [
            conditional_probabilities(grid, rho0, theta0)
            for rho0, theta0 in ((0.0, 0.5), (0.5, 0.8), (0.9, 0.3))
        ],
        "bounds": [bounds(rho0, theta0) for rho0, theta0 in ((0.0, 0.5), (0.5, 0.8), (0.9, 0.3))],
        "inside": [inside_bounds(grid, rho0, 0.5) for rho0 in (0.4, 0.5, 0.6, 1.0)],
        "largest rho0": [
            largest_rho0(grid[:k], theta0) for k in (1, 2, 5) for theta0 in (0.3, 0.8)
        ],
        "correlations": [
            correlation_from_similarity(0.7, 0.8), correlation_from_similarity(0.7, 0.8, 0.6),
            correlation_from_similarity(0.4, 0.8, 0.6), correlation_from_similarity(0.8, 0.8, 0.6),
        ],
    }))  # fmt: skip


def test_estimates_of_a_small_board_are_kept() -> None:
    options = (
        {}, {"rho0": 0.0, "target": "upper", "level": 0.8}, {"rho0": 0.0, "theta": "fixed"},
        {"rho0": 0.0, "method": "crop"}, {"rho0": 0.0, "n_scores": 90},
    )  # fmt: skip
    documents = {
        str(of_board): estimate_sota(BOARD, 90, 2, **of_board).to_dict()  # type: ignore[arg-type]
        for of_board in options
    }
    documents["three classes"] = estimate_sota(BOARD, 90, 3, rho0=0.2).to_dict()
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(5, 24)) + rng.normal(size=24) + np.arange(24) // 14
    scores[4] = scores[0] + 0.01 * rng.normal(size=24)  # nearly a copy
    right, truth = scores > 0.5, np.arange(24) >= 14
    ranks = ClassRanks(truth, 5)
    ranks.put(0, scores[:2])
    ranks.put(2, scores[2:])
    posteriors = [
        best_posterior(BOARD, 90, 2, rho0=0.0),
        best_posterior(BOARD, 90, 3, rho0=0.0, epsilon=0.03, prior=lambda best: 1 - best),
    ]
    check_kept_document("sota-estimates", as_json({
        **documents,
        "areas": [
            estimate_auc_sota(BOARD, 20, 30, np.random.default_rng(1), repetitions=9, **of_areas)
            .to_dict()
            for of_areas in ({}, {"rho": 0.5, "target": "upper", "level": 0.5})
        ],
        "posteriors": [
            {
                "mean": posterior.mean, "epsilon": posterior.epsilon, "prior": posterior.prior,
                "intervals": [posterior.interval(), posterior.interval(0.5)],
                "best": posterior.best[[0, 1, -1]], "probability": posterior.probability[::9],
            }
            for posterior in posteriors
        ],
        "empirical Bayes": [
            empirical_bayes_best(scores, n_rows, rho0=rho0)
            for scores, n_rows, rho0 in (
                (BOARD, 90, 0.0), (BOARD, 90, 0.6), (BOARD, 9_000, 0.0), (BOARD[:2], 1, 0.0),
                (BOARD[[0, 0, 0, 6]], 90, 0.0),
            )
        ],
        "intervals": [
            interval_of_best_accuracy(best, 50, n_teams, level)
            for best in (0.0, 0.8, 1.0) for n_teams, level in ((1, 0.95), (7, 0.8))
        ],
        "dependence": [
            asdict(estimate_dependence(right)),
            asdict(estimate_dependence(right, level=0.8, groups=np.arange(24) // 2)),
            asdict(auc_dependence(ranks)),
            asdict(auc_dependence(ranks, level=0.8)),
        ],
    }))  # fmt: skip
