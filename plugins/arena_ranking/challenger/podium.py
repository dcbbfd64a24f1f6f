"""The podium plot: how often each submission takes each place, case by case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.errors import UsageError
from arena.evaluation.ranks import tied_ranks
from arena.types import FloatArray, IntArray
from arena.utils.tabular import as_json
from arena_ranking.challenger.encodings import TEAM_COLORS
from arena_ranking.challenger.pair_charts import cases_chart, podium_chart

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

MOST_ON_PODIUM = len(TEAM_COLORS)
"""The number of colours that can be told apart in light and dark mode."""

_MOST_CASES = 40


@dataclass(frozen=True, slots=True, eq=False)
class Podium:
    """How often each of k submissions takes each of k places among themselves, over the cases."""

    shares: FloatArray
    """``(k, k)``: row j, place p + 1. Tied submissions share their places equally."""
    values: FloatArray
    """``(k, c)`` values of a few cases without ties, evenly spread over all of them."""
    places: IntArray
    """``(k, c)`` places in these cases, from 1."""

    def to_frame(self, teams: Sequence[str] | None = None) -> pd.DataFrame:
        """Return one row per submission and place: submission (or its team), place, share."""
        import pandas as pd

        k = len(self.shares)
        names = np.asarray(teams if teams is not None else range(k), dtype=object)
        columns = {"submission": np.repeat(names, k), "place": np.tile(np.arange(1, k + 1), k)}
        return pd.DataFrame(columns | {"share": self.shares.ravel()})

    def to_dict(self) -> dict[str, Any]:
        """Return the shares as JSON."""
        return {"shares": as_json(self.shares)}

    def chart(self, teams: Sequence[str]) -> alt.LayerChart:
        """Return a chart of how often each of k teams takes each place."""
        from arena.charts import as_altair

        return as_altair(podium_chart(teams, self.shares))

    def cases(self, teams: Sequence[str], axis: str = "value") -> alt.LayerChart:
        """Return a chart of a few cases: their values by place."""
        from arena.charts import as_altair

        return as_altair(cases_chart(teams, self.values, self.places, axis))


def podium(values: FloatArray, *, greater_is_better: bool = True) -> Podium:
    """Rank the first few submissions case by case, and count how often each takes each place.

    challengeR's podium plot (Wiesenfarth et al. 2021) breaks ties at random; here tied submissions
    get equal shares of their places, which is the average of random tie-breaking.

    Parameters
    ----------
    values
        ``(k, n)`` values of n cases, finite; k is at most :data:`MOST_ON_PODIUM`.
    greater_is_better
        The direction of the values.

    Raises
    ------
    UsageError
        If there are too many submissions, no case, or values that are not finite.

    Examples
    --------
    >>> podium(np.array([[0.9, 0.8, 0.5, 0.7], [0.6, 0.9, 0.5, 0.6]])).shares.tolist()
    [[0.625, 0.375], [0.375, 0.625]]
    """
    if values.ndim != 2 or not values.size or not np.isfinite(values).all():
        raise UsageError("A podium needs one row of finite values per submission.")
    if len(values) > MOST_ON_PODIUM:
        raise UsageError(f"A podium shows at most {MOST_ON_PODIUM} submissions: pass fewer.")
    signed = -values if greater_is_better else values
    first, last = tied_ranks(signed)
    sizes = last - first + 1
    place = np.arange(1, len(values) + 1)[:, np.newaxis, np.newaxis]
    holds = (first <= place) & (place <= last)
    shares = np.where(holds, 1 / sizes, 0.0).mean(axis=2).T
    cases = np.flatnonzero((sizes == 1).all(axis=0))
    chosen = cases[np.linspace(0, len(cases) - 1, min(len(cases), _MOST_CASES)).astype(np.intp)]
    return Podium(shares, values[:, chosen], first[:, chosen])
