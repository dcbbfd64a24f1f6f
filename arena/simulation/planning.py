"""How many private rows make the top ranks stable: from predictions that are there, no training.

Everything rests on how the scores of the pilot's submissions vary together over joint resamples
of its n rows. On N rows all errors shrink as ``sqrt(n / N)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from arena.errors import UsageError
from arena.leaderboard import best_first
from arena.results import as_json
from arena.simulation.outcome import rows_until_best_wins
from arena.types import FloatArray

__all__ = ["Plan", "PlanRow", "paired_power", "plan_rows", "shrinkage", "single_step_widths"]

_MOST = 50
_SIMULATED = 200
_SHARES = (0.5, 0.8, 0.9, 0.95)
_STEPS = (0.25, 0.5, 1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class PlanRow:
    """What a number of private rows would give."""

    test_rows: int
    power: float
    """Of the two-sided paired test of two submissions that were named before."""
    power_corrected: float
    """The same, corrected for all pairs of the board (Bonferroni)."""
    interval_width: float
    """Expected worst less best possible rank of a submission, mean over the board."""
    winner_width: float
    """The same, of whoever wins."""
    winner_shown: float
    """Probability that the winner is shown to be better than every other one."""
    best_wins: float | None
    """Probability that the truly best wins; None: nothing tells the submissions apart."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How the certainty of the ranks grows with the rows."""

    pilot_rows: int
    submissions: int
    difference: float
    """The difference that the power is for, in the metric's units."""
    standard_error: float
    """Of a difference of two submissions on the pilot's rows: the median over all pairs."""
    shrinkage: float
    """In [0, 1]: see :func:`shrinkage`."""
    level: float
    rows: tuple[PlanRow, ...]
    power_rows: tuple[tuple[float, float], ...]
    """Power, and the rows that the corrected test needs for it."""
    best_wins_rows: tuple[tuple[float, float | None], ...]
    """Probability, and the rows from which on the truly best wins with it."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["rows"] = [
            {name: getattr(row, name) for name in row.__dataclass_fields__} for row in self.rows
        ]
        plain["power_rows"] = _pairs("power", self.power_rows)
        plain["best_wins_rows"] = _pairs("probability", self.best_wins_rows)
        document: dict[str, Any] = as_json(plain)
        return document


def _pairs(name: str, pairs: Sequence[tuple[float, float | None]]) -> list[dict[str, Any]]:
    return [{name: share, "test_rows": rows} for share, rows in pairs]


def paired_power(
    difference: float, standard_error: float, level: float, comparisons: int = 1
) -> float:
    """Return the power of a two-sided paired test, by the normal approximation.

    ``Phi(d / SE - z) + Phi(-d / SE - z)`` with z the ``1 - (1 - level) / (2 k)`` quantile.

    Parameters
    ----------
    difference
        The true difference d.
    standard_error
        Of its estimate, SE.
    level
        1 less the probability of an error of the first kind.
    comparisons
        k, over which the error is divided (Bonferroni).

    Examples
    --------
    >>> round(paired_power(2.8, 1.0, 0.95), 3), round(paired_power(0.0, 1.0, 0.95), 3)
    (0.8, 0.05)
    """
    if standard_error == 0:
        return float(difference != 0)
    critical = special.ndtri(1 - (1 - level) / (2 * comparisons))
    ratio = abs(difference) / standard_error
    return float(special.ndtr(ratio - critical) + special.ndtr(-ratio - critical))


def shrinkage(scores: FloatArray, errors: FloatArray) -> float:
    """Return how far the scores must be drawn to their mean to vary as the true ones do.

    Observed scores vary by their truth and by chance. The factor is
    ``sqrt(1 - chance variance / observed variance)``, 0 where chance explains it all; both are of
    the scores about their mean, the former averaged over the ``(m, B)`` errors.

    >>> shrinkage(np.array([1.0, 3.0]), np.array([[0.0, 0.0], [0.0, 0.0]]))
    1.0
    """
    observed = float(np.var(scores, ddof=1))
    chance = float(np.mean(np.var(errors - errors.mean(axis=1, keepdims=True), axis=0, ddof=1)))
    return float(np.sqrt(max(0.0, 1 - chance / observed))) if observed > 0 else 0.0


def single_step_widths(
    true: FloatArray, errors: FloatArray, level: float, scale: float
) -> tuple[FloatArray, FloatArray]:
    """Simulate boards and the width of their simultaneous rank intervals.

    Larger is better. The boards are ``true + scale * errors`` of the first 200 draws; the
    critical value is the ``level`` quantile of the largest studentised difference over all draws.
    It is found once and not again after pairs are decided, so the intervals are those of Mogstad,
    Romano, Shaikh and Wilhelm (2024) without their stepdown, and never narrower.

    Returns
    -------
    ``(b, m)`` widths (worst less best possible rank) and ``(b,)`` those of each winner. Holds
    three arrays of ``(m, m)`` per board.

    Examples
    --------
    >>> errors = np.array([[0.1, -0.1, 0.1], [-0.1, 0.1, 0.1]])
    >>> single_step_widths(np.array([9.0, 1.0]), errors, 0.9, 1.0)[1].tolist()
    [0.0, 0.0, 0.0]
    """
    deviations = _pair_errors(errors)
    precision = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0)
    largest = [float(np.max((e[:, None] - e) * precision)) for e in errors.T]
    critical = float(np.quantile(largest, level, method="inverted_cdf"))
    widths = []
    for draw in errors.T[:_SIMULATED]:
        shown = true + scale * draw
        better = (shown[:, None] - shown > critical * scale * deviations) & (deviations > 0)
        widths.append(len(true) - better.sum(axis=1) - 1 - better.sum(axis=0))
    all_widths = np.array(widths, dtype=np.float64)
    winners = (true[:, None] + scale * errors[:, :_SIMULATED]).argmax(axis=0)
    return all_widths, all_widths[np.arange(len(winners)), winners]


def _pair_errors(errors: FloatArray) -> FloatArray:
    """Return ``(m, m)`` standard deviations of the differences of the errors."""
    covariance = np.atleast_2d(np.cov(errors))
    variances = covariance.diagonal()
    squared = np.maximum(variances[:, None] + variances - 2 * covariance, 0.0)
    squared[squared < 1e-12 * variances.max()] = 0.0
    return np.asarray(np.sqrt(squared))


def plan_rows(
    scores: FloatArray,
    resampled: FloatArray,
    n_rows: int,
    *,
    greater_is_better: bool,
    difference: float | None = None,
    test_rows: Sequence[int] | None = None,
    level: float = 0.95,
) -> Plan:
    """Return how certain the ranks of these submissions would be on other numbers of rows.

    Parameters
    ----------
    scores
        ``(m,)`` of the pilot; the best 50 are kept. Their true scores are taken to be these,
        drawn to their mean by :func:`shrinkage`: as they stand, they are further apart than the
        truth, by chance.
    resampled
        ``(m, B)`` scores under B joint resamples of the n rows.
    n_rows
        n.
    difference
        In the metric's units; None: the lead of the first over the second.
    test_rows
        N; None: from a quarter to sixteen times n.
    level
        Of the test and of the rank intervals.

    Raises
    ------
    UsageError
        With fewer than two submissions, a level or numbers out of range, or no difference.
    """
    kept = best_first(scores, greater_is_better=greater_is_better)[:_MOST]
    scores = scores[kept]
    if len(scores) < 2:
        raise UsageError("A plan needs at least two submissions, to compare them.")
    gap = abs(float(scores[0] - scores[1])) if difference is None else difference
    grid = list(test_rows or [max(2, round(n_rows * step)) for step in _STEPS])
    _check(gap, grid, level, stated=difference is not None)
    sign = 1.0 if greater_is_better else -1.0
    resampled = resampled[kept]
    errors = sign * (resampled - resampled.mean(axis=1, keepdims=True))
    factor = shrinkage(scores, errors)
    true = sign * scores
    true = true.mean() + factor * (true - true.mean())
    until = rows_until_best_wins(true, errors, n_rows, greater_is_better=True) if factor else None
    pairs = _pair_errors(errors)[np.triu_indices(len(scores), k=1)]
    error = float(np.median(pairs[pairs > 0])) if (pairs > 0).any() else 0.0
    return Plan(
        n_rows,
        len(scores),
        gap,
        error,
        factor,
        level,
        tuple(_row(rows, n_rows, gap, error, level, true, errors, until) for rows in grid),
        tuple(
            (share, _rows_for(share, gap, error, level, n_rows, len(pairs))) for share in _SHARES
        ),
        tuple((share, _rows_until(until, share)) for share in _SHARES),
    )


def _check(gap: float, grid: Sequence[int], level: float, *, stated: bool) -> None:
    if not 0 < level < 1:
        raise UsageError(f"The level must lie between 0 and 1, not at {level:g}.")
    if min(grid) < 2:
        raise UsageError("The numbers of rows must be 2 or more.")
    if not gap > 0:
        said = "must be positive" if stated else "of the first two is 0: state one"
        raise UsageError(f"The difference {said}, with --difference.")


def _row(
    rows: int,
    n_rows: int,
    gap: float,
    error: float,
    level: float,
    true: FloatArray,
    errors: FloatArray,
    until: FloatArray | None,
) -> PlanRow:
    scale = float(np.sqrt(n_rows / rows))
    m = len(true)
    widths, winners = single_step_widths(true, errors, level, scale)
    return PlanRow(
        rows,
        paired_power(gap, scale * error, level),
        paired_power(gap, scale * error, level, m * (m - 1) // 2),
        float(widths.mean()),
        float(winners.mean()),
        float((winners == 0).mean()),
        None if until is None else float((until <= rows).mean()),
    )


def _rows_for(
    share: float, gap: float, error: float, level: float, n_rows: int, pairs: int
) -> float:
    """Return the rows for a power of the corrected test, the far tail left out."""
    critical = special.ndtri(1 - (1 - level) / (2 * pairs))
    return float(np.ceil(n_rows * ((critical + special.ndtri(share)) * error / gap) ** 2))


def _rows_until(until: FloatArray | None, share: float) -> float | None:
    if until is None:
        return None
    value = float(np.quantile(until, share, method="inverted_cdf"))
    return float(np.ceil(value)) if np.isfinite(value) else None
