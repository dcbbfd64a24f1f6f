"""All competitors of this plugin."""

from __future__ import annotations

from arena.interfaces import Competitor
from arena.plugin.registry import Registry
from arena_competitors.attackers.boosting import Boosting, Multiclass
from arena_competitors.attackers.copycat import Copycat
from arena_competitors.attackers.flipping import BlockFlip, PairProbe
from arena_competitors.attackers.log_loss_oracle import LogLossOracle
from arena_competitors.attackers.overfitter import RandomSearch
from arena_competitors.attackers.ranking_oracle import AucOracle
from arena_competitors.attackers.sybil import Sybil
from arena_competitors.lightgbm.search import LightGBMSearch
from arena_competitors.lightgbm.team import LightGBMClimber, LightGBMSeeds
from arena_competitors.program_team import ProgramTeam
from arena_competitors.scikit_learn.team import model_teams


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
        *model_teams(),
    )
    registry = Registry[Competitor]("competitor")
    for competitor in single:
        registry.add(competitor.name, competitor, plugin="arena_competitors")
    return (*single, Sybil(resolve=registry.resolve), ProgramTeam(resolve=registry.resolve))
