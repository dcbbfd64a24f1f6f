"""Compares ranking methods: whether the order depends on how values are turned into ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.errors import UsageError
from arena.evaluation.medians import weighted_medians
from arena.evaluation.ranks import minimum_ranks, tied_ranks
from arena.evaluation.scores import round_significant
from arena.types import DEFAULT_LEVEL, FloatArray, IntArray, WeightArray
from arena.utils.tabular import as_json
from arena_ranking.challenger.agreement import RankAgreement, kendall_tau
from arena_ranking.challenger.rank_charts import methods_chart

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class RankingMethods:
    """The ranks of m submissions by several methods."""

    ranks: Mapping[str, IntArray]
    """For each method ``(m,)`` minimum ranks."""
    agreement: Mapping[str, RankAgreement]
    """For the methods that were also applied to resampled cases: Kendall's tau of the method's
    ranking on all cases against its rankings of the resamples."""

    def to_frame(self, teams: Sequence[str] | None = None) -> pd.DataFrame:
        """Return one row per submission and one column per method."""
        import pandas as pd

        return pd.DataFrame(dict(self.ranks), index=None if teams is None else list(teams))

    def to_dict(self) -> dict[str, Any]:
        """Return ranks, and the summaries of the agreements, as JSON."""
        return {
            "ranks": as_json(self.ranks),
            "agreement": {name: agreement.to_dict() for name, agreement in self.agreement.items()},
        }

    def chart(self, teams: Sequence[str]) -> alt.LayerChart:
        """Return a chart of each team's ranks, one line per team; ``teams`` are m names."""
        from arena.charts import as_altair

        return as_altair(methods_chart(teams, self.ranks))


def compare_ranking_methods(
    scores: FloatArray,
    values: FloatArray | None = None,
    p_values: FloatArray | None = None,
    level: float = DEFAULT_LEVEL,
    *,
    greater_is_better: bool = True,
    weights: WeightArray | None = None,
    workers: int = 1,
) -> RankingMethods:
    """Rank the same submissions by every method that the data allow.

    ============= ================================================================== ==========
    method        what it ranks by                                                   needs
    ============= ================================================================== ==========
    score         the score, so that for a mean this is mean-then-rank               scores
    median        the median of the values over the cases                            values
    mean rank     the mean over the cases of the ranks within each case              values
    median rank   the median of these ranks                                          values
    tests         the number of one-sided tests won at 1 - level, not corrected      p_values
    ============= ================================================================== ==========

    These are the methods of Wiesenfarth et al. (2021); ties take minimum ranks everywhere. In the
    resamples a case that was drawn k times counts k times in every method. (challengeR weights it
    by k squared where it ranks first and aggregates then.) The tests are not resampled.

    Parameters
    ----------
    scores
        ``(m,)`` natural sign.
    values
        ``(m, n)`` values of the cases, in the direction of the scores.
    p_values
        ``(m, m)``: small where the first is better, as of a
        :class:`~arena_ranking.challenger.significance.SignificanceMap`.
    level
        The confidence level of the tests and of the percentiles of the agreements.
    greater_is_better
        The direction of scores and values.
    weights
        ``(n, B)`` counts: how often each case was drawn. None: no agreements.
    workers
        Threads.

    Returns
    -------
    A :class:`RankingMethods`. Memory: the ranks of the cases, ``(m, n)`` float64, and ``(n, B)``
    bytes per worker.

    Raises
    ------
    UsageError
        If the shapes do not fit.

    Examples
    --------
    >>> values = np.array([[0.9, 0.9, 0.0], [0.5, 0.7, 0.7], [0.4, 0.3, 0.3]])
    >>> compared = compare_ranking_methods(values.mean(axis=1), values)
    >>> compared.to_frame(["a", "b", "c"]).loc["a"].to_dict()
    {'score': 2, 'median': 1, 'mean rank': 1, 'median rank': 1}
    """
    _check(scores, values, p_values, weights)
    sign = -1.0 if greater_is_better else 1.0
    ranks = {"score": minimum_ranks(sign * scores, greater_is_better=False)}
    agreement: dict[str, RankAgreement] = {}
    if values is not None:
        signed = sign * values
        of_cases = tied_ranks(signed)[0].astype(np.float64)
        of_all = {
            "median": np.median(signed, axis=1),
            "mean rank": round_significant(of_cases.mean(axis=1)),
            "median rank": np.median(of_cases, axis=1),
        }
        ranks |= {
            name: minimum_ranks(values, greater_is_better=False) for name, values in of_all.items()
        }
        if weights is not None:
            again = _resampled_methods(signed, of_cases, weights, workers)
            agreement = {name: kendall_tau(again[name], ranks[name], level) for name in of_all}
    if p_values is not None:
        won = ((p_values <= 1 - level) & ~np.eye(len(scores), dtype=bool)).sum(axis=1)
        ranks["tests"] = minimum_ranks(won, greater_is_better=True)
    return RankingMethods(ranks, agreement)


def _check(
    scores: FloatArray,
    values: FloatArray | None,
    p_values: FloatArray | None,
    weights: WeightArray | None,
) -> None:
    m = len(scores)
    if values is not None and (values.ndim != 2 or len(values) != m or not values.shape[1]):
        raise UsageError("The values must be one row per score, of at least one case.")
    if values is not None and not np.isfinite(values).all():
        raise UsageError("The values of the cases must be finite.")
    if p_values is not None and p_values.shape != (m, m):
        raise UsageError("The p-values must be one row and one column per score.")
    if weights is not None and (values is None or weights.shape[:1] != values.shape[1:]):
        raise UsageError("The weights must be one row per case of the values.")


def _resampled_methods(
    values: FloatArray, ranks: FloatArray, weights: WeightArray, workers: int
) -> dict[str, IntArray]:
    """Return ``(m, B)`` rank values by the methods based on cases; smaller is better."""
    resampled = {
        "median": weighted_medians(values, weights, workers=workers),
        "mean rank": _weighted_means(ranks, weights),
        "median rank": weighted_medians(ranks, weights, workers=workers),
    }
    return {
        name: minimum_ranks(values, greater_is_better=False) for name, values in resampled.items()
    }


def _weighted_means(data: FloatArray, weights: WeightArray) -> FloatArray:
    """Return ``(m, B)`` means, rounded so that mathematically equal values tie."""
    sums = np.zeros((len(data), weights.shape[1]))
    for start in range(0, len(weights), 4096):
        rows = slice(start, start + 4096)
        sums += data[:, rows] @ weights[rows].astype(np.float64)
    return round_significant(sums / weights.sum(axis=0, dtype=np.float64))
