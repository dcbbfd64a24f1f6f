"""Simulated teams, honest ones and attackers; each sees only what a participant can see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.hookspecs import hookimpl

if TYPE_CHECKING:
    from arena.interfaces import Competitor, Paper

__all__ = ["provide_competitors", "provide_papers"]


@hookimpl
def provide_competitors() -> list[Competitor]:
    """Provide every competitor, from ``boosting`` to ``sybil``."""
    from arena_competitors.catalogue import all_competitors

    return list(all_competitors())


@hookimpl
def provide_papers() -> list[Paper]:
    """Provide the paper on the Ladder."""
    from arena_competitors.paper import LadderPaper

    return [LadderPaper()]
