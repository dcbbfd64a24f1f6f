"""The posterior of the best true performance, by approximate Bayesian computation.

Møllersen and Holsbø, section 5.3.2, propose approximate Bayesian computation: draw performances
from a prior, simulate a board, and keep the largest performance if the best simulated score is
within epsilon of the observed one. As the distribution of the best score is known exactly, the
acceptance probability is computed here instead of simulated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.types import DEFAULT_LEVEL, FloatArray
from arena.utils.tabular import Tabular
from arena_sota.checks import board_scores, check_numbers
from arena_sota.maximum import SampleMaximum, maximum_of_values

_GRID = 80
_REACH = 7.0


@dataclass(frozen=True, slots=True, eq=False)
class BestPosterior(Tabular):
    """The posterior distribution of the true performance of the best submission."""

    best: FloatArray
    """``(k,)`` performances, ascending and equally spaced."""
    probability: FloatArray
    """``(k,)`` summing to 1."""
    epsilon: float
    """The tolerance for the difference of simulated and observed best score."""
    prior: str
    """The prior, in words."""

    @property
    def mean(self) -> float:
        """The posterior mean."""
        return float(self.best @ self.probability)

    def interval(self, level: float = DEFAULT_LEVEL) -> tuple[float, float]:
        """Return the performances between which the best lies with this probability."""
        cumulative = np.cumsum(self.probability) - self.probability / 2
        ends = np.interp([(1 - level) / 2, (1 + level) / 2], cumulative, self.best)
        return float(ends[0]), float(ends[1])


def best_posterior(
    scores: npt.ArrayLike,
    n_rows: int,
    classes: int,
    *,
    rho0: float = 0.6,
    epsilon: float | None = None,
    prior: Callable[[FloatArray], FloatArray] | None = None,
) -> BestPosterior:
    """Return the posterior of the best true accuracy on a board.

    The performances are the scores moved toward or away from guessing until the best of them is
    ``best``: the family of Eq. 9. They are drawn with replacement, as in its bootstrap.

    Parameters
    ----------
    scores, n_rows, classes, rho0
        As in :func:`~arena_sota.estimate.estimate_sota`.
    epsilon
        In units of the score; None: one row, 1/n.
    prior
        ``prior(best (k,)) -> (k,)`` density up to a factor; None: uniform between guessing and 1.

    Raises
    ------
    UsageError
        As :func:`~arena_sota.estimate.estimate_sota`, or if prior or epsilon exclude everything.

    Examples
    --------
    >>> posterior = best_posterior(0.91 - 0.02 * np.linspace(0, 1, 30) ** 2, 300, 2)
    >>> low, high = posterior.interval()
    >>> low < posterior.mean < high < 0.96
    True
    """
    values = board_scores(scores)
    check_numbers(n_rows, None, rho0=rho0, theta0=None, correct0=None)
    if classes < 2:
        raise UsageError("There must be at least two classes.")
    chance = 1 / classes
    above = values[values > chance]
    if len(above) < 2:
        raise UsageError("A posterior needs at least two scores above guessing.")
    width = 1 / n_rows if epsilon is None else epsilon
    if not width > 0:
        raise UsageError("Epsilon must be above 0.")
    top = float(above.max())
    deviation = np.sqrt(max(top * (1 - top), 1 / n_rows) / n_rows)
    low = max(chance + 1e-6, top - _REACH * deviation)
    high = min(1 - 1e-9, top + _REACH * deviation)
    best = np.linspace(low, high, _GRID)
    shape = (above - chance) / (top - chance)

    def kept_at(score: float) -> float:
        maximum = maximum_of_values(
            n_rows,
            chance + shape * (score - chance),
            len(above),
            random=True,
            rho0=rho0,
            settled=1e-2,
        )
        return _kept(maximum, top, width)

    n_kept = np.array([kept_at(score) for score in best.tolist()])
    density = np.ones(_GRID) if prior is None else np.asarray(prior(best), dtype=np.float64)
    weight = n_kept * density
    if not (np.isfinite(weight).all() and weight.min() >= 0 and weight.sum() > 0):
        raise UsageError(
            "The prior allows no performance whose best score is within epsilon of the observed."
        )
    words = "uniform between guessing and 1" if prior is None else "given by the caller"
    return BestPosterior(best, weight / weight.sum(), width, words)


def _kept(maximum: SampleMaximum, observed: float, epsilon: float) -> float:
    """Return the probability that a board's best score is within epsilon of the observed one."""
    return maximum.cdf(observed + epsilon) - maximum.cdf(observed - epsilon - 1e-6 / maximum.n_rows)
