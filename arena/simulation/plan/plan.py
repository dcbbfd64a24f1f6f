"""How many private rows make the top ranks stable, from the predictions of a pilot.

The scores of the pilot's submissions vary together over joint resamples of its n rows. On N rows
all errors are smaller by ``sqrt(n / N)``. What the true scores are is drawn in three ways, see
:mod:`~arena.simulation.plan.priors`: the spread of these draws and the least favourable case make
the interval of every figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import special

from arena.errors import UsageError
from arena.evaluation.levels import LEADER, PAIRS, check_level
from arena.evaluation.ranks import best_first
from arena.evaluation.scores import round_significant
from arena.simulation.plan.places import (
    RankTarget,
    has_ties,
    least_favourable_for,
    rows_until,
    share_right,
    targets_for,
)
from arena.simulation.plan.priors import (
    draw_flat,
    draw_nonparametric,
    draw_normal,
    least_favourable,
    shrinkage,
)
from arena.simulation.plan.uncertainty import (
    board_critical_value,
    board_widths,
    degrees_with_resamples,
    deviation_bounds,
    largest_error,
    normal_errors,
    pair_errors,
    paired_power,
    rows_until_the_best_leads,
)
from arena.types import DEFAULT_LEVEL, FloatArray, IntArray
from arena.utils.parallel import NoProgress, Progress
from arena.utils.tabular import as_json

MOST_SUBMISSIONS = 50
"""The best submissions that a plan is made with."""
_DRAWN = 4_000
_BOARDS = 200
_SCENARIOS = 80
"""Draws of the true scores by each prior, for the intervals."""
_ERRORS_OF_A_SCENARIO = 400
_BOARDS_OF_A_SCENARIO = 16
_SHARES = (0.5, 0.8, 0.9, 0.95)
_WIDEST_RATIO = 10
"""The ends of an interval of needed rows, up to which it answers something."""
_STEPS = (0.25, 0.5, 1, 2, 4, 8, 16)

Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PlanRow:
    """The expected figures of a board with a number of private rows."""

    test_rows: int
    """Number of private rows."""
    power: float
    """Of the two-sided paired test of two submissions that were named in advance."""
    power_corrected: float
    """The same, corrected for all pairs of the board (Bonferroni)."""
    interval_width: float
    """Expected worst minus best possible rank of a submission, mean over the board."""
    winner_width: float
    """The same for the winner."""
    winner_shown: float
    """Probability that the winner is shown to be better than every other submission."""
    best_wins: float | None
    """Probability that the truly best submission wins, under a normal prior of true scores; None:
    sampling error explains all differences."""
    best_wins_nonparametric: float
    """The same, under a nonparametric prior."""
    intervals: Mapping[str, Interval]
    """An interval at the plan's level for each figure above, by name. That of ``best_wins`` holds
    under either prior. It covers the figure of the submissions at hand over pilots."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON, the ends of each interval as ``NAME_low`` and ``NAME_high``."""
        plain = {
            name: getattr(self, name) for name in self.__dataclass_fields__ if name != "intervals"
        }
        for name, (low, high) in self.intervals.items():
            plain |= {f"{name}_low": low, f"{name}_high": high}
        return plain


@dataclass(frozen=True, slots=True)
class NeededRows:
    """The private rows for a probability."""

    probability: float
    """The probability that these rows reach."""
    test_rows: float | None
    """For the truly best to win: under a normal prior; None: sampling error explains all
    differences."""
    nonparametric: float | None
    """Under a nonparametric prior; None for a power."""
    low: float
    """Lower end of the interval of the rows."""
    high: float | None
    """The ends of the interval; None: the pilot cannot exclude submissions of equal true scores, so
    no number of rows is certain to be enough."""

    @property
    def is_known(self) -> bool:
        """Whether the interval is narrow enough to say how many rows it takes."""
        return self.high is not None and self.high <= _WIDEST_RATIO * self.low


@dataclass(frozen=True, slots=True)
class TargetShare:
    """How probable it is on a number of private rows that a target is right."""

    test_rows: int
    """Number of private rows."""
    normal: float | None
    """Under a normal prior; None: sampling error explains all differences."""
    nonparametric: float
    """The share under the nonparametric prior of true scores."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """The rows for a prize place, or for the top k."""

    target: RankTarget
    """The places."""
    shares: tuple[TargetShare, ...]
    """The shares by the number of private rows."""
    needed: tuple[NeededRows, ...]
    """The rows that are needed for each probability."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "label": self.target.label,
            "size": self.target.size,
            "ordered": self.target.ordered,
            "rows": [
                {
                    "test_rows": share.test_rows,
                    "probability": share.normal,
                    "probability_nonparametric": share.nonparametric,
                    "probability_low": share.low,
                    "probability_high": share.high,
                }
                for share in self.shares
            ],
            "needed": [_needed(needed) for needed in self.needed],
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """How the certainty of the ranks grows with the rows."""

    pilot_rows: int
    """Number of ranked rows of the pilot."""
    submissions: int
    """Without copies, at most the best 50."""
    copies: int
    """Submissions left out because they equal another one in every resample."""
    difference: float
    """The difference that the power is for, in the metric's units."""
    standard_error: float
    """Of a difference of two submissions on the pilot's rows: the median over all pairs."""
    degrees_of_freedom: float
    """Of the standard error."""
    shrinkage: float
    """In [0, 1]: see :func:`~arena.simulation.plan.priors.shrinkage`."""
    level: float
    """Of the test, the rank intervals and the intervals of all figures."""
    rows: tuple[PlanRow, ...]
    """The probabilities by the number of private rows, in increasing order."""
    power_rows: tuple[NeededRows, ...]
    """For a power of the test corrected for all pairs."""
    best_wins_rows: tuple[NeededRows, ...]
    """For the truly best submission to win."""
    targets: tuple[TargetPlan, ...] = ()
    """For each further prize place, and for the set of the top k."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["rows"] = [row.to_dict() for row in self.rows]
        plain["power_rows"] = [
            {"power": needed.probability, "test_rows": needed.test_rows, **_ends(needed)}
            for needed in self.power_rows
        ]
        plain["best_wins_rows"] = [_needed(needed) for needed in self.best_wins_rows]
        plain["targets"] = [target.to_dict() for target in self.targets]
        document: dict[str, Any] = as_json(plain)
        return document


def _needed(needed: NeededRows) -> dict[str, float | None]:
    return {
        "probability": needed.probability,
        "test_rows": needed.test_rows,
        "test_rows_nonparametric": needed.nonparametric,
        **_ends(needed),
    }


def _ends(needed: NeededRows) -> dict[str, float | None]:
    return {"test_rows_low": needed.low, "test_rows_high": needed.high}


def plan_rows(
    scores: FloatArray,
    resampled: FloatArray,
    n_rows: int,
    *,
    greater_is_better: bool,
    difference: float | None = None,
    test_rows: Sequence[int] | None = None,
    level: float = DEFAULT_LEVEL,
    degrees_of_freedom: float | None = None,
    n_units: int | None = None,
    prizes: int = 3,
    top: int = 10,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Return how certain the ranks of these submissions would be on other numbers of rows.

    Parameters
    ----------
    scores
        ``(m,)`` of the pilot; copies count once, and the best 50 are kept.
    resampled
        ``(m, B)`` scores under B joint resamples of the n rows.
    n_rows
        n.
    difference
        In the metric's units; None: the lead of the best over the next score.
    test_rows
        N; None: from a quarter to sixteen times n.
    level
        Of the test, of the rank intervals and of the intervals of all figures.
    degrees_of_freedom
        Of the standard error of a difference, from
        :func:`~arena.simulation.plan.uncertainty.pair_degrees_of_freedom`; None: one less than the
        units.
    n_units
        The number of groups of the n rows; None: each row is one. A board of N rows has
        ``N / n`` times as many.
    prizes
        The number of prize places.
    top
        k of the top k.
    rng
        Draws true scores, and the errors of new rows; None: that of seed 0.

    Raises
    ------
    UsageError
        With fewer than two submissions, a level or numbers out of range, or no difference.
    """
    grid = list(test_rows or [max(2, round(n_rows * step)) for step in _STEPS])
    _check(grid, level, prizes, top)
    rng, progress = rng or np.random.default_rng(0), progress or NoProgress()
    pilot = _Distinct.of(scores, resampled, greater_is_better=greater_is_better)
    best, errors = pilot.scores[:MOST_SUBMISSIONS], pilot.errors[:MOST_SUBMISSIONS]
    gap = _gap(pilot.scores, difference)
    normal, nonparametric, fresh, factor = _draw_true_scores(pilot, rng)
    by_prior = [nonparametric, normal] if factor else [nonparametric]
    degrees = degrees_of_freedom or float(max((n_units or n_rows) - 1, 1))
    drawn_degrees = degrees_with_resamples(degrees, errors.shape[1])
    deciding = DecidingDifferences(
        deviations=pair_errors(errors),
        critical=largest_error(errors, 1 - PAIRS * (1 - level)),
        level=level,
        degrees_per_row=degrees / n_rows,
        units_per_row=(n_units or n_rows) / n_rows,
    )
    power = PairedTestPower.of(deciding, gap, n_rows, deviation_bounds(drawn_degrees, level))
    critical = deciding.critical_value(n_rows)
    scenarios = ScoreScenarios.of(
        by_prior,
        draw_flat(best, errors, degrees=drawn_degrees, draws=_SCENARIOS, rng=rng),
        least_favourable(best, errors, critical),
        deciding,
        fresh,
        n_rows,
        level,
    )
    until = [rows_until_the_best_leads(true, fresh, n_rows) for true in by_prior]
    progress.start("Planning", len(grid))
    rows = []
    for count in grid:
        rows.append(_plan_row(count, normal, until=until, scenarios=scenarios, power=power))
        progress.advance()
    return Plan(
        pilot_rows=n_rows,
        submissions=len(best),
        copies=len(scores) - len(pilot.scores),
        difference=gap,
        standard_error=power.error,
        degrees_of_freedom=degrees,
        shrinkage=factor,
        level=level,
        rows=tuple(rows),
        power_rows=tuple(map(power.rows_for, _SHARES)),
        best_wins_rows=tuple(
            _needed_rows(share, until, *scenarios.rows_for(share)) for share in _SHARES
        ),
        targets=tuple(
            target_plan(
                target,
                scenarios,
                by_prior=by_prior,
                worst=least_favourable_for(best, errors, target, critical),
                grid=grid,
            )
            for target in targets_for(len(best), prizes, top)
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Distinct:
    """The submissions of a pilot without copies, the best first."""

    scores: FloatArray
    """``(k,)``, larger is better."""
    errors: FloatArray
    """``(k, B)`` by which a resample differs from the mean over the resamples."""

    @classmethod
    def of(cls, scores: FloatArray, resampled: FloatArray, *, greater_is_better: bool) -> _Distinct:
        ordered = best_first(scores, greater_is_better=greater_is_better)
        distinct = ordered[_distinct(resampled[ordered])]
        if len(distinct) < 2:
            raise UsageError("A plan needs at least two submissions that differ, to compare them.")
        sign = 1.0 if greater_is_better else -1.0
        errors = sign * resampled[distinct]
        return cls(
            sign * round_significant(scores[distinct]), errors - errors.mean(axis=1, keepdims=True)
        )


def _draw_true_scores(
    pilot: _Distinct, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Return true scores by both priors, errors of new rows, and the shrinkage.

    Returns
    -------
    ``(k, S)`` true scores by the normal and by the nonparametric prior, ``(k, S)`` errors on rows
    like the pilot's, and the shrinkage: with 0, sampling error explains all differences.
    """
    positions = np.arange(min(MOST_SUBMISSIONS, len(pilot.scores)))
    normal = draw_normal(pilot.scores, pilot.errors, positions=positions, draws=_DRAWN, rng=rng)
    fresh = normal_errors(pilot.errors[positions], rng)
    nonparametric = draw_nonparametric(
        pilot.scores, pilot.errors, positions=positions, draws=_DRAWN, rng=rng
    )
    return normal, nonparametric, fresh, shrinkage(pilot.scores, pilot.errors)


def _check(grid: Sequence[int], level: float, prizes: int, top: int) -> None:
    check_level(level)
    if min(grid) < 2:
        raise UsageError("The numbers of rows must be 2 or more.")
    if min(prizes, top) < 1:
        raise UsageError("The number of prizes and the k of the top k must be 1 or more.")


def _gap(scores: FloatArray, difference: float | None) -> float:
    """Return the difference to detect: by default the lead of the best over the next score."""
    leads = scores[0] - scores
    gap = float(leads[leads > 0].min(initial=np.inf)) if difference is None else difference
    if not 0 < gap < np.inf:
        problem = "of all scores is 0: state one" if difference is None else "must be positive"
        raise UsageError(f"The difference {problem}, with --difference.")
    return gap


def _plan_row(
    rows: int,
    true: FloatArray,
    until: Sequence[FloatArray],
    scenarios: ScoreScenarios,
    power: PairedTestPower,
) -> PlanRow:
    """Return the figures for a number of private rows.

    Parameters
    ----------
    true
        ``(k, S)`` true scores under the normal prior.
    until
        The rows from which on the best one leads, under the nonparametric prior and, unless
        sampling error explains all differences, under the normal one.
    """
    scale = float(np.sqrt(power.n_rows / rows))
    boards = true[:, :_BOARDS] + scale * scenarios.fresh[:, :_BOARDS]
    pair, alone = scenarios.deciding.on_the_pilot(rows)
    widths, winners = board_widths(boards, scale * pair, scale * alone)
    points = [float((leading <= rows).mean()) for leading in until]
    intervals = scenarios.intervals(rows)
    least, most = intervals["best_wins"]
    intervals["best_wins"] = (min(least, *points), max(most, *points))
    return PlanRow(
        test_rows=rows,
        power=power.single(rows),
        power_corrected=power.corrected(rows),
        interval_width=float(widths.mean()),
        winner_width=float(winners.mean()),
        winner_shown=float((winners == 0).mean()),
        best_wins=points[1] if len(points) > 1 else None,
        best_wins_nonparametric=points[0],
        intervals={**power.intervals(rows), **intervals},
    )


def target_plan(
    target: RankTarget,
    scenarios: ScoreScenarios,
    by_prior: Sequence[FloatArray],
    worst: FloatArray,
    grid: Sequence[int],
) -> TargetPlan:
    """Return the plan of a target; ``by_prior`` holds the nonparametric draws first."""
    fresh, n_rows = scenarios.fresh, scenarios.n_rows
    tail = (1 - scenarios.level) / 2
    some = fresh[:, -_ERRORS_OF_A_SCENARIO:]
    until = [rows_until(true, fresh, n_rows, target) for true in by_prior]
    spread = [
        np.stack([rows_until(powers[:, None], some, n_rows, target) for powers in draws.T])
        for draws in scenarios.draws
    ]
    shares = []
    for rows in grid:
        scale = float(np.sqrt(n_rows / rows))
        points = [float((needed_rows <= rows).mean()) for needed_rows in until]
        least = share_right(worst, scale * fresh, target)
        most = max(
            float(np.quantile((needed_rows <= rows).mean(axis=1), 1 - tail / 2))
            for needed_rows in spread
        )
        normal = points[1] if len(points) > 1 else None
        shares.append(
            TargetShare(
                rows,
                normal,
                nonparametric=points[0],
                low=min(least, *points),
                high=max(most, *points),
            )
        )
    at_worst = rows_until(worst[:, None], fresh, n_rows, target)
    needed = []
    for share in _SHARES:
        counts = [
            np.quantile(needed_rows, share, axis=1, method="inverted_cdf") for needed_rows in spread
        ]
        low = float(np.ceil(min(float(np.quantile(count, tail / 2)) for count in counts)))
        high = None if has_ties(worst, target) else max(_quantile(at_worst, share), low)
        needed.append(_needed_rows(share, until, low, high))
    return TargetPlan(target, tuple(shares), tuple(needed))


def _distinct(resampled: FloatArray) -> IntArray:
    """Return the positions of the first of each group of equal rows, in order."""
    _, first = np.unique(round_significant(resampled), axis=0, return_index=True)
    return np.asarray(np.sort(first), dtype=np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class DecidingDifferences:
    """Which differences decide the order of two of k submissions on a board."""

    deviations: FloatArray
    """``(k, k)`` standard errors of the differences on the pilot."""
    critical: float
    """Of many rows, see :func:`~arena.simulation.plan.uncertainty.largest_error`."""
    level: float
    """Of the claim about ranks, of which the pairs and the leader's test are parts."""
    degrees_per_row: float
    units_per_row: float

    def critical_value(self, rows: int) -> float:
        """Return the smallest standardised difference that decides a pair on so many rows."""
        pairs = len(self.deviations) * (len(self.deviations) - 1)
        error = PAIRS * (1 - self.level) / pairs
        return self._critical_value(self.critical, error, rows)

    def _critical_value(self, critical: float, error: float, rows: int) -> float:
        degrees, units = self.degrees_per_row * rows, self.units_per_row * rows
        return board_critical_value(critical, error, degrees, units)

    def on_the_pilot(self, rows: int) -> tuple[FloatArray, FloatArray]:
        """Return ``(k, k)`` what decides on a board, but with the standard errors of the pilot.

        These are the differences that decide a pair, and those that show that the first is best if
        it leads each other one by as much.
        """
        alone = LEADER * (1 - self.level) / 2
        by_test = self._critical_value(float(-special.ndtri(alone)), alone, rows)
        needed = np.full((2, *self.deviations.shape), np.inf)
        moving = self.deviations > 0
        for needed_rows, critical in zip(needed, (self.critical_value(rows), by_test), strict=True):
            needed_rows[moving] = critical * self.deviations[moving]
        return needed[0], needed[1]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreScenarios:
    """True scores that the pilot does not exclude, for the intervals of all figures."""

    draws: Sequence[FloatArray]
    """``(k, S)`` for each prior, larger is better."""
    worst: FloatArray
    """``(k,)`` of the least favourable case."""
    until: Sequence[FloatArray]
    """``(S, E)`` for each prior: the rows from which on the best one leads."""
    deciding: DecidingDifferences
    fresh: FloatArray
    n_rows: int
    level: float

    @classmethod
    def of(
        cls,
        by_prior: Sequence[FloatArray],
        flat: FloatArray,
        gaps: FloatArray,
        deciding: DecidingDifferences,
        fresh: FloatArray,
        n_rows: int,
        level: float,
    ) -> ScoreScenarios:
        """Return them from the scores that the priors draw."""
        draws = [flat, *(scenario[:, :_SCENARIOS] for scenario in by_prior)]
        some = fresh[:, -_ERRORS_OF_A_SCENARIO:]
        until = [
            np.stack(
                [
                    rows_until_the_best_leads(powers[:, None], some, n_rows)
                    for powers in scenario_draws.T
                ]
            )
            for scenario_draws in draws
        ]
        return cls(draws, -gaps, until, deciding, fresh, n_rows, level)

    def intervals(self, rows: int) -> dict[str, Interval]:
        """Return the intervals for this number of rows of figures that depend on true scores."""
        tail, scale = (1 - self.level) / 2, float(np.sqrt(self.n_rows / rows))
        shares = [(until <= rows).mean(axis=1) for until in self.until]
        tied = self.worst == 0
        boards = self.worst[:, None] + scale * self.fresh[:, : 10 * _BOARDS_OF_A_SCENARIO]
        # Of several that are equally good only one counts as the best: any of them by chance.
        wins_at_worst = float(tied[boards.argmax(axis=0)].mean()) / int(tied.sum())
        widths, winners, board_widths = self._widths(self.worst[:, None], rows, 10)
        by_prior = [self._widths(scenario_draws, rows) for scenario_draws in self.draws]
        most = max(np.quantile(share, 1 - tail / 2) for share in shares)
        ends = {"best_wins": (wins_at_worst, most)}
        at_worst = {"interval_width": widths, "winner_width": winners, "winner_shown": board_widths}
        for position, (name, worst) in enumerate(at_worst.items()):
            lows = [np.quantile(means[position], tail / 2) for means in by_prior]
            highs = [np.quantile(means[position], 1 - tail / 2) for means in by_prior]
            ends[name] = (min(*lows, worst[0]), max(*highs, worst[0]))
        return {name: (float(low), float(high)) for name, (low, high) in ends.items()}

    def _widths(
        self, true: FloatArray, rows: int, times: int = 1
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return ``(S,)`` means over boards: widths, those of winners, and winners shown."""
        count, boards = true.shape[1], times * _BOARDS_OF_A_SCENARIO
        scale = float(np.sqrt(self.n_rows / rows))
        errors = self.fresh[:, np.arange(count * boards) % self.fresh.shape[1]]
        board_scores = np.repeat(true, boards, axis=1) + scale * errors
        pair, alone = self.deciding.on_the_pilot(rows)
        widths, winners = board_widths(board_scores, scale * pair, scale * alone)
        winners = winners.reshape(count, boards)
        means = widths.mean(axis=1).reshape(count, boards).mean(axis=1)
        return means, winners.mean(axis=1), (winners == 0).mean(axis=1)

    def rows_for(self, share: float) -> tuple[float, float | None]:
        """Return the interval of the rows with which the truly best wins with a probability."""
        tail = (1 - self.level) / 2
        rows = [
            np.quantile(needed_rows, share, axis=1, method="inverted_cdf")
            for needed_rows in self.until
        ]
        low = min(float(np.quantile(of_prior, tail / 2)) for of_prior in rows)
        if (self.worst == 0).sum() > 1:
            return float(np.ceil(low)), None
        until = rows_until_the_best_leads(self.worst[:, None], self.fresh, self.n_rows)
        return float(np.ceil(low)), max(_quantile(until, share), float(np.ceil(low)))


@dataclass(frozen=True, slots=True)
class PairedTestPower:
    """The power of the paired test of two submissions."""

    gap: float
    """The difference to detect."""
    error: float
    """The standard error of a difference on the pilot's rows."""
    pairs: int
    n_rows: int
    """Of the pilot."""
    level: float
    bounds: Interval
    """Factors that the standard error is within at the level."""

    @classmethod
    def of(
        cls, deciding: DecidingDifferences, gap: float, n_rows: int, bounds: Interval
    ) -> PairedTestPower:
        """Return it with the median standard error over all pairs."""
        pairs = deciding.deviations[np.triu_indices(len(deciding.deviations), k=1)]
        moving = pairs[pairs > 0]
        return cls(
            gap=gap,
            error=float(np.median(moving)) if len(moving) else 0.0,
            pairs=len(pairs),
            n_rows=n_rows,
            level=deciding.level,
            bounds=bounds,
        )

    def corrected(self, rows: int, factor: float = 1.0) -> float:
        """Return the power on a number of rows, corrected for all pairs."""
        return self.single(rows, factor, self.pairs)

    def single(self, rows: int, factor: float = 1.0, comparisons: int = 1) -> float:
        """Return the power with a multiple of the standard error."""
        scale = factor * float(np.sqrt(self.n_rows / rows))
        return paired_power(self.gap, scale * self.error, self.level, comparisons)

    def intervals(self, rows: int) -> dict[str, Interval]:
        """Return the intervals of both powers, by the names in :class:`PlanRow`."""
        low, high = self.bounds
        return {
            "power": (self.single(rows, high), self.single(rows, low)),
            "power_corrected": (self.corrected(rows, high), self.corrected(rows, low)),
        }

    def rows_for(self, share: float) -> NeededRows:
        """Return the rows for a power of the corrected test; the far tail is neglected."""
        critical = special.ndtri(1 - (1 - self.level) / (2 * self.pairs))
        rows = self.n_rows * ((critical + special.ndtri(share)) * self.error / self.gap) ** 2
        point, least, most = (float(np.ceil(rows * factor**2)) for factor in (1.0, *self.bounds))
        return NeededRows(share, point, nonparametric=None, low=least, high=most)


def _needed_rows(
    share: float, until: Sequence[FloatArray], low: float, high: float | None
) -> NeededRows:
    """Return the rows with an interval that holds under either prior, as those of the shares.

    ``until`` is that of the nonparametric prior and, if it can be used, of the normal one.
    """
    points = [_quantile(leading, share) for leading in until]
    return NeededRows(
        probability=share,
        test_rows=points[1] if len(points) > 1 else None,
        nonparametric=points[0],
        low=min(low, *points),
        high=None if high is None else max(high, *points),
    )


def _quantile(until: FloatArray, share: float) -> float:
    return float(np.ceil(np.quantile(until, share, method="inverted_cdf")))
