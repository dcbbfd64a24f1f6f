"""The best true accuracy by empirical Bayes: the board estimates the prior of true accuracies.

The papers' shrink and crop ask which true performances make the expected best score equal the
observed one. Here the distribution of the true accuracies is estimated from all scores
(nonparametric maximum likelihood, Kiefer and Wolfowitz 1956, by the EM algorithm), each score being
normal around its true accuracy; the estimate is the posterior mean of the largest true accuracy.

The common part of the errors of all teams shifts the whole board and cannot be seen in scores: only
the specific part of each team counts, 1 - rho0² of the variance. The EM algorithm starts from a
uniform prior and stops after 200 steps, which keeps the prior smooth (Laird and Louis 1991).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.types import DEFAULT_LEVEL, FloatArray
from arena_sota.checks import board_scores, check_numbers

_POINTS = 200
_STEPS = 200
_REACH = 20.0
"""Teams more standard deviations below the best are excluded: they cannot be the best."""
_TINY = 1e-300


def empirical_bayes_best(scores: npt.ArrayLike, n_rows: int, *, rho0: float = 0.0) -> float:
    """Return the posterior mean of the largest true accuracy of a board.

    Parameters
    ----------
    scores
        ``(m,)`` accuracies in [0, 1], at least two.
    n_rows
        The number n of rows that they were computed on.
    rho0
        Correlation of each classifier with the common cause, in [0, 1).

    Raises
    ------
    UsageError
        If a score is not in [0, 1], or an argument is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.binomial(500, 0.8, 200) / 500  # two hundred equal teams
    >>> bool(scores.max() > 0.84), round(empirical_bayes_best(scores, 500), 2)
    (True, 0.81)
    """
    values, teams = np.unique(board_scores(scores), return_counts=True)
    check_numbers(n_rows, None, rho0=rho0, theta0=None, correct0=None)
    top = float(values[-1])
    reach = _REACH * np.sqrt(max(top * (1 - top), 1 / n_rows) / n_rows)
    near = values >= top - reach
    values, teams, edge = values[near], teams[near], 0.5 / n_rows
    low, high = np.clip(values[[0, -1]], edge, 1 - edge).tolist()
    grid = np.linspace(low, high, _POINTS)
    variance = grid * (1 - grid) * (1 - rho0**2) / n_rows
    logs = -np.square(values[:, None] - grid) / (2 * variance) - np.log(variance) / 2
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    prior = np.full(_POINTS, 1 / _POINTS)
    posterior = _posterior(likelihood, prior)
    for _ in range(_STEPS):
        prior = teams @ posterior / teams.sum()
        posterior = _posterior(likelihood, prior)
    below = np.clip(np.cumsum(posterior, axis=1), _TINY, 1.0)
    largest = np.exp(teams @ np.log(below))
    return float(grid @ np.diff(largest, prepend=0.0) / largest[-1])


def _posterior(likelihood: FloatArray, prior: FloatArray) -> FloatArray:
    joint = likelihood * prior
    return np.asarray(joint / np.maximum(joint.sum(axis=1, keepdims=True), _TINY))


def interval_of_best_accuracy(
    best: float, n_rows: int, n_teams: int, level: float = DEFAULT_LEVEL
) -> tuple[float, float]:
    """Return a confidence interval for the largest true accuracy, from the best score alone.

    The lower end is that of Clopper and Pearson for the best score, with the level corrected for
    m teams (Bonferroni): with that confidence no team's lower end is above its true accuracy. The
    upper end needs no correction: the truly best team's own upper end is at most that of the best
    score. Only the rows must be independent of one another; the true accuracies and the dependence
    between teams may be anything.

    Parameters
    ----------
    best
        The best score, in [0, 1].
    n_rows
        The number n of rows.
    n_teams
        The number m of all scores of which it is the best.
    level
        In (0, 1).

    Examples
    --------
    >>> [round(end, 4) for end in interval_of_best_accuracy(0.85, 500, 200)]
    [0.7842, 0.8802]
    """
    from scipy.special import betaincinv

    right = round(best * n_rows)
    alpha = 1 - level
    low = float(betaincinv(right, n_rows - right + 1, alpha / 2 / n_teams)) if right else 0.0
    high = float(betaincinv(right + 1, n_rows - right, 1 - alpha / 2)) if right < n_rows else 1.0
    return low, high
