"""The true performance of the best submission, corrected for its selection among many.

Møllersen and Holsbø, *Accounting for multiplicity in machine learning benchmark performance*,
section 5: find success probabilities whose expected best score is the best score of the board;
the largest of them is the estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.evaluation.levels import check_level
from arena.types import DEFAULT_LEVEL, FloatArray
from arena.utils.representation import short_repr
from arena.utils.tabular import as_json
from arena_sota.checks import board_scores, check_numbers, check_room_for_a_cause
from arena_sota.distribution import BestScoreDistribution
from arena_sota.empirical_bayes import empirical_bayes_best, interval_of_best_accuracy
from arena_sota.maximum import maximum_of_values
from arena_sota.shrink_and_crop import Gap, crop, shrink
from arena_sota.verdict import reach_of_others, sota_verdict

Method: TypeAlias = Literal["shrink", "crop"]
Target: TypeAlias = Literal["mean", "upper"]
Theta: TypeAlias = Literal["bootstrap", "fixed"]

_WEIGHT_TOLERANCE = 1e-6


MaximumOf: TypeAlias = Callable[[FloatArray, float], BestScoreDistribution]
"""``maximum_of(theta (k,), settled)``: of m classifiers of these true performances."""


@dataclass(frozen=True, slots=True, eq=False)
class SotaEstimate:
    """The estimate, or the reason why there is none. Scores are in [0, 1]."""

    __repr__ = short_repr

    solved: bool
    """Whether the equation has a solution; otherwise the estimate is the nearest value."""
    sota: float | None
    """The true performance of the best submission; None: there is no solution."""
    method: Method
    """How scores were corrected: ``shrink`` or ``crop``."""
    target: Target
    """What equals the best score under the estimate: its mean or its median."""
    parameter: float | None
    """The weight w of the observed scores (shrink), or the largest score c kept (crop)."""
    neighbours: tuple[tuple[float, float], ...]
    """For crop, which moves in steps: the two crops that bracket the target, each with its
    expected best score."""
    interval: tuple[float, float]
    """Of the best score, if that were the true performances."""
    expected_maximum: float
    """The mean of the best score, if that were the true performances."""
    observed_maximum: float
    """The best score on the leaderboard."""
    n_teams: int
    """The number m of teams with a score above chance."""
    n_above: int | None
    """Teams whose score is above the estimate."""
    left_out: float
    """Teams outside the bounds of the dependence model; they cannot become the best."""
    at_or_below_chance: int
    """Scores at or below chance, which are left out first."""
    level: float
    """Confidence level, in (0, 1)."""
    verdict: str
    """One sentence for non-statisticians."""
    performances: FloatArray
    """``(k,)`` the true performances of the solution, or of the closest approximation."""
    observed: FloatArray
    """``(m,)`` the scores above chance."""
    maximum: BestScoreDistribution
    """The distribution of the best score, if those were the true performances."""
    sota_interval: tuple[float, float] | None = None
    """Confidence interval for the best true accuracy, without a model of the teams and for every
    method. None for AUCs, whose standard errors cannot be computed from scores."""
    empirical_bayes: float | None = None
    """The best true accuracy by empirical Bayes; None for AUCs."""

    @property
    def simulation_error(self) -> float | None:
        """Standard error of the simulated expected best score; None where it is exact.

        The error of the estimate itself is about as large.
        """
        return self.maximum.simulation_error

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the arrays as JSON."""
        name = "weight" if self.method == "shrink" else "crop"
        document: dict[str, Any] = as_json(
            {
                "solved": self.solved,
                "sota": self.sota,
                "sota_interval": None if self.sota_interval is None else list(self.sota_interval),
                "empirical_bayes": self.empirical_bayes,
                name: self.parameter,
                "neighbours": [list(pair) for pair in self.neighbours],
                "interval": list(self.interval),
                "expected_maximum": self.expected_maximum,
                "simulation_error": self.simulation_error,
                "observed_maximum": self.observed_maximum,
                "n_teams": self.n_teams,
                "n_above": self.n_above,
                "left_out": round(self.left_out, 6),
                "at_or_below_chance": self.at_or_below_chance,
                "level": self.level,
                "verdict": self.verdict,
            }
        )
        return document


def estimate_sota(
    scores: npt.ArrayLike,
    n_rows: int,
    classes: int,
    *,
    rho0: float = 0.6,
    method: Method = "shrink",
    target: Target = "mean",
    theta: Theta = "bootstrap",
    level: float = DEFAULT_LEVEL,
    n_scores: int | None = None,
) -> SotaEstimate:
    """Estimate the true accuracy of the best submission from the scores of a board alone.

    The computation is exact: sums replace the papers' simulations of classifiers and rows.

    Parameters
    ----------
    scores
        ``(m,)`` accuracies in [0, 1]; those at or below 1/classes are left out first.
    n_rows
        The number n of rows that they were computed on.
    classes
        The number of classes; a guess is right with probability 1/classes.
    rho0
        Correlation of each classifier with the common cause, in [0, 1); 0.6 in the papers.
        :func:`~arena_sota.dependence_estimate.estimate_dependence` finds it from predictions.
    method
        ``shrink``: w score + (1 - w)/classes (Eq. 9). ``crop``: scores up to c, drawn up to m.
    target
        What must equal the observed best score: the ``mean`` of the best score, or the ``upper``
        end of its interval, the more cautious estimate.
    theta
        ``bootstrap``: m classifiers drawn from these performances, as in the papers; ``fixed``:
        exactly these; shrink then always has a solution.
    level
        Of the intervals, in (0, 1).
    n_scores
        The number of scores on these rows from which the best was selected; None: the given ones.
        Larger if a score is the best of several submissions.

    Raises
    ------
    UsageError
        If fewer than two scores are above chance, a score is not in [0, 1], or an argument is out
        of range or incompatible with another.

    Examples
    --------
    >>> scores = 0.91 - 0.02 * np.linspace(0, 1, 200) ** 2
    >>> found = estimate_sota(scores, 5_000, 2)
    >>> found.solved, round(found.sota, 3), round(found.expected_maximum, 3)
    (True, 0.903, 0.91)
    """
    values = board_scores(scores)
    if classes < 2:
        raise UsageError("There must be at least two classes.")
    check_numbers(n_rows, None, rho0=rho0, theta0=None, correct0=None)
    check_room_for_a_cause(rho0, values)

    def maximum_of(performances: FloatArray, settled: float) -> BestScoreDistribution:
        size = int((values > 1 / classes).sum())
        return maximum_of_values(
            n_rows, performances, size, random=theta == "bootstrap", rho0=rho0, settled=settled
        )

    solved = solve(
        values, 1 / classes, maximum_of, method=method, target=target, theta=theta, level=level
    )
    best, selected_from = solved.observed_maximum, n_scores or len(values)
    return replace(
        solved,
        sota_interval=interval_of_best_accuracy(best, n_rows, selected_from, level),
        empirical_bayes=empirical_bayes_best(values, n_rows, rho0=rho0),
    )


def solve(
    values: FloatArray,
    chance: float,
    maximum_of: MaximumOf,
    *,
    method: Method,
    target: Target,
    theta: Theta,
    level: float,
    tolerance: float = _WEIGHT_TOLERANCE,
) -> SotaEstimate:
    """Return the estimate for checked scores and any model of the best score.

    Raises
    ------
    UsageError
        If fewer than two scores are above chance, or the arguments are incompatible.
    """
    above = values[values > chance]
    _check_solvable(values, above, chance=chance, method=method, theta=theta, level=level)
    observed = float(above.max())
    gap = _gap(observed, target, level, maximum_of)
    find = shrink if method == "shrink" else crop
    root = find(above, chance, gap, tolerance)
    performances = root.performances
    maximum = maximum_of(performances, 1e-4)
    sota = float(performances.max()) if root.side == 0 else None
    n_above = None if sota is None else int((above > sota).sum())
    reach = reach_of_others(above, level, maximum_of) if root.side > 0 else np.inf
    neighbours = tuple(
        (crop, maximum_of(kept_models, np.inf).mean) for crop, kept_models in root.neighbours
    )
    return SotaEstimate(
        solved=root.side == 0,
        sota=sota,
        method=method,
        target=target,
        parameter=root.parameter if root.side == 0 else None,
        neighbours=neighbours,
        interval=maximum.interval(level),
        expected_maximum=maximum.mean,
        observed_maximum=observed,
        n_teams=len(above),
        n_above=n_above,
        left_out=maximum.left_out,
        at_or_below_chance=len(values) - len(above),
        level=level,
        verdict=sota_verdict(
            root.side,
            target,
            observed=observed,
            expected=maximum.mean,
            sota=sota,
            n_teams=len(above),
            n_above=n_above,
            reach=reach,
        ),
        performances=performances,
        observed=above,
        maximum=maximum,
    )


def _check_solvable(
    values: FloatArray, above: FloatArray, chance: float, method: Method, theta: Theta, level: float
) -> None:
    if len(above) < 2:
        raise UsageError(
            f"Only {len(above)} of {len(values)} scores are above {chance:.4g}, the score of "
            f"guessing; at least two are needed. Check that larger is better, and the number of "
            f"classes."
        )
    check_level(level)
    if method == "crop" and theta == "fixed":
        raise UsageError("Method crop resamples the scores that it keeps: use --theta bootstrap.")


def _gap(observed: float, target: Target, level: float, maximum_of: MaximumOf) -> Gap:
    """Return the target minus the observed best score; 0 at the solution."""
    if target == "mean":
        return lambda performances: maximum_of(performances, np.inf).mean - observed
    return lambda performances: (1 + level) / 2 - maximum_of(performances, 1e-2).cdf(observed)
