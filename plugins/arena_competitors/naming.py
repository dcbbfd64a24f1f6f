"""Formats a competitor as its specification: name and parameters."""

from __future__ import annotations

import dataclasses

from arena.interfaces import Competitor
from arena.plugin.specification import Specification


def written(competitor: Competitor) -> str:
    """Return the specification of a competitor, with the parameters that can be written.

    >>> from arena_competitors.attackers.flipping import BlockFlip
    >>> written(BlockFlip(rows=16))
    'block-flip(rows=16)'
    """
    if not dataclasses.is_dataclass(competitor):
        return competitor.name
    values = {
        field.name: getattr(competitor, field.name) for field in dataclasses.fields(competitor)
    }
    parameters = {
        name: value
        for name, value in values.items()
        if name != "name" and isinstance(value, str | int | float)
    }
    return str(Specification(competitor.name, parameters))
