"""Simultaneous confidence intervals for ranks, and the tiers that follow from them.

Mogstad, Romano, Shaikh and Wilhelm (2024), *Inference for Ranks with Applications to Mobility
across Neighbourhoods and Academic Achievement across Countries*, Review of Economic Studies 91.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.results import Tabular
from arena.types import FloatArray, IntArray
from arena_ranking.differences import standard_errors_from_resamples
from arena_ranking.maxima import largest_differences

if TYPE_CHECKING:
    import altair as alt

__all__ = ["RankIntervals", "rank_intervals", "tiers", "transitive_closure"]

_Relation = npt.NDArray[np.bool_]
_MARGIN = 1 + 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class RankIntervals(Tabular):
    """Ranks that hold for all submissions at once with the stated confidence."""

    low: IntArray
    """``(m,)`` the best rank that is possible: 1 + the number shown to be better."""
    high: IntArray
    """``(m,)`` the worst rank that is possible: m less the number shown to be worse."""
    tier: IntArray
    """``(m,)`` from 1; see :func:`tiers`."""
    better: _Relation
    """``(m, m)``: True where the first is shown to be better than the second; one byte each."""
    level: float
    """The confidence level."""
    critical_value: float
    """What a difference divided by its standard error had to exceed, in the last round."""
    rounds: int
    """Rounds of the stepdown, the last one included, in which nothing more was decided."""

    def chart(self, teams: Sequence[str]) -> alt.LayerChart:
        """Return a picture of the ranks that are not excluded; ``teams`` are m names."""
        from arena.charts import as_altair, rank_chart

        order = np.lexsort((self.high, self.low))
        return as_altair(
            rank_chart([teams[at] for at in order], interval=(self.low[order], self.high[order]))
        )


def rank_intervals(
    scores: FloatArray,
    resampled: FloatArray,
    level: float = 0.95,
    *,
    greater_is_better: bool = True,
    standard_errors: FloatArray | None = None,
    workers: int = 1,
) -> RankIntervals:
    """Decide which submissions are better than which others, all at once.

    With D_jk the difference of two scores (larger is better) and SE_jk its standard error, c is
    the ``level`` quantile over joint resamples of the largest ``(D*_jk - D_jk) / SE_jk`` over all
    ordered pairs, and j is shown to be better than k if ``D_jk > c SE_jk``. Decided pairs leave
    the family, c is found again, and so on until nothing more is decided (stepdown); at last the
    consequences are added (if j is better than k and k than l, then j than l).

    When (j, k) is decided, the reverse pair (k, j) stays in the family: it is a hypothesis of its
    own, and only with it does the stepdown keep the level whatever the true scores are. It costs
    next to nothing.

    Parameters
    ----------
    scores
        ``(m,)`` natural sign, finite.
    resampled
        ``(m, B)`` under the same B resamples; resamples with an undefined score are left out.
    level
        The probability, at least, that every interval and every decision holds.
    greater_is_better
        The direction of the scores.
    standard_errors
        ``(m, m)``, symmetric. A pair with 0 is tied: it is never decided. By default from
        the resampled scores, without the floor of
        :func:`~arena_ranking.differences.floor_standard_errors`.
    workers
        Threads; the result does not depend on them.

    Returns
    -------
    A :class:`RankIntervals`. Memory: ``(m, B)`` and twice ``(m, m)`` float64 and three times
    ``(m, m)`` bytes, 200 MB for 3,000 submissions and 1,000 resamples.

    Raises
    ------
    UsageError
        If the shapes or the level do not fit, a score is not finite, or fewer than two resamples
        are defined.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = np.array([0.90, 0.70, 0.71])
    >>> resampled = scores[:, None] + 0.02 * rng.normal(size=(3, 1000))
    >>> ranks = rank_intervals(scores, resampled)
    >>> ranks.low.tolist(), ranks.high.tolist(), ranks.tier.tolist()
    ([1, 2, 2], [1, 3, 3], [1, 2, 2])
    """
    signed, resampled = _checked(scores, resampled, level, greater_is_better)
    if standard_errors is None:
        standard_errors = standard_errors_from_resamples(resampled, workers=workers)
    if standard_errors.shape != (len(scores), len(scores)):
        raise UsageError("The standard errors must be one row and one column per submission.")
    errors = resampled - signed[:, np.newaxis]
    better, critical_value, rounds = _step_down(signed, errors, standard_errors, level, workers)
    better = transitive_closure(better, signed)
    return RankIntervals(
        low=1 + better.sum(axis=0),
        high=len(signed) - better.sum(axis=1),
        tier=tiers(better, signed),
        better=better,
        level=level,
        critical_value=critical_value,
        rounds=rounds,
    )


def _checked(
    scores: FloatArray, resampled: FloatArray, level: float, greater_is_better: bool
) -> tuple[FloatArray, FloatArray]:
    """Return scores and resampled scores signed so that larger is better, or refuse them."""
    if scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
        raise UsageError("Ranks need at least one submission, and every score finite.")
    if resampled.ndim != 2 or len(resampled) != len(scores):
        raise UsageError("The resampled scores must be one row per submission.")
    if not 0 < level < 1:
        raise UsageError(f"The level must lie between 0 and 1, not at {level}.")
    defined = np.isfinite(resampled).all(axis=0)
    if defined.sum() < 2:
        raise UsageError("Rank intervals need at least two resamples in which all scores exist.")
    sign = 1.0 if greater_is_better else -1.0
    kept = resampled if defined.all() else resampled[:, defined]
    return sign * scores, np.ascontiguousarray(sign * kept)


def _step_down(
    scores: FloatArray,
    errors: FloatArray,
    standard_errors: FloatArray,
    level: float,
    workers: int,
) -> tuple[_Relation, float, int]:
    """Return the decided ordered pairs, the last critical value and the number of rounds."""
    open_pairs = standard_errors > 0
    np.fill_diagonal(open_pairs, False)
    precisions = np.zeros_like(standard_errors)
    np.divide(1.0, standard_errors, out=precisions, where=open_pairs)
    decided = np.zeros_like(open_pairs)
    critical_value, rounds = 0.0, 0
    while open_pairs.any():
        rounds += 1
        largest = largest_differences(errors, precisions, open_pairs, workers=workers)
        quantile = float(np.quantile(largest, level, method="inverted_cdf"))
        critical_value = max(quantile, 0.0)
        new = open_pairs & _exceeds(scores, critical_value, standard_errors)
        if not new.any():
            break
        decided |= new
        open_pairs &= ~new
    return decided, critical_value, rounds


def _exceeds(scores: FloatArray, critical_value: float, standard_errors: FloatArray) -> _Relation:
    """Compare with a margin: discrete scores hit the boundary exactly, and that decides nothing."""
    exceeds = np.empty(standard_errors.shape, dtype=np.bool_)
    for j, score in enumerate(scores):
        exceeds[j] = score - scores > critical_value * _MARGIN * standard_errors[j]
    return exceeds


def transitive_closure(better: _Relation, scores: FloatArray) -> _Relation:
    """Add the consequences: who is better than someone better than me is better than me.

    Parameters
    ----------
    better
        ``(m, m)``; True only where the first score is the larger one.
    scores
        ``(m,)``, larger is better.

    Examples
    --------
    >>> chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> transitive_closure(chain, np.array([3.0, 2.0, 1.0])).astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    reached = np.packbits(better, axis=1)
    for j in np.argsort(scores, kind="stable"):
        below = np.flatnonzero(better[j])
        if len(below):
            reached[j] |= np.bitwise_or.reduce(reached[below], axis=0)
    return np.unpackbits(reached, axis=1, count=len(better)).astype(np.bool_)


def tiers(better: _Relation, scores: FloatArray) -> IntArray:
    """Return 1 + the length of the longest chain of submissions above each one.

    With the confidence of ``better``, everyone in tier t has at least t - 1 truly better
    submissions above, and tier 1 contains the best. It does not say that those of one tier are
    worth the same: none of them is shown to be better.

    Parameters
    ----------
    better
        ``(m, m)``, closed or not; True only where the first score is the larger one.
    scores
        ``(m,)``, larger is better.

    Examples
    --------
    >>> better = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)
    >>> tiers(better, np.array([3.0, 2.0, 1.0])).tolist()
    [1, 1, 2]
    """
    tier = np.ones(len(better), dtype=np.intp)
    for k in np.argsort(-scores, kind="stable"):
        tier[k] = 1 + tier[better[:, k]].max(initial=0)
    return tier
