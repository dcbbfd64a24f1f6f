"""Draws whole competitions from what a pilot says, for other numbers of teams and submissions.

True scores of teams are drawn from the distribution that the pilot's scores suggest. Each team
makes several submissions, which differ less from each other than teams do, selects the one with the
best public score, and is ranked on the private rows. Errors are normal. What a pilot leaves open is
drawn as well: its submissions are resampled, and the distribution is estimated again, under a
normal prior, under a nonparametric one, and with each atom of the latter as crowded as can be: a
pilot does not show differences that are much smaller than its errors. Nor do a few submissions show
whether the best of many teams are far ahead, so a distribution with a long upper tail joins them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from arena.simulation.plan.priors import (
    nonparametric_components,
    own_deviations,
    shrinkage,
)
from arena.simulation.plan.uncertainty import degrees_with_resamples
from arena.types import FloatArray
from arena.utils.formatting import Show, number, percent, width_format
from arena.utils.parallel import NoProgress, Progress

FIGURES: Mapping[str, str] = {
    "best_wins": "the truly best team wins",
    "loss": "loss: the winner's true score less the best one's",
    "quality": "how much better the winner's true score is than the mean of all teams",
    "overstatement": "public score at the top less its true score",
    "tau": "tau of public and private ranks",
    "contenders": "teams that matter: the winner is one of so many truly best, in 95%",
}
"""What is computed for each design, in words."""

_FORMATS: Mapping[str, Show] = {
    "best_wins": percent,
    "tau": number(2),
    "contenders": "{:,.0f}".format,
}
"""Of figures that are no scores."""
_WIDEST_SHARE = 0.75
"""An interval that is wider, as a share of all possible values, is not printed with an estimate."""
_DRAWS = 400
SCENARIOS = 20
"""Draws of the scores of the field, whose spread is the uncertainty of a plan."""
_KINDS = 4
_DRAWS_OF_A_SCENARIO = 100
_CELLS = 30_000
"""Teams times competitions that are drawn at most, but at least 50 competitions."""
_CELLS_OF_UNIFORM = 1_024
"""Equal parts of the range of uniform random numbers; a power of 2, so that dividing is exact."""
_ATOM = 1e-3
"""Width of an atom of the most crowded population, relative to that of the nonparametric prior."""
_LEAST_SPREAD = 0.05
"""Of a few past teams, relative to that of all: some boards have many equal scores."""
_PAIRS = 4
_TAIL_STEPS = 151

_Figures: TypeAlias = dict[str, float]
_Spread: TypeAlias = dict[str, FloatArray]
"""``(n_kinds, n_scenarios)`` of each figure."""


@dataclass(frozen=True, slots=True)
class Design:
    """What an organiser decides, or expects."""

    teams: int
    """Number of teams."""
    private_rows: int
    """Number of private rows."""
    public_rows: int
    """Number of public rows."""
    submissions: int
    """Of each team over the whole competition, at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """A distribution of true scores, larger is better: a mixture of normals of one width."""

    centres: FloatArray
    weights: FloatArray
    width: float
    error: float
    """Standard deviation of a team's own part of its score, on one row."""
    bounds: tuple[float, float] = (-np.inf, np.inf)
    """The range of the scores."""

    @property
    def spread(self) -> float:
        """The standard deviation of the true scores."""
        mean = float(self.centres @ self.weights)
        between = float(((self.centres - mean) ** 2) @ self.weights)
        return float(np.sqrt(between + self.width**2))

    @property
    def outside(self) -> float:
        """The share of true scores that lie outside the range."""
        if self.width == 0:
            return 0.0
        low, high = ((end - self.centres) / self.width for end in self.bounds)
        return float((special.ndtr(low) + special.ndtr(-high)) @ self.weights)

    def true_scores(self, uniform: FloatArray, normal: FloatArray) -> FloatArray:
        """Return true scores, made from uniform and from standard normal random numbers."""
        cumulative = np.cumsum(self.weights)
        starts = np.searchsorted(cumulative, np.arange(_CELLS_OF_UNIFORM + 1) / _CELLS_OF_UNIFORM)
        cells = (uniform * _CELLS_OF_UNIFORM).astype(np.intp)
        chosen = starts.take(cells, mode="clip")
        # Elsewhere all numbers of a cell belong to one centre: looking it up is faster.
        mixed = np.flatnonzero((starts[1:] != starts[:-1]).take(cells, mode="clip"))
        chosen.flat[mixed] = np.searchsorted(cumulative, uniform.flat[mixed], side="right")
        return np.asarray(self.centres.take(chosen, mode="clip") + self.width * normal)

    def entries(
        self,
        uniform: FloatArray,  # noqa: ARG002
        normal: FloatArray,  # noqa: ARG002
        *,
        allowed: int,
    ) -> int | FloatArray:
        """Return the submissions of teams with these random numbers: as many as are allowed."""
        return allowed


@dataclass(frozen=True, slots=True)
class DesignFigures:
    """The figures of one design, with an interval each."""

    design: Design
    """The competition that was drawn."""
    setting: float
    """The value that is swept."""
    point: Mapping[str, float]
    """By name in :data:`FIGURES`: the mean of both priors."""
    low: Mapping[str, float]
    """Lower ends of the intervals, by the name of the figure."""
    high: Mapping[str, float]
    """Upper ends of the intervals."""
    shown_worse: bool
    """Whether its winner is shown to have a lower true score than that of the sweep's best."""

    def is_known(self, name: str) -> bool:
        """Return whether the interval of ``best_wins`` or ``contenders`` excludes enough values."""
        most = self.design.teams if name == "contenders" else 1
        return self.high[name] - self.low[name] <= _WIDEST_SHARE * most

    def texts(self, name: str) -> tuple[str, str, str]:
        """Return a figure and the ends of its interval, with the decimals that its width justifies.

        Parameters
        ----------
        name
            In :data:`FIGURES`.
        """
        ends = self.low[name], self.high[name]
        show = _FORMATS.get(name) or width_format(ends[1] - ends[0])
        return show(self.point[name]), show(ends[0]), show(ends[1])


@dataclass(frozen=True, slots=True)
class Sweep:
    """One quantity varied, the others fixed."""

    name: str
    """``public_share``, ``per_day``, ``rows`` or ``teams``."""
    designs: tuple[DesignFigures, ...]
    """The figures of each setting, in the order of the settings."""

    @property
    def best(self) -> DesignFigures:
        """The design whose winner has the largest expected true score."""
        return max(self.designs, key=lambda design: design.point["quality"])

    @property
    def not_shown_worse(self) -> tuple[DesignFigures, ...]:
        """The designs besides the best one that are not shown to be worse."""
        best = self.best
        return tuple(
            design for design in self.designs if design is not best and not design.shown_worse
        )


def populations_of(
    scores: FloatArray,
    errors: FloatArray,
    n_rows: int,
    rng: np.random.Generator,
    *,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    degrees_of_freedom: float = np.inf,
    shapes: Sequence[FloatArray] = (),
) -> tuple[list[Population], list[list[Population]]]:
    """Return the populations that a pilot suggests, and others that it does not exclude.

    Parameters
    ----------
    scores
        ``(m,)``, larger is better.
    errors
        ``(m, B)`` of joint resamples of the n rows.
    n_rows
        n.
    rng
        Resamples the pilot's submissions.
    bounds
        The range of the scores, larger is better.
    degrees_of_freedom
        Of the standard errors that the resamples give; few with few groups of rows.
    shapes
        ``(k,)`` each: scores of past teams with the standard deviation 1. The uncertainty of the
        pilot's standard deviation is then that of as many teams of these.

    Returns
    -------
    One under each prior, and for each of four kinds 20 others with drawn standard errors: normal
    and Gumbel's with a drawn variance of the scores (by the chi-square distribution, since a
    bootstrap of few submissions varies too little), and of resampled submissions the nonparametric
    and the most crowded. With shapes the normal prior only, with as many others in all.
    """
    centred = errors - errors.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    points = (
        [_normal(scores, centred, n_rows, bounds)]
        if shapes
        else _estimated(scores, centred, n_rows, bounds)[:2]
    )
    m = len(scores)
    n_scenarios = SCENARIOS * (_KINDS if shapes else 1)
    drawn = [rng.integers(0, m, m) for _ in range(n_scenarios)]
    factors, spreads = np.ones(n_scenarios), _spreads(m, shapes, rng, count=n_scenarios)
    if np.isfinite(degrees_of_freedom):
        degrees = degrees_with_resamples(degrees_of_freedom, errors.shape[1])
        factors = np.sqrt(degrees / rng.chisquare(degrees, n_scenarios))
    centre = scores.mean()
    by_draw = []
    for chosen, factor, spread in zip(drawn, factors, spreads, strict=True):
        normal = _normal(centre + spread * (scores - centre), factor * centred, n_rows, bounds)
        others = []
        if not shapes:
            estimated = _estimated(scores[chosen], factor * centred[chosen], n_rows, bounds)
            others = [*estimated[1:], _with_a_long_tail(normal)]
        by_draw.append([normal, *others])
    return points, [list(kind) for kind in zip(*by_draw, strict=True)]


def _spreads(
    m: int, shapes: Sequence[FloatArray], rng: np.random.Generator, *, count: int
) -> FloatArray:
    """Return true standard deviations relative to that of m scores, which is drawn."""
    if not shapes:
        return np.asarray(np.sqrt((m - 1) / rng.chisquare(m - 1, count)))
    chosen = [rng.choice(shapes[number % len(shapes)], m) for number in range(count)]
    return np.asarray(1 / np.maximum(np.std(chosen, axis=1, ddof=1), _LEAST_SPREAD))


def _error_on_a_row(errors: FloatArray, n_rows: int) -> float:
    return float(np.median(own_deviations(errors))) * float(np.sqrt(n_rows))


def _normal(
    scores: FloatArray, errors: FloatArray, n_rows: int, bounds: tuple[float, float]
) -> Population:
    """Return the population of a normal prior."""
    spread = shrinkage(scores, errors) * float(np.std(scores, ddof=1))
    error = _error_on_a_row(errors, n_rows)
    return Population(
        np.array([scores.mean()]), np.ones(1), width=spread, error=error, bounds=bounds
    )


def _with_a_long_tail(normal: Population) -> Population:
    """Return Gumbel's distribution with the mean and the spread of a normal one, on a grid.

    Its upper tail is exponential, so that the best of many teams are apart from each other.
    """
    steps = np.linspace(-3.0, 12.0, _TAIL_STEPS)
    weights = np.exp(-steps - np.exp(-steps))
    weights /= weights.sum()
    mean = float(steps @ weights)
    scale = normal.spread / float(np.sqrt(((steps - mean) ** 2) @ weights))
    return replace(
        normal,
        centres=normal.centres[0] + scale * (steps - mean),
        weights=weights,
        width=scale * float(steps[1] - steps[0]) / 2,
    )


def _estimated(
    scores: FloatArray, errors: FloatArray, n_rows: int, bounds: tuple[float, float]
) -> list[Population]:
    """Return the populations of a normal prior, a nonparametric one, and the most crowded one."""
    deviations, error = own_deviations(errors), _error_on_a_row(errors, n_rows)
    normal = _normal(scores, errors, n_rows, bounds)
    centres, weights, width = nonparametric_components(scores, deviations)
    other = Population(centres, weights, width=width, error=error, bounds=bounds)
    return [normal, other, replace(other, width=_ATOM * width)]


@dataclass(frozen=True, slots=True, eq=False)
class RandomNumbers:
    """The random numbers of competitions, before they are scaled to a population and a design."""

    population: tuple[FloatArray, FloatArray]
    """``(n_teams, n_draws)`` uniform and normal numbers behind the true scores."""
    selection: FloatArray
    """``(n_teams, n_draws)`` uniform numbers behind the best public score of each team."""
    errors: FloatArray
    """``(3, n_teams, n_draws)`` normal numbers behind the errors."""
    largest: dict[int, FloatArray] = field(default_factory=dict)
    """What :meth:`largest_of` has calculated, by the number of variables."""

    @classmethod
    def of(cls, teams: int, draws: int, rng: np.random.Generator) -> RandomNumbers:
        """Draw them; fewer competitions for many teams."""
        shape = (teams, min(draws, max(50, _CELLS // teams)))
        population = rng.random(shape), rng.standard_normal(shape)
        return cls(population, rng.random(shape), rng.standard_normal((3, *shape)))

    def largest_of(self, submissions: int | FloatArray) -> FloatArray:
        """Return ``(n_teams, n_draws)`` maxima of so many standard normal variables."""
        if not isinstance(submissions, int):
            return np.asarray(special.ndtri(self.selection ** (1 / submissions)))
        if submissions not in self.largest:
            self.largest[submissions] = special.ndtri(self.selection ** (1 / submissions))
        return self.largest[submissions]


def draw_competitions(
    population: Population, within: float, designs: Sequence[Design], numbers: RandomNumbers
) -> list[dict[str, float]]:
    """Draw competitions and return the figures of each design, see :data:`FIGURES`.

    The best of k public scores of a team is the maximum of k normal variables; its true score
    follows from it by regression, so that k submissions cost as much as one. The
    overstatement is that of scores within the range of the metric.

    Parameters
    ----------
    within
        The standard deviation of a team's submissions about its mean, in true score and in error,
        relative to that of teams; from 0 to 1.
    designs
        All of one number of teams.
    numbers
        Of as many teams.

    Examples
    --------
    >>> one = Population(np.zeros(1), np.ones(1), 0.01, 0.4)
    >>> numbers = RandomNumbers.of(20, 50, np.random.default_rng(0))
    >>> (found,) = draw_competitions(one, 0.5, [Design(20, 10**9, 1_000, 5)], numbers)
    >>> found["best_wins"] > 0.9, found["loss"] < 1e-4
    (True, True)
    """
    team = population.true_scores(*numbers.population)
    return [
        _draw(population, team, within=within, design=design, numbers=numbers) for design in designs
    ]


def _draw(
    population: Population,
    team: FloatArray,
    within: float,
    design: Design,
    numbers: RandomNumbers,
) -> dict[str, float]:
    """Return the figures of a design for ``(n_teams, n_draws)`` true mean scores of teams."""
    noise, entry = numbers.errors, within * population.spread
    common = float(np.sqrt(1 - within**2)) * population.error
    if design.public_rows:
        selected = within * population.error / float(np.sqrt(design.public_rows))
        total = float(np.sqrt(entry**2 + selected**2))
        entries = population.entries(*numbers.population, allowed=design.submissions)
        best = total * numbers.largest_of(entries)
        share = entry**2 / total**2 if total else 0.0
        gain = share * best + np.sqrt(share) * selected * noise[0]
        public = team + best + common / float(np.sqrt(design.public_rows)) * noise[1]
    else:
        gain = entry * noise[0]
        public = np.full(team.shape, np.nan)
    true = team + gain
    private = true + population.error / float(np.sqrt(design.private_rows)) * noise[2]
    columns = np.arange(team.shape[1])
    winner = private.argmax(axis=0)
    won, top = true[winner, columns], true.max(axis=0)
    ranks = (true > won).sum(axis=0) + 1
    figures = {
        "best_wins": float((winner == true.argmax(axis=0)).mean()),
        "loss": float((top - won).mean()),
        "quality": float((won - team.mean(axis=0)).mean()),
        "overstatement": np.nan,
        "tau": np.nan,
        "contenders": float(np.quantile(ranks, 0.95, method="inverted_cdf")),
    }
    if design.public_rows:
        leader = public.argmax(axis=0)
        public_scores, true_scores = (
            np.clip(scores[leader, columns], *population.bounds) for scores in (public, true)
        )
        figures["overstatement"] = float((public_scores - true_scores).mean())
        figures["tau"] = _agreement(public, private)
    return figures


def _agreement(public: FloatArray, private: FloatArray) -> float:
    """Return Kendall's tau of ``(n_teams, n_draws)`` scores from a few pairs of each team."""
    total, teams = 0, len(public)
    steps = min(_PAIRS, teams - 1)
    circles = [np.concatenate([scores[-steps:], scores]) for scores in (public, private)]
    for step in range(1, 1 + steps):
        before = slice(steps - step, steps - step + teams)
        signs = [_signs(circle[steps:], circle[before]) for circle in circles]
        total += int(np.sum(signs[0] * signs[1], dtype=np.int64))
    return total / (steps * public.size) if steps else float("nan")


def _signs(left: FloatArray, right: FloatArray) -> npt.NDArray[np.int8]:
    """Return the signs of differences, in one byte each."""
    return (left > right).view(np.int8) - (left < right).view(np.int8)


def sweep_designs(
    swept: Mapping[str, tuple[Sequence[float], Sequence[Design]]],
    populations: tuple[Sequence[Population], Sequence[Sequence[Population]]],
    within: float,
    level: float,
    seed: int,
    progress: Progress | None = None,
) -> tuple[Sweep, ...]:
    """Return the figures of the designs of several sweeps, all from the same random numbers.

    Parameters
    ----------
    swept
        By the name of the sweep: its settings, and the design of each.
    populations
        As :func:`populations_of` returns them.
    level
        Of the intervals over the populations that the pilot does not exclude.
    """
    designs = list(dict.fromkeys(design for _, designs in swept.values() for design in designs))
    drawn = _figures_by_design(
        designs, populations, within=within, seed=seed, progress=progress or NoProgress()
    )
    return tuple(
        _sweep(name, settings, [(design, *drawn[design]) for design in designs], level)
        for name, (settings, designs) in swept.items()
    )


def _figures_by_design(
    designs: Sequence[Design],
    populations: tuple[Sequence[Population], Sequence[Sequence[Population]]],
    within: float,
    seed: int,
    progress: Progress,
) -> dict[Design, tuple[_Figures, _Spread]]:
    """Return the figures of each design, and those in all scenarios."""
    points, others = populations
    scenarios = list(zip(*others, strict=True))  # the same random numbers for all kinds
    by_teams: dict[int, list[Design]] = {}
    for design in designs:
        by_teams.setdefault(design.teams, []).append(design)
    progress.start("Drawing competitions", len(by_teams) * (1 + len(scenarios)))
    figures: dict[Design, tuple[_Figures, _Spread]] = {}
    for teams, alike in by_teams.items():
        numbers = RandomNumbers.of(teams, _DRAWS, np.random.default_rng(seed))
        point = _figures(points, within, alike, numbers).mean(axis=0)
        progress.advance()
        spread = []
        for position, kinds in enumerate(scenarios):
            rng = np.random.default_rng([seed, position])
            numbers = RandomNumbers.of(teams, _DRAWS_OF_A_SCENARIO, rng)
            spread.append(_figures(kinds, within, alike, numbers))
            progress.advance()
        by_design = np.array(spread).transpose(2, 3, 1, 0)
        for design, figures_of_design, by_kind in zip(
            alike, point.tolist(), by_design, strict=True
        ):
            figures[design] = (
                dict(zip(FIGURES, figures_of_design, strict=True)),
                dict(zip(FIGURES, by_kind, strict=True)),
            )
    return figures


def _figures(
    populations: Sequence[Population],
    within: float,
    designs: Sequence[Design],
    numbers: RandomNumbers,
) -> FloatArray:
    """Return the ``(n_populations, n_designs, n_figures)`` of :data:`FIGURES`."""
    drawn = [draw_competitions(population, within, designs, numbers) for population in populations]
    return np.array(
        [
            [[figures_of_board[name] for name in FIGURES] for figures_of_board in boards]
            for boards in drawn
        ]
    )


def _sweep(
    name: str,
    settings: Sequence[float],
    drawn: Sequence[tuple[Design, _Figures, _Spread]],
    level: float,
) -> Sweep:
    """Return the sweep of designs with their figures and the figures in all scenarios."""
    tail = (1 - level) / 2
    best = max(range(len(drawn)), key=lambda position: drawn[position][1]["quality"])
    rows = []
    for position, (setting, (design, point, spread)) in enumerate(
        zip(settings, drawn, strict=True)
    ):
        lost = drawn[best][2]["quality"] - spread["quality"]
        ends = {
            name: np.quantile(values, [tail, 1 - tail], axis=1) for name, values in spread.items()
        }
        rows.append(
            DesignFigures(
                design,
                setting,
                point=point,
                low={name: min(point[name], float(low.min())) for name, (low, _) in ends.items()},
                high={
                    name: max(point[name], float(high.max())) for name, (_, high) in ends.items()
                },
                shown_worse=bool(position != best and np.quantile(lost, tail, axis=1).min() > 0),
            )
        )
    return Sweep(name, tuple(rows))
