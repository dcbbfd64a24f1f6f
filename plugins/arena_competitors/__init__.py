"""Simulated teams, honest ones and attackers, each seeing only what a participant sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.hookspecs import hookimpl

if TYPE_CHECKING:
    from arena.interfaces import Competitor

__all__ = ["provide_competitors"]


@hookimpl
def provide_competitors() -> list[Competitor]:
    """Provide every competitor, from ``boosting`` to ``sybil``."""
    from arena_competitors.catalogue import all_competitors

    return list(all_competitors())
