"""Compares mechanisms over simulations with several seeds: means, spread and paired differences.

One simulation is one possible outcome. The same seeds run under every mechanism, so that the
differences are paired by seed. They are tested with a paired t test, or with an exact sign test
where the outcome is yes or no, and corrected for the number of comparisons (Bonferroni). The
interval of a difference of shares is Tango's (1998), because that of the t test has no width where
no seed differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from arena.evaluation.levels import check_level
from arena.types import DEFAULT_LEVEL, FloatArray
from arena.utils.tabular import as_json

Document: TypeAlias = Mapping[str, Any]
"""As :meth:`arena.simulation.competition.outcome.CompetitionOutcome.to_dict` returns it."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number or a yes or no that describes the outcome of a simulation."""

    name: str
    label: str
    path: tuple[str | int, ...]
    """Its path in the document of an outcome."""
    minus: tuple[str | int, ...] = ()
    """The path of the value that is subtracted; empty: none."""
    is_share: bool = False
    """Whether it is yes or no, so that its mean is a share."""
    within: tuple[float, float] = (-np.inf, np.inf)
    """The values that it can have."""

    def of(self, outcome: Document) -> float | None:
        """Return it for one outcome; None: not known."""
        values = [_at(outcome, path) for path in (self.path, self.minus) if path]
        if any(value is None for value in values):
            return None
        return float(values[0]) - sum(map(float, values[1:]))


def _at(document: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        if document is None or (isinstance(part, int) and not document):
            return None
        document = document[part]
    return document


_DISTANCE, _CORRELATION = (0.0, np.inf), (-1.0, 1.0)
MEASURES = (
    Measure("best_won", "truly best team won", ("best_won",), is_share=True),
    Measure("loss", "loss in true score", ("loss",), within=_DISTANCE),
    Measure(
        "leaderboard_error",
        "leaderboard error, maximum over days",
        ("leaderboard_error",),
        within=_DISTANCE,
    ),
    Measure(
        "leaderboard_error_mean",
        "leaderboard error, mean over days",
        ("leaderboard_error_mean",),
        within=_DISTANCE,
    ),
    Measure(
        "top_less_true",
        "score shown at the top less its true score, last day",
        ("days", -1, "shown_best"),
        minus=("days", -1, "true_of_leader"),
    ),
    Measure(
        "public_private",
        "tau of public and private ranks",
        ("agreement", "public_private"),
        within=_CORRELATION,
    ),
    Measure(
        "private_true",
        "tau of private and true ranks",
        ("agreement", "private_true"),
        within=_CORRELATION,
    ),
)
"""The compared outcomes, in the order of tables."""


@dataclass(frozen=True, slots=True)
class Story:
    """The simulation of one seed."""

    seed: int
    """The seed of the simulation."""
    folder: str
    """The folder that holds it."""
    outcomes: tuple[Document, ...]
    """Under each mechanism, in their order."""
    notes: tuple[str, ...] = ()
    """Failures, in sentences."""

    @property
    def degenerate(self) -> bool:
        """Whether the ranking has no meaning under any mechanism."""
        return any(outcome["degenerate"] is not None for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class MeasureSummary:
    """A measure under one mechanism over the seeds."""

    mechanism: str
    """The mechanism."""
    measure: str
    """The outcome."""
    seeds: int
    """For which it is known."""
    mean: float
    """The mean over seeds."""
    sd: float | None
    """Over the seeds; None for a single one."""
    standard_error: float | None
    """The standard error of the mean."""
    low: float | None
    """Lower end of the interval of the mean."""
    high: float | None
    """The interval of the mean: Student's t, Clopper-Pearson for a share."""
    least: float
    """The smallest value over seeds."""
    most: float
    """The largest value over seeds."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The paired difference of a measure between two mechanisms."""

    measure: str
    """The outcome that differs."""
    first: str
    """The mechanism whose value is subtracted."""
    second: str
    """The mechanism from whose value it is subtracted."""
    seeds: int
    """Number of seeds in which both values are known."""
    mean: float
    """Second less first."""
    sd: float | None
    """The standard deviation of the difference over seeds."""
    low: float | None
    """Lower end of the interval of the mean difference."""
    high: float | None
    """The interval of the mean at the corrected level, Tango's for a share; None: all differences
    are equal, which leaves no variance to find one with."""
    p: float
    """Corrected for all comparisons."""
    shown: bool
    """Whether the corrected p is below 1 less the level."""


@dataclass(frozen=True, slots=True)
class DayError:
    """The leaderboard error up to a day, mean over the seeds."""

    mechanism: str
    """The mechanism."""
    day: int
    """The day, from 1."""
    error: float
    """The mean over seeds of the error of the public board, in the metric's unit."""
    standard_error: float | None
    """The standard error of that mean."""
    low: float | None
    """Lower end of the interval of the mean, by Student's t, from 0; None: a single seed."""
    high: float | None
    """Its upper end."""


@dataclass(frozen=True, slots=True, eq=False)
class MechanismComparison:
    """Mechanisms compared over seeds."""

    mechanisms: tuple[str, ...]
    """The compared mechanisms, as they were named."""
    stories: tuple[Story, ...]
    """The values, one for each seed."""
    degenerate: tuple[int, ...]
    """Seeds on which a ranking has no meaning; they are left out of everything below."""
    level: float
    """Joint confidence level of the differences, in (0, 1)."""
    comparisons: int
    """The number of differences that the tests are corrected for."""
    summaries: tuple[MeasureSummary, ...]
    """Each outcome under each mechanism."""
    differences: tuple[Difference, ...]
    """Each outcome's difference between two mechanisms, paired by seed."""
    days: tuple[DayError, ...]
    """The error of the public board on each day."""

    @property
    def truth(self) -> str:
        """``exact`` or ``private``, see :data:`~arena.simulation.competition.true_scores`."""
        return str(self.stories[0].outcomes[0]["truth"])

    def summary_of(self, mechanism: str, measure: str) -> MeasureSummary | None:
        """Return a summary; None: the measure is not known."""
        summaries = (summary for summary in self.summaries if summary.mechanism == mechanism)
        return next((summary for summary in summaries if summary.measure == measure), None)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON, without the standings of each seed."""
        document: dict[str, Any] = as_json(
            {
                "seeds": [story.seed for story in self.stories],
                "degenerate_seeds": self.degenerate,
                "truth": self.truth,
                "level": self.level,
                "comparisons": self.comparisons,
                "measures": [
                    {"name": measure.name, "label": measure.label} for measure in MEASURES
                ],
                "summaries": [asdict(summary) for summary in self.summaries],
                "differences": [asdict(difference) for difference in self.differences],
                "errors_by_day": [asdict(day) for day in self.days],
                "runs": [
                    {
                        "seed": story.seed,
                        "folder": story.folder,
                        "mechanism": name,
                        "degenerate": outcome["degenerate"],
                        **{measure.name: measure.of(outcome) for measure in MEASURES},
                    }
                    for story in self.stories
                    for name, outcome in zip(self.mechanisms, story.outcomes, strict=True)
                ],
            }
        )
        return document


def values_of(stories: Sequence[Story], mechanism: int, measure: Measure) -> FloatArray:
    """Return ``(n_seeds,)`` values of a measure under the mechanism at a position; NaN: unknown."""
    values = [measure.of(story.outcomes[mechanism]) for story in stories]
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def compare_mechanisms(
    mechanisms: Sequence[str], stories: Sequence[Story], level: float = DEFAULT_LEVEL
) -> MechanismComparison:
    """Summarise every measure under every mechanism, and test all paired differences.

    Parameters
    ----------
    mechanisms
        Their names, in the order of the outcomes of each story.
    stories
        One for each seed.
    level
        Of the intervals, and 1 less the familywise error of the tests.

    Raises
    ------
    UsageError
        With a level out of range.

    Examples
    --------
    >>> def outcome(error):
    ...     return {"truth": "exact", "degenerate": None, "best_won": True, "loss": 0.0,
    ...             "leaderboard_error": error, "leaderboard_error_mean": error / 2, "days": [],
    ...             "agreement": {"public_private": None, "private_true": None}}
    >>> stories = [
    ...     Story(seed, "", (outcome(0.02 + seed / 1e4), outcome(0.01))) for seed in range(8)
    ... ]
    >>> found = compare_mechanisms(["full", "ladder"], stories)
    >>> [(difference.measure, difference.shown) for difference in found.differences][2]
    ('leaderboard_error', True)
    """
    check_level(level)
    compared_stories = [story for story in stories if not story.degenerate]
    values = {
        (position, measure.name): values_of(compared_stories, position, measure)
        for position in range(len(mechanisms))
        for measure in MEASURES
    }
    pairs = list(combinations(range(len(mechanisms)), 2))
    tested = [
        (first, other, measure)
        for first, other in pairs
        for measure in MEASURES
        if np.isfinite(values[first, measure.name] - values[other, measure.name]).sum() > 1
    ]
    return MechanismComparison(
        mechanisms=tuple(mechanisms),
        stories=tuple(stories),
        degenerate=tuple(story.seed for story in stories if story.degenerate),
        level=level,
        comparisons=len(tested),
        summaries=tuple(
            _summary(name, measure, finite, level)
            for position, name in enumerate(mechanisms)
            for measure in MEASURES
            for of_seeds in [values[position, measure.name]]
            if len(finite := of_seeds[np.isfinite(of_seeds)])
        ),
        differences=tuple(
            _difference(
                measure,
                (mechanisms[first], mechanisms[other]),
                values=values[other, measure.name] - values[first, measure.name],
                level=level,
                comparisons=len(tested),
            )
            for first, other, measure in tested
        ),
        days=tuple(
            day
            for position, name in enumerate(mechanisms)
            for day in errors_by_day(name, compared_stories, position, level)
        ),
    )


def _summary(name: str, measure: Measure, values: FloatArray, level: float) -> MeasureSummary:
    from scipy import stats

    n, mean = len(values), float(values.mean())
    sd = float(values.std(ddof=1)) if n > 1 else None
    error, low, high = mean_interval(values, level, measure.within)
    if measure.is_share:
        ends = stats.binomtest(int(values.sum()), n).proportion_ci(level)
        low, high = float(ends.low), float(ends.high)
    least, most = float(values.min()), float(values.max())
    return MeasureSummary(
        mechanism=name,
        measure=measure.name,
        seeds=n,
        mean=mean,
        sd=sd,
        standard_error=error,
        low=low,
        high=high,
        least=least,
        most=most,
    )


def _difference(
    measure: Measure, names: tuple[str, str], values: FloatArray, level: float, comparisons: int
) -> Difference:
    from scipy import stats

    finite = values[np.isfinite(values)]
    n, mean, sd = len(finite), float(finite.mean()), float(finite.std(ddof=1))
    low: float | None = None
    high: float | None = None
    tail = (1 - level) / (2 * comparisons)
    error = sd / float(np.sqrt(n))
    # Equal differences leave no variance to test with, so only their signs are evidence.
    varies = sd > 1e-12 * abs(mean)
    if measure.is_share:
        low, high = interval_of_shares(int((finite > 0).sum()), int((finite < 0).sum()), n, tail)
    elif varies:
        reach = float(stats.t.ppf(1 - tail, n - 1)) * error
        low, high = mean - reach, mean + reach
    if measure.is_share or not varies:
        p = _sign_test(finite)
    else:
        p = float(2 * stats.t.sf(abs(mean / error), n - 1))
    corrected = min(1.0, p * comparisons)
    is_shown = corrected < 1 - level
    first, second = names
    return Difference(
        measure=measure.name,
        first=first,
        second=second,
        seeds=n,
        mean=mean,
        sd=sd,
        low=low,
        high=high,
        p=corrected,
        shown=is_shown,
    )


def interval_of_shares(above: int, below: int, n: int, tail: float) -> tuple[float, float]:
    """Return the ends of the interval of a difference of two paired shares.

    The score interval of Tango (1998), *Equivalence test and confidence interval for the difference
    in proportions for the paired-sample design*, Statistics in Medicine 17: the differences whose
    score statistic is within the normal quantile of the tail probability.

    >>> [round(end, 3) for end in interval_of_shares(0, 0, 20, 0.025)]
    [-0.161, 0.161]
    """
    from scipy import optimize, special

    mean, critical = (above - below) / n, float(special.ndtri(1 - tail))

    def beyond(difference: float) -> float:
        a = 2 * n
        b = -above - below + (2 * n - above + below) * difference
        c = -below * difference * (1 - difference)
        likely = (np.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)
        variance = n * (2 * likely + difference * (1 - difference))
        distance = abs(above - below - n * difference)
        return float(distance - critical * np.sqrt(max(variance, 0.0)))

    low, high = -1.0, 1.0
    near = 1e-9  # at the mean itself the statistic may be 0 by 0
    if mean > low + near and beyond(low) > 0:
        low = float(optimize.brentq(beyond, low, mean - near))
    if mean < high - near and beyond(high) > 0:
        high = float(optimize.brentq(beyond, mean + near, high))
    return low, high


def _sign_test(differences: FloatArray) -> float:
    """Return the p of the exact two-sided sign test; for yes or no this is McNemar's."""
    from scipy import stats

    above, below = int((differences > 0).sum()), int((differences < 0).sum())
    return float(stats.binomtest(above, above + below).pvalue) if above + below else 1.0


def mean_interval(
    values: FloatArray, level: float, within: tuple[float, float]
) -> tuple[float | None, float | None, float | None]:
    """Return the standard error of a mean, and its interval by Student's t, cut to a range.

    None: there is a single value.
    """
    from scipy import special

    n, mean = len(values), float(values.mean())
    if n < 2:
        return None, None, None
    error = float(values.std(ddof=1) / np.sqrt(n))
    reach = float(special.stdtrit(n - 1, (1 + level) / 2)) * error
    low, high = np.clip([mean - reach, mean + reach], *within).tolist()
    return error, low, high


def errors_by_day(
    name: str, stories: Sequence[Story], position: int, level: float
) -> list[DayError]:
    """Return the mean error of a mechanism on each day, with its interval."""
    by_day: dict[int, list[float]] = {}
    for story in stories:
        for day in story.outcomes[position]["days"]:
            by_day.setdefault(day["day"], []).append(day["error"])
    return [
        DayError(
            name, day, float(np.mean(errors)), *mean_interval(np.array(errors), level, _DISTANCE)
        )
        for day, errors in sorted(by_day.items())
    ]
