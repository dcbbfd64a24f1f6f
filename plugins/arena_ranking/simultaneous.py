"""Simultaneous confidence intervals for ranks, and the tiers and possible winners of one claim.

Mogstad, Romano, Shaikh and Wilhelm (2024), *Inference for Ranks with Applications to Mobility
across Neighbourhoods and Academic Achievement across Countries*, Review of Economic Studies 91;
Hsu (1984) for comparisons with the best; Hung and Fithian (2019), *Rank Verification for
Exponential Families*, Annals of Statistics 47, and Sood (2025) for the leader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from arena.errors import UsageError
from arena.evaluation.levels import LEADER, LEADS, PAIRS, check_level
from arena.types import DEFAULT_LEVEL, FloatArray, IntArray
from arena.utils.compilation import compiled
from arena.utils.parallel import run_tasks
from arena.utils.tabular import Tabular
from arena_ranking.differences import standard_errors_from_resamples
from arena_ranking.max_statistics import largest_differences, largest_leads, worth_compiling
from arena_ranking.small_samples import (
    BONFERRONI_BELOW,
    SKEWNESS_FACTOR,
    HalfMatrix,
    Pairwise,
    normal_bounds,
    normal_equivalents,
    sign_test_units,
    without_skewness,
)

if TYPE_CHECKING:
    import altair as alt

_Relation = npt.NDArray[np.bool_]
_MARGIN = 1 + 1e-9
"""A discrete score that hits a critical value exactly decides nothing."""
_NO_DIFFERENCE = 1e-9
"""Smaller differences of scores, relative to the scores, are rounding errors."""
_FEW_LEADS = (50, 500)
"""So many leads over a submission are compared first: often they show that it may be the best."""
_PAIRS_AT_ONCE = 100_000
"""Their arrays stay in the cache."""
_ROUNDING = 1e-9
COMPILE_ABOVE = 4e6
"""With more pairs than this, compiled code for their consequences repays its loading."""


@dataclass(frozen=True, slots=True, eq=False)
class RankIntervals(Tabular):
    """Ranks that hold for all submissions at once with the stated confidence."""

    low: IntArray
    """``(m,)`` the best rank that is possible: 1 + the number that provably beat it."""
    high: IntArray
    """``(m,)`` the worst rank that is possible: m less the number that it provably beats."""
    tier: IntArray
    """``(m,)`` from 1, where it is a possible winner; see :func:`tiers`."""
    better: _Relation
    """``(m, m)``: True where the first provably beats the second."""
    possible_winner: npt.NDArray[np.bool_]
    """``(m,)``: whether it may truly be the best: exactly those whose rank interval contains 1."""
    level: float
    """The confidence level."""
    critical_value: float
    """The critical value of the last round for a difference divided by its standard error, with
    infinitely many degrees of freedom."""
    rounds: int
    """Rounds of the stepdown, including the last one, which decided nothing more; 0 if no pair
    could be tested."""

    def possible_top(self, k: int) -> npt.NDArray[np.bool_]:
        """Return ``(m,)`` whether each submission may truly be among the best k.

        The tau-best set of Mogstad et al. (2024) for tau = k: those of which fewer than k provably
        are better. For k = 1 they are the possible winners.
        """
        return np.asarray(self.low <= k)

    def subset(self, positions: IntArray, scores: FloatArray) -> RankIntervals:
        """Return the ranks of some submissions among themselves, by the decisions about pairs.

        Parameters
        ----------
        positions
            ``(t,)`` of those that are ranked.
        scores
            ``(t,)`` their scores; larger is better.
        """
        better = self.better[np.ix_(positions, positions)]
        of_family = self.level, self.critical_value, self.rounds
        return ranks_of_decisions(better, _unbeaten(better), scores, *of_family)

    def chart(self, teams: Sequence[str]) -> alt.LayerChart:
        """Return a picture of the ranks that are not excluded; ``teams`` are m names."""
        from arena.charts import as_altair, rank_chart

        order = np.lexsort((self.high, self.low))
        return as_altair(
            rank_chart(
                [teams[position] for position in order],
                interval=(self.low[order], self.high[order]),
            )
        )


def rank_intervals(
    scores: FloatArray,
    resampled: FloatArray,
    level: float = DEFAULT_LEVEL,
    *,
    greater_is_better: bool = True,
    standard_errors: FloatArray | None = None,
    degrees_of_freedom: Pairwise | None = None,
    skewness: Pairwise | None = None,
    n_units: int | None = None,
    allowances: FloatArray | None = None,
    comparisons: int | None = None,
    all_pairs: bool = False,
    overwrite: bool = False,
    workers: int = 1,
) -> RankIntervals:
    """Decide which submissions are better than which others, and which may be the best, at once.

    With D_jk the difference of two scores (larger is better) and SE_jk its standard error, c is
    the quantile at ``1 - alpha / 2`` (``alpha = 1 - level``) over joint resamples of the largest
    ``(D*_jk - D_jk) / SE_jk`` over all ordered pairs, and j is better than k if ``D_jk > c_jk
    SE_jk``, with c_jk the t quantile at the probability that c has under the normal distribution.
    With fewer than 50 units, or too few resamples, c_jk is Bonferroni's, at ``alpha / 2`` over the
    number of open ordered pairs. Decided pairs leave the family, c is found again, and so on until
    nothing more is decided (stepdown); at last the consequences are added (if j is better than k
    and k than l, then j than l).

    When (j, k) is decided, the reverse pair (k, j) stays in the family. It is a separate
    hypothesis, and the stepdown keeps the level for all true scores only if it is included. The
    cost is negligible.

    A possible winner is a submission j that no other beats, with ``D_kj <= c_j SE_kj`` for every k.
    L*_j is the largest of the m - 1 resampled leads over j, ``(D*_kj - D_kj) / SE_kj``, c_1 the
    critical value of the first round, and c_j the smallest number with ``P(c_j < L*_j <= c_1) <=
    alpha / 4``: what is above c_1 was paid for by the pairs. If the first leads each other one by
    its two-sided t quantile at ``alpha / 4``, not corrected for their number, it is the only
    possible winner.

    All three parts hold at once with probability ``level``: no pair is decided wrongly, and the
    truly best submission is a possible winner. (On a board without a wrong pair the best b is left
    out if L_b is above c_b and not above c_1, or if the test of the leader is wrong.) Therefore
    what is no possible winner has a rank of at least 2 and is not in tier 1, and what it beats
    comes after it; a single possible winner is better than all others. If several submissions are
    exactly equal and the best, this holds for any one of them, named in advance.

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
        ``(m, m)``, symmetric. A pair with 0 differs by the same amount on every unit: it is
        decided by a sign test on ``n_units``, unless the difference is 0. A pair with infinity is
        not decided. By default from the resampled scores, without the floor of
        :func:`~arena_ranking.differences.floor_standard_errors`.
    degrees_of_freedom
        ``(m, m)`` of the standard errors; None: infinite, as with many units.
    skewness
        ``(m, m)`` of the units' differences, over the square root of their number; None: 0.
    n_units
        The number of rows, or of clusters; None: many, and a standard error of 0 decides nothing.
    allowances
        ``(m,)`` by how much the true score of each submission may be worse because of units that
        are too rare to be in the sample: taken off its leads. None: 0.
    comparisons
        The ordered pairs of the family, if it has others besides those of these submissions, such
        as pairs of a team's other candidates. Then c_jk is Bonferroni's for that number, also with
        many units, and ``all_pairs`` is implied. None: there are no others.
    all_pairs
        Whether all of alpha is spent on pairs, and a possible winner is one that no other beats.
        This holds for all of several equal best submissions at once, and for a best submission that
        was selected by these scores, such as a team's best candidate.
    overwrite
        Whether the memory of the standard errors and of the resampled scores may be used for other
        numbers.
    workers
        Threads; the result does not depend on them.

    Returns
    -------
    A :class:`RankIntervals`. Memory: ``(m, B)`` and ``(m, m)`` float64 unless they may be
    overwritten, ``(m, B)`` float32, and five times ``(m, m)`` bytes, 150 MB for 3,000 submissions
    and 1,000 resamples.

    Raises
    ------
    UsageError
        If the shapes, the level or the number of comparisons do not fit, a score is not finite, or
        fewer than two resamples are defined.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = np.array([0.90, 0.70, 0.71])
    >>> resampled = scores[:, None] + 0.02 * rng.normal(size=(3, 1000))
    >>> ranks = rank_intervals(scores, resampled)
    >>> ranks.low.tolist(), ranks.high.tolist(), ranks.tier.tolist()
    ([1, 2, 2], [1, 3, 3], [1, 2, 2])
    """
    signed, resampled = _checked(
        scores, resampled, level=level, greater_is_better=greater_is_better, overwrite=overwrite
    )
    if standard_errors is None:
        standard_errors = standard_errors_from_resamples(resampled, workers=workers)
        overwrite = True
    inputs = {
        "standard errors": standard_errors,
        "degrees of freedom": degrees_of_freedom,
        "skewness": skewness,
    }
    for name, matrix in inputs.items():
        if matrix is not None and matrix.shape != (len(scores), len(scores)):
            raise UsageError(f"The {name} must be one row and one column per submission.")
    if comparisons is not None and comparisons < len(scores) * (len(scores) - 1):
        raise UsageError("The family must have at least the pairs of the submissions.")
    few_units = n_units is not None and n_units < BONFERRONI_BELOW
    constant = _constant_leads(standard_errors, signed, allowances)
    precisions = standard_errors if overwrite else standard_errors.copy()
    for j, row_precisions in enumerate(precisions):
        tested = (row_precisions > 0) & np.isfinite(row_precisions)
        tested[j] = False
        np.divide(1.0, row_precisions, out=row_precisions, where=tested)
        row_precisions[~tested] = 0.0
    leading = signed if allowances is None else signed - allowances
    leads = Leads(
        scores=signed,
        leading=leading,
        precisions=precisions,
        degrees_of_freedom=degrees_of_freedom,
        skewness=skewness,
        few_units=few_units,
        sign=1 if greater_is_better else -1,
    )
    resampled -= signed[:, np.newaxis]
    all_pairs = all_pairs or comparisons is not None
    family = PairFamily(
        scores=signed,
        errors=resampled,
        precisions=precisions,
        leads=leads,
        constant=constant,
        n_units=n_units,
        comparisons=comparisons,
        alpha=1 - level,
        of_pairs=(1 - level) * (1.0 if all_pairs else PAIRS),
    )
    better, first, critical_value, rounds = family.step_down(workers)
    possible = _unbeaten(better)
    if not all_pairs and len(signed) > 1:
        possible = family.possible_winners(possible, first, workers)
    better = transitive_closure(better, signed)
    return ranks_of_decisions(
        better, possible, scores=signed, level=level, critical_value=critical_value, rounds=rounds
    )


def _unbeaten(better: _Relation) -> npt.NDArray[np.bool_]:
    return np.asarray(np.logical_not(better.any(axis=0)))


def ranks_of_decisions(
    better: _Relation,
    possible: npt.NDArray[np.bool_],
    scores: FloatArray,
    level: float,
    critical_value: float,
    rounds: int,
) -> RankIntervals:
    """Return what follows from the decided pairs, closed, and the possible winners."""
    if possible.sum() == 1:
        better = better | (possible[:, np.newaxis] & ~possible)
    beaten = better.sum(axis=0)
    return RankIntervals(
        low=_chains(better, scores, np.where(possible, 1, np.maximum(1 + beaten, 2))),
        high=len(better) - better.sum(axis=1),
        tier=_chains(better, scores, np.where(possible, 1, 2)),
        better=better,
        possible_winner=possible,
        level=level,
        critical_value=critical_value,
        rounds=rounds,
    )


def _constant_leads(
    standard_errors: FloatArray, scores: FloatArray, allowances: FloatArray | None
) -> _Relation:
    """Return ``(m, m)``: True where j leads k by the same amount on every unit."""
    leading = scores if allowances is None else scores - allowances
    m, sizes = len(scores), _NO_DIFFERENCE * np.abs(scores)
    leads = None
    for j, row_errors in enumerate(standard_errors):
        positions_without_error = np.flatnonzero(row_errors == 0)
        positions_without_error = positions_without_error[
            leading[j] - scores[positions_without_error]
            > np.maximum(sizes[positions_without_error], sizes[j])
        ]
        if len(positions_without_error):
            leads = np.zeros((m, m), dtype=np.bool_) if leads is None else leads
            leads[j, positions_without_error] = True
    return np.broadcast_to(np.False_, (m, m)) if leads is None else leads  # takes no memory


def _checked(
    scores: FloatArray,
    resampled: FloatArray,
    level: float,
    greater_is_better: bool,
    overwrite: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return scores, and resampled ones, signed: larger is better; after validation.

    The resampled ones are copies, unless they may be overwritten.
    """
    if scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
        raise UsageError("Ranks need at least one submission, and every score finite.")
    if resampled.ndim != 2 or len(resampled) != len(scores):
        raise UsageError("The resampled scores must be one row per submission.")
    check_level(level)
    defined = np.isfinite(resampled).all(axis=0)
    if defined.sum() < 2:
        raise UsageError("Rank intervals need at least two resamples in which all scores exist.")
    sign = 1.0 if greater_is_better else -1.0
    defined_resamples = resampled if defined.all() else resampled[:, defined]
    if overwrite and defined_resamples.dtype == np.float64 and defined_resamples.flags.c_contiguous:
        return sign * scores, np.multiply(sign, defined_resamples, out=defined_resamples)
    return sign * scores, np.multiply(sign, defined_resamples, order="C")


@dataclass(frozen=True, slots=True, eq=False)
class PairFamily:
    """All ordered pairs of a board, larger scores being better."""

    scores: FloatArray
    errors: FloatArray
    """``(m, B)`` resampled less observed scores."""
    precisions: FloatArray
    """``(m, m)`` one over the standard errors of the pairs that are tested, and 0."""
    leads: Leads
    constant: _Relation
    """``(m, m)``: True where j leads k by the same amount on every unit."""
    n_units: int | None
    comparisons: int | None
    """The pairs of a larger family to which these belong."""
    alpha: float
    """The probability of a wrong claim."""
    of_pairs: float
    """The part of it that is spent on the pairs."""

    @property
    def by_resamples(self) -> bool:
        """Whether units and resamples are enough for a critical value of all pairs from them."""
        few_units = self.n_units is not None and self.n_units < BONFERRONI_BELOW
        return not few_units and self.of_pairs * (self.errors.shape[1] + 1) >= 1

    def step_down(self, workers: int) -> tuple[_Relation, float, float, int]:
        """Decide ordered pairs in rounds.

        Returns the decided pairs, the first and the last critical value, and the number of rounds.
        """
        m, open_pairs = len(self.scores), self.precisions > 0
        pairs = m * (m - 1)
        others = 0 if self.comparisons is None else self.comparisons - pairs
        single = self.of_pairs / max(pairs + others, 1)
        if not self.units_for(single):
            return np.zeros(open_pairs.shape, dtype=np.bool_), np.inf, np.inf, 0
        decided = np.array(self.constant)
        first, critical_value, rounds = np.inf, 0.0, 0
        bounds = np.full(self.errors.shape[1], np.inf)
        while n_open := int(np.count_nonzero(open_pairs)):
            rounds += 1
            if self.by_resamples and self.comparisons is None:
                critical_value = self.critical_value(open_pairs, bounds, workers)
            else:
                critical_value = float(-ndtri(self.of_pairs / (n_open + others)))
            first = critical_value if rounds == 1 else first
            new = self.leads.decided(open_pairs, critical_value, workers)
            if not new.any():
                break
            decided |= new
            np.greater(open_pairs, new, out=open_pairs)  # and not new, without another matrix
        return decided, first, critical_value, rounds

    def critical_value(self, open_pairs: _Relation, bounds: FloatArray, workers: int) -> float:
        """Return the quantile of the largest differences over the open pairs, at least 0.

        ``bounds`` are ``(B,)`` upper bounds of the largest differences, which are replaced where
        they are computed. With fewer pairs they are no larger, so those of the round before tell
        which resamples cannot change the quantile.
        """
        resamples = len(bounds)
        # 0 is the largest: so many of B + 1 exchangeable values may exceed it.
        place = int(self.of_pairs * (resamples + 1) + _ROUNDING) - 1
        order = np.argsort(-bounds, kind="stable")
        start, stop = 0, min(2 * (place + 1), resamples)
        if np.isinf(bounds[order[0]]):
            stop = resamples
        while True:
            some = np.sort(order[start:stop])
            whole = len(some) == resamples
            errors = self.errors if whole else np.ascontiguousarray(self.errors[:, some])
            bounds[some] = largest_differences(
                errors,
                self.precisions,
                open_pairs,
                loaded=worth_compiling(self.errors),
                workers=workers,
            )
            start, stop = stop, min(2 * stop, resamples)
            largest = -np.partition(-bounds[order[:start]], place)[place]
            if start == resamples or bounds[order[start]] <= largest:
                return max(float(largest), 0.0)

    def possible_winners(
        self, unbeaten: npt.NDArray[np.bool_], first: float, workers: int
    ) -> npt.NDArray[np.bool_]:
        """Return ``(m,)`` which of the unbeaten ones may be the best, at least one of them.

        ``first`` is the critical value of the first round, or infinity.
        """
        m, resamples = len(self.scores), self.errors.shape[1]
        leader: npt.NDArray[np.bool_] = np.arange(m) == np.argmax(self.scores)
        if self.shows(leader):
            return leader
        # P(c < L <= first) <= (m - 1) P(one lead > c) - P(one lead > first)
        single = (LEADS * self.alpha + self.of_pairs / (m * (m - 1))) / (m - 1)
        if not self.units_for(single):
            return unbeaten
        possible: npt.NDArray[np.bool_] = unbeaten & _unbeaten(self.constant)
        rows = np.flatnonzero(possible)
        against = np.zeros(m)
        against[rows] = self.leads.largest_over(rows)
        allowed = LEADS * self.alpha * (resamples + 1) - 1 + _ROUNDING
        if not self.by_resamples or allowed < 0:
            possible &= against <= -ndtri(single)
            return possible
        rows = rows[against[rows] > 0]
        # The largest lead of a few submissions over j is no larger than that of all: what stays
        # possible by it need not be compared with all. So many resamples may exceed `first`.
        above = self.of_pairs * (resamples + 1)
        for count in (*(few for few in _FEW_LEADS if few < m), m):
            others = np.linspace(0, m - 1, count).astype(np.intp)
            largest = largest_leads(
                self.errors,
                self.precisions,
                rows,
                others,
                least=against[rows],
                loaded=worth_compiling(self.errors),
                workers=workers,
            )
            left_out = []
            for j, leads in largest:
                beyond = above if count < m else np.count_nonzero(leads > first)
                if np.count_nonzero(leads >= against[j]) - beyond <= allowed:
                    left_out.append(j)
            rows = np.array(left_out, dtype=np.intp)
        possible[rows] = False
        return possible

    def shows(self, leader: npt.NDArray[np.bool_]) -> bool:
        """Return whether the leader is shown to be the best by its own test."""
        single = LEADER * self.alpha / 2
        if not self.units_for(single):
            return False
        (first,), others = np.flatnonzero(leader), np.flatnonzero(~leader)
        tested = others[~self.constant[first, others]]
        if (self.precisions[first, tested] == 0).any():
            return False
        if (self.leads.leading[first] <= self.scores[tested]).any():
            return False
        leads = self.leads.values(np.full(len(tested), first), tested)
        return bool((leads > -ndtri(single)).all())

    def units_for(self, error: float) -> bool:
        """Return whether a sign test of all units could decide a pair with this error."""
        return self.n_units is None or self.n_units >= sign_test_units(1, 1 - error)


@dataclass(frozen=True, slots=True, eq=False)
class Leads:
    """How far each submission leads another, as a value of the normal distribution.

    A pair is decided at a normal critical value that is smaller. A small margin is taken off:
    discrete scores can hit the boundary exactly, which must not decide a pair. Most pairs are far
    from a critical value: then bounds of the normal value decide, since the value takes ten times
    as long.
    """

    scores: FloatArray
    """``(m,)``, larger is better."""
    leading: FloatArray
    """``(m,)`` scores of those that lead, less their allowances."""
    precisions: FloatArray
    """``(m, m)``, 0 where a pair is not tested."""
    degrees_of_freedom: npt.NDArray[Any] | HalfMatrix | None
    skewness: npt.NDArray[Any] | HalfMatrix | None
    few_units: bool
    sign: int = 1
    """-1 if the skewness is that of scores of which smaller ones are better."""

    def decided(self, open_pairs: _Relation, critical_value: float, workers: int) -> _Relation:
        """Return ``(m, m)``: where j leads k, the pair is open and its value is larger."""
        is_decided = np.zeros(
            open_pairs.shape, dtype=np.bool_
        )  # pages without a pair take no memory
        step = max(1, _PAIRS_AT_ONCE // len(is_decided))

        def fill(start: int) -> None:
            rows = slice(start, start + step)
            raw = self.leading[rows, np.newaxis] - self.scores
            raw *= self.precisions[rows]
            # The value is no larger than the difference over its standard error.
            j, k = np.nonzero(open_pairs[rows] & (raw > max(critical_value, 0.0)))
            j += start
            above, high = self.bounds(j, k)
            near = np.flatnonzero(
                (above <= (1 + _ROUNDING) * critical_value)
                & (high >= (1 - _ROUNDING) * critical_value)
            )
            above[near] = self.values(j[near], k[near])
            leads = above > critical_value
            is_decided[j[leads], k[leads]] = True

        starts = ((start,) for start in range(0, len(is_decided), step))
        for _ in run_tasks(fill, starts, workers=workers):
            pass
        return is_decided

    def largest_over(self, columns: IntArray) -> FloatArray:
        """Return the largest value of a lead over each of ``(r,)`` submissions, or 0."""
        largest = np.zeros(len(columns))
        step = max(1, _PAIRS_AT_ONCE // len(self.scores))
        for start in range(0, len(columns), step):
            some = columns[start : start + step]
            tested = self.precisions[:, some].T > 0
            leader, j = np.nonzero(tested & (self.leading > self.scores[some, np.newaxis]))
            leader, k = leader + start, some[leader]
            low, high = self.bounds(j, k)
            least = np.zeros(len(columns))
            np.maximum.at(least, leader, low)
            near = np.flatnonzero(high >= (1 - _ROUNDING) * least[leader])
            np.maximum.at(largest, leader[near], self.values(j[near], k[near]))
        return largest

    def statistics(self, j: IntArray, k: IntArray) -> tuple[FloatArray, FloatArray | float]:
        """Return the t statistics of pairs in which j leads, and upper limits of their values."""
        raw = (self.leading[j] - self.scores[k]) * self.precisions[j, k] / _MARGIN
        if self.skewness is None:
            return raw, np.inf
        skewness = self.sign * self.skewness[j, k]
        if self.few_units:
            # The skewness of few units is mostly noise: there it does not increase the t value.
            return raw, without_skewness(raw, skewness)
        return without_skewness(raw, SKEWNESS_FACTOR * skewness), np.inf

    def values(self, j: IntArray, k: IntArray) -> FloatArray:
        """Return the normal values of pairs in which j leads."""
        statistics, most = self.statistics(j, k)
        if self.degrees_of_freedom is not None:
            statistics = normal_equivalents(statistics, self.degrees_of_freedom[j, k])
        return np.asarray(np.minimum(statistics, most))

    def bounds(self, j: IntArray, k: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds of the values, which take a tenth of their time."""
        statistics, most = self.statistics(j, k)
        low, high = statistics, statistics
        if self.degrees_of_freedom is not None:
            low, high = normal_bounds(statistics, self.degrees_of_freedom[j, k])
        return np.minimum(low, most), np.minimum(high, most)


def transitive_closure(better: _Relation, scores: FloatArray) -> _Relation:
    """Add the implied pairs: if j is better than k and k than l, then j is better than l.

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
    order = np.argsort(scores, kind="stable")
    if better.size >= COMPILE_ABOVE:
        words = np.zeros((len(better), -(-len(better) // 64)), dtype=np.uint64)
        reached = words.view(np.uint8)[:, : -(-len(better) // 8)]
        reached[:] = np.packbits(better, axis=1)
        compiled(_reach_further)(words, better, order)
    else:
        reached = np.packbits(better, axis=1)
        for j in order:
            below = np.flatnonzero(better[j])
            if len(below):
                reached[j] |= np.bitwise_or.reduce(reached[below], axis=0)
    return np.unpackbits(reached, axis=1, count=len(better)).view(np.bool_)


def _reach_further(words: Any, better: Any, order: Any) -> None:
    """Add to each row of bits, the lowest score first, the rows of those that are beaten."""
    for j in order:
        for k in range(len(better)):
            if better[j, k]:
                for word in range(words.shape[1]):
                    words[j, word] |= words[k, word]


def tiers(better: _Relation, scores: FloatArray) -> IntArray:
    """Return 1 + the length of the longest chain of submissions above each one.

    With the confidence of ``better``, every submission in tier t has at least t - 1 truly better
    ones above it. Submissions of one tier need not be equally good; none of them provably beats
    another. In :attr:`RankIntervals.tier` tier 1 holds the possible winners, and the chains of
    others begin at 2.

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
    return _chains(better, scores, np.ones(len(better), dtype=np.intp))


def _chains(better: _Relation, scores: FloatArray, least: IntArray) -> IntArray:
    """Return the smallest numbers of at least ``least`` that grow by 1 along each decided pair."""
    chain_lengths = np.array(least, dtype=np.intp)
    for k in np.argsort(-scores, kind="stable"):
        chain_lengths[k] = max(chain_lengths[k], 1 + chain_lengths[better[:, k]].max(initial=0))
    return chain_lengths
