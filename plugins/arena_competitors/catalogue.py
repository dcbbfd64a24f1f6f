"""Every competitor of this plugin, and where one that runs another finds it."""

from __future__ import annotations

from arena.interfaces import Competitor
from arena.registry import Registry
from arena_competitors.boosting import Boosting, Multiclass
from arena_competitors.copycat import Copycat
from arena_competitors.flipping import BlockFlip, PairProbe
from arena_competitors.lightgbm_search import LightGBMSearch
from arena_competitors.lightgbm_team import LightGBMClimber, LightGBMSeeds
from arena_competitors.log_loss_oracle import LogLossOracle
from arena_competitors.ranking_oracle import AucOracle
from arena_competitors.searching import RandomSearch
from arena_competitors.sybil import Sybil

__all__ = ["all_competitors"]


def all_competitors() -> tuple[Competitor, ...]:
    """Return a prototype of every competitor, with its default parameters.

    >>> [competitor.name for competitor in all_competitors()][:3]
    ['boosting', 'multiclass', 'block-flip']
    """
    single: tuple[Competitor, ...] = (
        Boosting(),
        Multiclass(),
        BlockFlip(),
        PairProbe(),
        RandomSearch(),
        LogLossOracle(),
        AucOracle(),
        LightGBMSearch(),
        LightGBMClimber(),
        LightGBMSeeds(),
        Copycat(),
    )
    registry = Registry[Competitor]("competitor")
    for competitor in single:
        registry.add(competitor.name, competitor, plugin="arena_competitors")
    return (*single, Sybil(resolve=registry.resolve))
