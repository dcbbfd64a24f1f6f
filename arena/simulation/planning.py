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
from arena.resampling import round_significant
from arena.results import as_json
from arena.simulation.planned_uncertainty import (
    draw_true_scores,
    normal_errors,
    pair_errors,
    paired_power,
    rows_until_the_best_leads,
    shrinkage,
    single_step_widths,
)
from arena.types import FloatArray, IntArray

__all__ = ["Plan", "PlanRow", "plan_rows"]

_MOST = 50
_BOARDS = 200
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
    """Without copies, at most the best 50."""
    copies: int
    """Submissions left out since they are equal to another one in every resample."""
    difference: float
    """The difference that the power is for, in the metric's units."""
    standard_error: float
    """Of a difference of two submissions on the pilot's rows: the median over all pairs."""
    shrinkage: float
    """In [0, 1]: see :func:`~arena.simulation.planned_uncertainty.shrinkage`."""
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


def plan_rows(
    scores: FloatArray,
    resampled: FloatArray,
    n_rows: int,
    *,
    greater_is_better: bool,
    difference: float | None = None,
    test_rows: Sequence[int] | None = None,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
) -> Plan:
    """Return how certain the ranks of these submissions would be on other numbers of rows.

    Parameters
    ----------
    scores
        ``(m,)`` of the pilot; copies count once, and the best 50 are kept. Their true scores are
        drawn by :func:`~arena.simulation.planned_uncertainty.draw_true_scores`.
    resampled
        ``(m, B)`` scores under B joint resamples of the n rows.
    n_rows
        n.
    difference
        In the metric's units; None: the lead of the best over the next score.
    test_rows
        N; None: from a quarter to sixteen times n.
    level
        Of the test and of the rank intervals.
    rng
        Draws true scores, and the errors of fresh rows; None: that of seed 0.

    Raises
    ------
    UsageError
        With fewer than two submissions, a level or numbers out of range, or no difference.
    """
    ordered = best_first(scores, greater_is_better=greater_is_better)
    distinct = ordered[_distinct(resampled[ordered])]
    if len(distinct) < 2:
        raise UsageError("A plan needs at least two submissions that differ, to compare them.")
    sign = 1.0 if greater_is_better else -1.0
    pilot = _Pilot.of(
        sign * round_significant(scores[distinct]), sign * resampled[distinct], n_rows
    )
    gap = pilot.lead if difference is None else difference
    grid = list(test_rows or [max(2, round(n_rows * step)) for step in _STEPS])
    _check(gap, grid, level, stated=difference is not None)
    return pilot.plan(
        gap, grid, level, rng or np.random.default_rng(0), copies=len(ordered) - len(distinct)
    )


def _distinct(resampled: FloatArray) -> IntArray:
    """Return the positions of the first of each group of equal rows, in order."""
    _, first = np.unique(round_significant(resampled), axis=0, return_index=True)
    return np.asarray(np.sort(first), dtype=np.intp)


def _check(gap: float, grid: Sequence[int], level: float, *, stated: bool) -> None:
    if not 0 < level < 1:
        raise UsageError(f"The level must lie between 0 and 1, not at {level:g}.")
    if min(grid) < 2:
        raise UsageError("The numbers of rows must be 2 or more.")
    if not 0 < gap < np.inf:
        said = "must be positive" if stated else "of all scores is 0: state one"
        raise UsageError(f"The difference {said}, with --difference.")


@dataclass(frozen=True, slots=True, eq=False)
class _Pilot:
    """Submissions that differ, the best first, and larger is better."""

    scores: FloatArray
    """``(m,)``."""
    errors: FloatArray
    """``(m, B)`` of the resamples."""
    n_rows: int

    @classmethod
    def of(cls, scores: FloatArray, resampled: FloatArray, n_rows: int) -> _Pilot:
        return cls(scores, resampled - resampled.mean(axis=1, keepdims=True), n_rows)

    @property
    def lead(self) -> float:
        """The lead of the best over the next lower score; infinite without one."""
        leads = self.scores[0] - self.scores
        return float(leads[leads > 0].min(initial=np.inf))

    def plan(
        self, gap: float, grid: Sequence[int], level: float, rng: np.random.Generator, copies: int
    ) -> Plan:
        """Return the plan for its best 50."""
        kept = np.arange(min(_MOST, len(self.scores)))
        errors = self.errors[kept]
        true = draw_true_scores(self.scores, self.errors, kept, rng)
        fresh = normal_errors(errors, rng)
        factor = shrinkage(self.scores, self.errors)
        until = rows_until_the_best_leads(true, fresh, self.n_rows) if factor else None
        pairs = pair_errors(errors)[np.triu_indices(len(kept), k=1)]
        error = float(np.median(pairs[pairs > 0])) if (pairs > 0).any() else 0.0
        boards = _Boards(true[:, :_BOARDS], fresh[:, :_BOARDS], errors, self.n_rows, level)
        return Plan(
            self.n_rows,
            len(kept),
            copies,
            gap,
            error,
            factor,
            level,
            tuple(boards.row(rows, gap, error, until) for rows in grid),
            tuple(
                (share, _rows_for(share, gap, error, level, self.n_rows, len(pairs)))
                for share in _SHARES
            ),
            tuple((share, _rows_until(until, share)) for share in _SHARES),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Boards:
    """Boards on fresh rows, of drawn true scores and errors."""

    true: FloatArray
    fresh: FloatArray
    errors: FloatArray
    """Of the pilot's resamples."""
    n_rows: int
    level: float

    def row(self, rows: int, gap: float, error: float, until: FloatArray | None) -> PlanRow:
        """Return what so many rows would give."""
        scale = float(np.sqrt(self.n_rows / rows))
        m = len(self.true)
        boards = self.true + scale * self.fresh
        widths, winners = single_step_widths(boards, self.errors, self.level, scale)
        return PlanRow(
            rows,
            paired_power(gap, scale * error, self.level),
            paired_power(gap, scale * error, self.level, m * (m - 1) // 2),
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
    return float(np.ceil(np.quantile(until, share, method="inverted_cdf")))
