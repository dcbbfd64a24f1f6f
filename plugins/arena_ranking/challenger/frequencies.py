"""How often each submission takes each rank: over resamples, over rows, or over tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.errors import UsageError
from arena.evaluation.levels import check_level
from arena.types import DEFAULT_LEVEL, FloatArray, IntArray
from arena.utils.tabular import as_json
from arena_ranking.challenger.rank_charts import blobs_chart, frequency_rows, heatmap_chart

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

SHARE = "share of random samples"
_FLAT = 0.05
"""Shares that differ by less have one colour in a heat map."""


@dataclass(frozen=True, slots=True, eq=False)
class RankFrequencies:
    """How often each of m submissions has each rank in K rankings.

    The three arrays of length k hold one entry for every rank that a submission has at least once.
    """

    submission: IntArray
    """``(k,)`` positions 0 … m-1, ascending."""
    rank: IntArray
    """``(k,)`` ranks, ascending within a submission."""
    share: FloatArray
    """``(k,)`` shares of the K rankings; they sum to 1 for each submission."""
    median: FloatArray
    """``(m,)``."""
    low: FloatArray
    """``(m,)`` the smaller percentile, interpolated as R's type 7 does."""
    high: FloatArray
    """``(m,)`` the larger percentile."""
    level: float
    """The share of the rankings between the percentiles."""

    @property
    def is_flat(self) -> bool:
        """Whether every submission has every rank about equally often.

        >>> rank_frequencies(np.array([[1, 2], [2, 1]])).is_flat
        True
        """
        shares = np.zeros((len(self.median), int(self.rank.max())))
        shares[self.submission, self.rank - 1] = self.share
        return bool(np.ptp(shares) < _FLAT)

    def to_frame(self, teams: Sequence[str] | None = None) -> pd.DataFrame:
        """Return one row per submission and rank: submission (or its team), rank, share."""
        import pandas as pd

        names = np.asarray(teams if teams is not None else range(len(self.median)), dtype=object)
        columns = {"submission": names[self.submission], "rank": self.rank, "share": self.share}
        return pd.DataFrame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return medians, percentiles and the level as JSON."""
        names = ("median", "low", "high", "level")
        return dict(as_json({name: getattr(self, name) for name in names}))

    def rows(self, teams: Sequence[str]) -> list[dict[str, Any]]:
        """Return the data of a chart, one row per submission."""
        summaries = {"median": self.median, "low": self.low, "high": self.high}
        return frequency_rows(teams, (self.submission, self.rank, self.share), summaries)

    def chart(self, teams: Sequence[str], what: str = SHARE) -> alt.LayerChart:
        """Return the rank-stability blobs; ``teams`` are m names, ``what`` is the axis title."""
        from arena.charts import as_altair

        return as_altair(blobs_chart(self.rows(teams), what))

    def heatmap(self, teams: Sequence[str], what: str = SHARE) -> alt.LayerChart:
        """Return the same frequencies as a heat map."""
        from arena.charts import as_altair

        return as_altair(heatmap_chart(self.rows(teams), what))


def rank_frequencies(ranks: IntArray, level: float = DEFAULT_LEVEL) -> RankFrequencies:
    """Count the ranks of each submission over many rankings.

    Parameters
    ----------
    ranks
        ``(m, K)`` ranks from 1: of K resamples, rows, or tasks.
    level
        The share of the rankings between the percentiles, in (0, 1).

    Returns
    -------
    A :class:`RankFrequencies`; a description, not a confidence interval
    (:func:`~arena_ranking.bootstrap_ranks.bootstrap_rank_ranges` says why). Memory: three times
    the ranks.

    Raises
    ------
    UsageError
        If there is no ranking, a rank is below 1, or the level is out of range.

    Examples
    --------
    >>> found = rank_frequencies(np.array([[1, 1, 2, 1], [2, 2, 1, 2]]))
    >>> found.to_frame(["a", "b"]).values.tolist()
    [['a', 1, 0.75], ['a', 2, 0.25], ['b', 1, 0.25], ['b', 2, 0.75]]
    """
    if ranks.ndim != 2 or not ranks.size or ranks.min() < 1:
        raise UsageError("Rank frequencies need one row of ranks from 1 per submission.")
    check_level(level)
    base = int(ranks.max()) + 1
    keys = ranks + base * np.arange(len(ranks))[:, np.newaxis]
    pairs, counts = np.unique(keys, return_counts=True)
    tail = (1 - level) / 2
    median, low, high = np.quantile(ranks, [0.5, tail, 1 - tail], axis=1)
    return RankFrequencies(
        submission=(pairs // base).astype(np.intp),
        rank=(pairs % base).astype(np.intp),
        share=counts / ranks.shape[1],
        median=median,
        low=low,
        high=high,
        level=level,
    )
