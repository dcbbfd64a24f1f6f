"""An estimate of the Bayes error: the mean of one number per row, with its intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.evaluation.mean_bounds import Units, both_bounds
from arena.interfaces import FloorSettings
from arena.types import DEFAULT_LEVEL, DEFAULT_RESAMPLES, FloatArray, RowNumber
from arena.utils.tabular import as_json
from arena_bayes_error.sampling import blocks, group_codes, mean_loss

if TYPE_CHECKING:
    import pandas as pd

JUDGED_ON = "the population that classifiers are evaluated on"


Options = FloorSettings
"""The options that every estimator takes besides its data."""


@dataclass(frozen=True, slots=True, eq=False)
class BayesErrorEstimate:
    """The estimated Bayes error, a share of rows in [0, 1], with its assumptions."""

    kind: str
    """The information on each row, such as ``soft``."""
    estimate: float
    """The lowest error rate that any classifier can reach, as estimated."""
    standard_error: float
    """Standard error of the estimate when rows, or groups of rows, are sampled independently."""
    interval: tuple[float, float]
    """The estimate plus and minus the t quantile times the standard error, cut to [0, 1]. With few
    rows or groups, or few rows with an error, it is too short: see ``bounded_interval``."""
    bootstrap_interval: tuple[float, float]
    """Percentiles of the estimate over resamples of the rows, or of their groups."""
    bound: float
    """The estimate is within this of its expectation with a probability of at least 1 - delta
    (Hoeffding); its expectation is the Bayes error where ``bias_bound`` is (0, 0)."""
    n: int
    """The number of rows."""
    n_clusters: int | None
    """The number of groups of rows that were drawn; None: each row was."""
    level: float
    """The confidence level of every interval."""
    delta: float
    """The probability with which ``bound`` may fail."""
    bias_bound: tuple[float, float] | None
    """The smallest and the largest possible bias: (0, 0) if unbiased; None: no bound is known."""
    assumptions: tuple[str, ...]
    """The assumptions, in sentences."""
    wilson_interval: tuple[float, float] | None = None
    """For hard labels with signs: the Wilson interval, which is better where errors are rare."""
    corrected: float | None = None
    """For several labels per row: the estimate minus its bias under a Dirichlet distribution."""
    corrected_interval: tuple[float, float] | None = None
    """That of ``corrected``, as ``bounded_interval``, from its standard error over resamples of the
    rows, in each of which the Dirichlet distribution is fitted again."""
    moment_bounds: tuple[float, float] | None = None
    """For several labels per row of two classes: the smallest and the largest Bayes error that the
    counts allow for any probabilities, without sampling error."""
    moment_interval: tuple[float, float] | None = None
    """The same bounds with the sampling error of the counts; None if the counts contradict
    independent labels."""
    refit_interval: tuple[float, float] | None = None
    """For scores: percentiles over resamples in which the scaling is refitted."""
    bounded_interval: tuple[float, float] | None = None
    """The estimate as a proportion of the largest possible error, which also holds with few rows
    or groups; see :func:`bounded_interval`."""

    @property
    def reported_interval(self) -> tuple[float, float]:
        """Return the interval that holds best: with the scaling refitted, bounded, or plain."""
        return self.refit_interval or self.bounded_interval or self.interval

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON, with null for values that do not apply."""
        document: dict[str, Any] = as_json({name: getattr(self, name) for name in self.__slots__})
        return document

    def to_frame(self) -> pd.DataFrame:
        """Return one row per interval: how it was made, and its ends; the rest as attrs."""
        import pandas as pd

        document = self.to_dict()
        rows = [(name, self.estimate, low, high) for name, (low, high) in self.intervals().items()]
        frame = pd.DataFrame(rows, columns=["interval", "estimate", "low", "high"])
        frame.attrs = {name: cell for name, cell in document.items() if "interval" not in name}
        return frame

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Return every available interval by its display name."""
        named = {
            "bounded": self.bounded_interval,
            "t": self.interval,
            "bootstrap": self.bootstrap_interval,
            "Wilson": self.wilson_interval,
            "corrected for few labels": self.corrected_interval,
            "moment bounds": self.moment_interval,
            "scaling refitted": self.refit_interval,
            "Hoeffding": (max(self.estimate - self.bound, 0.0), min(self.estimate + self.bound, 1)),
        }
        return {name: ends for name, ends in named.items() if ends is not None}


def mean_of_rows(
    loss_of: Callable[[slice], FloatArray],
    n: int,
    top: float,
    *,
    kind: str,
    assumptions: tuple[str, ...],
    bias_bound: tuple[float, float] | None,
    population: str = JUDGED_ON,
    seen: float = 1.0,
    level: float = DEFAULT_LEVEL,
    delta: float = 0.05,
    resamples: int = DEFAULT_RESAMPLES,
    rng: np.random.Generator | None = None,
    clusters: npt.ArrayLike | None = None,
    row_number: RowNumber | None = None,  # noqa: ARG001 - of the checks before
) -> BayesErrorEstimate:
    """Return the mean over rows of a loss in [0, top], with its intervals and its bound.

    The rows are read in blocks of 32,768; memory does not grow with their number.

    Parameters
    ----------
    loss_of
        Returns the losses of a slice of the rows, ``(rows,)``; called once for each block.
    n
        The number of rows, at least 2.
    top
        The largest possible loss; the bound is ``top * sqrt(log(2/delta) * s / 2)`` with s = 1/n,
        or the sum of the squared shares that the groups have of the rows (Hoeffding).
    kind, assumptions, bias_bound
        As in the result; a sentence on the sampling units comes before the assumptions.
    population
        What the rows, or groups of them, were sampled from.
    seen
        The probability, at least, that a row of the largest error shows any.
    level, delta, resamples, rng, clusters, row_number
        See :class:`~arena.interfaces.FloorSettings`.

    Raises
    ------
    UsageError
        If there are fewer than two rows or groups, or an option is out of its range.

    Examples
    --------
    >>> losses = np.array([0.1, 0.3, 0.2, 0.0])
    >>> found = mean_of_rows(lambda rows: losses[rows], 4, 0.5, kind="uncertainty",
    ...     assumptions=(), bias_bound=(0.0, 0.0))
    >>> round(found.estimate, 3), [round(end, 3) for end in found.interval], round(found.bound, 3)
    (0.15, [0.0, 0.355], 0.34)
    """
    check_options(n, level, delta, resamples)
    codes = group_codes(clusters, n)
    total = mean_loss(top, codes)
    for rows in blocks(n):
        total.add(rows, loss_of(rows))
    error = total.standard_error()
    generator = np.random.default_rng(0) if rng is None else rng
    drawn = "rows are" if codes is None else "groups of rows, not the rows, are"
    return BayesErrorEstimate(
        kind=kind,
        estimate=total.mean,
        standard_error=error,
        interval=t_interval(total.mean, error, total.n_units, level),
        bootstrap_interval=percentile_interval(total.resampled(resamples, generator), level),
        bound=top * math.sqrt(math.log(2 / delta) * total.share_of_squares() / 2),
        n=n,
        n_clusters=None if codes is None else total.n_units,
        level=level,
        delta=delta,
        bias_bound=bias_bound,
        bounded_interval=bounded_interval(
            total.units(), top, level, another=total.n_units * total.share_of_squares() / seen
        ),
        assumptions=(f"The {drawn} drawn independently from {population}.", *assumptions),
    )


def check_options(n: int, level: float, delta: float, resamples: int) -> None:
    """Raise UsageError for options outside their ranges."""
    if n < 2:
        raise UsageError("An interval needs at least two rows; give the labels of more rows.")
    for name, value in (("level", level), ("delta", delta)):
        if not 0 < value < 1:
            raise UsageError(f"The {name} must be between 0 and 1, not {value:g}.")
    if resamples < 2:
        raise UsageError("At least 2 resamples are needed; 1,000 or more for printed figures.")


def t_interval(mean: float, error: float, n: int, level: float) -> tuple[float, float]:
    """Return mean -+ t quantile (n - 1 degrees of freedom) * error, cut to [0, 1]."""
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, (1 + level) / 2)) * error
    return max(mean - half, 0.0), min(mean + half, 1.0)


def bounded_interval(
    units: Units, top: float, level: float, *, another: float = 1.0
) -> tuple[float, float]:
    """Return the interval of the mean of the units of one submission, with values in [0, top].

    The bounds of :mod:`arena.evaluation.mean_bounds` hold for every distribution of independent
    units, also where errors are too rare to be in the sample.

    Parameters
    ----------
    units
        What each unit tells of the mean.
    top
        The largest value of a row.
    another
        How many units of the mean size, at most, another unit with the value 0 or ``top`` counts
        for: more than 1 with groups of unequal size, or if not every error shows.

    >>> low, high = bounded_interval(Units.of(np.zeros((1, 30))), 0.5, 0.95)
    >>> low, round(high, 3)
    (0.0, 0.058)
    """
    mean = np.average(units.values, weights=units.counts, axis=1)
    worst = mean + another * (np.array([[0.0], [top]]) - mean)
    low, high = both_bounds(units, worst, np.full((2, 1), (1 - level) / 2))
    return max(float(low[0]), 0.0), min(float(high[0]), top)


def percentile_interval(values: FloatArray, level: float) -> tuple[float, float]:
    """Return the two percentiles between which ``level`` of the values lie."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
