"""The plugin for rank uncertainty: the ranker ``simultaneous``, and what readers see of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from arena.hookspecs import hookimpl
from arena.interfaces import Deferred
from arena.types import Section

if TYPE_CHECKING:
    from arena.interfaces import Analysis


@hookimpl
def provide_rankers() -> Iterable[Deferred]:
    """Provide the ranker ``simultaneous``."""
    return [Deferred("simultaneous", "arena_ranking.ranker:SimultaneousRanks")]


@hookimpl
def provide_analyses() -> Iterable[Analysis]:
    """Provide the ranks, and what else readers look for on a board that it suits."""
    from arena_ranking.aggregates import Aggregates
    from arena_ranking.analysis import Ranks
    from arena_ranking.critical_difference import CriticalDifference
    from arena_ranking.failures import Failures

    return [Ranks(), Failures(), CriticalDifference(), Aggregates()]


@hookimpl
def provide_report_sections(result: Any) -> Iterable[Section]:
    """Provide the challengeR-style report sections of a ranked board."""
    from arena_ranking.challenger.sections import sections_of_result

    return sections_of_result(result)
