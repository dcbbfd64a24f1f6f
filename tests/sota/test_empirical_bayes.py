"""The interval for the best true accuracy, and its estimate by empirical Bayes."""

from __future__ import annotations

import numpy as np
import pytest

from arena_sota.dependence import conditional_probabilities
from arena_sota.empirical_bayes import empirical_bayes_best, interval_of_best_accuracy

M, N = 100, 400


def boards(theta, rho0, repetitions, rng):
    """Return ``(repetitions, m)`` scores of teams with a common cause."""
    theta0 = float(theta.max())
    right, wrong = conditional_probabilities(theta, rho0, theta0)
    easy = rng.binomial(N, theta0, (repetitions, 1))
    return (rng.binomial(easy, right) + rng.binomial(N - easy, wrong)) / N


EQUAL = np.full(M, 0.8)
SPREAD = np.linspace(0.74, 0.86, M)
LEADER = np.where(np.arange(M) == 0, 0.86, 0.8)


@pytest.mark.few(3)
@pytest.mark.parametrize("rho0", [0.0, 0.6, 0.9])
@pytest.mark.parametrize("theta", [EQUAL, SPREAD, LEADER], ids=["equal", "spread", "leader"])
def test_the_interval_covers_on_any_board(theta, rho0):
    best = boards(theta, rho0, 400, np.random.default_rng(0)).max(axis=1)
    ends = np.array([interval_of_best_accuracy(accuracy, N, M) for accuracy in best])
    covered = (ends[:, 0] <= theta.max()) & (theta.max() <= ends[:, 1])
    assert covered.mean() >= 0.95


def test_the_lower_end_knows_of_how_many_the_best_was_selected():
    single, many = (interval_of_best_accuracy(0.85, 400, m) for m in (1, 1_000))
    assert many[0] < single[0] < 0.85 < single[1] == many[1]
    assert interval_of_best_accuracy(1.0, 50, 10)[1] == 1.0
    assert interval_of_best_accuracy(0.0, 50, 10)[0] == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("rho0", [0.0, 0.6])
def test_it_removes_most_of_the_bias_of_equal_teams(rho0):
    accuracies = boards(EQUAL, rho0, 20, np.random.default_rng(1))
    estimates = np.array([empirical_bayes_best(scores, N, rho0=rho0) for scores in accuracies])
    assert abs(estimates - 0.8).mean() < 0.6 * abs(accuracies.max(axis=1) - 0.8).mean()


def test_far_teams_do_not_matter():
    near = boards(SPREAD, 0.0, 1, np.random.default_rng(2))[0]
    estimate = empirical_bayes_best(near, N)
    assert estimate == empirical_bayes_best(np.concatenate([near, [0.1, 0.2]]), N)
    assert abs(estimate - 0.86) < 0.03


def test_a_board_of_none_or_all_right_is_half_a_row_from_the_end():
    ends = [empirical_bayes_best(np.full(3, score), 50) for score in (0.0, 1.0)]
    assert ends == pytest.approx([0.01, 0.99])
