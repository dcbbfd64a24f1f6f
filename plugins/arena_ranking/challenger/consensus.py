"""Combines several rankings into one: the consensus of the tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from arena.charts import Bars, Points, Specification, ranges_chart
from arena.charts.theme import BLUE, PALE
from arena.errors import UsageError
from arena.evaluation.ranks import minimum_ranks
from arena.types import FloatArray, IntArray
from arena.utils.tabular import Tabular

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, slots=True, eq=False)
class ConsensusRanking(Tabular):
    """The ranking with the smallest distance to several rankings."""

    rank: IntArray
    """``(m,)`` minimum ranks of the mean ranks."""
    mean_rank: FloatArray
    """``(m,)`` mean rank over the tasks; tied submissions get the average of their ranks."""
    lowest: FloatArray
    """``(m,)`` the best of the ranks."""
    highest: FloatArray
    """``(m,)`` the worst of the ranks."""

    def chart(self, teams: Sequence[str]) -> alt.LayerChart:
        """Return a chart of each team's mean, best and worst rank."""
        from arena.charts import as_altair

        return as_altair(self.specification(teams))

    def specification(self, teams: Sequence[str]) -> Specification:
        """Return the same chart as Vega-Lite."""
        order = np.argsort(self.rank, kind="stable")
        series: list[Bars | Points] = [
            Bars(
                "best to worst rank of the tasks", self.lowest[order], self.highest[order], PALE, 6
            ),
            Points("mean rank over the tasks", self.mean_rank[order], BLUE),
        ]
        return ranges_chart([teams[position] for position in order], series, "rank", whole=True)


def consensus_ranking(ranks: npt.ArrayLike) -> ConsensusRanking:
    """Return the ranking at the smallest mean squared Euclidean distance from several others.

    That is the ranking by mean ranks, ties counted by average ranks: ``consensus(method =
    "euclidean")`` of challengeR (Wiesenfarth et al. 2021). Every task counts the same,
    regardless of its number of rows.

    Parameters
    ----------
    ranks
        ``(m, n_tasks)`` ranks of m submissions in each task, or any values that are smaller for
        better submissions; only their order counts.

    Raises
    ------
    UsageError
        If there is no task, or a number is not finite.

    Examples
    --------
    >>> consensus = consensus_ranking([[1, 2, 1], [1, 1, 2], [3, 3, 3]])
    >>> consensus.rank.tolist(), consensus.mean_rank.round(2).tolist()
    ([1, 1, 3], [1.5, 1.5, 3.0])
    """
    from scipy.stats import rankdata

    rank_matrix = np.asarray(ranks, dtype=np.float64)
    if rank_matrix.ndim != 2 or not rank_matrix.size or not np.isfinite(rank_matrix).all():
        raise UsageError("A consensus needs one finite rank per submission and task.")
    average = rankdata(rank_matrix, method="average", axis=0)
    mean_rank = average.mean(axis=1).round(12)
    return ConsensusRanking(
        rank=minimum_ranks(mean_rank, greater_is_better=False),
        mean_rank=mean_rank,
        lowest=average.min(axis=1),
        highest=average.max(axis=1),
    )
