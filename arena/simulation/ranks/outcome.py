"""How well the ranks of a competition match those of the population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from arena.evaluation.ranks import best_first, minimum_ranks
from arena.evaluation.score_intervals import errors_of_means, own_intervals
from arena.simulation.ranks.scores import ModelScores
from arena.types import FloatArray, IntArray

QUANTILES = (0.05, 0.5, 0.9, 0.95)
"""Those of the study that this follows."""

_NINETY_FIVE = 1.959963984540054


@dataclass(frozen=True, slots=True)
class WinFrequency:
    """How often the truly best competitor wins."""

    test_rows: int
    """Rows of the test."""
    competitors: int
    """Number of competing models."""
    frequency: float
    """In [0, 1]; a win shared by k counts 1/k, and ties for the best true score all count."""
    low: float
    """Lower end of the interval of the frequency."""
    high: float
    """The 95% interval over tests, of these populations of models; with several sets of models over
    sets, so that it includes the choice of models and rows."""
    populations: int
    """How many sets of models it is averaged over."""


@dataclass(frozen=True, slots=True, eq=False)
class RankQuantiles:
    """The competition ranks of every competitor, in the order of the true ranks."""

    test_rows: int
    """Rows of the test."""
    competitors: int
    """Number of competing models."""
    models: IntArray
    """``(M,)`` numbers of the models, the truly best first."""
    true_ranks: IntArray
    """``(M,)``."""
    quantiles: FloatArray
    """``(M, 4)``: :data:`QUANTILES` of the ranks over the tests (inverse of the distribution)."""


def wilson_interval(share: float, trials: float) -> tuple[float, float]:
    """Return the 95% interval of a probability by Wilson (1927).

    >>> [round(end, 3) for end in wilson_interval(0.5, 50)]
    [0.366, 0.634]
    """
    square = _NINETY_FIVE**2
    centre = (share + square / (2 * trials)) / (1 + square / trials)
    reach = _NINETY_FIVE / (1 + square / trials)
    reach *= np.sqrt(share * (1 - share) / trials + square / (4 * trials**2))
    return max(0.0, float(centre - reach)), min(1.0, float(centre + reach))


def disjoint_sets(count: int, competitors: int) -> list[slice]:
    """Return as many sets of models without a common member as there are."""
    return [
        slice(position, position + competitors)
        for position in range(0, count - competitors + 1, competitors)
    ]


def win_frequency(scores: ModelScores, test_rows: int, competitors: int) -> WinFrequency:
    """Return how often the best of ``competitors`` models wins a test of ``test_rows`` rows.

    Averaged over disjoint sets of that many models. The interval is Wilson's, of as many
    trials as the spread over the tests is worth: the sets are scored on the same tests.
    """
    wins = wins_of_sets(scores, test_rows, competitors)
    frequency = float(wins.mean())
    low, high = wilson_interval(frequency, effective_trials(wins))
    return WinFrequency(
        test_rows, competitors, frequency=frequency, low=low, high=high, populations=len(wins)
    )


def frequency_over_sets(by_set: Sequence[WinFrequency]) -> WinFrequency:
    """Return the mean frequency over sets of models that were trained on rows of their own.

    The interval is that of a mean of independent shares (Gaffke 2005): it needs no assumption on
    how models differ, and is wide for few sets.

    >>> sets = [WinFrequency(1_000, 40, share, 0.0, 1.0, 1) for share in (0.98, 0.53, 0.62, 0.55)]
    >>> mean = frequency_over_sets(sets)
    >>> round(mean.frequency, 2), round(mean.low, 2), round(mean.high, 2), mean.populations
    (0.67, 0.26, 0.91, 4)
    """
    shares = np.array([[wins.frequency for wins in by_set]])
    low, high = own_intervals(errors_of_means(shares, (0.0, 1.0)), 0.95)
    return replace(
        by_set[0],
        frequency=float(shares.mean()),
        low=float(low[0]),
        high=float(high[0]),
        populations=sum(wins.populations for wins in by_set),
    )


def wins_of_sets(scores: ModelScores, test_rows: int, competitors: int) -> FloatArray:
    """Return the share of the win that the truly best one of each set has in each test.

    Returns
    -------
    ``(G, C)`` for G disjoint sets of ``competitors`` models, and C tests.

    Examples
    --------
    >>> shown = {50: np.array([[2.0, 1.0], [1.0, 1.0]])}
    >>> wins_of_sets(ModelScores(np.array([2.0, 1.0]), shown, True), 50, 2).tolist()
    [[1.0, 0.5]]
    """
    return np.stack(
        [
            shares_of_wins(
                scores.true[models], scores.competition[test_rows][models], scores.greater_is_better
            )
            for models in disjoint_sets(len(scores.true), competitors)
        ]
    )


def shares_of_wins(true: FloatArray, competition: FloatArray, greater: bool) -> FloatArray:
    """Return ``(C,)`` shares of the win that the truly best ones have in each test."""
    best = minimum_ranks(true, greater_is_better=greater) == 1
    first = minimum_ranks(competition, greater_is_better=greater) == 1
    return np.asarray(first[best].sum(axis=0) / first.sum(axis=0), dtype=np.float64)


def effective_trials(wins: FloatArray) -> float:
    """Return how many independent trials have the variance of the mean of ``(G, C)`` wins."""
    groups, tests = wins.shape
    by_test = wins.mean(axis=0)
    share = by_test.mean()
    if tests < 2 or by_test.var(ddof=1) == 0:
        return float(tests)
    trials = share * (1 - share) / (by_test.var(ddof=1) / tests)
    return float(min(trials, tests * groups))


def rank_quantiles(scores: ModelScores, test_rows: int, competitors: int) -> RankQuantiles:
    """Return the quantiles of the competition ranks of the first ``competitors`` models."""
    true = scores.true[:competitors]
    greater = scores.greater_is_better
    ranks = minimum_ranks(scores.competition[test_rows][:competitors], greater_is_better=greater)
    order = best_first(true, greater_is_better=greater)
    return RankQuantiles(
        test_rows,
        competitors,
        models=order,
        true_ranks=minimum_ranks(true, greater_is_better=greater)[order],
        quantiles=np.quantile(ranks[order], QUANTILES, axis=1, method="inverted_cdf").T,
    )


def rows_until_best_wins(
    true: FloatArray, errors: FloatArray, n_rows: int, *, greater_is_better: bool
) -> FloatArray:
    """Return from how many rows on the best one wins, for each draw of the errors.

    The errors of all scores on ``n_rows`` rows shrink together as ``sqrt(n_rows / N)`` on N rows.
    The best one leads competitor k by ``lead + sqrt(n_rows / N) * (own error - error of k)``, so
    that in every draw there is a number of rows from which on it leads them all:
    ``n_rows * max over k of ((error of k - own error) / lead) ** 2``. The share of draws with a
    number of at most N is the probability that the best one wins on N rows, and a quantile of the
    numbers the rows that are needed for it. Of several that are equally good any may win.

    Parameters
    ----------
    true
        ``(M,)``, natural sign.
    errors
        ``(M, B)``: a test's scores less the true ones, or a resample's less the scores.
    n_rows
        The rows that the errors are of.

    Returns
    -------
    ``(B,)``, 0 where it leads on any number.

    Examples
    --------
    >>> true, errors = np.array([0.9, 0.8]), np.array([[0.0, 0.1], [0.2, 0.0]])
    >>> rows_until_best_wins(true, errors, 100, greater_is_better=True).round(6).tolist()
    [400.0, 0.0]
    """
    sign = 1.0 if greater_is_better else -1.0
    best = minimum_ranks(true, greater_is_better=greater_is_better) == 1
    leads = sign * (true[best][0] - true[~best])[:, np.newaxis]
    numbers = [
        np.max(np.maximum(sign * (errors[~best] - best_errors), 0.0) / leads, axis=0, initial=0.0)
        for best_errors in errors[best]
    ]
    return np.asarray(n_rows * np.min(numbers, axis=0) ** 2, dtype=np.float64)


def covers(low: Sequence[int], high: Sequence[int], ranks: IntArray) -> npt.NDArray[np.bool_]:
    """Return whether ``(M,)`` ranges hold ``(M,)`` ranks."""
    return (np.asarray(low) <= ranks) & (ranks <= np.asarray(high))
